"""The processes and threads that decode one trace."""

from __future__ import annotations

import gc
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from timesink.formats.chrome.container import cut_pieces, split_head
from timesink.formats.read_options import IsChosen, Progress
from timesink.formats.source_file import Damage, SourceFile
from timesink.runtime.native import is_native
from timesink.runtime.workers import Workers, usable_cores

if TYPE_CHECKING:
    from timesink.formats.chrome.decode import Share

WORTH_A_WORKER = 512 * 1024
"""Packed bytes below which starting another process costs more than it saves."""
_MAX_JOBS = 8
_STOP_CHECK_S = 0.1
Item = TypeVar("Item")


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
        super().__init__("timesink.formats.chrome.decoder_crew", "decode_share", rest)
        is_alone = not rest and is_native() and usable_cores() > 1
        self._ahead = self._started() if at_once and is_alone else None

    def _started(self) -> Ahead[Share]:
        return Ahead(lambda stopped: decode_share(*self._own, self._report, is_stopped=stopped))

    def _report(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)

    def decode(self, progress: Progress | None = None) -> list[Share]:
        """Decode all pieces; the share of a worker that failed is done here."""
        with self:
            if self._ahead is not None:
                self._progress = progress
                return [self._ahead.result()]
            return [decode_share(*self._own, progress), *self.results(decode_share)]

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self._ahead is not None:
            self._ahead.stop()


# One stream, several processes: each decodes its share of the pieces.
#
# Unpacking is cheap beside decoding, so workers share nothing: each unpacks the whole stream and
# skips the pieces of the others.


def decode_share(
    source: SourceFile,
    share: int,
    shares: int,
    brief: IsChosen | None = None,
    progress: Progress | None = None,
    *,
    is_stopped: Callable[[], bool] = bool,
) -> Share:
    """Decode every `shares`-th piece, from number `share` on, until it is stopped."""
    import numpy as np  # noqa: PLC0415 - workers first

    from timesink.formats.chrome.decode import PieceDecoder, Share, decode_cut  # noqa: PLC0415 - as above

    damage = Damage()
    opened = split_head(source.blocks(damage, progress))
    if opened is None:
        return Share([], {}, source.head(), bare=False, has_events=False, damage=damage)
    head, bare, stream = opened
    decoder = PieceDecoder(brief)
    # The C library hands blocks of a few MB back to the system each time they are freed, and
    # faults them in again page by page.  Freeing one large block tells it to keep them.
    np.empty(31 * 1024 * 1024, np.uint8)
    # Millions of short-lived tuples would make the cycle collector walk them again and again.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        cuts = cut_pieces(stream, share=share, shares=shares)
        if is_native() and shares == 1 and usable_cores() > 1:
            cuts = read_ahead(cuts)  # unpacking and scanning hold no lock of the interpreter
        cuts = takewhile(lambda _: not is_stopped(), cuts)
        pieces = [decode_cut(decoder, cut, bare=bare) for cut in cuts]
        decoder.end_run()
    finally:
        if was_enabled:
            gc.enable()
    # A run stands in front of the first of its pieces.
    pieces = [*decoder.runs, *pieces]
    return Share(pieces, decoder.vocabularies.tables(), head, bare, has_events=True, damage=damage)


# Threads: for work that lets others run.


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
