"""The answer of a comparison in a few sentences, over one pair or many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from timesink.model import units
from timesink.model.amounts import from_to, signed_pct
from timesink.output.names import cut_middle
from timesink.reports.comparison.answer import answer, of_pair, time_per_cycle
from timesink.reports.comparison.changes import Change
from timesink.reports.comparison.naming import pair_names
from timesink.reports.comparison.outlier import Outlier, outlier
from timesink.reports.comparison.told import Told

if TYPE_CHECKING:
    from timesink.analyses.clustering.exploration import Exploration
    from timesink.reports.comparison.report import Compared

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
    """What changed, over all pairs.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> headline(same.pairs, None) == same.headline
    True
    """
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
    """The pair with the largest change of a function's time; None where none changed.

    >>> changed_most([]) is None
    True
    """
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
    """The pair whose cycle time changed by far the most, or in which a function changed otherwise.

    >>> standing_out([]) is None
    True
    """
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
