"""Collectives of all ranks in one table: which are the same call, and which are missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.communication.calls import UNEVEN
from timesink.analyses.communication.workers import find_mismatches, match_calls
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.statistics.means import NORMAL
from timesink.model.arrays import Flags, Floats, Ints

SYNCHRONISING = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
"""Nobody can be done before everybody has come, so all ranks are done at the same time."""

PAIRS = ("send", "recv", "send_recv")
"""Between two ranks, as from one stage of a pipeline to the next."""

_DROPPED = ("library", "src_rank", "dst_rank", "what", "record", "worker", "party")


def matched_collectives(
    ranks: Mapping[int, RankSummary],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The collectives of all ranks, with `rank`, and a number in `match` that equal calls share.

    `alike` numbers ranks that make the same calls in the same order: stages of a pipeline differ.
    Also the calls that not all ranks of their group have.
    """
    calls = match_calls({str(rank): each.collectives for rank, each in ranks.items()})
    numbers = pl.Series("rank", list(ranks), dtype=pl.Int64)
    placed = calls.with_columns(numbers.gather(calls["worker"].to_physical()))
    # Whether a call sends to or receives from a higher rank (1) or a lower one (-1).
    other = pl.when(pl.col("src_rank") == pl.col("rank")).then("dst_rank").otherwise("src_rank")
    placed = placed.with_columns(toward=(other - pl.col("rank")).sign())
    matched = (
        placed.drop(_DROPPED)
        .join(_alike(placed), on="rank", how="left", maintain_order="left")
        .with_columns(dur_ns=pl.col("end_ns") - pl.col("start_ns"))
    )
    return matched, find_mismatches(calls, {str(rank): rank for rank in ranks})


def _alike(calls: pl.DataFrame) -> pl.DataFrame:
    """What most steps of a rank look like: kinds and sizes of its calls, in order."""
    uneven = pl.col("collective").is_in(UNEVEN).fill_null(value=False)
    size = pl.when(~uneven).then("size_bytes")
    call = pl.struct("collective", "toward", "group_size", size).hash()
    place = pl.int_range(pl.len()).over("rank", "step").cast(pl.UInt64)
    patterns = (
        calls.select(
            "rank", "step", pattern=pl.struct(call.alias("call"), place.alias("at")).hash()
        )
        .group_by("rank", "step")
        # Sums of whole numbers do not depend on the order in which groups are added up.
        .agg(pl.col("pattern").sum(), calls=pl.len())
        .group_by("rank", "pattern")
        .agg(steps=pl.len(), calls=pl.col("calls").first())
        .sort("rank", "steps", "calls", "pattern", descending=[False, True, True, False])
        .unique("rank", keep="first", maintain_order=True)
    )
    return patterns.select("rank", alike=pl.col("pattern").rank("dense").cast(pl.Int64))


def peer_median(values: Floats, peers: Ints, *, of: Flags | None = None) -> tuple[Floats, Ints]:
    """The median of the values with the same number in `peers`, for each; and how many they are.

    Of two the lower one: nobody can tell which of them is odd.  Only values `of` some count, if
    these are given.
    """
    rows = np.arange(len(values)) if of is None else np.flatnonzero(of)
    order = rows[np.lexsort((values[rows], peers[rows]))]
    numbers, first, many = np.unique(peers[order], return_index=True, return_counts=True)
    if not len(numbers):
        return np.zeros(len(values)), np.zeros(len(values), dtype=np.int64)
    ordered = values[order]
    low, high = first + (many - 1) // 2, first + many // 2
    middle = np.where(many == 2, ordered[low], (ordered[low] + ordered[high]) / 2)
    place = np.minimum(np.searchsorted(numbers, peers), len(numbers) - 1)
    known = numbers[place] == peers
    return np.where(known, middle[place], 0.0), np.where(known, many[place], 0)


# Process groups of a run: who is in them, and what they are for.

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


# How long collectives take to move their data, and which groups take longer than others do.

_FEWEST_GROUPS = 3
"""Of fewer nobody knows what is usual."""
_LEAST_SLOWER = 0.1
"""What transfers must take longer, as a part of what they usually take."""
_OUTLYING = 6.0
"""How many robust standard deviations beyond that of other groups."""


def complete_transfers(calls: pl.DataFrame) -> pl.DataFrame:
    """Collectives of several ranks, with what moving took once all were there.

    `kind` is what they do and how much they move, `among` the group.  Where somebody is missing
    nobody knows when that was.
    """
    everybody = pl.col("members") >= pl.col("group_size").fill_null(0)
    pair = pl.col("collective").is_in(PAIRS).fill_null(value=False)
    return calls.filter(pl.col("members") > 1, everybody | pair).with_columns(
        transfer_ns=pl.col("transfer_ns").min().over("match"),
        kind=pl.struct("collective", "size_bytes", "group_size").hash(),
        among=pl.struct("group", "group_ranks").hash(),
    )


def slow_groups(transfers: pl.DataFrame) -> pl.DataFrame:
    """Groups whose transfers take longer than those of other groups that move the same.

    By `kind` and `among`: `typical_ns`, `usual_ns` of the others, and how many `calls` they made.
    """
    spread = NORMAL * pl.col("more").abs().median().over("kind")
    return (
        transfers.unique("match")
        .group_by("kind", "among")
        .agg(typical_ns=pl.col("transfer_ns").median(), calls=pl.len())
        .filter(pl.len().over("kind") >= _FEWEST_GROUPS)
        .with_columns(usual_ns=pl.col("typical_ns").median().over("kind"))
        .filter(pl.col("usual_ns") > 0)
        .with_columns(more=pl.col("typical_ns") / pl.col("usual_ns") - 1)
        .filter(pl.col("more") > pl.max_horizontal(_LEAST_SLOWER, _OUTLYING * spread))
        .drop("more")
    )
