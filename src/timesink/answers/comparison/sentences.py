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
from timesink.answers.comparison.changes import Change, PairView, counters_meanwhile
from timesink.answers.comparison.pairing import Compared, pair_names, processes
from timesink.answers.comparison.program import program_lines
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.model.schema import HOST_DEVICE
from timesink.output.names import LONGEST_NAME, cut_middle

if TYPE_CHECKING:
    from timesink.analyses.comparison.role_groups import Exploration

_MAX_CAUSES = 2
_MAX_FINDINGS = 5
_MAX_COUNTERS = 3
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
_MAX_NAMED = 3
_FAR = 1.5
"""A pair is told for itself whose cycle time changed by this much more than any other."""
_MIN_PAIRS_IN_COMMON = 4
"""Pairs it takes to say what the others have in common."""
_CLEARLY_FIRST = 2.0
"""The one is this many times as far from the middle as the next."""
_MIN_SHARE = 0.05
"""And by this part of a cycle."""


def pair_headline(pair: Pair, why: Diagnosis | None = None) -> str:
    """Whether the work is the same, how cycle time changed, what explains it or changed most."""
    return " ".join(summary_sentences(PairView(pair), why))


def summary_sentences(report: PairView, why: Diagnosis | None = None) -> list[str]:
    """The answer on one pair: unequal work if there is any, cycle time, then why or what changed.

    Where a diagnosis names a cause or an anomaly, that is said, and no other figure of a counter.
    """
    if why is not None and why.is_unfit:
        return [why.reason]
    unequal = " ".join(
        ["Cycles do not hold the same work.", *report.full_pair.workload.reasons[:1]]
    )
    if not report.comparable:
        base, new = report.pair.cycle_times.base_mean_ns, report.pair.cycle_times.new_mean_ns
        text = f"As recorded they take {units.times(base, new)}, which says nothing about speed."
        lines = [unequal, text if base and new else _NO_LENGTHS]
        return lines if why is None else [*slowdown_sentences(why), *lines]
    text = _cycle_words(report)
    program = None if why is None else why.program
    longer = {"longer": True, "shorter": False}.get(report.verdict.cycles)
    if why is not None and (report.pair.plain is not None or why.corrected is not None):
        text, longer = why.reason, _LONGER.get(why.verdict)
    first = [] if program is None else program_lines(program, longer=longer, why=why)
    if report.full_pair.equal_work is not None:
        text = f"Put together to equal work, {text[0].lower()}{text[1:]}"
    lines = [*first, text] if report.full_pair.workload.comparable else [unequal, *first, text]
    if why is not None and why.expected is not None:
        lines = [*slowdown_sentences(why), *lines]
    elif why is not None and (why.causes or why.anomalies):
        lines.append(_why_line(why))
    elif not report.verdict.nothing and report.pair.times.height and not (why and why.paces):
        # Counters and devices that a diagnosis gives figures of.
        symptoms = () if why is None else why.symptoms
        lines.append(
            _changed_line(report, {(symptom.metric, symptom.device) for symptom in symptoms})
        )
    return [*lines, *_paces_left(why, lines)]


def _paces_left(why: Diagnosis | None, lines: Sequence[str]) -> list[str]:
    """What takes longer or less for everything alike, where no line says so."""
    paces = () if why is None else why.paces
    return [pace.sentence for pace in paces if pace.sentence not in " ".join(lines)]


def slowdown_sentences(why: Diagnosis) -> list[str]:
    """How much slower cycles are than somebody expected, and why."""
    if why.expected is None:
        return []
    slower = units.brief_ns(why.expected.slower_ns)
    first = f"Cycles take {slower} longer than their workload explains."
    return [first, *([_why_line(why)] if why.causes or why.anomalies else [])]


