"""Which cycles of a run are slow, and why: the answer of `timesink.diagnose`, and its document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from timesink.analyses.comparison import WITHIN, Pair, Role
from timesink.analyses.comparison.verdict import compare_roles
from timesink.answers import causes
from timesink.answers.ahead import CycleSearch
from timesink.answers.causes import cause_name
from timesink.answers.comparison import pairing
from timesink.answers.comparison import values as diagnosis_json
from timesink.answers.comparison.changes import CYCLES, MOST_ROWS, Told, roles_block, times_block
from timesink.answers.comparison.cycle_pictures import split_blocks
from timesink.answers.comparison.kept_runs import Runs, check_recordings
from timesink.answers.comparison.report import chosen, members_of
from timesink.answers.comparison.sides import (
    SideReadOptions,
    check_given,
    find_cases,
    side_of,
    source_of,
)
from timesink.answers.fitness import fitness_of_sides, fitness_sections, fitness_values
from timesink.answers.tables import short_labels
from timesink.answers.views import listed_table
from timesink.errors import NotFoundError, UsageError
from timesink.formats import Progress
from timesink.formats.small_files import encode_json
from timesink.model import units
from timesink.model.diagnosis import CycleTime, Diagnosis
from timesink.model.fitness import Fitness
from timesink.model.schema import HOST_DEVICE
from timesink.model.trace import Trace
from timesink.output.blocks import Block, Document, Section, Table
from timesink.output.names import cut_middle, short_names, told_apart
from timesink.recorder.processes import sayable
from timesink.rules import slow_cycles
from timesink.rules.diagnosis import diagnose as diagnose_pair
from timesink.rules.joint_diagnosis import diagnose_together

SCHEMA = "timesink/diagnosis/1"
_MOST_SPANS = 5
_MOST_LEVELS = 6
_DRIFT = 0.1
"""Levels are told whose lengths differ by this part of the typical one."""


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """One process of a run: its slow cycles against its typical ones."""

    name: str
    """What it is called among the others: `pid 7`, `rank 3, decode cycles`."""
    role: Role
    split: slow_cycles.CycleSplit
    diagnosis: Diagnosis
    pair: Pair | None = None
    """Typical cycles beside slow ones; None where no cycle is slow."""
    excesses: tuple[slow_cycles.SlowCycle, ...] = ()
    """Single slow cycles that one function explains."""

    def to_dict(self) -> dict[str, Any]:
        """Which cycles are slow, and why."""
        split = self.split
        return {
            "name": self.name,
            "pid": self.role.pid,
            "host": self.role.host,
            "rank": self.role.rank,
            "cycles": self.role.cycles,
            "typical_us": split.typical_ns / 1000,
            "typical_cycles": list(split.typical),
            "slow_cycles": list(split.slow),
            "slow_period_cycles": split.period or None,
            "slow_share_pct": 100 * split.slow_share,
            "fast_cycles": list(split.fast),
            "warm_up_cycles": list(split.warm_up),
            "levels": [_in_us(one) for one in split.levels],
            "excesses": [_in_us(one) for one in self.excesses],
            **diagnosis_json.diagnosis(self.diagnosis),
        }


def _in_us(told: slow_cycles.CycleLevel | slow_cycles.SlowCycle) -> dict[str, Any]:
    """All of it with times in microseconds."""
    return {
        re.sub("_ns$", "_us", name): value / 1000 if name.endswith("_ns") else value
        for name, value in asdict(told).items()
    }


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosed:
    """Why some cycles of a run take longer than its others.

    >>> import timesink
    >>> timesink.diagnose(timesink.sample_runs()[0]).headline
    '1 of 12 cycles takes longer than the typical 55.1 ms: cycle 8.'
    """

    source: str
    processes: tuple[Within, ...]
    notes: tuple[str, ...] = ()
    """What to know before believing the numbers."""

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """All processes read together, of one its own; those without slow cycles add nothing."""
        slow = [one for one in self.processes if one.pair is not None]
        if len(slow) <= 1:
            return (slow or list(self.processes))[0].diagnosis
        pairs = [one.pair for one in slow if one.pair is not None]
        found = diagnose_together(pairs, [one.diagnosis for one in slow])
        return replace(by_length(found), reason=f"{how_many_slow(self.processes)}.", notes=())

    @property
    def headline(self) -> str:
        """Whether cycles are slow, and what explains most of it."""
        found = self.diagnosis
        said = [found.reason]
        if len(self.processes) > 1:
            # The one process that is worst, and how many others have slow cycles.
            slow = [one for one in self.processes if one.pair is not None]
            said = [f"No cycle of {things(self.processes)} takes much longer than usual."]
            if slow:
                worst = max(slow, key=excess_ns)
                which = f"most of all {worst.name}: {worst.diagnosis.reason}"
                said = [f"{how_many_slow(self.processes)}, {which}"]
        for cause in found.causes[:1]:
            by = units.brief_ns(abs(cause.explained_ns))
            said.append(f"{cause_name(cause.cause)} explains {by} per slow cycle.")
        return " ".join(said)

    @property
    def fitness(self) -> dict[str, Fitness]:
        """What the recording of each process can answer."""
        return {one.name: one.role.fitness for one in self.processes}

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/diagnosis.md` describes every key."""
        return {
            "schema": SCHEMA,
            "source": sayable(self.source),
            "headline": self.headline,
            "recording": fitness_values(self.fitness),
            **diagnosis_json.diagnosis(self.diagnosis),
            "notes": [sayable(note) for note in self.notes],
            "processes": [one.to_dict() for one in self.processes],
        }

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        return encode_json(self.to_dict())

    def __repr__(self) -> str:
        """One line: what was diagnosed, and the answer."""
        return f"<Diagnosed {self.source}: {self.headline}>"


