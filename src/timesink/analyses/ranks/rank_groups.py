"""Groups of ranks: those that are as most of their kind, and odd ones by what sets them apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.ranks.analysis import RanksAnalysis
from timesink.analyses.ranks.features import (
    FEATURES,
    LEAST_SHARE,
    OF_A_STEP,
    Features,
    features_of,
    rare_roles,
    with_stragglers,
)
from timesink.analyses.ranks.lateness import Panel
from timesink.analyses.ranks.own_time import ranges_of
from timesink.analyses.ranks.summary import RankSummary
from timesink.model import units
from timesink.model.arrays import Flags, Ints
from timesink.model.units import brief_ns

# What sets a group of ranks apart, in sentences with numbers.

_OWN = {
    "loading": "Data loading holds the device up for {own} per step, {more} more than on {peers}.",
    "host": "The device waits {own} per step for its host, {more} more than on {peers}.",
    "copies": "Copies take {own} per step, {more} more than on {peers}.",
}
_HOST_ALONE = "The host takes {own} per step, {more} more than on {peers}."
"""Of ranks that have no device."""
_PEERS = "ranks that do the same"


@dataclass(frozen=True, slots=True, eq=False)
class Telling:
    """Everything there is to tell about groups of ranks."""

    ranks: Mapping[int, RankSummary]
    found: RanksAnalysis
    features: Features
    rare: Flags

    @property
    def panel(self) -> Panel:
        return self.found.panel

    def apart(self, places: Ints) -> tuple[str, ...]:
        """What sets odd ranks apart, the most first."""
        return (
            *([self._other_calls(places)] if self.rare[places[0]] else []),
            *self._differences(places),
            *self._caused(places),
            *self._where(self.panel.ranks[places].tolist()),
        )

    def role(self, places: Ints) -> tuple[str, ...]:
        """What the ranks of a role do."""
        kernels = self.features.own["kernels"][places]
        calls = self._collectives(int(self.panel.ranks[places[0]]))
        said = (
            f"{calls:.0f} collectives per step, and other ones than other roles "
            f"have; kernels take {brief_ns(float(np.median(kernels)))} per step."
        )
        return (said,)

    def _collectives(self, rank: int) -> float:
        """How many calls a rank makes in a step."""
        one = self.found.collectives.filter(pl.col("rank") == rank)
        steps = max(one["step"].drop_nulls().n_unique(), 1)
        return one.filter(pl.col("step").is_not_null()).height / steps

    def _other_calls(self, places: Ints) -> str:
        numbers, many = np.unique(self.panel.alike, return_counts=True)
        common = int(self.panel.ranks[self.panel.alike == numbers[np.argmax(many)]][0])
        mine = self._collectives(int(self.panel.ranks[places[0]]))
        return (
            f"Other collectives than most ranks have: {mine:.1f} per step, "
            f"on rank {common} {self._collectives(common):.1f}."
        )

    def _differences(self, places: Ints) -> Iterator[str]:
        more = {
            name: float(np.median(self.features.more[name][places]))
            for name, _ in self.features.leading(int(places[0]))
        }
        for name in sorted(more, key=lambda each: -abs(more[each])):
            yield self._difference(name, more[name], places)

    def _difference(self, name: str, more: float, places: Ints) -> str:
        size, word = brief_ns(abs(more)), "more" if more > 0 else "less"
        if name in OF_A_STEP:
            own = brief_ns(float(np.median(self.features.own[name][places])))
            has_device = self.features.own["kernels"][places].any()
            said = _OWN[name] if has_device or name != "host" else _HOST_ALONE
            return said.format(own=own, more=size, peers=_PEERS)
        if name == "transfer":
            ranks = self.panel.ranks[places].tolist()
            known = [each for each in self.found.stragglers if each.rank in ranks]
            if len(places) == 1 and known and known[0].cause == "slow_link":
                return " ".join(known[0].proofs)
            return (
                f"Collectives take {size} per step longer to move their data than those of other "
                "groups of the same size."
            )
        kernels = float(np.median(self.features.own["kernels"][places]))
        share = units.share(abs(more), max(kernels - more, 1.0))
        if name == "amount":
            return f"Kernels are given {share} {word} work than on {_PEERS}: {size} per step."
        longer = "longer" if more > 0 else "less"
        return f"Kernels take {share} {longer} for the same work than on {_PEERS}: {size} per step."

    def _caused(self, places: Ints) -> Iterator[str]:
        held = float(self.panel.held[places].max(axis=0, initial=0.0).mean())
        if held >= LEAST_SHARE * self.panel.step_ns:
            together = "it" if len(places) == 1 else "one of them"
            yield f"Others wait {brief_ns(held)} per step for {together}."

    def _where(self, group: Sequence[int]) -> Iterator[str]:
        """Hosts and devices that the group has for itself."""
        members = set(group)
        for what in ("host", "device"):
            told = {rank: getattr(each.about, what) for rank, each in self.ranks.items()}
            mine = {told[rank] for rank in members}
            if None in mine or len(set(told.values())) < 2:
                continue
            there = {rank for rank, name in told.items() if name in mine}
            names = ", ".join(sorted(mine)[:3]) + (", ..." if len(mine) > 3 else "")
            if there == members:
                yield (
                    f"They are all ranks of {what} {names}."
                    if len(group) > 1
                    else (f"It is the only rank of {what} {names}.")
                )
            elif len(mine) == 1 and len(group) > 1:
                rest = ranges_of(there - members, most=4)
                yield f"They are on {what} {names}, as are ranks {rest}."


RANK_GROUP_SCHEMA = {
    "group": pl.String(),
    "ranks": pl.String(),
    "size": pl.Int64(),
    "representative": pl.Int64(),
    "odd": pl.Boolean(),
    "apart": pl.List(pl.String()),
}
"""`apart` are sentences: what sets the group apart."""

_OTHER_LEVEL = 2.0
"""How many times as large a difference makes another group."""


@dataclass(frozen=True, slots=True)
class RankGroup:
    """Ranks that behave alike."""

    group: str
    ranks: tuple[int, ...]
    representative: int
    """The one in the middle of its group."""
    odd: bool
    apart: tuple[str, ...]
    """Sentences with numbers: what sets the group apart; none where nothing does."""

    @property
    def size(self) -> int:
        return len(self.ranks)


def cluster_ranks(ranks: Mapping[int, RankSummary], found: RanksAnalysis) -> tuple[RankGroup, ...]:
    """Group ranks by how they differ from those that do the same work.

    Ranks that nothing sets apart are one group for each role of the layout, in the order of their
    first ranks; the odd ones follow, those that let others wait longest first.  Time grows with the
    ranks, not with their square.
    """
    panel = found.panel
    features = with_stragglers(
        features_of(ranks, panel, found.collectives), found.stragglers, len(panel.steps)
    )
    rare = rare_roles(panel)
    telling = Telling(ranks, found, features, rare)
    odd = features.is_odd | rare
    usual = _roles(panel, ~odd)
    several = len(usual) > 1
    groups = [
        _group(
            telling,
            places,
            f"usual, role {number}" if several else "usual",
            telling.role(places) if several else (),
            odd=False,
        )
        for number, places in enumerate(usual, start=1)
    ]
    apart = sorted(
        _odd(panel, features, odd, rare),
        key=lambda places: (-float(panel.held[places].sum()), panel.ranks[places].tolist()),
    )
    groups += [
        _group(telling, places, f"odd {number}", telling.apart(places), odd=True)
        for number, places in enumerate(apart, start=1)
    ]
    return tuple(groups)


def rank_groups(ranks: Mapping[int, RankSummary], found: RanksAnalysis) -> pl.DataFrame:
    """Rows of `RANK_GROUP_SCHEMA`, one per group."""
    rows = [
        (each.group, ranges_of(each.ranks), each.size, each.representative, each.odd, [*each.apart])
        for each in cluster_ranks(ranks, found)
    ]
    return pl.DataFrame(rows, schema=RANK_GROUP_SCHEMA, orient="row")


# -- groups ----------------------------------------------------------------------------------------


def _roles(panel: Panel, usual: Flags) -> list[Ints]:
    """Places of usual ranks that make the same calls; roles in the order of their first ranks."""
    _, first = np.unique(panel.alike, return_index=True)
    roles = [usual & (panel.alike == panel.alike[place]) for place in np.sort(first)]
    return [np.flatnonzero(places) for places in roles if places.any()]


def _odd(panel: Panel, features: Features, odd: Flags, rare: Flags) -> Iterator[Ints]:
    """Places of odd ranks that the same sets apart, by about as much."""
    groups: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for place in np.flatnonzero(odd).tolist():
        role = int(panel.alike[place]) if rare[place] else None
        groups[(role, *features.leading(place))].append(place)
    for places in groups.values():
        yield from _levels(np.array(places, dtype=np.int64), features)


def _levels(places: Ints, features: Features) -> Iterator[Ints]:
    """Cut where the next larger difference is far larger."""
    size = features.largest[places]
    order = np.argsort(size, kind="stable")
    steps = size[order][1:] > _OTHER_LEVEL * np.maximum(size[order][:-1], 1.0)
    for part in np.split(places[order], np.flatnonzero(steps) + 1):
        yield np.sort(part)


def _group(
    telling: Telling, places: Ints, name: str, apart: tuple[str, ...] = (), *, odd: bool
) -> RankGroup:
    # The place next to the middle of its group in all features; the first of several.
    values = np.stack([telling.features.more[each][places] for each in FEATURES])
    from_middle = np.abs(values - np.median(values, axis=1, keepdims=True)).sum(axis=0)
    ranks = telling.panel.ranks[places].tolist()
    return RankGroup(name, tuple(ranks), ranks[int(np.argmin(from_middle))], odd, apart)
