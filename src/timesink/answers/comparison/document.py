"""What changed between runs, as a document: the verdict and its causes first, tables after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from timesink.answers.comparison import causes, changes, sentences
from timesink.answers.comparison.changes import PairView
from timesink.answers.comparison.comparison_json import ComparisonErrorJson
from timesink.answers.comparison.cycle_pictures import (
    OTHER,
    USUAL,
    cycle_picture,
    run_sections,
    side,
)
from timesink.answers.comparison.efficiency import efficiency_blocks, efficiency_section
from timesink.answers.comparison.gate import TONES, gate_section, outcome
from timesink.answers.comparison.gate_result import GateAnswer
from timesink.answers.comparison.naming import (
    EXPLORATORY_REPORT,
    as_options,
    choices_of,
    pair_names,
    pair_title,
)
from timesink.answers.comparison.pair_tables import pair_table, table_csv
from timesink.answers.comparison.program import (
    NO_PROGRAM,
    VIEWS,
    edits_blocks,
    only_edited,
    program_lines,
    program_section,
)
from timesink.answers.comparison.published_report import comparison_md, pair_md, ranks_md
from timesink.answers.comparison.rank_sets import (
    comparison_headline,
    explored_sections,
    rank_sections,
)
from timesink.answers.comparison.report import comparison_json
from timesink.answers.fitness import fitness_of_sides
from timesink.comparison.causes.diagnosis import diagnose
from timesink.comparison.causes.joint_diagnosis import cases_of, diagnose_comparison
from timesink.comparison.pairing import VERSUS
from timesink.comparison.results import Comparison, Pair
from timesink.comparison.steps.efficiency import efficiency_change
from timesink.errors import TimesinkError
from timesink.formats.small_files import encode_json
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.output.blocks import Block, Document, Picture, Section, Table, Text, Tone
from timesink.output.json import frame_csv, indent_json
from timesink.output.names import short_names
from timesink.output.pictures import picture

TOP = 10
"""Rows of a table in text unless more are asked for."""
_VERDICT = "What changed and why"
_DIFFERENCES = "What differs"
"""Heading where runs are not comparable."""
_TIMES = "times"
"""Section of the functions."""
_OF_EQUAL_WORK = (
    "Numbers here are of equal work; --format csv and report compare the steps as recorded."
)
_HEADINGS = {
    "families": "Names only in one run",
    "counters": "Counters",
    "scores": "Functions with counters",
}
"""Of the sections of tables, on pages."""
_IN_FULL, _IN_FULL_BRIEFLY = 8, 3
"""Pairs that are told in full: on a page, and in text."""
_ROWS_OF_MANY = 100
"""Rows of the tables of each of several pairs."""


def comparison_document(
    comparison: Comparison, gate: GateAnswer | None = None, *, top: int | None = None
) -> Document:
    """The whole answer; with what a gate says of it, where one was asked for.

    With `top` it is the short answer, which is read as text: so many rows of each table.
    """
    if comparison.exploration is not None:
        sections = explored_sections(comparison.exploration, comparison.notes, top)
    elif len(comparison.pairs) == 1:
        sections = _of_one(comparison, comparison.pairs[0], gate, top)
    else:
        sections = _of_several(comparison, gate, top)
    diagnosis = diagnose_comparison(comparison)
    if gate is not None and gate.options:
        lead, meaning = outcome(gate), TONES[gate.outcome]
    else:
        lead, meaning = (
            verdict_of(comparison),
            "plain" if diagnosis is None else causes.tone(diagnosis),
        )
    is_said = len(comparison.pairs) == 1 and comparison.ranks is None
    if (gate is None or not gate.options) and is_said and diagnosis and diagnosis.expected is None:
        # Sentences on a single pair begin with the verdict.
        lead = ""
    headline = comparison_headline(comparison)
    headline = f"{lead}. {headline}" if lead else headline
    return _document(comparison, headline, sections, meaning)


def one_table_document(comparison: Comparison, table: str, top: int = TOP) -> Document:
    """One table of every pair that is told in full, below the answer."""
    reports, names = [PairView(pair) for pair in comparison.pairs], pair_names(comparison.all_pairs)
    if comparison.exploration is not None:
        exploration = comparison.exploration
        explored = explored_sections(
            exploration, comparison.notes, top, partial(_table_alone, table)
        )
        return _document(comparison, comparison_headline(comparison), explored)
    if len(reports) == 1:
        block = _table_alone(table, reports[0], top, table)
        sections = [Section(table, block.title, (block,)), *causes.note_sections(comparison.notes)]
        # One table is not asked for to read all the rest, which takes longer.
        return _document(comparison, " ".join(sentences.summary_sentences(reports[0])), sections)
    summary = changes.pairs_block(list(zip(comparison.pairs, reports, strict=True)), names)
    sections = [Section("pairs", summary.title, (summary,))]
    places = in_full(reports, _IN_FULL_BRIEFLY)
    for place in places:
        block = _table_alone(table, reports[place], top, f"pair-{place + 1}-{table}")
        lead = short_names(sentences.subject(reports[place], pair_title(comparison.pairs[place])))
        paragraphs = causes.paragraphs(sentences.summary_sentences(reports[place]))
        sections.append(Section(f"pair-{place + 1}", names[place], (*paragraphs, block), lead))
    sections += causes.note_sections(
        [*_not_shown(len(reports) - len(places), comparison), *comparison.notes]
    )
    return _document(comparison, comparison_headline(comparison), sections)


def _table_alone(name: str, report: PairView, most: int, id_: str) -> Table:
    """The first rows of the table that was asked for."""
    return pair_table(report.full_pair, name, report).block(rows=most, id_=id_)


def program_document(comparison: Comparison, view: str, top: int | None = None) -> Document:
    """One table of the programs below the answer, once for all pairs that differ alike."""
    groups: dict[object, list[int]] = {}
    for number, pair in enumerate(comparison.pairs):
        program = diagnose(pair).program
        program_edits = () if program is None else program.edits
        edits = tuple((edit.cause, edit.sentence, edit.place) for edit in program_edits)
        groups.setdefault((program is None, edits), []).append(number)
    sections = []
    for numbers in groups.values():
        name = units.join_names([pair_names(comparison.all_pairs)[number] for number in numbers], 4)
        program = diagnose(comparison.pairs[numbers[0]]).program
        if program is None:
            blocks: tuple[Block, ...] = tuple(causes.paragraphs([NO_PROGRAM]))
        else:
            blocks = (*causes.paragraphs(program_lines(program)), VIEWS[view](program, top))
        sections.append(Section(f"{view}-{numbers[0] + 1}", name, blocks))
    return _document(comparison, comparison_headline(comparison), sections)


def program_csv(pair: Pair, view: str, top: int | None = None) -> str:
    """One table of the programs of a pair as CSV."""
    frame = pair_table(pair, view).frame
    return frame_csv(frame.head(top or frame.height))


def _document(
    comparison: Comparison, headline: str, sections: Iterable[Section], meaning: Tone = "plain"
) -> Document:
    names = list(dict.fromkeys(pair_title(pair) for pair in comparison.pairs))
    sources = _names(comparison.sources)
    if len(comparison.pairs) == 1:
        pair = comparison.pairs[0]
        about = short_names(sentences.subject(PairView(pair), pair_title(pair)))
    else:
        what = units.count_noun(len(comparison.all_pairs), "pairs")
        about = f"{units.join_names(sources, 4, ' and ')}: {what}"
    title = units.join_names(names or sources, 3, "; ")
    all_sections = (*fitness_of_sides(comparison.fitness), *sections)
    return Document(
        "comparison", title, about, short_names(headline), sections=all_sections, tone=meaning
    )


def _names(sources: Sequence[str]) -> Sequence[str]:
    """What was compared without the folders around it, where that tells all apart."""
    names = [Path(source).name or source for source in sources]
    return names if len(set(names)) == len(set(sources)) else sources


def verdict_of(comparison: Comparison) -> str:
    """The verdict on one program, whatever its processes; where these disagree, which have it.

    Where the program changed, and cycle time not for sure, sentences say both in their order.
    """
    diagnosis = diagnose_comparison(comparison)
    if diagnosis is None or len(cases_of(comparison)) > 1 or only_edited(diagnosis):
        return ""
    verdicts = Counter(causes.verdict_sentence(diagnose(pair)) for pair in comparison.pairs)
    if len(verdicts) == 1:
        return causes.verdict_sentence(diagnosis)
    many = units.count_noun(len(comparison.pairs), "processes")
    (first, count), *other_verdicts = verdicts.most_common()
    phrases = [
        f"{count} of {many}: {first.lower()}",
        *(f"{n}: {w.lower()}" for w, n in other_verdicts),
    ]
    return f"{causes.verdict_sentence(diagnosis)} ({', '.join(phrases)})"


def _of_one(
    comparison: Comparison, pair: Pair, gate: GateAnswer | None, top: int | None
) -> Iterator[Section]:
    """Verdict and causes, what a gate says, and every table."""
    report, diagnosis, brief = PairView(pair), diagnose(pair), top is not None
    link = causes.links_to(_TIMES, report.label)
    word = (
        f"Step time: {causes.verdict_sentence(diagnosis).lower()}" if only_edited(diagnosis) else ""
    )
    why = causes.why_blocks(
        diagnosis, _sides(pair, report), diagnosis.notes, link, word=word, brief=brief
    )
    summary = causes.paragraphs(sentences.further_sentences(report, diagnosis))
    opening = (*summary, *edits_blocks(diagnosis), *why, *_warnings(report, diagnosis))
    title = _DIFFERENCES if diagnosis.verdict == "incomparable" else _VERDICT
    yield Section("verdict", title, opening)
    yield from () if gate is None else (gate_section(gate),)
    yield from run_sections(pair.plain, brief=brief)
    yield from rank_sections(comparison.ranks, top)
    yield from causes.next_sections(diagnosis)
    yield from program_section(diagnosis.program, top, _sides(pair, report))
    yield from efficiency_section(efficiency_change(pair), top, _sides(pair, report))
    pictures = tuple(_cycles(pair, report))
    if pictures and not brief:
        yield Section("cycles", "Steps", pictures)
    # Each table under a heading for menus; in text, where there are none, under its own title.
    tables = list(
        changes.pair_blocks(report, top or changes.MAX_ROWS, brief=diagnosis if top else None)
    )
    functions = [block for block in tables if block.id.startswith("functions")]
    if pair.times.height:
        yield Section(
            _TIMES, "Functions", (*_change_lines(report, diagnosis, top), *functions),
            "Mean time per step; a step in which a function did not run counts as zero.",
        )  # fmt: skip
    for block in tables[len(functions) :]:
        yield Section(block.id, block.title if top else _HEADINGS[block.id], (block,))
    if not brief:
        yield Section("sides", "What was compared", (changes.sides_block([(pair, report)]),))
    yield from causes.note_sections(
        [*_own_notes(report), *(diagnosis.notes if brief else ()), *comparison.notes]
    )


def _sides(pair: Pair, report: PairView) -> tuple[str, str]:
    """What both sides are called: as the runs are, where the title names two."""
    names = pair.identifier.split(VERSUS)
    roles = report.pair.base.label, report.pair.new.label
    if len(names) != len(roles) or roles != ("base", "new") or tuple(names) == roles:
        return roles
    return f"base: {names[0]}", f"new: {names[1]}"


def _cycles(pair: Pair, report: PairView) -> Iterator[Picture]:
    """Every cycle of both sides, where all lengths are known."""
    times = report.pair.cycle_times
    if not (times.base_ns and times.new_ns and min(*times.base_ns, *times.new_ns) > 0):
        return
    base, new = _sides(pair, report)
    bars = [
        side(base, times.base_ns, USUAL, times.warm_up[0]),
        side(new, times.new_ns, OTHER, times.warm_up[1]),
    ]
    yield picture(cycle_picture(bars))


def _warnings(report: PairView, diagnosis: Diagnosis) -> Iterator[Text]:
    """That the work is not the same, and how far from it; a verdict may have said so."""
    workload = report.full_pair.workload
    if workload.comparable:
        return
    lines = [] if diagnosis.verdict == "incomparable" else sentences.summary_sentences(report)[:1]
    yield from causes.paragraphs([" ".join([*lines, *workload.reasons[1:]])], "warning")


def _own_notes(report: PairView) -> list[str]:
    """What to know of a pair and no warning told."""
    workload = report.full_pair.workload
    warned = () if workload.comparable else workload.reasons
    every = [
        *sentences.notes(report),
        *(() if report.pair is report.full_pair else (_OF_EQUAL_WORK,)),
    ]
    return [note for note in every if note not in warned]


def _change_lines(report: PairView, diagnosis: Diagnosis, top: int | None) -> Iterator[Text]:
    """What the table of functions does not show: families, and how counters moved meanwhile.

    In text every function that changed, and how many more there are.
    """
    told_apart = top or not report.families.is_empty()
    for line, meanwhile in sentences.findings(report, causes.told_counters(diagnosis)):
        if meanwhile or told_apart:
            yield from causes.paragraphs(["; ".join(filter(None, (line, meanwhile)))])
    yield from causes.paragraphs([sentences.findings_left(report)] if top else [])


def _of_several(
    comparison: Comparison, gate: GateAnswer | None, top: int | None
) -> Iterator[Section]:
    """The answer over all, a row for each pair, and some in full."""
    brief = top is not None
    pairs = [(pair, PairView(pair)) for pair in comparison.pairs]
    names = pair_names(comparison.all_pairs)
    together = diagnose_comparison(comparison) if len(cases_of(comparison)) == 1 else None
    summary = changes.pairs_block(pairs, names)
    if together is None:
        yield Section("verdict", _VERDICT, (summary,))
    else:
        why = causes.why_blocks(together, _sides(*pairs[0]), together.notes, brief=brief)
        yield Section("verdict", _VERDICT, (*edits_blocks(together), *why))
        yield from rank_sections(comparison.ranks, top)
        yield from program_section(together.program, top, _sides(*pairs[0]), placed=False)
        yield Section("pairs", "All pairs", (summary,))
    yield from () if gate is None else (gate_section(gate),)
    places = in_full([report for _, report in pairs], _IN_FULL_BRIEFLY if brief else _IN_FULL)
    for place in places:
        label = (f"pair-{place + 1}", names[place])
        yield from _pair_sections(*pairs[place], label, together, top)
    if not brief:
        yield Section("sides", "What was compared", (changes.sides_block(pairs),))
    left = _not_shown(len(pairs) - len(places), comparison) if brief else []
    common = together.notes if together is not None and brief else ()
    noted = sentences.notes_of_many(
        [(names[place], _own_notes(pairs[place][1])) for place in places]
    )
    yield from causes.note_sections([*left, *common, *noted, *comparison.notes])


def in_full(pairs: Sequence[PairView], most: int) -> list[int]:
    """Places of the pairs that are told in full: the largest changes.

    One that stands out comes first, or else the one with the largest change of a function.
    """
    moved = [abs(report.pair.cycle_times.change_pct or 0.0) for report in pairs]
    outlier = sentences.standing_out(pairs)
    foremost = sentences.changed_most(pairs) if outlier is None else outlier[0]
    order = sorted(range(len(pairs)), key=lambda place: (place != foremost, -moved[place], place))
    return sorted(order[:most], key=lambda place: (place != foremost, place))


def _not_shown(count: int, comparison: Comparison) -> list[str]:
    if not count:
        return []
    options = as_options(choices_of(comparison))
    choose = f"{options} chooses one, " if options else ""
    return [f"{units.count_noun(count, 'more pairs')} in full: {choose}-o DIR writes all"]


def _pair_sections(
    pair: Pair,
    report: PairView,
    named: tuple[str, str],
    together: Diagnosis | None,
    top: int | None,
) -> Iterator[Section]:
    """One of several pairs: its own verdict where there is none over all, and its tables."""
    (id_, name), diagnosis = named, diagnose(pair)
    brief = (together or diagnosis) if top else None
    lead = short_names(sentences.subject(report, pair_title(pair)))
    tables = (
        *efficiency_blocks(
            efficiency_change(pair), top, names=_sides(pair, report), id_=f"{id_}-efficiency"
        ),
        *(_cycles(pair, report) if top is None else ()),
        *_change_lines(report, brief or diagnosis, top),
        *changes.pair_blocks(report, top or _ROWS_OF_MANY, f"{id_}-", brief=brief),
    )
    if together is not None:
        paragraphs = (
            *causes.paragraphs(sentences.summary_sentences(report)),
            *_warnings(report, diagnosis),
        )
        yield Section(id_, name, (*paragraphs, *tables), lead)
        return
    link = causes.links_to(f"{id_}-tables", report.label)
    why = causes.why_blocks(diagnosis, _sides(pair, report), diagnosis.notes, link)
    opening = (
        *edits_blocks(diagnosis, f"{id_}-edits"),
        *why,
        *_warnings(report, diagnosis),
    )
    yield Section(id_, name, opening, lead)
    yield Section(f"{id_}-tables", "Functions and counters", tables)


# -- the files of a comparison that is written to a folder -----------------------------------------

FORMATS = ("csv", "report", "json")
"""What a folder holds unless one of these is asked for."""


def files_of(
    comparison: Comparison,
    formats: Sequence[str],
    table: str | None,
    top: int | None,
    gate: GateAnswer | None = None,
) -> Iterator[tuple[str, Callable[[], str]]]:
    """One CSV and one Markdown file per pair, and everything as JSON."""
    for pair in comparison.all_pairs:
        if "csv" in formats:
            yield f"{pair.file_stem}.csv", partial(table_csv, pair, table, top)
        if "report" in formats and comparison.exploration is None:
            yield f"{pair.file_stem}.md", partial(_pair_md, pair)
    if "report" in formats and comparison.ranks is not None:
        yield "ranks.md", partial(ranks_md, comparison)
    if "report" in formats and comparison.exploration is not None:
        yield f"{EXPLORATORY_REPORT}.md", partial(comparison_md, comparison)
    if "json" in formats:
        yield "comparison.json", partial(indented_json, comparison, gate)


def _pair_md(pair: Pair) -> str:
    return pair_md(pair, pair_title(pair), diagnose(pair))


def error_json(gate: GateAnswer, error: TimesinkError) -> str:
    """What JSON says of runs that could not be compared."""
    return indent_json(encode_json(ComparisonErrorJson.of(gate, error)))


def indented_json(comparison: Comparison, gate: GateAnswer | None = None) -> str:
    """The whole answer as JSON for a person to look at; with what a gate says of it."""
    return indent_json(encode_json(comparison_json(comparison, gate)))
