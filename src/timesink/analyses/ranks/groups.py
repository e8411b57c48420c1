"""Process groups of a run: who is in them, and what they are for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from timesink.analyses.ranks.matching import PAIRS
from timesink.analyses.ranks.summary import RankSummary

PROCESS_GROUP_SCHEMA = {
    "group": pl.String(),
    "description": pl.String(),
    "kind": pl.String(),
    "size": pl.Int64(),
    "ranks": pl.List(pl.Int64()),
    "calls": pl.Float64(),
    "collectives": pl.String(),
}
"""`kind` is "dp", "tp", "pp", "ep", "cp", "mp" or "world", null where nothing tells; `ranks` are
those whose summaries are there, `size` counts the others too; `calls` is the mean of a rank."""

GROUP_KEY = ("group", "group_ranks")

_WORDS = (
    # The first that fits: experts have data-parallel groups too, a "model" group spans stages.
    ("pp", {"pp", "pipeline", "stage"}),
    ("dp", {"dp", "ddp", "data", "fsdp", "hsdp", "shard", "replicate", "zero"}),
    ("ep", {"ep", "expert", "experts", "moe"}),
    ("cp", {"cp", "context", "sequence", "sp", "ulysses"}),
    ("tp", {"tp", "tensor"}),
    ("mp", {"mp", "model"}),
)
_REDUCING = ("all_reduce", "reduce_scatter", "all_gather")
_LEAST_GRADIENT_BYTES = 2**18
"""A group of everybody that never moves as much exchanges numbers, not gradients or weights."""


def group_rows(found: pl.DataFrame) -> pl.DataFrame:
    """Rows of `PROCESS_GROUP_SCHEMA`."""
    return found.select(pl.col(name).cast(dtype) for name, dtype in PROCESS_GROUP_SCHEMA.items())


def keyed_groups(ranks: Mapping[int, RankSummary], calls: pl.DataFrame) -> pl.DataFrame:
    """Process groups with `group` and `group_ranks` as calls have them."""
    sizes = [each.about.world_size or 0 for each in ranks.values()]
    world = max(len(ranks), *sizes, 0)
    rows = _used(calls).join(_descriptions(ranks), on=GROUP_KEY, how="left", nulls_equal=True)
    kinds = [
        kind_told(row["description"]) or _kind_seen(row, world)
        for row in rows.iter_rows(named=True)
    ]
    return rows.with_columns(kind=pl.Series(kinds, dtype=pl.String)).sort(
        -pl.col("size"), pl.col("ranks").list.first(), "group", nulls_last=True
    )


def kind_told(description: str | None) -> str | None:
    """What a group is for, from the words of its description."""
    words = set(re.split(r"[^a-z]+", (description or "").lower()))
    for kind, spelling in _WORDS:
        if words & spelling:
            return kind
    return None


def _kind_seen(group: Mapping[str, Any], world: int) -> str | None:
    """What a group is for, from what it does and who is in it."""
    done, ranks = set(group["kinds"]), group["ranks"]
    if not done.isdisjoint(PAIRS):
        return "pp"
    if "all_to_all" in done:
        return "ep"
    if done.isdisjoint(_REDUCING):
        return None
    if group["size"] >= world:
        return "dp" if (group["largest"] or 0) >= _LEAST_GRADIENT_BYTES else "world"
    # Those who share a layer are neighbours on a node, copies of the model are not.
    if len(ranks) > 1 and ranks[-1] - ranks[0] + 1 > len(ranks):
        return "dp"
    return "tp" if len(ranks) > 1 and "all_reduce" in done else None


def _used(calls: pl.DataFrame) -> pl.DataFrame:
    """Groups that calls were made in, by whom, and what was done."""
    text = pl.col(GROUP_KEY).cast(pl.String)
    kind = pl.col("collective").cast(pl.String).drop_nulls().unique().sort()
    many = pl.len() / pl.col("rank").n_unique()
    return (
        calls.with_columns(text)
        .group_by(GROUP_KEY, maintain_order=True)
        .agg(
            size=pl.max_horizontal(pl.col("group_size").max(), pl.col("rank").n_unique()),
            ranks=pl.col("rank").unique().sort(),
            calls=many,
            kinds=kind,
            largest=pl.col("size_bytes").max(),
        )
        .with_columns(collectives=pl.col("kinds").list.join(", "))
    )


def _descriptions(ranks: Mapping[int, RankSummary]) -> pl.DataFrame:
    told = pl.concat([each.groups for each in ranks.values()])
    return (
        told.select(*GROUP_KEY, "description")
        .sort("description", nulls_last=True)
        .unique(GROUP_KEY, keep="first", maintain_order=True)
    )
