"""Matched collectives by what they are: who waits how long, and how fast data moves."""

from __future__ import annotations

import polars as pl

from timesink.analyses.communication.bandwidth import bus_share, per_second, volume
from timesink.analyses.communication.kinds import ONE_SIDED
from timesink.analyses.ranks.groups import GROUP_KEY

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