def _why_line(why: Diagnosis) -> str:
    """The first cause, or else the first anomaly, in a sentence."""
    seen = {
        anomaly.cause: f"({anomaly.device}: "
        f"{units.amounts(anomaly.base, anomaly.new, anomaly.unit)})"
        for anomaly in reversed(why.anomalies)
    }
    if not why.causes:
        first = why.anomalies[0].cause
        return f"No cause has evidence; around it: {cause_name(first)} {seen[first]}."
    cause, *other_causes = why.causes
    is_told = why.expected is not None or why.verdict in {"regression", "improvement"}
    lead = "First cause" if is_told else "What did change"
    named = " ".join(filter(None, (cause_name(cause.cause), seen.get(cause.cause))))
    more = f", {units.count_noun(len(other_causes), 'more causes')} below" if other_causes else ""
    cost = f", {units.signed_ns(cause.explained_ns)} per cycle" if cause.explained_ns else ""
    return f"{lead}: {named}{cost}{more}."


def _cycle_words(report: PairView) -> str:
    cycles, state = report.pair.cycle_times, report.verdict.cycles
    base, new = cycles.base_mean_ns, cycles.new_mean_ns
    lengths, by = units.times(base, new), units.change(base, new)
    low, high = cycles.interval_ns or (0, 0)
    bounds = f"95 % interval {units.brief_ns(low)} to {units.brief_ns(high)}"
    if base:
        bounds = f"95 % interval {units.interval_pct(low / (base / 100), high / (base / 100))}"
    interval = by if cycles.interval_ns is None else f"{by}, {bounds}"
    if report.verdict.nothing and state == "none":
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
    text = f"Cycles take {lengths} ({interval})"
    uneven = "they are too uneven to tell whether that changed"
    return f"{text}: {uneven}.{too_few_words(cycles)}"


# -- what changed most -----------------------------------------------------------------------------


def _changed_line(report: PairView, named: Collection[tuple[str, str]]) -> str:
    """What changed most, functions by time and counters by factor."""
    numbers = {"functions": len(report.changes), "counters": len(report.counters)}
    counts = [units.count_noun(number, things) for things, number in numbers.items() if number]
    if not counts:
        return "No function or counter of its own changed beyond noise."
    most = [
        f"{cut_middle(report.name(change))} on {change.device} ({time_per_cycle(report, change)})"
        for change in report.changes[:1]
    ]
    other_counters = [row for row in report.counters if (row["metric"], row["device"]) not in named]
    most += [
        f"{cut_middle(row['metric'])} of {row['device']} ({counter_amounts(row)})"
        for row in different(other_counters)[: _MAX_CAUSES - len(most)]
    ]
    are_all = len(report.changes) + len(different(report.counters)) == len(most)
    most_text = f"{': ' if are_all else ', most of all '}{' and '.join(most)}" if most else ""
    line = f"{' and '.join(counts)} changed beyond noise{most_text}"
    compared = (report.pair.loads["runs_on"].cast(pl.String) == "both").any()
    no_counter = not report.counters and compared
    return f"{line}; no counter did." if no_counter else f"{line}."


def time_per_cycle(report: PairView, change: Change) -> str:
    """Time per cycle on both sides, or on the one that has the function."""
    if change.runs_on != "both":
        length = units.brief_ns(change.base_ns + change.new_ns)
        return f"only in {report.side_name(change.runs_on)}, {length} per cycle"
    return f"{units.times(change.base_ns, change.new_ns)} per cycle"


def counter_amounts(row: Mapping[str, Any]) -> str:
    """A counter on both sides."""
    return units.amounts(row["mu_base"], row["mu_new"], row["unit"])


