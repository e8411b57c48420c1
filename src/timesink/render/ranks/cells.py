"""Tables about ranks as cells of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.ranks.rank_set import RankSet
from timesink.model import units
from timesink.render.cells import Cells, top_title

_TIMES = {
    "step time": "step_ns",
    "compute": "compute_ns",
    "exposed comm.": "exposed_communication_ns",
    "overlap": "overlap_ns",
    "wait caused": "wait_caused_ns",
    "wait suffered": "wait_suffered_ns",
    "idle": "idle_ns",
    "bubble": "pipeline_bubble_ns",
}
_KINDS: Mapping[str | None, str] = {
    "dp": "data parallel",
    "tp": "tensor parallel",
    "pp": "pipeline",
    "ep": "expert parallel",
    "cp": "context parallel",
    "mp": "model parallel",
    "world": "all ranks",
    None: "-",
}
_MOST_RANGES = 4
_MUCH = 0.25
"""Of all waiting: what a rank is named for."""


def kind_name(kind: str | None) -> str:
    """What process groups of a kind are for.

    >>> kind_name("tp"), kind_name("xy")
    ('tensor parallel', 'xy')
    """
    return _KINDS.get(kind, kind or "-")


def rank_cells(ranks: RankSet, top: int) -> Cells:
    """What an average step of each rank is spent on; who holds the others up comes first."""
    table = worst_first(ranks.analysis.ranks)
    shown = {
        title: column
        for title, column in _TIMES.items()
        if column != "pipeline_bubble_ns" or (table[column].sum() or 0) > 0
    }
    rows = tuple(
        (str(row["rank"]), *(_time(row[column]) for column in shown.values()))
        for row in table.head(top).to_dicts()
    )
    title = top_title("ranks", table.height, top)
    return Cells(f"{title}: an average step", ("rank", *shown), rows)


def worst_first(table: pl.DataFrame) -> pl.DataFrame:
    """Ranks by the wait they cause."""
    return table.sort("wait_caused_ns", descending=True, nulls_last=True, maintain_order=True)


def collective_cells(ranks: RankSet, top: int) -> Cells:
    """Collectives by group, kind and size: waiting, transfer, bandwidth, whom others wait for."""
    table = ranks.analysis.matched
    rows = tuple(_collective(row) for row in table.head(top).to_dicts())
    columns = (
        "collective",
        "group",
        "size",
        "calls",
        "wait",
        "transfer",
        "latest rank",
        "bus",
        "algorithm",
    )
    return Cells(top_title("matched collectives", table.height, top), columns, rows)


def _collective(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(row["collective"] or "-"),
        _groups(row),
        "-" if row["size_bytes"] is None else units.size_bytes(row["size_bytes"]),
        units.count(row["calls"]),
        _time(row["wait_mean_ns"]),
        _time(row["transfer_mean_ns"]),
        str(row["latest_rank"]) if (row["latest_share"] or 0) >= _MUCH else "-",
        _speed(row["bus_bytes_per_s"]),
        _speed(row["algorithm_bytes_per_s"]),
    )


def _groups(row: Mapping[str, Any]) -> str:
    """How many groups of which size; `-` where recordings do not tell.

    >>> _groups({"groups": 8, "group_size": 4, "group_kind": "tp"})
    '8 x 4 TP'
    """
    kind = (row["group_kind"] or "").upper()
    if row["group_size"] is None:
        return kind or "-"
    return f"{row['groups']} x {row['group_size']} {kind}".rstrip()


def rank_group_lines(ranks: RankSet, most: int = 8) -> list[str]:
    """Ranks that behave alike, a line each; nothing where all do."""
    if not any(one.odd for one in ranks.groups) and len(ranks.groups) < 2:
        return []
    lines = []
    for one in ranks.groups[:most]:
        apart = f": {' '.join(one.apart[:2])}" if one.apart and one.odd else ""
        who = ranges_of(one.ranks, _MOST_RANGES)
        word = "rank" if len(one.ranks) == 1 else "ranks"
        lines.append(f"{one.group} ({word} {who}){apart}")
    if len(ranks.groups) > most:
        lines.append(f"and {units.counted(len(ranks.groups) - most, 'more groups')}")
    return lines


def _time(value: float | None) -> str:
    return "-" if value is None else units.duration_ns(value)


def _speed(value: float | None) -> str:
    return "-" if value is None else f"{units.size_bytes(value)}/s"
