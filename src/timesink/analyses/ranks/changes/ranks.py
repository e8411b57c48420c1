"""How each rank changed against the same rank before, beside how its peers did."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl

from timesink.analyses.ranks.likeness.features import LEAST_SHARE, far_from_usual
from timesink.analyses.ranks.panel import SOURCES, Panel
from timesink.analyses.ranks.rank_set import RankSet
from timesink.model.arrays import Floats

RANK_CHANGE_SCHEMA = {
    "rank": pl.Int64(),
    "source": pl.String(),
    "base_ns": pl.Float64(),
    "new_ns": pl.Float64(),
    "change_ns": pl.Float64(),
    "beyond_ns": pl.Float64(),
    "changed": pl.Boolean(),
}
"""Times per step.  `source` is that of its own time (`panel.SOURCES`) in which the rank differs
most from its peers, the others are of this source; `beyond_ns` is what it changed more than they
did."""


def rank_changes(
    base: RankSet, new: RankSet, numbers: Sequence[int], named: Collection[int]
) -> pl.DataFrame:
    """Rows of `RANK_CHANGE_SCHEMA`, the largest differences first.

    A rank changed if that is beyond what chance does to its peers, or if it is one of the `named`
    stragglers that came or went.
    """
    if not numbers:
        return pl.DataFrame(schema=RANK_CHANGE_SCHEMA)
    sides = [_means(each.analysis.panel, numbers) for each in (base, new)]
    panel = new.analysis.panel
    role = panel.alike[np.searchsorted(panel.ranks, numbers)]
    step_ns = max(base.analysis.panel.step_ns, panel.step_ns)
    beyond, odd = [], []
    for source in SOURCES:
        change = sides[1][source] - sides[0][source]
        from_usual, far = far_from_usual(change, role, step_ns)
        beyond.append(from_usual)
        odd.append(far)
    first = np.argmax(np.abs(beyond), axis=0)
    place = np.arange(len(numbers))
    before, after = (np.stack(list(each.values()))[first, place] for each in sides)
    apart = np.stack(beyond)[first, place]
    is_named = np.isin(numbers, list(named)) & (np.abs(apart) > LEAST_SHARE * step_ns)
    table = pl.DataFrame(
        {
            "rank": numbers,
            "source": [list(SOURCES)[each] for each in first],
            "base_ns": before,
            "new_ns": after,
            "change_ns": after - before,
            "beyond_ns": apart,
            "changed": np.any(odd, axis=0) | is_named,
        },
        schema=RANK_CHANGE_SCHEMA,
    )
    return table.sort("changed", pl.col("beyond_ns").abs(), "rank", descending=[True, True, False])


def _means(panel: Panel, numbers: Sequence[int]) -> dict[str, Floats]:
    places = np.searchsorted(panel.ranks, numbers)
    found: dict[str, Floats] = {}
    for source, values in panel.own.items():
        known = np.isfinite(values[places])
        sums = np.where(known, values[places], 0.0).sum(axis=1)
        found[source] = sums / np.maximum(known.sum(axis=1), 1)
    return found
