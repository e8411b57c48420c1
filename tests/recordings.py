"""Random recordings of a few events, for comparison with the oracle.

Times are so small that events often touch, start together, cross, or have no length.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from hypothesis import strategies as st

from oracle import LOADER, Row, end_of
from timelines import trace_of
from timesink.model.trace import Trace

_TIMES = {"ts_ns": st.integers(0, 8), "dur_ns": st.sampled_from([0, 0, 1, 2, 3, 5, 8])}
_IDS = st.sampled_from([None, 0, 1, 2, 3])
_THREADS = st.sampled_from([("1", "7")] * 6 + [("1", "stream 7"), ("host(2)", "7")])


def _host(kinds: Iterable[str], names: Iterable[str]) -> st.SearchStrategy[Row]:
    fields = {"kind": st.sampled_from(list(kinds)), "name": st.sampled_from(list(names))}
    ids = {"external_id": _IDS, "correlation": _IDS}
    category = {"category": st.sampled_from(["Python", "python_function"])}
    events = st.fixed_dictionaries({**fields, **_TIMES, **ids, **category})
    return st.builds(
        lambda event, place: {**event, "pid": place[0], "tid": place[1]}, events, _THREADS
    )


_WORK = (*["aten::mm"] * 5, "aten::add", "nccl:all_reduce", LOADER, "Optimizer.step#SGD.step")
_calls = _host(["operator"], [*_WORK, "DataParallel.forward", "Optimizer.zero_grad#SGD.zero_grad"])
_marks = _host(["annotation"], [*_WORK, "forward"])
_python = _host(["module", "python_function"], ["nn.Module: Linear_0", "train.py(3): step"])
_launches = _host(["runtime", "runtime", "driver"], ["cudaLaunchKernel"])
_other_events = _host(["trace", "instant", "overhead"], ["PyTorch Profiler (0)"])

_activities = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(
            ["kernel", "kernel", "memcpy", "memset", "collective", "annotation"]
        ),
        "name": st.sampled_from(["gemm", "gemm", "ncclDevKernel_AllReduce", "ProfilerStep#1"]),
        "pid": st.sampled_from(["0", "1", "host(2)", None]),
        "device": st.sampled_from([0, 1]),
        "correlation": _IDS,
        "external_id": _IDS,
        **_TIMES,
    }
)


def _crosses(row: Row, other: Row) -> bool:
    if (row["pid"], row["tid"]) != (other["pid"], other["tid"]):
        return False
    first, second = sorted((row, other), key=lambda event: (event["ts_ns"], -end_of(event)))
    return first["ts_ns"] < second["ts_ns"] < end_of(first) < end_of(second)


def _without_crossing(events: list[Row]) -> list[Row]:
    rows: list[Row] = []
    for event in events:
        if not any(_crosses(event, other) for other in rows):
            rows.append(event)
    return rows


@dataclass
class Recording:
    """The rows of a random recording; unlike a trace it can be read when a test fails."""

    host: list[Row]
    device: list[Row]
    steps: list[Row]

    @property
    def trace(self) -> Trace:
        return trace_of(self.host, self.device, self.steps)


@st.composite
def recordings(draw: st.DrawFn, *, nested: bool = False, work: int = 8) -> Recording:
    """Recordings in which calls nest, touch, have no length or, unless `nested`, cross."""
    calls = draw(st.lists(_calls | _calls | _marks | _python, min_size=2, max_size=work))
    marks, steps_ = draw(_steps())
    calls = _without_crossing([*marks, *calls]) if nested else [*marks, *calls]
    rest = draw(st.lists(_launches | _launches | _other_events, min_size=2, max_size=6))
    host = draw(st.permutations([*calls, *rest]))
    return Recording(host, draw(st.lists(_activities, min_size=1, max_size=6)), steps_)


@st.composite
def _steps(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Marks of steps one after the other, as host events and as steps."""
    edges = sorted(draw(st.lists(st.integers(0, 14), max_size=4)))
    gap = draw(st.sampled_from([0, 0, 1]))
    host, steps = [], []
    for number, (start, end) in enumerate(pairwise(edges), start=8):
        place = {"name": f"ProfilerStep#{number}", "pid": "1", "tid": "7", "ts_ns": start}
        place["dur_ns"] = max(end - start - gap, 0)
        host.append({"kind": "annotation", **place})
        steps.append({"step": number, **place})
    return host, steps
