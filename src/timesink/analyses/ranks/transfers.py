"""How long collectives take to move their data, and which groups take longer than others do."""

from __future__ import annotations

import polars as pl

from timesink.analyses.ranks.matching import PAIRS
from timesink.analyses.statistics.moments import NORMAL

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
