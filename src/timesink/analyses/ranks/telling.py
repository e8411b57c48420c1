"""What is to be said about a set as such: who is missing, what was assumed, how clocks differ."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.ranks.rank_set import RankSet
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.units import brief_ns, listed

_TIMES_UNCERTAINTY = 3.0
"""How far clocks must be apart, against how well that is known, to be worth a word."""


def set_notes(ranks: RankSet) -> Iterator[str]:
    """Sentences about the set, those that weaken its numbers first."""
    yield from _missing(ranks)
    if ranks.damaged:
        yield f"cannot be read: {listed([each.worker for each in ranks.damaged])}; the others stand"
    yield from _not_judged(ranks)
    yield from ranks.notes
    yield from _thinned(ranks)
    yield from _clocks(ranks)


def set_health(ranks: RankSet) -> list[tuple[HealthEntry, int]]:
    """What is odd about the recordings, each sort once, and on how many of them."""
    entries: list[tuple[HealthEntry, int | str]] = [
        *((entry, rank) for rank, each in ranks.ranks.items() for entry in each.about.health),
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
        yield f"long recordings: every {every}th of {of} steps is compared between ranks"
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
    if apart < _TIMES_UNCERTAINTY * sure:
        return
    what = "hosts" if all(each.about.host for each in ranks.ranks.values()) else "ranks"
    yield (
        f"clocks of {clocks.height} {what} up to {brief_ns(apart)} apart, "
        f"known to ±{brief_ns(sure)}"
    )
