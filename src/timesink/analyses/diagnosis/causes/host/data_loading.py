"""Cycles that wait longer for their data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import (
    HOST_PARTS,
    Claim,
    Demand,
    Interval,
    change,
    is_certain,
)
from timesink.analyses.diagnosis.causes.claims.evidence import (
    by_change,
    cycle_evidence,
    time_evidence,
)
from timesink.analyses.statistics.moments import Floats, moments
from timesink.analyses.statistics.welch import welch_interval

_CLEARLY = 0.25
"""Part by which waiting must grow beyond what it was."""
_SHOWN = 3
_READING = frozenset({"disk_io", "host_memory"})
_PROCESSORS = frozenset({"cpu_contention", "cpu_clock"})


_OFTEN = 5
"""Cycles that wait longer than any did before, of which as many would hardly be chance."""


def _change(base: Floats, new: Floats) -> tuple[float, Interval | None]:
    """Change of the waiting and its interval.

    A loader that is too slow holds up cycles now and then, whenever what it had ready is used up.
    Where many of them wait longer than any did before, that they are uneven is how it shows.
    """
    rise, interval = change(base, new)
    if is_certain(interval) or (new > base.max()).sum() < _OFTEN:
        return rise, interval
    before, after = (moments(np.zeros(len(side), dtype=np.int64), side, 1) for side in (base, new))
    return rise, welch_interval(before, after)


def _is_starved(case: Case, rise: float) -> bool:
    """Whether the loader waits for something that is known to be scarce: that is the cause then.

    Its workers need processors as the process does, which gains more where these are scarce, and
    waits for a core itself; and a loader is what reads from a disk.
    """
    odd = {each.cause for each in case.anomalies}
    if odd & _READING:
        return True
    waits = [part for part in case.attribution if part.part == "run_queue"]
    if any(is_certain(part.interval_ns) and part.delta_ns > rise for part in waits):
        return True
    host = sum(part.delta_ns for part in case.attribution if part.part in HOST_PARTS)
    return bool(odd & _PROCESSORS) and host > rise


def data_loading(case: Case) -> Iterator[Claim]:
    """Time in the data loader that grew."""
    base, new = (side.times_of("data_loading") for side in (case.base, case.new))
    if not len(base) or not len(new):
        return
    rise, interval = _change(base, new)
    if rise < max(case.least_ns, _CLEARLY * float(base.mean())) or _is_starved(case, rise):
        return
    loaders = case.functions.where(pl.col("part") == "data_loading")
    took = case.times(float(base.mean()), float(new.mean()))
    evidence = [time_evidence(case, each) for each in by_change(case.functions, loaders)[:_SHOWN]]
    cycle = cycle_evidence(case.new, new)
    yield Claim(
        "data_loading",
        (Demand(rise, ("data_loading",)),),
        interval,
        f"Cycles wait {took} for the data loader.",
        "Check the storage and the transforms of the data set, and give the loader more workers or "
        "let it prefetch more.",
        tuple(evidence if cycle is None else [*evidence, cycle]),
    )
