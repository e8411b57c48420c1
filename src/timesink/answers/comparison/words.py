"""What a comparison has to say besides its tables; where it appears is up to others."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from timesink import __version__
from timesink.analyses.comparison.pair import Pair, Role
from timesink.analyses.statistics.ranks import ALPHA
from timesink.answers import cause_words as words
from timesink.answers.causes import attribution_block, causes_block, next_sections, paragraphs
from timesink.answers.comparison.changes import Change, counters_meanwhile
from timesink.answers.comparison.exploration import APART, apart_lines, groups_block, threshold
from timesink.answers.comparison.gate import OUTCOMES
from timesink.answers.comparison.gate_result import PASSED, Gate
from timesink.answers.comparison.pair_tables import pairs_block, times_block
from timesink.answers.comparison.report import Comparison
from timesink.answers.comparison.sentences import Told, counter_amounts, different, time_per_cycle
from timesink.answers.comparison.sides import ALONE, LEFT_OUT
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import change, per_cycle
from timesink.output.blocks import Block, Causes, Document, Section, Text
from timesink.output.markdown import to_comment
from timesink.output.names import LONGEST_NAME, as_code, cut_middle, printable, short_names

_MOST_FINDINGS = 5
_MOST_COUNTERS = 3
_SURE = 0.5
"""Confidence in cycles from which on they need no remark."""
_SAME_CALLS = 0.05
"""Calls per cycle that differ by less are told as the same."""


# -- what was compared -----------------------------------------------------------------------------


def subject(told: Told, identifier: str) -> str:
    """What was compared: names, processes, cycles."""
    base, new = told.pair.base, told.pair.new
    named = identifier if base.pid in base.label else f"{identifier}, {told.processes}"
    sides = f"{_side(base)} → {_side(new)}"
    anchors = [
        cut_middle(told.label(_anchor(role)), LONGEST_NAME) or "unlike calls"
        for role in (base, new)
    ]
    of = anchors[0] if anchors[0] == anchors[1] else " and of ".join(anchors)
    return f"{named}: {sides} of {of}"


def both_labels(pair: Pair) -> str:
    """What the two sides are called."""
    return f"{pair.base.label} vs {pair.new.label}"


def _side(role: Role) -> str:
    return f"{role.label} ({units.counted(role.behaviour['cycle'].n_unique(), 'cycles')})"


def _anchor(role: Role) -> str:
    """What marks its cycles; empty where that is no single thing."""
    anchors = role.behaviour["anchor"].drop_nulls().unique().to_list()
    return str(anchors[0]) if len(anchors) == 1 else ""


# -- notes -----------------------------------------------------------------------------------------


def notes(told: Told) -> list[str]:
    """What to know before believing the numbers."""
    reasons = told.whole.workload.reasons
    shown = list(reasons if told.whole.workload.comparable else reasons[1:])
    base, new = ([*_own_notes(side), *_doubts(side)] for side in _sides(told))
    of_both = [note for note in base if note in new]
    shown += [f"both: {note}" for note in of_both]
    for side, own in ((told.pair.base, base), (told.pair.new, new)):
        shown += [f"{side.label}: {note}" for note in own if note not in of_both]
    shown += _scores(told)
    return [*dict.fromkeys(shown)]


def _sides(told: Told) -> list[tuple[Role, Role]]:
    """Each side as recorded, and as its numbers are told."""
    return [(told.whole.base, told.pair.base), (told.whole.new, told.pair.new)]


def _own_notes(side: tuple[Role, Role]) -> list[str]:
    return [*dict.fromkeys(note for role in side for note in role.notes)]


def _doubts(side: tuple[Role, Role]) -> Iterator[str]:
    confidence = side[0].confidence
    if confidence is not None and confidence < _SURE:
        yield f"its cycles were found with a confidence of {confidence:.0%} only"


def equal_work_note(told: Told) -> list[str]:
    """Which tables are of equal work, where others are not."""
    if told.pair is told.whole:
        return []
    as_recorded = "--format csv and report compare the cycles as recorded"
    return [f"Numbers here are of equal work; {as_recorded}."]


def _scores(told: Told) -> Iterator[str]:
    """High scores where nothing differs are a matter of small spreads."""
    if told.verdict.nothing and told.pair.findings:
        top = told.pair.rows["score"][0]
        yield (
            f"Scores reach {top:.0f} though nothing changed beyond noise: the score divides by the "
            "spread of few cycles, which may be close to nothing."
        )


def notes_of_many(pairs: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Notes of several pairs under their names; what is said of all of them is said once."""
    every = list(pairs)
    of_all = [note for note in every[0][1] if all(note in own for _, own in every)] if every else []
    return [
        *of_all,
        *(f"{name}: {note}" for name, own in every for note in own if note not in of_all),
    ]


