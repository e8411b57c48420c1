"""Which cycles of a run are slow, and why: the answer of `timesink.diagnose`, and its document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from timesink.answers.common_json import FitnessJson
from timesink.answers.comparison import causes
from timesink.answers.comparison.causes import cause_name, lower_first
from timesink.answers.comparison.changes import CYCLES, MAX_ROWS, PairView, roles_block, times_block
from timesink.answers.comparison.cycle_pictures import split_blocks
from timesink.answers.comparison.diagnosis_json import DiagnosisJson, diagnosis_fields
from timesink.answers.comparison.naming import SORTS_OF_CYCLES
from timesink.answers.fitness import fitness_of_sides, fitness_sections
from timesink.answers.tables import short_labels
from timesink.answers.views import listed_table
from timesink.comparison.causes import slow_steps
from timesink.comparison.causes.diagnosis import diagnose as diagnose_pair
from timesink.comparison.causes.joint_diagnosis import diagnose_together
from timesink.comparison.inputs import SideReadOptions, check_given, find_cases, side_of, source_of
from timesink.comparison.pairing import check_cycle_type, chosen, processes_of_type
from timesink.comparison.prefetch import CycleSearch
from timesink.comparison.reading import RunReader, check_recordings, processes_of
from timesink.comparison.results import WITHIN, Pair, Process
from timesink.comparison.steps.verdict import compare_roles
from timesink.errors import NotFoundError, UsageError
from timesink.formats.read_options import Progress
from timesink.formats.small_files import encode_json, plain_values
from timesink.model import units
from timesink.model.diagnosis import CycleTime, Diagnosis
from timesink.model.fitness import Fitness
from timesink.model.schema import HOST_DEVICE
from timesink.model.trace import Trace
from timesink.output.blocks import Block, Document, Section, Table
from timesink.output.names import cut_middle, short_names, told_apart
from timesink.recorder.processes import safe_text

SCHEMA = "timesink/diagnosis/1"
_MAX_SPANS = 5
_MAX_LEVELS = 6
_DRIFT = 0.1
"""Levels are told whose lengths differ by this part of the typical one."""


class SlowStepReport(msgspec.Struct, frozen=True, eq=False):
    """One process of a run: its slow cycles against its typical ones."""

    name: str
    """What it is called among the others: `pid 7`, `rank 3, decode steps`."""
    role: Process
    split: slow_steps.CycleSplit
    diagnosis: Diagnosis
    pair: Pair | None = None
    """Typical cycles beside slow ones; None where no cycle is slow."""
    excesses: tuple[slow_steps.SlowCycle, ...] = ()
    """Single slow cycles that one function explains."""


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosed:
    """Why some cycles of a run take longer than its others.

    >>> import timesink
    >>> timesink.diagnose(timesink.sample_runs()[0]).headline
    '1 of 12 steps is slow: step 8. A typical step takes 55.1 ms.'
    """

    source: str
    processes: tuple[SlowStepReport, ...]
    notes: tuple[str, ...] = ()
    """What to know before believing the numbers."""

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """All processes read together, of one its own; those without slow cycles add nothing."""
        slow = [process for process in self.processes if process.pair is not None]
        if len(slow) <= 1:
            return (slow or list(self.processes))[0].diagnosis
        pairs = [process.pair for process in slow if process.pair is not None]
        diagnosis = diagnose_together(pairs, [process.diagnosis for process in slow])
        return structs.replace(
            by_length(diagnosis), reason=f"{how_many_slow(self.processes)}.", notes=()
        )

    @property
    def headline(self) -> str:
        """Whether cycles are slow, and what explains most of it."""
        diagnosis = self.diagnosis
        phrases = [diagnosis.reason]
        if len(self.processes) > 1:
            # The one process that is worst, and how many others have slow cycles.
            slow = [process for process in self.processes if process.pair is not None]
            phrases = [f"No slow steps in {things(self.processes)}."]
            if slow:
                worst = max(slow, key=excess_ns)
                reason = worst.diagnosis.reason
                phrases = [f"{how_many_slow(self.processes)}. Worst is {worst.name}: {reason}"]
        for cause in diagnosis.causes[:1]:
            name = lower_first(cause_name(cause.id))
            by = units.signed_ns(cause.cost_ns)
            phrases.append(f"Cause: {name}, {by} per slow step.")
        return " ".join(phrases)

    @property
    def fitness(self) -> dict[str, Fitness]:
        """What the recording of each process can answer."""
        return {process.name: process.role.fitness for process in self.processes}

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/diagnosis.md` describes every key."""
        return plain_values(SlowStepsJson.of(self))

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        return encode_json(SlowStepsJson.of(self))

    def __repr__(self) -> str:
        """One line: what was diagnosed, and the answer."""
        return f"<Diagnosed {self.source}: {self.headline}>"


