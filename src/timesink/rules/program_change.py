"""Two programs beside each other: what one does otherwise, and what of a change that explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from timesink.analyses.diff.edits import ProgramDifference, call_tree, difference
from timesink.analyses.diff.program import Program
from timesink.analyses.statistics.means import moments, welch_interval
from timesink.model.arrays import Floats
from timesink.model.diagnosis import CycleKinds, ProgramChange, SteadyTimes
from timesink.model.findings import Finding
from timesink.model.units import listed, times
from timesink.rules.ledger import Demand, Ledger, largest_first
from timesink.rules.program_edits import edits, told
from timesink.rules.registry import finding

_BETWEEN_RUNS = 0.006
"""Part of its device time by which equal programs differ from run to run, at most."""
_NORMAL = 1.96
_STEADY, _CLEARLY = 0.05, 1.15
"""Kernels that take as long within this part; and those that take so many times as long."""
_WORTH_TELLING = 0.05
"""Part of the device's time by which some kernels alone must change."""


def program_change(
    base: Program, new: Program, base_cycles: Sequence[int] = (), new_cycles: Sequence[int] = ()
) -> ProgramChange:
    """What the second program does otherwise, and what its device work takes."""
    found = difference(base, new, base_cycles, new_cycles)
    own = edits(found)
    change = [
        float(new[part].sum() - base[part].sum()) for part in (2, 1) for base, new in [found.means]
    ]
    return ProgramChange(
        own,
        tuple(_kinds(found)),
        _device_time(*found.device_ns),
        change[0],
        change[1],
        change[0] - sum(one.device_ns for one in own),
        change[1] - sum(one.host_ns for one in own),
        found.host,
        found.varying,
        "" if own else _uneven(found),
        call_tree(found, base, new),
    )


def _uneven(found: ProgramDifference) -> str:
    """Which kernels alone take another time per call, where most do not; empty where none do."""
    (calls, _, before, _), (often, _, after, _) = found.means
    some = np.flatnonzero((before > 0) & (after > 0) & (calls > 0) & (often > 0))
    ratio = (after[some] / often[some]) / (before[some] / calls[some])
    moved = some[(ratio > _CLEARLY) | (ratio < 1 / _CLEARLY)]
    steady = int((np.abs(ratio - 1) < _STEADY).sum())
    change = float((after - before)[moved].sum())
    if steady * 2 < len(some) or abs(change) < _WORTH_TELLING * float(before.sum()) or not change:
        return ""
    largest = moved[np.argsort(-np.abs(after - before)[moved], kind="stable")]
    names = dict.fromkeys(told(found.sites["name"][int(at)]) for at in largest)
    took = times(float(before[moved].sum()), float(after[moved].sum()))
    return (
        f"{listed(list(names), 3)} take {took} per cycle, while most kernels take as long as "
        "before: as of other sizes or other data."
    )


def _kinds(found: ProgramDifference) -> Iterator[CycleKinds]:
    base, new = found.kinds
    for one in base:
        its = None if one.partner is None else new[one.partner]
        yield CycleKinds(
            one.cycles,
            () if its is None else its.cycles,
            one.period,
            None if its is None else its.period,
            one.calls,
        )
    for one in new:
        if one.partner is None:
            yield CycleKinds((), one.cycles, None, one.period, one.calls)


def _device_time(base: Floats, new: Floats) -> SteadyTimes:
    """Device time of usual cycles; its interval holds by how much equal runs differ."""
    middle, errors = [], []
    for side in (base, new):
        usual = float(np.median(side))
        spread = 1.4826 * float(np.median(np.abs(side - usual)))
        middle.append(usual)
        errors.append(1.2533 * spread / max(1, len(side)) ** 0.5)
    half = _NORMAL * float(np.hypot(*errors)) + _BETWEEN_RUNS * middle[0]
    delta = middle[1] - middle[0]
    return SteadyTimes(middle[0], middle[1], (delta - half, delta + half))


def device_time_of_runs(base: Sequence[float], new: Sequence[float]) -> SteadyTimes:
    """Device time over several runs: its interval holds by how much those of one side differ."""
    sides = [np.array(side, dtype=np.float64) for side in (base, new)]
    known = [moments(np.zeros(len(side), dtype=np.int64), side, 1) for side in sides]
    means = [float(one.mean[0]) for one in known]
    return SteadyTimes(means[0], means[1], welch_interval(known[0], known[1]))


# -- edits as causes of a change -------------------------------------------------------------------

OF_PROGRAM = frozenset(
    {"synchronisation", "more_operators", "kernel_change", "workload_change", "host_calls"}
)
"""Rules that look for a change of the program in the times of functions: not asked where it is
known."""
_DEVICE_PARTS = ("device_compute", "copies", "exposed_communication")
_HOST_PARTS = ("host_cpu", "synchronisation", "launch_gap", "idle", "data_loading")


def settled_edits(program: ProgramChange | None, ledger: Ledger) -> Iterator[Finding]:
    """Edits as causes with what they explain of the change of the cycle, which may be nothing."""
    for one in () if program is None else program.edits:
        taken: dict[str, float] = {}
        for ns, parts in ((one.device_ns, _DEVICE_PARTS), (one.host_ns, _HOST_PARTS)):
            for name, some in ledger.take(Demand(ns, parts, structural=True)).items():
                taken[name] = taken.get(name, 0.0) + some
        said = finding("causes", one.cause, f"{one.sentence} ({one.place}).", evidence=one.evidence)
        yield replace(said, cost_ns=sum(taken.values()), claims=largest_first(taken))
