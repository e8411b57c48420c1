"""The engine of one machine: processes that are asked for one item at a time."""

from __future__ import annotations

import selectors
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from timesink.engines.calling import killed, name_of
from timesink.engines.child import Child
from timesink.engines.engine import Call, Done
from timesink.errors import TimesinkError
from timesink.readers.workers import usable_cores

_REMEDY = "try --jobs 1, or a machine that has more"


class LocalEngine:
    """Makes calls in processes of this machine, as many as it has cores or as `jobs` says."""

    name = "local"

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs

    def run(self, call: Call, items: Sequence[Any]) -> Iterator[Done]:
        """Call once for every item; one whose process died is tried again, last and alone."""
        size = min(self._jobs or usable_cores(), len(items))
        first = _Crew(call, items)
        yield from first.work(range(len(items)), size)
        again = _Crew(call, items)
        for place in first.died:
            # What died of too little memory may live when nothing else needs any.
            yield from again.work([place], 1)
        for place, how in again.died.items():
            yield Done(place, None, killed(name_of(items[place]), how, _REMEDY))


class _Crew:
    """Processes at work on some items."""

    def __init__(self, call: Call, items: Sequence[Any]) -> None:
        self._call = call
        self._items = items
        self._children: set[Child] = set()
        self.died: dict[int, str] = {}
        """Places of items whose process died, and how."""

    def work(self, places: Iterable[int], size: int) -> Iterator[Done]:
        """What comes of the items at some places, by up to `size` processes."""
        waiting = deque(places)
        try:
            with selectors.DefaultSelector() as busy:
                self._start(busy, waiting, size)
                while busy.get_map():
                    done = [self._finish(busy, key.fileobj, waiting) for key, _ in busy.select()]
                    self._start(busy, waiting, size)
                    yield from (one for one in done if one is not None)
        finally:
            for child in self._children:
                child.stop()
            self._children.clear()

    def _start(self, busy: selectors.BaseSelector, waiting: deque[int], size: int) -> None:
        """Bring the number of processes to `size`, as far as there is work for them."""
        while waiting and len(self._children) < size:
            try:
                child = Child(self._call)
            except OSError as error:
                if self._children:
                    return
                raise TimesinkError(
                    f"no process can be started ({error.strerror or error})",
                    "close other programs, or raise the limit (ulimit -u)",
                ) from None
            self._children.add(child)
            busy.register(child, selectors.EVENT_READ)
            self._ask(child, waiting)

    def _ask(self, child: Child, waiting: deque[int]) -> None:
        place = waiting.popleft()
        child.ask(place, self._items[place])

    def _finish(self, busy: selectors.BaseSelector, child: Any, waiting: deque[int]) -> Done | None:
        """The answer of a process, which gets another item; None when it is gone."""
        place, outcome = child.place, child.answer()
        if outcome is not None and waiting:
            self._ask(child, waiting)
        else:
            busy.unregister(child)
            self._children.discard(child)
            how = child.stop()
        if outcome is not None:
            return Done(place, *outcome)
        self.died[place] = how
        return None
