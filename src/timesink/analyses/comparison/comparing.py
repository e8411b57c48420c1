"""Two roles beside each other, with all that is known about how they differ."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from timesink.analyses.comparison.common_units import with_common_units
from timesink.analyses.comparison.cycle_times import cycle_times
from timesink.analyses.comparison.devices import with_matching_devices
from timesink.analyses.comparison.equal_work import with_equal_work
from timesink.analyses.comparison.families import family_rows
from timesink.analyses.comparison.findings import key_findings
from timesink.analyses.comparison.pair import Pair, Workload
from timesink.analyses.comparison.role import Role
from timesink.analyses.comparison.rows import comparison_rows
from timesink.analyses.comparison.times import time_rows
from timesink.analyses.comparison.workload import check_workload


def compare_roles(base: Role, new: Role, kind: str) -> Pair:
    """The pair of two roles; `kind` is one of `pair.KINDS`.

    Devices and units that only differ in name are brought together first.  Where the cycles of both
    sides do not hold the same work, the pair has a second one in it, of cycles put together until
    they do, if that is possible.
    """
    base, new, unlike_units = with_common_units(base, new)
    matched = with_matching_devices(base, new)
    workload = check_workload(matched.base, matched.new)
    remarks = [*unlike_units, *([matched.note] if matched.note else [])]
    pair = _pair(
        matched.base,
        matched.new,
        kind,
        replace(workload, reasons=(*workload.reasons, *remarks)),
        _with_equal_work(matched.base, matched.new, kind, workload),
    )
    if matched.renamed and _is_published(base, new, kind):
        return _with_rows(pair, comparison_rows(base.behaviour, new.behaviour))
    return pair


def _is_published(base: Role, new: Role, kind: str) -> bool:
    """Whether rows are to be as published, where every device is only ever itself."""
    return kind != "peers" and base.method is None and new.method is None


def _with_equal_work(base: Role, new: Role, kind: str, workload: Workload) -> Pair | None:
    regrouped = None if workload.comparable else with_equal_work(base, new, workload)
    if regrouped is None:
        return None
    return _pair(*regrouped, kind, check_workload(*regrouped), None)


def _pair(base: Role, new: Role, kind: str, workload: Workload, equal_work: Pair | None) -> Pair:
    sides = base.behaviour, new.behaviour
    rows = comparison_rows(*sides)
    return Pair(
        kind=kind,
        base=base,
        new=new,
        cycle_times=cycle_times(*sides),
        workload=workload,
        rows=rows,
        times=time_rows(*sides),
        families=family_rows(*sides),
        findings=key_findings(rows),
        equal_work=equal_work,
    )


def _with_rows(pair: Pair, rows: pl.DataFrame) -> Pair:
    return replace(pair, rows=rows, findings=key_findings(rows))
