"""Small programs that launch, wait and load, as recordings that hang together: one stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from timelines import Row, trace_of
from timesink.model.trace import Trace

US = 1_000
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
IN_PROCESSES = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


class Piece(NamedTuple):
    """What a program does next; times in us."""

    what: str
    """`kernel`, `copy`, `talk`, `wait`, `load`, `host`, or `pause` outside of calls."""
    name: str = "aten::mm"
    host: int = 10
    device: int = 0


LAUNCH, PACE, LATENCY = 5 * US, 1 * US, 4 * US
_KINDS = {"kernel": "kernel", "copy": "memcpy", "talk": "kernel"}
_NAMES = {"copy": "Memcpy HtoD (Pageable -> Device)", "talk": "ncclDevKernel_AllReduce_Sum_f32"}


class _Recorder:
    """Times of a thread and of a stream."""

    def __init__(self) -> None:
        self.host: list[Row] = []
        self.device: list[Row] = []
        self.steps: list[Row] = []
        self.now = self.free = 0

    def call(self, kind: str, name: str, start: int, end: int, number: int | None = None) -> None:
        row = {"kind": kind, "name": name, "pid": "1", "tid": "1", "correlation": number}
        self.host.append({**row, "ts_ns": start, "dur_ns": end - start})

    def play(self, piece: Piece) -> None:
        begin = self.now
        self.now += piece.host * US
        if piece.what == "pause":
            return
        if piece.what == "wait":
            self._runtime("cudaStreamSynchronize", max(self.now + LAUNCH, self.free + PACE))
        elif piece.what in _KINDS:
            number = len(self.device) + 1
            launched = self.now
            self._runtime("cudaLaunchKernel", self.now + LAUNCH, number)
            start = max(launched + LATENCY, self.free + PACE)
            self.free = start + piece.device * US
            name = _NAMES.get(piece.what, f"{piece.name.rpartition(':')[2]}_kernel")
            row = {"kind": _KINDS[piece.what], "name": name, "device": 0, "stream": "7"}
            row |= {"correlation": number, "ts_ns": start, "dur_ns": self.free - start}
            self.device.append({**row, "pid": "0", "tid": "7"})
        kind = "annotation" if piece.name.startswith("Optimizer") else "operator"
        self.call(kind, piece.name, begin, self.now)

    def _runtime(self, name: str, until: int, number: int | None = None) -> None:
        self.call("runtime", name, self.now, until, number)
        self.now = until


def cycles(pieces: Sequence[Piece], count: int = 3) -> Trace:
    """A recording of some equal steps."""
    recorder = _Recorder()
    for step in range(count):
        begin = recorder.now
        for piece in pieces:
            recorder.play(piece)
        recorder.now += 2 * US
        name = f"ProfilerStep#{step}"
        recorder.call("annotation", name, begin, recorder.now)
        row = {"step": step, "name": name, "pid": "1", "tid": "1"}
        recorder.steps.append({**row, "ts_ns": begin, "dur_ns": recorder.now - begin})
    recorder.host.sort(key=lambda row: (row["ts_ns"], -row["dur_ns"]))
    return trace_of(recorder.host, recorder.device, recorder.steps)


_names = st.sampled_from(["aten::mm", "aten::add", "Optimizer.step#SGD.step"])
_long = st.integers(0, 80)
pieces = st.lists(
    st.one_of(
        st.builds(
            Piece, st.sampled_from(["kernel", "kernel", "copy", "talk"]), _names, _long, _long
        ),
        st.builds(Piece, st.just("wait"), st.just("aten::item"), _long),
        st.builds(Piece, st.just("host"), _names, _long),
        st.builds(Piece, st.just("load"), st.just(LOADER), _long),
    ),
    min_size=1,
    max_size=6,
)
"""What the cycles of a random program do."""
