"""The processes of the program: those its recorder knows, and what they started."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from timesink.collect.processes import children_by_parent, descendants

_PIDS_EVERY_S = 0.2
_CHILDREN_EVERY_S = 1.0
_SHARE = 0.01
"""Part of a core that looking for processes may take: a host may have thousands."""


class OwnProcesses:
    """Processes of the program; asked from several threads, of which one looks for them."""

    def __init__(self, pids: Callable[[], Collection[int]], root: Path = Path("/")) -> None:
        self._pids = pids
        self._proc = os.fspath(root / "proc")
        self._roots: tuple[int, ...] | None = None
        self._families: Mapping[int, tuple[int, ...]] = {}
        self._pids_from_s = 0.0
        self._children_from_s = 0.0

    def roots(self) -> tuple[int, ...]:
        """Processes the recorder knows, as of the last look."""
        if self._roots is None:
            self._roots = tuple(sorted(set(self._pids())))
        return self._roots

    def families(self) -> Mapping[int, tuple[int, ...]]:
        """Each of them with all it started, as of the last look."""
        known = self._families
        return {root: known.get(root, (root,)) for root in self.roots()}

    def members(self) -> frozenset[int]:
        """All processes of the program."""
        return frozenset(pid for family in self.families().values() for pid in family)

    def look(self, now_s: float) -> None:
        """Look again, if the last time is long enough ago."""
        begun_s = time.thread_time()
        if now_s >= self._pids_from_s:
            self._roots = tuple(sorted(set(self._pids())))
            self._pids_from_s = now_s + _rest_s(begun_s, _PIDS_EVERY_S)
        begun_s = time.thread_time()
        if now_s >= self._children_from_s:
            children = _children(self._proc)
            self._families = {root: descendants(root, children) for root in self.roots()}
            self._children_from_s = now_s + _rest_s(begun_s, _CHILDREN_EVERY_S)


def _rest_s(begun_s: float, least_s: float) -> float:
    """How long to wait after something that was begun then."""
    return max(least_s, (time.thread_time() - begun_s) / _SHARE)


def _children(proc: str) -> dict[int, list[int]]:
    """Processes by their parent, without the one that samples: the program may have started it."""
    own = os.getpid()
    found = children_by_parent(proc)
    return {parent: [pid for pid in pids if pid != own] for parent, pids in found.items()}
