"""What reading costs beside its floor, by compiled code and in Python, and how it grows.

    python benchmarks/reading.py [--source TRACE] [--events 0.08 0.28 1 5] [--rounds 3]

Every figure is a whole process, imports included: CPU seconds of it and of its children, seconds on
the clock, and the peak memory of the largest process; the median of the rounds, which alternate.
What else the machine does changes CPU seconds little.  The exponents say how time and memory grow
between the two largest recordings: 1 is linear.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import timesink
from generate import repeat
from run import (
    FLOOR,
    NOTE_PEAK,
    PEAK_VARIABLE,
    READ,
    hand_over,
    machine,
    markdown_table,
    peak_mb,
)
from timesink.runtime.native import NATIVE_VARIABLE

PROGRAMS = {"floor": (FLOOR, "1"), "compiled": (READ, "1"), "Python": (READ, "0")}
HEADER = ["events", "JSON", "how", "CPU", "CPU / floor", "clock", "clock / floor", "peak memory"]


@dataclass(frozen=True)
class Cost:
    cpu_s: float
    clock_s: float
    peak_mb: float


def cost_of(program: str, path: Path, native: str) -> Cost:
    """What one process costs."""
    start, peak_file = time.perf_counter(), path.with_suffix(".peak")
    environment = {**os.environ, NATIVE_VARIABLE: native, PEAK_VARIABLE: str(peak_file)}
    # As installed: modules are compiled once, not whenever they are loaded.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(
        [sys.executable, "-c", NOTE_PEAK + program, str(path)], env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"a program failed on {path}")
    clock_s = time.perf_counter() - start
    return Cost(usage.ru_utime + usage.ru_stime, clock_s, peak_mb(peak_file, usage))


def median_of(costs: list[Cost]) -> Cost:
    """The middle of each figure."""
    return Cost(
        statistics.median(cost.cpu_s for cost in costs),
        statistics.median(cost.clock_s for cost in costs),
        statistics.median(cost.peak_mb for cost in costs),
    )


def measure(path: Path, rounds: int) -> dict[str, Cost]:
    """Every way to read a file, in turn."""
    costs: dict[str, list[Cost]] = {name: [] for name in PROGRAMS}
    for _ in range(rounds):
        for name, (program, native) in PROGRAMS.items():
            costs[name].append(cost_of(program, path, native))
    return {name: median_of(of_program) for name, of_program in costs.items()}


def exponents(events: list[int], costs: list[dict[str, Cost]]) -> str:
    """How time and memory of reading grow with the events of the two largest recordings."""
    growth = math.log(events[-1] / events[-2])
    texts = []
    for name in list(PROGRAMS)[1:]:
        before, after = costs[-2][name], costs[-1][name]
        time_exponent = math.log(after.cpu_s / before.cpu_s) / growth
        memory_exponent = math.log(after.peak_mb / before.peak_mb) / growth
        texts.append(f"{name}: CPU {time_exponent:.2f}, memory {memory_exponent:.2f}")
    return "Exponents, " + "; ".join(texts) + "."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--source", type=Path, default=timesink.sample())
    parser.add_argument("--events", type=float, nargs="+", default=[0.08, 0.28, 1, 5])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    rows, counts, costs = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for millions in options.events:
            path = Path(folder) / "trace.json.gz"
            count, size = repeat(options.source, path, int(millions * 1e6))
            measured = measure(path, options.rounds)
            floor = measured["floor"]
            for name, cost in measured.items():
                cells = [
                    f"{count / 1e6:.2f} M",
                    f"{size / 1e6:.0f} MB",
                    name,
                    f"{cost.cpu_s:.2f} s",
                    f"**{cost.cpu_s / floor.cpu_s:.2f}**",
                    f"{cost.clock_s:.2f} s",
                    f"{cost.clock_s / floor.clock_s:.2f}",
                    f"{cost.peak_mb:.0f} MB",
                ]
                print(" | ".join(cells), flush=True)
                rows.append(cells)
            counts.append(count)
            costs.append(measured)
    table = markdown_table(machine(options.source), HEADER, rows)
    if len(counts) > 1:
        table += "\n" + exponents(counts, costs) + "\n"
    hand_over(table, options.output)


if __name__ == "__main__":
    main()
