"""What changed between two runs of many ranks as plain values, for JSON."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from timesink.analyses.ranks.changes.comparing import PartChange, RankChanges
from timesink.analyses.ranks.changes.stragglers import StragglerChange
from timesink.analyses.ranks.likeness.clusters import RankGroup
from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.ranks.rank_set import RankSet
from timesink.model.diagnosis import CycleTime
from timesink.readers.discover import sayable


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


def _us(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value / 1e3


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