def different(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose counters read differently; what reads the same is one row with all its names."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["device"], counter_amounts(row)), []).append(row)
    return [
        {**same[0], "metric": "/".join(row["metric"] for row in same)} for same in groups.values()
    ]


def findings(
    report: PairView, named: Collection[tuple[str, str]] = ()
) -> Iterator[tuple[str, str]]:
    """The functions whose time changed most of those that changed beyond noise.

    Each with its times, and with how counters moved meanwhile where that was not told before.  Of
    unequal work there are none: what a function took in cycles of another kind says nothing.
    Counters and devices that were `named` before are not told again with other figures.
    """
    before = set()
    changed = [(row["metric"], row["device"]) for row in report.counters]
    for change in report.changes[:_MAX_FINDINGS] if report.comparable else ():
        counters = [name for name, device in changed
                    if device == change.device and (name, device) not in named]  # fmt: skip
        rows = different(counters_meanwhile(report.pair.loads, change, counters))[:_MAX_COUNTERS]
        phrases = (
            f"{cut_middle(row['metric'], LONGEST_NAME)} {counter_amounts(row)}" for row in rows
        )
        these = (change.device, *(row["metric"] for row in rows))
        new = rows and these not in before
        yield _line(report, change), f"meanwhile {', '.join(phrases)}" if new else ""
        before.add(these)


def findings_left(report: PairView) -> str:
    """How many more functions changed; empty where all are told."""
    more = len(report.changes) - _MAX_FINDINGS if report.comparable else 0
    return f"and {units.count(more)} more: --table times" if more > 0 else ""


def _line(report: PairView, change: Change) -> str:
    """A function with its times; its calls and names where both sides have others."""
    name = cut_middle(report.name(change), LONGEST_NAME)
    text = f"{name} on {change.device}: {time_per_cycle(report, change)}"
    if change.runs_on != "both":
        return text
    noise = "" if change.p < ALPHA else ", which may be noise"
    text += f" ({units.change(change.base_ns, change.new_ns)}{noise})"
    base, new = change.calls_base, change.calls_new
    if abs(new - base) > _SAME_CALLS * max(base, new):
        text += f", {units.per_cycle(base)} → {units.per_cycle(new)} calls"
    if change.level == "exact" or set(change.names_base) == set(change.names_new):
        return text
    return f"{text}, other {'functions' if change.device == HOST_DEVICE else 'kernels'}"


# -- what was compared, and what to know of it -----------------------------------------------------


def subject(report: PairView, identifier: str) -> str:
    """What was compared: names, processes, cycles."""
    base, new = report.pair.base, report.pair.new
    named = identifier if base.pid in base.label else f"{identifier}, {processes(report.full_pair)}"
    sides, anchors = [], []
    for role in (base, new):
        sides.append(
            f"{role.label} ({units.count_noun(role.behaviour['cycle'].n_unique(), 'cycles')})"
        )
        # What marks its cycles, where that is a single thing.
        marks = role.behaviour["anchor"].drop_nulls().unique().to_list()
        mark = cut_middle(report.label(str(marks[0])), LONGEST_NAME) if len(marks) == 1 else ""
        anchors.append(mark or "unlike calls")
    text = f"{named}: {' → '.join(sides)} of {' and of '.join(dict.fromkeys(anchors))}"
    both = (base.anatomy, new.anatomy)
    late = any(anatomy is not None and anatomy.host_spans is not None for anatomy in both)
    return f"{text}, each until its device work is done" if late else text


def both_labels(pair: Pair) -> str:
    """What the two sides are called."""
    return f"{pair.base.label} vs {pair.new.label}"


def notes(report: PairView) -> list[str]:
    """What to know before believing the numbers."""
    reasons = report.full_pair.workload.reasons
    lines = list(reasons if report.full_pair.workload.comparable else reasons[1:])
    side_notes = []
    # Each side as recorded, and as its numbers are told.
    for recorded_role, role in (
        (report.full_pair.base, report.pair.base),
        (report.full_pair.new, report.pair.new),
    ):
        role_notes = [*recorded_role.notes, *role.notes]
        if recorded_role.confidence is not None and recorded_role.confidence < _SURE:
            role_notes.append(
                f"its cycles were found with a confidence of {recorded_role.confidence:.0%} only"
            )
        side_notes.append((role.label, list(dict.fromkeys(role_notes))))
    of_both = [note for note in side_notes[0][1] if note in side_notes[1][1]]
    lines += [f"both: {note}" for note in of_both]
    lines += [
        f"{label}: {note}" for label, texts in side_notes for note in texts if note not in of_both
    ]
    if report.verdict.nothing and report.pair.findings:
        # High scores where nothing differs are a matter of small spreads.
        lines.append(
            f"Scores reach {report.pair.rows['score'][0]:.0f} though nothing changed beyond noise: "
            "the score divides by the spread of few cycles, which may be close to nothing."
        )
    return [*dict.fromkeys(lines)]


def notes_of_many(pairs: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Notes of several pairs under their names; what is said of all of them is said once."""
    every = list(pairs)
    of_all = (
        [note for note in every[0][1] if all(note in pair_notes for _, pair_notes in every)]
        if every
        else []
    )
    return [
        *of_all,
        *(
            f"{name}: {note}"
            for name, pair_notes in every
            for note in pair_notes
            if note not in of_all
        ),
    ]


def headline(pairs: Sequence[Compared], exploration: Exploration | None) -> str:
    """What changed, over all pairs."""
    if exploration is not None:
        many, groups = len(exploration.roles), len(exploration.clusters)
        processes_text = units.count_noun(many, "processes")
        if groups == 1:
            return f"All {processes_text} behave the same."
        return f"{processes_text} form {groups} groups that behave differently."
    if len(pairs) == 1:
        return pair_headline(pairs[0].pair, pairs[0].diagnosis)
    return " ".join(_of_many_pairs(pairs))


def _of_many_pairs(pairs: Sequence[Compared]) -> Iterator[str]:
    """What pairs have in common, and the one that stands out where one does."""
    reports = [PairView(pair.pair) for pair in pairs]
    names = pair_names(pairs)
    states = [
        _WORDS[report.verdict.cycles] if report.comparable else _UNEQUAL for report in reports
    ]
    are_ranks = all(processes(report.full_pair).startswith("rank ") for report in reports)
    things = units.count_noun(len(reports), "ranks" if are_ranks else "pairs")
    if len(set(states)) == 1:
        every = f"Both {things.rpartition(' ')[2]}" if len(reports) == 2 else f"All {things}"
        yield f"{every} have {states[0]}{_range(reports, states[0])}."
    else:
        yield f"{things}: {', '.join(_groups(states, names))}."
    # Pairs that would not be comparable as recorded.
    unlike = [
        name
        for report, name in zip(reports, names, strict=True)
        if report.pair is not report.full_pair
    ]
    if unlike:
        which = units.join_names(unlike, _MAX_NAMED)
        yield f"In {which} cycles do not hold the same work and were put together until they do."
    common = _of_all(reports)
    if common:
        lengths = _ranges(*((change.base_ns, change.new_ns) for change in common))
        yield f"In all of them {cut_middle(reports[0].name(common[0]))} takes {lengths} per cycle."
    # The largest change over all pairs, where nothing else that is said names it.
    place, apart = changed_most(reports), standing_out(reports)
    if place is not None and (apart is None or apart[0] != place):
        change = reports[place].changes[0]
        if not common or (common[0].name, common[0].level) != (change.name, change.level):
            what = f"{cut_middle(reports[place].name(change))} on {change.device}"
            took = time_per_cycle(reports[place], change)
            yield f"The largest change is {what} in {names[place]}: {took}."
    if apart is not None:
        place, function = apart
        name = names[place]
        # Names of files are as they are, at the start of a sentence too.
        who = name.capitalize() if name.startswith("rank ") else name
        text = function or " ".join(summary_sentences(reports[place], pairs[place].diagnosis))
        yield f"{who} stands out: {text}"


def _groups(states: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """How many pairs have what, and which they are; the most frequent needs no names."""
    groups = {state: [name for s, name in zip(states, names, strict=True) if s == state]
              for state in [*_WORDS.values(), _UNEQUAL]}  # fmt: skip
    largest = max(groups.values(), key=len)
    for state, members in groups.items():
        if members:
            which = "" if members is largest else f" ({units.join_names(members, _MAX_NAMED)})"
            yield f"{len(members)} with {state}{which}"


def _range(reports: Sequence[PairView], state: str) -> str:
    """By how much cycles changed, where all of them did; what they take."""
    cycles = [report.pair.cycle_times for report in reports]
    lengths = _ranges(
        *((cycle_times.base_mean_ns, cycle_times.new_mean_ns) for cycle_times in cycles)
    )
    if state not in (_WORDS["longer"], _WORDS["shorter"]):
        return "" if state == _UNEQUAL else f": {lengths}"
    change_pcts = sorted(
        cycle_times.change_pct for cycle_times in cycles if cycle_times.change_pct is not None
    )
    by = (
        f", {_between(units.signed_pct(change_pcts[0]), units.signed_pct(change_pcts[-1]))}"
        if change_pcts
        else ""
    )
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


def _of_all(reports: Sequence[PairView]) -> list[Change]:
    """What changed most of what changed in every pair; empty without any."""
    if not all(report.comparable for report in reports):
        return []
    changed = [
        {(change.name, change.level): change for change in report.changes} for report in reports
    ]
    common = set(changed[0]).intersection(*changed[1:])
    if not common:
        return []
    name = min(
        common, key=lambda key: (-sum(abs(by_name[key].delta_ns) for by_name in changed), key)
    )
    return [by_name[name] for by_name in changed]


def changed_most(reports: Sequence[PairView]) -> int | None:
    """The pair with the largest change of a function's time; None where none changed."""
    places = [place for place, report in enumerate(reports) if report.comparable and report.changes]
    return max(places, key=lambda place: abs(reports[place].changes[0].delta_ns), default=None)


# -- the one that stands out -----------------------------------------------------------------------


def standing_out(pairs: Sequence[PairView]) -> tuple[int, str] | None:
    """The place of the pair that is not as the others are, and the function that sets it apart.

    Its cycle time changed by far the most, and no function is named; or one of its functions did.
    """
    changes = [_cycle_change(report) for report in pairs]
    order = sorted(range(len(pairs)), key=lambda place: -changes[place])
    if len(order) > 1 and changes[order[0]] > _FAR * changes[order[1]]:
        return order[0], ""
    comparable = [place for place, report in enumerate(pairs) if report.comparable]
    result = outlier([pairs[place] for place in comparable])
    return None if result is None else (comparable[result[0]], result[1])


def _cycle_change(report: PairView) -> float:
    """How much cycle time changed either way, where that is certain."""
    cycles = report.pair.cycle_times
    if not report.comparable or report.verdict.cycles not in {"longer", "shorter"}:
        return 0.0
    has_lengths = cycles.base_mean_ns > 0 and cycles.new_mean_ns > 0
    return abs(log(cycles.new_mean_ns / cycles.base_mean_ns)) if has_lengths else 0.0


def outlier(pairs: Sequence[PairView]) -> tuple[int, str] | None:
    """The pair that the time of a function sets apart most clearly, and this in words."""
    if len(pairs) < _MIN_PAIRS_IN_COMMON:
        return None
    # Time of functions that changed beyond noise in one of the pairs, on any device.
    moved = {
        report.pair.times["function"][place]
        for report in pairs
        for place in report.verdict.functions
    }
    tables = [
        report.times.select("function", "base_ns", "new_ns")
        .filter(pl.col("function").is_in(sorted(moved)))
        .with_columns(pair=pl.lit(place))
        for place, report in enumerate(pairs)
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
    cycle = min(report.pair.cycle_times.base_mean_ns for report in pairs)
    clear = (ordered[:, -1] > _CLEARLY_FIRST * ordered[:, -2]) & (
        ordered[:, -1] > _MIN_SHARE * cycle
    )
    if not clear.any():
        return None
    place = int(np.argmax(np.where(clear, ordered[:, -1], -1)))
    who = int(np.argmax(apart[place]))
    lengths = list(zip(base[place].tolist(), new[place].tolist(), strict=True))
    times_text = units.from_to(*map(units.brief_ns, lengths.pop(who)))
    function = cut_middle(pairs[who].in_words(names[place]))
    return who, f"{function} takes {times_text} per cycle, elsewhere {_ranges(*lengths)}."
