"""Runs to compare, as files: behaviour tables of made-up processes, and small timelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from builders import Event, annotation, complete, kernel, kineto, operator, runtime, step, write
from many_roles import one_role
from timesink.formats.behaviour import write_behaviour

SLOW_CLOCK = {"gpu_sm_frequency": 0.18, "sm80_gemm_bf16_64x5": 3.6, "cycle": 1.3}
"""A fault nobody can overlook."""


def process_table(
    pid: int | str,
    fault: Mapping[str, float] | None = None,
    *,
    host: str | None = None,
    cycles: int = 8,
    seed: int = 0,
    **columns: Any,
) -> pl.DataFrame:
    """What one process did; `columns` replace whole columns."""
    table = _behaviour(tuple((fault or {}).items()), cycles, seed)
    values = {"pid": str(pid), "host": host, **columns}
    return table.with_columns(
        pl.lit(value).cast(table.schema[name]).alias(name) for name, value in values.items()
    )


@cache
def _behaviour(fault: tuple[tuple[str, float], ...], cycles: int, seed: int) -> pl.DataFrame:
    return one_role(0, dict(fault), seed, cycles).behaviour


def write_table(path: Path, *tables: pl.DataFrame) -> Path:
    """A behaviour table of several processes; the folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_behaviour(pl.concat(tables), path)
    return path


def write_case(
    folder: Path,
    normal: Sequence[int | str],
    abnormal: Sequence[int | str],
    name: str = "result_perf_data.csv",
) -> Path:
    """A folder with both sides, of which the abnormal one has the fault."""
    sides = (("normal", normal, None), ("abnormal", abnormal, SLOW_CLOCK))
    for number, (side, pids, fault) in enumerate(sides):
        tables = [process_table(pid, fault, seed=number) for pid in pids]
        write_table(folder / f"{side}_perf_data" / name, *tables)
    return folder


def timeline(
    cycles: int = 6,
    *,
    mark: str = "decode_step",
    steps: bool = False,
    slow: float = 1.0,
    reads: bool = False,
    pid: int = 4242,
    **fields: Any,
) -> dict[str, Any]:
    """A run that does the same again and again; marked by annotations, by profiler steps or both.

    Kernels take `slow` times as long; it may read a value of the device in every cycle.  `fields`
    are the document's own, such as `distributedInfo`.
    """
    events: list[Event] = []
    for number in range(cycles):
        start = 1000.0 * number
        if mark:
            events.append(annotation(mark, start, 900 + number % 3))
        if steps:
            events.append(step(number, start - 5, 960 + number % 3))
        for place, name in enumerate(("gemm", "norm", "gemm", "sample")):
            at, correlation = start + 10 + 200 * place, 10 * number + place + 1
            events += [
                operator(f"aten::{name}", at, 60),
                runtime("cudaLaunchKernel", at + 5, 20, correlation),
                kernel(f"{name}_kernel", at + 30, (80 + number % 2) * slow, correlation),
            ]
        if reads:
            events.append(operator("aten::item", start + 800, 60))
            events.append(
                complete("cuda_runtime", "cudaStreamSynchronize", start + 805, 50, args={})
            )
    for event in events:
        if event["cat"] != "kernel":
            event["pid"] = event["tid"] = pid
    document = kineto(events, **fields)
    assert isinstance(document, dict)
    return document


def write_timeline(path: Path, **options: Any) -> Path:
    """A trace file; the folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(path, timeline(**options))


def rank_fields(rank: int, world: int = 2) -> dict[str, Any]:
    return {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}}


def cycle_tables(
    folder: Path,
    *,
    new_by: float,
    base_first: float | None = None,
    new_first: float | None = None,
    new_fifth: float | None = None,
) -> tuple[Path, Path]:
    """Two runs of 40 even cycles of 1 ms, of which the first or every fifth may be long, in ns."""
    sides = (("base", 1.0, base_first, None), ("new", new_by, new_first, new_fifth))
    base, new = (_cycle_table(folder / f"{name}.csv", *side) for name, *side in sides)
    return base, new


def _cycle_table(path: Path, by: float, first_ns: float | None, fifth_ns: float | None) -> Path:
    lengths = [by * (1e6 + 2000 * (number % 3 - 1)) for number in range(40)]
    if first_ns is not None:
        lengths[0] = first_ns
    if fifth_ns is not None:
        lengths[4::5] = [fifth_ns] * 8
    return length_table(path, lengths)


def length_table(path: Path, lengths: Sequence[float]) -> Path:
    """A run whose cycles have these lengths, in ns."""
    table = process_table(7, cycles=len(lengths))
    place = table["cycle"].rank("dense").cast(pl.Int64) - 1
    length = pl.Series(lengths).cast(pl.Int64).gather(place)
    kind = table.schema["cycle_dur_ns"]
    return write_table(path, table.with_columns(length.cast(kind).alias("cycle_dur_ns")))
