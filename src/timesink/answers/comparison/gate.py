"""Whether a comparison passes: in a document, on one screen of a log, and in a comment.

The comment is one on a pull request, with or without a gate.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec.structs import replace
from rich.cells import chop_cells

from timesink.answers.comparison import causes
from timesink.answers.comparison.causes import paragraphs
from timesink.answers.comparison.changes import PairView, pairs_block, times_block
from timesink.answers.comparison.efficiency import efficiency_section
from timesink.answers.comparison.gate_result import GateAnswer
from timesink.answers.comparison.naming import pair_names, pair_title
from timesink.answers.comparison.program import (
    edits_blocks,
    only_edited,
    opening_lines,
    without_edits,
)
from timesink.answers.comparison.rank_sets import (
    APART,
    apart_lines,
    comparison_headline,
    groups_block,
    threshold,
)
from timesink.answers.comparison.sentences import notes, slowdown_sentences, subject
from timesink.answers.views import listed_table
from timesink.comparison.causes.joint_diagnosis import diagnose_comparison
from timesink.comparison.gate.verdict import (
    CYCLE_TIME,
    EXACT,
    FAILED,
    PASSED,
    PRECISE,
    REGRESSION,
    UNJUDGED,
)
from timesink.comparison.inputs import LEFT_OUT, UNPAIRED
from timesink.comparison.results import Comparison, Exploration
from timesink.comparison.steps.efficiency import efficiency_change
from timesink.errors import TimesinkError
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.model.findings import Cause
from timesink.model.units import signed_ns
from timesink.output.blocks import Block, Causes, Document, Facts, Section, Text, Tone
from timesink.output.junit import junit_xml
from timesink.output.markdown import to_comment
from timesink.output.names import as_code, cell_len, printable, short_names
from timesink.output.terminal import wrap_line
from timesink.patterns import regex

OUTCOMES = {PASSED: "Passed", FAILED: "Failed", UNJUDGED: "Not decided"}
TONES: dict[str, Tone] = {PASSED: "good", FAILED: "bad", UNJUDGED: "warning"}
"""Outcomes in words, and what they mean for the reader."""
_WIDTH, _HEIGHT = 80, 24
_IN_A_LOG = {PASSED: "passed", FAILED: "FAILED", UNJUDGED: "NOT DECIDED"}
_MAX_PARTS = 3
_MAX_DOUBTS = 2
_MAX_ROWS = 5
_MAX_LINES = 58
"""With the line by which docs/ci/gate.sh marks it, below 60."""
_MAX_REASONS, _MAX_REASONS_IN_LOG = 6, 4
_MAX_CAUSES = 3
_MAX_GROUPS, _MAX_APART = 12, 8
_MAX_PAIRS = 8
_MAX_FUNCTIONS = 5
_MAX_OPERATORS = 3
_MAX_NOTES = 3
_LONGEST_COMMAND = 400
_LONGEST_HEADLINE = 600
_GATE_OPTIONS = regex(
    rf"(?:--fail-on[ =](?P<limit>{REGRESSION}|[^ ]+%))?(?: ?--budget[ =](?P<budgets>.+))?",
    re.DOTALL,
)
"""The options of a gate, as `GateAnswer.options` has them."""
_OUR_WORDS = (
    "Steps ",
    "Step time ",
    "No certain ",
    "No change ",
    "The program ",
    "The recorded ",
    "Not compared",
)
_FIRST_SENTENCE = regex(r"(?<=[\w)%'])\. (?=[A-Z0-9])")
_NOT_COMPARED = (LEFT_OUT, UNPAIRED)
"""What notes hold that say so."""
_REQUIRED_SECTIONS = ("checks", "subject", "command")
"""Sections for which there is always room."""


def outcome(gate: GateAnswer) -> str:
    """What became of it, and by which limits."""
    return f"{OUTCOMES[gate.outcome]}{_limits(gate)}"


def _limits(gate: GateAnswer, quote: Callable[[str], str] = str) -> str:
    """What is allowed, in brackets after a space: ` (limit 5 %, budgets in limits.toml)`."""
    match = _GATE_OPTIONS.fullmatch(gate.options)
    if match is None:
        return f" ({quote(gate.options)})" if gate.options else ""
    limit, budgets = match["limit"], match["budgets"]
    texts = []
    if limit:
        texts.append("no slowdown allowed" if limit == REGRESSION else f"limit {limit[:-1]} %")
    if budgets:
        texts.append(f"budgets in {quote(budgets)}")
    return f" ({', '.join(texts)})" if texts else ""


def gate_section(gate: GateAnswer) -> Section:
    """Every check, those that do not pass first, and what these runs cannot show."""
    checks = sorted(gate.checks, key=lambda check: check.urgency)
    words = [
        OUTCOMES[check.outcome].lower() + " (not asked for)" * (not check.counts)
        for check in checks
    ]
    blocks: list[Block] = [
        Text(f"{outcome(gate)}.", TONES[gate.outcome]),
        listed_table(
            "checks",
            "checks",
            "Checks",
            checks,
            {"outcome": words, "why": [check.sentence for check in checks]},
        ),
        *paragraphs([gate.unseen, *(f"{doubt}." for doubt in gate.doubts)]),
    ]
    if gate.command:
        blocks.append(Facts((("Command", shlex.join(gate.command)),)))
    return Section("gate", "Whether it passes", tuple(blocks))


def error_document(gate: GateAnswer, error: TimesinkError) -> Document:
    """What a gate says of runs that could not be compared."""
    hints = [Section("hint", "What to do", tuple(paragraphs([error.hint])))] if error.hint else []
    return Document(
        "comparison",
        gate.subject,
        gate.subject,
        short_names(f"{outcome(gate)}: {error.message}"),
        sections=(*hints, gate_section(gate)),
        tone=TONES[gate.outcome],
    )


def screen(gate: GateAnswer) -> str:
    """At most 24 rows of 80 columns, without colours: what failed, by how much, and why.

    The command that says it again is one line, however many rows it takes: it can be copied.
    """
    sentences = gate.reasons
    if gate.outcome == PASSED:
        sentences = [check.sentence for check in gate.of_kind(CYCLE_TIME)]
        sentences += [gate.budgets_line] if gate.budgets_line else []
    headline, sentences = _headline_first(sentences)
    title = f"timesink: {_IN_A_LOG[gate.outcome]}{_limits(gate)}: {gate.subject}"
    head = _lines([f"{title}: {headline}" if headline else title], 0, 4)
    doubts = [f"{doubt}." for doubt in gate.doubts[:_MAX_DOUBTS]]
    first = _lines([" ".join(gate.leading)], 2, 5) if gate.leading else []
    # Of many reasons, how many more there are.
    more = len(sentences) - _MAX_REASONS_IN_LOG
    rest = [f"And {units.count(more)} more."] if more > 0 else []
    reasons = [*sentences[:_MAX_REASONS_IN_LOG], *rest]
    if gate.outcome == PASSED:
        unseen = [gate.unseen] if gate.unseen else []
        return "\n".join(
            fit_lines([([*head, *_lines([*reasons, *unseen, *doubts], 2, 14), *first], 0)], _HEIGHT)
        )
    # A line for a shell; none where a terminal does not show all of it, or it leaves no room.
    command = f"  {shlex.join(gate.command)}" if gate.command else ""
    if not command.isprintable() or cell_len(command) > _MAX_ROWS * _WIDTH:
        command = ""
    reason_lines = [*head, *_lines(reasons, 2, 10)]
    if gate.outcome == FAILED:
        parts: list[_Lines] = [([*reason_lines, *_lines(doubts, 2, 3)], 0)]
        parts += _why_lines(gate.why)
        parts.append((("Program and device time", *first) if first else (), 4))
    else:
        parts = [([*reason_lines, *first, *_lines(doubts, 2, 3)], 0)]
    parts.append((("Reproduce", command) if command else (), 1))
    more_rows = max(0, cell_len(command) - 1) // _WIDTH
    return "\n".join(fit_lines(parts, _HEIGHT - more_rows))


def _headline_first(sentences: Sequence[str]) -> tuple[str, list[str]]:
    """The first sentence, as the end of a headline, and all that follows it."""
    if not sentences:
        return "", []
    first, *rest = _FIRST_SENTENCE.split(sentences[0], maxsplit=1)
    first = first if first.endswith(".") or not rest else f"{first}."
    # Names keep their letters; only a word of ours begins small after a colon.
    if first.startswith(_OUR_WORDS):
        first = f"{first[0].lower()}{first[1:]}"
    return first, [*rest, *sentences[1:]]


def _why_lines(why: Diagnosis | None) -> Iterator[_Lines]:
    """The first cause, what to do about it, and where the change is.

    A budget may be exceeded where steps are not certainly longer: then the cause alone says why.
    """
    if why is None or why.verdict == "incomparable":
        return
    # What made steps shorter is no reason to fail.
    slower = [cause for cause in why.causes if cause.cost_ns > 0]
    is_longer = why.verdict == "regression"
    if slower:
        more = f"s ({units.count(len(slower))})" if len(slower) > 1 else ""
        lines = _lines([_cause_line(slower[0])], 2, 5)
        rest = _lines(_rest_of_change(why, slower), 2, 5) if is_longer else ()
        yield (f"Cause{more}", *lines, *rest), 2
    elif is_longer:
        yield _lines([f"{causes.no_cause(why)} {causes.unexplained_line(why)}".strip()], 0, 4), 2
    checks = causes.checks(replace(why, causes=tuple(slower)))[:2] if slower or is_longer else []
    yield ("What to do", *_lines(checks, 2, 5)) if checks else (), 3
    if is_longer:
        rows = causes.attribution_block(why, attributed=True).rows[:_MAX_PARTS]
        parts = [f"{row.name}: {signed_ns(row.change)}" for row in rows]
        part_lines = ("Where the change is, per step", *_lines(parts, 2, _MAX_PARTS))
        yield part_lines if parts else (), 5


def _rest_of_change(why: Diagnosis, slower: Sequence[Cause]) -> Iterator[str]:
    """What else the change consists of, so that causes and unexplained time add up to it."""
    faster = [cause for cause in why.causes if cause.cost_ns < 0]
    other_causes = [*slower[1:], *faster]
    texts = [
        f"{causes.cause_title(cause)} {signed_ns(cause.cost_ns)}"
        for cause in other_causes[:_MAX_CAUSES]
    ]
    more_causes = other_causes[_MAX_CAUSES:]
    if more_causes:
        more_ns = sum(cause.cost_ns for cause in more_causes)
        texts.append(f"{units.count_noun(len(more_causes), 'further causes')} {signed_ns(more_ns)}")
    if texts:
        yield f"Other causes, per step: {', '.join(texts)}."
    unexplained = causes.unexplained_line(why)
    yield unexplained
    amounts = [cause.cost_ns for cause in (slower[0], *other_causes)]
    if unexplained:
        amounts.append(why.unexplained_ns)
    if len(amounts) > 1:
        added = " ".join(map(signed_ns, amounts))
        yield f"Sum: {added} = {signed_ns(sum(amounts))} per step."


def _cause_line(cause: Cause) -> str:
    """A cause with the time it explains: `GPU clock, +4.10 ms per step: kernels are slower`."""
    bounds = "" if cause.interval_ns is None else f" ({units.interval_ns(*cause.interval_ns)})"
    where = f" in {cause.process}" if cause.process else ""
    explains = f"{signed_ns(cause.cost_ns)} per step{bounds}"
    name = causes.cause_name(cause.id)
    return f"{name}{where}, {explains}: {causes.cause_sentence(cause)}".removesuffix(": ")


def _lines(sentences: Iterable[str], indent: int, most: int) -> list[str]:
    """Sentences, each on lines of its own; none wider than the screen."""
    lines = [
        part
        for sentence in sentences
        for text in wrap_line(short_names(sentence), _WIDTH, indent=indent)
        # Characters may be two columns wide.
        for part in chop_cells(text.plain, _WIDTH) or [""]
    ]
    return _clip_lines(lines, most)


_Lines: TypeAlias = "tuple[Sequence[str], int]"
"""Lines that stay together, and their rank: those with the highest number go first where there is
no room, those with 0 stay."""


def fit_lines(parts: Iterable[_Lines], most_lines: int) -> list[str]:
    """The lines of all parts for which there is room, with an empty one between two parts."""
    remaining = [part for part in parts if part[0]]
    while sum(len(lines) + 1 for lines, _ in remaining) - 1 > most_lines:
        least = max(range(len(remaining)), key=lambda place: (remaining[place][1], place))
        if not remaining[least][1]:
            break
        del remaining[least]
    return _clip_lines([line for lines, _ in remaining for line in ("", *lines)][1:], most_lines)


def _clip_lines(lines: Sequence[str], most: int) -> list[str]:
    """The first lines, the last of which says that there are more."""
    if len(lines) <= most:
        return list(lines)
    cut = lines[most - 1]
    return [*lines[: most - 1], f"{cut[: len(cut) - len(cut.lstrip())]}..."]


def comment_md(
    comparison: Comparison, gate: GateAnswer | None = None, command: Sequence[str] = ()
) -> str:
    """The answer, what fails, why, and the largest changes; tables are folded.

    Sections are in the order of their importance.
    """
    why = diagnose_comparison(comparison) if gate is None else gate.why
    explored = comparison.exploration
    if explored is not None or why is None:
        title, headline = "many processes", comparison_headline(comparison)
        sections = [] if explored is None else list(_exploration_sections(explored))
    else:
        word = causes.verdict_sentence(why)
        title = "the program changed" if only_edited(why) else word.lower()
        title = _outcome_words(gate) if gate is not None and gate.options else title
        headline = _comment_headline(gate, why, word)
        sections = [*_checks(gate, headline), _subject(comparison), *_why(why)]
    sections += _rest(comparison, gate, command)
    document = _document(title, short_names(headline), sections)
    return to_comment(document, _MAX_LINES, _REQUIRED_SECTIONS)


def _comment_headline(gate: GateAnswer | None, why: Diagnosis, word: str) -> str:
    """Whether steps take longer, then what is certain and what is precise.

    Where a check of the gate fails that is not about step time, that comes first.
    """
    if gate is None:
        certain = [*slowdown_sentences(why), *opening_lines(why)]
        return " ".join([*(certain or [f"{word}."]), why.reason])
    failed = _failed_first(gate)
    checks = gate.of_kind(CYCLE_TIME)
    reason = checks[0].sentence if checks else why.reason
    if not gate.options:
        return " ".join([*([*failed, *gate.leading] or [f"{word}."]), reason])
    decides = bool(checks) and checks[0].outcome == gate.outcome
    statements = [reason, *failed] if decides else [*failed, reason]
    # A long headline loses its end: the statements that do not fit stand in paragraphs.
    headline = ""
    for statement in [*statements, *gate.leading]:
        longer = f"{headline} {statement}".strip()
        if headline and len(longer) > _LONGEST_HEADLINE:
            break
        headline = longer
    return headline


def gate_md(gate: GateAnswer) -> str:
    """The comment of runs that could not be compared."""
    reasons = tuple(paragraphs(gate.reasons[:_MAX_REASONS]))
    sections = (
        Section("checks", "", reasons),
        Section("subject", "", (Text(as_code(gate.subject)),)),
    )
    return to_comment(_document(_outcome_words(gate), "", sections), _MAX_LINES, _REQUIRED_SECTIONS)


def _document(title: str, headline: str, sections: Sequence[Section]) -> Document:
    return Document("comparison", f"timesink: {title}", "", headline, sections=tuple(sections))


def _outcome_words(gate: GateAnswer) -> str:
    return f"{OUTCOMES[gate.outcome].lower()}{_limits(gate, as_code)}"


def _failed_first(gate: GateAnswer) -> list[str]:
    """What is certain, or precise, and fails."""
    checks = [check for kind in (EXACT, PRECISE) for check in gate.of_kind(kind)]
    return [check.sentence for check in checks if check.outcome == FAILED]


def _checks(gate: GateAnswer | None, headline: str) -> Iterator[Section]:
    """What does not pass and was not told, budgets that are kept, and what cannot be seen."""
    if gate is None or not gate.options:
        return
    cycles = (
        [] if gate.outcome != PASSED else [check.sentence for check in gate.of_kind(CYCLE_TIME)]
    )
    every = dict.fromkeys([*gate.reasons, *cycles[:1], *gate.leading])
    lines = [line for line in every if line not in headline]
    more = len(lines) - _MAX_REASONS
    lines = lines[:_MAX_REASONS] + ([f"and {units.count(more)} more"] if more > 0 else [])
    lines += [gate.budgets_line, gate.unseen if gate.outcome == PASSED else ""]
    yield Section("checks", "", tuple(paragraphs(lines)))


def _subject(comparison: Comparison) -> Section:
    """What was compared: names of files and processes, in which a backtick begins no code."""
    pairs = [(pair, PairView(pair)) for pair in comparison.pairs]
    if len(pairs) == 1:
        line = subject(pairs[0][1], pair_title(pairs[0][0]))
        return Section("subject", "", (Text(short_names(line).replace("`", "'")),))
    table = pairs_block(pairs, pair_names(comparison.all_pairs), _MAX_PAIRS)
    return Section("pairs", table.title, (table,))


def _why(why: Diagnosis) -> Iterator[Section]:
    """Causes and anomalies, what to check next, then where the change is.

    The headline names the first edit, and causes the next ones; more are in a table.
    """
    every = causes.causes_block(without_edits(why, 1) if opening_lines(why) else why, brief=True)
    for role, title in (("cause", causes.why_title(why)), ("anomaly", causes.AROUND)):
        cards = [card for card in every.items if card.role == role]
        more = len(cards) - _MAX_CAUSES
        empty = every.empty if role == "cause" else ""
        blocks: list[Block] = [Causes(tuple(cards[:_MAX_CAUSES]), empty)] if cards or empty else []
        lines = [f"and {units.count_noun(more, 'more')} such"] if more > 0 else []
        lines.append(causes.unexplained_line(why) if role == "cause" else causes.symptoms(why))
        blocks += paragraphs(lines)
        if blocks:
            yield Section(role, title, tuple(blocks))
    for edits in edits_blocks(why):
        if edits.rows > _MAX_CAUSES:
            yield Section("edits", edits.title, (edits,))
    yield from causes.next_sections(why)
    parts = causes.attribution_block(why)
    if parts.rows and causes.has_changed(why):
        yield Section("parts", parts.title, (parts,))


def _exploration_sections(exploration: Exploration) -> Iterator[Section]:
    """The groups, and what sets them apart."""
    table = groups_block(exploration, _MAX_GROUPS)
    yield Section("groups", "Groups of similar processes", (Text(threshold(exploration)), table))
    apart = [f"group {number}: {line}" for number, line in apart_lines(exploration)[:_MAX_APART]]
    if apart:
        yield Section("apart", APART.format("group 1"), tuple(paragraphs(apart)))


def _rest(
    comparison: Comparison, gate: GateAnswer | None, command: Sequence[str]
) -> Iterator[Section]:
    """The largest changes of functions, notes, and how to have all of it."""
    pair_notes: list[str] = []
    if len(comparison.pairs) == 1:
        report = PairView(comparison.pairs[0])
        yield from efficiency_section(efficiency_change(comparison.pairs[0]), _MAX_OPERATORS)
        table = times_block(report, _MAX_FUNCTIONS)
        if report.comparable and (report.times["base_ns"] != report.times["new_ns"]).any():
            yield Section("times", table.title, (table,))
        pair_notes = notes(report)
    diagnosis = diagnose_comparison(comparison)
    of_test = () if diagnosis is None else diagnosis.notes
    every = dict.fromkeys(
        [*(gate.doubts if gate else ()), *of_test, *comparison.notes, *pair_notes]
    )
    # What was not compared first; of many notes, how many more there are.
    lines = sorted(every, key=lambda note: not any(phrase in note for phrase in _NOT_COMPARED))
    more = len(lines) - _MAX_NOTES
    lines = lines[:_MAX_NOTES] + (
        [f"and {units.count_noun(more, 'more notes')}"] if more > 0 else []
    )
    yield from causes.note_sections(lines)
    line = shlex.join(command)
    if line and line == printable(line) and len(line) <= _LONGEST_COMMAND:
        yield Section("command", "", (Text(f"Everything: {as_code(line)}"),))


def gate_xml(gate: GateAnswer, when: datetime, host: str) -> str:
    """What it says as test results, with a case per check."""
    values = {"outcome": gate.outcome, "asked": gate.options, "command": shlex.join(gate.command)}
    values["unseen"] = gate.unseen
    why, notes = screen(gate), gate.notes
    return junit_xml(gate.subject, gate.checks, why, when, host, notes=notes, **values)
