"""What the watcher itself takes."""

from __future__ import annotations

import importlib
import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_OVER = 10
_THREADS = "POLARS_MAX_THREADS"


@contextmanager
def one_thread() -> Iterator[None]:
    """Import what makes tables in here: few rows need one thread, and idle ones are not free."""
    if _THREADS in os.environ:
        yield
        return
    os.environ[_THREADS] = "1"
    try:
        yield
        importlib.import_module("polars").thread_pool_size()
    finally:
        # The program is not to know of it.
        del os.environ[_THREADS]


class OwnCost:
    """Processor time and memory of this process, over the last seconds."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, float]] = deque(maxlen=_OVER)

    def told(self, judged: int, cycles: int) -> dict[str, Any]:
        """As the status has it."""
        self._points.append((time.monotonic(), time.process_time()))
        (first_s, first_cpu), (last_s, last_cpu) = self._points[0], self._points[-1]
        share = (last_cpu - first_cpu) / (last_s - first_s) if last_s > first_s else None
        return {
            "cpu_pct": None if share is None else round(100 * share, 2),
            "rss_bytes": _resident(),
            "judged_share": judged / cycles if cycles else None,
        }


def _resident() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return None
