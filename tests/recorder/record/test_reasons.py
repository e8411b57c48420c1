"""What is said of a recording that has less than was asked for."""

from __future__ import annotations

import pytest

from timesink.recorder.folder import ProcessNotes, RecordPlan
from timesink.recorder.run_file import advice, why_partial

TORCH = {"event": "torch"}
TOOLS = {"event": "remark", "text": "other tools monitor this program"}


def pace(**more: object) -> dict[str, object]:
    return {"event": "pace", "seen": 0, "elsewhere": 0, "own_profiler": False, **more}


@pytest.mark.parametrize(
    ("notes", "plan", "why", "help_"),
    [
        (
            (TORCH,),
            RecordPlan(),
            "no optimizer made a step",
            "name a function or annotation that begins each step with --marker NAME",
        ),
        ((TORCH,), RecordPlan(marker="stp"), "nothing called 'stp' ran", "as its `def` does"),
        ((TORCH, TOOLS), RecordPlan(marker="step"), "other tools monitor", "as its `def` does"),
        (
            (TORCH, pace()),
            RecordPlan(marker="step"),
            "'step' came only once",
            "once per step",
        ),
        (
            (TORCH, pace(seen=2)),
            RecordPlan(),
            "ended after 2 steps; the first 5 are skipped, and 20 timed before the timeline",
            "--skip N and --unprofiled N",
        ),
        (
            (TORCH, pace(own_profiler=True)),
            RecordPlan(),
            "when recording was due",
            "own profiler off",
        ),
        (
            (TORCH, pace(seen=1, elsewhere=9)),
            RecordPlan(),
            "on several threads",
            "run the steps on one thread",
        ),
    ],
)
def test_no_cycles(notes: tuple[dict[str, object], ...], plan: RecordPlan, why: str, help_: str):
    processes = [ProcessNotes(7, notes)]
    assert why in why_partial([], processes, plan)
    assert help_ in advice([], processes, plan)
