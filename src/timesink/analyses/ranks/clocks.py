"""How far the clocks of ranks are apart, from collectives that end for everybody at once.

The end of a synchronising collective is one moment, read from several clocks.  With `offset` and
`drift` of each clock unknown, and the moments themselves, this is a graph of clocks tied by
collectives: ranks of different groups are tied through those that are in both.  Ends that are odd
count less (iterated weights: least absolute deviations), so that a late end fools nobody.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from timesink.analyses.ranks.clock_solving import Ends, Solved, islands, jackknife, solve
from timesink.analyses.ranks.matching import SYNCHRONISING
from timesink.model.arrays import Floats, Ints

CLOCK_SCHEMA = {
    "rank": pl.Int64(),
    "clock": pl.Int64(),
    "offset_ns": pl.Float64(),
    "uncertainty_ns": pl.Float64(),
    "drift_ppm": pl.Float64(),
    "drift_uncertainty_ppm": pl.Float64(),
    "ends": pl.Int64(),
    "tied_to": pl.Int64(),
    "middle_ns": pl.Int64(),
}
"""`offset_ns` is how far the clock is ahead in the middle of the run, which is at `middle_ns`;
`ends` is from how many collectives that was found.  Offsets are against the others with the same
number in `tied_to`."""

_FEWEST_FOR_DRIFT = 8
_MOST_ENDS = 40_000


def align_clocks(calls: pl.DataFrame, hosts: Mapping[int, str | None]) -> pl.DataFrame:
    """Offset and drift of the clock of every rank, with uncertainties: rows of `CLOCK_SCHEMA`.

    `calls` are matched collectives.  Ranks of a known host share its clock.
    """
    # A clock for each host; ranks of which nobody knows the host have their own.
    numbers: dict[str, int] = {}
    keys = {
        rank: f"rank {rank}" if host is None else f"host {host}" for rank, host in hosts.items()
    }
    clock_of = {rank: numbers.setdefault(key, len(numbers)) for rank, key in keys.items()}
    chosen = calls.filter(
        pl.col("collective").is_in(SYNCHRONISING), pl.len().over("match") > 1
    ).select("rank", "match", "end_ns")
    clocks = max(clock_of.values(), default=-1) + 1
    chosen = _enough(chosen)
    if chosen.is_empty():
        return _table(clock_of, np.zeros((clocks, 2)), np.full((clocks, 2), np.nan))
    epoch = int(chosen["end_ns"].min())  # type: ignore[arg-type]
    end = (chosen["end_ns"] - epoch).to_numpy().astype(np.float64)
    match = np.unique(chosen["match"].to_numpy(), return_inverse=True)[1].astype(np.int64)
    clock = _looked_up(chosen["rank"].to_numpy(), clock_of)
    mean = np.bincount(match, end) / np.bincount(match)
    middle, half = (mean.max() + mean.min()) / 2, max((mean.max() - mean.min()) / 2, 1.0)
    ends = Ends(clock, match, end - mean[match], (mean[match] - middle) / half)
    drifts = len(mean) >= _FEWEST_FOR_DRIFT
    nothing = Solved(np.zeros((clocks, 2)), np.ones(len(end)))
    found = solve(ends, nothing, drifts=drifts)
    spread = jackknife(ends, found, drifts=drifts)
    return _table(clock_of, found.clocks, spread, ends, half=half, middle_ns=epoch + int(middle))


def corrected(times: pl.Expr, clocks: pl.DataFrame) -> pl.Expr:
    """Times of rows with a `rank`, on the common clock."""

    def of_clock(column: str) -> pl.Expr:
        return pl.col("rank").replace_strict(
            clocks["rank"], clocks[column], default=0.0, return_dtype=pl.Float64
        )

    ahead = of_clock("offset_ns")
    if (clocks["drift_ppm"] != 0).any():
        ahead += of_clock("drift_ppm") / 1e6 * (times - clocks["middle_ns"][0])
    return times - ahead.round().cast(pl.Int64)


def _enough(ends: pl.DataFrame) -> pl.DataFrame:
    """Every so many-th collective of each group of ranks, where there are more than help."""
    often = -(-ends.height // _MOST_ENDS)
    if often < 2:
        return ends
    who = pl.col("rank").sort().hash().sum()
    matches = ends.group_by("match").agg(who=who, end=pl.col("end_ns").min()).sort("end")
    turn = pl.int_range(pl.len()).over("who")
    return ends.join(matches.filter(turn % often == 0), on="match", how="semi")


# -- clocks ----------------------------------------------------------------------------------------


def _looked_up(rank: Ints, clock_of: Mapping[int, int]) -> Ints:
    known = np.array(sorted(clock_of), dtype=np.int64)
    clock = np.array([clock_of[each] for each in known.tolist()], dtype=np.int64)
    return clock[np.searchsorted(known, rank)]


# -- result ----------------------------------------------------------------------------------------


def _table(
    clock_of: Mapping[int, int],
    found: Floats,
    spread: Floats,
    ends: Ends | None = None,
    *,
    half: float = 1.0,
    middle_ns: int = 0,
) -> pl.DataFrame:
    clock = np.array(list(clock_of.values()), dtype=np.int64)
    if ends is None:
        tied, many = np.arange(len(found)), np.zeros(len(found), dtype=np.int64)
    else:
        tied, many = islands(ends, len(found)), np.bincount(ends.clock, minlength=len(found))
    return pl.DataFrame(
        {
            "rank": list(clock_of),
            "clock": clock,
            "offset_ns": found[clock, 0],
            "uncertainty_ns": spread[clock, 0],
            "drift_ppm": found[clock, 1] / half * 1e6,
            "drift_uncertainty_ppm": spread[clock, 1] / half * 1e6,
            "ends": many[clock],
            "tied_to": tied[clock],
            "middle_ns": np.full(len(clock), middle_ns),
        },
        schema=CLOCK_SCHEMA,
    )
