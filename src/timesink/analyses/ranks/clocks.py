"""How far the clocks of ranks are apart, from collectives that end for everybody at once.

The end of a synchronising collective is one moment, read from several clocks.  With `offset` and
`drift` of each clock unknown, and the moments themselves, this is a graph of clocks tied by
collectives: ranks of different groups are tied through those that are in both.  Ends that are odd
count less (iterated weights: least absolute deviations), so that a late end fools nobody.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace

from timesink.analyses.columns import stack_tables
from timesink.analyses.communication_calls import SYNCHRONISING
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.statistics.robust import scaled_mad
from timesink.analyses.thresholds import ClocksLimits
from timesink.model.arrays import ranks_of
from timesink.model.intervals import Flags, Floats, Ints

# Solving for clocks: sparse least squares by conjugate gradients, weights by residuals.

_ROUNDS = 12
_ROUNDS_AGAIN = 3
"""From clocks and weights that are nearly right."""
_BLOCKS = 8
_NEAR_NS = 0.01


class Ends(msgspec.Struct, frozen=True, eq=False):
    """One row per rank and collective."""

    clock: Ints
    match: Ints
    end: Floats
    at: Floats
    """When, in units of half the run, from -1 to 1; the same for all rows of a match."""


def islands(ends: Ends, clocks: int) -> Ints:
    """The lowest number among the clocks that each is tied to, through whatever collectives."""
    lowest = np.arange(clocks)
    matches = int(ends.match.max()) + 1
    while True:
        of_match = np.full(matches, clocks)
        np.minimum.at(of_match, ends.match, lowest[ends.clock])
        after = lowest.copy()
        np.minimum.at(after, ends.clock, of_match[ends.match])
        after = after[after]
        if np.array_equal(after, lowest):
            return lowest
        lowest = after


def solve(
    ends: Ends, solution: Floats, weight: Floats, *, drifts: Flags | bool, rounds: int = _ROUNDS
) -> tuple[Floats, Floats]:
    """The clocks that leave the least absolute residuals, and how much each end counted.

    A clock has an offset and, where it may have one, a drift (per half run).
    """
    for _ in range(rounds):
        solution = _least_squares(ends, weight, solution, drifts=drifts)
        left = _residuals(ends, solution, weight)
        scale = _scale(left)
        weight = scale / np.maximum(np.abs(left), 0.5 * scale)
    return solution, weight


def _scale(left: Floats) -> float:
    return max(scaled_mad(left), ClocksLimits.min_scale_ns)


def _predict_ends(ends: Ends, solution: Floats) -> Floats:
    return np.asarray(solution[ends.clock, 0] + solution[ends.clock, 1] * ends.at)


def _less_moment(ends: Ends, values: Floats, weight: Floats) -> Floats:
    """Without the weighted mean over the rows of the same collective."""
    total = np.bincount(ends.match, weight)
    mean = np.bincount(ends.match, weight * values) / np.maximum(total, 1e-300)
    return np.asarray(values - mean[ends.match])


def _residuals(ends: Ends, solution: Floats, weight: Floats) -> Floats:
    return _less_moment(ends, ends.end - _predict_ends(ends, solution), weight)


def _least_squares(ends: Ends, weight: Floats, guess: Floats, *, drifts: Flags | bool) -> Floats:
    """Conjugate gradients on the normal equations; moments of collectives are eliminated."""
    clocks = len(guess)

    def gathered(left: Floats) -> Floats:
        pulled = weight * left
        by_offset = np.bincount(ends.clock, pulled, clocks)
        by_drift = np.bincount(ends.clock, pulled * ends.at, clocks) * drifts
        return np.stack([by_offset, by_drift], axis=1)

    size = np.stack(
        [
            np.bincount(ends.clock, weight, clocks),
            np.bincount(ends.clock, weight * ends.at**2, clocks),
        ],
        axis=1,
    )
    scaled = np.where(size > 0, 1 / np.maximum(size, 1e-300), 0.0)
    solution = guess.copy()
    rest = gathered(_residuals(ends, solution, weight))
    ahead = scaled * rest
    step = ahead.copy()
    strength = float((rest * ahead).sum())
    for _ in range(4 * clocks + 20):
        if strength <= 0 or np.abs(ahead).max() < _NEAR_NS:
            break
        bent = gathered(_less_moment(ends, _predict_ends(ends, step), weight))
        along = float((step * bent).sum())
        if along <= 0:
            break
        solution += strength / along * step
        rest -= strength / along * bent
        ahead = scaled * rest
        before, strength = strength, float((rest * ahead).sum())
        step = ahead + strength / before * step
    # Only differences are known: those of an island are told against its median.
    island = islands(ends, clocks)
    centred = solution.copy()
    for number in np.unique(island):
        rows = island == number
        centred[rows, 0] -= np.median(solution[rows, 0])
        # Clocks that keep no drift are what the drift of others is told against.
        if np.all((island != number) | drifts):
            centred[rows, 1] -= np.median(solution[rows, 1])
    return centred


def jackknife(ends: Ends, solution: Floats, weight: Floats, *, drifts: Flags | bool) -> Floats:
    """Standard errors, from leaving out one block of collectives after the other."""
    matches = int(ends.match.max()) + 1
    blocks = min(_BLOCKS, matches)
    many = np.bincount(ends.clock, minlength=len(solution))
    scale = _scale(_residuals(ends, solution, weight))
    # No estimate is better than what so many ends can tell.
    least = np.stack([scale / np.sqrt(np.maximum(many, 1))] * 2, axis=1)
    if blocks < 3:
        return least * 2
    # Neighbours in time go to different blocks, so that every one spans the run.
    at = np.zeros(matches)
    at[ends.match] = ends.at
    turn = ranks_of(at) % blocks
    tries = []
    for block in range(blocks):
        rows = turn[ends.match] != block
        subset = Ends(ends.clock[rows], ends.match[rows], ends.end[rows], ends.at[rows])
        tries.append(solve(subset, solution, weight[rows], drifts=drifts, rounds=3)[0])
    away = np.stack(tries) - solution
    spread: Floats = np.sqrt((blocks - 1) / blocks * (away**2).sum(axis=0))
    return np.maximum(spread, least)


CLOCK_SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("rank", "clock"), pl.Int64()),
    **dict.fromkeys(("offset_ns", "uncertainty_ns"), pl.Float64()),
    **dict.fromkeys(("drift_ppm", "drift_uncertainty_ppm"), pl.Float64()),
    **dict.fromkeys(("ends", "tied_to", "middle_ns"), pl.Int64()),
}
"""`offset_ns` is how far the clock is ahead in the middle of the run, which is at `middle_ns`;
`ends` is from how many collectives that was found.  Offsets are against the others with the same
number in `tied_to`.  A drift is NaN where the recording is too short to tell it, an uncertainty
where clocks are left as they were recorded."""

_MAX_ENDS = 40_000


def align_clocks(calls: pl.DataFrame, hosts: Mapping[int, str | None]) -> pl.DataFrame:
    """Offset and drift of the clock of every rank, with uncertainties: rows of `CLOCK_SCHEMA`.

    `calls` are matched collectives.  Ranks of a known host share its clock.
    """
    # A clock for each host; ranks of which nobody knows the host have their own.
    numbers: dict[str | int, int] = {}
    clock_of = {
        rank: numbers.setdefault(rank if host is None else host, len(numbers))
        for rank, host in hosts.items()
    }
    chosen = calls.filter(
        pl.col("collective").is_in(SYNCHRONISING), pl.len().over("match") > 1
    ).select("rank", "match", "end_ns")
    clocks, often = len(numbers), -(-chosen.height // _MAX_ENDS)
    if often > 1:
        # Every so many-th collective of each group of ranks, where there are more than help.
        who = pl.col("rank").sort().hash().sum()
        matches = chosen.group_by("match").agg(who=who, end=pl.col("end_ns").min()).sort("end")
        turn = pl.int_range(pl.len()).over("who")
        chosen = chosen.join(matches.filter(turn % often == 0), on="match", how="semi")
    solution, spread = np.zeros((clocks, 2)), np.full((clocks, 2), np.nan)
    drift_known = np.ones(clocks, dtype=np.bool_)
    tied, many = np.arange(clocks), np.zeros(clocks, dtype=np.int64)
    half, middle_ns = 1.0, 0
    if not chosen.is_empty():
        epoch = int(chosen["end_ns"].min())  # type: ignore[arg-type]
        end = (chosen["end_ns"] - epoch).to_numpy().astype(np.float64)
        match = np.unique(chosen["match"].to_numpy(), return_inverse=True)[1].astype(np.int64)
        clock = np.array([clock_of[rank] for rank in chosen["rank"].to_list()], dtype=np.int64)
        mean = np.bincount(match, end) / np.bincount(match)
        middle, half = (mean.max() + mean.min()) / 2, max((mean.max() - mean.min()) / 2, 1.0)
        ends = Ends(clock, match, end - mean[match], (mean[match] - middle) / half)
        drifts = len(mean) >= ClocksLimits.min_for_drift
        solution, weight = solve(ends, solution, np.ones(len(end)), drifts=drifts)
        spread = jackknife(ends, solution, weight, drifts=drifts)
        tied, many = islands(ends, clocks), np.bincount(clock, minlength=clocks)
        if drifts:
            solution, spread, drift_known, tied = _believable(
                ends, (solution, spread, weight), tied, 1e6 / half
            )
        middle_ns = epoch + int(middle)
    of_rank = np.array(list(clock_of.values()), dtype=np.int64)
    return pl.DataFrame(
        {
            "rank": list(clock_of),
            "clock": of_rank,
            "offset_ns": solution[of_rank, 0],
            "uncertainty_ns": spread[of_rank, 0],
            "drift_ppm": np.where(drift_known, solution[:, 1] / half * 1e6, np.nan)[of_rank],
            "drift_uncertainty_ppm": np.where(drift_known, spread[:, 1] / half * 1e6, np.nan)[
                of_rank
            ],
            "ends": many[of_rank],
            "tied_to": tied[of_rank],
            "middle_ns": np.full(len(of_rank), middle_ns),
        },
        schema=CLOCK_SCHEMA,
    )


def _believable(
    ends: Ends, solved: tuple[Floats, Floats, Floats], tied: Ints, ppm: float
) -> tuple[Floats, Floats, Flags, Ints]:
    """Clocks with the drifts that they can have, and surely have; `ppm` is what a unit of drift is.

    `solved` are clocks, their errors and how much each end counted.  Returned are clocks, their
    errors, whose drift is known, and what clocks are tied to.  A drift that may as well be none is
    none.  Where ends move apart faster than clocks can, they are not ends of the same collectives:
    such clocks stay as they were recorded.
    """
    solution, spread, weight = solved
    drift, error = np.abs(solution[:, 1]) * ppm, ClocksLimits.certain * spread[:, 1] * ppm
    impossible = (drift - error > ClocksLimits.max_drift_ppm) | (
        drift > ClocksLimits.far_beyond * ClocksLimits.max_drift_ppm
    )
    is_known = np.asarray(error <= ClocksLimits.max_drift_ppm)
    is_sure = is_known & (drift > error)
    if not is_sure.all():
        # Once more, without the drifts that are none.
        guess = np.where(is_sure[:, None], solution, solution * [1.0, 0.0])
        solution, _ = solve(ends, guess, weight, drifts=is_sure, rounds=_ROUNDS_AGAIN)
    lost = np.isin(tied, tied[impossible])
    solution, spread = solution.copy(), spread.copy()
    solution[lost], spread[lost] = 0.0, np.nan
    return solution, spread, is_known & ~lost, np.where(lost, np.arange(len(tied)), tied)


def correct_times(times: pl.Expr, clocks: pl.DataFrame) -> pl.Expr:
    """Times of rows with a `rank`, on the common clock."""

    def of_clock(column: str) -> pl.Expr:
        return pl.col("rank").replace_strict(
            clocks["rank"], clocks[column], default=0.0, return_dtype=pl.Float64
        )

    ahead = of_clock("offset_ns")
    if (clocks["drift_ppm"].fill_nan(0.0) != 0).any():
        ahead += of_clock("drift_ppm").fill_nan(0.0) / 1e6 * (times - clocks["middle_ns"][0])
    return times - ahead.round().cast(pl.Int64)


# One name for what is the same step: ranks that were started anew count from elsewhere.


def with_common_steps(
    ranks: Mapping[int, RankSummary], calls: pl.DataFrame, clocks: pl.DataFrame
) -> tuple[Mapping[int, RankSummary], pl.DataFrame]:
    """Ranks and their collectives, with steps named as the rank with most of them names these.

    Nothing changes where most ranks have most names in common.
    """
    steps = stack_tables({rank: summary.steps for rank, summary in ranks.items()}).filter(
        "complete"
    )
    in_common = (pl.col("rank").n_unique().over("step") * 2 > len(ranks)).mean()
    if steps.is_empty() or steps.select(in_common).item() > 0.5:
        return ranks, calls
    # Rank, step and the step of the leading rank in which its middle lies, on the common clock.
    middle = (pl.col("start_ns") + pl.col("end_ns")) // 2
    timed = steps.select(
        "rank",
        "step",
        start=correct_times(pl.col("start_ns"), clocks),
        at=correct_times(middle, clocks),
    )
    leading = steps.group_by("rank").len().sort("len", "rank", descending=[True, False])["rank"][0]
    lead = timed.filter(pl.col("rank") == leading).sort("start")
    place = np.searchsorted(lead["start"].to_numpy(), timed["at"].to_numpy(), side="right") - 1
    has_common = place >= 0
    common = lead["step"].gather(np.maximum(place, 0))
    named = timed.select("rank", "step", common=common).filter(pl.Series(has_common))
    renamed = {
        rank: replace(
            summary, steps=_rename_steps(summary.steps.with_columns(rank=rank), named).drop("rank")
        )
        for rank, summary in ranks.items()
    }
    return renamed, _rename_steps(calls, named)


def _rename_steps(table: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    order = table.columns
    rows = table.join(named, on=["rank", "step"], how="left", maintain_order="left")
    return rows.with_columns(step=pl.coalesce("common", "step")).select(order)
