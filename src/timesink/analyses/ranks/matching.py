"""Collectives of all ranks in one table: which are the same call, and which are missing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from timesink.analyses.communication.kinds import UNEVEN
from timesink.analyses.communication.matching import find_mismatches, match_calls
from timesink.analyses.ranks.summary import RankSummary
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
