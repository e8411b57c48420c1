"""Why a recording has less than was asked for, in words."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.collect.record.agent.endings import ENDED
from timesink.collect.record.notes import Note, ProcessNotes
from timesink.collect.record.plan import RecordPlan
from timesink.collect.record.running import ProgramEnd
from timesink.collect.record.traces import Recorded
from timesink.recorder.counter_sampler import SampledCounters

NO_PYTHON = (
    "no Python of the program let the recorder in: it is no Python program, "
    "runs with -I, -E or -S, or something on the way to it replaced PYTHONPATH"
)
NO_TORCH = "the program did not import torch: counters only"


def said_of(
    recorded: Sequence[Recorded],
    processes: Sequence[ProcessNotes],
    plan: RecordPlan,
    ended: ProgramEnd | None,
    sampled: SampledCounters,
) -> tuple[str, tuple[str, ...]]:
    """Whether all that was asked for is there, in words: why it is not, and what else to know.

    The latter is as it should be, and yet not as everybody expects.

    Counters are all there is of a program without torch, unless its cycles were named.
    """
    why = why_partial(recorded, processes, plan, ended)
    if why == NO_TORCH and sampled.samples and not (plan.marker or plan.whole):
        return "", (why,)
    dropped = [
        f"{one.dropped + 1} processes recorded as rank {one.rank}: "
        f"the one with most cycles, process {one.pid}, is kept"
        for one in recorded
        if one.dropped
    ]
    remarks = _remarks(processes) if recorded else []
    return why, (*dropped, *dict.fromkeys(remarks))


def why_partial(
    recorded: Sequence[Recorded],
    processes: Sequence[ProcessNotes],
    plan: RecordPlan,
    ended: ProgramEnd | None = None,
) -> str:
    """One sentence on what is missing; empty where nothing is."""
    if not recorded:
        return _why_nothing(processes, plan)
    partial = [one for one in recorded if not one.is_complete]
    if not partial:
        return ""
    first = partial[0]
    whose = f"rank {first.rank}: " if len(recorded) > 1 and first.rank is not None else ""
    why = f"{whose}{first.why_partial}"
    if first.why_partial == ENDED and ended is not None and ended.code:
        # Seen from inside, it just ended.
        why += f" with exit code {ended.code}"
    if plan.whole or first.trace is None:
        return why
    return f"{why}, after {first.cycles} of {plan.cycles} cycles"


def _why_nothing(processes: Sequence[ProcessNotes], plan: RecordPlan) -> str:
    failures = [failed["why"] for process in processes if (failed := process.last("failed"))]
    if failures:
        return str(failures[0])
    if not processes:
        return NO_PYTHON
    if not any(process.last("torch") for process in processes):
        return NO_TORCH
    why = _why_too_few(_paces(processes), plan) or next(iter(_remarks(processes)), "")
    if why:
        return why
    unseen = "no optimizer made a step"
    if plan.by_hand:
        unseen = "step() was never called"
    elif plan.marker:
        unseen = f"nothing called {plan.marker!r} ran"
    return f"no cycle was seen: {unseen}"


def _why_too_few(paces: Sequence[Note], plan: RecordPlan) -> str:
    """Why what was seen of cycles was not enough to record one; empty where none was seen."""
    if any(pace["own_profiler"] for pace in paces):
        return "the program's own profiler was running when recording was due"
    if any(pace["elsewhere"] for pace in paces):
        return "cycles ran on several threads, and a recording follows only one"
    most = max((pace["seen"] for pace in paces), default=0)
    if paces and not most and plan.marker:
        return f"{plan.marker!r} came only once (before Python 3.12 compiled calls are not seen)"
    return (
        f"the program ended after {most} cycles; the first {plan.skip} are skipped" if most else ""
    )


def _remarks(processes: Sequence[ProcessNotes]) -> list[str]:
    return [str(remark["text"]) for process in processes if (remark := process.last("remark"))]


def _paces(processes: Sequence[ProcessNotes]) -> list[Note]:
    return [pace for process in processes if (pace := process.last("pace"))]


def advice(
    recorded: Sequence[Recorded], processes: Sequence[ProcessNotes], plan: RecordPlan
) -> str:
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
