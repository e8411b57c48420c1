"""Which runs are made, and in which order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from timesink.lab.faults.fault import GPU, LOADER, NORMAL, Fault
from timesink.lab.workloads.registry import LabWorkload

_AT_ONCE = 3
"""Faults that share the run without a fault before them."""


@dataclass(frozen=True)
class LabRun:
    """One recording to make."""

    workload: LabWorkload
    fault: Fault | None
    """None: a run without a fault."""
    number: int
    """Which of its kind, from 1."""
    is_fresh_start: bool = False
    """The first one after a pause: there is none before it to compare it with."""

    @property
    def fault_name(self) -> str:
        """The fault, or `normal`."""
        return NORMAL if self.fault is None else self.fault.name

    @property
    def folder(self) -> str:
        """Its place below the folder of all recordings."""
        return f"{self.workload.name}/{self.name}"

    @property
    def name(self) -> str:
        """What it is called among the runs of its workload."""
        return f"{self.fault_name}-{self.number}"


def ordered(
    workloads: Sequence[LabWorkload], faults: Sequence[Fault], repeat: int, *, has_gpu: bool
) -> tuple[LabRun, ...]:
    """All runs, round by round.

    Workloads take turns, a few faults at a time with a run without a fault right before them: a
    machine that drifts then does not look like a fault, and what is there when time runs out is
    whole.  Each fault comes early with one of the workloads that can have it, and later with the
    others, so half of a round has them all.  Rounds have orders of their own.
    """
    healthy = {workload.name: count(1) for workload in workloads}
    runs: list[LabRun] = []
    for number in range(1, repeat + 1):
        for workload, some in _turns(workloads, faults, number, has_gpu=has_gpu):
            runs.append(LabRun(workload, None, next(healthy[workload.name])))
            runs += (LabRun(workload, fault, number) for fault in some)
    return tuple(runs)


def _turns(
    workloads: Sequence[LabWorkload], faults: Sequence[Fault], number: int, *, has_gpu: bool
) -> Iterator[tuple[LabWorkload, list[Fault]]]:
    """A workload and the faults it runs with before it is the turn of the next one."""
    early: dict[str, list[Fault]] = {workload.name: [] for workload in workloads}
    late: dict[str, list[Fault]] = {workload.name: [] for workload in workloads}
    # The same order every time, so that a plan that was begun can be gone on with.
    mixed = random.Random(number).sample(faults, len(faults))  # noqa: S311 - no secret
    for fault in mixed:
        names = [one.name for one in workloads if applicable(one, [fault], has_gpu=has_gpu)]
        first = min(names, key=lambda name: len(early[name]), default=None)
        for name in names:
            (early if name == first else late)[name].append(fault)
    queues = [(one, early[one.name] + late[one.name]) for one in workloads]
    for place in range(0, max((len(queue) for _, queue in queues), default=0), _AT_ONCE):
        for workload, queue in queues:
            if queue[place:]:
                yield workload, queue[place : place + _AT_ONCE]


def gone_on_with(runs: Sequence[LabRun], is_there: Callable[[LabRun], bool]) -> tuple[LabRun, ...]:
    """The plan after a pause: faults are not compared with a run from before it.

    Where such faults come first, one more run without a fault is put in front of them.
    """
    plan: list[LabRun] = []
    old: set[str] = set()
    for run in runs:
        if is_there(run) and run.fault is None:
            old.add(run.workload.name)
        elif not is_there(run):
            if run.fault is not None and run.workload.name in old:
                planned = sum(one.workload == run.workload and one.fault is None for one in runs)
                fresh = (
                    LabRun(run.workload, None, number, is_fresh_start=True)
                    for number in count(planned + 1)
                )
                plan.append(next(one for one in fresh if not is_there(one)))
            old.discard(run.workload.name)
        plan.append(run)
    return tuple(plan)


def applicable(workload: LabWorkload, faults: Sequence[Fault], *, has_gpu: bool) -> list[Fault]:
    """The faults that can be put into a workload here."""
    there = [name for name, yes in ((GPU, has_gpu), (LOADER, workload.has_loader)) if yes]
    return [fault for fault in faults if not fault.lacks(there)]


def left_out(
    workloads: Sequence[LabWorkload], faults: Sequence[Fault], *, has_gpu: bool
) -> list[Fault]:
    """The faults that can be put into none of the workloads here."""
    possible = [one for each in workloads for one in applicable(each, faults, has_gpu=has_gpu)]
    return [fault for fault in faults if fault not in possible]
