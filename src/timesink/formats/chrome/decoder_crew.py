"""The processes that decode one trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from timesink.formats.read_options import IsChosen, Progress
from timesink.formats.source_file import SourceFile
from timesink.runtime.native import is_native
from timesink.runtime.read_ahead import Ahead
from timesink.runtime.workers import Workers, usable_cores

if TYPE_CHECKING:
    from timesink.formats.chrome.decode import Share

WORTH_A_WORKER = 512 * 1024
"""Packed bytes below which starting another process costs more than it saves."""
_MAX_JOBS = 8


class DecoderCrew(Workers):
    """This process and its workers, about to decode one source.

    Workers start at once, and so does the scanner in a thread of this process, so that the caller
    can load what it needs meanwhile.
    """

    def __init__(
        self,
        source: SourceFile,
        jobs: int | None = None,
        brief: IsChosen | None = None,
        *,
        at_once: bool = False,
    ) -> None:
        if jobs is None:
            # The scanner needs no processes beside this one: it works in threads.
            is_large = source.packed_size >= WORTH_A_WORKER and not is_native()
            jobs = min(usable_cores(), _MAX_JOBS) if is_large else 1
        first, *rest = ((source, n, max(1, jobs), brief) for n in range(max(1, jobs)))
        self._own = first
        self._progress: Progress | None = None
        super().__init__("timesink.formats.chrome.decode", "decode_share", rest)
        is_alone = not rest and is_native() and usable_cores() > 1
        self._ahead = self._started() if at_once and is_alone else None

    def _started(self) -> Ahead[Share]:
        from timesink.formats.chrome.decode import decode_share  # noqa: PLC0415 - workers first

        return Ahead(lambda stopped: decode_share(*self._own, self._report, is_stopped=stopped))

    def _report(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)

    def decode(self, progress: Progress | None = None) -> list[Share]:
        """Decode all pieces; the share of a worker that failed is done here."""
        from timesink.formats.chrome.decode import decode_share  # noqa: PLC0415 - workers first

        with self:
            if self._ahead is not None:
                self._progress = progress
                return [self._ahead.result()]
            return [decode_share(*self._own, progress), *self.results(decode_share)]

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self._ahead is not None:
            self._ahead.stop()
