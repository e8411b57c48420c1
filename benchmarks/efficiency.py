"""How much of the kernel time is modelled, and how modelled work compares with hardware counters.

    python benchmarks/efficiency.py coverage [FOLDER ...]
    python benchmarks/efficiency.py counters COUNTERS TIMELINE [COUNTERS TIMELINE ...]
    python benchmarks/efficiency.py cost RECORDING

The first goes through recordings and tells the share of their kernel time whose work is known.  The
second joins counters of Nsight Compute with a timeline of the same program and holds the bytes and
operations of kernels against those that were counted.  The third repeats a recording to a million
events and tells what efficiency costs beyond the analyses it stands on, by unpacking and parsing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import msgspec
import polars as pl
from isal import igzip

import timesink
from generate import repeat
from timesink.analyses.kernels.calls import kernel_calls
from timesink.analyses.kernels.peaks import choose_peaks
from timesink.analyses.links import link_launches
from timesink.analyses.steps import average_step
from timesink.analyses.work.calls import known_times
from timesink.analyses.work.efficiency import (
    Efficiency,
    efficiency,
    family_efficiency,
    operator_efficiency,
    shape_text,
)
from timesink.analyses.work.steps import MEMORY
from timesink.answers.kernels.report import KernelReport
from timesink.errors import TimesinkError

_EVENTS = 1_000_000
_LARGE, _VAST = 64 * 2**20, 256 * 2**20
"""Bytes of a call that the cache of an H200 does not hold, and those of which what it keeps when
a kernel ends, at most 26 MiB of what was written, is but a tenth."""


def coverage(folders: Iterable[Path]) -> Iterator[str]:
    """A row per recording with kernels."""
    yield "| recording | device | kernels take | modelled | by likeness | MFU | speed of light |"
    yield "|---|---|---|---|---|---|---|"
    for file in sorted(file for folder in folders for file in _recordings(folder)):
        try:
            analysis = efficiency(timesink.open(file))
        except TimesinkError as error:
            print(f"{file}: {error}")
            continue
        times = known_times(analysis.modelled.kernels)
        total, share = sum(times.values()), analysis.modelled.modelled_share
        if not total:
            continue
        like, step = times.get("like another launch", 0) / total, analysis.step
        mfu = "-" if step is None or step.mfu is None else f"{step.mfu:.1%}"
        ideal = "-" if step is None or analysis.peaks is None else _of_step(analysis)
        device = analysis.peaks.device if analysis.peaks else "-"
        yield (
            f"| {file.parent.name}/{file.name.partition('.')[0]} | {device} | {total / 1e6:.2f} ms "
            f"| {share:.1%} | {like:.1%} | {mfu} | {ideal} |"
        )


def _of_step(analysis: Efficiency) -> str:
    step = analysis.step
    if step is None:
        return "-"
    return f"{sum(step.ideal_ns.values()) / 1e6:.2f} of {step.step_ns / 1e6:.2f} ms"


def _recordings(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    for file in folder.rglob("*"):
        if file.is_file() and file.name.endswith((".json", ".json.gz")):
            yield file


def counters(pairs: Iterable[tuple[Path, Path]]) -> Iterator[str]:
    """Operations by operator and shape, then bytes by operator: as modelled and as counted."""
    rows = pl.concat(
        join_calls(counted, timeline).with_columns(program=pl.lit(counted.name.partition(".")[0]))
        for counted, timeline in pairs
    )
    yield "| program | operator | shape | calls | modelled GFLOP | counted | modelled / counted |"
    yield "|---|---|---|---|---|---|---|"
    ratio = (pl.col("matrix_flop") / pl.col("counted_flop")).round(4).alias("ratio")
    for program, operator, shape, near, calls, modelled, counted in (
        rows.filter((pl.col("matrix_flop") > 0) & (pl.col("counted_flop") > 0))
        .group_by("program", "operator", "shape", ratio, maintain_order=True)
        .agg(pl.len().alias("calls"), pl.col("matrix_flop", "counted_flop").mean() / 1e9)
        .iter_rows()
    ):
        yield (
            f"| {program} | {operator} | {shape} | {calls} "
            f"| {modelled:,.3f} | {counted:,.3f} | {near:.4f} |"
        )
    yield ""
    yield f"Bytes of memory-bound calls above {_LARGE >> 20} MiB (vast: {_VAST >> 20}), medians:"
    yield ""
    yield "| program | operator | calls | modelled / counted | 10 to 90 % | vast calls | of them |"
    yield "|---|---|---|---|---|---|---|"
    bound = rows.filter(
        (pl.col("bound") == MEMORY) & (pl.col("bytes") > _LARGE) & (pl.col("counted_bytes") > 0)
    ).with_columns(ratio=pl.col("bytes") / pl.col("counted_bytes"))
    parts = bound.partition_by("program", "operator", as_dict=True, maintain_order=True)
    programs = bound.partition_by("program", as_dict=True, maintain_order=True)
    wholes = {(program, "all"): part for (program,), part in programs.items()}
    for (program, operator), part in {("all", "all"): bound, **wholes, **parts}.items():
        low, middle, high = (part["ratio"].quantile(at, "linear") for at in (0.1, 0.5, 0.9))
        vast = part.filter(pl.col("bytes") > _VAST)
        of_vast = f"{vast['ratio'].median():.3f}" if vast.height else "-"
        yield (
            f"| {program} | {operator} | {part.height} | {middle:.3f} "
            f"| {low:.3f} to {high:.3f} | {vast.height} | {of_vast} |"
        )


def join_calls(counted: Path, recorded: Path) -> pl.DataFrame:
    """Calls of a timeline with their work as modelled and as counted, over all their kernels."""
    timeline = timesink.open(recorded)
    report, analysis = timesink.kernels(counted, trace=timeline), efficiency(timeline)
    if report.join is None or report.join.refused:
        raise SystemExit(f"{counted}: not the program of {recorded}")
    names = analysis.sets.with_row_index("set").select(
        *(pl.col("set").cast(pl.Int64), "operator"),
        shape=pl.col("input_dims").cast(pl.String).map_elements(shape_text, pl.String),
    )
    # What sets memory has no counters: its part of a call is that of the kernels.
    in_kernels = pl.col("share").filter("is_kernel").sum().over("call")
    modelled = analysis.kernels.join(names, on="set", how="left").select(
        *("row", "call", "operator", "shape", "bound"), pl.col("matrix_flop", "bytes") / in_kernels
    )
    rows = kernel_calls(timeline)["device_row"]
    places = report.join.rows
    row = rows.gather(places.fill_null(0)).cast(pl.Int64)
    return (
        _counted_work(report)
        .with_columns(row=pl.when(places.is_not_null()).then(row))
        # Steps that were counted may all be held against one of the timeline.
        .with_columns(turn=pl.int_range(pl.len()).over("row"))
        .join(modelled, on="row")
        .drop_nulls("operator")
        .group_by("turn", "call", "operator", "shape", "bound", maintain_order=True)
        .agg(pl.col("counted_bytes", "on_tensor", "on_fp32", "matrix_flop", "bytes").sum())
        .with_columns(
            counted_flop=pl.when(pl.col("on_tensor") > 0).then("on_tensor").otherwise("on_fp32")
        )
    )


def _counted_work(report: KernelReport) -> pl.DataFrame:
    """Bytes and operations of each launch: as counted, else the memory's share of its time."""
    roofs = report.roofline
    if roofs is not None:
        flop = pl.sum_horizontal(pl.col("^flop_.*_tensor$"))
        return roofs.calls.select(
            counted_bytes=pl.col("bytes"),
            on_tensor=flop.cast(pl.Float64),
            on_fp32=pl.col("flop_fp32").cast(pl.Float64),
        )
    peaks = choose_peaks(report.trace, device="H200").peaks
    bandwidth = (peaks.dram_bytes_per_s if peaks else None) or 0.0
    return report.calls.select(
        counted_bytes=pl.col("dram_pct") / 100 * bandwidth * pl.col("dur_ns") / 1e9,
        on_tensor=pl.lit(None, pl.Float64()),
        on_fp32=pl.lit(None, pl.Float64()),
    )


def cost(recording: Path) -> Iterator[str]:
    """Time of efficiency by that of unpacking and parsing the file, side by side."""
    with TemporaryDirectory() as folder:
        large = Path(folder) / "large.json.gz"
        events, _ = repeat(recording, large, _EVENTS)
        start = perf_counter()
        with igzip.open(large) as file:
            msgspec.json.decode(file.read())
        floor = perf_counter() - start
        trace = timesink.open(large, cache=False)
        link_launches(trace)
        average_step(trace)
        start = perf_counter()
        analysis = efficiency(trace)
        tables = [operator_efficiency(analysis), family_efficiency(analysis), analysis.step]
        took = perf_counter() - start
    yield (
        f"{events:,} events, {tables[0].height} rows: floor {floor:.2f} s, "
        f"efficiency {took:.2f} s, {took / floor:.2f} of the floor"
    )


def main() -> None:
    """Print the table that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("coverage", "counters", "cost"))
    parser.add_argument("paths", nargs="+", type=Path)
    options = parser.parse_args()
    if options.what == "coverage":
        rows = coverage(options.paths)
    elif options.what == "cost":
        rows = cost(options.paths[0])
    else:
        rows = counters(zip(options.paths[::2], options.paths[1::2], strict=True))
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
