"""Many ranks beside their floor: `timesink analyze` of a folder and reading its files, in one run.

The floor is what reading one file takes in a process that has nothing else to do, times the files,
divided by the cores.  It is measured on a sample of the files before and after the analysis, since
machines are not equally fast all the time.  The analysis is a whole process: it finds the files,
reads all of them, keeps a summary of each, and writes the full JSON; `again` is another question,
answered from the summaries.  Memory is the peak of the process that asks, without its helpers.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from run import hand_over, machine, markdown_table
from timesink.runtime.workers import usable_cores
from timesink_lab.ranks.generated import generate_ranks
from timesink_lab.ranks.plan import Plan, Straggler

READ = """
import sys, time, timesink
paths = sys.argv[1:]
for path in paths[:3]:
    timesink.open(path, cache=False, jobs=1)
start, busy = time.perf_counter(), time.process_time()
for path in paths:
    timesink.open(path, cache=False, jobs=1)
print((time.perf_counter() - start) / len(paths), (time.process_time() - busy) / len(paths))
"""
ANALYZE = """
import sys
from timesink.cli import main
code = main(["analyze", *sys.argv[1:]])
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(code)
"""
HEADER = [
    "ranks",
    "events each",
    "files",
    "read one file",
    "with all cores busy",
    "sum / cores",
    "analyze",
    "analyze / (sum / cores)",
    "of processor time",
    "driver memory",
    "again",
    "again, driver memory",
]


@dataclass(frozen=True)
class Read:
    """What one file takes."""

    seconds: float
    busy: float
    """Seconds of processor time."""


@dataclass(frozen=True)
class AnalyzeCall:
    """One call of `timesink analyze`."""

    seconds: float
    busy: float
    """Seconds of processor time, with all helpers."""
    driver_mb: float


def read_alone(paths: Sequence[str], processes: int) -> Read:
    """Mean time of a file, read by so many processes at once, each with files of its own."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", READ, *paths[first::processes]],
            stdout=subprocess.PIPE,
            text=True,
        )
        for first in range(processes)
    ]
    outputs = [process.communicate()[0].split() for process in running]
    if any(process.returncode for process in running):
        sys.exit("reading failed")
    return Read(*(statistics.fmean(float(output[place]) for output in outputs) for place in (0, 1)))


def ask(folder: Path, cache: Path, *more: str) -> AnalyzeCall:
    """Ask about the folder, in a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", ANALYZE, str(folder), "--force", *more],
        env={**os.environ, "TIMESINK_CACHE_DIR": str(cache)},
        stderr=subprocess.PIPE,
        text=True,
    )
    output = process.stderr.read() if process.stderr else ""
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"`timesink analyze {folder}` failed: {output}")
    return AnalyzeCall(seconds, used.ru_utime + used.ru_stime, float(output.split()[-1]) / 1024)


def benchmark(plan: Plan, folder: Path, sampled: int) -> list[str]:
    """One line of the table."""
    truth = generate_ranks(plan, folder / "run")
    size = sum(Path(path).stat().st_size for path in truth.files)
    # A file just written is hashed again at every opening; wait as a user would.
    time.sleep(2.5)
    cores = usable_cores()
    sample = truth.files[:: max(1, plan.ranks // sampled)]
    cache, answer = folder / "cache", folder / "answer.json"
    before = read_alone(sample, 1), read_alone(sample, cores)
    first = ask(folder / "run", cache, "-o", str(answer))
    after = read_alone(sample, 1), read_alone(sample, cores)
    again = ask(folder / "run", cache, "--view", "stragglers", "-o", str(answer.with_name("s.csv")))
    single, beside = (_mean(pair) for pair in zip(before, after, strict=True))
    check(answer, plan)
    floor = single.seconds * plan.ranks / cores
    return [
        f"{plan.ranks}",
        f"{truth.events / plan.ranks:.0f}",
        f"{size / 1e6:.0f} MB",
        f"{1e3 * single.seconds:.0f} ms",
        f"{1e3 * beside.seconds:.0f} ms",
        f"{floor:.1f} s",
        f"{first.seconds:.1f} s",
        f"**{first.seconds / floor:.2f}**",
        f"{first.busy / (single.busy * plan.ranks):.2f}",
        f"**{first.driver_mb:.0f} MB**",
        f"{again.seconds:.1f} s",
        f"{again.driver_mb:.0f} MB",
    ]


def _mean(reads: Sequence[Read]) -> Read:
    return Read(
        statistics.fmean(read.seconds for read in reads),
        statistics.fmean(read.busy for read in reads),
    )


def check(answer: Path, plan: Plan) -> None:
    """A wrong answer is of no use, however soon it comes."""
    distributed = json.loads(answer.read_text())["distributed"]
    named = [(straggler["rank"], straggler["cause"]) for straggler in distributed["stragglers"]]
    wanted = [(straggler.rank, straggler.cause) for straggler in plan.stragglers]
    if len(distributed["ranks"]) != plan.ranks or named[:1] != wanted[:1]:
        sys.exit(f"{len(distributed['ranks'])} ranks and stragglers {named} instead of {wanted}")


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1000])
    parser.add_argument("--sample", type=int, default=100, help="files that are read alone")
    parser.add_argument("--folder", type=Path, help="where to write the run (default: temporary)")
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    rows = []
    for ranks in options.ranks:
        put_in = (Straggler("slow_clock", rank=ranks // 2 + 5),)
        plan = Plan(ranks=ranks, tensor=8, layers=11, steps=8, stragglers=put_in)
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            rows.append(benchmark(plan, Path(folder), options.sample))
            print(" | ".join(rows[-1]), flush=True)
    above = machine(Path("generated")).replace("recording repeated", "recordings")
    hand_over(markdown_table(above, HEADER, rows), options.output)


if __name__ == "__main__":
    main()
