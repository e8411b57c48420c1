"""Two versions of timesink beside each other and beside the floor, in turn.

    python benchmarks/versions.py SRC [SRC ...]      # folders with the package, one each

Every figure is a whole process, imports included; the smallest of the rounds is taken, because
whatever else a machine does only adds to it.  The floor of reading and analysing is unpacking and
parsing the same bytes; that of comparing and of `--version` is starting Python with nothing to do.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import timesink
from generate import repeat
from run import ANALYZE, FLOOR, READ, hand_over, machine, markdown_table, measure

NOTHING = ""
VERSION = """
import sys
from timesink.cli import main
sys.exit(main(["--version"]))
"""
COMPARE = """
import sys
from timesink.cli import main
sys.stdout = open("/dev/null", "w")
sys.exit(main(["compare", *sys.argv[1].split(":"), "--format", "json"]))
"""


def questions(folder: Path, events: int) -> list[tuple[str, str, str, Path | str]]:
    """What is asked: name, program of the floor, program, what both get."""
    large = folder / "large.json.gz"
    repeat(timesink.sample(), large, events)
    runs = ":".join(map(str, timesink.sample_runs()))
    question_rows: list[tuple[str, str, str, Path | str]] = [
        (f"read, {events / 1e6:.2g} M events", FLOOR, READ, large),
        (f"analyze, {events / 1e6:.2g} M events", FLOOR, ANALYZE, large),
        ("analyze, sample", FLOOR, ANALYZE, timesink.sample()),
        ("compare, sample runs", NOTHING, COMPARE, runs),
        ("--version", NOTHING, VERSION, ""),
    ]
    shared = Path(os.environ.get("TIMESINK_SHARED", "../shared")) / "data"
    faults = shared / "h200" / "faults"
    if faults.is_dir():
        both = f"{faults / 'normal'}:{faults / 'gpu_clock'}"
        question_rows.append(("compare, two traces with counters", NOTHING, COMPARE, both))
    case = shared / "latencyprism" / "SGLang" / "gpu_instability"
    if case.is_dir():
        question_rows.append(("compare, published case", NOTHING, COMPARE, case))
    return question_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path, nargs="+", metavar="SRC")
    parser.add_argument("--events", type=float, default=1.0, help="millions")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    sources = [source.resolve() for source in options.sources]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        question_rows = questions(folder, int(options.events * 1e6))
        # A file just written is hashed again at every opening; wait as a user would.
        time.sleep(2.5)
        for what, floor, program, argument in question_rows:
            times: list[list[float]] = [[] for _ in (None, *sources)]
            for number in range(options.rounds):
                for place, source in enumerate((None, *sources)):
                    cache = folder / f"cache{number}-{place}"
                    environment = {
                        **os.environ,
                        "PYTHONPATH": str(source or ""),
                        "TIMESINK_CACHE_DIR": str(cache),
                    }
                    run = measure(program if source else floor, Path(argument), environment)
                    times[place].append(run.seconds)
            least = [min(source_times) for source_times in times]
            ratios = [f"{seconds / least[0]:.2f}" for seconds in least[1:]]
            rows.append([what, *(f"{seconds:.3f} s" for seconds in least), *ratios])
            print(" | ".join(rows[-1]), flush=True)
    names = [f"version {number + 1}" for number in range(len(sources))]
    header = ["question", "floor", *names, *(f"{version_name} / floor" for version_name in names)]
    hand_over(markdown_table(machine(timesink.sample()), header, rows), options.output)


if __name__ == "__main__":
    main()
