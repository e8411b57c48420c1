"""Keeping a trace in the cache while the caller already works with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from timesink.store.cache import Cache

if TYPE_CHECKING:
    from timesink.model.trace import Trace

_saving: dict[tuple[Path, str], Thread] = {}


def save_in_background(cache: Cache, key: str, trace: Trace) -> None:
    """Start to keep a trace.  The process does not end before it is done."""
    _start(cache, key, lambda: cache.save(key, trace))


def after_saving(cache: Cache, key: str, action: Callable[[], None]) -> None:
    """Do something as soon as a trace is kept: at once if it is not being kept just now."""
    pending = _saving.get((cache.root, key))
    if pending is None:
        action()
        return

    def wait_and_act() -> None:
        pending.join()
        action()

    _start(cache, key, wait_and_act)


def wait_until_saved(cache: Cache, key: str) -> None:
    """Wait for a trace that is being kept; return at once if none is."""
    thread = _saving.pop((cache.root, key), None)
    if thread is not None:
        thread.join()


def _start(cache: Cache, key: str, action: Callable[[], None]) -> None:
    thread = Thread(target=action, name="timesink-cache")
    _saving[cache.root, key] = thread
    thread.start()
