"""Runs of two versions in turn that nobody makes: programs, their clock, and who looks on."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timesink.comparison.repeated_runs import Decision
from timesink.comparison.turns import Turns
from timesink.sources.ab_folder import AB_SCHEMA, AbPlan, AbRun, AbRuns, AbSide

RUN_S = 10.0


def planned_runs(*, budget_s: float = 3600.0, seed: int = 3, **plan: Any) -> AbRuns:
    """A plan that nothing was done of."""
    sides = AbSide(("python", "old.py")), AbSide(("python", "new.py"))
    return AbRuns(AB_SCHEMA, "1", *sides, 1.0, budget_s, seed, AbPlan(**plan))


@dataclass
class Bench:
    """Makes runs: cycles of 5 ms in the base, and how many times as long in the new side."""

    folder: Path
    ratio: float = 1.0
    scatter: float = 0.003
    why: Callable[[int, str], str] = lambda _number, _side: ""
    """Why a run fails: its number in the order, from 1, and its side."""
    stops_after: int = 1_000_000
    run_names: list[str] = field(default_factory=list)
    failed_runs: list[AbRun] = field(default_factory=list)
    looks: list[Decision] = field(default_factory=list)
    now: float = 0.0

    def make(self, side: str, folder: str, what: str) -> AbRun:
        self.run_names.append(f"{folder} {what}".strip())
        number, begun_us = len(self.run_names), round(self.now * 1e6)
        self.now += RUN_S
        drawn = random.Random(number)  # noqa: S311
        level = 5000 * (self.ratio if side == "new" else 1) * (1 + drawn.gauss(0, self.scatter))
        cycles = [9000.0] + [level * (1 + drawn.gauss(0, 0.01)) for _ in range(20)]
        why = self.why(number, side)
        (self.folder / folder).mkdir(parents=True)
        run = {
            "schema": "timesink/run/1",
            "cycles": {"plain": 20},
            "overhead": {"plain_cycles_us": cycles, "plain_started_us": begun_us},
        }
        (self.folder / folder / "run.json").write_text(json.dumps(run))
        (self.folder / folder / "output.txt").write_text("first\nlast words\n")
        ended_us = round(self.now * 1e6)
        return AbRun(side, folder, begun_us, ended_us, 1 if why else 0, why)

    def begins(self, folder: str, what: str) -> None: ...

    def failed(self, run: AbRun) -> None:
        self.failed_runs.append(run)

    def looked(self, _ab: AbRuns, decision: Decision) -> None:
        self.looks.append(decision)

    def turns(self, ab: AbRuns) -> Turns:
        def is_stopped() -> bool:
            return len(self.run_names) >= self.stops_after

        return Turns(ab, self.folder, self.make, self, is_stopped, now_s=lambda: self.now)
