"""Which ranks are late by their own doing, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from timesink.analyses.columns import stack_tables
from timesink.analyses.communication_calls import PAIRS
from timesink.analyses.ranks.own_time import HOST_PARTS, ON_DEVICE
from timesink.analyses.ranks.replay import WithoutRank
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.statistics.robust import scaled_mad, scaled_mads
from timesink.analyses.statistics.student_t import normal_p
from timesink.analyses.thresholds import LatenessLimits
from timesink.model.arrays import ranks_of
from timesink.model.intervals import Flags, Floats, Ints

# Numbers of all ranks side by side: one row per rank, one column per step.

SOURCES = {
    "kernels": ("kernel",),
    "copies": tuple(part for part in ON_DEVICE if part != "kernel"),
    "loading": ("data_loader",),
    "host": HOST_PARTS,
}
"""Where own time may come from."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Arrays are ranks x steps; NaN where a rank lacks a step."""

    ranks: Ints
    steps: tuple[str, ...]
    length: Floats
    delay: Floats
    """How long the rank let others wait by its own doing."""
    excess: Floats
    """What the rank itself took more than its peers."""
    time_by_source: Mapping[str, Floats]
    """Own time by source."""
    gap: Floats
    """The longest stretch without any work of the device."""
    roles: Ints
    """Ranks with the same number make the same calls."""

    @cached_property
    def step_ns(self) -> float:
        """How long a step is, usually."""
        return float(np.nanmedian(self.length)) if self.length.size else 0.0

    @property
    def run_ns(self) -> float:
        """How long all of the steps are together."""
        return self.step_ns * len(self.steps)

    def share_more(self, rank: int) -> float:
        """What a rank takes more by itself than most others do, as a part of what it takes."""
        self_time = np.nansum(
            np.stack([np.nan_to_num(values) for values in self.time_by_source.values()]),
            axis=(0, 2),
        )
        more = float(self_time[rank] - np.median(np.delete(self_time, rank)))
        return max(more, 0.0) / max(float(self_time[rank]), 1.0)

    def peers(self, rank: int, without: Flags) -> Ints:
        """Places of the ranks that do the same as one of them; of all where these are too few."""
        same = (self.roles == self.roles[rank]) & ~without
        same[rank] = False
        if same.sum() >= 2:
            return np.flatnonzero(same)
        candidates = ~without
        candidates[rank] = False
        return np.flatnonzero(candidates)


def panel_of(ranks: Mapping[int, RankSummary], calls: pl.DataFrame) -> Panel:
    """Lay summaries and blamed collectives out; steps count that most ranks have in full."""
    numbers = np.array(sorted(ranks), dtype=np.int64)
    steps = stack_tables({rank: summary.steps for rank, summary in ranks.items()}).filter(
        "complete"
    )
    common_steps = (
        steps.group_by("step")
        .agg(pl.col("rank").n_unique(), pl.col("start_ns").median())
        .filter(pl.col("rank") * 2 > len(numbers))
        .sort("start_ns")
    )
    names = common_steps["step"].to_list()
    row, column = pl.Series("rank", numbers), pl.Series("step", names, dtype=pl.String)

    def spread(table: pl.DataFrame, value: pl.Expr) -> Floats:
        grid = np.full((len(numbers), len(names)), np.nan)
        placed = (
            table.select("rank", "step", value=value.cast(pl.Float64))
            .join(row.to_frame().with_row_index("row"), on="rank")
            .join(column.to_frame().with_row_index("column"), on="step")
        )
        grid[placed["row"].to_numpy(), placed["column"].to_numpy()] = placed["value"].to_numpy()
        return grid

    summed = _sum_by_step(calls)
    role_of_rank = calls.group_by("rank").agg(pl.col("alike").first())
    roles = row.to_frame().join(role_of_rank, on="rank", how="left", maintain_order="left")["alike"]
    return Panel(
        ranks=numbers,
        steps=tuple(names),
        length=spread(steps, pl.col("end_ns") - pl.col("start_ns")),
        delay=np.nan_to_num(spread(summed, pl.col("held_up_ns"))),
        excess=np.nan_to_num(spread(summed, pl.col("excess_ns"))),
        time_by_source={
            source: spread(steps, pl.sum_horizontal(f"own_{part}_ns" for part in parts))
            for source, parts in SOURCES.items()
        },
        gap=spread(steps, pl.col("longest_gap_ns")),
        roles=roles.fill_null(-1).to_numpy(),
    )


def _sum_by_step(calls: pl.DataFrame) -> pl.DataFrame:
    """What each rank held up and took more in each step.

    Who waits for a pair has time left in a pipeline, as a rule: of that counts what arrives where
    copies of a stage meet, who would all come at once if nobody was late.
    """
    pair = pl.col("collective").is_in(PAIRS).fill_null(value=False)
    meets = (
        calls.filter(~pair, pl.col("members") > 2, pl.col("alike").n_unique().over("match") == 1)
        .group_by("step", "match")
        .agg(pl.col("wait_ns").median())
        .group_by("step")
        .agg(most=pl.col("wait_ns").max())
    )
    delay = pl.col("held_up_ns")
    sums = calls.group_by("rank", "step").agg(
        pl.col("excess_ns").sum(),
        in_pairs=delay.filter(pair).sum(),
        held_up_ns=delay.filter(~pair).sum(),
    )
    arrived = pl.min_horizontal("in_pairs", pl.col("most").fill_null(pl.col("in_pairs")))
    return sums.join(meets, on="step", how="left").with_columns(held_up_ns=delay + arrived)


_BEYOND, _FAR_BEYOND = 3.0, 10.0
"""The same for a rank that holds others up: in many steps, and in few."""


