"""A recording played again: how near it comes to itself, and what that takes.

    python benchmarks/replay.py FOLDER...          how near, over every recording in some folders
    python benchmarks/replay.py --events 1         what it takes beside the floor and reading

Unchanged, a replay should give every cycle as it was recorded.  The floor is unpacking and parsing
the bytes of the file; every figure is a whole process, the smallest of the rounds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import timesink
from generate import repeat
from run import FLOOR, hand_over, machine, markdown_table, measure
from timesink.analyses.replay.graph import replay_graph
from timesink.analyses.replay.play import play, step_lengths
from timesink.analyses.steps import find_steps

READ = """
import sys, timesink
from timesink.analyses.steps import find_steps
trace = timesink.open(sys.argv[1], cache=False)
"""
PLAYED = (
    READ
    + """
from timesink.analyses.replay.critical_path import critical_path
from timesink.analyses.replay.graph import replay_graph
from timesink.analyses.replay.play import play
assert critical_path(trace, play(replay_graph(trace))).height
"""
)


def errors_of(folder: Path) -> Iterator[tuple[Path, float]]:
    """Every recording of a folder, and how far the middle of its cycles is from itself."""
    for path in sorted(folder.rglob("*.json*")):
        if path.name in ("run.json", "fault.json", "plain.json"):
            continue
        try:
            trace = timesink.open(path)
        except timesink.TimesinkError:
            continue
        steps = find_steps(trace).filter("complete")
        recorded = (steps["end_ns"] - steps["start_ns"]).to_numpy()
        if not len(recorded) or not np.median(recorded):
            continue
        played = step_lengths(steps, play(replay_graph(trace)))
        yield path, abs(float(np.median(played) / np.median(recorded)) - 1)


def nearness(folders: list[Path]) -> str:
    """A table: a row per folder."""
    rows = []
    for folder in folders:
        named_errors = list(errors_of(folder))
        errors = np.array([error for _, error in named_errors])
        worst = max(named_errors, key=lambda named_error: named_error[1])
        rows.append(
            [
                folder.name,
                str(len(errors)),
                f"{100 * np.median(errors):.3f} %",
                f"{100 * np.quantile(errors, 0.9):.3f} %",
                f"{100 * worst[1]:.3f} % ({worst[0].parent.name})",
            ]
        )
    header = ["recordings", "number", "median error", "9 of 10 below", "worst"]
    return markdown_table("", header, rows)


def cost(events: float, rounds: int) -> str:
    """A table: reading, and reading with graph, replay and critical path."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "trace.json.gz"
        repeat(timesink.sample(), path, int(events * 1e6))
        time.sleep(2.5)  # a file just written is hashed again at every opening
        programs = (FLOOR, READ, PLAYED)
        runs = [
            [measure(program, path, dict(os.environ)) for program in programs]
            for _ in range(rounds)
        ]
    floor, read, played = (min(run.seconds for run in column) for column in zip(*runs, strict=True))
    header = [
        "events",
        "floor",
        "read",
        "read, graph, replay, path",
        "beyond reading (of the floor)",
    ]
    more = f"{played - read:.2f} s (**{(played - read) / floor:.2f}**)"
    cells = [f"{events:.2g} M", f"{floor:.2f} s", f"{read:.2f} s", f"{played:.2f} s", more]
    return markdown_table(machine(timesink.sample()), header, [cells])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--events", type=float, help="millions")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    if options.folders:
        hand_over(nearness(options.folders), options.output)
    if options.events:
        hand_over(cost(options.events, options.rounds), options.output)


if __name__ == "__main__":
    main()
