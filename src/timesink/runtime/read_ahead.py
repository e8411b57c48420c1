"""Work in a thread beside that of the caller: for work that lets others run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
_STOP_CHECK_S = 0.1


def read_ahead(items: Iterable[Item], depth: int = 4) -> Iterator[Item]:
    """The same items, up to `depth` of them made ahead; what making them raises is raised here.

    >>> list(read_ahead(range(3)))
    [0, 1, 2]
    """
    ready: queue.Queue[tuple[str, Any]] = queue.Queue(depth)
    stopped = threading.Event()

    def hand_on(kind: str, value: Any) -> bool:
        while not stopped.is_set():
            try:
                ready.put((kind, value), timeout=_STOP_CHECK_S)
            except queue.Full:
                continue
            return True
        return False

    def make() -> None:
        try:
            if all(hand_on("item", item) for item in items):
                hand_on("end", None)
        except BaseException as error:  # noqa: BLE001 - it is raised again where items are taken
            hand_on("error", error)

    thread = threading.Thread(target=make, name="timesink-read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            kind, value = ready.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        stopped.set()
        thread.join()


class Ahead(Generic[Item]):
    """One call in a thread, which is asked whether it was stopped; what it raises is raised here.

    >>> Ahead(lambda stopped: 7).result()
    7
    """

    def __init__(self, call: Callable[[Callable[[], bool]], Item]) -> None:
        self._stopped = threading.Event()
        self._outcome: list[Item] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(
            target=self._run, args=(call,), name="timesink-ahead", daemon=True
        )
        self._thread.start()

    def _run(self, call: Callable[[Callable[[], bool]], Item]) -> None:
        try:
            self._outcome.append(call(self._stopped.is_set))
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is taken
            self._error = error

    def result(self) -> Item:
        """What the call gives; it is handed over once."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._outcome.pop()

    def stop(self) -> None:
        """Tell the call that nobody waits for it, and wait for its end."""
        self._stopped.set()
        self._thread.join()
