"""What it costs a program to be watched: blocks of cycles with and without, in turns.

    python benchmarks/watch_cost.py DIR --program decode --pairs 12

Processes of one program differ by more than watching costs, and a large model takes longer to start
than to measure.  So one process runs a program of `watch_programs.py` again and again, as many
cycles with the same workloads each time, every other time inside `timesink.watch`, whose agent
takes all its hooks back at the end; `repeats.decide` judges the blocks as it does runs of `ab`.
The first block that is watched, which does not count, learns; others get its model, and record
nothing.  Beside it, what the watcher itself used.  DIR/cost.json keeps all cycles.
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

import timesink
from tables import markdown_table
from timesink.comparison.repeated_runs import Decision, TimedRun, decide, next_sides
from watch_faults import MARKERS, PROGRAM, program_name
from watch_programs import PROGRAMS, Control, Faults
from watch_scores import ALL, alarms_of

_WARM = 60
"""Cycles at the start of a block that do not count."""


@dataclass
class WatcherUse:
    """What the watcher of a block used itself, as it said last."""

    cpu_pct: float | None
    rss_mib: float
    cycles: int
    dropped: int
    alarms: int

    @classmethod
    def of(cls, watch: Path) -> WatcherUse:
        """From the folder of a watch that has not ended."""
        status = json.loads((watch / "status.json").read_text())
        usage = status.get("own") or {}
        rss_mib = (usage.get("rss_bytes") or 0) / 2**20
        counted = status.get("cycles", 0), status.get("dropped", 0), len(alarms_of(watch))
        return cls(usage.get("cpu_pct"), rss_mib, *counted)


def one_block(
    side: str, options: argparse.Namespace, more: dict[str, Any], cycles: int
) -> tuple[TimedRun, WatcherUse | None]:
    """Run the program in this process, on one side."""
    name, watch, usage = program_name(options.program), options.folder / "watch", None
    if name in MARKERS:
        more = {**more, "marker": MARKERS[name], "workload": f"{PROGRAM.stem}:workload"}
    torch.manual_seed(options.seed)
    faults = Faults(Control(None), 3600, cycles)
    is_watched, started_us = side == "new", time.time_ns() // 1000
    with timesink.watch(watch, force=True, **more) if is_watched else nullcontext():
        PROGRAMS[name](faults, options.seed)
        if is_watched:
            usage = WatcherUse.of(watch)
    gc.collect()
    took = np.array([after - before for before, after in pairwise(faults.starts_ns)][_WARM:])
    return TimedRun(side, took.astype(np.float64), started_us), usage


def measure(options: argparse.Namespace) -> tuple[list[TimedRun], list[WatcherUse]]:
    """Learn once, then run both sides in turns until the time is over."""
    options.folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + options.seconds
    model = options.model or options.folder / "model.json"
    # The first block warms the process up: nothing of it counts.
    one_block("base", options, {}, 2 * _WARM)
    if options.model is None:
        watch_options = {"learn": options.learn, "learn_seconds": 5, "no_record": True}
        one_block("new", options, watch_options, options.learn_cycles)
        with suppress(OSError):
            shutil.copy(options.folder / "watch" / "model.json", model)
        if not model.exists():
            raise SystemExit(
                f"no model after {options.learn_cycles} cycles: --learn-cycles of more"
            )
    watch_options = {"model": model, "no_record": True, "counters": options.counters}
    runs: list[TimedRun] = []
    owns: list[WatcherUse] = []
    longest = 0.0
    for number, side in enumerate(islice(next_sides(options.seed), 2 * options.pairs)):
        block_start = time.monotonic()
        if block_start + longest > until:
            break
        run, usage = one_block(side, options, watch_options, options.cycles)
        runs.append(run)
        owns += [] if usage is None else [usage]
        longest = max(longest, time.monotonic() - block_start)
        cycle_text = f"{run.typical_ns / 1e6:.3f} ms"
        print(
            f"{number + 1:3d} {side:5s}{cycle_text}, {until - time.monotonic():.0f} s left",
            flush=True,
        )
    return runs, owns


def answer_text(decision: Decision, owns: Sequence[WatcherUse], program: str) -> str:
    """The answer as Markdown."""
    rows = []
    for figure in decision.figures:
        low, high = figure.interval_pct or (float("nan"), float("nan"))
        rows.append([
            program, figure.statistic,
            f"{figure.base_ns / 1e6:.3f} ms", f"{figure.new_ns / 1e6:.3f} ms",
            f"{figure.change_pct:+.2f} %", f"{low:+.2f} to {high:+.2f} %", str(decision.pairs),
        ])  # fmt: skip
    header = ["program", "cycle", "alone", "watched", "change", "99 % interval", "pairs"]
    cpu = [usage.cpu_pct for usage in owns if usage.cpu_pct is not None]
    used = "The watcher said nothing of itself."
    if cpu:
        used = (
            f"The watcher used {median(cpu):.1f} % of a core (most {max(cpu):.1f} %) and "
            f"{max(usage.rss_mib for usage in owns):.0f} MiB; "
            f"{sum(usage.dropped for usage in owns)} of "
            f"{sum(usage.cycles for usage in owns)} cycles were lost on the way; "
            f"{sum(usage.alarms for usage in owns)} alarms."
        )
    return f"{markdown_table(decision.outcome, header, rows)}\n{used}\n"


def main() -> None:
    """Measure, and print the change with its interval."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--program", choices=ALL, default="decode")
    parser.add_argument("--pairs", type=int, default=10, help="most blocks of a side")
    parser.add_argument("--seconds", type=float, default=540.0, help="all in all")
    parser.add_argument("--cycles", type=int, default=400, help="of a block")
    parser.add_argument("--learn", type=int, default=1000, help="cycles to learn from")
    parser.add_argument("--learn-cycles", type=int, default=2500, help="of the block that learns")
    parser.add_argument("--model", type=Path, help="of an earlier watch of that program")
    parser.add_argument("--counters", default="all", help="of `timesink watch`")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.folder = options.folder.absolute()
    options.model = options.model and options.model.absolute()
    torch.set_num_threads(1)
    runs, owns = measure(options)
    document: dict[str, Any] = {
        "program": options.program,
        "runs": [{"side": run.side, "started_us": run.started_us,
                  "cycles_ns": run.cycles_ns.astype(int).tolist()} for run in runs],
        "own": [vars(usage) for usage in owns],
    }  # fmt: skip
    (options.folder / "cost.json").write_text(json.dumps(document))
    print(answer_text(decide(runs, looking=False), owns, options.program))


if __name__ == "__main__":
    main()
