"""Groups of ranks: those that are as most of their kind, and odd ones by what sets them apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from timesink.analyses.ranks.analysis import RanksAnalysis
from timesink.analyses.ranks.likeness.features import (
    FEATURES,
    Features,
    features_of,
    rare_roles,
    with_stragglers,
)
from timesink.analyses.ranks.likeness.words import Telling
from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.ranks.panel import Panel
from timesink.analyses.ranks.summary import RankSummary
from timesink.model.arrays import Flags, Ints

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
    usual = [_group(panel, features, places) for places in _roles(panel, ~odd)]
    apart = [_group(panel, features, places) for places in _odd(panel, features, odd, rare)]
    apart.sort(key=lambda each: (-_caused(panel, each), each.ranks))
    several = len(usual) > 1
    return (
        *(
            replace(
                each,
                group=f"usual, role {number}" if several else "usual",
                apart=telling.role(each.ranks) if several else (),
            )
            for number, each in enumerate(usual, start=1)
        ),
        *(
            replace(each, group=f"odd {number}", odd=True, apart=telling.apart(each.ranks))
            for number, each in enumerate(apart, start=1)
        ),
    )


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


def _group(panel: Panel, features: Features, places: Ints) -> RankGroup:
    # The place next to the middle of its group in all features; the first of several.
    values = np.stack([features.more[name][places] for name in FEATURES])
    from_middle = np.abs(values - np.median(values, axis=1, keepdims=True)).sum(axis=0)
    return RankGroup(
        group="",
        ranks=tuple(panel.ranks[places].tolist()),
        representative=int(panel.ranks[int(places[int(np.argmin(from_middle))])]),
        odd=False,
        apart=(),
    )


def _caused(panel: Panel, group: RankGroup) -> float:
    return float(panel.held[np.searchsorted(panel.ranks, group.ranks)].sum())
