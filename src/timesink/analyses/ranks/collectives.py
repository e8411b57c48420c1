"""Collectives of all ranks: which are the same call, who waits in them, and by whose doing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import dense_codes
from timesink.analyses.communication_calls import (
    HOST_LIBRARIES,
    ONE_SIDED,
    PAIRS,
    SYNCHRONISING,
    UNEVEN,
    bus_share,
    per_second,
    volume,
)
from timesink.analyses.communication_workers import match_calls
from timesink.analyses.ranks.clocks import correct_times
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.thresholds import CollectivesLimits, RobustLimits
from timesink.model.arrays import Groups, combine_codes
from timesink.model.intervals import Flags, Floats, Ints

_DROPPED = ("library", "src_rank", "dst_rank", "what", "record", "worker", "party")


def matched_collectives(ranks: Mapping[int, RankSummary]) -> pl.DataFrame:
    """The collectives of all ranks, with `rank`, and a number in `match` that equal calls share.

    `alike` numbers ranks that make the same calls in the same order: stages of a pipeline differ.
    """
    calls = match_calls({str(rank): summary.collectives for rank, summary in ranks.items()})
    numbers = pl.Series("rank", list(ranks), dtype=pl.Int64)
    placed = calls.with_columns(numbers.gather(calls["worker"].to_physical()))
    # Whether a call sends to or receives from a higher rank (1) or a lower one (-1).
    other = pl.when(pl.col("src_rank") == pl.col("rank")).then("dst_rank").otherwise("src_rank")
    placed = placed.with_columns(toward=(other - pl.col("rank")).sign())
    return (
        placed.drop(_DROPPED)
        .join(_roles(placed), on="rank", how="left", maintain_order="left")
        .with_columns(dur_ns=pl.col("end_ns") - pl.col("start_ns"))
    )


def _roles(calls: pl.DataFrame) -> pl.DataFrame:
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


# Who waits in which collective, for whom, and how much of that is the other's own doing.

_SOON_NS, _SOON_ON_HOST_NS = 20_000, 100_000
"""How soon a call follows the one it had to wait for: on a stream, and in a thread."""
_ON_HOST = rf"^({'|'.join(HOST_LIBRARIES)}):"


def with_waits(calls: pl.DataFrame, clocks: pl.DataFrame) -> pl.DataFrame:
    """Matched collectives with `wait_ns` and `transfer_ns`, which add up to their length.

    Where all are done at once, the shortest call is all transfer and needs no common clock.  Of
    others - a broadcast, a pair that sends and receives - clocks tell who came last.
    """
    together = pl.col("collective").is_in(SYNCHRONISING).fill_null(value=False)
    shortest = pl.col("dur_ns").min().over("match")
    start = correct_times(pl.col("start_ns"), clocks)
    until_last = (start.max().over("match") - start).clip(0, pl.col("dur_ns"))
    is_single = pl.len().over("match") < 2
    wait = pl.when(is_single).then(0).when(together).then(pl.col("dur_ns") - shortest)
    return calls.with_columns(wait_ns=wait.otherwise(until_last)).with_columns(
        transfer_ns=pl.col("dur_ns") - pl.col("wait_ns"), members=pl.len().over("match")
    )


def with_excess(calls: pl.DataFrame) -> pl.DataFrame:
    """Collectives with `excess_ns`: what the rank itself took more to come there than its peers.

    What others make a rank wait for is in none of it.  Sums from the start of the run are compared
    and their growth is told: two calls at nearly the same time may come in either order.
    """
    taken, peers = so_far(calls), _peers(calls)
    typical, many = peer_median(taken, peers)
    ahead = np.zeros(len(taken))
    rank, order = calls["rank"].to_numpy(), _in_order(calls)
    # Who cannot be compared here is as far as it was.
    comparable = order[((many > 1) & ~_is_queued(calls, peers))[order]]
    sums = (taken - typical)[comparable]
    is_first = np.diff(rank[comparable], prepend=-1) != 0
    ahead[comparable] = np.where(is_first, sums, np.diff(sums, prepend=0.0))
    return calls.with_columns(excess_ns=pl.Series(ahead))


def so_far(calls: pl.DataFrame) -> Floats:
    """What each rank had taken by itself when it came to each of the calls."""
    order, taken = _in_order(calls), np.empty(calls.height)
    sums = calls.select("rank", "own_ns")[order].select(pl.col("own_ns").cum_sum().over("rank"))
    taken[order] = sums.to_series().to_numpy()
    return taken


def time_without_lateness(calls: pl.DataFrame, late: Ints) -> Floats:
    """What ranks would have taken so far, had those who are late taken what the others took.

    `calls` are in order of rank and start.
    """
    taken, peers, rank = so_far(calls), _peers(calls), calls["rank"].to_numpy()
    typical, many = peer_median(taken, peers, of=~np.isin(rank, late))
    is_comparable = (many > 0) & ~_is_queued(calls, peers)
    better = taken.copy()
    for late_rank in late:
        rows = np.flatnonzero(rank == late_rank)
        seen = rows[is_comparable[rows]]
        # Where nobody can be compared a rank falls behind as fast as in between.
        at, usual = np.concatenate([[0.0], taken[seen]]), np.concatenate([[0.0], typical[seen]])
        behind = np.interp(taken[rows], at, at - usual)
        better[rows] = np.minimum.accumulate((taken[rows] - behind)[::-1])[::-1]
    return better


def _in_order(calls: pl.DataFrame) -> NDArray[np.intp]:
    return np.lexsort((calls["start_ns"].to_numpy(), calls["rank"].to_numpy()))


def queued_behind(calls: pl.DataFrame, *, on_host: bool = True) -> pl.Series:
    """By row, the row of the call of its rank and group that was over when it started, else null.

    Libraries `on_host` work off a few calls of a group at a time, in threads: one starts when any
    of those before it is over, not always the last, and not as soon as on a stream.
    """
    in_threads = pl.col("name").str.contains(_ON_HOST).fill_null(value=False) & on_host
    rows = calls.with_row_index("row").select(
        "row",
        "start_ns",
        "end_ns",
        of=pl.struct("rank", "group", "group_ranks").hash(),
        within=pl.when(in_threads).then(_SOON_ON_HOST_NS).otherwise(_SOON_NS),
    )
    over = rows.select("of", before="row", at="end_ns", over="end_ns").sort("at")
    return (
        rows.with_columns(at="start_ns")
        .sort("at")
        .join_asof(over, on="at", by="of", strategy="backward", check_sortedness=False)
        .sort("row")
        .select(pl.when(pl.col("start_ns") - pl.col("over") < pl.col("within")).then("before"))
        .to_series()
    )


def _is_queued(calls: pl.DataFrame, peers: Ints) -> Flags:
    """Calls on a stream that start when the one before them is over, here or for many peers.

    The rank was ready for it before, and nobody knows when.  Threads of the host come late as well,
    but what a rank has taken by then is known from what its device did meanwhile.
    """
    queued = queued_behind(calls, on_host=False).is_not_null().to_numpy()
    share = np.bincount(peers, queued) / np.maximum(np.bincount(peers), 1)
    return np.asarray(queued | (share[peers] > CollectivesLimits.many))


def _peers(calls: pl.DataFrame) -> Ints:
    """A number for calls that are the same thing to different ranks that do the same work."""
    uneven = pl.col("collective").is_in(UNEVEN).fill_null(value=False)
    few = calls.group_by("alike").agg(few=pl.col("rank").n_unique() < 2).filter("few")["alike"]
    keys = calls.select(
        "collective",
        "toward",
        "group_size",
        "step",
        size=pl.when(~uneven).then("size_bytes"),
        # Too few of a sort: then everybody is a peer.
        alike=pl.when(~pl.col("alike").is_in(few.implode())).then("alike"),
    )
    kind = combine_codes(*(dense_codes(column) for column in keys))
    turns = Groups.of(combine_codes(dense_codes(calls["rank"]), kind))
    return combine_codes(kind, turns.places)


def with_blame(calls: pl.DataFrame) -> pl.DataFrame:
    """Collectives with `held_up_ns`: how long the rank, by its own doing, delay the others.

    Only who comes last delays the others, and only as far as it took longer than its peers did:
    a rank that comes late because it had to wait elsewhere is to blame for nothing.  What a rank is
    late by stays with it until somebody waits for it, or it waits itself.
    """
    match, wait = calls["match"].to_numpy(), calls["wait_ns"].to_numpy().astype(np.float64)
    # For the one that waits least in a collective: the median wait of the others.
    order = np.lexsort((wait, match))
    numbers, first, many = np.unique(match[order], return_index=True, return_counts=True)
    ordered = wait[order]
    low = first + np.minimum(1 + np.maximum(many - 2, 0) // 2, many - 1)
    high = first + np.minimum(1 + np.maximum(many - 1, 0) // 2, many - 1)
    middle = (ordered[low] + ordered[high]) / 2
    typical: Floats = middle[np.searchsorted(numbers, match)]
    last = np.zeros(calls.height, dtype=np.bool_)
    last[order[first]] = True
    last &= calls["members"].to_numpy() > 1
    excess = calls["excess_ns"].to_numpy()
    delay = np.zeros(calls.height)
    ranks = calls["rank"].to_numpy()
    late = np.zeros(int(ranks.max(initial=0)) + 1)
    for rows in _turns(calls):
        rank = ranks[rows]
        late[rank] = np.maximum(late[rank] + excess[rows], 0.0)
        delay[rows] = np.where(last[rows], np.minimum(late[rank], typical[rows]), 0.0)
        eased = np.where(last[rows], delay[rows], wait[rows])
        late[rank] = np.maximum(late[rank] - eased, 0.0)
    return calls.with_columns(held_up_ns=pl.Series(delay))


def _turns(calls: pl.DataFrame) -> Iterator[Ints]:
    """Rows of the first collective of each rank, of the second, and so on."""
    rank, order = calls["rank"].to_numpy(), _in_order(calls)
    _, first, many = np.unique(rank[order], return_index=True, return_counts=True)
    for turn in range(int(many.max(initial=0))):
        yield order[first[many > turn] + turn]


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
    has_median = numbers[place] == peers
    return np.where(has_median, middle[place], 0.0), np.where(has_median, many[place], 0)


# Process groups of a run: who is in them, and what they are for.

PROCESS_GROUP_SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("group", "description", "kind"), pl.String()),
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


def keyed_groups(ranks: Mapping[int, RankSummary], calls: pl.DataFrame) -> pl.DataFrame:
    """Process groups that calls were made in, with `group` and `group_ranks` as calls have them."""
    world = max(len(ranks), *(summary.about.world_size or 0 for summary in ranks.values()), 0)
    used = (
        calls.with_columns(pl.col(GROUP_KEY).cast(pl.String))
        .group_by(GROUP_KEY, maintain_order=True)
        .agg(
            size=pl.max_horizontal(pl.col("group_size").max(), pl.col("rank").n_unique()),
            ranks=pl.col("rank").unique().sort(),
            calls=pl.len() / pl.col("rank").n_unique(),
            kinds=pl.col("collective").cast(pl.String).drop_nulls().unique().sort(),
            largest=pl.col("size_bytes").max(),
        )
        .with_columns(collectives=pl.col("kinds").list.join(", "))
    )
    descriptions = (
        pl.concat([summary.groups for summary in ranks.values()])
        .select(*GROUP_KEY, "description")
        .sort("description", nulls_last=True)
        .unique(GROUP_KEY, keep="first", maintain_order=True)
    )
    rows = used.join(descriptions, on=GROUP_KEY, how="left", nulls_equal=True)
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
    return next((kind for kind, spelling in _WORDS if words & spelling), None)


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
        return "dp" if (group["largest"] or 0) >= CollectivesLimits.min_gradient_bytes else "world"
    # Those who share a layer are neighbours on a node, copies of the model are not.
    if len(ranks) > 1 and ranks[-1] - ranks[0] + 1 > len(ranks):
        return "dp"
    return "tp" if len(ranks) > 1 and "all_reduce" in done else None


# Matched collectives by what they are: who waits how long, and how fast data moves.

MATCHED_SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("group_kind", "group", "collective", "dtype"), pl.String()),
    **dict.fromkeys(("size_bytes", "group_size", "groups", "ranks", "calls"), pl.Int64()),
    **dict.fromkeys(("wait_mean_ns", "wait_max_ns", "transfer_mean_ns"), pl.Float64()),
    **dict.fromkeys(("algorithm_bytes_per_s", "bus_bytes_per_s"), pl.Float64()),
    "latest_rank": pl.Int64(),
    "latest_share": pl.Float64(),
}
"""A call counts once, however many ranks take part.  `group` is null where several groups of a kind
are in a row; `latest_rank` is whom the others waited for longest, `latest_share` its part of all
that waiting."""

_KIND = ["group_kind", "collective", "dtype", "size_bytes", "group_size"]


def collective_table(calls: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Rows of `MATCHED_SCHEMA`, those with most waiting and transfer first.

    `calls` are collectives with waits, `groups` the process groups with their keys.
    """
    text = pl.col(*GROUP_KEY, "collective", "dtype").cast(pl.String)
    kinds = groups.select(*GROUP_KEY, group_kind="kind")
    # Who sends and who receives take part in the same.
    paired = pl.col("collective").replace(dict.fromkeys(ONE_SIDED, "send_recv"))
    calls = calls.with_columns(text).with_columns(collective=paired)
    rows = calls.join(kinds, on=GROUP_KEY, how="left", nulls_equal=True)
    matches = _matches(rows)
    only = pl.when(pl.struct(GROUP_KEY).n_unique() == 1).then(pl.col("group").first())
    table = matches.group_by(_KIND, maintain_order=True).agg(
        group=only,
        groups=pl.struct(GROUP_KEY).n_unique(),
        calls=pl.len(),
        wait_mean_ns=pl.col("wait_ns").sum() / pl.col("members").sum(),
        wait_max_ns=pl.col("longest_ns").max(),
        transfer_mean_ns=pl.col("moving_ns").mean(),
        algorithm_bytes_per_s=per_second("volume", "moving_ns"),
        bus_bytes_per_s=per_second("bus", "moving_ns"),
        total_ns=(pl.col("wait_ns") + pl.col("moving_ns") * pl.col("members")).sum(),
    )
    ranks = rows.group_by(_KIND).agg(ranks=pl.col("rank").n_unique())
    return (
        table.join(ranks, on=_KIND, nulls_equal=True, maintain_order="left")
        .join(_latest(matches), on=_KIND, how="left", nulls_equal=True, maintain_order="left")
        .sort("total_ns", descending=True, maintain_order=True)
        .select(pl.col(name).cast(dtype) for name, dtype in MATCHED_SCHEMA.items())
    )


