"""Reading time and memory beside the floor: unpacking and parsing the same bytes, measured in turn.

Every figure is a whole process, imports included.  The floor is isal's decompression followed by
simdjson's parse of the document, without looking at a single event.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

import timesink
from generate import repeat
from tables import markdown_table

FLOOR = """
import sys, simdjson
from isal import igzip
with igzip.open(sys.argv[1]) as file:
    content = file.read()
len(simdjson.Parser().parse(content)["traceEvents"])
"""
READ = """
import sys, timesink
timesink.open(sys.argv[1], cache=False)
"""
READ_CACHED = """
import sys, timesink
timesink.open(sys.argv[1])
"""
SUMMARISE_CACHED = """
import sys, timesink
from timesink.analyses.summary import summarise
summarise(timesink.open(sys.argv[1]))
"""
ANALYZE = """
import sys
from timesink.cli import main
sys.exit(main(["analyze", sys.argv[1], "--format", "json", "-o", "/dev/null", "--force"]))
"""
PEAK_VARIABLE = "TIMESINK_BENCHMARK_PEAK"
NOTE_PEAK = f"""
import atexit, os
def note_peak():
    try:
        status = open("/proc/self/status").read()
        open(os.environ["{PEAK_VARIABLE}"], "w").write(status.split("VmHWM:")[1].split()[0])
    except OSError:
        pass
atexit.register(note_peak)
"""
"""In front of a program: its peak in kB goes to a file, because what the system says of a process
that ended is never less than what the one had that started it."""
_SAMPLE_SECONDS = 0.05
"""Looking more often would take time from the very processes that are measured."""


@dataclass(frozen=True)
class Run:
    seconds: float
    peak_mb: float


@dataclass(frozen=True)
class Row:
    events: int
    json_mb: float
    floor: Run
    read: Run
    first: Run
    again: Run
    summary: Run
    analysis: Run
    analysis_again: Run

    def cells(self) -> list[str]:
        again = self.analysis_again.seconds
        return [
            f"{self.events / 1e6:.2f} M",
            f"{self.json_mb:.0f} MB",
            f"{self.floor.seconds:.2f} s",
            f"{self.read.seconds:.2f} s",
            f"**{self.read.seconds / self.floor.seconds:.2f}**",
            f"{1e6 * self.read.seconds / self.events:.2f} us",
            f"{self.read.peak_mb:.0f} MB ({self.read.peak_mb / self.json_mb:.2f})",
            f"{self.first.seconds:.2f} s",
            f"{self.again.seconds:.2f} s ({self.again.seconds / self.first.seconds:.2f})",
            f"{self.summary.seconds:.2f} s",
            f"{self.analysis.seconds:.2f} s",
            f"**{self.analysis.seconds / self.floor.seconds:.2f}**",
            f"{self.analysis.peak_mb:.0f} MB ({self.analysis.peak_mb / self.json_mb:.2f})",
            f"{again:.2f} s (**{again / self.analysis.seconds:.2f}**)",
        ]


HEADER = [
    "events",
    "JSON",
    "floor",
    "read",
    "read / floor",
    "per event",
    "peak memory (of JSON)",
    "read and cache",
    "from the cache (of first)",
    "summary from the cache",
    "analyze",
    "analyze / floor",
    "its peak memory (of JSON)",
    "analyze again (of first)",
]


def measure(
    program: str, path: Path, environment: dict[str, str], python: str = sys.executable
) -> Run:
    """One run of a program in a process of its own, with the memory of its whole family."""
    # As installed: modules are compiled once, not whenever they are loaded.
    environment = {k: v for k, v in environment.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(
        [python, "-c", program, str(path)], env=environment, stdout=subprocess.DEVNULL
    )
    peak = 0
    watched = psutil.Process(process.pid)
    while process.poll() is None:
        peak = max(peak, _family_rss(watched))
        time.sleep(_SAMPLE_SECONDS)
    seconds = time.perf_counter() - start
    if process.returncode:
        sys.exit(f"benchmark program failed on {path}")
    return Run(seconds, peak / 1e6)


def peak_mb(noted: Path, usage: resource.struct_rusage) -> float:
    """The peak of a process as it was noted, else as the system says."""
    if noted.exists():
        return int(noted.read_text()) / 1e3
    return usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def _family_rss(process: psutil.Process) -> int:
    try:
        family = [process, *process.children(recursive=True)]
        return sum(member.memory_info().rss for member in family)
    except psutil.Error:
        return 0


def median(runs: Iterable[Run]) -> Run:
    listed = list(runs)
    return Run(statistics.median(run.seconds for run in listed), max(run.peak_mb for run in listed))


def benchmark(source: Path, events: int, rounds: int, folder: Path) -> Row:
    path = folder / f"{events}.json.gz"
    written, size = repeat(source, path, events)
    plain = {**os.environ, "TIMESINK_CACHE_DIR": str(folder / "cache")}
    # A file just written is hashed again at every opening; wait as a user would.
    time.sleep(2.5)
    rows = []
    for number in range(rounds):
        opened = {**plain, "TIMESINK_CACHE_DIR": str(folder / f"opened{number}")}
        analyzed = {**plain, "TIMESINK_CACHE_DIR": str(folder / f"analyzed{number}")}
        rows.append(
            [
                measure(FLOOR, path, plain),
                measure(READ, path, plain),
                measure(READ_CACHED, path, opened),
                measure(READ_CACHED, path, opened),
                measure(SUMMARISE_CACHED, path, opened),
                measure(ANALYZE, path, analyzed),
                measure(ANALYZE, path, analyzed),
            ]
        )
    path.unlink()
    return Row(written, size / 1e6, *(median(runs) for runs in zip(*rows, strict=True)))


def to_markdown(rows: Sequence[Row], source: Path) -> str:
    return markdown_table(machine(source), HEADER, [row.cells() for row in rows])


def machine(source: Path) -> str:
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"Machine: {psutil.cpu_count()} cores, {platform.machine()}, {memory:.0f} GiB, "
        f"Python {platform.python_version()}; recording repeated: `{source.name}`."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=timesink.sample())
    parser.add_argument("--events", type=float, nargs="+", default=[0.1, 1, 5], help="millions")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for millions in options.events:
            row = benchmark(options.source, int(millions * 1e6), options.rounds, Path(folder))
            print(" | ".join(row.cells()), flush=True)
            rows.append(row)
    hand_over(to_markdown(rows, options.source), options.output)


def hand_over(table: str, output: Path | None) -> None:
    """Print a table, and append it to a file where one is named."""
    print(table)
    if output:
        with output.open("a", encoding="utf-8") as file:
            file.write(table + "\n")


if __name__ == "__main__":
    main()