# -- as JSON has it --------------------------------------------------------------------------------


class LevelJson(msgspec.Struct, frozen=True):
    """Steps that follow each other and take about the same time."""

    first: int
    last: int
    cycles: int
    mean_us: float


class ExcessJson(msgspec.Struct, frozen=True):
    """A function that takes longer in one step than in any typical one."""

    cycle: int
    longer_us: float
    function: str
    device: str
    time_us: float
    typical_most_us: float


class ProcessStepsHead(DiagnosisJson, frozen=True):
    """Which steps of a process are slow, before why."""

    name: str
    pid: str
    host: str | None
    rank: int | None
    cycles: int
    typical_us: float
    typical_cycles: list[int]
    slow_cycles: list[int]
    slow_period_cycles: int | None
    slow_share_pct: float
    fast_cycles: list[int]
    warm_up_cycles: list[int]
    levels: list[LevelJson]
    excesses: list[ExcessJson]


class ProcessStepsJson(ProcessStepsHead, frozen=True):
    """Which steps of a process are slow, and why."""

    @classmethod
    def of(cls, report: SlowStepReport) -> ProcessStepsJson:
        split, process = report.split, report.role
        levels = [
            LevelJson(level.first, level.last, level.cycles, level.mean_ns / 1000)
            for level in split.levels
        ]
        excesses = [
            ExcessJson(
                excess.cycle,
                excess.longer_ns / 1000,
                excess.function,
                excess.device,
                excess.time_ns / 1000,
                excess.typical_most_ns / 1000,
            )
            for excess in report.excesses
        ]
        return cls(
            name=report.name,
            pid=process.pid,
            host=process.host,
            rank=process.rank,
            cycles=process.cycles,
            typical_us=split.typical_ns / 1000,
            typical_cycles=list(split.typical),
            slow_cycles=list(split.slow),
            slow_period_cycles=split.period or None,
            slow_share_pct=100 * split.slow_share,
            fast_cycles=list(split.fast),
            warm_up_cycles=list(split.warm_up),
            levels=levels,
            excesses=excesses,
            **diagnosis_fields(report.diagnosis),
        )


class SlowStepsHead(DiagnosisJson, frozen=True):
    """What was looked at and the answer, before the diagnosis."""

    schema: str
    source: str
    headline: str
    recording: FitnessJson


class SlowStepsJson(SlowStepsHead, frozen=True, kw_only=True):
    """The answer of `timesink slow-steps`."""

    notes: list[str]
    processes: list[ProcessStepsJson]

    @classmethod
    def of(cls, report: Diagnosed) -> SlowStepsJson:
        return cls(
            schema=SCHEMA,
            source=safe_text(report.source),
            headline=report.headline,
            recording=FitnessJson.of_sides(report.fitness),
            **diagnosis_fields(report.diagnosis),
            notes=[safe_text(note) for note in report.notes],
            processes=list(map(ProcessStepsJson.of, report.processes)),
        )


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
    target = source if isinstance(source, Trace) else Path(source)
    check_given([target])
    check_cycle_type(cycle_type)
    if isinstance(target, Path) and find_cases(target):
        raise UsageError(
            f"{target}: two runs, a normal and an abnormal one",
            "compare them with timesink compare, or give one of the two",
        )
    finding = CycleSearch(marker, by, metric_map)
    side = side_of(target, rank)
    runs, failures = RunReader(SideReadOptions(cache, jobs, progress, finding)).of(side.sources)
    if not runs:
        raise failures[0].error
    if finding.says_unit:
        check_recordings(runs, finding)
    process = None if pid is None else str(pid)
    every = processes_of(runs)
    fitting = [member for member in every if process in (None, member.pid)]
    if not fitting:
        pid_list = units.join_names(sorted({member.pid for member in every}, key=units.natural))
        raise NotFoundError(f"{every[0].source}: no process {process}", f"there are {pid_list}")
    members = processes_of_type(chosen(fitting, process, rank), cycle_type)
    lost = [f"left out: {failure.error.message}" for failure in failures]
    role_notes = dict.fromkeys(note for member in members for note in member.notes)
    return Diagnosed(
        source=source_of(target),
        processes=tuple(map(slow_step_report, members, _names(members))),
        notes=(*side.notes, *lost, *role_notes),
    )


