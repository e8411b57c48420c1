"""Writing a report beside printing the answer, and its size; every figure is a whole process.

Both start with an empty cache, measured in turn; `again` is a report about a trace in the cache.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import timesink
from generate import repeat
from run import hand_over, machine, markdown_table, measure, median

PRINT = """
import contextlib, os, sys
from timesink.cli import main
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    sys.exit(main(["analyze", sys.argv[1]]))
"""
REPORT = """
import sys
from timesink.cli import main
sys.exit(main(["analyze", sys.argv[1], "-o", sys.argv[1] + ".html", "--force"]))
"""
HEADER = ["events", "print", "report", "report / print", "peak memory", "again", "size"]


def benchmark(source: Path, events: int, rounds: int, folder: Path) -> list[str]:
    """One line of the table."""
    path = folder / f"{events}.json.gz"
    written, _ = repeat(source, path, events)
    # A file just written is hashed again at every opening; wait as a user would.
    time.sleep(2.5)
    runs = []
    for number in range(rounds):
        printed, reported = (
            {**os.environ, "TIMESINK_CACHE_DIR": str(folder / f"{what}{number}")}
            for what in ("printed", "reported")
        )
        runs.append(
            (
                measure(PRINT, path, printed),
                measure(REPORT, path, reported),
                measure(REPORT, path, reported),
            )
        )
    print_run, report, again = (median(column) for column in zip(*runs, strict=True))
    return [
        f"{written / 1e6:.2f} M",
        f"{print_run.seconds:.2f} s",
        f"{report.seconds:.2f} s",
        f"**{report.seconds / print_run.seconds:.2f}**",
        f"{report.peak_mb:.0f} MB",
        f"{again.seconds:.2f} s",
        f"{path.with_name(f'{path.name}.html').stat().st_size / 1e3:.0f} KB",
    ]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=timesink.sample())
    parser.add_argument("--events", type=float, nargs="+", default=[0.1, 1], help="millions")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            benchmark(options.source, int(millions * 1e6), options.rounds, Path(folder))
            for millions in options.events
        ]
    hand_over(markdown_table(machine(options.source), HEADER, rows), options.output)


if __name__ == "__main__":
    main()
