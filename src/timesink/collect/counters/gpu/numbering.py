"""Numbers of processes: those a driver knows are not always those a container sees."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_FIRST_NAMESPACE = "pid:[4026531836]"
"""What Linux calls the numbering of processes that all others are inside of."""
FOREIGN = (
    "the driver numbers processes as the host does, and this container has numbers of its own: own "
    "processes are not among them"
)


def has_own_numbers(root: Path) -> bool:
    """Whether processes here have other numbers than those the driver knows them by."""
    try:
        return str((root / "proc/self/ns/pid").readlink()) != _FIRST_NAMESPACE
    except OSError:
        return True


class ToldApart:
    """Whether own processes can be told from others: they can where one was ever seen.

    In a container a list without them may be one in other numbers, or one that hides them.

    >>> inside = ToldApart(nested=True)
    >>> inside.sees([31007], frozenset({12})), inside.sees([31007, 12], frozenset({12}))
    (False, True)
    """

    def __init__(self, *, nested: bool) -> None:
        self._known = not nested

    def sees(self, pids: Iterable[int], own: frozenset[int]) -> bool:
        """Look at a list of processes; whether it, or one before, tells."""
        self._known = self._known or not own.isdisjoint(pids)
        return self._known
