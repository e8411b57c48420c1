"""What is different in the environment of two runs, each resource of each device once.

Anomalies are resources that are less there than they were, and causes of a change by the time that
what they act on gained: kernels, copies, parts of the host.  Asked with the sides changed over,
the same rules tell of what is there again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.analyses.statistics.significance import ALPHA
from timesink.comparison.causes.case import (
    Claim,
    Demand,
    DiagnosisCase,
    both_ways,
    by_change,
    change,
    is_certain,
)
from timesink.comparison.causes.case_functions import on_host, slowdown, waits
from timesink.comparison.causes.counter_levels import (
    CounterReading,
    adjust_p_values,
    chances,
    derived_readings,
    harmful_chances,
    readings,
    without_impossible,
)
from timesink.comparison.causes.device import only_swapped
from timesink.comparison.causes.resource_load import Context, capacity, ground, of_others, severity
from timesink.comparison.results import Pair
from timesink.model import units
from timesink.model.findings import Evidence, Finding
from timesink.model.intervals import Floats
from timesink.model.vendors import is_gpu
from timesink.rules.counter_names import resource_of
from timesink.rules.register import catalogue, rules_for

_NOTABLE = 0.02
"""Own load is told where it is this part of what was counted."""
_MIN_PART = 0.2
"""Part of the larger level by which a symptom changes at least ..."""
_MIN_CHANGE = {"%": 5.0, "% of a core": 20.0, "C": 10.0, "B/s": 1e9}
"""... and by this much, in units that have a scale."""
_SYMPTOM_ROLES = ("symptom", "context", "exogenous")


@dataclass(frozen=True, slots=True, eq=False)
class Suspect:
    """A counter that moved in its harmful direction, before it is believed."""

    cause: str
    reading: CounterReading
    """As counted."""
    external: CounterReading
    """Without the load of the process itself."""
    severity: float
    q_value: float
    capacity: float | None = None
    evidence: tuple[Evidence, ...] = ()
    """What else speaks for it."""
    refuted: str | None = None
    """Why it is not believed, as the end of a sentence; None while nothing speaks against it."""
    after: tuple[str, ...] = ()
    """Causes on the same device that it follows from, and after which it is told."""

    @property
    def device(self) -> str:
        return self.reading.device

    @property
    def resource(self) -> str:
        return self.reading.resource.resource


def find_anomalies(
    pair: Pair, base: Anatomy, new: Anatomy
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Resources that are less there for the process than they were, most severe first.

    Counters of what the process itself does, and those that another one or the trace speaks
    against, are symptoms.  Values that cannot be are left out: `impossible_levels` tells of them.
    """
    base, new = without_impossible(base), without_impossible(new)
    counter_readings = readings(pair, base, new)
    counter_readings += derived_readings(pair, counter_readings)
    context = Context(pair, base, new, counter_readings)
    suspects = _suspects(context)
    for check in rules_for("environment"):
        suspects = check(suspects, context)
    believed = [suspect for suspect in suspects if suspect.refuted is None]
    anomalies = tuple(_anomaly(group, context) for group in _rank_suspects(believed))
    refuted = [suspect for suspect in suspects if suspect.refuted is not None]
    return anomalies, _symptoms(counter_readings, refuted, believed)


def _suspects(context: Context) -> list[Suspect]:
    """Counters of shared resources that moved in their harmful direction, by enough to matter."""
    counted = [reading for reading in context.readings if reading.resource.role == "exogenous"]
    external_readings = [of_others(reading, context) for reading in counted]
    grounds = [ground(reading, context) for reading in external_readings]
    q_values = adjust_p_values(harmful_chances(external_readings, grounds)).tolist()
    suspects = []
    for reading, rest, q in zip(counted, external_readings, q_values, strict=True):
        lost, least = severity(rest, context), reading.resource.hurts_from
        high = least is None or reading.new_mean >= least
        if high and q < ALPHA and lost >= reading.resource.floor:
            suspects.append(
                Suspect(reading.resource.cause, reading, rest, lost, q, capacity(reading, context))
            )
    return suspects


