"""What is true about a generated run, in a file beside its traces."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from timesink_lab.ranks.plan import Plan


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be found about one straggler."""

    kind: str
    cause: str
    ranks: tuple[int, ...]
    """The culprits; naming one of them is right."""
    steps: tuple[int, ...]
    """Numbers of the affected steps, as the marks of the profiler count them."""
    cost_us: float
    """How much longer the run takes than the same run without this straggler."""
    separable: bool = True
    """Whether anything recorded tells the culprits from their peers.

    A slow link slows all of its group alike: only where a rank is in several groups do these
    cross at it.
    """


@dataclass(frozen=True, slots=True)
class Truth:
    """Everything that is known about a generated run and stands in none of its files."""

    answers: tuple[Answer, ...]
    run_us: float
    """From the start of the first step to the end of the last one, on any rank."""
    healthy_run_us: float
    """The same with all stragglers left out."""
    clock_offset_ns: tuple[int, ...]
    """By rank: what its clock shows more than the true time when recording starts."""
    clock_drift_ppm: tuple[float, ...]
    events: int = 0
    """Events of all files together."""
    files: tuple[str, ...] = field(default=(), repr=False)


# What is true about a generated run, in a file beside its traces.

TRUTH_FILE = "truth.json"
SCHEMA = "timesink/lab-ranks/1"


def truth_told(plan: Plan, truth: Truth) -> dict[str, Any]:
    """The plan and what came of it, as JSON has it."""
    fields = asdict(truth)
    fields["files"] = [Path(file).name for file in truth.files]
    return {"schema": SCHEMA, "plan": asdict(plan), **fields}


def write_truth(folder: Path, plan: Plan, truth: Truth) -> Path:
    """Write it beside the traces; nothing in it looks like a trace."""
    path = folder / TRUTH_FILE
    path.write_text(json.dumps(truth_told(plan, truth), indent=1) + "\n")
    return path
