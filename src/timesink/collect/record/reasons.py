"""Why a recording has less than was asked for, in words."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.collect.record.notes import Note, ProcessNotes
from timesink.collect.record.plan import Plan
from timesink.collect.record.traces import Recorded

NO_PYTHON = (
    "no Python of the program let the recorder in: "
    "it is no Python program, or runs with -I, -E or -S"
)
NO_TORCH = "the program did not import torch: counters only"


def why_partial(recorded: Sequence[Recorded], processes: Sequence[ProcessNotes], plan: Plan) -> str:
    """One sentence on what is missing; empty where nothing is."""
    if not recorded:
        return _why_nothing(processes, plan)
    partial = [one for one in recorded if not one.is_complete]
    if not partial:
        return ""
    first = partial[0]
    whose = f"rank {first.rank}: " if len(recorded) > 1 and first.rank is not None else ""
    if plan.whole or first.trace is None:
        return f"{whose}{first.why_partial}"
    return f"{whose}{first.why_partial}, after {first.cycles} of {plan.cycles} cycles"


def _why_nothing(processes: Sequence[ProcessNotes], plan: Plan) -> str:
    failures = [failed["why"] for process in processes if (failed := process.last("failed"))]
    if failures:
        return str(failures[0])
    if not processes:
        return NO_PYTHON
    if not any(process.last("torch") for process in processes):
        return NO_TORCH
    return _why_no_cycles(processes, plan)


def _why_no_cycles(processes: Sequence[ProcessNotes], plan: Plan) -> str:
    remarks = [remark["text"] for process in processes if (remark := process.last("remark"))]
    why = _why_too_few(_paces(processes), plan) or next(iter(remarks), "")
    if why:
        return why
    if plan.by_hand:
        return "no cycle was seen: step() was never called"
    if plan.marker:
        return f"no cycle was seen: nothing called {plan.marker!r} ran"
    return "no cycle was seen: no optimizer made a step"


def _why_too_few(paces: Sequence[Note], plan: Plan) -> str:
    """Why what was seen of cycles was not enough to record one; empty where none was seen."""
    if any(pace["own_profiler"] for pace in paces):
        return "the program's own profiler was running all the time"
    if any(pace["elsewhere"] for pace in paces):
        return "cycles ran on several threads, and a recording follows only one"
    most = max((pace["seen"] for pace in paces), default=0)
    return (
        f"the program ended after {most} cycles; the first {plan.skip} are skipped" if most else ""
    )


def _paces(processes: Sequence[ProcessNotes]) -> list[Note]:
    return [pace for process in processes if (pace := process.last("pace"))]


def advice(recorded: Sequence[Recorded], processes: Sequence[ProcessNotes], plan: Plan) -> str:
    """What to try where no cycle was recorded; empty where one was."""
    if recorded or not any(process.last("torch") for process in processes):
        return ""
    paces = _paces(processes)
    if any(pace["own_profiler"] for pace in paces):
        return "switch the program's own profiler off: two at a time break each other"
    if any(pace["elsewhere"] for pace in paces):
        return "let one thread do the work, or name what one thread does again and again"
    if any(pace["seen"] for pace in paces):
        return "record earlier cycles with --skip N"
    if plan.marker:
        return (
            "--marker names a Python function as its `def` does, or a range of record_function, "
            "that comes once in every cycle; --whole records without cycles"
        )
    return (
        "name what a cycle is with --marker NAME, a function or an annotation, "
        "or record all of it with --whole"
    )
