"""Made-up programs whose cycles are known to the last call, and what slows them down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from behaviour_rows import behaviour
from compared import pair_of
from timesink.analyses.behaviour.anatomy import (
    CYCLE_SPANS,
    LAUNCHES,
    PART_TIMES,
    PLACE_TIMES,
    Anatomy,
)
from timesink.analyses.behaviour.counters import LEVELS
from timesink.comparison.causes.diagnosis import attribution, find_causes
from timesink.comparison.results import CycleTimes, Pair, Process
from timesink.comparison.steps.verdict import compare_roles, time_rows
from timesink.model.diagnosis import Component
from timesink.model.findings import Anomaly, Cause

MS = 1_000_000
PARTS = {
    "gpu_compute": "device_compute",
    "gpu_comm": "exposed_communication",
    "gpu_memcpy_d2h": "copies",
    "cpu_sync": "synchronisation",
    "cpu_launch": "launch_gap",
    "cpu_copy": "launch_gap",
    "cpu_annotation": "idle",
    "runq": "run_queue",
}


@dataclass(frozen=True)
class Call:
    """A function: its class, calls per step, time per step, and work per launch."""

    function_class: str
    calls: int
    ms: float
    blocks: float = 100.0

    @property
    def device(self) -> str:
        return "GPU 0" if self.function_class.startswith("gpu") else "Host"


@dataclass(frozen=True)
class Program:
    """All that runs in a cycle; nothing overlaps, so that the parts are the times of the calls."""

    calls: Mapping[str, Call]
    gap_ms: float = 0.0
    """A pause after the last call of the cycle."""
    loading_ms: float = 0.0
    gaps_ms: Mapping[str, float] = field(default_factory=dict)
    """Pauses, by the call they come after."""
    gaps_in: str | None = None
    """The call these pauses are inside of; None for the step itself."""

    def but(self, **more: Call | None) -> Program:
        """The same with other calls; None takes one away.  `__` in names is `::`."""
        extra_calls = {name.replace("__", "::"): call for name, call in more.items()}
        calls = {**self.calls, **extra_calls}
        return replace(self, calls={name: call for name, call in calls.items() if call is not None})

    def slowed(self, factor: float, where: str = "cpu") -> Program:
        """All calls of the host or of the device take longer alike."""
        calls = {
            name: replace(call, ms=call.ms * factor)
            if call.function_class.startswith(where)
            else call
            for name, call in self.calls.items()
        }
        return replace(self, calls=calls)


USUAL = Program(
    {
        "step": Call("cpu_annotation", 1, 5.0),
        "aten::mm": Call("cpu_operator", 80, 12.0),
        "aten::add": Call("cpu_operator", 70, 4.0),
        "aten::mul": Call("cpu_operator", 60, 3.0),
        "aten::attention": Call("cpu_operator", 12, 30.0),
        "aten::cat": Call("cpu_operator", 40, 2.0),
        "cudaLaunchKernel": Call("cpu_launch", 400, 6.0),
        "cudaStreamSynchronize": Call("cpu_sync", 1, 0.2),
        "cudaMemcpyAsync": Call("cpu_copy", 2, 0.3),
        "nvjet_sm90_tst_64x8": Call("gpu_compute", 72, 10.0),
        "void at::native::vectorized_elementwise_kernel<4>": Call("gpu_compute", 200, 8.0),
        "void at::native::reduce_kernel<512>": Call("gpu_compute", 25, 4.0),
    }
)


def role(
    program: Program, label: str, seed: int = 0, cycles: int = 20, rank: int | None = None
) -> Process:
    """Cycles of a program on a host whose pace wanders, the same pace for all of its calls."""
    random = np.random.default_rng(seed)
    pace = 1 + 0.1 * np.sin(np.arange(cycles) * 0.8) + 0.01 * random.normal(size=cycles)
    rows, parts, places, launches, spans, start = [], [], [], [], [], 0
    for number in range(1, cycles + 1):
        slow = float(pace[number - 1])
        times = _times(program, slow, random)
        extra = round(program.gap_ms * MS * float(1 + 0.01 * random.normal()))
        gaps = {name: round(ms * MS * slow) for name, ms in program.gaps_ms.items()}
        loading = round(program.loading_ms * MS * float(random.uniform(0.5, 1.5)))
        paused = {program.gaps_in or "step": sum(gaps.values())}
        paused["step"] = paused.get("step", 0) + extra
        length = sum(times.values()) + sum(paused.values()) + loading
        for name, ns in times.items():
            call = program.calls[name]
            self_ns = ns + paused.get(name, 0)
            rows.append(_row(number, name, call, self_ns, (start, length)))
            parts.append((number, *_part(name, call), float(self_ns)))
            if call.device != "Host":
                launches.append((number, name, call.calls, call.blocks * call.calls, 0.0))
        if loading:
            name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
            rows.append(_row(number, name, Call("cpu_annotation", 1, 0), loading, (start, length)))
            parts.append((number, "data_loading", None, float(loading)))
        if extra:
            places.append((number, None, "aten::cat", None, 1, start + length - extra, extra))
        places += [
            (number, program.gaps_in, after, "aten::mm", 1, start + turn, gap)
            for turn, (after, gap) in enumerate(gaps.items())
        ]
        spans.append((number, start, length))
        start += length
    anatomy = Anatomy(
        pl.DataFrame(parts, PART_TIMES, orient="row"),
        pl.DataFrame(places, PLACE_TIMES, orient="row"),
        pl.DataFrame(schema=LEVELS),
        cycles=pl.DataFrame(spans, CYCLE_SPANS, orient="row"),
        launches=pl.DataFrame(launches, LAUNCHES, orient="row"),
    )
    return Process(label, f"{label}.json", "7", behaviour(*rows), rank=rank, anatomy=anatomy)


def _times(program: Program, pace: float, random: np.random.Generator) -> dict[str, int]:
    times = {}
    for name, call in program.calls.items():
        pace_factor = pace if call.device == "Host" else 1.0
        times[name] = round(call.ms * MS * pace_factor * float(1 + 0.01 * random.normal()))
    return times


def _part(name: str, call: Call) -> tuple[str, str | None]:
    part = PARTS.get(call.function_class, "host_cpu")
    if part != "device_compute":
        return part, None
    if "elementwise" in name:
        return part, "elementwise"
    return part, "reduction" if "reduce" in name else "gemm"


def _row(cycle: int, name: str, call: Call, ns: int, span: tuple[int, int]) -> dict[str, object]:
    start, length = span
    return {
        "cycle": cycle,
        "function": name,
        "metric": None,
        "mu": None,
        "device": call.device,
        "function_class": call.function_class,
        "dur_ns": ns,
        "calls": call.calls,
        "beta_pct": 100 * ns / length,
        "cycle_ts_ns": start,
        "cycle_dur_ns": length,
    }


def pair(base: Program, new: Program, rank: int | None = None, cycles: int = 20) -> Pair:
    """Two programs beside each other."""
    return compare_roles(
        role(base, "base", 1, cycles, rank), role(new, "new", 2, cycles, rank), "strict"
    )


def causes(
    base: Program, new: Program, *anomalies: Anomaly, relieved: tuple[Anomaly, ...] = ()
) -> tuple[Cause, ...]:
    """What explains the change from one program to another."""
    both, before, after, parts = _beside(repr((base, new)), (base, new))
    return find_causes(both, before, after, parts, anomalies, relieved=relieved)


_PAIRS: dict[str, tuple[Pair, Anatomy, Anatomy, tuple[Component, ...]]] = {}


def _beside(
    key: str, programs: tuple[Program, Program]
) -> tuple[Pair, Anatomy, Anatomy, tuple[Component, ...]]:
    """What rules about causes look at: lengths and times, without any test of them; once each."""
    if key not in _PAIRS:
        base, new = (
            role(program, label, seed)
            for seed, (program, label) in enumerate(zip(programs, ("base", "new"), strict=True), 1)
        )
        before, after = base.anatomy, new.anatomy
        assert before is not None
        assert after is not None
        lengths = [tuple(side.cycles["dur_ns"].to_list()) for side in (before, after)]
        means = [sum(values) / len(values) for values in lengths]
        both = pair_of(
            base=base,
            new=new,
            times=time_rows(base.behaviour, new.behaviour),
            cycle_times=CycleTimes(lengths[0], lengths[1], means[0], means[1], None, None, None),
        )
        _PAIRS[key] = both, before, after, attribution(both, before, after)
    return _PAIRS[key]


def anomaly(cause: str, device: str = "GPU 0", **more: Any) -> Anomaly:
    """A resource that is less there."""
    usual: dict[str, Any] = {"metric": "gpu_usage", "unit": "%", "base": 5.0, "new": 99.0}
    fields_ = {**usual, **more}
    return Anomaly(
        cause, "It is busy.", "Look.", share=0.9, q_value=0.001, device=device, **fields_
    )