# -- what changed ----------------------------------------------------------------------------------


def findings(told: Told, named: Collection[tuple[str, str]] = ()) -> Iterator[tuple[str, str]]:
    """The functions whose time changed most of those that changed beyond noise.

    Each with its times, and with how counters moved meanwhile where that was not told before.  Of
    unequal work there are none: what a function took in cycles of another kind says nothing.
    Counters and devices that were `named` before are not told again with other figures.
    """
    before = set()
    for one in told.changes[:_MOST_FINDINGS] if told.comparable else ():
        rows = _meanwhile(told, one, named)
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


def _meanwhile(told: Told, one: Change, named: Collection[tuple[str, str]]) -> list[dict[str, Any]]:
    changed = [
        row["metric"]
        for row in told.counters
        if row["device"] == one.device and (row["metric"], row["device"]) not in named
    ]
    return different(counters_meanwhile(told.pair.loads, one, changed))[:_MOST_COUNTERS]


def _line(told: Told, one: Change) -> str:
    name = (
        f"{cut_middle(told.name(one), LONGEST_NAME)} on {one.device}: {time_per_cycle(told, one)}"
    )
    if one.runs_on != "both":
        return name
    noise = "" if one.p < ALPHA else ", which may be noise"
    return f"{name} ({change(one.base_ns, one.new_ns)}{noise}){_calls(one)}{_names(one)}"


def _calls(one: Change) -> str:
    """Calls in a cycle, where they are not the same."""
    base, new = one.calls_base, one.calls_new
    if abs(new - base) <= _SAME_CALLS * max(base, new):
        return ""
    return f", {per_cycle(base)} → {per_cycle(new)} calls"


def _names(one: Change) -> str:
    """Whether both sides are called otherwise."""
    if one.level == "exact" or set(one.names_base) == set(one.names_new):
        return ""
    return ", other kernels" if one.device != HOST_DEVICE else ", other functions"


# A comparison as a comment on a pull request, with or without a gate.

_MOST_LINES = 58
"""With the line by which docs/ci/gate.sh marks it, below 60."""
_MOST_REASONS = 6
_MOST_CAUSES = 3
_MOST_GROUPS, _MOST_APART = 12, 8
_MOST_PAIRS = 8
_MOST_FUNCTIONS = 5
_MOST_NOTES = 3
_LONGEST_COMMAND = 400
_NOT_COMPARED = (LEFT_OUT, ALONE)
"""What notes hold that say so."""
_KEPT = ("checks", "subject", "command")
"""Sections for which there is always room."""


def comment_md(
    comparison: Comparison, gate: Gate | None = None, command: Sequence[str] = ()
) -> str:
    """The answer, what fails, why, and the largest changes; tables are folded."""
    return to_comment(comment_document(comparison, gate, command), _MOST_LINES, _KEPT)


def gate_md(gate: Gate) -> str:
    """The comment of runs that could not be compared."""
    reasons = tuple(paragraphs(gate.reasons[:_MOST_REASONS]))
    sections = (
        Section("checks", "", reasons),
        Section("subject", "", (Text(as_code(gate.subject)),)),
    )
    return to_comment(_document(_judged(gate), "", sections), _MOST_LINES, _KEPT)


def comment_document(comparison: Comparison, gate: Gate | None, command: Sequence[str]) -> Document:
    """The short answer with its sections in the order of their importance."""
    why = comparison.diagnosis if gate is None else gate.why
    explored = comparison.exploration
    if explored is not None or why is None:
        title, headline = "many processes", comparison.headline
        groups = () if explored is None else _explored(comparison)
        sections = [*groups, *_rest(comparison, gate, command)]
    else:
        word = words.verdict(why)
        title = _judged(gate) if gate is not None and gate.asked else word.lower()
        found = [] if gate is None else gate.of_kind("cycle time")
        reason = found[0].sentence if found else why.reason
        headline = f"{word}. {reason}"
        sections = [
            *_checks(gate, reason),
            *_subjects(comparison),
            *_why(why),
            *_rest(comparison, gate, command),
        ]
    return _document(title, short_names(headline), sections)


