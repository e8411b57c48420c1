"""A ratchet: what reading and its questions cost, beside the floor of the same run and its limits.

    python benchmarks/check.py             # exit code 1 where anything is 15 % beyond its limit
    python benchmarks/check.py --write     # write what was measured as the new limits

Costs are CPU seconds of whole processes, children and imports included: what else the machine does
changes them little.  They are divided by those of the floor (isal's decompression, simdjson's parse
of the same bytes), measured in turn, and the median of the rounds counts.  Memory is the peak of
the largest process, divided by the JSON of the recording.  Figures whose name ends in `ms` are
CPU time inside a process, as a share of the floor in thousandths.
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
from collections import defaultdict
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

import timesink
from generate import repeat
from run import FLOOR, NOTE_PEAK, PEAK_VARIABLE, READ, machine, peak_mb
from tables import markdown_table
from timesink.runtime.native import is_native, native_state

LIMITS = Path(__file__).with_name("limits.toml")
MARGIN = 0.15
"""How far beyond its limit a figure may be: rounds of one version differ by up to 10 %."""
EVENTS, SMALL_EVENTS = 300_000, 50_000
COMMAND = """
import sys
from timesink.cli import main
sys.stdout = open("/dev/null", "w")
sys.exit(main(sys.argv[1:]))
"""
INSIDE = """
import json, sys, time
import timesink
from timesink.analyses.replay.graph import replay_graph
from timesink.analyses.replay.play import play
from timesink.answers.plugin.query import Query
from timesink.answers.timeline.opening import open_timeline
from timesink.answers.timeline.routes import ROUTES

trace = timesink.open(sys.argv[1])
graph = replay_graph(trace)
timeline = open_timeline(trace)
ROUTES["tracks"](timeline, Query())
window = Query({"pixels": "1600"})


def mean_s(question, times):
    question()
    start = time.process_time()
    for _ in range(times):
        question()
    return (time.process_time() - start) / times


slices = lambda: ROUTES["slices"](timeline, window)
print(json.dumps({"replay ms": mean_s(lambda: play(graph), 10), "window ms": mean_s(slices, 20)}))
"""


def cost(program: str, *arguments: object, cache: Path) -> tuple[float, float, str]:
    """CPU seconds and peak memory in MB of one run of a program, and what it prints."""
    peak_file = cache.with_name(f"{cache.name}.peak")
    environment = {
        **os.environ,
        "TIMESINK_CACHE_DIR": str(cache),
        PEAK_VARIABLE: str(peak_file),
    }
    # As installed: modules are compiled once, not whenever they are loaded.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(
        [sys.executable, "-c", NOTE_PEAK + program, *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    printed = process.stdout.read() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"a program failed: {program}{arguments}")
    return usage.ru_utime + usage.ru_stime, peak_mb(peak_file, usage), printed


def measure(folder: Path, rounds: int) -> dict[str, float]:
    """Every figure: ratios to the floor, and of memory to the JSON."""
    large, base, new = (folder / f"{name}.json.gz" for name in ("large", "base", "new"))
    _, size = repeat(timesink.sample(), large, EVENTS)
    repeat(timesink.sample(), base, SMALL_EVENTS)
    repeat(timesink.sample(), new, SMALL_EVENTS * 11 // 10)
    time.sleep(2.5)  # a file just written is hashed again at every opening
    questions = {
        "read": (READ, large),
        "analyze, text": (COMMAND, "analyze", large),
        "analyze, JSON": (COMMAND, "analyze", large, "--format", "json"),
        "compare, 50 000 events each": (COMMAND, "compare", base, new, "--format", "json"),
        "program difference": (
            COMMAND,
            "compare",
            base,
            new,
            "--view",
            "program",
            "--format",
            "csv",
        ),
    }
    ratios: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds):
        floor_s, _, _ = cost(FLOOR, large, cache=folder / "floor")
        for name, (program, *arguments) in questions.items():
            cache = folder / f"{number} {name}"
            seconds, peak_mb, _ = cost(program, *arguments, cache=cache)
            ratios[name].append(seconds / floor_s)
            if large in arguments:
                ratios[f"memory, {name}"].append(peak_mb / (size / 1e6))
        _, _, printed = cost(INSIDE, large, cache=folder / f"{number} read")
        for name, seconds in json.loads(printed).items():
            ratios[name].append(1000 * seconds / floor_s)
    return {name: statistics.median(values) for name, values in ratios.items()}


def read_limits() -> dict[str, float]:
    """By figure, for the path that reads here."""
    tables = tomllib.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    limits: dict[str, float] = tables.get(_path(), {})
    return limits


def _path() -> str:
    return "native" if is_native() else "python"


def write_limits(measured: dict[str, float]) -> None:
    tables = tomllib.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    tables[_path()] = {name: round(value, 2) for name, value in measured.items()}
    lines = [
        "# Figures of `make bench-check`: ratios to the floor of the same run.",
        "# A change may lower them; one that raises any by 15 % fails.",
    ]
    for path, limits in sorted(tables.items()):
        lines += ["", f"[{path}]", *(f'"{name}" = {value}' for name, value in limits.items())]
    LIMITS.write_text("\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="write the figures as new limits")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measured = measure(Path(name), options.rounds)
    limits = read_limits()
    rows, failed = [], []
    for name, value in measured.items():
        limit = limits.get(name)
        is_beyond = limit is not None and value > limit * (1 + MARGIN)
        failed += [name] * is_beyond
        verdict = "new" if limit is None else "TOO MUCH" if is_beyond else "fine"
        rows.append([name, f"{value:.2f}", "" if limit is None else f"{limit:.2f}", verdict])
    print(f"traces are read by: {native_state()}")
    print(markdown_table(machine(timesink.sample()), ["", "figure", "limit", ""], rows))
    if options.write:
        write_limits(measured)
        return 0
    if failed:
        print(f"beyond their limits by more than {MARGIN:.0%}: {', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