def _rank_suspects(suspects: Iterable[Suspect]) -> list[list[Suspect]]:
    """Suspects of one cause on one device together; most severe first, and effects after causes."""
    groups: dict[tuple[str, str], list[Suspect]] = {}
    for suspect in sorted(
        suspects,
        key=lambda suspect: (
            -suspect.severity,
            suspect.cause,
            suspect.device,
            suspect.reading.metric,
        ),
    ):
        groups.setdefault((suspect.cause, suspect.device), []).append(suspect)
    done: list[list[Suspect]] = []
    while groups:
        # What follows from another one waits for it, unless both wait for each other.
        ready = next(iter(groups))
        for key, group in groups.items():
            behind = {(cause, key[1]) for suspect in group for cause in suspect.after} - {key}
            if behind.isdisjoint(groups):
                ready = key
                break
        done.append(groups.pop(ready))
    return done


def _anomaly(group: Sequence[Suspect], context: Context) -> Finding:
    """The strongest of several counters that tell the same, with the others as evidence."""
    first = group[0]
    reading, texts = first.reading, catalogue()["causes"][first.cause]
    base, new, unit = reading.base_mean, reading.new_mean, reading.unit
    external_mean = first.external.new_mean
    # What others have of it, where that is another number.
    is_partial = new > 0 and new - external_mean >= _NOTABLE * new
    limit = first.capacity
    proofs = [counter_evidence(suspect.reading, context) for suspect in group]
    proofs += [proof for suspect in group for proof in suspect.evidence]
    proof_by_text: dict[str, Evidence] = {}
    for proof in proofs:
        proof_by_text.setdefault(proof.text, proof)
    return Finding(
        first.cause,
        texts["sentence"].format(
            device=first.device,
            metric=reading.metric,
            amounts=units.amounts(base, new, unit),
            change=units.change(base, new),
            own=f", {units.amount(external_mean, unit)} of it by others" if is_partial else "",
            capacity="" if limit is None else f", of {units.amount(limit, unit)} it can carry",
        ),
        texts["advice" if is_gpu(first.device) or "plain" not in texts else "plain"],
        share=first.severity,
        evidence=tuple(proof_by_text.values()),
        q_value=first.q_value,
        **reading.levels,
    )


def counter_evidence(reading: CounterReading, context: Context | None = None) -> Evidence:
    """A counter on both sides; with a context, also the cycle that shows it best."""
    when: dict[str, Any] = {}
    if context is not None and len(reading.cycles) and len(reading.cycles) == len(reading.new):
        # The cycle of NEW in which it is farthest in the harmful direction.
        farthest = np.argmin if reading.resource.harm == "down" else np.argmax
        cycle = int(reading.cycles[int(farthest(reading.new))])
        start, end = context.new.span(cycle)
        when = {"side": "new", "cycle": cycle, "start_ns": start, "end_ns": end}
    text = f"{reading.metric} of {reading.device}: {reading.change}"
    return Evidence("counter", text, **reading.levels, **when)


def _symptoms(
    counter_readings: Sequence[CounterReading],
    refuted: Sequence[Suspect],
    believed: Sequence[Suspect],
) -> tuple[Finding, ...]:
    """Counters that changed and explain nothing: the process's own use, and what was not believed.

    Those that were suspected first, then the others by how much they changed.
    """
    suspected = {_key(suspect.reading) for suspect in (*refuted, *believed)}
    candidates = [
        reading
        for reading in counter_readings
        if reading.resource.role in _SYMPTOM_ROLES and _key(reading) not in suspected
    ]
    moved = []
    for reading, q in zip(candidates, adjust_p_values(chances(candidates)), strict=True):
        largest = max(abs(reading.base_mean), abs(reading.new_mean))
        part = abs(reading.rise) / largest if largest else 0.0
        is_large = part >= _MIN_PART and abs(reading.rise) >= _MIN_CHANGE.get(reading.unit, 0.0)
        if q < ALPHA and is_large:
            moved.append((-part, _key(reading), reading))
    moved.sort(key=lambda entry: entry[:2])
    first = (_symptom(suspect.reading, suspect.refuted) for suspect in refuted)
    return (*first, *(_symptom(reading) for _, _, reading in moved))


def _key(reading: CounterReading) -> tuple[str, str]:
    return reading.device, reading.metric


