"""Programs as trees of calls, written down as Python values, and read as a recording of them is.

A cycle is what each of its threads calls; times are microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import polars as pl

from timelines import Row, trace_of
from timesink.analyses.cycles.spans import Cycles, spans_of
from timesink.comparison.program.calls import Program, programs
from timesink.model.trace import Trace

US = 1_000
PID = "1"
_OWN_US = 2
"""What a call takes before, between and after those that it makes."""
_LAUNCHES = {"kernel": "cudaLaunchKernel", "memcpy": "cudaMemcpyAsync", "memset": "cudaMemsetAsync"}


@dataclass(frozen=True, repr=False)
class Call:
    """A call of the host, or work of the device with the call that launches it."""

    name: str
    calls: tuple[Call, ...] = ()
    kind: str = "operator"
    us: int = 0
    """Own time: of the device for its work, of the host for others, beyond what there is anyway."""
    shapes: str | None = None
    types: str | None = None
    grid: int = 1
    bytes: int = 0
    linked: bool = True
    """Whether the recording ties work of the device to the call that launched it."""

    def __len__(self) -> int:
        return 1 + sum(map(len, self.calls))

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.calls))})"


def op(name: str, *calls: Call, **more: object) -> Call:
    return replace(Call(name, calls), **more)  # type: ignore[arg-type]


def program_range(name: str, *calls: Call) -> Call:
    """A range of the program."""
    return Call(name, calls, "annotation")


def kernel(name: str, us: int = 10, **more: object) -> Call:
    return replace(Call(name, kind="kernel", us=us), **more)  # type: ignore[arg-type]


def copy(name: str, us: int = 5, size: int = 1024) -> Call:
    return Call(name, kind="memcpy", us=us, bytes=size)


def runtime(name: str, *work: Call, us: int = 3) -> Call:
    """A call of the runtime that stands for itself: a wait, an allocation, the launch of a graph
    with what that runs."""
    return Call(name, work, "runtime", us)


Threads = Mapping[str, Sequence[Call]]
Cycle = Sequence[Call] | Threads


@dataclass
class _Recording:
    """Rows of a recording under way."""

    first_id: int = 1
    host: list[Row] = field(default_factory=list)
    device: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ids = count(self.first_id)

    def call(self, call: Call, tid: str, now: int) -> int:
        """When a call that begins now has returned."""
        if call.kind in _LAUNCHES:
            number = next(self.ids)
            self._host("runtime", _LAUNCHES[call.kind], tid, now, 1, correlation=number)
            self._work(call, now, number if call.linked else None)
            return now + 1
        start, number = now, None
        now += _OWN_US
        if "GraphLaunch" in call.name:
            number = next(self.ids)
            for work in call.calls:
                self._work(work, start, number)
        else:
            for inner in call.calls:
                now = self.call(inner, tid, now) + _OWN_US
        now += call.us
        more = {"input_dims": call.shapes, "input_types": call.types, "correlation": number}
        self._host(call.kind, call.name, tid, start, now - start, **more)
        return now

    def _host(self, kind: str, name: str, tid: str, start: int, us: int, **more: object) -> None:
        place = {"kind": kind, "name": name, "pid": PID, "tid": tid}
        self.host.append(place | {"ts_ns": start * US, "dur_ns": us * US} | more)

    def _work(self, call: Call, launched: int, number: int | None) -> None:
        begins = {"ts_ns": (launched + 5) * US, "dur_ns": call.us * US}
        place = {"kind": call.kind, "name": call.name, "pid": "0", "device": 0, "stream": "7"}
        grid = {"grid_x": call.grid, "grid_y": 1, "grid_z": 1, "bytes": call.bytes}
        self.device.append(begins | place | grid | {"correlation": number})


def recording(
    cycles: Sequence[Cycle], first_id: int = 1, between: Sequence[Call] = ()
) -> tuple[Trace, Cycles]:
    """A recording of these cycles, one after the other; what is `between` them belongs to none."""
    recorder = _Recording(first_id)
    spans: list[tuple[int, int]] = []
    now = 100
    for cycle in cycles:
        threads = cycle if isinstance(cycle, Mapping) else {"1": cycle}
        ends = [now]
        for tid, calls in threads.items():
            at = now
            for call in calls:
                at = recorder.call(call, tid, at) + _OWN_US
            ends.append(at)
        spans.append((now * US, max(ends) * US))
        now = max(ends) + 50
        for call in between:
            now = recorder.call(call, "1", now) + 50
    host = [row | {"index": at} for at, row in enumerate(recorder.host)]
    device = [row | {"index": at} for at, row in enumerate(recorder.device)]
    starts, ends = (pl.Series(side, dtype=pl.Int64) for side in zip(*spans, strict=True))
    table = spans_of(PID, "step", starts, ends)
    return trace_of(host, device), Cycles(table, "marker", "step", 1.0, "as written down")


def program(cycles: Sequence[Cycle], first_id: int = 1, between: Sequence[Call] = ()) -> Program:
    """What the only process of a recording of these cycles calls."""
    return programs(*recording(cycles, first_id, between))[PID]


def paths(program_calls: Program) -> dict[str, list[int]]:
    """How often every chain of names comes in each cycle."""
    names = dict(zip(program_calls.sites["site"], program_calls.sites["name"], strict=True))
    parents = dict(zip(program_calls.sites["site"], program_calls.sites["parent"], strict=True))

    def chain(site: int) -> Iterator[str]:
        if site in names:
            yield from chain(parents[site])
            yield names[site]

    counts_by_path: dict[str, list[int]] = {}
    for site in program_calls.sites["site"]:
        rows = program_calls.counts.filter(pl.col("site") == site)
        calls = dict(zip(rows["cycle"], rows["calls"], strict=True))
        counts_by_path[" > ".join(chain(site))] = [
            calls.get(cycle, 0) for cycle in program_calls.cycles
        ]
    return counts_by_path
