"""What is to be said about a set as such: who is missing, what was assumed, how clocks differ."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.ranks.rank_set import RankSet
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.units import brief_ns, listed, ordinal

_TIMES_UNCERTAINTY = 10.0
"""How far clocks must be apart, against how well that is known: the farthest of many are some four
to six times as far apart by chance alone."""
_LEAST_APART_NS = 1_000
_ASSUMED = "rank_assumed"
"""Of one trace alone rank 0 is assumed; ranks of a set are told apart by their names."""


def set_notes(ranks: RankSet) -> Iterator[str]:
    """Sentences about the set, those that weaken its numbers first."""
    yield from _missing(ranks)
    yield from _damaged(ranks)
    yield from _not_judged(ranks)
    yield from _shorter(ranks)
    yield from ranks.notes
    yield from _thinned(ranks)
    yield from _clocks(ranks)


def set_health(ranks: RankSet) -> list[tuple[HealthEntry, int]]:
    """What is odd about the recordings, each sort once, and on how many of them."""
    entries: list[tuple[HealthEntry, int | str]] = [
        *(
            (entry, rank)
            for rank, each in ranks.ranks.items()
            for entry in each.about.health
            if entry.code != _ASSUMED or len(ranks.ranks) == 1
        ),
        *((HealthEntry("unreadable_file", 1, one.reason), one.source) for one in ranks.damaged),
    ]
    merged = merge_entries(entry for entry, _ in entries)
    found: dict[str, set[int | str]] = {}
    for entry, where in entries:
        found.setdefault(entry.code, set()).add(where)
    return [(entry, len(found[entry.code])) for entry in merged]


def _missing(ranks: RankSet) -> Iterator[str]:
    missing, world = ranks.missing, ranks.world_size
    if missing:
        word, verb = ("rank", "is") if len(missing) == 1 else ("ranks", "are")
        yield f"{word} {ranges_of(missing, most=12)} of {world} {verb} missing"


def _damaged(ranks: RankSet) -> Iterator[str]:
    if ranks.damaged:
        first = ranks.damaged[0]
        reason = first.reason.removeprefix(f"{first.source}: ")
        names = listed([each.worker for each in ranks.damaged])
        whose = f"{first.worker}: {reason}" if len(ranks.damaged) > 1 else reason
        yield f"cannot be read: {names} ({whose}); the others stand"


def _shorter(ranks: RankSet) -> Iterator[str]:
    """Ranks with fewer steps than most: what they lack is judged without them."""
    steps = {rank: int(each.steps["complete"].sum()) for rank, each in ranks.ranks.items()}
    usual = sorted(steps.values())[len(steps) // 2] if steps else 0
    fewer = [rank for rank, count in steps.items() if count < usual]
    if len(fewer) == 1:
        yield f"rank {fewer[0]} has {steps[fewer[0]]} of {usual} steps"
    elif fewer:
        yield f"ranks {ranges_of(fewer, most=12)} have fewer than the usual {usual} steps"


def _not_judged(ranks: RankSet) -> Iterator[str]:
    found = ranks.analysis.not_judged
    if found:
        word, verb = ("rank", "has") if len(found) == 1 else ("ranks", "have")
        yield (
            f"{word} {ranges_of(found, most=12)} {verb} no device work, unlike most others, "
            "and cannot be judged"
        )


def _thinned(ranks: RankSet) -> Iterator[str]:
    kept = [each.kept for each in ranks.ranks.values()]
    every = max((one.every for one in kept), default=1)
    if every > 1:
        of = max(one.of_steps for one in kept)
        yield f"long recordings: every {ordinal(every)} of {of} steps is compared between ranks"
    cut = sum(1 for one in kept if one.cut)
    if cut:
        yield f"{cut} ranks have more collectives in a step than are compared: the first ones count"


def _clocks(ranks: RankSet) -> Iterator[str]:
    """How far clocks are apart, among those that collectives tie to each other."""
    known = ranks.analysis.clocks.filter(pl.col("uncertainty_ns").is_finite())
    clocks = known.unique("clock")
    if clocks.height < 2:
        return
    apart = clocks.select(
        (pl.col("offset_ns").max() - pl.col("offset_ns").min()).over("tied_to").max()
    ).item()
    sure = float(clocks["uncertainty_ns"].max())  # type: ignore[arg-type]
    if apart < max(_TIMES_UNCERTAINTY * sure, _LEAST_APART_NS):
        return
    what = "hosts" if all(each.about.host for each in ranks.ranks.values()) else "ranks"
    yield (
        f"clocks of {clocks.height} {what} up to {brief_ns(apart)} apart, "
        f"known to ±{brief_ns(sure)}"
    )