def _symptom(reading: CounterReading, refuted: str | None = None) -> Finding:
    """That a counter changed, and why that is no reason."""
    because = f"; no anomaly: {refuted}." if refuted else "."
    sentence = f"{reading.metric} of {reading.device} changed {reading.change}{because}"
    return Finding("symptom", sentence, why=refuted, **reading.levels)


# -- causes: what a resource explains that is less there, or there again ---------------------------


_CLOCKS = frozenset({"device_clock", "memory_clock", "host_clock"})
_COMPUTING = frozenset(
    {"gpu_clock", "gpu_power_cap", "gpu_thermal", "gpu_contention", "hbm_contention"}
)
_SHARED = frozenset({"gpu_contention", "hbm_contention", "pcie_contention"})
_HOST_PARTS = {
    "cpu_contention": ("run_queue", "host_cpu", "launch_gap", "idle", "data_loading"),
    "cpu_clock": ("host_cpu", "launch_gap", "idle", "data_loading"),
    "host_memory": ("io", "data_loading", "host_cpu", "idle"),
    "disk_io": ("io", "data_loading", "idle"),
}
_LINKS, _TALKING = frozenset({"nvlink_contention", "network"}), "exposed_communication"
_MAX_LISTED = 3


@dataclass(frozen=True, slots=True, eq=False)
class _Growth:
    """Time that an anomaly may explain."""

    base: Floats
    """Per cycle; what it would be had only the pace of its neighbours changed."""
    new: Floats
    component: str
    columns: tuple[int, ...] = ()
    """Functions behind it."""

    @property
    def rise_ns(self) -> float:
        """What it gained on average."""
        has_both = len(self.base) and len(self.new)
        return float(self.new.mean() - self.base.mean()) if has_both else 0.0


@both_ways
def device_environment(case: DiagnosisCase) -> Iterator[Claim]:
    """Anomalies of devices and links: kernels, copies and waits that grew for equal calls."""
    for anomaly in case.anomalies:
        if anomaly.cause in _HOST_PARTS:
            continue
        growths = list(_device_growths(case, anomaly))
        limit = _limit(anomaly, growths)
        if anomaly.cause in _LINKS:
            # It may as well be waiting for others; waiting that only moved from one process to
            # another leaves the cycle as long as it was.
            limit = min(limit, max(0.0, sum(part.delta_ns for part in case.attribution)))
        is_unlimited = not np.isfinite(limit)
        columns = (
            tuple(column for growth in growths for column in growth.columns) if is_unlimited else ()
        )
        yield from _claims(case, anomaly, growths, limit, columns)


@both_ways
def host_environment(case: DiagnosisCase) -> Iterator[Claim]:
    """Anomalies of the host: parts in which it works, waits its turn or reads."""
    for anomaly in case.anomalies:
        parts = _HOST_PARTS.get(anomaly.cause, ())
        growths = [_Growth(*case.both(part), part) for part in parts]
        growths = [growth for growth in growths if growth.rise_ns > 0]
        yield from _claims(case, anomaly, growths, _limit(anomaly, growths))


def _device_growths(case: DiagnosisCase, anomaly: Finding) -> Iterator[_Growth]:
    """What the anomaly acts on, without functions that another one explains already."""
    functions, device = case.functions, pl.col("device") == anomaly.device
    taken = {column for claim in case.settled for column in claim.columns}
    free = ~np.isin(np.arange(functions.table.height), list(taken))
    equal = functions.called_equally
    if anomaly.cause in _COMPUTING:
        # Kernels launched equally often, or for which others were chosen, family by family.
        kernels = free & functions.where(pl.col("part") == "device_compute", device)
        kernels &= only_swapped(functions) | equal
        for family in functions.table["family"].drop_nulls().unique().sort():
            which = kernels & functions.where(pl.col("family") == family)
            yield from _growth(case, which, f"device_compute/{family}")
    if anomaly.cause in _SHARED:
        # Copies, and calls of the host that wait for them or the device beyond the host's pace.
        copies = free & equal & functions.where(pl.col("part") == "copies", device)
        yield from _growth(case, copies, "copies")
        host = equal & functions.where(on_host())
        pace = max(1.0, slowdown(functions.base, functions.new, host & functions.where(~waits())))
        copying, waiting = (
            free & host & functions.where(pl.col("function_class") == kind)
            for kind in ("cpu_copy", "cpu_sync")
        )
        yield from _growth(case, copying, "launch_gap", pace)
        # The rest of the time in these calls is that of the work they wait for.
        if waiting.any():
            columns = tuple(by_change(functions, waiting))
            yield _Growth(*case.both("synchronisation"), "synchronisation", columns)
    if anomaly.cause in _LINKS:
        yield _Growth(*case.both(_TALKING), _TALKING)


