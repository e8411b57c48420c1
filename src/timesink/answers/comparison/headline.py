"""The answer of a comparison in a few sentences: over one pair, many pairs, or all ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from timesink.analyses.ranks.changes import RankChanges, StragglerChange
from timesink.analyses.ranks.own_time import ranges_of
from timesink.answers.comparison.changes import Change, Told
from timesink.answers.comparison.naming import pair_names, processes
from timesink.answers.comparison.pairing import Compared
from timesink.answers.comparison.sentences import answer, of_pair, time_per_cycle
from timesink.model import units
from timesink.model.units import brief_ns, counted, from_to, signed_pct
from timesink.output.names import cut_middle
from timesink.rules.communication import why_late

if TYPE_CHECKING:
    from timesink.analyses.clustering.distances import Exploration

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
_FEWEST = 4
"""Pairs it takes to say what the others have in common."""
_CLEARLY_FIRST = 2.0
"""The one is this many times as far from the middle as the next."""
_LEAST_SHARE = 0.05
"""And by this part of a cycle."""
_TOLD = ("new", "worse", "gone")
_MOST_STRAGGLERS = 2


def headline(pairs: Sequence[Compared], exploration: Exploration | None) -> str:
    """What changed, over all pairs."""
    if exploration is not None:
        roles, ways = counted(len(exploration.roles), "roles"), len(exploration.clusters)
        return f"All {roles} behave alike." if ways == 1 else f"{roles} behave in {ways} ways."
    if len(pairs) == 1:
        return of_pair(pairs[0].pair, pairs[0].diagnosis)
    return " ".join(_of_many_pairs(pairs))


def _of_many_pairs(pairs: Sequence[Compared]) -> Iterator[str]:
    """What pairs have in common, and the one that stands out where one does."""
    told = [Told(one.pair) for one in pairs]
    names = pair_names(pairs)
    states = [_WORDS[one.verdict.cycles] if one.comparable else _UNEQUAL for one in told]
    are_ranks = all(processes(one.whole).startswith("rank ") for one in told)
    things = counted(len(told), "ranks" if are_ranks else "pairs")
    if len(set(states)) == 1:
        every = f"Both {things.rpartition(' ')[2]}" if len(told) == 2 else f"All {things}"
        yield f"{every} have {states[0]}{_range(told, states[0])}."
    else:
        yield f"{things}: {', '.join(_groups(states, names))}."
    # Pairs that would not be comparable as recorded.
    unlike = [name for one, name in zip(told, names, strict=True) if one.pair is not one.whole]
    if unlike:
        which = units.listed(unlike, _MOST_NAMED)
        yield f"In {which} cycles do not hold the same work and were put together until they do."
    common = _of_all(told)
    if common:
        lengths = _ranges(*((one.base_ns, one.new_ns) for one in common))
        yield f"In all of them {cut_middle(told[0].name(common[0]))} takes {lengths} per cycle."
    # The largest change over all pairs, where nothing else that is said names it.
    place, apart = changed_most(told), standing_out(told)
    if place is not None and (apart is None or apart[0] != place):
        one = told[place].changes[0]
        if not common or (common[0].name, common[0].level) != (one.name, one.level):
            what = f"{cut_middle(told[place].name(one))} on {one.device}"
            took = time_per_cycle(told[place], one)
            yield f"The largest change is {what} in {names[place]}: {took}."
    if apart is not None:
        place, function = apart
        name = names[place]
        # Names of files are as they are, at the start of a sentence too.
        who = name.capitalize() if name.startswith("rank ") else name
        said = function or " ".join(answer(told[place], pairs[place].diagnosis))
        yield f"{who} stands out: {said}"


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
    known = sorted(one.change_pct for one in cycles if one.change_pct is not None)
    by = f", {_between(signed_pct(known[0]), signed_pct(known[-1]))}" if known else ""
    return f"{by}: {lengths}"


def _ranges(*lengths_ns: tuple[float, float]) -> str:
    """Times of several pairs: from which to which on either side."""
    sides = zip(*lengths_ns, strict=True)
    base, new = (_between(*map(brief_ns, (min(side), max(side)))) for side in sides)
    # A range with two units of its own shares neither with the other.
    mixed = any(" " in side.partition(" to ")[0] for side in (base, new) if " to " in side)
    return f"{base} → {new}" if mixed else from_to(base, new)


def _between(low: str, high: str) -> str:
    """Two amounts as a range, with the unit they share named once."""
    return low if low == high else from_to(low, high).replace(" → ", " to ")


def _of_all(told: Sequence[Told]) -> list[Change]:
    """What changed most of what changed in every pair; empty without any."""
    if not all(one.comparable for one in told):
        return []
    changed = [{(one.name, one.level): one for one in each.changes} for each in told]
    common = set(changed[0]).intersection(*changed[1:])
    if not common:
        return []
    name = min(common, key=lambda key: (-sum(abs(each[key].delta_ns) for each in changed), key))
    return [each[name] for each in changed]


def changed_most(told: Sequence[Told]) -> int | None:
    """The pair with the largest change of a function's time; None where none changed."""
    known = [place for place, one in enumerate(told) if one.comparable and one.changes]
    return max(known, key=lambda place: abs(told[place].changes[0].delta_ns), default=None)


