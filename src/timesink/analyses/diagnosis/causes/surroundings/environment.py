"""Resources that are less there, and the parts of the cycle that use them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from timesink.analyses.diagnosis.anomalies.resources import resource_of
from timesink.analyses.diagnosis.causes.calls.functions import on_host, waits
from timesink.analyses.diagnosis.causes.calls.typical import slowdown
from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import Claim, Demand, change, is_certain
from timesink.analyses.diagnosis.causes.claims.evidence import (
    by_change,
    counter_evidence,
    cycle_evidence,
    time_evidence,
)
from timesink.analyses.diagnosis.causes.device.changed_families import only_swapped
from timesink.analyses.diagnosis.causes.surroundings import relief
from timesink.analyses.diagnosis.diagnosis import Anomaly, Evidence
from timesink.analyses.statistics.moments import Floats

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
_LINKS = {"nvlink_contention": ("exposed_communication",), "network": ("exposed_communication",)}
_SHOWN = 3


@dataclass(frozen=True, slots=True, eq=False)
class _Growth:
    """Time that an anomaly may explain."""

    base: Floats
    """Per cycle; what it would be had only the pace of its neighbours changed."""
    new: Floats
    components: tuple[str, ...]
    columns: tuple[int, ...] = ()
    """Functions behind it."""

    @property
    def rise_ns(self) -> float:
        """What it gained on average."""
        known = len(self.base) and len(self.new)
        return float(self.new.mean() - self.base.mean()) if known else 0.0


def device_environment(case: Case) -> Iterator[Claim]:
    """Anomalies of devices and links: kernels, copies and waits that grew for equal calls."""
    for anomaly in case.anomalies:
        if anomaly.cause in _HOST_PARTS:
            continue
        growths = list(_device_growths(case, anomaly))
        limit = min(_limit(anomaly, growths), _link_limit(case, anomaly))
        claim = _claim(case, anomaly, growths, limit)
        if claim is not None:
            whole = not np.isfinite(limit)
            columns = tuple(column for each in growths for column in each.columns) if whole else ()
            yield replace(claim, columns=columns)


def host_environment(case: Case) -> Iterator[Claim]:
    """Anomalies of the host: parts in which it works, waits its turn or reads."""
    for anomaly in case.anomalies:
        parts = _HOST_PARTS.get(anomaly.cause)
        if parts is None:
            continue
        growths = [
            _Growth(case.base.times_of(part), case.new.times_of(part), (part,)) for part in parts
        ]
        growths = [each for each in growths if each.rise_ns > 0]
        claim = _claim(case, anomaly, growths, _limit(anomaly, growths))
        if claim is not None:
            yield claim


def _device_growths(case: Case, anomaly: Anomaly) -> Iterator[_Growth]:
    """What the anomaly acts on, without functions that another one explains already."""
    taken = {column for claim in case.settled for column in claim.columns}
    free = ~np.isin(np.arange(case.functions.table.height), list(taken))
    if anomaly.cause in _COMPUTING:
        yield from _kernels(case, anomaly, free)
    if anomaly.cause in _SHARED:
        yield from _copies(case, anomaly, free)
        yield from _waits(case, free)
    for part in _LINKS.get(anomaly.cause, ()):
        yield _Growth(case.base.times_of(part), case.new.times_of(part), (part,))


def _kernels(case: Case, anomaly: Anomaly, free: np.ndarray) -> Iterator[_Growth]:
    """Kernels launched equally often, or for which others were chosen, family by family."""
    functions = case.functions
    equal = functions.where(pl.col("part") == "device_compute", _is_there(anomaly))
    if not only_swapped(functions):
        equal &= functions.called_equally
    for family in functions.table["family"].drop_nulls().unique().sort():
        which = free & equal & functions.where(pl.col("family") == family)
        if which.any():
            yield _growth(case, which, (f"device_compute/{family}",))


def _copies(case: Case, anomaly: Anomaly, free: np.ndarray) -> Iterator[_Growth]:
    functions = case.functions
    which = (
        free
        & functions.called_equally
        & functions.where(pl.col("part") == "copies", _is_there(anomaly))
    )
    if which.any():
        yield _growth(case, which, ("copies",))


def _waits(case: Case, free: np.ndarray) -> Iterator[_Growth]:
    """Calls of the host that wait for copies or for the device, beyond the pace of the host."""
    functions = case.functions
    equal = functions.called_equally & functions.where(on_host())
    pace = max(1.0, slowdown(functions.base, functions.new, equal & functions.where(~waits())))
    copying = free & equal & functions.where(pl.col("function_class") == "cpu_copy")
    if copying.any():
        yield _growth(case, copying, ("launch_gap",), pace)
    # The rest of the time in these calls is that of the work they wait for.
    waiting = free & equal & functions.where(pl.col("function_class") == "cpu_sync")
    if waiting.any():
        alone = [side.times_of("synchronisation") for side in (case.base, case.new)]
        shown = tuple(by_change(functions, waiting))
        yield _Growth(alone[0], alone[1], ("synchronisation",), shown)


def _is_there(anomaly: Anomaly) -> pl.Expr:
    return pl.col("device") == anomaly.device


def _growth(
    case: Case, which: np.ndarray, components: tuple[str, ...], pace: float = 1.0
) -> _Growth:
    functions = case.functions
    return _Growth(
        pace * functions.base[:, which].sum(axis=1),
        functions.new[:, which].sum(axis=1),
        components,
        tuple(by_change(functions, which)),
    )


def _limit(anomaly: Anomaly, growths: list[_Growth]) -> float:
    """The most that a resource can have cost: work takes longer as the clock goes down."""
    base = float(sum(each.base.mean() for each in growths if len(each.base)))
    if resource_of(anomaly.metric).resource in _CLOCKS and anomaly.new > 0:
        return base * max(0.0, anomaly.base / anomaly.new - 1)
    return np.inf


def _link_limit(case: Case, anomaly: Anomaly) -> float:
    """What of longer communication may be the link: it may as well be waiting for others.

    Waiting that only moved from one process to another leaves the cycle as long as it was.
    """
    if anomaly.cause not in _LINKS:
        return np.inf
    return max(0.0, sum(part.delta_ns for part in case.attribution))


def _claim(case: Case, anomaly: Anomaly, growths: list[_Growth], limit: float) -> Claim | None:
    rising = _told_apart([each for each in growths if each.rise_ns > 0])
    if not rising:
        return None
    base, new = _together(rising)
    rise, interval = change(base, new)
    share = min(1.0, limit / rise)
    if interval is not None:
        interval = interval[0] * share, interval[1] * share
    return Claim(
        anomaly.cause,
        tuple(Demand(share * each.rise_ns, each.components) for each in rising),
        interval,
        f"{_told(case, anomaly)} {_acting(case, rising, base, new)}",
        relief.ADVICE if case.backwards else anomaly.advice,
        (counter_evidence(case, anomaly), *_evidence(case, rising, new)),
        device=anomaly.device,
    )


def _told_apart(rising: list[_Growth]) -> list[_Growth]:
    """All that rises; only what does so beyond noise where all of it together does not.

    How the pace of a host wanders must not hide that its threads wait for a core.
    """
    if not rising or is_certain(change(*_together(rising))[1]):
        return rising
    return [each for each in rising if is_certain(change(each.base, each.new)[1])] or rising


def _together(growths: list[_Growth]) -> tuple[Floats, Floats]:
    base, new = (np.sum([getattr(each, side) for each in growths], axis=0) for side in _SIDES)
    return base, new


def _told(case: Case, anomaly: Anomaly) -> str:
    return relief.relief_sentence(anomaly) if case.backwards else anomaly.sentence


_SIDES = ("base", "new")
_WORDS = {
    "device_compute": "kernels launched as often as before",
    "copies": "copies",
    "synchronisation": "waits for the device",
    "launch_gap": "calls of the runtime",
    "exposed_communication": "communication that nothing hides",
    "run_queue": "waiting for a processor",
    "host_cpu": "the calls of the host",
    "idle": "time outside of calls",
    "io": "reading and writing",
    "data_loading": "loading data",
}


def _acting(case: Case, growths: list[_Growth], base: Floats, new: Floats) -> str:
    """What takes longer, in words."""
    order = sorted(growths, key=lambda each: -each.rise_ns)
    parts = list(dict.fromkeys(each.components[0].partition("/")[0] for each in order))
    told = [_WORDS[part] for part in parts[:_SHOWN]]
    took = case.times(float(base.mean()), float(new.mean()))
    *most, last = told
    what = f"{', '.join(most)} and {last}" if most else last
    return f"Meanwhile {what} took {took} per cycle."


def _evidence(case: Case, growths: list[_Growth], new: Floats) -> Iterator[Evidence]:
    base_ns, new_ns = case.functions.times
    columns = [column for each in growths for column in each.columns]
    columns.sort(key=lambda each: -(new_ns[each] - base_ns[each]))
    for column in columns[:_SHOWN]:
        yield time_evidence(case, column)
    if (cycle := cycle_evidence(case.new, new)) is not None:
        yield cycle
