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
)
from timesink.analyses.work.steps import MEMORY
from timesink.answers.kernels.report import KernelReport
from timesink.errors import TimesinkError

_EVENTS = 1_000_000
_LARGE = 64 * 2**20
"""Bytes beyond which a tensor does not stay in the cache of an H200 (50 MiB)."""


def coverage(folders: Iterable[Path]) -> Iterator[str]:
    """A row per recording with kernels."""
    yield "| recording | device | kernels take | modelled | by likeness | MFU | speed of light |"
    yield "|---|---|---|---|---|---|---|"
    for file in sorted(file for folder in folders for file in _recordings(folder)):
        try:
            found = efficiency(timesink.open(file))
        except TimesinkError as error:
            print(f"{file}: {error}")
            continue
        times = known_times(found.modelled.kernels)
        total, share = sum(times.values()), found.modelled.modelled_share
        if not total:
            continue
        like, step = times.get("like another launch", 0) / total, found.step
        mfu = "-" if step is None or step.mfu is None else f"{step.mfu:.1%}"
        ideal = "-" if step is None or found.peaks is None else _of_step(found)
        device = found.peaks.device if found.peaks else "-"
        yield (
            f"| {file.parent.name}/{file.name.partition('.')[0]} | {device} | {total / 1e6:.2f} ms "
            f"| {share:.1%} | {like:.1%} | {mfu} | {ideal} |"
        )


def _of_step(found: Efficiency) -> str:
    step = found.step
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
    """Bytes and operations that were modelled by those that were counted, by operator."""
    yield (
        "| program | operator | calls | modelled bytes "
        "| modelled / counted bytes (median; 10 to 90 %) | modelled / counted FLOP |"
    )
    yield "|---|---|---|---|---|---|"
    for counted, timeline in pairs:
        rows = joined(counted, timeline)
        ratio = pl.col("bytes") / pl.col("counted_bytes")
        bound = rows.filter(
            (pl.col("bound") == MEMORY) & (pl.col("bytes") > _LARGE) & (pl.col("counted_bytes") > 0)
        )
        for name, part in [("all memory-bound, > 64 MiB", bound), *_by_operator(bound)]:
            if part.is_empty():
                continue
            told = part.select(
                ratio.median().alias("mid"),
                ratio.quantile(0.1).alias("low"),
                ratio.quantile(0.9).alias("high"),
            ).row(0)
            yield (
                f"| {counted.name.partition('.')[0]} | {name} | {part.height} "
                f"| {part['bytes'].sum() / 2**20:,.0f} MiB "
                f"| {told[0]:.3f}; {told[1]:.3f} to {told[2]:.3f} | {_flop_ratio(part)} |"
            )
        for name, part in _by_operator(rows.filter(pl.col("matrix_flop") > 0)):
            yield (
                f"| {counted.name.partition('.')[0]} | {name} | {part.height} | "
                f"{part['bytes'].sum() / 2**20:,.0f} MiB | - | {_flop_ratio(part)} |"
            )


def _by_operator(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    parts = rows.sort("operator").partition_by("operator", as_dict=True, maintain_order=True)
    return [(str(key[0]), part) for key, part in parts.items()]


def _flop_ratio(part: pl.DataFrame) -> str:
    known = part.filter(pl.col("counted_flop") > 0)
    if known.is_empty():
        return "-"
    return f"{known['matrix_flop'].sum() / known['counted_flop'].sum():.4f}"


def joined(counted: Path, recorded: Path) -> pl.DataFrame:
    """Calls of a timeline with their work as modelled and as counted, over all their kernels."""
    timeline = timesink.open(recorded)
    report, found = timesink.kernels(counted, trace=timeline), efficiency(timeline)
    if report.join is None or report.join.refused:
        raise SystemExit(f"{counted}: not the program of {recorded}")
    names = found.sets.select("operator").with_row_index("set").cast({"set": pl.Int64})
    modelled = found.kernels.join(names, on="set", how="left").select(
        *("row", "call", "operator", "bound", "matrix_flop", "bytes")
    )
    rows = kernel_calls(timeline)["device_row"]
    places = report.join.rows
    row = rows.gather(places.fill_null(0)).cast(pl.Int64)
    return (
        _counted(report)
        .with_columns(row=pl.when(places.is_not_null()).then(row))
        .join(modelled, on="row")
        .drop_nulls("operator")
        .group_by("call", "operator", "bound", maintain_order=True)
        .agg(pl.col("counted_bytes", "counted_flop", "matrix_flop", "bytes").sum())
    )


def _counted(report: KernelReport) -> pl.DataFrame:
    """Bytes and operations of each launch: as counted, else the memory's share of its time."""
    roofs = report.roofline
    if roofs is not None:
        flop = pl.sum_horizontal(pl.col("^flop_.*_tensor$"))
        return roofs.calls.select(counted_bytes=pl.col("bytes"), counted_flop=flop.cast(pl.Float64))
    peaks = choose_peaks(report.trace, device="H200").peaks
    bandwidth = (peaks.dram_bytes_per_s if peaks else None) or 0.0
    return report.calls.select(
        counted_bytes=pl.col("dram_pct") / 100 * bandwidth * pl.col("dur_ns") / 1e9,
        counted_flop=pl.lit(None, pl.Float64()),
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
        found = efficiency(trace)
        tables = [operator_efficiency(found), family_efficiency(found), found.step]
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
