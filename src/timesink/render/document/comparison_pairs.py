"""One pair, or several, as sections of a document: why, then the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from timesink.answers.gate_result import Gate
from timesink.model.diagnosis import Diagnosis
from timesink.render.comparison import words
from timesink.render.comparison.cycle_picture import OTHER, USUAL, cycle_picture, side
from timesink.render.comparison.text import in_full, is_one_case, pair_notes
from timesink.render.comparison.words import short_names
from timesink.render.diagnosis.words import told_counters
from timesink.render.document.blocks import Block, Picture, Section, Text
from timesink.render.document.comparison_gate import gate_section
from timesink.render.document.comparison_ranks import rank_sections
from timesink.render.document.comparison_sides import sides_block
from timesink.render.document.comparison_tables import (
    MOST_ROWS,
    counters_block,
    families_block,
    pairs_block,
    scores_block,
    times_block,
)
from timesink.render.document.diagnosis_blocks import (
    next_sections,
    paragraphs,
    why_blocks,
)
from timesink.render.document.diagnosis_causes import Functions
from timesink.render.document.pictures import picture
from timesink.reports.comparison.answer import answer
from timesink.reports.comparison.naming import VERSUS
from timesink.reports.comparison.report import Compared, Comparison
from timesink.reports.comparison.told import Told

_VERDICT = "What changed, and why"
_TIMES = "times"
"""Section of the functions."""
_IN_FULL = 8
"""Pairs that are told in full."""
_ROWS_OF_MANY = 100
"""Rows of the tables of each of several pairs."""


# -- one pair --------------------------------------------------------------------------------------


def sections_of_one(comparison: Comparison, one: Compared, gate: Gate | None) -> Iterator[Section]:
    """Verdict and causes, what a gate says, and every table."""
    told, found = Told(one.pair), one.diagnosis
    yield Section(
        "verdict",
        _VERDICT,
        (
            *why_blocks(found, _names(one, told), found.notes, Functions(_TIMES, told.label)),
            *_warnings(told, found),
        ),
    )
    yield from _gate_sections(gate)
    yield from rank_sections(comparison.ranks)
    yield from next_sections(found)
    pictures = tuple(_cycles(one, told))
    if pictures:
        yield Section("cycles", "Cycles", pictures)
    yield from _table_sections(told, found)
    yield Section("sides", "What was compared", (sides_block([(one, told)]),))
    yield from _note_sections([*_notes(told), *comparison.notes])


def _names(one: Compared, told: Told) -> tuple[str, str]:
    """What both sides are called: as the runs are, where the title names two."""
    names = one.identifier.split(VERSUS)
    roles = told.pair.base.label, told.pair.new.label
    if len(names) != len(roles) or roles != ("base", "new"):
        return roles
    return f"base: {names[0]}", f"new: {names[1]}"


def _cycles(one: Compared, told: Told) -> Iterator[Picture]:
    """Every cycle of both sides, where all lengths are known."""
    times = told.pair.cycle_times
    if not (times.base_ns and times.new_ns and min(*times.base_ns, *times.new_ns) > 0):
        return
    names, warm = _names(one, told), times.warm_up
    yield picture(
        cycle_picture(
            [
                side(names[0], times.base_ns, USUAL, warm[0]),
                side(names[1], times.new_ns, OTHER, warm[1]),
            ]
        )
    )


def _warnings(told: Told, found: Diagnosis) -> Iterator[Text]:
    """That the work is not the same, and how far from it; a verdict may have said so."""
    workload = told.whole.workload
    if workload.comparable:
        return
    lines = [] if found.verdict == "incomparable" else answer(told)[:1]
    yield from paragraphs([" ".join([*lines, *workload.reasons[1:]])], "warning")


def _notes(told: Told) -> list[str]:
    """What to know of a pair and no warning told."""
    workload = told.whole.workload
    warned = () if workload.comparable else workload.reasons
    return [note for note in pair_notes(told) if note not in warned]


def _gate_sections(gate: Gate | None) -> Iterator[Section]:
    if gate is not None:
        yield gate_section(gate)


def _table_sections(told: Told, found: Diagnosis) -> Iterator[Section]:
    yield Section(
        _TIMES, "Functions", (*_changed(told, found), times_block(told, MOST_ROWS)),
        "Time per cycle, over all cycles; a cycle in which a function did not run counts as zero.",
    )  # fmt: skip
    if not told.families.is_empty():
        yield Section("families", "Names that do not meet", (families_block(told, MOST_ROWS),))
    if told.counters:
        yield Section("counters", "Counters", (counters_block(told, MOST_ROWS),))
    if not told.pair.rows.is_empty():
        yield Section("scores", "Functions with counters", (scores_block(told, MOST_ROWS),))


def _changed(told: Told, found: Diagnosis) -> Iterator[Text]:
    """What the table of functions does not show: families, and how counters moved meanwhile."""
    in_families = not told.families.is_empty()
    for one in words.findings(told, told_counters(found)):
        if one.meanwhile or in_families:
            yield from paragraphs(["; ".join(filter(None, (one.line, one.meanwhile)))])


def _note_sections(notes: Sequence[str]) -> Iterator[Section]:
    every = tuple(paragraphs(list(dict.fromkeys(notes))))
    if every:
        yield Section("notes", "Notes", every)


# -- several pairs ---------------------------------------------------------------------------------


def sections_of_several(comparison: Comparison, gate: Gate | None) -> Iterator[Section]:
    """The answer over all, a row for each pair, and some in full."""
    pairs = [(one, Told(one.pair)) for one in comparison.pairs]
    names = comparison.pair_names
    together = comparison.diagnosis if is_one_case(comparison) else None
    summary = pairs_block(pairs, names)
    if together is None:
        yield Section("verdict", _VERDICT, (summary,))
    else:
        yield Section(
            "verdict",
            _VERDICT,
            tuple(why_blocks(together, _names(*pairs[0]), together.notes)),
        )
        yield from rank_sections(comparison.ranks)
        yield Section("pairs", "All pairs", (summary,))
    yield from _gate_sections(gate)
    shown = in_full([told for _, told in pairs], _IN_FULL)
    for place in shown:
        yield from _pair_sections(*pairs[place], place, names[place], alone=together is None)
    yield Section("sides", "What was compared", (sides_block(pairs),))
    noted = words.notes_of_many([(names[place], _notes(pairs[place][1])) for place in shown])
    yield from _note_sections([*noted, *comparison.notes])


def _pair_sections(
    one: Compared, told: Told, place: int, name: str, *, alone: bool
) -> Iterator[Section]:
    """One of several pairs: its own verdict where there is none over all, and its tables."""
    id_, found = f"pair-{place + 1}", one.diagnosis
    subject = short_names(words.subject(told, one.title))
    if alone:
        functions = Functions(f"{id_}-tables", told.label)
        why = why_blocks(found, _names(one, told), found.notes, functions)
        yield Section(id_, name, (*why, *_warnings(told, found)), subject)
        tables = (*_cycles(one, told), *_changed(told, found), *_tables(told, id_))
        yield Section(f"{id_}-tables", "Functions and counters", tables)
    else:
        said = (*paragraphs(answer(told)), *_warnings(told, found))
        tables = (*_cycles(one, told), *_changed(told, found), *_tables(told, id_))
        yield Section(id_, name, (*said, *tables), subject)


def _tables(told: Told, id_: str) -> Iterator[Block]:
    yield times_block(told, _ROWS_OF_MANY, f"{id_}-functions")
    if not told.families.is_empty():
        yield families_block(told, _ROWS_OF_MANY, f"{id_}-families")
    if told.counters:
        yield counters_block(told, _ROWS_OF_MANY, f"{id_}-counters")
    if not told.pair.rows.is_empty():
        yield scores_block(told, _ROWS_OF_MANY, f"{id_}-scores")
