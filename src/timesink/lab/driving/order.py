"""Which runs are made, and in which order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from timesink.lab.faults.fault import GPU, LOADER, NORMAL, Fault
from timesink.lab.workloads.registry import Workload


@dataclass(frozen=True)
class Run:
    """One recording to make."""

    workload: Workload
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
    workloads: Sequence[Workload], faults: Sequence[Fault], repeat: int, *, has_gpu: bool
) -> tuple[Run, ...]:
    """All runs, round by round.

    In each round a workload runs without a fault before the first and before the middle one of its
    faults, and these come in another order each time: a machine that drifts then neither looks
    like a fault nor favours one.  Rounds come one after the other, so a first round is whole when
    time runs out in the second.

    >>> from timesink.lab.faults.registry import FAULTS
    >>> from timesink.lab.workloads.registry import WORKLOADS
    >>> [run.name for run in ordered(WORKLOADS[1:2], FAULTS[6:8], 1, has_gpu=False)]
    ['normal-1', 'python_stall-1', 'normal-2', 'python_busy-1']
    """
    return tuple(
        run
        for number in range(1, repeat + 1)
        for workload in workloads
        for run in _round(workload, applicable(workload, faults, has_gpu=has_gpu), number)
    )


def gone_on_with(runs: Sequence[Run], is_there: Callable[[Run], bool]) -> tuple[Run, ...]:
    """The plan after a pause: faults are not compared with a run from before it.

    Where such faults come first, one more run without a fault is put in front of them.
    """
    plan: list[Run] = []
    old: set[str] = set()
    for run in runs:
        if is_there(run) and run.fault is None:
            old.add(run.workload.name)
        elif not is_there(run):
            if run.fault is not None and run.workload.name in old:
                plan.append(_fresh_start(run.workload, runs, is_there))
            old.discard(run.workload.name)
        plan.append(run)
    return tuple(plan)


def _fresh_start(workload: Workload, runs: Sequence[Run], is_there: Callable[[Run], bool]) -> Run:
    planned = sum(run.workload == workload and run.fault is None for run in runs)
    numbered = (Run(workload, None, number, is_fresh_start=True) for number in count(planned + 1))
    return next(run for run in numbered if not is_there(run))


def applicable(workload: Workload, faults: Sequence[Fault], *, has_gpu: bool) -> list[Fault]:
    """The faults that can be put into a workload here."""
    there = [name for name, yes in ((GPU, has_gpu), (LOADER, workload.has_loader)) if yes]
    return [fault for fault in faults if not fault.lacks(there)]


def left_out(
    workloads: Sequence[Workload], faults: Sequence[Fault], *, has_gpu: bool
) -> list[Fault]:
    """The faults that can be put into none of the workloads here."""
    possible = [one for each in workloads for one in applicable(each, faults, has_gpu=has_gpu)]
    return [fault for fault in faults if fault not in possible]


def _round(workload: Workload, faults: list[Fault], number: int) -> Iterator[Run]:
    # The same order every time, so that a plan that was begun can be gone on with.
    random.Random(f"{workload.name} {number}").shuffle(faults)  # noqa: S311 - no secret
    half = (len(faults) + 1) // 2
    for part, some in enumerate((faults[:half], faults[half:])):
        yield Run(workload, None, 2 * number - 1 + part)
        for fault in some:
            yield Run(workload, fault, number)