def _names(members: Sequence[Process]) -> list[str]:
    """What each process is called among the others; with its sort of cycles and its file."""
    jobs, types = ({getattr(member, name) for member in members} for name in ("job", "suffix"))
    names = []
    for member in members:
        rank = member.rank
        name = f"pid {member.pid}" if rank is None else f"rank {rank}"
        words = [name, SORTS_OF_CYCLES.get(member.suffix, "") if len(types) > 1 else ""]
        if len(jobs) > 1 and rank is None:
            words.append(member.job)
        names.append(", ".join(filter(None, words)))
    return told_apart(names)


def slow_step_report(role: Process, name: str) -> SlowStepReport:
    """What is slow in one process, and why."""
    split = slow_steps.split_cycles(role)
    sides = slow_steps.typical_and_outliers(role, split)
    if sides is None:
        mean = role.mean_cycle_ns
        cycles = CycleTime(mean, mean, 0.0 if mean else None, None, None)
        verdict = "no_change" if split.can_tell else "incomparable"
        notes = tuple(notes_of(split))
        quiet = Diagnosis(verdict, why_not(split), cycles, (), (), (), 0.0, (), notes=notes)
        return SlowStepReport(name, role, split, quiet)
    # Slow cycles that hold more work are slow for that reason, and stay as they are.
    pair = replace(compare_roles(*sides, WITHIN), equal_work=None)
    diagnosis = diagnose_pair(pair)
    unequal = () if pair.workload.comparable else pair.workload.reasons[:1]
    notes = (*notes_of(split), *unequal, *diagnosis.notes)
    diagnosis = structs.replace(
        by_length(diagnosis), reason=why_slow(split, diagnosis.cycle_time), notes=notes
    )
    return SlowStepReport(
        name, role, split, diagnosis, pair, tuple(slow_steps.excesses(role, split))
    )


def by_length(diagnosis: Diagnosis) -> Diagnosis:
    """Slow cycles were chosen for their length: that they are longer is not for a test to say."""
    lengths = diagnosis.cycle_time
    base, new = lengths.base_ns, lengths.new_ns
    change = 100 * (new - base) / base if base else None
    return structs.replace(
        diagnosis, verdict="regression", cycle_time=CycleTime(base, new, change, None, None)
    )


# -- in words -------------------------------------------------------------------------------------


def spans(numbers: Sequence[int]) -> str:
    """Numbers in order, those that follow each other together."""
    together = groupby(enumerate(numbers), lambda entry: entry[1] - entry[0])
    runs = [[number for _, number in group] for _, group in together]
    parts = [
        part
        for run in runs
        for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))
    ]
    if len(parts) > _MAX_SPANS:
        return units.join_names(parts, _MAX_SPANS)
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _steps(numbers: Sequence[int]) -> str:
    return f"{'steps' if len(numbers) > 1 else 'step'} {spans(numbers)}"


def why_slow(split: slow_steps.CycleSplit, lengths: CycleTime) -> str:
    """Which cycles are slow, and against what."""
    count = f"{units.count(len(split.slow))} of {units.count_noun(split.cycle_count, 'steps')}"
    if split.has_levels:
        slower, faster = (units.brief_ns(ns) for ns in (lengths.new_ns, lengths.base_ns))
        which = f"{_steps(split.slow)}; the others: {_steps(split.typical)}"
        return f"Step time has levels: {count} take {slower} instead of {faster} ({which})."
    typical = units.brief_ns(split.typical_ns)
    if split.period:
        slow = units.brief_ns(lengths.new_ns)
        return (
            f"One step in {split.period} takes {slow} instead of {typical} "
            f"({_steps(split.slow)}): {units.share(split.slow_share, 1)} of the run time."
        )
    verb = "is" if len(split.slow) == 1 else "are"
    return f"{count} {verb} slow: {_steps(split.slow)}. A typical step takes {typical}."


def why_not(split: slow_steps.CycleSplit) -> str:
    """Why no cycle is called slow."""
    if not split.cycle_count:
        return "Step times are not recorded."
    if split.cycle_count == 1:
        return "One step: nothing to compare it with."
    if not split.can_tell:
        return f"{units.count_noun(split.cycle_count, 'steps')}: too few to find slow ones."
    after = " after warm-up" if split.warm_up else ""
    typical = units.brief_ns(split.typical_ns)
    return f"No slow steps{after}: a typical step takes {typical}."


