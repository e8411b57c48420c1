"""Behaviour tables of many processes with known groups: healthy ones and four ways to be ill.

Every process runs the same functions; a group differs in what its fault touches.  Levels scatter
from process to process by a few percent and from cycle to cycle by more, as recordings do.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.comparison.results import Process
from timesink.model.schema import BEHAVIOUR

CYCLE_NS = 700_000_000
START_NS = 1_790_857_026_000_000_000

FUNCTIONS = (
    ("oncpu", "oncpu", "Host", 1_100_000_000, 90_000),
    ("runq", "runq", "Host", 60_000_000, 40_000),
    ("cudaStreamSynchronize", "cpu_sync", "Host", 20_000, 4),
    ("sm80_gemm_bf16_64x5", "gpu_compute", "GPU", 30_000_000, 128),
    ("flash_fwd_splitkv_kernel", "gpu_compute", "GPU", 3_000_000, 64),
    ("rms_norm_kernel", "gpu_compute", "GPU", 2_000_000, 129),
    ("Memcpy HtoD (Pageable -> Device)", "gpu_memcpy_h2d", "GPU", 120_000, 12),
)
"""Name, class, where it runs, and time and calls per cycle of a healthy process."""

METRICS = (
    ("cpu_frequency", "Host", 3_500.0, "MHz", 0.002),
    ("host_cpu_usage", "Host", 7.0, "%", 0.1),
    ("gpu_sm_frequency", "GPU", 1_155.0, "MHz", 0.05),
    ("gpu_usage", "GPU", 7.0, "%", 0.05),
    ("gpu_mem_used", "GPU", 85.0, "%", 0.0),
    ("gpu_link_receive", "GPU", 9.0e6, "B/s", 0.8),
)
"""Counter, where, healthy level, unit and scatter from cycle to cycle."""

FAULTS: tuple[Mapping[str, float], ...] = (
    {},
    {"gpu_sm_frequency": 0.18, "sm80_gemm_bf16_64x5": 3.6, "gpu_usage": 3.0},
    {"host_cpu_usage": 10.0, "runq": 6.0, "cycle": 1.8},
    {"gpu_link_receive": 3e4},
    {"cpu_frequency": 0.25, "oncpu": 3.0, "cycle": 3.5},
)
"""What each group multiplies; the first is healthy."""


def many_roles(
    count: int, *, groups: int = 4, cycles: int = 12, seed: int = 0
) -> tuple[list[Process], NDArray[np.int64]]:
    """Roles `p000`, `p001`, ... and the group of each: half are healthy, the others by turns."""
    roles, group = _many_roles(count, groups, cycles, seed)
    return list(roles), group.copy()


@cache
def _many_roles(
    count: int, groups: int, cycles: int, seed: int
) -> tuple[tuple[Process, ...], NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    turns = np.arange(count)
    group = np.where((turns % 2 == 0) | (groups < 2), 0, 1 + (turns // 2) % max(1, groups - 1))
    roles = tuple(_one_role(turn, FAULTS[group[turn]], random, cycles) for turn in turns)
    return roles, group


def one_role(
    number: int,
    fault: Mapping[str, float] | None = None,
    seed: int | None = None,
    cycles: int = 12,
) -> Process:
    """A process on the GPU of its number (of eight) with `cycles` cycles."""
    seed = number if seed is None else seed
    return _cached_role(number, tuple((fault or {}).items()), seed, cycles)


@cache
def _cached_role(
    number: int, fault: tuple[tuple[str, float], ...], seed: int, cycles: int
) -> Process:
    return _one_role(number, dict(fault), np.random.default_rng(seed), cycles)


def _one_role(
    number: int, fault: Mapping[str, float], random: np.random.Generator, cycles: int
) -> Process:
    times = _function_rows(number, fault, random, cycles)
    levels = _metric_rows(number, fault, random, cycles)
    # Waits and copies carry no counters, as in published tables.
    watched = pl.col("function_class").is_in(["cpu_sync", "gpu_memcpy_h2d"]).not_()
    rows = times.filter(watched).join(levels, on=["cycle", "device"])
    rows = pl.concat([rows, times.filter(~watched)], how="diagonal")
    pid = str(1000 + number)
    return Process(f"p{number:03d}", f"p{number:03d}.csv", pid, _complete_columns(rows, pid))


def _function_rows(
    number: int, fault: Mapping[str, float], random: np.random.Generator, cycles: int
) -> pl.DataFrame:
    levels = random.normal(1, 0.02, len(FUNCTIONS) + 1)
    length = CYCLE_NS * fault.get("cycle", 1.0) * levels[-1] * random.normal(1, 0.03, cycles)
    start = START_NS + np.cumsum(length) - length
    parts = [
        pl.DataFrame(
            {
                "cycle": np.arange(1, cycles + 1),
                "function": name,
                "short_name": name.split(" ")[0],
                "function_class": function_class,
                "device": _place(where, number),
                "dur_ns": time * fault.get(name, 1.0) * level * random.normal(1, 0.03, cycles),
                "calls": calls,
                "cycle_ts_ns": start,
                "cycle_dur_ns": length,
            }
        )
        for (name, function_class, where, time, calls), level in zip(
            FUNCTIONS, levels, strict=False
        )
    ]
    rows = pl.concat(parts).with_columns(
        pl.col("dur_ns", "cycle_ts_ns", "cycle_dur_ns").cast(pl.Int64)
    )
    return rows.with_columns(beta_pct=100 * pl.col("dur_ns") / pl.col("cycle_dur_ns"))


def _metric_rows(
    number: int, fault: Mapping[str, float], random: np.random.Generator, cycles: int
) -> pl.DataFrame:
    parts = [
        pl.DataFrame(
            {
                "cycle": np.arange(1, cycles + 1),
                "device": _place(where, number),
                "metric": metric,
                "mu": level * fault.get(metric, 1.0) * np.exp(random.normal(0, scatter, cycles)),
                "unit": unit,
            }
        )
        for metric, where, level, unit, scatter in METRICS
    ]
    return pl.concat(parts)


def _place(where: str, number: int) -> str:
    return where if where == "Host" else f"{where} {number % 8}"


def _complete_columns(rows: pl.DataFrame, pid: str) -> pl.DataFrame:
    """All columns of a behaviour table, with what was not given."""
    rest = {"pid": pid, "anchor": "Scheduler.run_batch", "cycle_type": "generic", "host": None}
    rest |= {"sigma": 0.0, "interpolated": "none"}
    rows = rows.with_columns(pl.lit(value).alias(name) for name, value in rest.items())
    return rows.select(pl.col(name).cast(kind) for name, kind in BEHAVIOUR.schema.items())
