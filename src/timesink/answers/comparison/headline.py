"""The answer of a comparison in a few sentences, over one pair or many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from timesink.analyses.ranks.changes import RankChanges, StragglerChange
from timesink.analyses.ranks.own_time import ranges_of
from timesink.answers.comparison.changes import Change
from timesink.answers.comparison.naming import pair_names
from timesink.answers.comparison.sentences import Told, answer, of_pair, time_per_cycle
from timesink.model import units
from timesink.model.units import brief_ns, counted, from_to, signed_pct
from timesink.output.names import cut_middle
from timesink.rules.communication import why_late

if TYPE_CHECKING:
    from timesink.analyses.clustering.groups import Exploration
    from timesink.answers.comparison.changes import Compared


# The one pair among many in which a function changed otherwise than in all the others.

_FEWEST = 4
"""Pairs it takes to say what the others have in common."""
_CLEARLY_FIRST = 2.0
"""The one is this many times as far from the middle as the next."""
_LEAST_SHARE = 0.05
"""And by this part of a cycle."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """A function of one pair, and what it took in the others."""

    place: int
    """Which of the pairs."""
    function: str
    base_ns: float
    new_ns: float
    others_ns: tuple[tuple[float, float], ...]
    """Base and new of every other pair."""


def outlier(pairs: Sequence[Told]) -> Outlier | None:
    """The function whose change of time sets one pair apart most clearly; None without any."""
    if len(pairs) < _FEWEST:
        return None
    times = _times(pairs)
    if times.is_empty():
        return None
    names = times["function"].unique(maintain_order=True).to_list()
    base, new = (_matrix(times, names, len(pairs), column) for column in ("base_ns", "new_ns"))
    apart = np.abs((new - base) - np.median(new - base, axis=1, keepdims=True))
    ordered = np.sort(apart, axis=1)
    cycle = min(one.pair.cycle_times.base_mean_ns for one in pairs)
    clear = (ordered[:, -1] > _CLEARLY_FIRST * ordered[:, -2]) & (
        ordered[:, -1] > _LEAST_SHARE * cycle
    )
    if not clear.any():
        return None
    place = int(np.argmax(np.where(clear, ordered[:, -1], -1)))
    who = int(np.argmax(apart[place]))
    others = [each for each in range(len(pairs)) if each != who]
    return Outlier(
        who,
        names[place],
        float(base[place, who]),
        float(new[place, who]),
        tuple((float(base[place, each]), float(new[place, each])) for each in others),
    )


def _times(pairs: Sequence[Told]) -> pl.DataFrame:
    """Time of each function in each pair, whichever device it runs on there.

    Only functions that changed beyond noise in one of the pairs.
    """
    moved = {one.pair.times["function"][place] for one in pairs for place in one.verdict.functions}
    columns = ["function", "base_ns", "new_ns"]
    tables = [
        one.times.select(columns)
        .filter(pl.col("function").is_in(sorted(moved)))
        .with_columns(pair=pl.lit(place))
        for place, one in enumerate(pairs)
    ]
    return pl.concat(tables).group_by("function", "pair").sum().sort("function", "pair")


def _matrix(times: pl.DataFrame, names: list[str], width: int, column: str) -> np.ndarray:
    values = np.zeros((len(names), width))
    rows = times["function"].replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    values[rows.to_numpy(), times["pair"].to_numpy()] = times[column].to_numpy()
    return values


_WORDS = {
    "longer": "longer cycles",
    "shorter": "shorter cycles",
    "doubtful": "a doubtful change of cycle time",
    "none": "the same cycle time within noise",
    "cannot tell": "cycles too uneven to tell",
    "unknown": "too few cycles to tell",
}
_UNEQUAL = "cycles that do not hold the same work"
_MOST_NAMED = 3
_FAR = 1.5
"""A pair is told for itself whose cycle time changed by this much more than any other."""


def headline(pairs: Sequence[Compared], exploration: Exploration | None) -> str:
    """What changed, over all pairs."""
    if exploration is not None:
        return _of_many_roles(exploration)
    if len(pairs) == 1:
        return of_pair(pairs[0].pair, pairs[0].diagnosis)
    return _of_many_pairs(pairs)


def _of_many_roles(exploration: Exploration) -> str:
    roles, clusters = exploration.roles, exploration.clusters
    if len(clusters) == 1:
        return f"All {units.counted(len(roles), 'roles')} behave alike."
    return f"{units.counted(len(roles), 'roles')} behave in {len(clusters)} ways."


# -- many pairs ------------------------------------------------------------------------------------


def _of_many_pairs(pairs: Sequence[Compared]) -> str:
    """What pairs have in common, and the one that stands out where one does."""
    told = [Told(one.pair) for one in pairs]
    names = pair_names(pairs)
    states = [_WORDS[one.verdict.cycles] for one in told]
    states = [
        state if one.comparable else _UNEQUAL for state, one in zip(states, told, strict=True)
    ]
    if len(set(states)) == 1:
        said = [f"{_all(told)} have {states[0]}{_range(told, states[0])}."]
    else:
        said = [f"{_things(told)}: {', '.join(_groups(states, names))}."]
    more = [*_put_together(told, names), *_common(told), *_largest(told, names)]
    return " ".join([*said, *more, *_stands_out(told, names, pairs)])


def _put_together(told: Sequence[Told], names: Sequence[str]) -> Iterator[str]:
    """Pairs that would not be comparable as recorded."""
    unlike = [name for one, name in zip(told, names, strict=True) if one.pair is not one.whole]
    if unlike:
        which = units.listed(unlike, _MOST_NAMED)
        yield f"In {which} cycles do not hold the same work and were put together until they do."


def _all(told: Sequence[Told]) -> str:
    count, _, things = _things(told).rpartition(" ")
    return f"Both {things}" if len(told) == 2 else f"All {count} {things}"


def _things(told: Sequence[Told]) -> str:
    ranks = all(one.processes.startswith("rank ") for one in told)
    return units.counted(len(told), "ranks" if ranks else "pairs")


def _common(told: Sequence[Told]) -> Iterator[str]:
    """The function that changed beyond noise everywhere, and most."""
    every = _of_all(told)
    if every:
        lengths = _ranges(*((one.base_ns, one.new_ns) for one in every))
        yield f"In all of them {cut_middle(told[0].name(every[0]))} takes {lengths} per cycle."


def _of_all(told: Sequence[Told]) -> list[Change]:
    """What changed most of what changed in every pair; empty without any."""
    changed = [{(one.name, one.level): one for one in each.changes} for each in told]
    common = set(changed[0]).intersection(*changed[1:]) if all(map(_comparable, told)) else set()
    if not common:
        return []
    name = min(common, key=lambda key: (-sum(abs(each[key].delta_ns) for each in changed), key))
    return [each[name] for each in changed]


def _largest(told: Sequence[Told], names: Sequence[str]) -> Iterator[str]:
    """The largest change over all pairs, where nothing else that is said names it."""
    place, apart, common = changed_most(told), standing_out(told), _of_all(told)
    if place is None or (apart is not None and apart.place == place):
        return
    one = told[place].changes[0]
    if common and (common[0].name, common[0].level) == (one.name, one.level):
        return
    what = f"{cut_middle(told[place].name(one))} on {one.device}"
    took = time_per_cycle(told[place], one)
    yield f"The largest change is {what} in {names[place]}: {took}."


def changed_most(told: Sequence[Told]) -> int | None:
    """The pair with the largest change of a function's time; None where none changed."""
    known = [place for place, one in enumerate(told) if one.comparable and one.changes]
    return max(known, key=lambda place: abs(told[place].changes[0].delta_ns), default=None)


