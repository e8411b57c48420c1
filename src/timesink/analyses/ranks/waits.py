"""Who waits in which collective, for whom, and how much of that is the other's own doing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.arrays import Groups, joint, numbered
from timesink.analyses.communication.calls import HOST_LIBRARIES, ONE_SIDED, UNEVEN
from timesink.analyses.communication.records import bus_share, per_second, volume
from timesink.analyses.ranks.clocks import corrected
from timesink.analyses.ranks.matching import GROUP_KEY, SYNCHRONISING, peer_median
from timesink.model.arrays import Flags, Floats, Ints

_SOON_NS, _SOON_ON_HOST_NS = 20_000, 100_000
"""How soon a call follows the one it had to wait for: on a stream, and in a thread."""
_ON_HOST = rf"^({'|'.join(HOST_LIBRARIES)}):"
_MANY = 0.25


def with_waits(calls: pl.DataFrame, clocks: pl.DataFrame) -> pl.DataFrame:
    """Matched collectives with `wait_ns` and `transfer_ns`, which add up to their length.

    Where all are done at once, the shortest call is all transfer and needs no common clock.  Of
    others - a broadcast, a pair that sends and receives - clocks tell who came last.
    """
    together = pl.col("collective").is_in(SYNCHRONISING).fill_null(value=False)
    shortest = pl.col("dur_ns").min().over("match")
    start = corrected(pl.col("start_ns"), clocks)
    until_last = (start.max().over("match") - start).clip(0, pl.col("dur_ns"))
    alone = pl.len().over("match") < 2
    wait = pl.when(alone).then(0).when(together).then(pl.col("dur_ns") - shortest)
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
    known = order[((many > 1) & ~_queued(calls, peers))[order]]
    ahead[known] = _growth((taken - typical)[known], rank[known])
    return calls.with_columns(excess_ns=pl.Series(ahead), peers=pl.Series(many))


def so_far(calls: pl.DataFrame) -> Floats:
    """What each rank had taken by itself when it came to each of the calls."""
    rank, order = calls["rank"].to_numpy(), _in_order(calls)
    taken = np.empty(calls.height)
    taken[order] = _summed(calls["own_ns"].to_numpy().astype(np.float64)[order], rank[order])
    return taken


def mended(calls: pl.DataFrame, late: Ints) -> Floats:
    """What ranks would have taken so far, had those who are late taken what the others took.

    `calls` are in order of rank and start.
    """
    taken, peers, rank = so_far(calls), _peers(calls), calls["rank"].to_numpy()
    typical, many = peer_median(taken, peers, of=~np.isin(rank, late))
    known = (many > 0) & ~_queued(calls, peers)
    better = taken.copy()
    for one in late:
        rows = np.flatnonzero(rank == one)
        seen = rows[known[rows]]
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


def _queued(calls: pl.DataFrame, peers: Ints) -> Flags:
    """Calls on a stream that start when the one before them is over, here or for many peers.

    The rank was ready for it before, and nobody knows when.  Threads of the host come late as well,
    but what a rank has taken by then is known from what its device did meanwhile.
    """
    queued = queued_behind(calls, on_host=False).is_not_null().to_numpy()
    share = np.bincount(peers, queued) / np.maximum(np.bincount(peers), 1)
    return np.asarray(queued | (share[peers] > _MANY))


def _summed(values: Floats, part: Ints) -> Floats:
    """Running sums that start anew with every part; parts lie together."""
    sums = np.cumsum(values)
    first = np.flatnonzero(np.diff(part, prepend=part[:1] - 1))
    before = np.repeat(sums[first] - values[first], np.diff(first, append=len(values)))
    return np.asarray(sums - before)


def _growth(sums: Floats, part: Ints) -> Floats:
    grown = np.diff(sums, prepend=0.0)
    first = np.flatnonzero(np.diff(part, prepend=part[:1] - 1))
    grown[first] = sums[first]
    return grown


def _peers(calls: pl.DataFrame) -> Ints:
    """A number for calls that are the same thing to different ranks that do the same work."""
    uneven = pl.col("collective").is_in(UNEVEN).fill_null(value=False)
    few = calls.group_by("alike").agg(few=pl.col("rank").n_unique() < 2).filter("few")["alike"]
    told = calls.select(
        "collective",
        "toward",
        "group_size",
        "step",
        size=pl.when(~uneven).then("size_bytes"),
        # Too few of a sort: then everybody is a peer.
        alike=pl.when(~pl.col("alike").is_in(few.implode())).then("alike"),
    )
    kind = joint(*(numbered(column) for column in told))
    turns = Groups.of(joint(numbered(calls["rank"]), kind))
    return joint(kind, turns.places)


def with_blame(calls: pl.DataFrame) -> pl.DataFrame:
    """Collectives with `held_up_ns`: how long the rank, by its own doing, let the others wait.

    Only who comes last holds the others up, and only as far as it took longer than its peers did:
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
    held = np.zeros(calls.height)
    late = np.zeros(int(calls["rank"].to_numpy().max(initial=0)) + 1)
    for rows, rank in _turns(calls):
        late[rank] = np.maximum(late[rank] + excess[rows], 0.0)
        held[rows] = np.where(last[rows], np.minimum(late[rank], typical[rows]), 0.0)
        eased = np.where(last[rows], held[rows], wait[rows])
        late[rank] = np.maximum(late[rank] - eased, 0.0)
    return calls.with_columns(held_up_ns=pl.Series(held))


def _turns(calls: pl.DataFrame) -> Iterator[tuple[Ints, Ints]]:
    """Rows of the first collective of each rank, of the second, and so on; and their ranks."""
    rank, start = calls["rank"].to_numpy(), calls["start_ns"].to_numpy()
    order = np.lexsort((start, rank))
    _, first, many = np.unique(rank[order], return_index=True, return_counts=True)
    for turn in range(int(many.max(initial=0))):
        rows = order[first[many > turn] + turn]
        yield rows, rank[rows]


# Matched collectives by what they are: who waits how long, and how fast data moves.

MATCHED_SCHEMA = {
    "group_kind": pl.String(),
    "group": pl.String(),
    "collective": pl.String(),
    "dtype": pl.String(),
    "size_bytes": pl.Int64(),
    "group_size": pl.Int64(),
    "groups": pl.Int64(),
    "ranks": pl.Int64(),
    "calls": pl.Int64(),
    "wait_mean_ns": pl.Float64(),
    "wait_max_ns": pl.Float64(),
    "transfer_mean_ns": pl.Float64(),
    "algorithm_bytes_per_s": pl.Float64(),
    "bus_bytes_per_s": pl.Float64(),
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
    known = calls.join(kinds, on=GROUP_KEY, how="left", nulls_equal=True)
    matches = _matches(known)
    only = pl.when(pl.struct(GROUP_KEY).n_unique() == 1).then(pl.col("group").first())
    found = matches.group_by(_KIND, maintain_order=True).agg(
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
    ranks = known.group_by(_KIND).agg(ranks=pl.col("rank").n_unique())
    return (
        found.join(ranks, on=_KIND, nulls_equal=True, maintain_order="left")
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
