"""The answer in a few sentences, on one pair and on many; what changed, and what to know of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from timesink.analyses.comparison import Pair
from timesink.analyses.comparison.verdict import exact_words, too_few_words
from timesink.analyses.statistics import ALPHA
from timesink.answers.causes import cause_name
from timesink.answers.comparison.changes import Change, Told, counters_meanwhile
from timesink.answers.comparison.pairing import Compared, pair_names, processes
from timesink.answers.comparison.program import program_lines
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.model.schema import HOST_DEVICE
from timesink.output.names import LONGEST_NAME, cut_middle

if TYPE_CHECKING:
    from timesink.analyses.comparison.role_groups import Exploration

_MOST = 2
_MOST_FINDINGS = 5
_MOST_COUNTERS = 3
_SURE = 0.5
"""Confidence in cycles from which on they need no remark."""
_SAME_CALLS = 0.05
"""Calls per cycle that differ by less are told as the same."""
_NO_LENGTHS = "How long cycles take is not recorded on both sides."
_WORDS = {
    "longer": "longer cycles",
    "shorter": "shorter cycles",
    "doubtful": "a doubtful change of cycle time",
    "none": "the same cycle time within noise",
    "cannot tell": "cycles too uneven to tell",
    "unknown": "too few cycles to tell",
}
_LONGER = {"regression": True, "improvement": False}
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


def of_pair(pair: Pair, why: Diagnosis | None = None) -> str:
    """Whether the work is the same, how cycle time changed, what explains it or changed most."""
    return " ".join(answer(Told(pair), why))


def answer(told: Told, why: Diagnosis | None = None) -> list[str]:
    """The answer on one pair: unequal work if there is any, cycle time, then why or what changed.

    Where a diagnosis names a cause or an anomaly, that is said, and no other figure of a counter.
    """
    if why is not None and why.is_unfit:
        return [why.reason]
    unequal = " ".join(["Cycles do not hold the same work.", *told.whole.workload.reasons[:1]])
    if not told.comparable:
        base, new = told.pair.cycle_times.base_mean_ns, told.pair.cycle_times.new_mean_ns
        said = f"As recorded they take {units.times(base, new)}, which says nothing about speed."
        lines = [unequal, said if base and new else _NO_LENGTHS]
        return lines if why is None else [*slower_lines(why), *lines]
    said = _cycle_words(told)
    program = None if why is None else why.program
    longer = {"longer": True, "shorter": False}.get(told.verdict.cycles)
    if why is not None and told.pair.plain is not None:
        said, longer = why.reason, _LONGER.get(why.verdict)
    first = [] if program is None else program_lines(program, longer=longer, why=why)
    if told.whole.equal_work is not None:
        said = f"Put together to equal work, {said[0].lower()}{said[1:]}"
    lines = [*first, said] if told.whole.workload.comparable else [unequal, *first, said]
    if why is not None and why.expected is not None:
        lines = [*slower_lines(why), *lines]
    elif why is not None and (why.causes or why.anomalies):
        lines.append(_why_line(why))
    elif not told.verdict.nothing and told.pair.times.height and not (why and why.paces):
        # Counters and devices that a diagnosis gives figures of.
        symptoms = () if why is None else why.symptoms
        lines.append(_changed_line(told, {(one.metric, one.device) for one in symptoms}))
    return [*lines, *_paces_left(why, lines)]


def _paces_left(why: Diagnosis | None, lines: Sequence[str]) -> list[str]:
    """What takes longer or less for everything alike, where no line says so."""
    paces = () if why is None else why.paces
    return [pace.sentence for pace in paces if pace.sentence not in " ".join(lines)]


def slower_lines(why: Diagnosis) -> list[str]:
    """How much slower cycles are than somebody expected, and why."""
    if why.expected is None:
        return []
    slower = units.brief_ns(why.expected.slower_ns)
    first = f"Cycles take {slower} longer than their workload explains."
    return [first, *([_why_line(why)] if why.causes or why.anomalies else [])]


def _why_line(why: Diagnosis) -> str:
    """The first cause, or else the first anomaly, in a sentence."""
    seen = {
        one.cause: f"({one.device}: {units.amounts(one.base, one.new, one.unit)})"
        for one in reversed(why.anomalies)
    }
    if not why.causes:
        first = why.anomalies[0].cause
        return f"No cause has evidence; around it: {cause_name(first)} {seen[first]}."
    cause, *others = why.causes
    is_told = why.expected is not None or why.verdict in {"regression", "improvement"}
    lead = "First cause" if is_told else "What did change"
    named = " ".join(filter(None, (cause_name(cause.cause), seen.get(cause.cause))))
    more = f", {units.counted(len(others), 'more causes')} below" if others else ""
    cost = f", {units.signed_ns(cause.explained_ns)} per cycle" if cause.explained_ns else ""
    return f"{lead}: {named}{cost}{more}."


def _cycle_words(told: Told) -> str:
    cycles, state = told.pair.cycle_times, told.verdict.cycles
    base, new = cycles.base_mean_ns, cycles.new_mean_ns
    lengths, by = units.times(base, new), units.change(base, new)
    low, high = cycles.interval_ns or (0, 0)
    bounds = f"95 % interval {units.brief_ns(low)} to {units.brief_ns(high)}"
    if base:
        bounds = f"95 % interval {units.interval_pct(low / (base / 100), high / (base / 100))}"
    interval = by if cycles.interval_ns is None else f"{by}, {bounds}"
    if told.verdict.nothing and state == "none":
        return f"Both runs are the same within noise: cycles take {lengths} ({interval})."
    if state in {"longer", "shorter"}:
        how = f"{by.lstrip('+-')} {'longer' if new > base else 'less'}"
        how = f"{by.removesuffix(' x')} times as long" if by.endswith(" x") else how
        return f"Cycles take {how}: {lengths} ({bounds}).{exact_words(cycles)}"
    if state == "doubtful":
        return f"Cycles take {lengths} ({interval}): this may be noise, as levels wander."
    if state == "unknown":
        few = f"Cycles take {lengths}; one cycle on a side cannot be told from noise."
        return few if base and new else _NO_LENGTHS
    if state == "none":
        return f"Cycle time is the same within noise: {lengths} ({interval})."
    said = f"Cycles take {lengths} ({interval})"
    uneven = "they are too uneven to tell whether that changed"
    return f"{said}: {uneven}.{too_few_words(cycles)}"


# -- what changed most -----------------------------------------------------------------------------


def _changed_line(told: Told, named: Collection[tuple[str, str]]) -> str:
    """What changed most, functions by time and counters by factor."""
    numbers = {"functions": len(told.changes), "counters": len(told.counters)}
    counts = [units.counted(number, things) for things, number in numbers.items() if number]
    if not counts:
        return "No function or counter of its own changed beyond noise."
    most = [
        f"{cut_middle(told.name(one))} on {one.device} ({time_per_cycle(told, one)})"
        for one in told.changes[:1]
    ]
    others = [row for row in told.counters if (row["metric"], row["device"]) not in named]
    most += [
        f"{cut_middle(row['metric'])} of {row['device']} ({counter_amounts(row)})"
        for row in different(others)[: _MOST - len(most)]
    ]
    are_all = len(told.changes) + len(different(told.counters)) == len(most)
    shown = f"{': ' if are_all else ', most of all '}{' and '.join(most)}" if most else ""
    said = f"{' and '.join(counts)} changed beyond noise{shown}"
    compared = (told.pair.loads["runs_on"].cast(pl.String) == "both").any()
    no_counter = not told.counters and compared
    return f"{said}; no counter did." if no_counter else f"{said}."


def time_per_cycle(told: Told, one: Change) -> str:
    """Time per cycle on both sides, or on the one that has the function."""
    if one.runs_on != "both":
        length = units.brief_ns(one.base_ns + one.new_ns)
        return f"only in {told.side_name(one.runs_on)}, {length} per cycle"
    return f"{units.times(one.base_ns, one.new_ns)} per cycle"


def counter_amounts(row: Mapping[str, Any]) -> str:
    """A counter on both sides."""
    return units.amounts(row["mu_base"], row["mu_new"], row["unit"])


def different(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose counters read differently; what reads the same is one row with all its names."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        alike.setdefault((row["device"], counter_amounts(row)), []).append(row)
    return [
        {**same[0], "metric": "/".join(row["metric"] for row in same)} for same in alike.values()
    ]


def findings(told: Told, named: Collection[tuple[str, str]] = ()) -> Iterator[tuple[str, str]]:
    """The functions whose time changed most of those that changed beyond noise.

    Each with its times, and with how counters moved meanwhile where that was not told before.  Of
    unequal work there are none: what a function took in cycles of another kind says nothing.
    Counters and devices that were `named` before are not told again with other figures.
    """
    before = set()
    changed = [(row["metric"], row["device"]) for row in told.counters]
    for one in told.changes[:_MOST_FINDINGS] if told.comparable else ():
        counters = [name for name, device in changed
                    if device == one.device and (name, device) not in named]  # fmt: skip
        rows = different(counters_meanwhile(told.pair.loads, one, counters))[:_MOST_COUNTERS]
        shown = (
            f"{cut_middle(row['metric'], LONGEST_NAME)} {counter_amounts(row)}" for row in rows
        )
        these = (one.device, *(row["metric"] for row in rows))
        new = rows and these not in before
        yield _line(told, one), f"meanwhile {', '.join(shown)}" if new else ""
        before.add(these)


def findings_left(told: Told) -> str:
    """How many more functions changed; empty where all are told."""
    more = len(told.changes) - _MOST_FINDINGS if told.comparable else 0
    return f"and {units.count(more)} more: --table times" if more > 0 else ""


def _line(told: Told, one: Change) -> str:
    """A function with its times; its calls and names where both sides have others."""
    name = cut_middle(told.name(one), LONGEST_NAME)
    said = f"{name} on {one.device}: {time_per_cycle(told, one)}"
    if one.runs_on != "both":
        return said
    noise = "" if one.p < ALPHA else ", which may be noise"
    said += f" ({units.change(one.base_ns, one.new_ns)}{noise})"
    base, new = one.calls_base, one.calls_new
    if abs(new - base) > _SAME_CALLS * max(base, new):
        said += f", {units.per_cycle(base)} → {units.per_cycle(new)} calls"
    if one.level == "exact" or set(one.names_base) == set(one.names_new):
        return said
    return f"{said}, other {'functions' if one.device == HOST_DEVICE else 'kernels'}"


# -- what was compared, and what to know of it -----------------------------------------------------


def subject(told: Told, identifier: str) -> str:
    """What was compared: names, processes, cycles."""
    base, new = told.pair.base, told.pair.new
    named = identifier if base.pid in base.label else f"{identifier}, {processes(told.whole)}"
    sides, anchors = [], []
    for role in (base, new):
        sides.append(
            f"{role.label} ({units.counted(role.behaviour['cycle'].n_unique(), 'cycles')})"
        )
        # What marks its cycles, where that is a single thing.
        marks = role.behaviour["anchor"].drop_nulls().unique().to_list()
        mark = cut_middle(told.label(str(marks[0])), LONGEST_NAME) if len(marks) == 1 else ""
        anchors.append(mark or "unlike calls")
    said = f"{named}: {' → '.join(sides)} of {' and of '.join(dict.fromkeys(anchors))}"
    both = (base.anatomy, new.anatomy)
    late = any(one is not None and one.host_spans is not None for one in both)
    return f"{said}, each until its device work is done" if late else said


def both_labels(pair: Pair) -> str:
    """What the two sides are called."""
    return f"{pair.base.label} vs {pair.new.label}"


def notes(told: Told) -> list[str]:
    """What to know before believing the numbers."""
    reasons = told.whole.workload.reasons
    shown = list(reasons if told.whole.workload.comparable else reasons[1:])
    own = []
    # Each side as recorded, and as its numbers are told.
    for whole, role in ((told.whole.base, told.pair.base), (told.whole.new, told.pair.new)):
        said = [*whole.notes, *role.notes]
        if whole.confidence is not None and whole.confidence < _SURE:
            said.append(f"its cycles were found with a confidence of {whole.confidence:.0%} only")
        own.append((role.label, list(dict.fromkeys(said))))
    of_both = [note for note in own[0][1] if note in own[1][1]]
    shown += [f"both: {note}" for note in of_both]
    shown += [f"{label}: {note}" for label, each in own for note in each if note not in of_both]
    if told.verdict.nothing and told.pair.findings:
        # High scores where nothing differs are a matter of small spreads.
        shown.append(
            f"Scores reach {told.pair.rows['score'][0]:.0f} though nothing changed beyond noise: "
            "the score divides by the spread of few cycles, which may be close to nothing."
        )
    return [*dict.fromkeys(shown)]


def notes_of_many(pairs: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Notes of several pairs under their names; what is said of all of them is said once."""
    every = list(pairs)
    of_all = [note for note in every[0][1] if all(note in own for _, own in every)] if every else []
    return [
        *of_all,
        *(f"{name}: {note}" for name, own in every for note in own if note not in of_all),
    ]