def notes_of(split: slow_steps.CycleSplit) -> Iterator[str]:
    """Warm-up, levels a run went through, and cycles that are unusually short."""
    if split.warm_up:
        which = _steps(split.warm_up)
        verb = "is" if len(split.warm_up) == 1 else "are"
        yield f"{which[0].upper()}{which[1:]} {verb} warm-up and not counted as slow."
    lengths = [level.mean_ns for level in split.levels]
    if lengths and max(lengths) - min(lengths) > _DRIFT * split.typical_ns:
        more = len(split.levels) - _MAX_LEVELS
        levels = [
            f"steps {level.first} to {level.last} at {units.brief_ns(level.mean_ns)}"
            if level.last > level.first
            else f"step {level.first} at {units.brief_ns(level.mean_ns)}"
            for level in split.levels[:_MAX_LEVELS]
        ]
        rest = f" and {units.count_noun(more, 'more levels')}" if more > 0 else ""
        yield f"Step time drifts: {', '.join(levels)}{rest}."
    if split.fast:
        yield f"Unusually short, and left out of the comparison: {_steps(split.fast)}."


def how_many_slow(processes: Sequence[SlowStepReport]) -> str:
    """How many of all processes have cycles that take longer."""
    slow = sum(process.pair is not None for process in processes)
    return f"{slow} of {things(processes)} {'has' if slow == 1 else 'have'} slow steps"


def things(processes: Sequence[SlowStepReport]) -> str:
    """How many there are, and of what: a process with two sorts of cycles is one process."""
    apart = {(process.role.source, process.role.host, process.role.pid) for process in processes}
    return units.count_noun(
        len(processes), "processes" if len(apart) == len(processes) else "step types"
    )


def of_single_cycles(process: SlowStepReport) -> list[str]:
    """Slow cycles that one function explains; those alike are told by the first of them."""
    by_function: dict[tuple[str, str], list[slow_steps.SlowCycle]] = {}
    for excess in process.excesses:
        by_function.setdefault((excess.function, excess.device), []).append(excess)
    lines = []
    for excesses in by_function.values():
        first = max(excesses, key=lambda excess: excess.time_ns)
        which = _steps([excess.cycle for excess in excesses])
        took, usual = units.brief_ns(first.time_ns), units.brief_ns(first.typical_most_ns)
        verbatim = [first.function] if first.device == HOST_DEVICE else []
        name = short_labels([first.function], verbatim)[first.function]
        lines.append(
            f"{which[0].upper()}{which[1:]}: {name} on {first.device} takes "
            f"{'up to ' * (len(excesses) > 1)}{took}, in typical steps at most {usual}."
        )
    return lines


def excess_ns(process: SlowStepReport) -> float:
    """How much longer its slow cycles take."""
    return process.diagnosis.cycle_time.new_ns - process.diagnosis.cycle_time.base_ns


# -- the document ----------------------------------------------------------------------------------

_IN_FULL = 3
"""Processes that are told in full."""
_TITLE = "Which steps are slow and why"
_SIDES = ("typical steps", "slow steps")
_ROWS_OF_MANY = 100


def diagnosis_document(report: Diagnosed, *, brief: bool = False) -> Document:
    """The slow cycles of each process set against its typical ones.

    The `brief` answer is read as text: the verdict is the headline, and tables of cycles and
    functions are left to pages.
    """
    name = Path(report.source).resolve().name
    return Document(
        "diagnosis",
        f"Slow steps of {name}",
        short_names(_subject(report, report.source if brief else name)),
        short_names(report.headline),
        sections=(*_fitness_sections(report), *_sections(report, brief=brief)),
        tone=causes.tone(report.diagnosis),
    )


def _fitness_sections(report: Diagnosed) -> Iterator[Section]:
    """What the recordings cannot tell; of one that holds several processes, once."""
    first, *other_processes = report.processes
    if all(process.role.fitness == first.role.fitness for process in other_processes):
        yield from fitness_sections(first.role.fitness)
    else:
        yield from fitness_of_sides(report.fitness)


def _subject(report: Diagnosed, source: str) -> str:
    """What was looked at: which processes, how many cycles, and what marks them."""
    names = units.join_names([process.name for process in report.processes], 3, "; ")
    anchors = set()
    for process in report.processes:
        name = process.role.anchor or ""
        verbatim = () if process.role.method == "kernels" else [name]
        anchors.add(cut_middle(short_labels([name], verbatim)[name]))
    anchor = anchors.pop() if len(anchors) == 1 else ""
    cycles = units.count_noun(sum(process.role.cycles for process in report.processes), "steps")
    return f"{source}, {names}: {cycles}{f' of {anchor}' if anchor else ''}"


