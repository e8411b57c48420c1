"""What findings of a run save, by playing the run without what they speak of.

A rule says what time it found; only a replay says what is gained without it, alone and together
with the findings above it.  Rows of the catalogue name the change that mending a finding makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from timesink.analyses.columns import device_columns, device_names, once_per_trace
from timesink.analyses.replay.simulation import recorded_play, step_lengths
from timesink.analyses.replay.what_if import Scenario, changed, parse_change
from timesink.analyses.steps import find_steps
from timesink.analyses.work.efficiency import Efficiency
from timesink.errors import UsageError
from timesink.model.findings import Finding, gravest_first
from timesink.model.trace import Trace
from timesink.rules.efficiency import LEAST_SAVED, ShorterWork, efficiency_findings
from timesink.rules.registry import catalogue
from timesink.rules.single_run import find_all

_NOTICED = 0.005
"""A saving below this share of a step is none."""
_AT_MOST = {"at_most": True}
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
    all_of_it, so_far, told, joint, is_capped = cycle_ns(base), base, [], 0.0, False
    shorter = {}
    for work in below_roofs:
        one = work.finding
        proven = _with_saving(one, _AT_MOST, all_of_it - cycle_ns(_shortened(base, work)), whole)
        if proven.cost_ns >= LEAST_SAVED * whole:
            marked = bool(steps["marked"].any())
            proven = replace(proven, share=proven.cost_ns / whole, marked=marked)
            shorter[id(proven)] = (proven, work)
    for one in gravest_first([*found, *(proven for proven, _ in shorter.values())]):
        said = catalogue()["run"][one.id]
        saved: float | None = one.cost_ns
        if id(one) in shorter:
            proven, work = shorter[id(one)]
            so_far = _shortened(so_far, work)
        else:
            alone, both = (_mended(each, one, said) for each in (base, so_far))
            saved = None if alone is None else all_of_it - cycle_ns(alone)
            proven = _with_saving(one, said, saved, whole)
            so_far = so_far if both is None else both
        is_capped = is_capped or bool(said.get("at_most"))
        if proven.cost_ns:
            # Changes that go further than their finding leave no more than its cost on top.
            most = joint + proven.cost_ns if is_capped or saved is None else whole
            replayed = max(all_of_it - cycle_ns(so_far), joint, proven.cost_ns)
            joint = min(replayed, most, whole)
            proven = replace(proven, together_ns=joint)
        told.append(proven)
    return tuple(told)


def _shortened(scenario: Scenario, work: ShorterWork) -> Scenario:
    """The program with kernels that take no longer than a finding says."""
    left = np.full(device_columns(scenario.trace).height, np.inf)
    left[work.row] = work.left_ns
    length = np.minimum(scenario.length, left[scenario.graph.work.row])
    return replace(scenario, length=length)


def _mended(scenario: Scenario, one: Finding, said: Mapping[str, Any]) -> Scenario | None:
    """The program without what a finding speaks of; None where no change says that."""
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


def _with_saving(
    one: Finding, said: Mapping[str, Any], saved: float | None, whole: float
) -> Finding:
    """A finding with what it saves: what was replayed, and at most what there is."""
    if not one.cost_ns:
        return one
    cost = min(one.cost_ns, whole)
    if saved is not None:
        # Some changes go further than mending the finding would: then they are the most.
        cost = min(cost, saved) if said.get("at_most") else min(saved, whole)
    if saved is not None and cost < _NOTICED * whole:
        sort = "idle" if said.get("time") == "idle" else "work"
        basis = one.gain_basis if one.between_ns else ""
        return replace(one, cost_ns=0.0, gain_basis=basis, why=_IDLE_ANYWAY[sort])
    return replace(one, cost_ns=cost)
