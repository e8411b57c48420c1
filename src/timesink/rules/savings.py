"""What findings of a run save, by playing the run without what they speak of.

A rule says what time it found; only a replay says what is gained without it, alone and together
with the findings above it.  Rows of the catalogue name the change that mending a finding makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from timesink.analyses.columns import device_columns, device_names, once_per_trace
from timesink.analyses.replay.changes import parse_change
from timesink.analyses.replay.graph import recorded_play, step_lengths
from timesink.analyses.replay.what_if import Scenario, changed
from timesink.analyses.steps import find_steps
from timesink.analyses.work.efficiency import Efficiency
from timesink.errors import UsageError
from timesink.model.findings import Finding, gravest_first
from timesink.model.trace import Trace
from timesink.rules.efficiency import LEAST_SAVED, ShorterWork, efficiency_findings
from timesink.rules.registry import catalogue
from timesink.rules.single_run import find_all

_Change: TypeAlias = Callable[[Scenario], Scenario | None]
_NOTICED = 0.005
"""A saving below this share of a step is none."""
_IDLE_ANYWAY = {
    "work": "the host decides how long a step takes, and the device is idle here anyway",
    "idle": "the device decides how long a step takes, and the host waits for it anyway",
}


@once_per_trace
def proven_findings(trace: Trace, efficiency: Efficiency | None = None) -> tuple[Finding, ...]:
    """Everything the rules find in a timeline, with what a replay says that it saves.

    With the roofs of its device, what operators lose against these is among it.
    """
    below_roofs = () if efficiency is None else efficiency_findings(efficiency)
    found = find_all(trace)
    steps = find_steps(trace).filter("complete")
    if steps.is_empty() or not (below_roofs or any(one.cost_ns for one in found)):
        return found
    base = Scenario.of(trace, recorded_play(trace))

    def cycle_ns(one: Scenario) -> float:
        return float(np.mean(step_lengths(steps, one.played())))

    whole = float(np.mean((steps["end_ns"] - steps["start_ns"]).to_numpy()))
    changes: list[tuple[Finding, _Change]] = [(one, partial(_mended, one)) for one in found]
    changes += [(one.finding, partial(_shortened, one)) for one in below_roofs]
    all_of_it, so_far, joint, is_capped = cycle_ns(base), base, 0.0, False
    proven: dict[int, tuple[Finding, _Change, bool]] = {}
    for number, (one, change) in enumerate(changes):
        alone = change(base)
        saved = None if alone is None else all_of_it - cycle_ns(alone)
        told = _with_saving(one, saved, whole, at_most=number >= len(found))
        if number >= len(found):
            if told.cost_ns < LEAST_SAVED * whole:
                continue
            told = replace(told, share=told.cost_ns / whole, marked=bool(steps["marked"].any()))
        proven[id(told)] = told, change, alone is not None
    said = []
    for one in gravest_first(told for told, *_ in proven.values()):
        _, change, is_played = proven[id(one)]
        so_far = change(so_far) or so_far
        is_capped = is_capped or bool(catalogue()["run"][one.id].get("at_most"))
        if one.cost_ns:
            # Changes that go further than their finding leave no more than its cost on top.
            most = whole if is_played and not is_capped else joint + one.cost_ns
            replayed = max(all_of_it - cycle_ns(so_far), joint, one.cost_ns)
            joint = min(replayed, most, whole)
        said.append(replace(one, together_ns=joint) if one.cost_ns else one)
    return tuple(said)


def _shortened(work: ShorterWork, scenario: Scenario) -> Scenario:
    """The program with kernels that take no longer than a finding says."""
    left = np.full(device_columns(scenario.trace).height, np.inf)
    left[work.row] = work.left_ns
    length = np.minimum(scenario.length, left[scenario.graph.work.row])
    return replace(scenario, length=length)


def _mended(one: Finding, scenario: Scenario) -> Scenario | None:
    """The program without what a finding speaks of; None where no change says that."""
    said = catalogue()["run"][one.id]
    if not one.cost_ns or "change" not in said:
        return None
    if "kernels" in said["change"]:
        names = [item.name for item in one.evidence if item.kind == "kernel"]
        mine = device_names(scenario.trace).among(*(one.kernels or names))
        factor = float(said["change"]["kernels"])
        chosen = mine[scenario.graph.work.row]
        return replace(scenario, length=np.where(chosen, scenario.length * factor, scenario.length))
    found = None
    for action, texts in said["change"].items():
        for text in _filled(texts, one):
            try:
                scenario = changed(scenario, parse_change(action, text))
            except UsageError:
                continue
            found = scenario
    return found


def _filled(texts: Iterable[str], one: Finding) -> Iterable[str]:
    """Changes with the names of what the finding shows."""
    for text in texts:
        kind = text[text.find("{") + 1 : text.find("}")] if "{" in text else ""
        if not kind:
            yield text
        else:
            names = [item.name for item in one.evidence if item.kind == kind]
            yield from (text.replace(f"{{{kind}}}", name) for name in dict.fromkeys(names))


def _with_saving(one: Finding, saved: float | None, whole: float, *, at_most: bool) -> Finding:
    """A finding with what it saves: what was replayed, and at most what there is."""
    if not one.cost_ns:
        return one
    said, cost = catalogue()["run"][one.id], min(one.cost_ns, whole)
    if saved is not None:
        # Some changes go further than mending the finding would: then they are the most.
        cost = min(cost, saved) if at_most or said.get("at_most") else min(saved, whole)
    if saved is not None and cost < _NOTICED * whole:
        sort = "idle" if said.get("time") == "idle" else "work"
        basis = one.gain_basis if one.between_ns else ""
        return replace(one, cost_ns=0.0, gain_basis=basis, why=_IDLE_ANYWAY[sort])
    return replace(one, cost_ns=cost)
