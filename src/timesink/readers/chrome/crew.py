"""The processes that decode one trace, started before anything heavy is loaded here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from timesink.readers.options import IsChosen, Progress
from timesink.readers.source import SourceFile
from timesink.readers.workers import Worker, usable_cores

if TYPE_CHECKING:
    from typing_extensions import Self

    from timesink.readers.chrome.shares import Share

WORTH_A_WORKER = 512 * 1024
"""Packed bytes below which starting another process costs more than it saves."""
_SHARES = "timesink.readers.chrome.shares"


class DecoderCrew:
    """This process and its workers, about to decode one source.

    Workers start at once, so that the caller can load what it needs meanwhile.
    """

    def __init__(
        self, source: SourceFile, jobs: int | None = None, brief: IsChosen | None = None
    ) -> None:
        self._source, self._brief = source, brief
        self._size = choose_jobs(source, jobs)
        self._workers = [
            Worker(_SHARES, "decode_share", source, number, self._size, brief)
            for number in range(1, self._size)
        ]

    def decode(self, progress: Progress | None = None) -> list[Share]:
        """Decode all pieces; the share of a worker that failed is done here."""
        from timesink.readers.chrome.shares import decode_share  # noqa: PLC0415 - workers first

        with self:
            shares = [decode_share(self._source, 0, self._size, self._brief, progress)]
            for number, worker in enumerate(self._workers, 1):
                share = worker.result()
                shares.append(share or decode_share(self._source, number, self._size, self._brief))
        return shares

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stop()


def choose_jobs(source: SourceFile, asked: int | None) -> int:
    """How many processes a source deserves."""
    if asked is not None:
        return max(1, asked)
    if source.packed_size < WORTH_A_WORKER:
        return 1
    return max(1, min(usable_cores(), 8))
