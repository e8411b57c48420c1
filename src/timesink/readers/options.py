"""How to read: the choices a caller may make, the same for every format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timesink.readers.chrome.crew import Crew

Progress = Callable[[int, int], None]
"""Called with (bytes read, bytes in all) of the packed file."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Choices for one reading.

    ``jobs`` is the number of processes for one file; None takes what the machine has.
    ``crew`` are processes already at work on the file.
    """

    jobs: int | None = None
    progress: Progress | None = None
    crew: Crew | None = None
