"""Items made in a thread while the caller works on those before: for work that lets others run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

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
