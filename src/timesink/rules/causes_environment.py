"""Causes around the process: resources that are less there, or there again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from timesink.model import units as amounts
from timesink.model.arrays import Floats
from timesink.model.findings import Evidence, Finding
from timesink.rules.case import DiagnosisCase, both_ways, by_change
from timesink.rules.case_functions import on_host, waits
from timesink.rules.causes_device import only_swapped
from timesink.rules.counter_names import resource_of
from timesink.rules.ledger import Claim, Demand, change, is_certain
from timesink.rules.pace import slowdown
from timesink.rules.registry import catalogue

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
_SHOWN = 3


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
        known = len(self.base) and len(self.new)
        return float(self.new.mean() - self.base.mean()) if known else 0.0


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
        claim = _claim(case, anomaly, growths, limit)
        if claim is not None:
            whole = not np.isfinite(limit)
            columns = tuple(column for each in growths for column in each.columns) if whole else ()
            yield replace(claim, columns=columns)


@both_ways
def host_environment(case: DiagnosisCase) -> Iterator[Claim]:
    """Anomalies of the host: parts in which it works, waits its turn or reads."""
    for anomaly in case.anomalies:
        parts = _HOST_PARTS.get(anomaly.cause)
        if parts is None:
            continue
        growths = [_Growth(*case.both(part), part) for part in parts]
        growths = [each for each in growths if each.rise_ns > 0]
        claim = _claim(case, anomaly, growths, _limit(anomaly, growths))
        if claim is not None:
            yield claim


def _device_growths(case: DiagnosisCase, anomaly: Finding) -> Iterator[_Growth]:
    """What the anomaly acts on, without functions that another one explains already."""
    taken = {column for claim in case.settled for column in claim.columns}
    free = ~np.isin(np.arange(case.functions.table.height), list(taken))
    if anomaly.cause in _COMPUTING:
        yield from _kernels(case, anomaly, free)
    if anomaly.cause in _SHARED:
        yield from _copies_and_waits(case, anomaly, free)
    if anomaly.cause in _LINKS:
        yield _Growth(*case.both(_TALKING), _TALKING)


def _kernels(case: DiagnosisCase, anomaly: Finding, free: np.ndarray) -> Iterator[_Growth]:
    """Kernels launched equally often, or for which others were chosen, family by family."""
    functions = case.functions
    equal = free & functions.where(
        pl.col("part") == "device_compute", pl.col("device") == anomaly.device
    )
    if not only_swapped(functions):
        equal &= functions.called_equally
    for family in functions.table["family"].drop_nulls().unique().sort():
        which = equal & functions.where(pl.col("family") == family)
        yield from _growth(case, which, f"device_compute/{family}")


def _copies_and_waits(case: DiagnosisCase, anomaly: Finding, free: np.ndarray) -> Iterator[_Growth]:
    """Copies, and calls of the host that wait for them or the device beyond the host's pace."""
    functions = case.functions
    free = free & functions.called_equally
    copies = functions.where(pl.col("part") == "copies", pl.col("device") == anomaly.device)
    yield from _growth(case, free & copies, "copies")
    host = functions.where(on_host()) & functions.called_equally
    pace = max(1.0, slowdown(functions.base, functions.new, host & functions.where(~waits())))
    copying = free & host & functions.where(pl.col("function_class") == "cpu_copy")
    yield from _growth(case, copying, "launch_gap", pace)
    # The rest of the time in these calls is that of the work they wait for.
    waiting = free & host & functions.where(pl.col("function_class") == "cpu_sync")
    if waiting.any():
        shown = tuple(by_change(functions, waiting))
        yield _Growth(*case.both("synchronisation"), "synchronisation", shown)


def _growth(
    case: DiagnosisCase, which: np.ndarray, component: str, pace: float = 1.0
) -> Iterator[_Growth]:
    if which.any():
        functions = case.functions
        base, new = (side[:, which].sum(axis=1) for side in (functions.base, functions.new))
        yield _Growth(pace * base, new, component, tuple(by_change(functions, which)))


def _limit(anomaly: Finding, growths: list[_Growth]) -> float:
    """The most that a resource can have cost: work takes longer as the clock goes down."""
    base = float(sum(each.base.mean() for each in growths if len(each.base)))
    if resource_of(anomaly.metric).resource in _CLOCKS and anomaly.new > 0:
        return base * max(0.0, anomaly.base / anomaly.new - 1)
    return np.inf


def _claim(
    case: DiagnosisCase, anomaly: Finding, growths: list[_Growth], limit: float
) -> Claim | None:
    rising = [each for each in growths if each.rise_ns > 0]
    if not rising:
        return None
    if not is_certain(change(*_together(rising))[1]):
        # Only what rises beyond noise: how the pace of a host wanders must not hide that its
        # threads wait for a core.
        sure = [each for each in rising if is_certain(change(each.base, each.new)[1])]
        rising = sure or rising
    base, new = _together(rising)
    rise, interval = change(base, new)
    share = min(1.0, limit / rise)
    if interval is not None:
        interval = interval[0] * share, interval[1] * share
    before, after = case.functions.times
    columns = [column for each in rising for column in each.columns]
    columns.sort(key=lambda each: -(after[each] - before[each]))
    said = anomaly
    if case.backwards:
        said = replace(
            anomaly, sentence=relief_sentence(anomaly), advice=_texts("relieved")["advice"]
        )
    finding = Finding(
        anomaly.id,
        f"{said.sentence} {_meanwhile(case, rising, base, new)}",
        said.advice,
        interval_ns=interval,
        evidence=(_counter(case, anomaly), *case.evidence(columns[:_SHOWN], new)),
        device=anomaly.device,
    )
    return Claim(finding, tuple(Demand(share * each.rise_ns, (each.component,)) for each in rising))


def _together(growths: list[_Growth]) -> tuple[Floats, Floats]:
    base, new = (
        np.sum(side, axis=0) for side in zip(*((g.base, g.new) for g in growths), strict=True)
    )
    return base, new


def _meanwhile(case: DiagnosisCase, growths: list[_Growth], base: Floats, new: Floats) -> str:
    """What takes longer, in words."""
    order = sorted(growths, key=lambda each: -each.rise_ns)
    parts = list(dict.fromkeys(each.component.partition("/")[0] for each in order))[:_SHOWN]
    *most, last = (catalogue()["parts"][part]["longer"] for part in parts)
    what = f"{', '.join(most)} and {last}" if most else last
    took = case.times(float(base.mean()), float(new.mean()))
    return f"Meanwhile {what} took {took} per cycle."


def relief_sentence(anomaly: Finding) -> str:
    """What became of an anomaly of the first run, which is told as seen from the second."""
    told = _texts(anomaly.id)["relief"].format(device=anomaly.device)
    amount = amounts.amounts(anomaly.new, anomaly.base, anomaly.unit)
    return f"{told}: {anomaly.metric} {amount}."


def _texts(cause: str) -> Mapping[str, str]:
    return catalogue()["causes"][cause]


def _counter(case: DiagnosisCase, anomaly: Finding) -> Evidence:
    """The counter that an anomaly is about; in words in the order in which the runs were given."""
    levels = anomaly.base, anomaly.new
    told = amounts.amounts(*(levels[::-1] if case.backwards else levels), anomaly.unit)
    return Evidence(
        "counter",
        f"{anomaly.metric} of {anomaly.device}: {told}",
        device=anomaly.device,
        metric=anomaly.metric,
        unit=anomaly.unit,
        base=anomaly.base,
        new=anomaly.new,
    )