# -- from recordings to the answer ----------------------------------------------------------------


def diagnose(
    source: str | Path | Trace,
    *,
    pid: str | int | None = None,
    rank: int | None = None,
    cycle_type: str | None = None,
    marker: str | None = None,
    by: str | None = None,
    metric_map: str | Path | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Diagnosed:
    """Why some cycles of a run take longer than its others.

    The source is a recording, a folder of them (one per rank) or a behaviour table; every process
    is looked at for itself.  `pid`, `rank` and `cycle_type` choose, `marker`, `by` and `metric_map`
    are those of `timesink.behaviour`.

    >>> import timesink
    >>> found = timesink.diagnose(timesink.sample_runs()[0])
    >>> found.processes[0].split.slow, found.diagnosis.verdict
    ((8,), 'regression')
    """
    given = source if isinstance(source, Trace) else Path(source)
    check_given([given])
    pairing.check_cycle_type(cycle_type)
    if isinstance(given, Path) and find_cases(given):
        raise UsageError(
            f"{given}: two runs, a normal and an abnormal one",
            "compare them with timesink compare, or give one of the two",
        )
    finding = CycleSearch(marker, by, metric_map)
    side = side_of(given, rank)
    runs, failures = Runs(SideReadOptions(cache, jobs, progress, finding)).of(side.sources)
    if not runs:
        raise failures[0].error
    if finding.says_unit:
        check_recordings(runs, finding)
    process = None if pid is None else str(pid)
    every = members_of(runs)
    fitting = [one for one in every if process in (None, one.role.pid)]
    if not fitting:
        known = units.listed(sorted({one.role.pid for one in every}, key=units.natural))
        raise NotFoundError(f"{every[0].role.source}: no process {process}", f"there are {known}")
    members = pairing.members_of_type(chosen(fitting, process, rank), cycle_type)
    lost = [f"left out: {one.error.message}" for one in failures]
    own = dict.fromkeys(note for one in members for note in one.role.notes)
    return Diagnosed(
        source=source_of(given),
        processes=tuple(map(within, [one.role for one in members], _names(members))),
        notes=(*side.notes, *lost, *own),
    )


def _names(members: Sequence[pairing.RoleMember]) -> list[str]:
    """What each process is called among the others; with its sort of cycles and its file."""
    jobs, types = ({getattr(one, name) for one in members} for name in ("job", "suffix"))
    names = []
    for one in members:
        rank = one.role.rank
        name = f"pid {one.role.pid}" if rank is None else f"rank {rank}"
        words = [name, pairing.SORTS_OF_CYCLES.get(one.suffix, "") if len(types) > 1 else ""]
        if len(jobs) > 1 and rank is None:
            words.append(one.job)
        names.append(", ".join(filter(None, words)))
    return told_apart(names)


def within(role: Role, name: str) -> Within:
    """What is slow in one process, and why."""
    split = slow_cycles.split_cycles(role)
    sides = slow_cycles.typical_and_outliers(role, split)
    if sides is None:
        mean = role.mean_cycle_ns
        cycles = CycleTime(mean, mean, 0.0 if mean else None, None, None)
        verdict = "no_change" if split.can_tell else "incomparable"
        notes = tuple(notes_of(split))
        quiet = Diagnosis(verdict, why_not(split), cycles, (), (), (), 0.0, (), notes=notes)
        return Within(name, role, split, quiet)
    # Slow cycles that hold more work are slow for that reason, and stay as they are.
    pair = replace(compare_roles(*sides, WITHIN), equal_work=None)
    found = diagnose_pair(pair)
    unequal = () if pair.workload.comparable else pair.workload.reasons[:1]
    notes = (*notes_of(split), *unequal, *found.notes)
    found = replace(by_length(found), reason=why_slow(split, found.cycle_time), notes=notes)
    return Within(name, role, split, found, pair, tuple(slow_cycles.excesses(role, split)))


def by_length(found: Diagnosis) -> Diagnosis:
    """Slow cycles were chosen for their length: that they are longer is not for a test to say."""
    lengths = found.cycle_time
    base, new = lengths.base_ns, lengths.new_ns
    change = 100 * (new - base) / base if base else None
    return replace(found, verdict="regression", cycle_time=CycleTime(base, new, change, None, None))


# -- in words -------------------------------------------------------------------------------------


def spans(numbers: Sequence[int]) -> str:
    """Numbers in order, those that follow each other together."""
    together = groupby(enumerate(numbers), lambda one: one[1] - one[0])
    runs = [[number for _, number in group] for _, group in together]
    said = [
        part
        for run in runs
        for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))
    ]
    if len(said) > _MOST_SPANS:
        return units.listed(said, _MOST_SPANS)
    return " and ".join(filter(None, (", ".join(said[:-1]), said[-1])))


