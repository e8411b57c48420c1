"""What to record: decided once, and read by every process that takes part."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

PLAN_FILE = "plan.json"
CONTROL_VARIABLE = "TIMESINK_RECORD"
"""Names the control folder to the processes of a recorded program."""

EXTRAS = ("stack", "shapes", "memory", "modules", "flops")
"""What torch.profiler can add to a timeline, at a price."""

DEFAULT_CYCLES = 20
DEFAULT_SKIP = 5
DEFAULT_INTERVAL_MS = 50.0
SHORTEST_INTERVAL_MS, LONGEST_INTERVAL_MS = 1.0, 60_000.0


INTERVALS = f"from {SHORTEST_INTERVAL_MS:g} to {LONGEST_INTERVAL_MS:g} ms"


def is_interval(value_ms: float) -> bool:
    """Whether counters can be sampled that often."""
    return SHORTEST_INTERVAL_MS <= value_ms <= LONGEST_INTERVAL_MS


@dataclass(frozen=True)
class RecordPlan:
    """What to record of a program.

    >>> Plan(cycles=3).skip
    5
    """

    cycles: int = DEFAULT_CYCLES
    skip: int = DEFAULT_SKIP
    marker: str = ""
    whole: bool = False
    stop: bool = False
    extras: tuple[str, ...] = ()
    by_hand: bool = False
    """Only `step()` of the context manager tells one cycle from the next."""


def write_plan(plan: RecordPlan, control: Path) -> None:
    """Leave a plan where the agents look for it."""
    # Some look for it at this very moment: it appears whole.
    unfinished = control / f"{PLAN_FILE}.unfinished"
    unfinished.write_text(json.dumps(asdict(plan)))
    unfinished.replace(control / PLAN_FILE)


def read_plan(control: Path) -> RecordPlan:
    """The plan of a control folder."""
    told = json.loads((control / PLAN_FILE).read_text())
    return RecordPlan(**{**told, "extras": tuple(told["extras"])})
