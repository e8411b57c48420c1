"""Comparisons as plain values, for JSON."""

from __future__ import annotations

import re
from dataclasses import asdict, fields
from math import isfinite
from string import ascii_lowercase
from typing import Any

import polars as pl

from timesink.analyses.clustering.groups import Exploration
from timesink.analyses.comparison.pair import CycleTimes, KeyFinding, Pair, Role, Workload
from timesink.analyses.comparison.verdict import verdict
from timesink.analyses.ranks.changes import PartChange, RankChanges, StragglerChange
from timesink.analyses.ranks.own_time import ranges_of
from timesink.analyses.ranks.rank_groups import RankGroup
from timesink.analyses.ranks.rank_set import RankSet
from timesink.answers.comparison.sentences import of_pair
from timesink.model.diagnosis import Component, CycleTime, Diagnosis, SteadyTimes
from timesink.model.findings import Evidence, Finding, Interval
from timesink.model.schema import HOST_DEVICE
from timesink.rules.diagnosis import diagnose
from timesink.sources.recordings import sayable

# A diagnosis as plain values, for JSON: times in microseconds, every number finite or null.

_NS_PER_US = 1000.0


def diagnosis(one: Diagnosis) -> dict[str, Any]:
    """The verdict and all behind it; `docs/comparison_json.md` describes every key."""
    steady = one.cycle_time.steady
    return {
        "verdict": one.verdict,
        "reason": one.reason,
        "cycle_time": {
            **_cycle_time(one.cycle_time, {"p_value": _finite(one.cycle_time.p_value)}),
            "steady": None if steady is None else _cycle_time(steady, {}),
        },
        "attribution": [_component(each) for each in one.attribution],
        "anomalies": [_anomaly(*each) for each in enumerate(one.anomalies, 1)],
        "causes": [_cause(*each) for each in enumerate(one.causes, 1)],
        "unexplained_us": _us(one.unexplained_ns),
        "unexplained": [{"component": name, "delta_us": _us(ns)} for name, ns in one.unexplained],
        "symptoms": [
            {**_counter(each), "process": each.process, "sentence": each.sentence}
            for each in one.symptoms
        ],
        "diagnosis_notes": list(one.notes),
    }


def no_diagnosis() -> dict[str, Any]:
    """The same keys where nothing was diagnosed, as of many roles that were only told apart."""
    lists = ("attribution", "anomalies", "causes", "unexplained", "symptoms", "diagnosis_notes")
    single = ("verdict", "reason", "cycle_time", "unexplained_us")
    return {**dict.fromkeys(single), **{name: [] for name in lists}}


def _cycle_time(one: CycleTime | SteadyTimes, more: dict[str, Any]) -> dict[str, Any]:
    bounds = one.interval_pct
    return {
        "base_us": _us(one.base_ns),
        "new_us": _us(one.new_ns),
        "change_pct": _finite(one.change_pct),
        "ci95_pct": None if bounds is None else [_finite(bound) for bound in bounds],
        **more,
    }


def _component(one: Component) -> dict[str, Any]:
    return {
        "component": one.name,
        "part": one.part,
        "family": one.family,
        "base_us": _us(one.base_ns),
        "new_us": _us(one.new_ns),
        "delta_us": _us(one.delta_ns),
        "ci95_us": _interval(one.interval_ns),
        "p_value": _finite(one.p_value),
        "same_launches_us": _us(one.same_launches_ns),
    }


def _counter(one: Finding) -> dict[str, Any]:
    """The counter of an anomaly or a symptom on both sides."""
    return {
        "device": one.device,
        "metric": one.metric,
        "unit": one.unit,
        "base": _finite(one.base),
        "new": _finite(one.new),
    }


def _anomaly(rank: int, one: Finding) -> dict[str, Any]:
    return {
        "rank": rank,
        "cause": one.id,
        **_counter(one),
        "effect": _finite(one.share),
        "q_value": _finite(one.q_value),
        "explained_us": _us(one.cost_ns),
        "process": one.process,
        "sentence": one.sentence,
        "advice": one.advice,
        "evidence": [_evidence(each) for each in one.evidence],
    }


def _cause(rank: int, one: Finding) -> dict[str, Any]:
    return {
        "rank": rank,
        "cause": one.id,
        "explained_us": _us(one.cost_ns),
        "ci95_us": _interval(one.interval_ns),
        "process": one.process,
        "sentence": one.sentence,
        "advice": one.advice,
        "components": [{"component": name, "explained_us": _us(ns)} for name, ns in one.claims],
        "evidence": [_evidence(each) for each in one.evidence],
    }


def _evidence(one: Evidence) -> dict[str, Any]:
    """What is known of it; times of the recording and amounts of time in microseconds."""
    told: dict[str, Any] = {}
    for name in (field.name for field in fields(one) if field.name != "numbers"):
        value = getattr(one, name)
        if name.endswith("_ns"):
            told[f"{name.removesuffix('_ns')}_us"] = _us(value)
        elif isinstance(value, float):
            told[name] = _us(value) if one.unit == "ns" else _finite(value)
        else:
            told[name] = "us" if (name, value) == ("unit", "ns") else value
    return {name: value for name, value in told.items() if value is not None}


