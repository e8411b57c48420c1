"""The long analyses of a large trace in two threads: what they share is found by the first.

The work is NumPy and Polars on whole columns, and compiled code, which run outside of the
interpreter's lock.  Nothing is found here that the answer does not show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeAlias

from timesink.analyses import device_utilisation
from timesink.analyses.damage import refusing_damage
from timesink.analyses.device_activities import launch_statistics, queue_summary
from timesink.analyses.device_idle import idle_breakdown, idle_causes
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.kernels.table import kernel_groups, kernel_table
from timesink.analyses.operators import node_times, operator_table
from timesink.analyses.replay.critical_path import PlayedRun, path_kinds
from timesink.analyses.steps import step_breakdown
from timesink.analyses.work.efficiency import Efficiency
from timesink.model.findings import RunFinding
from timesink.model.fitness import CRITICAL_PATH, Fitness
from timesink.model.trace import Trace
from timesink.rules.run_findings import find_all
from timesink.runtime.memory import return_free_memory

MIN_EVENTS = 50_000
"""Below this, starting threads takes longer than they save."""

MANY_EVENTS = 400_000
"""From here on they need memory for a while that is worth returning."""

Side: TypeAlias = Sequence[Callable[[], object]]
_OF_CLOCK: Sequence[Callable[[Trace], object]] = (
    *(device_utilisation.device_utilisation, idle_causes, idle_breakdown),
)
_OF_DEVICE: Sequence[Callable[[Trace], object]] = (
    *(kernel_table, kernel_groups, launch_statistics, queue_summary, *_OF_CLOCK),
)


class RunParts(Protocol):
    """What is looked at of an analysis."""

    @property
    def trace(self) -> Trace:
        """Some steps of a recording, or all."""

    @property
    def recording(self) -> Trace:
        """All of them."""

    @property
    def timeline(self) -> Trace:
        """The trace on the clock of the answer."""

    @property
    def fitness(self) -> Fitness:
        """What the recording can answer."""

    @property
    def findings(self) -> tuple[RunFinding, ...]:
        """What costs time."""

    @property
    def played(self) -> PlayedRun:
        """The run played again."""

    @property
    def efficiency_of(self) -> Callable[[Trace], Efficiency]:
        """What operators compute, on a clock."""


def start_side_by_side(analysis: RunParts, *, brief: bool = False) -> None:
    """Find what an answer is made of, or a short one, in two threads.

    One finds the clock of the answer, and what there is to say on it; the other what is as recorded
    meanwhile, and what operators compute.
    """
    trace = analysis.trace
    if trace.metadata.events < MIN_EVENTS:
        return

    def timeline() -> Trace:
        return analysis.timeline

    def findings_of_clock() -> None:
        if refusing_damage(analysis.fitness) is None:
            find_all(timeline())

    findings: Side = (timeline, findings_of_clock, lambda: analysis.findings)
    others: list[Callable[[], object]] = [
        lambda: recording_fitness(analysis.recording),
        lambda: step_breakdown(trace),
    ]
    if brief:
        others += [lambda: kernel_table(trace)]
    else:
        others += [lambda: node_times(trace)]
        others += [_bind(analyse, lambda: trace) for analyse in _OF_DEVICE]
        others += [lambda: analysis.efficiency_of(trace).modelled]
    others += [lambda: analysis.efficiency_of(timeline()).modelled]
    others += [lambda: analysis.fitness.answers(CRITICAL_PATH) and path_kinds(analysis.played)]
    others += [_bind(analyse, timeline) for analyse in _OF_CLOCK]
    others += [lambda: operator_table(timeline())]
    with ThreadPoolExecutor(2) as threads:
        for side in [threads.submit(_work_through, side) for side in (findings, others)]:
            side.result()
    if trace.metadata.events >= MANY_EVENTS:
        return_free_memory()


def _bind(analyse: Callable[[Trace], object], trace: Callable[[], Trace]) -> Callable[[], object]:
    return lambda: analyse(trace())


def _work_through(side: Side) -> None:
    for find in side:
        find()