def _matches(calls: pl.DataFrame) -> pl.DataFrame:
    """One row per collective: what ranks waited, what moving took once all were there."""
    size = pl.col("size_bytes", "out_bytes").max()
    last = pl.col("rank").get(pl.col("wait_ns").arg_min())
    return (
        calls.group_by("match", maintain_order=True)
        .agg(
            pl.col(*GROUP_KEY, "group_kind", "collective", "dtype", "group_size").first(),
            size,
            members=pl.len(),
            wait_ns=pl.col("wait_ns").sum(),
            longest_ns=pl.col("wait_ns").max(),
            moving_ns=pl.col("transfer_ns").mean(),
            last=pl.when(pl.len() > 1).then(last),
        )
        .with_columns(volume=volume())
        .with_columns(bus=pl.col("volume") * bus_share())
    )


def _latest(matches: pl.DataFrame) -> pl.DataFrame:
    """For each kind of collective whom the others waited for longest."""
    waited = matches.filter(pl.col("last").is_not_null(), pl.col("wait_ns") > 0)
    return (
        waited.group_by(*_KIND, "last")
        .agg(pl.col("wait_ns").sum())
        .with_columns(latest_share=pl.col("wait_ns") / pl.col("wait_ns").sum().over(_KIND))
        .sort("wait_ns", "last", descending=[True, False])
        .unique(_KIND, keep="first", maintain_order=True)
        .select(*_KIND, "latest_share", latest_rank="last")
    )


# How long collectives take to move their data, and which groups take longer than others do.


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
    spread = RobustLimits.mad_to_sigma * pl.col("more").abs().median().over("kind")
    return (
        transfers.unique("match")
        .group_by("kind", "among")
        .agg(typical_ns=pl.col("transfer_ns").median(), calls=pl.len())
        .filter(pl.len().over("kind") >= CollectivesLimits.min_groups)
        .with_columns(usual_ns=pl.col("typical_ns").median().over("kind"))
        .filter(pl.col("usual_ns") > 0)
        .with_columns(more=pl.col("typical_ns") / pl.col("usual_ns") - 1)
        .filter(
            pl.col("more")
            > pl.max_horizontal(CollectivesLimits.min_slower, CollectivesLimits.outlying * spread)
        )
        .drop("more")
    )
