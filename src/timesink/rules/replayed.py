"""Findings that only a replay can measure: single waits of the host, idle gaps between queued work.

A wait that comes once a step may be the bottleneck or cost nothing; that depends on what follows.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator

import numpy as np
from msgspec.structs import replace

from timesink.analyses.columns import device_kinds, device_names, host_names
from timesink.analyses.device_idle import idle_causes
from timesink.analyses.forest import descendant_mask
from timesink.analyses.replay.changes import AskedChange
from timesink.analyses.replay.play import Played
from timesink.analyses.replay.prediction import operators_around, waiting_calls
from timesink.analyses.replay.what_if import Scenario, apply_change, device_waits
from timesink.analyses.thresholds import WhatIfLimits
from timesink.analyses.work.formulas import formula_of
from timesink.errors import UsageError
from timesink.model import units
from timesink.model.arrays import is_among
from timesink.model.findings import Evidence, RunFinding
from timesink.model.intervals import Ints
from timesink.model.trace import Trace
from timesink.model.vendors import is_collective_call, waits_for_device
from timesink.rules.steps import Steps, complete_steps
from timesink.rules.thresholds import DeviceWorkLimits, ReplayedLimits

_MAX_NAMES = 3
_FROM_HOST = "HtoD"
_PRODUCTS = ("gemm", "convolution", "attention")


# -- waits -----------------------------------------------------------------------------------------


def held_up_by(
    trace: Trace, base: Scenario, saving_ns: Callable[[Scenario], float]
) -> list[RunFinding]:
    """Operators that wait for the device, few times a step, where a step is shorter without."""
    steps, idle = complete_steps(trace), idle_causes(trace)
    least = DeviceWorkLimits.min_share * steps.length_ns
    waits = any(waits_for_device(name) for name in host_names(trace).texts if name)
    # What is waited for once in a recording is no part of a loop.
    if not steps.marked or not steps.length_ns or idle.is_empty() or not waits:
        return []
    # Without an idle device nothing comes sooner, whatever the host waits for.
    if int(idle["idle_ns"].to_numpy().max()) < least * steps.count:
        return []
    played = base.played()
    chosen: list[Evidence] = []
    for name, waits_ns, count in _waits_in_steps(trace, base, played, steps):
        if waits_ns < least or len(chosen) == _MAX_NAMES:
            break
        try:
            shorter = apply_change(base, AskedChange("remove", "sync", glob.escape(name)))
        except UsageError:
            continue
        if saving_ns(shorter) >= least:
            numbers = {"calls_per_step": count, "wait_us_per_step": waits_ns / 1000}
            chosen.append(Evidence("operator", name, numbers=numbers))
    if not chosen:
        return []
    names = units.join_names([item.name for item in chosen], between=" and ")
    waits_ns = sum(1000 * item.numbers["wait_us_per_step"] for item in chosen)
    often = max(1, round(sum(item.numbers["calls_per_step"] for item in chosen)))
    times = f"{units.count_noun(often, 'times')}{steps.a_step}"
    return steps.loss_findings(
        "synchronisation",
        f"The host waits for the device in {names} ({times}) for {steps.part(waits_ns)}. Nothing "
        "is launched meanwhile, so the device is idle after it.",
        waits_ns,
        chosen,
        {"names": names},
    )


def _waits_in_steps(
    trace: Trace, base: Scenario, played: Played, steps: Steps
) -> Iterator[tuple[str, float, float]]:
    """Calls that wait for results: name, how long a step and how often, the longest first.

    Waits for copies to the device are no waits for results: pinned memory mends them; those of
    collectives are a part of these.
    """
    graph, calls = base.graph, base.graph.points.calls
    waits = np.flatnonzero(device_waits(graph))
    # The program is played from the recording, whose own steps say when a wait came.
    recorded = complete_steps(base.trace)
    waits = waits[recorded.hold(graph.points.time[graph.point[waits]])]
    # A collective of the host waits for what it sends: that is a part of it.
    in_collective = descendant_mask(np.flatnonzero(calls.named(is_collective_call)), calls.size)
    waits = waits[~in_collective[graph.points.call[graph.point[waits]]]]
    if not len(waits):
        return
    outer, is_operator = waiting_calls(trace, base, waits)
    products, _ = operators_around(trace, np.flatnonzero(calls.named(_computes)))
    is_result_wait = ~is_among(outer, _senders(trace, base)) & ~is_among(outer, products)
    waits, outer, is_operator = (
        waits[is_result_wait],
        outer[is_result_wait],
        is_operator[is_result_wait],
    )
    # Outside of operators a benchmark waits at its end, and so does a profiler.
    recurs = is_operator if steps.count < 2 else np.ones(len(outer), dtype=np.bool_)
    waits, outer = waits[recurs], outer[recurs]
    waited = played.node[waits] - played.node[graph.before[waits]]
    code = calls.name[outer]
    total = np.bincount(code, waited, minlength=1) / steps.count
    often = np.bincount(code, minlength=1) / steps.count
    for place in np.argsort(-total, kind="stable").tolist():
        if (
            total[place] > 0
            and calls.names[place]
            and often[place] >= ReplayedLimits.min_waits_per_step
        ):
            yield calls.names[place], float(total[place]), float(often[place])


def _computes(name: str) -> bool:
    """Whether an operator multiplies matrices: it waits for reasons of its library."""
    row = formula_of(name)
    return row is not None and row.family in _PRODUCTS


def _senders(trace: Trace, base: Scenario) -> Ints:
    """Outermost operators that copy something to the device."""
    work = base.graph.work
    sent = device_kinds(trace).among("memcpy")
    sent &= device_names(trace).matching(lambda name: _FROM_HOST in name)
    copies = np.flatnonzero(sent[work.row] & work.launched)
    call = base.graph.points.calls.place[work.call[copies]]
    return operators_around(trace, call[call >= 0])[0]


# -- gaps between queued work ----------------------------------------------------------------------


def without_queue_gaps(scenario: Scenario) -> Scenario:
    """The program if queued work began when its launch and its stream allow, and at once."""
    graph = scenario.graph
    needs, gap, number = graph.needs.copy(), graph.gap.copy(), np.arange(len(graph))
    follows = (graph.activity >= 0) & (graph.before > 0)
    gap[follows] = np.minimum(gap[follows], WhatIfLimits.pace_ns)
    # A start that needed another stream as well stands between the two.
    needs[(graph.point < 0) & (graph.activity < 0) & (number > 0)] = -1
    return replace(scenario, graph=replace(graph, needs=needs, gap=gap))
