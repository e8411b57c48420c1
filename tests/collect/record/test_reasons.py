"""What is said of a recording that has less than was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from timesink.collect.record.notes import ProcessNotes, read_notes
from timesink.collect.record.places import Place
from timesink.collect.record.plan import Plan
from timesink.collect.record.reasons import advice, why_partial
from timesink.collect.record.traces import collect_traces

TORCH = {"event": "torch"}
ONCE = {"event": "remark", "text": "step was called only once"}


def pace(**more: object) -> dict[str, object]:
    return {"event": "pace", "seen": 0, "elsewhere": 0, "own_profiler": False, **more}


@pytest.mark.parametrize(
    ("notes", "plan", "why", "help_"),
    [
        ((TORCH,), Plan(), "no optimizer made a step", "name what a cycle is with --marker NAME"),
        ((TORCH,), Plan(marker="stp"), "nothing called 'stp' ran", "as its `def` does"),
        ((TORCH, ONCE, pace()), Plan(marker="step"), "called only once", "once in every cycle"),
        ((TORCH, pace(seen=2)), Plan(), "ended after 2 cycles; the first 5 are skipped", "--skip"),
        ((TORCH, pace(seen=1, elsewhere=9)), Plan(), "on several threads", "let one thread do"),
    ],
)
def test_no_cycles(notes: tuple[dict[str, object], ...], plan: Plan, why: str, help_: str):
    processes = [ProcessNotes(7, notes)]
    assert why in why_partial([], processes, plan)
    assert help_ in advice([], processes, plan)


def test_timeline_that_cannot_be_kept(tmp_path: Path):
    """As where the disk is full: the rest is kept, and says so."""
    place = Place(tmp_path / "run")
    place.prepare()
    window = {"event": "window", "by": "step()", "name": "", "skipped": 1}
    exported = {"event": "exported", "file": "trace-7.json", "cycles": 3, "why": ""}
    notes = place.control / "7.jsonl"
    notes.write_text("".join(f"{json.dumps(note)}\n" for note in (window, exported)))
    (place.control / "trace-7.json").write_text("{}")
    # In the way of the file.
    (place.folder / ".trace.json.gz.unfinished").mkdir()
    (recorded,) = collect_traces(read_notes(place.control), place)
    assert recorded.trace is None
    assert recorded.why_partial == "the timeline cannot be written: Is a directory"
