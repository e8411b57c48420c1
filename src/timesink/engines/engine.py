"""What an engine is: it makes the same call for many items, wherever that may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from timesink.errors import TimesinkError


@dataclass(frozen=True, slots=True)
class Call:
    """A function by its name, so that whoever makes the call loads it, and no one else must.

    It takes an item and the arguments, all of which can be pickled, and returns bytes.
    """

    module: str
    function: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one item: bytes, or why there are none."""

    place: int
    """Of the item among those that were given."""
    value: bytes | None
    error: TimesinkError | None = None


class Engine(Protocol):
    """Makes calls, several at once."""

    @property
    def name(self) -> str:
        """What users choose it by."""
        ...

    def run(self, call: Call, items: Sequence[Any]) -> Iterator[Done]:
        """Call once for every item and give what came of it, as soon as it has come.

        Every item is done exactly once.  A call that dies with its process is made again; what
        fails in the end is an error of its item, and the others stand.
        """
        ...
