"""How to read: the choices a caller may make, the same for every format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timesink.runtime.workers import Workers

Progress = Callable[[int, int], None]
"""Called with (bytes read, bytes in all) of the packed file."""

IsChosen = Callable[[str], bool]
"""Whether a call is chosen, by its name."""


def tell_of_set(progress: Progress | None, done: int, total: int, damaged: int) -> None:
    """Say how reading a set goes, in files.

    Who has a method `of_set` learns how many are damaged, others (done, total) as of one file.
    """
    of_set = getattr(progress, "of_set", None)
    if of_set is not None:
        of_set(done, total, damaged)
    elif progress is not None:
        progress(done, total)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Choices for one reading.

    ``jobs`` is the number of processes for one file; None takes what the machine has.
    ``crew`` are processes already at work on the file.

    ``brief`` asks for what happened when, and no more: a reader may then leave out the tables
    `memory`, `flows` and `event_args`, and of `host` and `device` what describes an event but
    neither names, places, links nor measures it: stacks, modules, Python ids, blocks, registers,
    occupancy, graphs.  Inputs stay for the host calls it chooses by their names.  The rest, and
    what is said of the health of the recording, is the same.
    """

    jobs: int | None = None
    progress: Progress | None = None
    crew: Workers | None = None
    brief: IsChosen | None = None
