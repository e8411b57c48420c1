"""What it costs a program to be watched: runs with and without, in turns.

    python benchmarks/watch_cost.py DIR --program decode --pairs 8

`timesink ab` cannot time this: its own agent and that of the watcher are named by one variable of
the environment, so only the inner one lives.  So programs of `watch_programs.py` time their own
cycles, as many and with the same workloads on either side, and `repeats.decide` judges the runs as
it does those of `ab`.  The first watched run, which does not count, learns; others get its model
(or that of `--model`), record nothing, and are healthy.  DIR/cost.json keeps all cycles.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tables import markdown_table
from timesink.analyses.statistics.repeats import Decision, TimedRun, decide, next_sides
from watch_faults import PROGRAM, program_name, watch_command
from watch_scores import ALL, alarms_of

_WARM = 60
"""Cycles at the start of a run that do not count."""


@dataclass
class Own:
    """What the watcher used itself, as it says every second."""

    cpu_pct: list[float] = field(default_factory=list)
    rss_mib: list[float] = field(default_factory=list)
    cycles: int = 0
    dropped: int = 0
    alarms: int = 0

    def follow(self, process: subprocess.Popen[str], watch: Path) -> None:
        """Look once a second, until it is over."""
        while process.poll() is None:
            with suppress(OSError, ValueError):
                told = json.loads((watch / "status.json").read_text())
                own = told.get("own") or {}
                if told.get("state") in {"watching", "alarm"} and own.get("cpu_pct") is not None:
                    self.cpu_pct.append(own["cpu_pct"])
                    self.rss_mib.append(own["rss_bytes"] / 2**20)
                self.cycles, self.dropped = told.get("cycles", 0), told.get("dropped", 0)
            time.sleep(1)
        self.alarms = len(alarms_of(watch))


def one_run(
    side: str, options: argparse.Namespace, more: Sequence[str], cycles: int
) -> tuple[TimedRun, Own]:
    """Run the program on one side."""
    times, watch = options.folder / "times.json", options.folder / "watch"
    times.unlink(missing_ok=True)
    shutil.rmtree(watch, ignore_errors=True)
    name = program_name(options.program)
    command = [
        *(sys.executable, str(PROGRAM), name, "--cycles", str(cycles)),
        *("--times", str(times), "--seed", str(options.seed)),
    ]
    if side == "new":
        command = [*watch_command(watch, name, more), "--", *command]
    started_us, own = time.time_ns() // 1000, Own()
    log = options.folder / f"{side}.log"
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, text=True)
        follower = threading.Thread(target=own.follow, args=(process, watch))
        follower.start()
        process.wait()
        follower.join()
    if process.returncode or not times.exists():
        raise SystemExit(f"{shlex.join(command)}: exit {process.returncode}, see {log}")
    took = np.array(json.loads(times.read_text())[_WARM:], dtype=np.float64)
    return TimedRun(side, took, started_us), own


def measure(options: argparse.Namespace) -> tuple[list[TimedRun], list[Own]]:
    """Learn once, then run both sides in turns until the time is over."""
    options.folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + options.seconds
    more = shlex.split(options.watch_options)
    model = options.model or options.folder / "model.json"
    if options.model is None:
        learning = ["--learn", str(options.learn), *more]
        _, learned = one_run("new", options, learning, options.learn_cycles)
        with suppress(OSError):
            shutil.copy(options.folder / "watch" / "model.json", model)
        if not model.exists():
            raise SystemExit(f"no model after {learned.cycles} cycles: --learn-cycles of more")
    runs: list[TimedRun] = []
    owns: list[Own] = []
    longest = 0.0
    for number, side in enumerate(islice(next_sides(options.seed), 2 * options.pairs)):
        begun = time.monotonic()
        if begun + longest > until:
            break
        run, own = one_run(side, options, ["--model", str(model), *more], options.cycles)
        runs.append(run)
        owns += [own] if side == "new" else []
        longest = max(longest, time.monotonic() - begun)
        told = f"{run.typical_ns / 1e6:.3f} ms"
        print(f"{number + 1:3d} {side:5s}{told}, {until - time.monotonic():.0f} s left", flush=True)
    return runs, owns


def told(decision: Decision, owns: Sequence[Own], program: str) -> str:
    """The answer as Markdown."""
    rows = []
    for one in decision.figures:
        low, high = one.interval_pct or (float("nan"), float("nan"))
        rows.append([
            program, one.statistic, f"{one.base_ns / 1e6:.3f} ms", f"{one.new_ns / 1e6:.3f} ms",
            f"{one.change_pct:+.2f} %", f"{low:+.2f} to {high:+.2f} %", str(decision.pairs),
        ])  # fmt: skip
    header = ["program", "cycle", "alone", "watched", "change", "99 % interval", "pairs"]
    cpu = [value for one in owns for value in one.cpu_pct]
    memory = [value for one in owns for value in one.rss_mib]
    used = "The watcher said nothing of itself."
    if cpu:
        used = (
            f"The watcher used {median(cpu):.1f} % of a core (most {max(cpu):.1f} %) and "
            f"{max(memory):.0f} MiB; {sum(one.dropped for one in owns)} of "
            f"{sum(one.cycles for one in owns)} cycles were lost on the way; "
            f"{sum(one.alarms for one in owns)} alarms."
        )
    return f"{markdown_table(decision.outcome, header, rows)}\n{used}\n"


def main() -> None:
    """Measure, and print the change with its interval."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--program", choices=ALL, default="decode")
    parser.add_argument("--pairs", type=int, default=10, help="most runs of a side")
    parser.add_argument("--seconds", type=float, default=540.0, help="all in all")
    parser.add_argument("--cycles", type=int, default=1000, help="of a run")
    parser.add_argument("--learn", type=int, default=1000, help="cycles to learn from")
    parser.add_argument("--learn-cycles", type=int, default=6000, help="of the run that learns")
    parser.add_argument("--model", type=Path, help="of an earlier watch of that program")
    parser.add_argument("--watch-options", default="--no-record", help="of `timesink watch`")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.folder = options.folder.absolute()
    options.model = options.model and options.model.absolute()
    runs, owns = measure(options)
    kept: dict[str, Any] = {
        "program": options.program,
        "runs": [{"side": one.side, "started_us": one.started_us,
                  "cycles_ns": one.cycles_ns.astype(int).tolist()} for one in runs],
        "own": [vars(one) for one in owns],
    }  # fmt: skip
    (options.folder / "cost.json").write_text(json.dumps(kept))
    print(told(decide(runs, looking=False), owns, options.program))


if __name__ == "__main__":
    main()
