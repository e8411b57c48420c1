"""Why some cycles of a run take longer, as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from timesink.answers import causes
from timesink.answers.comparison.changes import CYCLES, MOST_ROWS, Told, roles_block, times_block
from timesink.answers.comparison.cycle_pictures import OTHER, USUAL, CycleBars, cycle_picture
from timesink.answers.diagnosis_report import Diagnosed, Within, excess_ns, of_single_cycles, spans
from timesink.answers.tables import short_labels
from timesink.answers.views import listed_table
from timesink.model import units
from timesink.output.blocks import Block, Document, Picture, Section, Table
from timesink.output.names import cut_middle, short_names
from timesink.output.pictures import picture

_SINGLE = "Single cycles that one function explains"
_IN_FULL = 3
"""Processes that are told in full."""
_TITLE = "Which cycles are slow, and why"
_SIDES = ("typical cycles", "slow cycles")
_ROWS_OF_MANY = 100


def diagnosis_document(report: Diagnosed, *, brief: bool = False) -> Document:
    """The slow cycles of each process set against its typical ones.

    The `brief` answer is read as text: the verdict is the headline, and tables of cycles and
    functions are left to pages.
    """
    name = Path(report.source).resolve().name
    return Document(
        "diagnosis",
        f"Slow cycles of {name}",
        short_names(_subject(report, report.source if brief else name)),
        short_names(report.headline),
        sections=tuple(_sections(report, brief=brief)),
        tone=causes.tone(report.diagnosis),
    )


def _subject(report: Diagnosed, source: str) -> str:
    """What was looked at: which processes, how many cycles, and what marks them."""
    names = units.listed([one.name for one in report.processes], 3, "; ")
    anchors = set()
    for one in report.processes:
        name = one.role.anchor or ""
        kept = () if one.role.method == "kernels" else [name]
        anchors.add(cut_middle(short_labels([name], kept)[name]))
    anchor = anchors.pop() if len(anchors) == 1 else ""
    cycles = units.counted(sum(one.role.cycles for one in report.processes), "cycles")
    return f"{source}, {names}: {cycles}{f' of {anchor}' if anchor else ''}"


def _sections(report: Diagnosed, *, brief: bool) -> Iterator[Section]:
    alone = len(report.processes) == 1
    yield from _of_one(report.processes[0], brief) if alone else _of_several(report, brief)
    if not brief:
        roles = [(one.name, one.role) for one in report.processes]
        yield Section("processes", "What was looked at", (roles_block(roles),))
    # On a page, those of a single process stand beside its verdict.
    own = [
        note if alone else f"{one.name}: {note}"
        for one in report.processes
        for note in one.diagnosis.notes
        if brief or not alone
    ]
    yield from causes.note_sections([*own, *report.notes])


def _of_one(one: Within, brief: bool) -> Iterator[Section]:  # noqa: FBT001
    told = None if one.pair is None else Told(one.pair)
    link = None if told is None else causes.links_to("times", told.label)
    notes, word = one.diagnosis.notes, _word([one])
    blocks = causes.why_blocks(one.diagnosis, _SIDES, notes, link, word=word, brief=brief)
    yield Section("verdict", _TITLE, (*blocks, *_single(one)))
    yield from causes.next_sections(one.diagnosis)
    if brief:
        return
    yield Section("cycles", "Cycles", (*_picture(one), _cycles(one, "cycles")))
    if told is not None:
        yield Section(
            "times", "Functions", (times_block(told, MOST_ROWS),),
            "Time per cycle, of typical and of slow cycles.",
        )  # fmt: skip


def _of_several(report: Diagnosed, brief: bool) -> Iterator[Section]:  # noqa: FBT001
    """All processes together, then those whose slow cycles take the most time more."""
    if not brief:
        blocks = causes.why_blocks(report.diagnosis, _SIDES, word=_word(report.processes))
        yield Section("verdict", _TITLE, tuple(blocks))
    yield Section("slow", "Slow cycles", (_processes(report.processes),))
    slow = [one for one in report.processes if one.pair is not None]
    for place, one in enumerate(sorted(slow, key=excess_ns, reverse=True)[:_IN_FULL]):
        yield from _process(one, f"process-{place + 1}", brief)


def _process(one: Within, id_: str, brief: bool) -> Iterator[Section]:  # noqa: FBT001
    """One of several processes: why its cycles are slow, then which and what ran in them."""
    told = None if one.pair is None else Told(one.pair)
    link = None if told is None else causes.links_to(f"{id_}-tables", told.label)
    why = causes.why_blocks(one.diagnosis, _SIDES, link=link, word=_word([one]), brief=brief)
    lead = short_names(one.diagnosis.reason) if brief else ""
    yield Section(id_, one.name, (*why, *_single(one)), lead)
    if brief:
        return
    tables: list[Block] = [*_picture(one), _cycles(one, f"{id_}-cycles")]
    if told is not None:
        tables.append(times_block(told, _ROWS_OF_MANY, f"{id_}-functions"))
    yield Section(f"{id_}-tables", "Cycles and functions", tuple(tables))


def _word(processes: Sequence[Within]) -> str:
    """The verdict on a run: nothing regressed, some of its cycles are slow."""
    if any(one.pair is not None for one in processes):
        return "Slow cycles"
    told = any(one.split.can_tell for one in processes)
    return "No slow cycles" if told else "Cannot tell"


def _single(one: Within) -> Iterator[Block]:
    """Single cycles that one function explains."""
    lines = of_single_cycles(one)
    if lines:
        yield from causes.paragraphs([f"{_SINGLE}:", *lines])


def _lengths(one: Within) -> dict[int, int]:
    """Every cycle with its length, in order; 0 where that is not known."""
    cycles = one.role.behaviour.select("cycle", "cycle_dur_ns").unique().sort("cycle")
    return dict(cycles.iter_rows())


def _picture(one: Within) -> Iterator[Picture]:
    """Every cycle, the slow ones in another colour; nothing where a length is not known."""
    lengths, slow = _lengths(one), set(one.split.slow)
    if not lengths or not all(lengths.values()):
        return
    colours = tuple(OTHER if cycle in slow else USUAL for cycle in lengths)
    name = "all cycles, slow ones in orange" if slow else "all cycles"
    shown = CycleBars(name, tuple(map(float, lengths.values())), colours, len(one.split.warm_up))
    yield picture(cycle_picture([shown]))


def _cycles(one: Within, id_: str) -> Table:
    """Every cycle with its length, and on which side it is."""
    split = one.split
    sides = {
        **dict.fromkeys(split.typical, "typical"),
        **dict.fromkeys(split.warm_up, "warm-up"),
        **dict.fromkeys(split.fast, "unusually short"),
        **dict.fromkeys(split.slow, "slow"),
    }
    lengths = _lengths(one)
    numbers = list(lengths)
    values = {
        "cycle": numbers,
        "dur_ns": [lengths[cycle] or None for cycle in numbers],
        "side": [sides.get(cycle) for cycle in numbers],
    }
    return listed_table("cycle-lengths", id_, "Cycles", (), values, meanings=CYCLES)


def _processes(processes: Sequence[Within]) -> Table:
    """One row per process: which of its cycles are slow."""
    found = [one.diagnosis for one in processes]
    lengths = [one.cycle_time for one in found]
    # Of processes without slow cycles there is nothing to say.
    slow = [None if one.pair is None else one.diagnosis.cycle_time for one in processes]
    values = {
        "process": [one.name for one in processes],
        "cycles": [one.role.cycles for one in processes],
        "typical_ns": [one.base_ns or None for one in lengths],
        "slow_ns": [one and one.new_ns for one in slow],
        "change_pct": [one and one.change_pct for one in slow],
        "which": [spans(one.split.slow) if one.pair is not None else "none" for one in processes],
        "cause": [one.causes[0].cause if one.causes else None for one in found],
    }
    return listed_table("slow-cycles", "slow", "Slow cycles", (), values, meanings=CYCLES)
