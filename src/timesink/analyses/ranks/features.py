"""What sets a rank apart from the ranks that do the same work: a few times per step, as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from timesink.analyses.arrays import stacked
from timesink.analyses.ranks.lateness import Panel
from timesink.analyses.ranks.matching import complete_transfers, slow_groups
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.statistics.means import NORMAL
from timesink.model.arrays import Flags, Floats, Ints
from timesink.model.findings import Finding

# Why kernels of a rank take longer than elsewhere: another pace, or another amount of work.

_ENOUGH = 64
"""Ranks are enough for a median."""
_AT_ONCE = 256
_AMOUNTS = ("calls", "dur_ns", "work")


def pace_and_amount(ranks: Mapping[int, RankSummary], numbers: list[int]) -> tuple[Floats, Floats]:
    """By rank, what kernels take longer for the same work, and what they take for more work.

    Both in nanoseconds per step, beside the median of the ranks.
    """
    some = numbers[:: -(-len(numbers) // _ENOUGH)]
    many = len(some)
    # Who lacks a kernel has none of it.
    half = pl.len() * 2 > many
    usual = (
        _per_step(ranks, some)
        .group_by("function")
        .agg(
            pl.when(half).then(pl.col(each).median()).otherwise(0.0).alias(f"peer_{each}")
            for each in _AMOUNTS
        )
    )
    expected_ns = float(usual["peer_dur_ns"].sum())
    given = pl.when(pl.col("peer_work") > 0).then("work").otherwise("calls")
    peers = pl.when(pl.col("peer_work") > 0).then("peer_work").otherwise("peer_calls")
    expected = pl.col("peer_dur_ns") * given / pl.when(peers > 0).then(peers)
    found: dict[int, tuple[float, float]] = {}
    for first in range(0, len(numbers), _AT_ONCE):
        sums = (
            _per_step(ranks, numbers[first : first + _AT_ONCE])
            .join(usual, on="function", how="left")
            .with_columns(expected=pl.coalesce(expected, "dur_ns"))
            .group_by("rank")
            .agg(pl.col("dur_ns").sum(), pl.col("expected").sum())
        )
        found |= {
            rank: (dur - expect, expect - expected_ns) for rank, dur, expect in sums.iter_rows()
        }
    none = (0.0, 0.0)
    both = np.array([found.get(rank, none) for rank in numbers], dtype=np.float64)
    return both[:, 0], both[:, 1]


def _per_step(ranks: Mapping[int, RankSummary], numbers: list[int]) -> pl.DataFrame:
    """Kernels of some ranks, what they did in a step."""
    steps = [max(int(ranks[rank].steps["complete"].sum()), 1) for rank in numbers]
    many = pl.DataFrame({"rank": numbers, "steps": steps}, schema_overrides={"rank": pl.Int64})
    return (
        stacked({rank: ranks[rank].functions for rank in numbers})
        .filter(pl.col("place") == "kernel")
        .join(many, on="rank", maintain_order="left")
        .select(
            "rank",
            "function",
            *(pl.col(name).cast(pl.Float64) / pl.col("steps") for name in _AMOUNTS),
        )
    )


# Transfers that take longer than those of other groups, and the ranks these have in common.

_NEARLY = 0.9
"""Of what the rank loses that loses most: who loses as much is told with it."""
_MOST_TURNS = 32


def transfer_excess(panel: Panel, calls: pl.DataFrame) -> Floats:
    """Time per step that collectives of a rank take longer than those of other groups.

    Of all ranks of slow groups those that lose most are told first; groups with one of them are
    explained by it, and the others in these lose nothing by themselves.
    """
    found = np.zeros(len(panel.ranks))
    # By group and rank, what its slow transfers lose (`among`, `rank`, `lost`).
    met = complete_transfers(calls)
    more = (pl.col("typical_ns") - pl.col("usual_ns")) * pl.col("calls")
    slow = slow_groups(met).select("kind", "among", lost=more)
    members = met.select("among", "rank", "kind").unique()
    left = (
        members.join(slow, on=["kind", "among"]).group_by("among", "rank").agg(pl.col("lost").sum())
    )
    for _ in range(_MOST_TURNS):
        if left.is_empty():
            break
        lost = left.group_by("rank").agg(pl.col("lost").sum())
        most = lost.filter(pl.col("lost") >= _NEARLY * pl.col("lost").max())
        places = np.searchsorted(panel.ranks, most["rank"].to_numpy())
        found[places] = most["lost"].to_numpy() / max(len(panel.steps), 1)
        explained = left.filter(pl.col("rank").is_in(most["rank"].to_list()))["among"].unique()
        left = left.filter(~pl.col("among").is_in(explained.to_list()))
    return found


OF_A_STEP = ("loading", "host", "copies")
"""Features that are own time by source."""
FEATURES = ("pace", "amount", *OF_A_STEP, "transfer")
"""`pace` is what the same kernels take longer, `amount` what further work of kernels takes."""
BOTH_WAYS = ("pace", "amount")
"""Who does less of these is apart as well; who has less of the others waits for somebody."""
LEAST_SHARE = 0.015
"""Of a step: what is less than this sets nobody apart."""

_OUTLYING = 6.0
_FEWEST_ALIKE = 3
_FEW_PENALTY = 2.0
_AS_CLOSE = 0.003
"""Of a step: ranks within this are the same."""
_AMONG_ALL = ("pace", *OF_A_STEP)
"""Features in which ranks of unlike work can be compared."""
_ALSO = 0.5
"""What is at least this part of the largest difference of a rank sets it apart as well."""
_RARE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """One number per rank and feature, in nanoseconds per step more than its peers take."""

    ranks: Ints
    more: Mapping[str, Floats]
    odd: Mapping[str, Flags]
    """Where that is beyond noise."""
    own: Mapping[str, Floats]
    """What the rank takes itself: own time by source, and `kernels`."""
    step_ns: float

    @property
    def is_odd(self) -> Flags:
        """Which ranks anything sets apart."""
        return np.asarray(np.any(list(self.odd.values()), axis=0))

    @property
    def largest(self) -> Floats:
        """By rank, the largest of its differences that are beyond noise."""
        found: Floats = np.max(
            [np.where(self.odd[name], np.abs(self.more[name]), 0.0) for name in FEATURES], axis=0
        )
        return found

    def leading(self, place: int) -> tuple[tuple[str, bool], ...]:
        """What sets a rank apart, and whether it is more: its large differences alone."""
        there = {name: float(self.more[name][place]) for name in FEATURES if self.odd[name][place]}
        most = max(map(abs, there.values()), default=0.0)
        return tuple((name, more > 0) for name, more in there.items() if abs(more) >= _ALSO * most)


def features_of(ranks: Mapping[int, RankSummary], panel: Panel, calls: pl.DataFrame) -> Features:
    """Compare every rank with the ranks that make the same calls.

    Where these are fewer than three, all ranks are compared, in what unlike work has in common.
    """
    places = len(panel.ranks)
    more = {name: np.zeros(places) for name in FEATURES}
    odd = {name: np.zeros(places, dtype=np.bool_) for name in FEATURES}
    own = {source: step_mean(values) for source, values in panel.own.items()}
    for peers, judged, names in _peer_groups(panel):
        # Each feature of the peers, in nanoseconds per step; zero need not be usual.
        pace, amount = pace_and_amount(ranks, panel.ranks[peers].tolist())
        steps = {name: panel.own[name][peers] for name in OF_A_STEP}
        beyond = {
            "pace": pace,
            "amount": amount,
            **{name: step_mean(values - _middle(values)) for name, values in steps.items()},
        }
        for name in names:
            from_usual, noise = _scaled(beyond[name], _wobble(panel, name, peers), panel.step_ns)
            floor = max(_OUTLYING * noise, LEAST_SHARE * panel.step_ns)
            far = np.abs(from_usual) if name in BOTH_WAYS else from_usual
            here = np.isin(peers, judged)
            more[name][peers[here]] = from_usual[here]
            odd[name][peers[here]] = (far > floor * _few_penalty(len(peers)))[here]
    more["transfer"] = transfer_excess(panel, calls)
    odd["transfer"] = more["transfer"] > LEAST_SHARE * panel.step_ns
    return Features(panel.ranks, more, odd, own, panel.step_ns)


def with_stragglers(features: Features, stragglers: Sequence[Finding], steps: int) -> Features:
    """The same, with what sets stragglers apart: that they are late is proven already."""
    more = {name: values.copy() for name, values in features.more.items()}
    odd = {name: values.copy() for name, values in features.odd.items()}
    for each in stragglers:
        place = int(np.searchsorted(features.ranks, each.rank))
        if each.cause == "slow_link" and not features.is_odd[place]:
            more["transfer"][place] = each.cost_ns / max(steps, 1)
        first = max(FEATURES, key=lambda name: float(more[name][place]))
        if more[first][place] > LEAST_SHARE * features.step_ns:
            odd[first][place] = True
    return replace(features, more=more, odd=odd)


def _peer_groups(panel: Panel) -> Iterator[tuple[Ints, Ints, tuple[str, ...]]]:
    """Places that are compared, those of them that are judged so, and in which features."""
    _, role, many = np.unique(panel.alike, return_inverse=True, return_counts=True)
    for number, size in enumerate(many):
        if size >= _FEWEST_ALIKE or size == len(panel.ranks):
            alike = np.flatnonzero(role == number)
            yield alike, alike, ("amount", *_AMONG_ALL)
    few = np.flatnonzero(many[role] < min(_FEWEST_ALIKE, len(panel.ranks)))
    if len(few) and len(panel.ranks) >= _FEWEST_ALIKE:
        yield np.arange(len(panel.ranks)), few, _AMONG_ALL


def rare_roles(panel: Panel) -> Flags:
    """Which ranks make calls that few others make: a layout gives each role to many."""
    _, role, many = np.unique(panel.alike, return_inverse=True, return_counts=True)
    return np.asarray(many[role] * _RARE <= many.max(initial=0))


def _few_penalty(peers: int) -> float:
    """Of a few ranks nobody knows how they vary."""
    return 1 + _FEW_PENALTY / peers


def far_from_usual(values: Floats, role: Ints, step_ns: float) -> tuple[Floats, Flags]:
    """How far each value is from that of most ranks of its role, and whether that is beyond noise.

    Roles of fewer than three ranks are compared with everybody.
    """
    _, number, many = np.unique(role, return_inverse=True, return_counts=True)
    few = many[number] < _FEWEST_ALIKE
    more, odd = np.zeros(len(values)), np.zeros(len(values), dtype=np.bool_)
    for each in range(len(many)):
        own = number == each
        peers = np.ones(len(values), dtype=np.bool_) if few[own].any() else own
        from_usual, noise = _scaled(values[peers], 0.0, step_ns)
        floor = max(_OUTLYING * noise, LEAST_SHARE * step_ns) * _few_penalty(int(peers.sum()))
        more[own] = from_usual[own[peers]]
        odd[own] = np.abs(from_usual[own[peers]]) > floor
    return more, odd


# -- numbers ---------------------------------------------------------------------------------------


def _middle(values: Floats) -> Floats:
    """The median of every step."""
    known = np.isfinite(values).any(axis=0)
    middle = np.zeros(values.shape[1])
    if known.any():
        middle[known] = np.nanmedian(values[:, known], axis=0)
    return middle


def step_mean(values: Floats) -> Floats:
    """The mean over the steps a rank has; none is zero."""
    known = np.isfinite(values)
    return np.asarray(np.where(known, values, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1))


def _wobble(panel: Panel, name: str, peers: Ints) -> float:
    """How sure the mean of a rank is, by what it varies from step to step."""
    values = panel.own["kernels" if name in BOTH_WAYS else name][peers]
    if values.shape[1] < 2:
        return 0.0
    apart = np.abs(values - _middle(values) - step_mean(values - _middle(values))[:, None])
    known = apart[np.isfinite(apart)]
    return NORMAL * float(np.median(known)) / np.sqrt(values.shape[1]) if known.size else 0.0


def _scaled(values: Floats, wobble: float, step_ns: float) -> tuple[Floats, float]:
    """How far values are from the usual one, and how far that is by chance.

    The usual ones are the half that lies closest together, so that a half may be odd; of halves
    that are about as close the lower one, as of two ranks the slower is to be explained.
    """
    ordered = np.sort(values)
    half = -(-len(ordered) // 2)
    widths = ordered[half - 1 :] - ordered[: len(ordered) - half + 1]
    first = int(np.argmax(widths <= max(2 * float(widths.min()), _AS_CLOSE * step_ns)))
    usual = float(np.median(ordered[first : first + half]))
    return values - usual, max(NORMAL * float(widths[first]) / 2, wobble)
