"""The critical path beside that of HTA: `python benchmarks/hta_path.py [SHARED]`.

One annotation of a recording is taken by itself, as HTA does: the calls inside of it, and the
device work they launched.  HTA's figures are those it gives for the same recordings.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import timesink
from timesink.analyses.columns import host_columns, host_names
from timesink.analyses.links import launching_calls
from timesink.analyses.replay.critical_path import critical_path
from timesink.analyses.replay.graph import replay_graph
from timesink.analyses.replay.play import play
from timesink.model.trace import Trace

FORWARD = "[param|pytorch.model.alex_net|0|0|0|measure|forward]"
RECORDINGS = {
    "simple_add": "simple_add/benchmark_result_493459_1694039959_trace.json.gz",
    "alexnet": "alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
}
BOUNDS = {
    "cpu_bound": ("host", "runtime_call", "data_loading", "hand_over", "wake_up"),
    "gpu_compute_bound": ("kernel", "memcpy", "memset", "communication"),
    "gpu_kernel_kernel_overhead": ("queue",),
    "gpu_kernel_launch_overhead": ("launch",),
}
"""Our kinds under the names that HTA has for what bounds a path."""
EXPECTED_PCT = {
    "simple_add": {
        "cpu_bound": 99.779,
        "gpu_compute_bound": 0.210,
        "gpu_kernel_kernel_overhead": 0.0037,
        "gpu_kernel_launch_overhead": 0.0070,
    },
    "alexnet": {"cpu_bound": 89.418, "gpu_compute_bound": 10.359},
}


def subtrace(trace: Trace, name: str, instance: int) -> Trace:
    """What one call of a name does: the calls inside of it, and the work they launch."""
    host = host_columns(trace)
    named = host_names(trace)
    rows = np.flatnonzero(named.matching(name.__eq__))
    start = host["ts_ns"].to_numpy()
    end = start + host["dur_ns"].to_numpy()
    row = rows[np.argsort(start[rows], kind="stable")[instance]]
    inside = (start >= start[row]) & (end <= end[row])
    launch = launching_calls(trace)
    launched = (launch >= 0) & inside[launch]
    masks = {"host": inside, "device": launched}
    frames = {
        name: trace.lazy(name).collect().filter(pl.Series(which)).lazy()
        for name, which in masks.items()
    }
    empty = {name: trace.lazy(name).clear() for name in ("memory", "flows", "steps", "counters")}
    return replace(trace, frames={**trace.frames, **empty, **frames})


def bounds_us(trace: Trace) -> dict[str, float]:
    """Time on the path by what bounds it, as HTA tells it."""
    path = critical_path(trace, play(replay_graph(trace)))
    by_kind = dict(path.group_by("kind").agg(pl.col("dur_ns").sum() / 1000).iter_rows())
    return {
        name: round(sum(by_kind.get(kind, 0.0) for kind in kinds), 1)
        for name, kinds in BOUNDS.items()
    }


def main(shared: Path) -> None:
    """Print a row per recording and bound."""
    print("| recording | bound | timesink us | timesink % | HTA % |\n|---|---|--:|--:|--:|")
    for name, file in RECORDINGS.items():
        trace = timesink.open(shared / "data" / "hta" / "critical_path" / file)
        ours = bounds_us(subtrace(trace, FORWARD, 1))
        total = sum(ours.values())
        for bound, spent in ours.items():
            theirs = EXPECTED_PCT[name].get(bound)
            cell = "" if theirs is None else f"{theirs:.3f}"
            print(f"| {name} | {bound} | {spent:.1f} | {100 * spent / total:.3f} | {cell} |")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared"))
