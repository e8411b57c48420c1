"""The answer in a few sentences, on one pair and on many; what changed, and what to know of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from timesink.analyses.thresholds import SignificanceLimits
from timesink.answers.comparison.causes import (
    VERDICTS,
    cause_name,
    checks,
    first_clause,
    is_open,
    lower_first,
    verdict_sentence,
)
from timesink.answers.comparison.changes import Change, PairView, counters_meanwhile
from timesink.answers.comparison.naming import pair_names, processes
from timesink.answers.comparison.program import program_lines
from timesink.comparison.causes.diagnosis import diagnose
from timesink.comparison.results import Pair
from timesink.comparison.steps.verdict import NO_LENGTHS, UNEQUAL_WORK, step_time_sentence
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.model.findings import Cause
from timesink.model.schema import HOST_DEVICE
from timesink.output.names import LONGEST_NAME, cut_middle

if TYPE_CHECKING:
    from timesink.comparison.results import Exploration

_MAX_CAUSES = 2
_MAX_SENTENCES = 4
"""Of a headline: where more is to be said, it says one, and the rest stands below."""
_MAX_FINDINGS = 5
_MAX_COUNTERS = 3
_SURE = 0.5
"""Confidence in cycles from which on they need no remark."""
_SAME_CALLS = 0.05
"""Calls per step that differ by less are told as the same."""
_WORDS = {
    "longer": "longer steps",
    "shorter": "shorter steps",
    "doubtful": "drifting steps, where a change is not decided",
    "none": "no change in step time",
    "cannot tell": "steps that vary too much to tell a change",
    "unknown": "too few steps to tell a change",
}
_STATE_VERDICTS = {
    "longer": VERDICTS["regression"],
    "shorter": VERDICTS["improvement"],
    "doubtful": "Not decided",
    "none": VERDICTS["no_change"],
    "cannot tell": "Not decided",
    "unknown": VERDICTS["incomparable"],
}
_LONGER = {"regression": True, "improvement": False}
_UNEQUAL = "steps that do not do the same work"
_WHAT_DECIDES = "More steps, unprofiled steps or `timesink ab` would decide."
_MAX_NAMED = 3
_FAR = 1.5
"""A pair is told for itself whose cycle time changed by this much more than any other."""
_MIN_PAIRS_IN_COMMON = 4
"""Pairs it takes to say what the others have in common."""
_CLEARLY_FIRST = 2.0
"""The one is this many times as far from the middle as the next."""
_SMALL_PART = 0.3
"""Of a change: a cause of less does not explain it."""
_MOSTLY_IDLE = 0.5
"""Of a step: with less device work in it, the host decides how long it takes."""
_MIN_SHARE = 0.05
"""And by this part of a cycle."""


def pair_headline(pair: Pair, why: Diagnosis | None = None) -> str:
    """Whether the work is the same, how step time changed, what explains it or changed most.

    Where that takes many sentences, one: how step time changed, and what changed in the program.
    """
    lines = summary_sentences(PairView(pair), why)
    return _short_headline(lines, why) or " ".join(lines)


def further_sentences(report: PairView, why: Diagnosis) -> list[str]:
    """All that is to be said on a pair, where its headline is only a part of it."""
    lines = summary_sentences(report, why)
    return lines if _short_headline(lines, why) else []


def _short_headline(lines: Sequence[str], why: Diagnosis | None) -> str:
    """The verdict on step time with the first change of the program; empty where all fits."""
    edits = () if why is None or why.program is None else why.program.edits
    if why is None or not edits or why.verdict not in _LONGER or len(lines) <= _MAX_SENTENCES:
        return ""
    text = with_verdict(why.reason, verdict_sentence(why)).removesuffix(".")
    if text not in " ".join(lines):
        return ""
    more = f" and {units.count_noun(len(edits) - 1, 'more changes')}" if edits[1:] else ""
    return f"{text}, with {lower_first(edits[0].sentence.removesuffix('.'))}{more}."


def summary_sentences(report: PairView, why: Diagnosis | None = None) -> list[str]:
    """The answer on one pair: unequal work if there is any, step time, then why or what changed.

    A change of the program comes before its device time, and that before the time of steps; where
    the program is the same, step time is the news.  Where a diagnosis names a cause or an anomaly,
    that is said, and no other figure of a counter.
    """
    if why is not None and why.is_unfit:
        return [with_verdict(why.reason, verdict_sentence(why))]
    unequal = " ".join([UNEQUAL_WORK, *report.full_pair.workload.reasons[:1]])
    if not report.comparable:
        return _incomparable_lines(report, unequal, why)
    text = _step_words(report)
    program = None if why is None else why.program
    longer = {"longer": True, "shorter": False}.get(report.verdict.cycles)
    word, is_grouped = _STATE_VERDICTS[report.verdict.cycles], report.pair is not report.full_pair
    is_too_few = why is not None and is_grouped and why.verdict == "incomparable"
    if why is not None and (report.pair.plain or why.corrected or is_too_few):
        text, word, longer = why.reason, verdict_sentence(why), _LONGER.get(why.verdict)
    if is_grouped and not is_too_few:
        text = f"Grouped to equal work, {lower_first(text)}"
    if why is not None and why.expected is None:
        text = with_verdict(text, word)
    first = [] if program is None else program_lines(program, longer=longer, why=why)
    is_news = program is not None and (not program.same or program.device_verdict != "same")
    answer = [*first, text] if is_news else [text, *first]
    is_equal = report.full_pair.workload.comparable or is_too_few
    lines = answer if is_equal else [unequal, *answer]
    if why is not None and why.expected is not None:
        lines = [*slowdown_sentences(why), *lines]
    elif why is not None and (why.causes or why.anomalies):
        lines += _cause_lines(why, lines)
    elif not report.verdict.nothing and report.pair.times.height and not (why and why.paces):
        # Counters and devices that a diagnosis gives figures of.
        symptoms = () if why is None else why.symptoms
        lines.append(
            _changed_line(report, {(symptom.metric, symptom.device) for symptom in symptoms})
        )
    return [*lines, *hidden_work(why), *_paces_left(why, lines), *_last_line(why)]


def _incomparable_lines(report: PairView, unequal: str, why: Diagnosis | None) -> list[str]:
    """That the work is unequal, and what steps take as recorded."""
    base, new = report.pair.cycle_times.base_mean_ns, report.pair.cycle_times.new_mean_ns
    text = f"As recorded: {units.times(base, new)} per step, which says nothing about speed."
    lines = [text if base and new else NO_LENGTHS]
    if why is None:
        return [unequal, *lines]
    if why.expected is not None:
        return [*slowdown_sentences(why), unequal, *lines]
    return [with_verdict(unequal, VERDICTS["incomparable"]), *lines]


def with_verdict(text: str, word: str) -> str:
    """A sentence on step time after the word of its verdict; `No change in ...` has it already."""
    return text if text.startswith("No change") else f"{word}: {lower_first(text)}"


def _paces_left(why: Diagnosis | None, lines: Sequence[str]) -> list[str]:
    """What takes longer or less throughout, where no line says so."""
    paces = () if why is None else why.paces
    joined = " ".join(lines).lower()
    rest = [pace.sentence for pace in paces if pace.sentence.lower() not in joined]
    text = " ".join(lines)
    if why is not None and why.verdict in _LONGER and " of it, no single cause " in text:
        return [*rest, "Repeat the new run: its host may not be as fast."] if rest else []
    if why is not None and why.verdict in _LONGER and "Cause: " in text:
        return [f"Beyond that, {lower_first(sentence)}" for sentence in rest]
    if why is None or why.verdict not in _LONGER:
        return rest
    return [f"Cause: {lower_first(sentence)}" for sentence in rest[:1]] + rest[1:]


def _last_line(why: Diagnosis | None) -> list[str]:
    """The first thing to do about a slowdown, or what decides whether there is one."""
    if why is None or why.expected is not None:
        return []
    if why.verdict == "regression":
        return [first_clause(advice) for advice in checks(why)[:1]]
    is_undecided = is_open(why) and "would decide" not in why.reason
    return [_WHAT_DECIDES] if is_undecided and "record at least" not in why.reason else []


def slowdown_sentences(why: Diagnosis) -> list[str]:
    """How much slower steps are than somebody expected, and why."""
    if why.expected is None:
        return []
    slower = units.brief_ns(why.expected.slower_ns)
    first = f"Steps take {slower} longer than their workload explains."
    return [first, *(_cause_lines(why, ()) if why.causes or why.anomalies else [])]


def _cause_lines(why: Diagnosis, lines: Sequence[str]) -> list[str]:
    """The first cause with its amount, or else the first anomaly; nothing that `lines` say."""
    seen = {
        anomaly.id: f"({anomaly.device}: {units.amounts(anomaly.base, anomaly.new, anomaly.unit)})"
        for anomaly in reversed(why.anomalies)
    }
    if not why.causes:
        first = why.anomalies[0].id
        return [f"No cause found; what differs: {lower_first(cause_name(first))} {seen[first]}."]
    has_changed = why.expected is not None or why.verdict in _LONGER
    # What cost time is no cause of an improvement, nor the other way round.
    is_longer = _LONGER.get(why.verdict, True)
    causes = [
        cause
        for cause in why.causes
        if not has_changed or not cause.cost_ns or (cause.cost_ns > 0) == is_longer
    ]
    if not causes:
        return []
    cause, *other_causes = causes
    is_edit = why.program is not None and any(edit.cause == cause.id for edit in why.program.edits)
    if not has_changed and is_edit:
        return []
    if cause.place and any(cause.place in line for line in lines):
        return []
    name = " ".join(filter(None, (lower_first(cause_name(cause.id)), seen.get(cause.id))))
    if has_changed and not other_causes and _is_small_part(cause, why):
        explained, rest = (units.brief_ns(abs(ns)) for ns in (cause.cost_ns, why.unexplained_ns))
        return [
            f"{_upper_first(name)} explains {explained} of it, no single cause the other {rest}."
        ]
    cost = f", {units.signed_ns(cause.cost_ns)} per step" if cause.cost_ns else ""
    more = f"; {units.count_noun(len(other_causes), 'more causes')} below" if other_causes else ""
    return [f"{'Cause' if has_changed else 'Largest difference'}: {name}{cost}{more}."]


def _is_small_part(cause: Cause, why: Diagnosis) -> bool:
    """Whether a cause explains little of a change whose rest goes the same way."""
    change_ns = cause.cost_ns + why.unexplained_ns
    is_same_way = cause.cost_ns * why.unexplained_ns > 0
    return is_same_way and abs(cause.cost_ns) < _SMALL_PART * abs(change_ns)


def _upper_first(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def hidden_work(why: Diagnosis | None) -> list[str]:
    """Why steps are as long as before although device work is not."""
    program = None if why is None else why.program
    if why is None or program is None or why.verdict != "no_change" or is_open(why):
        return []
    more = {"longer": "more", "shorter": "less"}.get(program.device_verdict)
    device, lengths = program.device_time, why.cycle_time
    is_idle = all(
        0 < device_ns < _MOSTLY_IDLE * step_ns
        for device_ns, step_ns in (
            (device.base_ns, lengths.base_ns),
            (device.new_ns, lengths.new_ns),
        )
    )
    if more is None or not is_idle:
        return []
    effect = "costs no step time" if more == "more" else "saves no step time"
    lines = [f"The host is the bottleneck: {more} device work {effect}, as host code hides it."]
    return lines + [first_clause(advice) for advice in checks(why)[: more == "more"]]


def _step_words(report: PairView) -> str:
    """What became of step time, as the numbers that are told say."""
    lengths, state = report.pair.cycle_times, report.verdict.cycles
    base, new = lengths.base_mean_ns, lengths.new_mean_ns
    if state == "unknown":
        few = f"One step in a run is too few to tell a change: {units.times(base, new)}."
        return few if base and new else NO_LENGTHS
    verdict = {"longer": "regression", "shorter": "improvement"}.get(state, "no_change")
    return step_time_sentence(lengths, verdict)


# -- what changed most -----------------------------------------------------------------------------


def _changed_line(report: PairView, named: Collection[tuple[str, str]]) -> str:
    """What changed most, functions by time and counters by factor."""
    numbers = {"functions": len(report.changes), "counters": len(report.counters)}
    counts = [units.count_noun(number, things) for things, number in numbers.items() if number]
    if not counts:
        return "No single function or counter changed beyond noise."
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
    """Time per step on both sides, or on the one that has the function."""
    if change.runs_on != "both":
        length = units.brief_ns(change.base_ns + change.new_ns)
        return f"only in {report.side_name(change.runs_on)}, {length} per step"
    return f"{units.times(change.base_ns, change.new_ns)} per step"


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
    noise = "" if change.p < SignificanceLimits.alpha else ", which may be noise"
    text += f" ({units.change(change.base_ns, change.new_ns)}{noise})"
    base, new = change.calls_base, change.calls_new
    if abs(new - base) > _SAME_CALLS * max(base, new):
        text += f", {units.per_cycle(base)} → {units.per_cycle(new)} calls"
    if change.level == "exact" or set(change.names_base) == set(change.names_new):
        return text
    return f"{text}, with different {'functions' if change.device == HOST_DEVICE else 'kernels'}"


# -- what was compared, and what to know of it -----------------------------------------------------


def subject(report: PairView, identifier: str) -> str:
    """What was compared: names, processes, cycles."""
    base, new = report.pair.base, report.pair.new
    named = identifier if base.pid in base.label else f"{identifier}, {processes(report.full_pair)}"
    sides, anchors = [], []
    for role in (base, new):
        sides.append(
            f"{role.label} ({units.count_noun(role.behaviour['cycle'].n_unique(), 'steps')})"
        )
        # What marks its cycles, where that is a single thing.
        marks = role.behaviour["anchor"].drop_nulls().unique().to_list()
        mark = cut_middle(report.label(str(marks[0])), LONGEST_NAME) if len(marks) == 1 else ""
        anchors.append(mark or "different calls")
    text = f"{named}: {' → '.join(sides)} of {' and of '.join(dict.fromkeys(anchors))}"
    both = (base.anatomy, new.anatomy)
    late = any(anatomy is not None and anatomy.host_spans is not None for anatomy in both)
    return f"{text}, each up to the end of its device work" if late else text


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
                f"its steps were found with a confidence of only {recorded_role.confidence:.0%}"
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
            f"Scores reach {report.pair.rows['score'][0]:.0f} with no change beyond noise: "
            "the score divides by the spread of few steps, which may be close to zero."
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


def headline(pairs: Sequence[Pair], exploration: Exploration | None) -> str:
    """What changed, over all pairs."""
    if exploration is not None:
        many, groups = len(exploration.roles), len(exploration.clusters)
        processes_text = units.count_noun(many, "processes")
        if groups == 1:
            return f"All {processes_text} behave the same."
        return f"{processes_text} form {groups} groups that behave differently."
    if len(pairs) == 1:
        return pair_headline(pairs[0], diagnose(pairs[0]))
    return " ".join(_of_many_pairs(pairs))


def _of_many_pairs(pairs: Sequence[Pair]) -> Iterator[str]:
    """What pairs have in common, and the one that stands out where one does."""
    reports = [PairView(pair) for pair in pairs]
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
        yield f"In {which} steps do not do the same work and were grouped until they do."
    common = _of_all(reports)
    if common:
        lengths = _ranges(*((change.base_ns, change.new_ns) for change in common))
        yield f"In all of them {cut_middle(reports[0].name(common[0]))} takes {lengths} per step."
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
        text = function or " ".join(summary_sentences(reports[place], diagnose(pairs[place])))
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
    return who, f"{function} takes {times_text} per step, elsewhere {_ranges(*lengths)}."
