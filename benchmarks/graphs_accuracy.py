"""Names that captures give replayed work, judged by a recording of the same program run eagerly.

    python graphs_accuracy.py FOLDER [-o TABLE]

FOLDER holds `NAME.eager` and `NAME.graphs`, recordings of `graph_programs.py`.  Of each, a step's
device time is summed by kernel, operator and module.  Time of a replay is right where the eager
recording has as much under the same three, wrong where it has the kernel under others, and not
judged where it does not run the kernel at all.  Time without a module that the eager recording
names has a column of its own.  A module goes by its path below the outermost one:
what is captured by itself has another.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl

import timesink
from run import hand_over, machine, markdown_table
from timesink.analyses.columns import device_columns, device_names
from timesink.analyses.forest import call_forest
from timesink.analyses.graphs import captured_rows, replays_of
from timesink.analyses.links import link_launches
from timesink.analyses.modules import is_module_call, link_backward
from timesink.analyses.steps import find_steps
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import COPYING_KERNELS

Key = tuple[str, str, str]


def work_table(trace: Trace) -> pl.DataFrame:
    """Every piece of device work of complete steps: kernel, operator, module, time."""
    forest, node = call_forest(trace), link_launches(trace).node
    is_module, backward = is_module_call(trace), link_backward(trace)
    forward_of = dict(zip(backward.node.tolist(), backward.forward.tolist(), strict=True))
    kinds = device_columns(trace)["kind"].cast(pl.String).is_in(BUSY_KINDS).to_numpy()
    time = device_columns(trace)["dur_ns"].to_numpy()
    names = device_names(trace)
    captured = captured_rows(trace)
    replayed = np.zeros(len(time), dtype=bool)
    replayed[replays_of(trace).row] = True
    cache: dict[int, tuple[str, str]] = {}

    def described(place: int) -> tuple[str, str]:
        if place not in cache:
            operator = module = ""
            at = place
            while at >= 0:
                name = forest.names[forest.name[at]]
                if is_module[at]:
                    module = module or name
                elif forest.is_operator[at] and not operator and "::" in name:
                    operator = name
                if at in forward_of and forward_of[at] >= 0 and not module:
                    module = described(forward_of[at])[1]
                at = int(forest.parent[at])
            cache[place] = operator, module.removeprefix("nn.Module: ").partition(".")[2]
        return cache[place]

    rows = [
        (
            _kernel(names.texts[names.codes[row]]),
            *described(int(node[row])),
            int(time[row]),
            *flags,
        )
        for row, *flags in zip(
            np.flatnonzero(kinds).tolist(),
            replayed[kinds].tolist(),
            captured[kinds].tolist(),
            strict=True,
        )
    ]
    columns = ("kernel", "operator", "module", "time", "replayed", "captured")
    return pl.DataFrame(rows, schema=columns, orient="row")


def _kernel(name: str) -> str:
    """The name of a kernel; copies and fills are named otherwise where a graph does them."""
    for kind, pattern in COPYING_KERNELS.items():
        if name.lower().startswith(f"{kind} ") or re.search(pattern, name):
            return kind
    return name


def per_step(trace: Trace, table: pl.DataFrame) -> tuple[dict[Key, float], float]:
    """How often each kernel runs under each operator and module, per step."""
    steps = max(1, find_steps(trace).height)
    counts = table.group_by("kernel", "operator", "module").len()
    return {(a, b, c): n / steps for a, b, c, n in counts.iter_rows()}, steps


def judge(eager: Trace, graphs: Trace) -> dict[str, float]:
    """Shares of the replayed device time."""
    plain, work = work_table(eager), work_table(graphs)
    replayed = work.filter("replayed")
    expected, _ = per_step(eager, plain)
    left = dict(expected)
    kernels = {kernel for kernel, _, _ in expected}
    # What runs outside of graphs uses up what the eager run has of it.
    _, steps = per_step(graphs, replayed)
    outside = work.filter(~pl.col("replayed")).group_by("kernel", "operator", "module").len()
    for kernel, operator, module, count in outside.iter_rows():
        key = (kernel, operator, module)
        left[key] = left.get(key, 0.0) - count / steps
    sums: defaultdict[str, float] = defaultdict(float)
    total = float(replayed["time"].sum())
    named = replayed.filter("captured")
    sums["unmatched"] = total - float(named["time"].sum())
    groups = named.group_by("kernel", "operator", "module").agg(pl.len(), pl.col("time").sum())
    for kernel, operator, module, count, time in groups.iter_rows():
        key = (kernel, operator, module)
        if kernel not in kernels:
            sums["not judged"] += time
            continue
        fits = max(0.0, min(left.get(key, 0.0), count / steps)) / (count / steps)
        if fits < 1 and count / steps - max(0.0, left.get(key, 0.0)) < MARGIN:
            fits = 1.0
        sums["right"] += fits * time
        sums["wrong" if module else "no module"] += (1 - fits) * time
        if fits < 1:
            left_over = f"{100 * (1 - fits):.0f} % of {time / 1000:.1f} us"
            print(f"  {left_over}: {operator} in {module}: {kernel[:60]}")
    return {name: 100 * value / total if total else 0.0 for name, value in sums.items()}


MARGIN = 0.2
"""The first and the last step of a recording may lack a piece of work."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    rows = []
    order = ("right", "unmatched", "no module", "wrong", "not judged")
    for place in sorted(options.folder.glob("*.graphs")):
        eager = place.with_suffix(".eager")
        if not eager.is_dir() or not list(eager.glob("trace*.json.gz")):
            continue
        graphs = timesink.open(place)
        shares = judge(timesink.open(eager), graphs)
        replayed = len(replays_of(graphs).row)
        order = ("right", "unmatched", "no module", "wrong", "not judged")
        rows.append(
            [place.stem, str(replayed), *(f"{shares.get(name, 0):.1f} %" for name in order)]
        )
        print(rows[-1], flush=True)
    header = ["program", "replayed pieces", *order]
    hand_over(markdown_table(machine(timesink.sample()), header, rows), options.output)


if __name__ == "__main__":
    main()
