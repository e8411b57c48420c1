"""Pairs of made-up runs that differ in what their counters say, and in how long kernels take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from compared import frame, pair_of
from timesink.analyses.behaviour.anatomy import PART_TIMES, PLACE_TIMES, Anatomy
from timesink.analyses.behaviour.counters import LEVELS
from timesink.comparison.causes.machine import find_anomalies
from timesink.comparison.results import TIMES, CycleTimes, Pair, Process, Workload
from timesink.model.findings import Finding
from timesink.model.schema import BEHAVIOUR

Levels = Mapping[str, Any]
GEMM = "sm90_gemm_bf16"
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
COPY = "Memcpy HtoD (Pinned -> Device)"


@dataclass(frozen=True)
class Side:
    """One run: counters (a level, or one value per cycle) and times per cycle in ms."""

    levels: Levels = field(default_factory=dict)
    kernels: float = 10.0
    launches: float = 100.0
    copies: float = 0.1
    copy_calls: float = 2.0
    reduce: float = 0.0
    reduce_calls: float = 0.0
    host: float = 80.0
    switches: float = 50.0
    files: float = 0.0
    file_calls: float = 0.0
    cycle_ms: float = 100.0
    hardware: str | None = "NVIDIA H200"
    cores: int | None = 16
    device: str = "GPU 0"


def anomalies(base: Side, new: Side, **more: Any) -> tuple[Finding, ...]:
    """What is found between two runs."""
    return both(base, new, **more)[0]


def both(
    base: Side, new: Side, *, cycles: int = 12, seed: int = 1, comparable: bool = True
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Anomalies and symptoms between two runs; levels scatter by half a percent."""
    random = np.random.default_rng(seed)
    sides = [run_anatomy(side, cycles, random) for side in (base, new)]
    return find_anomalies(pair(base, new, comparable=comparable), *sides)


def pair(base: Side, new: Side, *, comparable: bool = True) -> Pair:
    """The pair of two runs, with times of functions."""
    nothing = BEHAVIOUR.empty()
    columns = {
        (GEMM, "gpu_compute", base.device): ("kernels", "launches"),
        (REDUCE, "gpu_comm", base.device): ("reduce", "reduce_calls"),
        (COPY, "gpu_memcpy_h2d", base.device): ("copies", "copy_calls"),
        ("oncpu", "oncpu", "Host"): ("host", "switches"),
        ("write", "disk_read_and_write", "Host"): ("files", "file_calls"),
    }
    rows = [_row(what, (base, new), *names) for what, names in columns.items()]
    lengths = [side.cycle_ms * 1e6 for side in (base, new)]
    return pair_of(
        base=Process("base", "base.csv", "7", nothing),
        new=Process("new", "new.csv", "7", nothing),
        times=frame(TIMES, *rows),
        cycle_times=CycleTimes((), (), *lengths, None, None, None),
        workload=Workload(comparable=comparable, reasons=(), work_ratio=1.0),
    )


def _row(
    what: tuple[str, str, str], sides: tuple[Side, Side], time: str, calls: str
) -> dict[str, Any]:
    base, new = sides
    return {
        **dict(zip(("function", "function_class", "device"), what, strict=True)),
        "base_ns": getattr(base, time) * 1e6, "new_ns": getattr(new, time) * 1e6,
        "calls_base": getattr(base, calls), "calls_new": getattr(new, calls),
    }  # fmt: skip


def run_anatomy(side: Side, cycles: int, random: np.random.Generator) -> Anatomy:
    parts = {"device_compute": side.kernels, "host_cpu": side.host, "io": side.files}
    rows = [
        {"cycle": cycle, "part": part, "family": None, "dur_ns": time * 1e6}
        for cycle in range(1, cycles + 1)
        for part, time in parts.items()
    ]
    levels = [
        row
        for metric, level in side.levels.items()
        for row in _levels(side, metric, level, cycles, random)
    ]
    return Anatomy(
        parts=pl.DataFrame(rows, schema=PART_TIMES),
        places=pl.DataFrame(schema=PLACE_TIMES),
        levels=pl.DataFrame(levels, schema=LEVELS),
        hardware={side.device: side.hardware} if side.hardware else {},
        cores=side.cores,
    )


def _levels(
    side: Side, metric: str, level: Any, cycles: int, random: np.random.Generator
) -> list[dict[str, Any]]:
    """`metric` may name its device (`GPU 3/gpu_usage`), the level its unit."""
    device, _, name = metric.rpartition("/")
    unit = level[1] if isinstance(level, tuple) else None
    value = level[0] if isinstance(level, tuple) else level
    values = np.broadcast_to(np.asarray(value, dtype=float), cycles)
    if np.ndim(value) == 0:
        values = values * (1 + 0.005 * random.standard_normal(cycles))
    if not device:
        on_host = name.startswith(("host", "cpu", "process", "psi", "net", "disk", "container"))
        device = "Host" if on_host and "gpu" not in name else side.device
    return [
        {"cycle": number, "metric": name, "device": device, "unit": unit, "value": cycle_value}
        for number, cycle_value in enumerate(values, 1)
    ]
