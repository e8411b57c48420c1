"""Groups of ranks: those that are as most of their kind, and odd ones by what sets them apart.

What sets a rank apart from the ranks that do the same work are a few times per step, as numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.ranks.analysis import RanksAnalysis, cost_together
from timesink.analyses.ranks.causes import RankWork, longer, some, with_expected
from timesink.analyses.ranks.collectives import complete_transfers, slow_groups
from timesink.analyses.ranks.lateness import Panel
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.statistics.robust import scaled_mad, shortest_half
from timesink.analyses.thresholds import RankClustersLimits, RobustLimits
from timesink.model import units
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.units import brief_ns, ranges_of

_AT_ONCE = 256


def pace_and_amount(ranks: Mapping[int, RankSummary], places: Ints) -> tuple[Floats, ...]:
    """By rank, what kernels take longer for the same work, and what they take for more work.

    Both in nanoseconds per step, beside the median of the ranks.  Then what they take added up,
    and what they would at the usual pace.
    """
    work, numbers = RankWork(ranks), places.tolist()
    usual = work.usual(some(places).tolist(), "kernel")
    expected_ns = float(usual["peer_dur_ns"].sum())
    figures: dict[int, tuple[float, ...]] = {}
    for first in range(0, len(numbers), _AT_ONCE):
        kernels = work.per_step(numbers[first : first + _AT_ONCE], "kernel")
        sums = (
            with_expected(kernels.join(usual, on="function", how="left"))
            .group_by("rank")
            .agg(pl.col("dur_ns").sum(), pl.col("expected").sum())
        )
        figures |= {
            rank: (dur - expect, expect - expected_ns, dur, expect)
            for rank, dur, expect in sums.iter_rows()
        }
    return tuple(np.array([figures.get(rank, (0.0,) * 4) for rank in numbers], dtype=np.float64).T)


_MAX_TURNS = 32


def transfer_excess(panel: Panel, calls: pl.DataFrame) -> Floats:
    """Time per step that collectives of a rank take longer than those of other groups.

    Of all ranks of slow groups those that lose most are told first; groups with one of them are
    explained by it, and the others in these lose nothing by themselves.
    """
    excess = np.zeros(len(panel.ranks))
    # By group and rank, what its slow transfers lose (`among`, `rank`, `lost`).
    met = complete_transfers(calls)
    more = (pl.col("typical_ns") - pl.col("usual_ns")) * pl.col("calls")
    slow = slow_groups(met).select("kind", "among", lost=more)
    members = met.select("among", "rank", "kind").unique()
    left = (
        members.join(slow, on=["kind", "among"]).group_by("among", "rank").agg(pl.col("lost").sum())
    )
    for _ in range(_MAX_TURNS):
        if left.is_empty():
            break
        lost = left.group_by("rank").agg(pl.col("lost").sum())
        most = lost.filter(pl.col("lost") >= RankClustersLimits.nearly * pl.col("lost").max())
        places = np.searchsorted(panel.ranks, most["rank"].to_numpy())
        excess[places] = most["lost"].to_numpy() / max(len(panel.steps), 1)
        explained = left.filter(pl.col("rank").is_in(most["rank"].to_list()))["among"].unique()
        left = left.filter(~pl.col("among").is_in(explained.to_list()))
    return excess


OF_A_STEP = ("loading", "host", "copies")
"""Features that are own time by source."""
FEATURES = ("pace", "amount", *OF_A_STEP, "transfer")
"""`pace` is what the same kernels take longer, `amount` what further work of kernels takes."""
BOTH_WAYS = ("pace", "amount")
"""Who does less of these is apart as well; who has less of the others waits for somebody."""

_AMONG_ALL = ("pace", *OF_A_STEP)
"""Features in which ranks of unlike work can be compared."""


def features_of(
    ranks: Mapping[int, RankSummary], analysis: RanksAnalysis
) -> tuple[dict[str, Floats], dict[str, Flags], dict[str, Floats]]:
    """By feature, what each rank takes more per step than its peers, and where that is odd.

    Third, for `BOTH_WAYS`, what its kernels take added up: as they are, and at the usual pace.

    Peers make the same calls.  Where these are fewer than three, all ranks are compared, in what
    unlike work has in common.  That stragglers are late is proven already.
    """
    panel = analysis.panel
    places = len(panel.ranks)
    more = {name: np.zeros(places) for name in FEATURES}
    odd = {name: np.zeros(places, dtype=np.bool_) for name in FEATURES}
    taken = {name: np.zeros(places) for name in BOTH_WAYS}
    for peers, judged, names in _peer_groups(panel):
        # Each feature of the peers, in nanoseconds per step; zero need not be usual.
        pace, amount, *sums = pace_and_amount(ranks, panel.ranks[peers])
        here = np.isin(peers, judged)
        for name, values in zip(BOTH_WAYS, sums, strict=True):
            taken[name][peers[here]] = values[here]
        steps = {name: panel.time_by_source[name][peers] for name in OF_A_STEP}
        beyond = {
            "pace": pace,
            "amount": amount,
            **{name: step_mean(values - _middle(values)) for name, values in steps.items()},
        }
        for name in names:
            from_usual, noise = _distance_from_usual(
                beyond[name], _wobble(panel, name, peers), panel.step_ns
            )
            far = np.abs(from_usual) if name in BOTH_WAYS else from_usual
            more[name][peers[here]] = from_usual[here]
            odd[name][peers[here]] = (far > _floor(noise, len(peers), panel.step_ns))[here]
    more["transfer"] = transfer_excess(panel, analysis.collectives)
    least = RankClustersLimits.min_share * panel.step_ns
    odd["transfer"] = more["transfer"] > least
    already = np.any(list(odd.values()), axis=0)
    for straggler in analysis.stragglers:
        place = int(np.searchsorted(panel.ranks, straggler.rank))
        if straggler.id == "slow_link" and not already[place]:
            more["transfer"][place] = straggler.cost_ns / max(len(panel.steps), 1)
        first = max(FEATURES, key=lambda name: float(more[name][place]))
        if more[first][place] > least:
            odd[first][place] = True
    return more, odd, taken


def _peer_groups(panel: Panel) -> Iterator[tuple[Ints, Ints, tuple[str, ...]]]:
    """Places that are compared, those of them that are judged so, and in which features."""
    _, role, many = np.unique(panel.roles, return_inverse=True, return_counts=True)
    for number, size in enumerate(many):
        if size >= RankClustersLimits.min_ranks_in_cluster or size == len(panel.ranks):
            members = np.flatnonzero(role == number)
            yield members, members, ("amount", *_AMONG_ALL)
    few = np.flatnonzero(
        many[role] < min(RankClustersLimits.min_ranks_in_cluster, len(panel.ranks))
    )
    if len(few) and len(panel.ranks) >= RankClustersLimits.min_ranks_in_cluster:
        yield np.arange(len(panel.ranks)), few, _AMONG_ALL


def _floor(noise: float, peers: int, step_ns: float) -> float:
    """What is beyond noise; of a few ranks nobody knows how they vary."""
    return max(RankClustersLimits.outlying * noise, RankClustersLimits.min_share * step_ns) * (
        1 + RankClustersLimits.few_penalty / peers
    )


def far_from_usual(values: Floats, role: Ints, step_ns: float) -> tuple[Floats, Flags]:
    """How far each value is from that of most ranks of its role, and whether that is beyond noise.

    Roles of fewer than three ranks are compared with everybody.
    """
    _, number, many = np.unique(role, return_inverse=True, return_counts=True)
    few = many[number] < RankClustersLimits.min_ranks_in_cluster
    more, odd = np.zeros(len(values)), np.zeros(len(values), dtype=np.bool_)
    for code in range(len(many)):
        members = number == code
        peers = np.ones(len(values), dtype=np.bool_) if few[members].any() else members
        from_usual, noise = _distance_from_usual(values[peers], 0.0, step_ns)
        more[members] = from_usual[members[peers]]
        odd[members] = np.abs(from_usual[members[peers]]) > _floor(noise, int(peers.sum()), step_ns)
    return more, odd


def _middle(values: Floats) -> Floats:
    """The median of every step."""
    has_value = np.isfinite(values).any(axis=0)
    middle = np.zeros(values.shape[1])
    if has_value.any():
        middle[has_value] = np.nanmedian(values[:, has_value], axis=0)
    return middle


def step_mean(values: Floats) -> Floats:
    """The mean over the steps a rank has; none is zero."""
    has_value = np.isfinite(values)
    return np.asarray(
        np.where(has_value, values, 0.0).sum(axis=1) / np.maximum(has_value.sum(axis=1), 1)
    )


def _wobble(panel: Panel, name: str, peers: Ints) -> float:
    """How sure the mean of a rank is, by what it varies from step to step."""
    values = panel.time_by_source["kernels" if name in BOTH_WAYS else name][peers]
    if values.shape[1] < 2:
        return 0.0
    apart = values - _middle(values) - step_mean(values - _middle(values))[:, None]
    finite = apart[np.isfinite(apart)]
    return scaled_mad(finite) / np.sqrt(values.shape[1]) if finite.size else 0.0


def _distance_from_usual(values: Floats, wobble: float, step_ns: float) -> tuple[Floats, float]:
    """How far values are from the usual one, and how far that is by chance.

    The usual ones are the half that lies closest together, so that a half may be odd; of halves
    that are about as close the lower one, as of two ranks the slower is to be explained.
    """
    usual, width = shortest_half(values, RankClustersLimits.as_close * step_ns)
    return values - usual, max(RobustLimits.mad_to_sigma * width / 2, wobble)


# What sets a group of ranks apart, in sentences with numbers.

_TIME_TEXTS = {
    "loading": "Data loading delays the device {degree} {than} on {peers}.",
    "host": "The device waits {degree} for kernel launches {than} on {peers}.",
    "copies": "Copies take {degree} {than} on {peers}.",
}
_HOST_ALONE = "The host takes {degree} {than} on {peers}."
"""Of ranks that have no device."""
_PEERS = "ranks that do the same"


class Features(msgspec.Struct, frozen=True, eq=False):
    """What sets ranks apart: a number per rank and feature, and what is to be told of it."""

    ranks: Mapping[int, RankSummary]
    analysis: RanksAnalysis
    rare: Flags
    """Which ranks make calls that few others make: a layout gives each role to many."""
    more: Mapping[str, Floats]
    """In nanoseconds per step more than its peers take."""
    odd: Mapping[str, Flags]
    """Where that is beyond noise."""
    taken: Mapping[str, Floats]
    """What kernels take added up: as they are (`pace`), and at the usual pace (`amount`)."""

    @property
    def largest(self) -> Floats:
        """By rank, the largest of its differences that are beyond noise."""
        sizes = [np.where(self.odd[name], np.abs(self.more[name]), 0.0) for name in FEATURES]
        return np.asarray(np.max(sizes, axis=0))

    def leading(self, place: int) -> tuple[tuple[str, bool], ...]:
        """What sets a rank apart, and whether it is more: its large differences alone."""
        there = {name: float(self.more[name][place]) for name in FEATURES if self.odd[name][place]}
        most = max(map(abs, there.values()), default=0.0)
        return tuple(
            (name, more > 0)
            for name, more in there.items()
            if abs(more) >= RankClustersLimits.also * most
        )

    def apart(self, places: Ints) -> Iterator[str]:
        """What sets odd ranks apart, the most first."""
        panel = self.analysis.panel
        if self.rare[places[0]]:
            numbers, many = np.unique(panel.roles, return_counts=True)
            common = int(panel.ranks[panel.roles == numbers[np.argmax(many)]][0])
            mine = self._collectives(int(panel.ranks[places[0]]))
            yield (
                f"Different collectives from most ranks: {mine:.1f} per step, "
                f"{self._collectives(common):.1f} on rank {common}."
            )
        more = {
            name: float(np.median(self.more[name][places]))
            for name, _ in self.leading(int(places[0]))
        }
        for name in sorted(more, key=lambda feature: -abs(more[feature])):
            yield self._difference(name, more[name], places)
        delay = float(panel.delay[places].max(axis=0, initial=0.0).mean())
        ranks = panel.ranks[places].tolist()
        late = [finding for finding in self.analysis.stragglers if finding.rank in ranks]
        if late:
            # The figure that the rank is named with as a straggler.
            cost = cost_together(late, panel)[0] / len(panel.steps)
            who = "It costs" if len(places) == 1 else "They cost"
            yield f"{who} the run {brief_ns(cost)} per step."
        elif delay >= RankClustersLimits.min_share * panel.step_ns:
            together = "it" if len(places) == 1 else "one of them"
            yield f"Others wait {brief_ns(delay)} per step for {together}."
        yield from self._where(panel.ranks[places].tolist())

    def role(self, places: Ints) -> tuple[str, ...]:
        """What the ranks of a role do."""
        calls = self._collectives(int(self.analysis.panel.ranks[places[0]]))
        sentence = (
            f"{calls:.0f} collectives per step, different from those of other roles. Kernels take "
            f"{brief_ns(self._usual_time('kernels', places))} per step."
        )
        return (sentence,)

    def _usual_time(self, source: str, places: Ints) -> float:
        """What ranks take in a step themselves, usually."""
        return float(np.median(step_mean(self.analysis.panel.time_by_source[source][places])))

    def _collectives(self, rank: int) -> float:
        """How many calls a rank makes in a step."""
        calls = self.analysis.collectives.filter(pl.col("rank") == rank)
        steps = max(calls["step"].drop_nulls().n_unique(), 1)
        return calls.filter(pl.col("step").is_not_null()).height / steps

    def _difference(self, name: str, more: float, places: Ints) -> str:
        if name in OF_A_STEP:
            usual_time = self._usual_time(name, places)
            degree, than = longer(usual_time, max(usual_time - more, 0.0))
            has_device = np.nansum(self.analysis.panel.time_by_source["kernels"][places]) > 0
            template = _TIME_TEXTS[name] if has_device or name != "host" else _HOST_ALONE
            return template.format(degree=degree, than=than, peers=_PEERS)
        if name == "transfer":
            ranks = self.analysis.panel.ranks[places].tolist()
            stragglers = [
                straggler for straggler in self.analysis.stragglers if straggler.rank in ranks
            ]
            if len(places) == 1 and stragglers and stragglers[0].id == "slow_link":
                return " ".join(stragglers[0].proofs)
            return (
                f"Collectives take {brief_ns(abs(more))} per step longer to transfer their data "
                "than other groups of the same size."
            )
        taken = float(np.median(self.taken[name][places]))
        usual = max(taken - more, 0.0)
        if name == "amount":
            amount = units.more(usual, taken, "work", f"on {_PEERS}")
            return f"Kernels do {amount}."
        pace = units.more(usual, taken, "for the same work", f"on {_PEERS}", time=True)
        return f"Kernels take {pace}."

    def _where(self, group: Sequence[int]) -> Iterator[str]:
        """Hosts and devices that the group has for itself."""
        members = set(group)
        for what in ("host", "device"):
            names_by_rank = {
                rank: getattr(summary.about, what) for rank, summary in self.ranks.items()
            }
            mine = {names_by_rank[rank] for rank in members}
            if None in mine or len(set(names_by_rank.values())) < 2:
                continue
            there = {rank for rank, name in names_by_rank.items() if name in mine}
            names = ", ".join(sorted(mine)[:3]) + (", ..." if len(mine) > 3 else "")
            if there == members:
                who = "They are all ranks" if len(group) > 1 else "It is the only rank"
                yield f"{who} of {what} {names}."
            elif len(mine) == 1 and len(group) > 1:
                rest = ranges_of(there - members, most=4)
                yield f"They are on {what} {names}, as are ranks {rest}."


class RankGroup(msgspec.Struct, frozen=True):
    """Ranks that behave alike."""

    group: str
    ranks: tuple[int, ...]
    representative: int
    """The one in the middle of its group."""
    odd: bool
    apart: tuple[str, ...]
    """Sentences with numbers: what sets the group apart; none where nothing does."""


def cluster_ranks(
    ranks: Mapping[int, RankSummary], analysis: RanksAnalysis
) -> tuple[RankGroup, ...]:
    """Group ranks by how they differ from those that do the same work.

    Ranks that nothing sets apart are one group for each role of the layout, in the order of their
    first ranks; the odd ones follow, those that let others wait longest first.  Time grows with the
    ranks, not with their square.
    """
    panel = analysis.panel
    _, first, role, many = np.unique(
        panel.roles, return_index=True, return_inverse=True, return_counts=True
    )
    rare = np.asarray(many[role] * RankClustersLimits.rare <= many.max(initial=0))
    features = Features(ranks, analysis, rare, *features_of(ranks, analysis))
    odd = np.any([rare, *features.odd.values()], axis=0)
    # Usual ranks that make the same calls; roles in the order of their first ranks.
    roles = [~odd & (role == number) for number in np.argsort(first)]
    usual = [np.flatnonzero(places) for places in roles if places.any()]
    groups = [_group(features, places, "usual", odd=False) for places in usual]
    if len(usual) > 1:
        groups = [
            _group(features, places, f"usual, role {number}", features.role(places), odd=False)
            for number, places in enumerate(usual, start=1)
        ]
    apart = sorted(
        _odd(features, odd),
        key=lambda places: (-float(panel.delay[places].sum()), panel.ranks[places].tolist()),
    )
    groups += [
        _group(features, places, f"odd {number}", tuple(features.apart(places)), odd=True)
        for number, places in enumerate(apart, start=1)
    ]
    return tuple(groups)


def _odd(features: Features, odd: Flags) -> Iterator[Ints]:
    """Places of odd ranks that the same sets apart, by about as much."""
    groups: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for place in np.flatnonzero(odd).tolist():
        role = int(features.analysis.panel.roles[place]) if features.rare[place] else None
        groups[(role, *features.leading(place))].append(place)
    for members in groups.values():
        places = np.array(members, dtype=np.int64)
        size = features.largest[places]
        order = np.argsort(size, kind="stable")
        # Cut where the next larger difference is far larger.
        steps = size[order][1:] > RankClustersLimits.other_level * np.maximum(size[order][:-1], 1.0)
        for part in np.split(places[order], np.flatnonzero(steps) + 1):
            yield np.sort(part)


def _group(
    features: Features, places: Ints, name: str, apart: tuple[str, ...] = (), *, odd: bool
) -> RankGroup:
    # The place next to the middle of its group in all features; the first of several.
    values = np.stack([features.more[feature][places] for feature in FEATURES])
    from_middle = np.abs(values - np.median(values, axis=1, keepdims=True)).sum(axis=0)
    ranks = features.analysis.panel.ranks[places].tolist()
    return RankGroup(name, tuple(ranks), ranks[int(np.argmin(from_middle))], odd, apart)
