"""The answer on two runs of many ranks in a few sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from timesink.model.units import counted
from timesink.reports.comparison.headline import headline
from timesink.reports.comparison.late_ranks import straggler_sentences

if TYPE_CHECKING:
    from timesink.analyses.ranks.changes.comparing import RankChanges
    from timesink.reports.comparison.report import Comparison

_MOST = 2


def rank_headline(comparison: Comparison) -> str:
    """What became of steps, and which stragglers came, went or became worse."""
    found = comparison.ranks
    if found is None or comparison.has_all_ranks:
        said = headline(comparison.pairs, None)
    else:
        said = steps_sentence(found)
    late = [] if found is None else list(straggler_sentences(found))
    return " ".join([said, *late[:_MOST]])


def steps_sentence(found: RankChanges) -> str:
    """What became of steps; how many ranks that is about, where it is as many on both sides."""
    before, now = (each.world for each in found.layouts)
    if before != now:
        return found.reason
    ranks = counted(len(found.common) or len(found.new.ranks), "ranks")
    return f"{ranks}: {found.reason[:1].lower()}{found.reason[1:]}"