def _comparable(told: Told) -> bool:
    return told.comparable


def _groups(states: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """How many pairs have what, and which they are; the most frequent needs no names."""
    groups = {state: [name for s, name in zip(states, names, strict=True) if s == state]
              for state in [*_WORDS.values(), _UNEQUAL]}  # fmt: skip
    largest = max(groups.values(), key=len)
    for state, members in groups.items():
        if members:
            which = "" if members is largest else f" ({units.listed(members, _MOST_NAMED)})"
            yield f"{len(members)} with {state}{which}"


def _range(told: Sequence[Told], state: str) -> str:
    """By how much cycles changed, where all of them did; what they take."""
    cycles = [one.pair.cycle_times for one in told]
    lengths = _ranges(*((one.base_mean_ns, one.new_mean_ns) for one in cycles))
    if state not in (_WORDS["longer"], _WORDS["shorter"]):
        return "" if state == _UNEQUAL else f": {lengths}"
    changes = [one.change_pct for one in cycles]
    known = sorted(one for one in changes if one is not None)
    by = f", {_between(signed_pct(known[0]), signed_pct(known[-1]))}" if known else ""
    return f"{by}: {lengths}"


def _ranges(*lengths_ns: tuple[float, float]) -> str:
    """Times of several pairs: from which to which on either side."""
    sides = zip(*lengths_ns, strict=True)
    base, new = (_between(*map(units.brief_ns, (min(side), max(side)))) for side in sides)
    # A range with two units of its own shares neither with the other.
    mixed = any(" " in side.partition(" to ")[0] for side in (base, new) if " to " in side)
    return f"{base} → {new}" if mixed else from_to(base, new)


def _between(low: str, high: str) -> str:
    """Two amounts as a range, with the unit they share named once."""
    return low if low == high else from_to(low, high).replace(" → ", " to ")


# -- the one that stands out -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StandingOut:
    """The pair that is not as the others are."""

    place: int
    outlier: Outlier | None = None
    """The function that sets it apart; None where the length of its cycles does."""


def standing_out(pairs: Sequence[Told]) -> StandingOut | None:
    """The pair whose cycle time changed by far the most, or one of whose functions did."""
    changes = [_cycle_change(one) for one in pairs]
    order = sorted(range(len(pairs)), key=lambda place: -changes[place])
    if len(order) > 1 and changes[order[0]] > _FAR * changes[order[1]]:
        return StandingOut(order[0])
    comparable = [place for place, one in enumerate(pairs) if one.comparable]
    found = outlier([pairs[place] for place in comparable])
    return None if found is None else StandingOut(comparable[found.place], found)


def _cycle_change(told: Told) -> float:
    """How much cycle time changed either way, where that is certain."""
    cycles = told.pair.cycle_times
    if not told.comparable or told.verdict.cycles not in {"longer", "shorter"}:
        return 0.0
    known = cycles.base_mean_ns > 0 and cycles.new_mean_ns > 0
    return abs(log(cycles.new_mean_ns / cycles.base_mean_ns)) if known else 0.0


def _at_start(name: str) -> str:
    """A name at the start of a sentence; those of files are as they are."""
    return name.capitalize() if name.startswith("rank ") else name


def _stands_out(
    told: Sequence[Told], names: Sequence[str], pairs: Sequence[Compared]
) -> Iterator[str]:
    found = standing_out(told)
    if found is None:
        return
    one, name = told[found.place], names[found.place]
    who = f"{_at_start(name)} stands out"
    if found.outlier is None:
        yield f"{who}: {' '.join(answer(one, pairs[found.place].diagnosis))}"
        return
    apart = found.outlier
    lengths = from_to(units.brief_ns(apart.base_ns), units.brief_ns(apart.new_ns))
    function = cut_middle(one.in_words(apart.function))
    yield f"{who}: {function} takes {lengths} per cycle, elsewhere {_ranges(*apart.others_ns)}."


# Stragglers that came, went or became worse, in words.

_TOLD = ("new", "worse", "gone")


def straggler_sentences(found: RankChanges) -> Iterator[str]:
    """Stragglers that came, went or became worse; those that one thing sets apart together."""
    for together in late_together(found):
        if together[0].state in _TOLD:
            yield straggler_sentence(together)


def late_together(found: RankChanges) -> list[list[StragglerChange]]:
    """Stragglers in one state and for one reason, by the groups of ranks they are in."""
    groups = {
        (side, rank): group.group
        for side, ranks in (("new", found.new), ("base", found.base))
        for group in ranks.groups
        for rank in group.ranks
    }
    parts: dict[tuple[str, str, str], list[StragglerChange]] = {}
    for each in found.stragglers:
        group = groups.get(("base" if each.state == "gone" else "new", each.rank), "")
        parts.setdefault((each.state, each.cause, group), []).append(each)
    return list(parts.values())


def whose(together: Sequence[StragglerChange]) -> str:
    """The ranks in words."""
    if len(together) == 1:
        return f"rank {together[0].rank}"
    return f"ranks {ranges_of(one.rank for one in together)}"


def straggler_sentence(together: Sequence[StragglerChange]) -> str:
    """Who is late, why, and what it costs."""
    first, several = together[0], len(together) > 1
    who = whose(together).capitalize()
    are = "are" if several else "is"
    costs = max(together, key=lambda one: max(one.new_ns, one.base_ns))
    why = f"{first.cause}, {why_late(first.cause, several=several)}"
    if first.state == "gone":
        cost = brief_ns(costs.base_ns)
        return f"{who} {are} no straggler{'s' * several} any more ({first.cause}, {cost} per step)."
    state = "new straggler" if first.state == "new" else "worse straggler"
    article = "" if several else "a "
    before = f" ({brief_ns(costs.base_ns)} before)" if first.state == "worse" else ""
    upto = "up to " if several else ""
    return (
        f"{who} {are} {article}{state}{'s' * several}: {why}; others wait {upto}"
        f"{brief_ns(costs.new_ns)} per step{before}."
    )


def cost_sentence(together: Sequence[StragglerChange]) -> str:
    """What stragglers cost now, and why, where it is said already that they are late."""
    several = len(together) > 1
    costs = max(together, key=lambda one: one.new_ns)
    before = f" ({brief_ns(costs.base_ns)} before)" if costs.state == "worse" else ""
    make = ("now " if costs.state == "new" else "") + ("make" if several else "makes")
    return (
        f"{whose(together).capitalize()} {make} the others wait {'up to ' * several}"
        f"{brief_ns(costs.new_ns)} per step{before}: {why_late(costs.cause, several=several)}."
    )


# The answer on two runs of many ranks in a few sentences.

_MOST = 2


def rank_headline(pairs: Sequence[Compared], found: RankChanges, *, has_all_ranks: bool) -> str:
    """What became of steps, and which stragglers came, went or became worse."""
    said = headline(pairs, None) if has_all_ranks else steps_sentence(found)
    return " ".join([said, *list(straggler_sentences(found))[:_MOST]])


def steps_sentence(found: RankChanges) -> str:
    """What became of steps; how many ranks that is about, where it is as many on both sides."""
    before, now = (each.world for each in found.layouts)
    if before != now:
        return found.reason
    ranks = counted(len(found.common) or len(found.new.ranks), "ranks")
    return f"{ranks}: {found.reason[:1].lower()}{found.reason[1:]}"
