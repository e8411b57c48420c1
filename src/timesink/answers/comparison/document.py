"""What changed between runs, as a document: the verdict and its causes first, tables after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from timesink.answers import causes
from timesink.answers.comparison import changes, sentences
from timesink.answers.comparison.changes import Told
from timesink.answers.comparison.cycle_pictures import (
    OTHER,
    USUAL,
    cycle_picture,
    run_sections,
    side,
)
from timesink.answers.comparison.efficiency import efficiency_blocks, efficiency_section
from timesink.answers.comparison.gate import TONES, gate_section, outcome
from timesink.answers.comparison.gate_result import Gate
from timesink.answers.comparison.pairing import EXPLORATORY_REPORT, VERSUS, Compared, as_options
from timesink.answers.comparison.program import (
    NO_PROGRAM,
    VIEWS,
    edits_blocks,
    only_edited,
    program_frame,
    program_lines,
    program_section,
)
from timesink.answers.comparison.published_report import comparison_md, pair_md, ranks_md
from timesink.answers.comparison.rank_sets import explored_sections, rank_sections
from timesink.answers.comparison.report import SCHEMA, Comparison
from timesink.answers.comparison.values import table_csv
from timesink.answers.fitness import fitness_of_sides
from timesink.errors import NotFoundError, TimesinkError
from timesink.formats.small_files import encode_json
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.output.blocks import Block, Document, Picture, Section, Table, Text, Tone
from timesink.output.json import frame_csv, indented
from timesink.output.names import short_names
from timesink.output.pictures import picture
from timesink.recorder.processes import sayable

TOP = 10
"""Rows of a table in text unless more are asked for."""
TABLES: dict[str, Callable[[Told, int, str], Table]] = {
    "rows": changes.scores_block,
    "times": changes.times_block,
    "families": partial(changes.families_block, alone=True),
}
"""Tables that can be asked for alone."""
_VERDICT = "What changed, and why"
_TIMES = "times"
"""Section of the functions."""
_OF_EQUAL_WORK = (
    "Numbers here are of equal work; --format csv and report compare the cycles as recorded."
)
_HEADINGS = {
    "families": "Names that do not meet",
    "counters": "Counters",
    "scores": "Functions with counters",
}
"""Of the sections of tables, on pages."""
_IN_FULL, _IN_FULL_BRIEFLY = 8, 3
"""Pairs that are told in full: on a page, and in text."""
_ROWS_OF_MANY = 100
"""Rows of the tables of each of several pairs."""


def comparison_document(
    comparison: Comparison, gate: Gate | None = None, *, top: int | None = None
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
    found = comparison.diagnosis
    if gate is not None and gate.asked:
        lead, meaning = outcome(gate), TONES[gate.outcome]
    else:
        lead, meaning = verdict_of(comparison), "plain" if found is None else causes.tone(found)
    said = f"{lead}. {comparison.headline}" if lead else comparison.headline
    return _document(comparison, said, sections, meaning)


def one_table_document(comparison: Comparison, table: str, top: int = TOP) -> Document:
    """One table of every pair that is told in full, below the answer."""
    told, names = [Told(one.pair) for one in comparison.pairs], comparison.pair_names
    if comparison.exploration is not None:
        found = comparison.exploration
        explored = explored_sections(found, comparison.notes, top, TABLES[table])
        return _document(comparison, comparison.headline, explored)
    if len(told) == 1:
        block = TABLES[table](told[0], top, table)
        sections = [Section(table, block.title, (block,)), *causes.note_sections(comparison.notes)]
        # One table is not asked for to read all the rest, which takes longer.
        return _document(comparison, " ".join(sentences.answer(told[0])), sections)
    summary = changes.pairs_block(list(zip(comparison.pairs, told, strict=True)), names)
    sections = [Section("pairs", summary.title, (summary,))]
    shown = in_full(told, _IN_FULL_BRIEFLY)
    for place in shown:
        block = TABLES[table](told[place], top, f"pair-{place + 1}-{table}")
        lead = short_names(sentences.subject(told[place], comparison.pairs[place].title))
        said = causes.paragraphs(sentences.answer(told[place]))
        sections.append(Section(f"pair-{place + 1}", names[place], (*said, block), lead))
    sections += causes.note_sections(
        [*_not_shown(len(told) - len(shown), comparison), *comparison.notes]
    )
    return _document(comparison, comparison.headline, sections)


def program_document(comparison: Comparison, view: str, top: int | None = None) -> Document:
    """One table of the programs below the answer, once for all pairs that differ alike."""
    groups: dict[object, list[int]] = {}
    for number, one in enumerate(comparison.pairs):
        program = one.diagnosis.program
        told = () if program is None else program.edits
        edits = tuple((edit.cause, edit.sentence, edit.place) for edit in told)
        groups.setdefault((program is None, edits), []).append(number)
    sections = []
    for numbers in groups.values():
        name = units.listed([comparison.pair_names[number] for number in numbers], 4)
        program = comparison.pairs[numbers[0]].diagnosis.program
        if program is None:
            blocks: tuple[Block, ...] = tuple(causes.paragraphs([NO_PROGRAM]))
        else:
            blocks = (*causes.paragraphs(program_lines(program)), VIEWS[view](program, top))
        sections.append(Section(f"{view}-{numbers[0] + 1}", name, blocks))
    return _document(comparison, comparison.headline, sections)


def program_csv(one: Compared, view: str, top: int | None = None) -> str:
    """One table of the programs of a pair as CSV."""
    program = one.diagnosis.program
    if program is None:
        raise NotFoundError(NO_PROGRAM, "compare recordings with a timeline, not behaviour tables")
    frame = program_frame(program, view)
    return frame_csv(frame.head(top or frame.height))


def _document(
    comparison: Comparison, said: str, sections: Iterable[Section], meaning: Tone = "plain"
) -> Document:
    names = list(dict.fromkeys(one.title for one in comparison.pairs))
    sources = _names(comparison.sources)
    if len(comparison.pairs) == 1:
        one = comparison.pairs[0]
        about = short_names(sentences.subject(Told(one.pair), one.title))
    else:
        what = units.counted(len(comparison.all_pairs), "pairs")
        about = f"{units.listed(sources, 4, ' and ')}: {what}"
    title = units.listed(names or sources, 3, "; ")
    shown = (*fitness_of_sides(comparison.fitness), *sections)
    return Document("comparison", title, about, short_names(said), sections=shown, tone=meaning)


def _names(sources: Sequence[str]) -> Sequence[str]:
    """What was compared without the folders around it, where that tells all apart."""
    names = [Path(source).name or source for source in sources]
    return names if len(set(names)) == len(set(sources)) else sources


def verdict_of(comparison: Comparison) -> str:
    """The verdict on one program, whatever its processes; where these disagree, which have it.

    Where the program changed, and cycle time not for sure, sentences say both in their order.
    """
    found = comparison.diagnosis
    if found is None or len(comparison.cases) > 1 or only_edited(found):
        return ""
    verdicts = Counter(causes.verdict(one.diagnosis) for one in comparison.pairs)
    if len(verdicts) == 1:
        return causes.verdict(found)
    many = units.counted(len(comparison.pairs), "processes")
    (first, count), *others = verdicts.most_common()
    said = [f"{count} of {many}: {first.lower()}", *(f"{n}: {w.lower()}" for w, n in others)]
    return f"{causes.verdict(found)} ({', '.join(said)})"


def _of_one(
    comparison: Comparison, one: Compared, gate: Gate | None, top: int | None
) -> Iterator[Section]:
    """Verdict and causes, what a gate says, and every table."""
    told, found, brief = Told(one.pair), one.diagnosis, top is not None
    link = causes.links_to(_TIMES, told.label)
    word = f"Cycle time: {causes.verdict(found).lower()}" if only_edited(found) else ""
    why = causes.why_blocks(found, _sides(one, told), found.notes, link, word=word, brief=brief)
    opening = (*edits_blocks(found.program), *why, *_warnings(told, found))
    yield Section("verdict", _VERDICT, opening)
    yield from () if gate is None else (gate_section(gate),)
    yield from run_sections(one.pair.plain, brief=brief)
    yield from rank_sections(comparison.ranks, top)
    yield from causes.next_sections(found)
    yield from program_section(found.program, top, _sides(one, told))
    yield from efficiency_section(one.efficiency, top, _sides(one, told))
    pictures = tuple(_cycles(one, told))
    if pictures and not brief:
        yield Section("cycles", "Cycles", pictures)
    # Each table under a heading for menus; in text, where there are none, under its own title.
    tables = list(changes.pair_blocks(told, top or changes.MOST_ROWS, brief=found if top else None))
    functions = [block for block in tables if block.id.startswith("functions")]
    if one.pair.times.height:
        yield Section(
            _TIMES, "Functions", (*_changed(told, found, top), *functions),
            "Time per cycle, over all cycles; a cycle in which a function did not run counts as "
            "zero.",
        )  # fmt: skip
    for block in tables[len(functions) :]:
        yield Section(block.id, block.title if top else _HEADINGS[block.id], (block,))
    if not brief:
        yield Section("sides", "What was compared", (changes.sides_block([(one, told)]),))
    yield from causes.note_sections(
        [*_own_notes(told), *(found.notes if brief else ()), *comparison.notes]
    )


def _sides(one: Compared, told: Told) -> tuple[str, str]:
    """What both sides are called: as the runs are, where the title names two."""
    names = one.identifier.split(VERSUS)
    roles = told.pair.base.label, told.pair.new.label
    if len(names) != len(roles) or roles != ("base", "new") or tuple(names) == roles:
        return roles
    return f"base: {names[0]}", f"new: {names[1]}"


def _cycles(one: Compared, told: Told) -> Iterator[Picture]:
    """Every cycle of both sides, where all lengths are known."""
    times = told.pair.cycle_times
    if not (times.base_ns and times.new_ns and min(*times.base_ns, *times.new_ns) > 0):
        return
    base, new = _sides(one, told)
    shown = [
        side(base, times.base_ns, USUAL, times.warm_up[0]),
        side(new, times.new_ns, OTHER, times.warm_up[1]),
    ]
    yield picture(cycle_picture(shown))


def _warnings(told: Told, found: Diagnosis) -> Iterator[Text]:
    """That the work is not the same, and how far from it; a verdict may have said so."""
    workload = told.whole.workload
    if workload.comparable:
        return
    lines = [] if found.verdict == "incomparable" else sentences.answer(told)[:1]
    yield from causes.paragraphs([" ".join([*lines, *workload.reasons[1:]])], "warning")


def _own_notes(told: Told) -> list[str]:
    """What to know of a pair and no warning told."""
    workload = told.whole.workload
    warned = () if workload.comparable else workload.reasons
    every = [*sentences.notes(told), *(() if told.pair is told.whole else (_OF_EQUAL_WORK,))]
    return [note for note in every if note not in warned]


def _changed(told: Told, found: Diagnosis, top: int | None) -> Iterator[Text]:
    """What the table of functions does not show: families, and how counters moved meanwhile.

    In text every function that changed, and how many more there are.
    """
    told_apart = top or not told.families.is_empty()
    for line, meanwhile in sentences.findings(told, causes.told_counters(found)):
        if meanwhile or told_apart:
            yield from causes.paragraphs(["; ".join(filter(None, (line, meanwhile)))])
    yield from causes.paragraphs([sentences.findings_left(told)] if top else [])


def _of_several(comparison: Comparison, gate: Gate | None, top: int | None) -> Iterator[Section]:
    """The answer over all, a row for each pair, and some in full."""
    brief = top is not None
    pairs = [(one, Told(one.pair)) for one in comparison.pairs]
    names = comparison.pair_names
    together = comparison.diagnosis if len(comparison.cases) == 1 else None
    summary = changes.pairs_block(pairs, names)
    if together is None:
        yield Section("verdict", _VERDICT, (summary,))
    else:
        why = causes.why_blocks(together, _sides(*pairs[0]), together.notes, brief=brief)
        yield Section("verdict", _VERDICT, (*edits_blocks(together.program), *why))
        yield from rank_sections(comparison.ranks, top)
        yield from program_section(together.program, top, _sides(*pairs[0]), placed=False)
        yield Section("pairs", "All pairs", (summary,))
    yield from () if gate is None else (gate_section(gate),)
    shown = in_full([told for _, told in pairs], _IN_FULL_BRIEFLY if brief else _IN_FULL)
    for place in shown:
        own = (f"pair-{place + 1}", names[place])
        yield from _pair_sections(*pairs[place], own, together, top)
    if not brief:
        yield Section("sides", "What was compared", (changes.sides_block(pairs),))
    left = _not_shown(len(pairs) - len(shown), comparison) if brief else []
    common = together.notes if together is not None and brief else ()
    noted = sentences.notes_of_many(
        [(names[place], _own_notes(pairs[place][1])) for place in shown]
    )
    yield from causes.note_sections([*left, *common, *noted, *comparison.notes])


def in_full(pairs: Sequence[Told], most: int) -> list[int]:
    """Places of the pairs that are told in full: the largest changes.

    One that stands out comes first, or else the one with the largest change of a function.
    """
    moved = [abs(told.pair.cycle_times.change_pct or 0.0) for told in pairs]
    one = sentences.standing_out(pairs)
    alone = sentences.changed_most(pairs) if one is None else one[0]
    order = sorted(range(len(pairs)), key=lambda place: (place != alone, -moved[place], place))
    return sorted(order[:most], key=lambda place: (place != alone, place))


def _not_shown(count: int, comparison: Comparison) -> list[str]:
    if not count:
        return []
    options = as_options(comparison.choices)
    choose = f"{options} chooses one, " if options else ""
    return [f"{units.counted(count, 'more pairs')} in full: {choose}-o DIR writes all"]


def _pair_sections(
    one: Compared, told: Told, named: tuple[str, str], together: Diagnosis | None, top: int | None
) -> Iterator[Section]:
    """One of several pairs: its own verdict where there is none over all, and its tables."""
    (id_, name), found = named, one.diagnosis
    brief = (together or found) if top else None
    lead = short_names(sentences.subject(told, one.title))
    tables = (
        *efficiency_blocks(one.efficiency, top, names=_sides(one, told), id_=f"{id_}-efficiency"),
        *(_cycles(one, told) if top is None else ()),
        *_changed(told, brief or found, top),
        *changes.pair_blocks(told, top or _ROWS_OF_MANY, f"{id_}-", brief=brief),
    )
    if together is not None:
        said = (*causes.paragraphs(sentences.answer(told)), *_warnings(told, found))
        yield Section(id_, name, (*said, *tables), lead)
        return
    link = causes.links_to(f"{id_}-tables", told.label)
    why = causes.why_blocks(found, _sides(one, told), found.notes, link)
    opening = (*edits_blocks(found.program, f"{id_}-edits"), *why, *_warnings(told, found))
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
    gate: Gate | None = None,
) -> Iterator[tuple[str, Callable[[], str]]]:
    """One CSV and one Markdown file per pair, and everything as JSON."""
    for one in comparison.all_pairs:
        if "csv" in formats:
            yield f"{one.file_stem}.csv", partial(table_csv, one.pair, table, top)
        if "report" in formats and comparison.exploration is None:
            yield f"{one.file_stem}.md", partial(_pair_md, one)
    if "report" in formats and comparison.ranks is not None:
        yield "ranks.md", partial(ranks_md, comparison)
    if "report" in formats and comparison.exploration is not None:
        yield f"{EXPLORATORY_REPORT}.md", partial(comparison_md, comparison)
    if "json" in formats:
        yield "comparison.json", partial(indented_json, comparison, gate)


def _pair_md(one: Compared) -> str:
    return pair_md(one.pair, one.title, one.diagnosis)


def error_json(gate: Gate, error: TimesinkError) -> str:
    """What JSON says of runs that could not be compared."""
    said = {"message": sayable(error.message), "hint": sayable(error.hint)}
    whole = {"schema": SCHEMA, "error": said, "gate": gate.to_dict()}
    return indented(encode_json(whole))


def indented_json(comparison: Comparison, gate: Gate | None = None) -> str:
    """The whole answer as JSON for a person to look at; with what a gate says of it."""
    judged = {} if gate is None else {"gate": gate.to_dict()}
    return indented(encode_json({**comparison.to_dict(), **judged}))
