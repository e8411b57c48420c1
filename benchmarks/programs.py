"""What two runs call, and how that differs, beside the floor and beside reading them.

    python benchmarks/programs.py

Two recordings of which one replaces an operator wherever it comes.  Every figure is a whole
process, imports included, in turn; the smallest of the rounds is taken.  The floor is unpacking and
parsing the bytes of both files, in order; what comes beyond reading is what finding
cycles, both programs, and their difference add to opening both.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from isal import igzip

import timesink
from generate import repeat
from run import FLOOR, hand_over, machine, markdown_table, measure

BOTH = """
import sys, timesink
both = [timesink.open(path, cache=False) for path in sys.argv[1].split(":")]
"""
DIFFERENCE = (
    BOTH
    + """
from timesink.analyses.cycles.search import find_cycles
from timesink.analyses.diff import programs
from timesink.comparison.causes.diagnosis import program_change
found = [next(iter(programs(trace, find_cycles(trace)).values())) for trace in both]
change = program_change(*found)
assert [edit.call for edit in change.edits] == ["aten::replaced"], change.edits
"""
)
FLOOR_OF_BOTH = f"""
import sys
for path in sys.argv[1].split(":"):
    sys.argv[1] = path
    {FLOOR.strip().replace(chr(10), chr(10) + "    ")}
"""
REPLACED = b'"aten::relu_"'


def two_runs(folder: Path, events: int) -> tuple[str, float]:
    """A recording repeated, and the same with another operator, and how much JSON that is."""
    source = timesink.sample()
    edited = folder / "edited.json.gz"
    content = igzip.decompress(source.read_bytes())
    if REPLACED not in content:
        raise SystemExit(f"{source} calls no {REPLACED.decode()}")
    edited.write_bytes(igzip.compress(content.replace(REPLACED, b'"aten::replaced"')))
    sizes = []
    paths = [folder / f"{name}.json.gz" for name in ("base", "new")]
    for recording, path in zip((source, edited), paths, strict=True):
        sizes.append(repeat(recording, path, events)[1])
    return ":".join(map(str, paths)), sum(sizes) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=float, default=1.0, help="millions, of either file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        paths, json_mb = two_runs(Path(name), int(options.events * 1e6))
        # A file just written is hashed again at every opening; wait as a user would.
        time.sleep(2.5)
        programs = (FLOOR_OF_BOTH, BOTH, DIFFERENCE)
        rounds = [
            [measure(program, Path(paths), dict(os.environ)) for program in programs]
            for _ in range(options.rounds)
        ]
    floor, read, both = (min(run.seconds for run in runs) for runs in zip(*rounds, strict=True))
    peak = max(runs[-1].peak_mb for runs in rounds)
    cells = [
        f"2 x {options.events:.2g} M",
        f"{json_mb:.0f} MB",
        f"{floor:.2f} s",
        f"{read:.2f} s",
        f"{both:.2f} s",
        f"{both - read:.2f} s (**{(both - read) / floor:.2f}**)",
        f"{peak:.0f} MB (**{peak / json_mb:.2f}**)",
    ]
    header = ["events", "JSON of both", "floor", "read", "read, programs and difference",
              "beyond reading (of the floor)", "peak memory (of JSON)"]  # fmt: skip
    hand_over(markdown_table(machine(timesink.sample()), header, [cells]), options.output)


if __name__ == "__main__":
    main()
