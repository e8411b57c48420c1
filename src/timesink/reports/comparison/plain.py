"""Comparisons as plain values, for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars as pl

from timesink.analyses.clustering.exploration import Exploration
from timesink.analyses.comparison.pair import CycleTimes, KeyFinding, Pair, Workload
from timesink.analyses.comparison.role import Role
from timesink.analyses.comparison.verdict import verdict
from timesink.answers.diagnosis_json import diagnosis, no_diagnosis
from timesink.model.diagnosis import Diagnosis
from timesink.readers.discover import sayable
from timesink.reports.comparison.answer import of_pair
from timesink.rules.diagnosis import diagnose


def role(one: Role) -> dict[str, Any]:
    """A role without its rows; see `docs/comparison_json.md`."""
    rows = one.behaviour
    return {
        "label": one.label,
        "source": sayable(one.source),
        "pid": one.pid,
        "host": one.host,
        "rank": one.rank,
        "cycles": rows["cycle"].n_unique(),
        "cycle_types": _distinct(rows, "cycle_type"),
        "anchors": _distinct(rows, "anchor"),
        "devices": _distinct(rows, "device"),
        "metrics": _distinct(rows, "metric"),
        "method": one.method,
        "confidence": one.confidence,
        "notes": [sayable(note) for note in one.notes],
    }


def why(one: Diagnosis | None) -> dict[str, Any]:
    """Whether cycles changed, where the time went, and why.

    >>> why(None)["causes"]
    []
    """
    return no_diagnosis() if one is None else diagnosis(one)


def pair(one: Pair, found: Diagnosis | None = None) -> dict[str, Any]:
    """A pair with all its tables, and what was found of it."""
    return {
        "kind": one.kind,
        "headline": of_pair(one, found),
        "base": role(one.base),
        "new": role(one.new),
        "workload": workload(one.workload),
        "cycle_times": cycle_times(one.cycle_times),
        "changes": changes(one),
        "findings": [finding(found) for found in one.findings],
        "rows": rows(one.rows),
        "times": rows(one.times),
        "families": rows(one.families),
        "equal_work": None if one.equal_work is None else pair(one.equal_work),
    }


def exploration(one: Exploration) -> dict[str, Any]:
    """Clusters, the distances they come from, and the pairs of representatives."""
    return {
        "roles": [role(each) for each in one.roles],
        "distances": one.distances.tolist(),
        "threshold": one.threshold,
        "threshold_reason": one.threshold_reason,
        "clusters": [
            {
                "representative": cluster.representative,
                "members": list(cluster.members),
                "apart": cluster.apart,
                "differences": [asdict(each) for each in cluster.differences],
            }
            for cluster in one.clusters
        ],
        "pairs": [_diagnosed(each) for each in one.pairs],
        "pairs_left_out": one.pairs_left_out,
    }


def _diagnosed(one: Pair) -> dict[str, Any]:
    found = diagnose(one)
    return {**why(found), **pair(one, found)}


def workload(one: Workload) -> dict[str, Any]:
    """Whether both sides did the same work.

    >>> workload(Workload(comparable=True, reasons=(), work_ratio=1.0))
    {'comparable': True, 'reasons': [], 'work_ratio': 1.0}
    """
    return {
        "comparable": one.comparable,
        "reasons": list(one.reasons),
        "work_ratio": one.work_ratio,
    }


def cycle_times(one: CycleTimes) -> dict[str, Any]:
    """Every cycle's length, and the test of their difference."""
    return {
        "base_ns": list(one.base_ns),
        "new_ns": list(one.new_ns),
        "base_mean_ns": one.base_mean_ns,
        "new_mean_ns": one.new_mean_ns,
        "change_pct": one.change_pct,
        "interval_ns": None if one.interval_ns is None else list(one.interval_ns),
        "rank_p": one.rank_p,
        "p_value": one.p_value,
        "warm_up_cycles": list(one.warm_up),
        "levels_ns": [list(side) for side in one.levels_ns],
        "one_run": one.one_run,
    }


def changes(one: Pair) -> dict[str, Any]:
    """What differs by more than noise; numbers are places in the pair's `times` and `rows`."""
    found = verdict(one)
    return {
        "cycles": found.cycles,
        "functions": list(found.functions),
        "counters": list(found.counters),
        "unrecorded": asdict(found.unrecorded),
    }


def finding(one: KeyFinding) -> dict[str, Any]:
    """A function whose share changed; rows are places in the pair's `rows`.

    >>> finding(KeyFinding("gemm", "GPU 0", 3, (3, 4)))["metrics"]
    [3, 4]
    """
    return {
        "function": one.function,
        "device": one.device,
        "row": one.row,
        "metrics": list(one.metrics),
    }


def rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table; text as text, and null where a number is not defined.

    >>> rows(pl.DataFrame({"function": ["gemm"], "welch_p": [float("nan")]}))
    [{'function': 'gemm', 'welch_p': None}]
    """
    return table.with_columns(
        pl.col(pl.Float64()).fill_nan(None), pl.col(pl.Categorical(), pl.Enum).cast(pl.String())
    ).to_dicts()


def _distinct(table: pl.DataFrame, column: str) -> list[str]:
    return sorted(table[column].drop_nulls().cast(pl.String()).unique())
