"""What the agent in the program has written down: why no cycle comes, and what else to know."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from timesink.recorder.folder import ProcessNotes, read_notes
from timesink.recorder.processes import is_alive
from timesink.recorder.watch_plan import WatchPlan

UNTOLD = "the workload of a cycle could not be told"
"""The agent says it of the first; how many there are is known here."""
_MOST_PROCESSES = 200
_NO_PYTHON = "no Python of the program let the agent in (python -E or -I, or another PYTHONPATH?)"


def notes_in(control: Path) -> list[ProcessNotes]:
    """Of every process; none where they cannot be read.

    Of very many, those of processes that have ended are read for the last time.
    """
    try:
        notes = read_notes(control)
    except OSError:
        return []
    for one in notes if len(notes) > _MOST_PROCESSES else ():
        if not is_alive(one.pid):
            with suppress(OSError):
                (control / f"{one.pid}.jsonl").unlink()
    return notes


def agent_remarks(notes: Sequence[ProcessNotes]) -> list[str]:
    """What agents remark, and what has failed in them, each once.

    >>> agent_remarks([ProcessNotes(1, ({"event": "remark", "text": "odd"},) * 2)])
    ['odd']
    """
    keys = {"remark": "text", "failed": "why"}
    every = (note for one in notes for note in one.notes if note["event"] in keys)
    return list(dict.fromkeys(str(note.get(keys[note["event"]], "")) for note in every))


def recorded_workload(notes: Sequence[ProcessNotes], order: int) -> dict[str, float]:
    """What the cycles had to do that were recorded by order, as one of the agents tells.

    >>> done = {"event": "order", "id": 2, "state": "ended", "workload": {"batch_size": 8.0}}
    >>> recorded_workload([ProcessNotes(1, (done,))], 2)
    {'batch_size': 8.0}
    """
    for one in notes:
        note = one.last("order") or {}
        if note.get("id") == order and isinstance(told := note.get("workload"), dict) and told:
            return {str(name): float(value) for name, value in told.items()}
    return {}


def why_no_cycle(notes: Sequence[ProcessNotes], plan: WatchPlan) -> str:
    """The reason why none was seen, for people.

    >>> why_no_cycle([ProcessNotes(1, ({"event": "python"},))], WatchPlan(Path("watch")))
    'torch was never imported'
    """
    remarks = agent_remarks(notes)
    if not any(one.last("torch") for one in notes):
        remarks.append("torch was never imported" if notes else _NO_PYTHON)
    if remarks:
        return remarks[0]
    begun = next((note for one in notes if (note := one.last("watching"))), None)
    if begun is not None:
        return f"{begun.get('source')} came only once"
    if plan.marker:
        return f"{plan.marker} was never called"
    if plan.preset:
        return f"nothing that --preset {plan.preset} knows was called"
    return "no optimizer made a step; name what marks a cycle with --marker, or --preset"