def _growth(
    case: DiagnosisCase, which: np.ndarray, component: str, pace: float = 1.0
) -> Iterator[_Growth]:
    if which.any():
        functions = case.functions
        base, new = (side[:, which].sum(axis=1) for side in (functions.base, functions.new))
        yield _Growth(pace * base, new, component, tuple(by_change(functions, which)))


def _limit(anomaly: Finding, growths: list[_Growth]) -> float:
    """The most that a resource can have cost: work takes longer as the clock goes down."""
    base = float(sum(growth.base.mean() for growth in growths if len(growth.base)))
    if resource_of(anomaly.metric).resource in _CLOCKS and anomaly.new > 0:
        return base * max(0.0, anomaly.base / anomaly.new - 1)
    return np.inf


def _claims(
    case: DiagnosisCase,
    anomaly: Finding,
    growths: list[_Growth],
    limit: float,
    columns: tuple[int, ...] = (),
) -> Iterator[Claim]:
    """That the anomaly explains what rose, if anything did."""
    rising = [growth for growth in growths if growth.rise_ns > 0]
    if not rising:
        return
    if not is_certain(change(*_together(rising))[1]):
        # Only what rises beyond noise: how the pace of a host wanders must not hide that its
        # threads wait for a core.
        sure = [growth for growth in rising if is_certain(change(growth.base, growth.new)[1])]
        rising = sure or rising
    base, new = _together(rising)
    rise, interval = change(base, new)
    share = min(1.0, limit / rise)
    if interval is not None:
        interval = interval[0] * share, interval[1] * share
    before, after = case.functions.times
    rising_columns = [column for growth in rising for column in growth.columns]
    rising_columns.sort(key=lambda column: -(after[column] - before[column]))
    sentence, advice, levels = anomaly.sentence, anomaly.advice, (anomaly.base, anomaly.new)
    if case.backwards:
        sentence, levels = relief_sentence(anomaly), levels[::-1]
        advice = catalogue()["causes"]["relieved"]["advice"]
    # In the order in which the runs were given.
    level_text = units.amounts(*levels, anomaly.unit)
    seen = {name: getattr(anomaly, name) for name in ("device", "metric", "unit", "base", "new")}
    counter = Evidence("counter", f"{anomaly.metric} of {anomaly.device}: {level_text}", **seen)
    order = sorted(rising, key=lambda growth: -growth.rise_ns)
    parts = list(dict.fromkeys(growth.component.partition("/")[0] for growth in order))[
        :_MAX_LISTED
    ]
    *most, last = (catalogue()["parts"][part]["longer"] for part in parts)
    what = f"{', '.join(most)} and {last}" if most else last
    took = case.times(float(base.mean()), float(new.mean()))
    finding = Finding(
        anomaly.id,
        f"{sentence} Meanwhile {what} took {took} per step.",
        advice,
        interval_ns=interval,
        evidence=(counter, *case.evidence(rising_columns[:_MAX_LISTED], new)),
        device=anomaly.device,
    )
    demands = tuple(Demand(share * growth.rise_ns, (growth.component,)) for growth in rising)
    yield Claim(finding, demands, columns=columns)


def _together(growths: list[_Growth]) -> tuple[Floats, Floats]:
    base, new = (
        np.sum(side, axis=0) for side in zip(*((g.base, g.new) for g in growths), strict=True)
    )
    return base, new


def relief_sentence(anomaly: Finding) -> str:
    """What became of an anomaly of the first run, which is told as seen from the second."""
    relief = catalogue()["causes"][anomaly.id]["relief"].format(device=anomaly.device)
    amount = units.amounts(anomaly.new, anomaly.base, anomaly.unit)
    return f"{relief}: {anomaly.metric} {amount}."
