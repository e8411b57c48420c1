"""Comparing two recordings beside the floor: unpacking and parsing both files, measured in turn.

Every figure is a whole process, imports included: from two packed recordings to the text of
`timesink compare`, once with nothing in the cache and once again.  The floor is that of `run.py`,
one process per file.  Without `--base` and `--new`, both are the bundled recording repeated.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import simdjson
from isal import igzip

import timesink
from compare import seconds
from generate import repeat
from run import FLOOR, hand_over, machine, markdown_table

COMPARE = """
import sys
from timesink.cli import main
sys.exit(main(["compare", *sys.argv[1:]]))
"""
HEADER = [
    "pair",
    "events",
    "floor of both",
    "compare",
    "compare / floor",
    "again",
    "again / floor",
    "again / first",
]


@dataclass(frozen=True)
class Round:
    """One round; ratios are of times that were taken in order."""

    floor: float
    first: float
    again: float


def measure_round(base: Path, new: Path, cache: Path) -> Round:
    """One round, beginning with an empty cache."""
    place = {"TIMESINK_CACHE_DIR": str(cache)}
    return Round(
        seconds(FLOOR, base) + seconds(FLOOR, new),
        seconds(COMPARE, base, new, **place),
        seconds(COMPARE, base, new, **place),
    )


def pair_row(base: Path, new: Path, rounds: int, folder: Path) -> list[str]:
    """The row of a pair: medians of rounds, after one that only warms up."""
    measure_round(base, new, folder / "warm-up")
    measurements = [measure_round(base, new, folder / f"cache{number}") for number in range(rounds)]
    floor, first, again = (
        statistics.median(getattr(measurement, name) for measurement in measurements)
        for name in ("floor", "first", "again")
    )
    return [
        f"{_name(base)} and {_name(new)}",
        " + ".join(f"{events(path) / 1e6:.2f} M" for path in (base, new)),
        f"{floor:.2f} s",
        f"{first:.2f} s",
        f"**{_ratio(measurements, 'first', 'floor'):.2f}**",
        f"{again:.2f} s",
        f"**{_ratio(measurements, 'again', 'floor'):.2f}**",
        f"{_ratio(measurements, 'again', 'first'):.2f}",
    ]


def _ratio(rounds: Sequence[Round], of: str, to: str) -> float:
    return statistics.median(
        getattr(measurement, of) / getattr(measurement, to) for measurement in rounds
    )


def _name(path: Path) -> str:
    return path.parent.name if path.name.startswith("trace.") else path.name.partition(".")[0]


def events(path: Path) -> int:
    """How many events a packed recording holds."""
    with igzip.open(path) as file:
        return len(simdjson.Parser().parse(file.read())["traceEvents"])


def repeat_recordings(folder: Path, count: int) -> tuple[Path, Path]:
    """Two recordings of at least so many events each."""
    paths = folder / "base.json.gz", folder / "new.json.gz"
    for path in paths:
        repeat(timesink.sample(), path, count)
    # A file just written is hashed again at every opening; wait as a user would.
    time.sleep(2.5)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, help="a packed recording")
    parser.add_argument("--new", type=Path, nargs="*", default=[], help="what to compare it with")
    parser.add_argument("--events", type=float, nargs="+", default=[0.126], help="millions")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = [(options.base, new) for new in options.new if options.base]
        pairs = pairs or [
            repeat_recordings(_make_folder(folder / f"{number}"), int(millions * 1e6))
            for number, millions in enumerate(options.events)
        ]
        rows = []
        for number, (base, new) in enumerate(pairs):
            rows.append(
                pair_row(base, new, options.rounds, _make_folder(folder / f"cache{number}"))
            )
            print(" | ".join(rows[-1]), flush=True)
    above = machine(Path()).partition(";")[0] + "."
    hand_over(markdown_table(above, HEADER, rows), options.output)


def _make_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
