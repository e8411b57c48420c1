"""Two roles beside each other, with all that is known about how they differ."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import polars as pl

from timesink.analyses.comparison.common_units import unlike_metrics, with_common_units
from timesink.analyses.comparison.cycle_times import cycle_times
from timesink.analyses.comparison.devices import with_matching_devices
from timesink.analyses.comparison.equal_work import with_equal_work
from timesink.analyses.comparison.families import family_rows
from timesink.analyses.comparison.findings import key_findings
from timesink.analyses.comparison.one_run import are_parts_of_one_run
from timesink.analyses.comparison.pair import Pair, Workload
from timesink.analyses.comparison.placing import with_places
from timesink.analyses.comparison.role import Role
from timesink.analyses.comparison.rows import comparison_rows, known_rows
from timesink.analyses.comparison.times import time_rows
from timesink.analyses.comparison.workload import check_workload


def compare_roles(base: Role, new: Role, kind: str) -> Pair:
    """The pair of two roles; `kind` is as in `Pair`.

    Devices and units that only differ in name are brought together first.  Where the cycles of both
    sides do not hold the same work, the pair has a second one in it, of cycles put together until
    they do, if that is possible.
    """
    unlike = unlike_metrics(base.behaviour, new.behaviour)
    base, new, unlike_units = with_common_units(base, new)
    placed = with_places(base, new)
    matched = with_matching_devices(*placed)
    workload = check_workload(matched.base, matched.new)
    remarks = [*unlike_units, *_unread(base, new), *([matched.note] if matched.note else [])]
    workload = replace(workload, reasons=(*workload.reasons, *remarks))
    pair = _pair(matched.base, matched.new, kind, workload, unlike)
    pair = replace(pair, equal_work=_with_equal_work(pair, unlike))
    if (matched.renamed or placed != (base, new)) and _is_published(base, new, kind):
        return replace(pair, **_rows(base.behaviour, new.behaviour, unlike))
    return pair


def _unread(base: Role, new: Role) -> Iterator[str]:
    """Sides that name counters and have no value of any."""
    for role in (base, new):
        rows = role.behaviour.filter(pl.col("metric").is_not_null())
        if rows.height and not rows["mu"].is_finite().any():
            yield f"{role.label} names counters but holds no value of them: none is compared."


def _is_published(base: Role, new: Role, kind: str) -> bool:
    """Whether rows are to be as published, where every device is only ever itself."""
    return kind != "peers" and base.method is None and new.method is None


def _with_equal_work(pair: Pair, unlike: AbstractSet[str]) -> Pair | None:
    if pair.workload.comparable:
        return None
    regrouped = with_equal_work(pair.base, pair.new, pair.workload)
    if regrouped is None:
        return None
    return _pair(*regrouped, pair.kind, check_workload(*regrouped), unlike)


def _pair(base: Role, new: Role, kind: str, workload: Workload, unlike: AbstractSet[str]) -> Pair:
    sides = base.behaviour, new.behaviour
    return Pair(
        kind=kind,
        base=base,
        new=new,
        cycle_times=cycle_times(*sides, one_run=are_parts_of_one_run(base, new)),
        workload=workload,
        times=time_rows(*sides),
        families=family_rows(*sides),
        **_rows(*sides, unlike),
    )


def _rows(base: pl.DataFrame, new: pl.DataFrame, unlike: AbstractSet[str]) -> dict[str, Any]:
    """What a pair says about shares and counters."""
    rows = comparison_rows(base, new)
    return {
        "rows": rows,
        "known_rows": known_rows(rows, base, new, unlike),
        "findings": key_findings(rows),
    }