def _interval(interval_ns: Interval | None) -> list[float | None] | None:
    return None if interval_ns is None else [_us(bound) for bound in interval_ns]


def _us(time_ns: float | None) -> float | None:
    return None if time_ns is None else _finite(time_ns / _NS_PER_US)


def _finite(value: float | None) -> float | None:
    """A number JSON can hold."""
    return float(value) if value is not None and isfinite(value) else None


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
    """Whether cycles changed, where the time went, and why."""
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
    """Whether both sides did the same work."""
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
    """A function whose share changed; rows are places in the pair's `rows`."""
    return {
        "function": one.function,
        "device": one.device,
        "row": one.row,
        "metrics": list(one.metrics),
    }


def rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table; text as text, and null where a number is not defined."""
    return table.with_columns(
        pl.col(pl.Float64()).fill_nan(None), pl.col(pl.Categorical(), pl.Enum).cast(pl.String())
    ).to_dicts()


def _distinct(table: pl.DataFrame, column: str) -> list[str]:
    return sorted(table[column].drop_nulls().cast(pl.String()).unique())


# What changed between two runs of many ranks as plain values, for JSON.


def ranks_dict(found: RankChanges) -> dict[str, Any]:
    """The section `ranks`; see `docs/comparison_json.md`."""
    sides = zip(("base", "new"), (found.base, found.new), found.layouts, strict=True)
    return {
        "verdict": found.verdict,
        "reason": found.reason,
        "step_time": _step_time(found.step_time),
        "attribution": [_part(each) for each in found.attribution],
        "stragglers": [_straggler(each) for each in found.stragglers],
        "collectives": _rows(found.collectives),
        "changes": _rows(found.ranks),
        "sides": {
            name: {
                "ranks": len(ranks.ranks),
                "world_size": layout.world,
                "layout": [{"kind": kind, "size": size} for kind, size in layout.groups],
                "steps": len(ranks.analysis.panel.steps),
                "missing_ranks": list(ranks.missing),
                "damaged": _damaged(ranks),
                "groups": [_group(each) for each in ranks.groups],
            }
            for name, ranks, layout in sides
        },
        "notes": [sayable(note) for note in found.notes],
    }


def _step_time(one: CycleTime) -> dict[str, Any]:
    return {
        "base_us": _us(one.base_ns),
        "new_us": _us(one.new_ns),
        "change_pct": one.change_pct,
        "ci95_pct": None if one.interval_pct is None else list(one.interval_pct),
        "p_value": one.p_value,
    }


def _part(one: PartChange) -> dict[str, Any]:
    return {
        "part": one.part,
        "base_us": _us(one.base_ns),
        "new_us": _us(one.new_ns),
        "delta_us": _us(one.delta_ns),
        "ci95_us": None if one.interval_ns is None else [_us(end) for end in one.interval_ns],
        "p_value": one.p_value,
    }


def _straggler(one: StragglerChange) -> dict[str, Any]:
    return {
        "state": one.state,
        "rank": one.rank,
        "cause": one.cause,
        "base_us": _us(one.base_ns),
        "new_us": _us(one.new_ns),
        "base_rank": one.base_rank,
        "steps": len(one.steps),
        "step_names": list(one.steps),
        "evidence": list(one.evidence),
    }


def _group(one: RankGroup) -> dict[str, Any]:
    return {
        "group": one.group,
        "ranks": ranges_of(one.ranks),
        "size": one.size,
        "representative": one.representative,
        "odd": one.odd,
        "apart": list(one.apart),
    }


def _damaged(ranks: RankSet) -> list[dict[str, str]]:
    return [
        {"worker": each.worker, "source": sayable(each.source), "reason": sayable(each.reason)}
        for each in ranks.damaged
    ]


def _rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows with times in microseconds, as all of the JSON has them."""
    in_us = [
        (pl.col(name) / 1e3).alias(f"{name.removesuffix('_ns')}_us")
        if name.endswith("_ns")
        else pl.col(name)
        for name in table.columns
    ]
    return table.select(in_us).to_dicts()


# The tables of one device alone.

_HOST_NAMES = ("host", "cpu")
_VIRTUAL = re.compile(r" \(virtual\)$", re.IGNORECASE)
_LETTERS = ascii_lowercase


def is_device(name: str, asked: str) -> bool:
    """Whether a device of a table is the one asked for: `0`, `gpu0` and `GPU 0` are `GPU 0`."""
    wanted = _plain(asked)
    if name == HOST_DEVICE:
        return wanted in _HOST_NAMES
    known = _plain(_VIRTUAL.sub("", name))
    return wanted in {known, _plain(name)} or (
        wanted.isdigit() and known.lstrip(_LETTERS) == wanted
    )


def _plain(name: str) -> str:
    return "".join(name.lower().split())
