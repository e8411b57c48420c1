"""Why some cycles of a run take longer, as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from timesink import __version__
from timesink.answers.diagnosis_report import Diagnosed, Within, of_single_cycles, spans
from timesink.render.comparison.cycle_picture import OTHER, USUAL, Side, cycle_picture
from timesink.render.comparison.words import short_names
from timesink.render.diagnosis.diagnosed import (
    SINGLE,
    first_processes,
    report_notes,
    report_subject,
)
from timesink.render.document.blocks import Block, Document, Picture, Section, Table
from timesink.render.document.comparison_sides import roles_block
from timesink.render.document.comparison_tables import MOST_ROWS, times_block
from timesink.render.document.diagnosis_blocks import (
    next_sections,
    paragraphs,
    tone,
    why_blocks,
)
from timesink.render.document.diagnosis_causes import Functions
from timesink.render.document.meanings import CYCLES
from timesink.render.document.packing import column, table
from timesink.render.document.pictures import picture
from timesink.reports.comparison.told import Told

_TITLE = "Which cycles are slow, and why"
_SIDES = ("typical cycles", "slow cycles")
_ROWS_OF_MANY = 100


def diagnosis_document(report: Diagnosed) -> Document:
    """The slow cycles of each process set against its typical ones.

    >>> import timesink
    >>> found = diagnosis_document(timesink.diagnose(timesink.sample_runs()[0]))
    >>> [section.id for section in found.sections]
    ['verdict', 'next', 'cycles', 'times', 'processes']
    """
    report = replace(report, source=Path(report.source).resolve().name)
    return Document(
        "diagnosis",
        f"Slow cycles of {report.source}",
        short_names(report_subject(report)),
        short_names(report.headline),
        __version__,
        tuple(_sections(report)),
        tone(report.diagnosis),
    )


def _sections(report: Diagnosed) -> Iterator[Section]:
    if len(report.processes) == 1:
        yield from _of_one(report.processes[0])
    else:
        yield from _of_several(report)
    roles = [(one.name, one.role) for one in report.processes]
    yield Section("processes", "What was looked at", (roles_block(roles),))
    # Those of a single process stand beside its verdict.
    alone = len(report.processes) == 1
    notes = tuple(paragraphs(report.notes if alone else report_notes(report)))
    if notes:
        yield Section("notes", "Notes", notes)


def _of_one(one: Within) -> Iterator[Section]:
    told = None if one.pair is None else Told(one.pair)
    functions = None if told is None else Functions("times", told.label)
    blocks = why_blocks(one.diagnosis, _SIDES, one.diagnosis.notes, functions, word=_word([one]))
    yield Section("verdict", _TITLE, (*blocks, *_single(one)))
    yield from next_sections(one.diagnosis)
    yield Section("cycles", "Cycles", (*_picture(one), _cycles(one, "cycles")))
    if told is not None:
        yield Section(
            "times", "Functions", (times_block(told, MOST_ROWS),),
            "Time per cycle, of typical and of slow cycles.",
        )  # fmt: skip


def _of_several(report: Diagnosed) -> Iterator[Section]:
    """All processes together, then those whose slow cycles take the most time more."""
    blocks = why_blocks(report.diagnosis, _SIDES, word=_word(report.processes))
    yield Section("verdict", _TITLE, tuple(blocks))
    yield Section("slow", "Slow cycles", (_processes(report.processes),))
    for place, one in enumerate(first_processes(report)):
        yield from _process(one, f"process-{place + 1}")


def _process(one: Within, id_: str) -> Iterator[Section]:
    """One of several processes: why its cycles are slow, then which and what ran in them."""
    told = None if one.pair is None else Told(one.pair)
    functions = None if told is None else Functions(f"{id_}-tables", told.label)
    why = why_blocks(one.diagnosis, _SIDES, functions=functions, word=_word([one]))
    yield Section(id_, one.name, (*why, *_single(one)))
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
        yield from paragraphs([f"{SINGLE}:", *lines])


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
    shown = Side(name, tuple(map(float, lengths.values())), colours, len(one.split.warm_up))
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
    return table(
        id_,
        "Cycles",
        [
            column("cycle", "cycle", "count", numbers),
            column("dur_ns", "length", "time_ns", [lengths[cycle] or None for cycle in numbers],
                   bar=True),
            column("side", "side", "text", [sides.get(cycle) for cycle in numbers]),
        ],
        meanings=CYCLES,
    )  # fmt: skip


def _processes(processes: Sequence[Within]) -> Table:
    """One row per process: which of its cycles are slow."""
    found = [one.diagnosis for one in processes]
    slow = [one.pair is not None for one in processes]
    lengths = [one.cycle_time for one in found]
    return table(
        "slow",
        "Slow cycles",
        [
            column("process", "role", "text", [one.name for one in processes], link="worker"),
            column("cycles", "cycles", "count", [one.role.cycles for one in processes]),
            column("typical_ns", "typical", "time_ns", [one.base_ns or None for one in lengths]),
            column("slow_ns", "slow", "time_ns",
                   [one.new_ns if is_slow else None
                    for one, is_slow in zip(lengths, slow, strict=True)]),
            column("change_pct", "change %", "percent",
                   [one.change_pct if is_slow else None
                    for one, is_slow in zip(lengths, slow, strict=True)]),
            column("which", "slow cycles", "text",
                   [spans(one.split.slow) if one.pair is not None else "none"
                    for one in processes]),
            column("cause", "cause", "text",
                   [one.causes[0].cause if one.causes else None for one in found]),
        ],
        meanings=CYCLES,
    )  # fmt: skip