# -- the one that stands out -----------------------------------------------------------------------


def standing_out(pairs: Sequence[Told]) -> tuple[int, str] | None:
    """The place of the pair that is not as the others are, and the function that sets it apart.

    Its cycle time changed by far the most, and no function is named; or one of its functions did.
    """
    changes = [_cycle_change(one) for one in pairs]
    order = sorted(range(len(pairs)), key=lambda place: -changes[place])
    if len(order) > 1 and changes[order[0]] > _FAR * changes[order[1]]:
        return order[0], ""
    comparable = [place for place, one in enumerate(pairs) if one.comparable]
    found = outlier([pairs[place] for place in comparable])
    return None if found is None else (comparable[found[0]], found[1])


def _cycle_change(told: Told) -> float:
    """How much cycle time changed either way, where that is certain."""
    cycles = told.pair.cycle_times
    if not told.comparable or told.verdict.cycles not in {"longer", "shorter"}:
        return 0.0
    known = cycles.base_mean_ns > 0 and cycles.new_mean_ns > 0
    return abs(log(cycles.new_mean_ns / cycles.base_mean_ns)) if known else 0.0


def outlier(pairs: Sequence[Told]) -> tuple[int, str] | None:
    """The pair that the time of a function sets apart most clearly, and this in words."""
    if len(pairs) < _FEWEST:
        return None
    # Time of functions that changed beyond noise in one of the pairs, on any device.
    moved = {one.pair.times["function"][place] for one in pairs for place in one.verdict.functions}
    tables = [
        one.times.select("function", "base_ns", "new_ns")
        .filter(pl.col("function").is_in(sorted(moved)))
        .with_columns(pair=pl.lit(place))
        for place, one in enumerate(pairs)
    ]
    times = pl.concat(tables).group_by("function", "pair").sum().sort("function", "pair")
    if times.is_empty():
        return None
    names = times["function"].unique(maintain_order=True).to_list()
    rows = times["function"].replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    base, new = np.zeros((2, len(names), len(pairs)))
    for values, column in ((base, "base_ns"), (new, "new_ns")):
        values[rows.to_numpy(), times["pair"].to_numpy()] = times[column].to_numpy()
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
    lengths = list(zip(base[place].tolist(), new[place].tolist(), strict=True))
    took = from_to(*map(brief_ns, lengths.pop(who)))
    function = cut_middle(pairs[who].in_words(names[place]))
    return who, f"{function} takes {took} per cycle, elsewhere {_ranges(*lengths)}."


# -- ranks -----------------------------------------------------------------------------------------


def rank_headline(pairs: Sequence[Compared], found: RankChanges, *, has_all_ranks: bool) -> str:
    """What became of steps, and which stragglers came, went or became worse."""
    said = headline(pairs, None) if has_all_ranks else steps_sentence(found)
    return " ".join([said, *list(straggler_sentences(found))[:_MOST_STRAGGLERS]])


def steps_sentence(found: RankChanges) -> str:
    """What became of steps; how many ranks that is about, where it is as many on both sides."""
    before, now = (each.world for each in found.layouts)
    if before != now:
        return found.reason
    ranks = counted(len(found.common) or len(found.new.ranks), "ranks")
    return f"{ranks}: {found.reason[:1].lower()}{found.reason[1:]}"


def straggler_sentences(found: RankChanges) -> Iterator[str]:
    """Stragglers that came, went or became worse; those that one thing sets apart together."""
    for together in late_together(found):
        if together[0].state in _TOLD:
            yield _straggler_sentence(together)


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


def _straggler_sentence(together: Sequence[StragglerChange]) -> str:
    """Who is late, why, and what it costs."""
    first, several = together[0], len(together) > 1
    who = f"{whose(together).capitalize()} {'are' if several else 'is'}"
    costs = max(together, key=lambda one: max(one.new_ns, one.base_ns))
    if first.state == "gone":
        cost = brief_ns(costs.base_ns)
        return f"{who} no straggler{'s' * several} any more ({first.cause}, {cost} per step)."
    state = f"{'' if several else 'a '}{first.state} straggler{'s' * several}"
    why = f"{first.cause}, {why_late(first.cause, several=several)}"
    return f"{who} {state}: {why}; others wait {_wait(together, costs)}."


def _wait(together: Sequence[StragglerChange], worst: StragglerChange) -> str:
    """How long others wait for the worst of them now, and did before."""
    before = f" ({brief_ns(worst.base_ns)} before)" if worst.state == "worse" else ""
    return f"{'up to ' * (len(together) > 1)}{brief_ns(worst.new_ns)} per step{before}"


def cost_sentence(together: Sequence[StragglerChange]) -> str:
    """What stragglers cost now, and why, where it is said already that they are late."""
    several = len(together) > 1
    costs = max(together, key=lambda one: one.new_ns)
    make = ("now " if costs.state == "new" else "") + ("make" if several else "makes")
    why = why_late(costs.cause, several=several)
    return f"{whose(together).capitalize()} {make} the others wait {_wait(together, costs)}: {why}."