def _sections(report: Diagnosed, *, brief: bool) -> Iterator[Section]:
    is_single = len(report.processes) == 1
    yield from _of_one(report.processes[0], brief) if is_single else _of_several(report, brief)
    if not brief:
        roles = [(process.name, process.role) for process in report.processes]
        yield Section("processes", "What was looked at", (roles_block(roles),))
    # On a page, those of a single process stand beside its verdict.
    process_notes = [
        note if is_single else f"{process.name}: {note}"
        for process in report.processes
        for note in process.diagnosis.notes
        if brief or not is_single
    ]
    yield from causes.note_sections([*process_notes, *report.notes])


def _of_one(process: SlowStepReport, brief: bool) -> Iterator[Section]:  # noqa: FBT001
    pair_report = None if process.pair is None else PairView(process.pair)
    link = None if pair_report is None else causes.links_to("times", pair_report.label)
    notes, word = process.diagnosis.notes, _word([process])
    blocks = causes.why_blocks(process.diagnosis, _SIDES, notes, link, word=word, brief=brief)
    yield Section("verdict", _TITLE, (*blocks, *_single(process)))
    yield from causes.next_sections(process.diagnosis)
    if brief:
        return
    yield Section("cycles", "Steps", tuple(split_blocks(process.role, process.split, "cycles")))
    if pair_report is not None:
        yield Section(
            "times", "Functions", (times_block(pair_report, MAX_ROWS),),
            "Time per step, typical and slow steps.",
        )  # fmt: skip


def _of_several(report: Diagnosed, brief: bool) -> Iterator[Section]:  # noqa: FBT001
    """All processes together, then those whose slow cycles take the most time more."""
    if not brief:
        blocks = causes.why_blocks(report.diagnosis, _SIDES, word=_word(report.processes))
        yield Section("verdict", _TITLE, tuple(blocks))
    yield Section("slow", "Slow steps", (_processes(report.processes),))
    slow = [process for process in report.processes if process.pair is not None]
    for place, process in enumerate(sorted(slow, key=excess_ns, reverse=True)[:_IN_FULL]):
        yield from _process(process, f"process-{place + 1}", brief)


def _process(process: SlowStepReport, id_: str, brief: bool) -> Iterator[Section]:  # noqa: FBT001
    """One of several processes: why its cycles are slow, then which and what ran in them."""
    pair_report = None if process.pair is None else PairView(process.pair)
    link = None if pair_report is None else causes.links_to(f"{id_}-tables", pair_report.label)
    why = causes.why_blocks(
        process.diagnosis, _SIDES, link=link, word=_word([process]), brief=brief
    )
    reason = process.diagnosis.reason if brief else ""
    yield Section(id_, process.name, (*why, *_single(process)), short_names(reason))
    if brief:
        return
    tables: list[Block] = [*split_blocks(process.role, process.split, f"{id_}-cycles")]
    if pair_report is not None:
        tables.append(times_block(pair_report, _ROWS_OF_MANY, f"{id_}-functions"))
    yield Section(f"{id_}-tables", "Steps and functions", tuple(tables))


def _word(processes: Sequence[SlowStepReport]) -> str:
    """The verdict on a run: nothing regressed, some of its cycles are slow."""
    if any(process.pair is not None for process in processes):
        return "Slow steps"
    return (
        "No slow steps" if any(process.split.can_tell for process in processes) else "Not decided"
    )


def _single(process: SlowStepReport) -> Iterator[Block]:
    """Single cycles that one function explains."""
    lines = of_single_cycles(process)
    if lines:
        yield from causes.paragraphs(["Single steps that one function explains:", *lines])


def _processes(processes: Sequence[SlowStepReport]) -> Table:
    """One row per process: which of its cycles are slow."""
    diagnoses = [process.diagnosis for process in processes]
    lengths = [diagnosis.cycle_time for diagnosis in diagnoses]
    # Of processes without slow cycles there is nothing to say.
    slow = [None if process.pair is None else process.diagnosis.cycle_time for process in processes]
    values = {
        "process": [process.name for process in processes],
        "cycles": [process.role.cycles for process in processes],
        "typical_ns": [length.base_ns or None for length in lengths],
        "slow_ns": [length and length.new_ns for length in slow],
        "change_pct": [length and length.change_pct for length in slow],
        "which": [
            spans(process.split.slow) if process.pair is not None else "none"
            for process in processes
        ],
        "cause": [diagnosis.causes[0].id if diagnosis.causes else None for diagnosis in diagnoses],
    }
    return listed_table("slow-cycles", "slow", "Slow steps", (), values, meanings=CYCLES)