def late_ranks(panel: Panel, what_if: WithoutRank) -> Flags:
    """Which ranks hold others up, as a mask over the panel's rows."""
    late = _is_holding_up(panel)
    least = least_share(len(panel.ranks)) * panel.run_ns
    slow = always_slow(panel)
    usual_delay = panel.delay[~slow].max(axis=0, initial=0.0).mean()
    noise = max(usual_delay, LatenessLimits.noise_floor * panel.step_ns) * len(panel.steps)
    # How steady a rank is needs no measure of noise: it only has to cost something.
    for suspects, needed in (
        (slow, max(least, LatenessLimits.times_noise * noise)),
        (steadily_slow(panel), least),
    ):
        # Ranks that are slow together share the blame: who of them comes last is chance.
        if late[suspects].all():
            continue
        cost = float(panel.delay[suspects].sum())
        if what_if.score is not None:
            cost = what_if.score.cost_together(panel.ranks[suspects | late])
        if cost >= needed:
            late = late | suspects
    return late


def least_share(ranks: int) -> float:
    """What a rank must cost of the run to be worth a word: fewer ranks tell less what is usual."""
    return LatenessLimits.min_share * min(max(LatenessLimits.enough_ranks / ranks, 1.0), 2.0)


def _is_holding_up(panel: Panel) -> Flags:
    """Those who held up more, in several steps, than anybody who held up less than they did."""
    cost = panel.delay.sum(axis=1)
    order = np.argsort(-cost, kind="stable")
    floor = LatenessLimits.noise_floor * panel.step_ns
    most = max(1, int(LatenessLimits.max_odd_share * len(order)))
    passed = 0
    for place, rank in enumerate(order[:most]):
        below = panel.delay[order[place + 1 :]].max(axis=0, initial=0.0)
        late = panel.delay[rank] > LatenessLimits.times_noise * max(float(np.median(below)), floor)
        noise = LatenessLimits.times_noise * max(float(below.mean()), floor) * int(late.sum())
        share = float(panel.delay[rank][late].sum()) / panel.run_ns
        needed = least_share(len(panel.ranks))
        if late.sum() < min(LatenessLimits.min_steps, len(panel.steps)):
            needed = max(needed, LatenessLimits.min_share_at_once)
        if share >= needed and share * panel.run_ns >= noise:
            passed = place + 1
    holds_up = np.zeros(len(order), dtype=np.bool_)
    holds_up[order[:passed]] = True
    return _beyond_chance(panel, holds_up)


def _beyond_chance(panel: Panel, late: Flags) -> Flags:
    """Of ranks that hold others up, those that took more by themselves than others vary by.

    Who is late so seldom that it may have been any other rank must have taken very much more.
    """
    usual = panel.excess[~late]
    spread = scaled_mad(usual, float(np.median(usual))) if late.any() else 0.0
    noise = max(spread, LatenessLimits.noise_floor * panel.step_ns)
    beyond = late.copy()
    for rank in np.flatnonzero(late).tolist():
        steps = late_steps(panel.delay[rank], panel.step_ns)
        often = int(steps.sum())
        seldom = len(late) ** (1.0 - often) > LatenessLimits.any_other
        took = float(panel.excess[rank][steps].sum()) / max(often, 1) ** 0.5
        beyond[rank] = took >= (_FAR_BEYOND if seldom else _BEYOND) * noise
    return beyond


def always_slow(panel: Panel) -> Flags:
    """Ranks whose own work takes longer than that of their peers in most of the steps."""
    usual = np.median(panel.excess, axis=1)
    wobble = scaled_mads(panel.excess, usual[:, None], axis=1)
    chance = float(np.median(wobble)) / np.sqrt(max(len(panel.steps), 1))
    sides, ordered = [usual], np.sort(usual)
    if len(ordered) >= LatenessLimits.min_to_part:
        # With half of the ranks slow, the middle of all is where nobody is: then those count that
        # are below the widest gap between any two.
        least = int(np.ceil(len(ordered) * (1 - LatenessLimits.max_odd_share)))
        widest = least - 1 + int(np.argmax(np.diff(ordered[least - 1 :])))
        sides.append(ordered[: widest + 1])
    for side in sides:
        middle = float(np.median(side))
        noise = max(scaled_mad(side, middle), chance)
        apart = usual - middle > max(
            LatenessLimits.outlying * noise, LatenessLimits.min_share * panel.step_ns
        )
        if apart.any() and apart.sum() <= LatenessLimits.max_odd_share * len(apart):
            return np.asarray(apart)
    return np.zeros(len(usual), dtype=np.bool_)


def steadily_slow(panel: Panel) -> Flags:
    """Ranks that stand so high among all, by what they take, in so many steps that it is no chance.

    By chance every place is as likely in every step, however much and in whatever way times vary.
    """
    ranks, steps = panel.excess.shape
    place = (ranks_of(panel.excess, axis=0) + 0.5) / ranks
    spread = np.sqrt((1 - 1 / ranks**2) / 12 / steps)
    above = (place.mean(axis=1) - 0.5) / spread
    chance = np.array([0.5 * ranks * normal_p(height) for height in above.tolist()])
    much = np.median(panel.excess, axis=1) > LatenessLimits.min_share * panel.step_ns
    return np.asarray((chance < LatenessLimits.chance) & much)


def late_steps(delay: Floats, step_ns: float) -> Flags:
    """In which steps a rank was late: beyond what needs no word, and much of its worst."""
    return np.asarray(delay > max(0.005 * step_ns, 0.25 * float(delay.max(initial=0.0))))