def _document(title: str, headline: str, sections: Sequence[Section]) -> Document:
    return Document("comparison", f"timesink: {title}", "", headline, __version__, tuple(sections))


def _judged(gate: Gate) -> str:
    asked = f" ({as_code(gate.asked)})" if gate.asked else ""
    return f"{OUTCOMES[gate.outcome].lower()}{asked}"


def _checks(gate: Gate | None, told: str) -> Iterator[Section]:
    """What does not pass and was not told, budgets that are kept, and what cannot be seen."""
    if gate is None or not gate.asked:
        return
    lines = [line for line in gate.reasons if line != told]
    more = len(lines) - _MOST_REASONS
    lines = lines[:_MOST_REASONS] + ([f"and {units.count(more)} more"] if more > 0 else [])
    lines += [gate.kept, gate.unseen if gate.outcome == PASSED else ""]
    yield Section("checks", "", tuple(paragraphs(lines)))


def _subjects(comparison: Comparison) -> Iterator[Section]:
    """What was compared: names of files and processes, in which a backtick begins no code."""
    pairs = [(one, Told(one.pair)) for one in comparison.pairs]
    if len(pairs) == 1:
        one, told = pairs[0]
        yield Section(
            "subject", "", (Text(short_names(subject(told, one.title)).replace("`", "'")),)
        )
        return
    table = pairs_block(pairs, comparison.pair_names, _MOST_PAIRS)
    yield Section("pairs", table.title, (table,))


def _why(why: Diagnosis) -> Iterator[Section]:
    """Causes and anomalies, what to check next, then where the change is."""
    every = causes_block(why, brief=True)
    for role, title in (("cause", words.why_title(why)), ("anomaly", words.AROUND)):
        own = [card for card in every.items if card.role == role]
        more = len(own) - _MOST_CAUSES
        empty = every.empty if role == "cause" else ""
        blocks: list[Block] = [Causes(tuple(own[:_MOST_CAUSES]), empty)] if own or empty else []
        said = [f"and {units.counted(more, 'more')} such"] if more > 0 else []
        said.append(words.unexplained(why) if role == "cause" else words.symptoms(why))
        blocks += paragraphs(said)
        if blocks:
            yield Section(role, title, tuple(blocks))
    yield from next_sections(why)
    parts = attribution_block(why)
    if parts.rows and words.has_changed(why):
        yield Section("parts", parts.title, (parts,))


def _explored(comparison: Comparison) -> Iterator[Section]:
    """The groups, and what sets them apart."""
    found = comparison.exploration
    if found is None:
        return
    table = groups_block(found, _MOST_GROUPS)
    yield Section("groups", "Groups of roles that behave alike", (Text(threshold(found)), table))
    apart = [f"group {number}: {line}" for number, line in apart_lines(found)[:_MOST_APART]]
    if apart:
        yield Section("apart", APART.format("group 1"), tuple(paragraphs(apart)))


def _rest(comparison: Comparison, gate: Gate | None, command: Sequence[str]) -> Iterator[Section]:
    """The largest changes of functions, notes, and how to have all of it."""
    own: list[str] = []
    if len(comparison.pairs) == 1:
        told = Told(comparison.pairs[0].pair)
        table = times_block(told, _MOST_FUNCTIONS)
        if told.comparable and (told.times["base_ns"] != told.times["new_ns"]).any():
            yield Section("times", table.title, (table,))
        own = notes(told)
    of_test = () if comparison.diagnosis is None else comparison.diagnosis.notes
    every = dict.fromkeys([*(gate.doubts if gate else ()), *of_test, *comparison.notes, *own])
    # What was not compared first; of many notes, how many more there are.
    lines = sorted(every, key=lambda note: not any(said in note for said in _NOT_COMPARED))
    more = len(lines) - _MOST_NOTES
    lines = lines[:_MOST_NOTES] + ([f"and {units.counted(more, 'more notes')}"] if more > 0 else [])
    if lines:
        yield Section("notes", "Notes", tuple(paragraphs(lines)))
    line = shlex.join(command)
    if line and line == printable(line) and len(line) <= _LONGEST_COMMAND:
        yield Section("command", "", (Text(f"Everything: {as_code(line)}"),))
