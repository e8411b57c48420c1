"""The bar on the screen while files are read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn


class ReadingBar:
    """How reading goes: in bytes of one file, or in ranks of a set of them.

    It is drawn at the first news: a trace from the cache brings none.
    """

    def __init__(self) -> None:
        self._drawn: Progress | None = None
        self._of_set = False
        self._since: tuple[float, int] = (0.0, 0)

    def __call__(self, done: int, total: int) -> None:
        """So many bytes of the file are read."""
        self._show(done, total, "reading", of_set=False)

    def of_set(self, done: int, total: int, damaged: int) -> None:
        """So many ranks are read, and so many of these cannot be."""
        if not self._of_set:
            self._since = (time.monotonic(), done)
        started, before = self._since
        seconds = time.monotonic() - started
        text = set_words(done, total, damaged, (done - before) / seconds if seconds > 1 else 0)
        self._show(done, total, text, of_set=True)

    def close(self) -> None:
        """Take it off the screen."""
        if self._drawn is not None:
            self._drawn.stop()
            self._drawn = None

    def _show(self, done: int, total: int, text: str, *, of_set: bool) -> None:
        if of_set != self._of_set:
            self.close()
        self._of_set = of_set
        if self._drawn is None:
            self._drawn = _draw(of_set=of_set)
        (task,) = self._drawn.task_ids
        self._drawn.update(task, completed=done, total=total, description=text)


def set_words(done: int, total: int, damaged: int, a_second: float) -> str:
    """How far a set is.

    >>> set_words(312, 1000, 3, 41.2)
    'ranks 312 of 1 000, 41 per second, 3 damaged'
    """
    from timesink.model.units import count  # noqa: PLC0415 - only a terminal needs it

    parts = [f"ranks {count(done)} of {count(total)}"]
    if a_second:
        parts.append(
            f"{a_second:.2g} per second" if a_second < 10 else f"{a_second:.0f} per second"
        )
    if damaged:
        parts.append(f"{count(damaged)} damaged")
    return ", ".join(parts)


def _draw(*, of_set: bool) -> Progress:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    amount: list[ProgressColumn] = [] if of_set else [DownloadColumn(binary_units=True)]
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *amount,
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("", total=None)
    bar.start()
    return bar