def _cycles(numbers: Sequence[int]) -> str:
    return f"{'cycles' if len(numbers) > 1 else 'cycle'} {spans(numbers)}"


def why_slow(split: slow_cycles.CycleSplit, lengths: CycleTime) -> str:
    """Which cycles are slow, and against what."""
    count = f"{units.count(len(split.slow))} of {units.counted(split.known, 'cycles')}"
    if split.has_levels:
        slower, faster = (units.brief_ns(ns) for ns in (lengths.new_ns, lengths.base_ns))
        faster_ones = f"{faster} of the faster ones ({_cycles(split.typical)})"
        said = f"{count} take {slower} on average ({_cycles(split.slow)}), against {faster_ones}"
        return f"The run has levels: {said}."
    typical = units.brief_ns(split.typical_ns)
    if split.period:
        slow = units.brief_ns(lengths.new_ns)
        return (
            f"Every {split.period} cycles one takes {slow} instead of the typical {typical} "
            f"({_cycles(split.slow)}): {units.share(split.slow_share, 1)} of the time of all."
        )
    take = "takes" if len(split.slow) == 1 else "take"
    return f"{count} {take} longer than the typical {typical}: {_cycles(split.slow)}."


def why_not(split: slow_cycles.CycleSplit) -> str:
    """Why no cycle is called slow."""
    if not split.known:
        return "How long cycles take is not recorded."
    if split.known == 1:
        return "One cycle: nothing to compare with."
    if not split.can_tell:
        return f"{units.counted(split.known, 'cycles')}: too few to tell slow ones."
    after = " after warm-up" if split.warm_up else ""
    typical = units.brief_ns(split.typical_ns)
    return f"No cycle{after} takes much longer than the others: typical are {typical}."