def headline(pairs: Sequence[Compared], exploration: Exploration | None) -> str:
    """What changed, over all pairs."""
    if exploration is not None:
        roles, ways = units.counted(len(exploration.roles), "roles"), len(exploration.clusters)
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
    things = units.counted(len(told), "ranks" if are_ranks else "pairs")
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
    by = f", {_between(units.signed_pct(known[0]), units.signed_pct(known[-1]))}" if known else ""
    return f"{by}: {lengths}"


def _ranges(*lengths_ns: tuple[float, float]) -> str:
    """Times of several pairs: from which to which on either side."""
    sides = zip(*lengths_ns, strict=True)
    base, new = (_between(*map(units.brief_ns, (min(side), max(side)))) for side in sides)
    # A range with two units of its own shares neither with the other.
    mixed = any(" " in side.partition(" to ")[0] for side in (base, new) if " to " in side)
    return f"{base} → {new}" if mixed else units.from_to(base, new)


def _between(low: str, high: str) -> str:
    """Two amounts as a range, with the unit they share named once."""
    return low if low == high else units.from_to(low, high).replace(" → ", " to ")


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
    took = pl.concat(tables).group_by("function", "pair").sum().sort("function", "pair")
    if took.is_empty():
        return None
    names = took["function"].unique(maintain_order=True).to_list()
    rows = took["function"].replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    base, new = np.zeros((2, len(names), len(pairs)))
    for values, column in ((base, "base_ns"), (new, "new_ns")):
        values[rows.to_numpy(), took["pair"].to_numpy()] = took[column].to_numpy()
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
    own = units.from_to(*map(units.brief_ns, lengths.pop(who)))
    function = cut_middle(pairs[who].in_words(names[place]))
    return who, f"{function} takes {own} per cycle, elsewhere {_ranges(*lengths)}."
