"""How the ranks of a run are arranged, and whether two runs are arranged alike."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from timesink.analyses.ranks.rank_set import RankSet
from timesink.model.units import counted

_ORDER = ("pp", "tp", "cp", "ep", "mp", "dp")


@dataclass(frozen=True, slots=True)
class Layout:
    """How many ranks a run has, and the sizes of its process groups."""

    world: int
    groups: tuple[tuple[str, int], ...]
    """Kinds and sizes, each once."""

    @property
    def words(self) -> str:
        """The same to read."""
        inner = ", ".join(f"{kind} {size}" for kind, size in self.groups)
        return f"{counted(self.world, 'ranks')}{f' ({inner})' if inner else ''}"


def layout_of(ranks: RankSet) -> Layout:
    """What the collectives of a run tell of its layout."""
    told = [each.about.world_size or 0 for each in ranks.ranks.values()]
    world = max([*told, *(rank + 1 for rank in ranks.ranks)], default=0)
    groups = ranks.analysis.groups.filter(pl.col("kind").is_in(_ORDER)).select("kind", "size")
    found = sorted(groups.unique().rows(), key=lambda row: (_ORDER.index(row[0]), row[1]))
    return Layout(world, tuple(found))