def notes_of(split: slow_cycles.CycleSplit) -> Iterator[str]:
    """Warm-up, levels a run went through, and cycles that are unusually short."""
    if split.warm_up:
        which = _cycles(split.warm_up)
        told = "is" if len(split.warm_up) == 1 else "are"
        yield f"{which[0].upper()}{which[1:]} {told} warm-up and not counted among slow ones."
    lengths = [one.mean_ns for one in split.levels]
    if lengths and max(lengths) - min(lengths) > _DRIFT * split.typical_ns:
        more = len(split.levels) - _MOST_LEVELS
        said = [
            f"cycles {one.first} to {one.last} at {units.brief_ns(one.mean_ns)}"
            if one.last > one.first
            else f"cycle {one.first} at {units.brief_ns(one.mean_ns)}"
            for one in split.levels[:_MOST_LEVELS]
        ]
        rest = f" and {units.counted(more, 'more levels')}" if more > 0 else ""
        yield f"The run drifts: {', '.join(said)}{rest}."
    if split.fast:
        yield f"Unusually short, and on neither side: {_cycles(split.fast)}."


def how_many_slow(processes: Sequence[Within]) -> str:
    """How many of all processes have cycles that take longer."""
    slow = sum(one.pair is not None for one in processes)
    return f"{slow} of {things(processes)} {'has' if slow == 1 else 'have'} slow cycles"


def things(processes: Sequence[Within]) -> str:
    """How many there are, and of what: a process with two sorts of cycles is one process."""
    apart = {(one.role.source, one.role.host, one.role.pid) for one in processes}
    return units.counted(
        len(processes), "processes" if len(apart) == len(processes) else "sorts of cycles"
    )


def of_single_cycles(one: Within) -> list[str]:
    """Slow cycles that one function explains; those alike are told by the first of them."""
    by_function: dict[tuple[str, str], list[slow_cycles.SlowCycle]] = {}
    for excess in one.excesses:
        by_function.setdefault((excess.function, excess.device), []).append(excess)
    said = []
    for alike in by_function.values():
        first = max(alike, key=lambda one: one.time_ns)
        which = _cycles([one.cycle for one in alike])
        took, usual = units.brief_ns(first.time_ns), units.brief_ns(first.typical_most_ns)
        kept = [first.function] if first.device == HOST_DEVICE else []
        name = short_labels([first.function], kept)[first.function]
        said.append(
            f"{which[0].upper()}{which[1:]}: {name} on {first.device} takes "
            f"{'up to ' * (len(alike) > 1)}{took}, in typical cycles at most {usual}."
        )
    return said


def excess_ns(one: Within) -> float:
    """How much longer its slow cycles take."""
    return one.diagnosis.cycle_time.new_ns - one.diagnosis.cycle_time.base_ns


# -- the document ----------------------------------------------------------------------------------

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
        sections=(*_fitness_sections(report), *_sections(report, brief=brief)),
        tone=causes.tone(report.diagnosis),
    )


def _fitness_sections(report: Diagnosed) -> Iterator[Section]:
    """What the recordings cannot tell; of one that holds several processes, once."""
    first, *others = report.processes
    if all(one.role.fitness == first.role.fitness for one in others):
        yield from fitness_sections(first.role.fitness)
    else:
        yield from fitness_of_sides(report.fitness)


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
    yield Section("cycles", "Cycles", tuple(split_blocks(one.role, one.split, "cycles")))
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
    reason = one.diagnosis.reason if brief else ""
    yield Section(id_, one.name, (*why, *_single(one)), short_names(reason))
    if brief:
        return
    tables: list[Block] = [*split_blocks(one.role, one.split, f"{id_}-cycles")]
    if told is not None:
        tables.append(times_block(told, _ROWS_OF_MANY, f"{id_}-functions"))
    yield Section(f"{id_}-tables", "Cycles and functions", tuple(tables))


def _word(processes: Sequence[Within]) -> str:
    """The verdict on a run: nothing regressed, some of its cycles are slow."""
    if any(one.pair is not None for one in processes):
        return "Slow cycles"
    return "No slow cycles" if any(one.split.can_tell for one in processes) else "Cannot tell"


def _single(one: Within) -> Iterator[Block]:
    """Single cycles that one function explains."""
    lines = of_single_cycles(one)
    if lines:
        yield from causes.paragraphs(["Single cycles that one function explains:", *lines])


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
