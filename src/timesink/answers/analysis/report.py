"""`timesink analyze`: from what it was given to where the time goes, in values and a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
import polars as pl
from msgspec import structs

from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.damage import refusing_damage
from timesink.analyses.fitness import carry_fitness, recording_fitness
from timesink.analyses.kernels.peaks import choose_peaks
from timesink.analyses.replay.critical_path import PlayedRun, path_kinds, played_run
from timesink.analyses.replay.own_clock import (
    CLOCK_KEY,
    MEASURED,
    NONE,
    OwnClock,
    StepTime,
    own_clock,
    own_median_ns,
    own_timeline,
)
from timesink.analyses.steps import find_steps, step_ranges, within_steps
from timesink.analyses.work.calls import modelled_calls
from timesink.analyses.work.efficiency import Efficiency
from timesink.analyses.work.formulas import REGISTERED, FormulaRegistry
from timesink.analyses.work.own_formulas import formula_text, load_formulas
from timesink.answers.analysis import sections
from timesink.answers.analysis.finding_values import FindingJson
from timesink.answers.analysis.headline import (
    headline,
    interval,
    tells_clocks_apart,
)
from timesink.answers.analysis.sections import SCHEMA
from timesink.answers.analysis.side_by_side import start_side_by_side
from timesink.answers.common_json import ClockJson, DevicePeaksJson, FitnessJson
from timesink.answers.tables import ViewTable, check_pandas
from timesink.answers.views import View, check_group, find_view
from timesink.errors import (
    AmbiguousError,
    SeveralRunsError,
    TimesinkError,
    UnreadableError,
    UsageError,
)
from timesink.formats.read_options import Progress
from timesink.formats.small_files import encode_json
from timesink.model import units
from timesink.model.findings import SEVERITIES, RunFinding
from timesink.model.fitness import COMMUNICATION, CRITICAL_PATH, Fitness
from timesink.model.health import HealthEntry, recording_notes
from timesink.model.trace import Trace, why_no_calls
from timesink.recorder.processes import safe_text
from timesink.rules.efficiency import proven_findings
from timesink.runtime.engine import Engine, engine_of
from timesink.sources.discovery import Input, input_of, one_run, runs_among
from timesink.sources.kept_answers import KeptAnswer
from timesink.sources.opening import kept_as, open_run, open_trace
from timesink.sources.recordings import Recording

if TYPE_CHECKING:
    from timesink.analyses.ranks.rank_set import RankSet

CORRECTED, RECORDED = ("own", "recorded")
CLOCKS = {"corrected": CORRECTED, "own": CORRECTED, "recorded": RECORDED}
"""Clocks as people call them; `own` is the word of JSON for times without profiler overhead."""
"""Times of the program by itself, or as its profiler has them."""
_OVERHEAD = ("heavy_profiling", "profiler_overhead")
"""Health that says what the clock without profiler overhead takes out."""


class RooflineOptions(msgspec.Struct, frozen=True):
    """What efficiency is compared with, where the user says it."""

    device: str | None = None
    peaks: str | None = None
    """A file of peaks, or `dram=4.0TB/s,...`."""
    formulas: str | None = None
    """A file that says what operators of the user's own compute and move."""


@dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """Everything known about one trace, or a set of ranks, computed on demand.

    >>> import timesink
    >>> analysis = timesink.analyze(timesink.sample())
    >>> analysis
    <Analysis of unet_train.pt.trace.json.gz, 2 steps: GPU-bound: the GPU is busy 9... %...>
    >>> analysis.table("kernels").height > 0
    True
    """

    trace: Trace
    path: str = ""
    ranks: RankSet | None = None
    """Every rank of the run, this one included; None where there is one trace alone."""
    group_by: str = ""
    """What the rows of the operator table stand for."""
    chosen: tuple[str, ...] = ()
    """What was chosen on the user's behalf, in sentences."""
    keeps_answer: bool = False
    """Whether the whole answer is kept beside its trace, so that it need not be found again."""
    clock: str = CORRECTED
    """On which clock the answer is: the program's own, where that is known, or as recorded."""
    full_trace: Trace | None = None
    """The recording, where `trace` has some of its steps."""
    limits: RooflineOptions = field(default_factory=RooflineOptions)

    @cached_property
    def answer_cache(self) -> KeptAnswer | None:
        """Where the whole answer is kept; None where it is not."""
        stored = kept_as(self.recording) if self.keeps_answer else None
        # Formulas of a running program are not for other ones.
        if stored is None or REGISTERED:
            return None
        about, limits = self.trace.metadata, self.limits
        # In another folder, `.` is called otherwise.
        name = Path(self.path).resolve().name
        # Files of peaks and formulas may change.
        peaks = choose_peaks(self.trace, device=limits.device, peaks=limits.peaks).peaks
        formulas = "" if limits.formulas is None else formula_text(limits.formulas)
        rates = None if peaks is None else structs.asdict(DevicePeaksJson.of(peaks))
        question = (
            *(SCHEMA, self.path, name, about.source, about.worker, about.span, self.group_by),
            *(self.notes, self.clock, formulas, rates),
        )
        return KeptAnswer.about(*stored, question)

    @property
    def is_set(self) -> bool:
        """Whether several ranks are compared."""
        return self.ranks is not None and len(self.ranks.ranks) > 1

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen on the user's behalf, and what is to be known about the set of ranks."""
        if self.ranks is None:
            return self.chosen
        from timesink.analyses.ranks.rank_set import set_notes  # noqa: PLC0415 - most runs have one rank

        return (*self.chosen, *set_notes(self.ranks))

    @property
    def told_notes(self) -> tuple[str, ...]:
        """The same, and on which clock times are; what that makes needless is left out."""
        on_own = self.timeline is not self.trace
        overhead = (entry for entry in self.health if on_own and entry.code in _OVERHEAD)
        needless = set(recording_notes(overhead))
        notes = (*self.notes, self.clock_note)
        return tuple(note for note in notes if note and note not in needless)

    @property
    def health(self) -> tuple[HealthEntry, ...]:
        """What was repaired, lost or looks wrong, in the recordings of all ranks."""
        if self.ranks is None:
            return tuple(self.trace.health)
        from timesink.analyses.ranks.rank_set import set_health  # noqa: PLC0415 - most runs have one rank

        return tuple(entry for entry, _ in set_health(self.ranks))

    @cached_property
    def fitness(self) -> Fitness:
        """What the recording can answer, and why it cannot answer the rest."""
        rank_reasons_ = recording_fitness(self.recording)
        if self.ranks is None:
            return rank_reasons_
        from timesink.analyses.ranks.rank_set import set_fitness  # noqa: PLC0415 - most runs have one rank

        return set_fitness(self.ranks, self.trace.metadata.worker).joined(rank_reasons_.reasons)

    @cached_property
    def own_clock(self) -> OwnClock:
        """How long a cycle of the whole recording takes by itself, and how that is known."""
        if self.ranks is None:
            return own_clock(self.recording)
        complete_steps = find_steps(self.recording).filter("complete")
        length: Any = (complete_steps["end_ns"] - complete_steps["start_ns"]).median()
        return OwnClock(length or 0.0, None, None, NONE, _OF_RANKS, 0.0, None)

    @property
    def step_time(self) -> StepTime:
        """The step time of the answer, on both clocks: the mean of the complete steps."""
        return StepTime.of(self.own_clock, self.trace, self.corrected_trace)

    @property
    def recording(self) -> Trace:
        """All steps, as recorded."""
        return self.trace if self.full_trace is None else self.full_trace

    @cached_property
    def corrected_trace(self) -> Trace | None:
        """The trace as its program runs when nobody records it; None where that is not known."""
        if not self.own_clock.is_known:
            return None
        timeline = own_timeline(self.recording)
        if self.full_trace is None:
            return timeline
        return carry_fitness(within_steps(timeline, ",".join(self._steps)), self.recording)

    @property
    def timeline(self) -> Trace:
        """The trace on the clock of the answer."""
        return (
            self.trace
            if self.clock == RECORDED or self.corrected_trace is None
            else self.corrected_trace
        )

    def origin_trace(self, clock: str) -> Trace:
        """The trace with whose beginning moments on a clock begin: of whole ones it is the same."""
        is_own = CLOCKS.get(clock) == CORRECTED and self.full_trace is not None
        return self.corrected_trace if is_own and self.corrected_trace else self.trace

    @cached_property
    def played(self) -> PlayedRun:
        """The run played again, on the clock of the answer."""
        steps = None if self.full_trace is None else self._steps
        return played_run(self.recording, steps, recorded=self.timeline is self.trace)

    @property
    def efficiency(self) -> Efficiency:
        """What operators compute and move against what the device can do."""
        return self.efficiency_of(self.timeline)

    @cached_property
    def _own_formulas(self) -> FormulaRegistry | None:
        path = self.limits.formulas
        if path is None:
            # Those of the running program: what was found without them is not remembered as theirs.
            return FormulaRegistry.of(REGISTERED.values()) if REGISTERED else None
        return load_formulas(path)

    @memoize_per_trace
    def efficiency_of(self, timeline: Trace) -> Efficiency:
        """The same on a clock."""
        chosen = choose_peaks(self.recording, device=self.limits.device, peaks=self.limits.peaks)
        formulas = self._own_formulas
        return Efficiency(timeline, chosen, modelled_calls(timeline, formulas), formulas)

    @property
    def _steps(self) -> list[str]:
        return find_steps(self.trace)["name"].to_list()

    @property
    def clock_note(self) -> str:
        """The step time as recorded and the profiler overhead in it; empty where both are alike."""
        clock = self.own_clock
        if self.trace.metadata.extra.get(CLOCK_KEY) == CORRECTED:
            return "times are without profiler overhead, as they were exported"
        if self.fitness.fit == "no":
            return ""
        if not clock.is_known:
            recorded_with = "times are as recorded, with profiler overhead"
            if clock.why == _OF_RANKS:
                recorded_with = "ranks are compared as recorded"
            return f"{recorded_with}: {clock.why}"
        if not tells_clocks_apart(clock):
            return ""
        times = self.step_time
        corrected_ns, recorded_ns = times.corrected_ns or 0.0, times.recorded_ns
        corrected, recorded = map(units.brief_ns, (corrected_ns, recorded_ns))
        source, bounds = "measured", ""
        if clock.source != MEASURED:
            source = "estimated"
            bounds = f", 95 % interval {interval(clock, corrected_ns, recorded_ns)}"
        outside = f"; {clock.outside}" * bool(clock.outside)
        if self.clock == RECORDED:
            without = f"{corrected} without profiler overhead ({source}{bounds})"
            return f"times are as recorded: {recorded}; {without}{outside}"
        cost_ns = recorded_ns - corrected_ns
        overhead = f"{units.brief_ns(cost_ns)} of it is profiler overhead ({source})"
        if cost_ns < 0:
            overhead = f"{units.brief_ns(-cost_ns)} less than without the profiler ({source})"
        without = f"; without it {corrected}{bounds}" * bool(bounds)
        return f"{recorded} as recorded; {overhead}{without}{outside}"

    @property
    def headline(self) -> str:
        """The answer in a sentence: of a set of ranks, the straggler comes first."""
        if self.ranks is None:
            return self.rank_headline
        from timesink.answers.analysis.straggler_text import straggler_headline  # noqa: PLC0415 - most runs have one rank

        return straggler_headline(self.ranks) or self.rank_headline

    @property
    def rank_headline(self) -> str:
        """The answer about the trace in detail."""
        if self.timeline is self.trace:
            return headline(self.trace, self.findings, path=self._path)
        return headline(self.timeline, self.findings, clock=self.own_clock, path=self._path)

    @property
    def _path(self) -> Mapping[str, float]:
        """The critical path by kind; empty where the recording does not show it."""
        return path_kinds(self.played) if self.fitness.answers(CRITICAL_PATH) else {}

    @property
    def findings(self) -> tuple[RunFinding, ...]:
        """What costs time and what to try, the most severe first."""
        if refusing_damage(self.fitness) is not None:
            return ()
        other_findings = list(proven_findings(self.timeline, self.efficiency))
        straggler_groups: list[RunFinding] = []
        if self.ranks is not None:
            from timesink.rules.communication import stragglers  # noqa: PLC0415 - most runs have one rank

            straggler_groups = stragglers(self.ranks)
        if self.ranks is not None and not self.fitness.answers(COMMUNICATION):
            # Of one rank alone, what it waits for a profiler to start looks like communication.
            other_findings = [
                finding for finding in other_findings if finding.rule != "exposed-communication"
            ]
        # Of equally severe ones, a straggler comes before what each rank could do better.
        return tuple(
            sorted(
                (*straggler_groups, *other_findings),
                key=lambda finding: SEVERITIES.index(finding.severity),
            )
        )

    def table(
        self, view: str, group_by: str | None = None, *, clock: str = RECORDED
    ) -> pl.DataFrame:
        """One of the tables of `timesink.answers.views.VIEWS`, times in nanoseconds.

        They are as recorded, unless another clock is asked for and known; those of operators and
        modules then have the program's own in further columns.  What decides a cycle is always on
        the clock of the answer.

        >>> import timesink
        >>> timesink.analyze(timesink.sample()).table("operators", "shape").columns[:3]
        ['name', 'input_dims', 'calls']
        """
        check_group(group_by or "", view)
        clock = CLOCKS.get(clock, clock)
        chosen, about = self.group_by if group_by is None else group_by, find_view(view)
        if about.is_played:
            return about.analysis(self.played)
        if about.is_of_roofs:
            return about.analysis(self.efficiency)
        if clock == CORRECTED:
            return about.table(self.corrected_trace or self.trace, chosen, self.ranks)
        table = about.table(self.trace, chosen, self.ranks)
        return table if view not in BOTH_CLOCKS else self._with_own(table, about, chosen)

    def clock_of(self, view: str, clock: str = RECORDED) -> str:
        """On which clock a table is, if this one is asked for: `corrected_trace` or `recorded`.

        >>> import timesink
        >>> analysis = timesink.analyze(timesink.sample())
        >>> analysis.clock_of("steps"), analysis.clock_of("critical-path")
        ('recorded', 'own')
        """
        about = find_view(view)
        if about.is_played or about.is_of_roofs:
            return RECORDED if self.timeline is self.trace else CORRECTED
        return (
            CORRECTED
            if CLOCKS.get(clock) == CORRECTED and self.corrected_trace is not None
            else RECORDED
        )

    def clock_caption(self, view: str, clock: str = RECORDED) -> str:
        """Whether the times of a table hold profiler overhead; nothing where no clock matters.

        And of a critical path that the recording does not show, that it does not.
        """
        if find_view(view).is_played and not recording_fitness(self.trace).answers(CRITICAL_PATH):
            return _NO_BOTTLENECK
        has_times = any(name.endswith("_ns") for name in find_view(view).columns)
        if view in _OF_DEVICE_WORK or not has_times:
            return ""
        if self.clock_of(view, clock) == CORRECTED:
            return "Times are without profiler overhead."
        if not tells_clocks_apart(self.own_clock):
            return "Times are as recorded."
        return "Times are as recorded, with profiler overhead; --clock corrected leaves it out."

    def _with_own(self, table: pl.DataFrame, about: View, group_by: str) -> pl.DataFrame:
        """A table of calls, with their time on the host by itself."""
        keys, values = (
            [name for name in names if name in table.columns] for names in BOTH_CLOCKS[about.name]
        )
        if self.timeline is self.trace:
            nothing = (pl.lit(None, table.schema[name]).alias(f"own_{name}") for name in values)
            return table.with_columns(nothing)
        corrected_columns = about.table(self.timeline, group_by).select(
            *keys, *(pl.col(name).alias(f"own_{name}") for name in values)
        )
        return table.join(
            corrected_columns, on=keys, how="left", nulls_equal=True, maintain_order="left"
        )

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/analysis.md` describes every key."""
        answer: dict[str, Any] = msgspec.json.decode(self.to_json())
        return answer

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        cached_answer = self.answer_cache.load() if self.answer_cache is not None else None
        if cached_answer is not None:
            return cached_answer
        answer = encode_json(self._find())
        if self.answer_cache is not None:
            self.answer_cache.save(answer)
        return answer

    def _find(self) -> sections.AnalysisJson:
        start_side_by_side(self)
        trace, timeline = self.trace, self.timeline
        own = None
        if timeline is not trace:
            own = sections.OwnJson.of(timeline, self.efficiency_of(timeline).step)
        return sections.AnalysisJson(
            schema=SCHEMA,
            headline=self.headline,
            recording=FitnessJson.of(self.fitness),
            source=sections.SourceJson.of(trace, self.path, self.ranks, self.notes),
            health=sections.health(trace, self.ranks),
            device=sections.DeviceJson.of_all(trace),
            steps=sections.StepsJson.of(trace),
            breakdown=sections.BreakdownJson.of(trace),
            operators=sections.OperatorsJson.of(trace, self.table("operators"), self.group_by),
            kernels=sections.KernelTablesJson.of(trace),
            memory=sections.MemoryJson.of(trace),
            modules=sections.ModulesJson.of(self.table("modules")),
            distributed=sections.DistributedJson.of(trace, self.ranks),
            findings=[FindingJson.of(finding) for finding in self.findings],
            clock=self._clock_values(),
            own=own,
            critical_path=sections.CriticalPathJson.of(self.played, self.fitness),
            efficiency=sections.EfficiencyJson.of(self.efficiency_of(trace)),
        )

    def _clock_values(self) -> ClockJson:
        """The step time on both clocks, and how the corrected one is known."""
        own_ns = self.own_clock.own_ns if self.ranks else own_median_ns(self.recording)
        return ClockJson.of(self.own_clock, self.step_time, own_ns, RECORDED)

    def to_pandas(self, view: str = "operators", group_by: str | None = None) -> Any:
        """One of the tables as a pandas frame; needs pandas and pyarrow."""
        check_pandas(view)
        return self.table(view, group_by).to_pandas()

    def __repr__(self) -> str:
        """One line: what was analysed, and the answer."""
        name = Path(self.path or self.trace.metadata.source).name
        steps = units.count_noun(find_steps(self.trace).height, "steps")
        return f"<Analysis of {name}, {steps}: {self.headline}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from html import escape  # noqa: PLC0415 - only a notebook needs it

        tables = (self.table(view).head(8) for view in ("steps", "operators", "kernels"))
        return f"<p><b>{escape(self.headline)}</b></p>" + "".join(t._repr_html_() for t in tables)


_OF_RANKS = "profiler overhead on one rank delays the others"
BOTH_CLOCKS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "operators": (("name", "input_dims", "call_stack"), ("host_self_ns", "host_total_ns")),
    "modules": (("id", "parent_id", "name"), ("host_self_ns", "host_total_ns")),
}
"""Tables that have columns of both clocks: what their rows are known by, and these columns."""


_NO_BOTTLENECK = (
    "This recording does not show the bottleneck. The table is the chain of the recorded work, as "
    "recorded."
)
_OF_DEVICE_WORK = ("kernels", "kernel-launches", "launch-sites")
"""Tables of how long device work takes, which is the same on both clocks."""


def view_table(
    analysis: Analysis,
    view: str,
    group_by: str | None = None,
    *,
    clock: str = RECORDED,
    shares: bool = True,
) -> ViewTable:
    """One of the tables with what its forms need, `shares` for people; see `Analysis.table`."""
    frame, about = analysis.table(view, group_by, clock=clock), find_view(view)
    absent = None
    if frame.is_empty() and about.is_of_roofs:
        absent = sections.absence(view, analysis.efficiency)
    elif frame.is_empty():
        absent = sections.code_absence(view, analysis.trace)
    total_ns = whole_of(analysis, view, frame) if shares else None
    return ViewTable(about, frame, total_ns, absent)


def whole_of(analysis: Analysis, view: str, frame: pl.DataFrame) -> int | None:
    """What shares in rows of a table are of, where that is more than all its rows.

    Those of operators are of all device work, wherever the table is shown: of a replayed graph
    hardly anything may be an operator's.  None where no operator of the frame has any.
    """
    if view != "operators" or not frame["device_self_ns"].sum():
        return None
    return int(analysis.table("launch-sites")["device_ns"].sum())


# Which steps a user wants: `5-8`, `5,7,10-12`, 5, [5, 7].

Steps: TypeAlias = "int | str | Iterable[int]"

_MAX_NAMED = 6


def step_choice(wanted: Steps) -> str:
    """The choice as text, checked."""
    if isinstance(wanted, str):
        return ",".join(_as_text(bounds) for bounds in step_ranges(wanted))
    numbers = list(wanted) if isinstance(wanted, Iterable) else [wanted]
    if not all(hasattr(number, "__index__") and not isinstance(number, bool) for number in numbers):
        # What is no number is no choice, and is refused as such.
        return step_choice(str(wanted))
    return step_choice(",".join(str(index(number)) for number in numbers))


def missing_steps(wanted: str, names: Iterable[str]) -> list[str]:
    """Parts of a choice of which the trace holds nothing, the first of them."""
    numbers = sorted(int(name) for name in names if name.isdecimal())
    gaps = []
    for first, last in step_ranges(wanted):
        # The stretches of a range in which no number lies.
        held_here = [number for number in numbers if first <= number <= last]
        edges = pairwise([first - 1, *held_here, last + 1])
        gaps += [(low + 1, high - 1) for low, high in edges if high - low > 1]
    texts = list(dict.fromkeys(map(_as_text, gaps)))
    return texts if len(texts) <= _MAX_NAMED else [*texts[:_MAX_NAMED], "..."]


def _as_text(bounds: tuple[int, int]) -> str:
    first, last = bounds
    return str(first) if first == last else f"{first}-{last}"


# One run: a trace, or the ranks of a set.


def analyze(
    source: str | Path | Input | Trace,
    *,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    steps: Steps | None = None,
    group_by: str = "",
    clock: str = CORRECTED,
    device: str | None = None,
    peaks: str | None = None,
    formulas: str | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
    engine: str | Engine = "local",
    ray_address: str | None = None,
) -> Analysis:
    """Where the time of a run goes.

    The source is a trace, or a path to one: a file, a folder, a pattern such as `run/rank*.json`
    or a URL.  Several traces, one of each rank, are analysed as one run: one rank in detail, all of
    them where they are compared, by an `engine`: `"local"`, processes of this machine, or `"ray"`,
    a cluster.  `steps` keeps only some steps, e.g. `"5-8"`, `5` or `[5, 7]`.  The answer is on the
    program's own `clock`, without what recording costs, where that is known, or as `"recorded"`.
    Efficiency is compared with the published peaks of the device, or of another `device`, or
    against `peaks` such as `"dram=4.0TB/s,bf16_tensor=790TFLOP/s"`; `formulas` is a file that
    says what operators of one's own compute and move.

    >>> import timesink
    >>> analysis = timesink.analyze(timesink.sample())
    >>> analysis.findings[0].rule != ""
    True
    >>> timesink.analyze(timesink.sample(), steps=3).table("steps")["name"].to_list()
    ['3']

    A run of several ranks, here two with the same recording:

    >>> import shutil, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for rank in range(2):
    ...         _ = shutil.copy(timesink.sample(), f"{folder}/rank{rank}.json.gz")
    ...     timesink.analyze(folder, engine="local").table("stragglers").height
    0
    """
    check_group(group_by)
    if clock not in CLOCKS:
        raise UsageError(f"there is no clock {clock!r}", "choose corrected or recorded")
    clock = CLOCKS[clock]
    wanted = None if steps is None else step_choice(steps)
    limits = RooflineOptions(device, peaks, formulas)
    choice: dict[str, Any] = {"worker": worker, "span": span, "rank": rank}
    opened: Trace | None
    if isinstance(source, Trace):
        opened, place = source, Input(source.metadata.source, **choice)
    else:
        place = input_of(source, **choice)
        if not str(place.source):
            raise UsageError("the path is empty", "give a trace, or a folder that holds one")
        # Of a folder of tables nothing has to be looked for.
        opened = None if place.exported is None else open_trace(place)
    path = str(place.source)
    if opened is not None:
        _check_timeline(opened, path)
        # There is nothing to choose from, but what was asked for must be what is there.
        about = opened.metadata
        actual = about.worker, about.span, about.distributed.rank
        if any(
            wish not in (None, value)
            for wish, value in zip((place.worker, place.span, place.rank), actual, strict=True)
        ):
            label = Recording(Path(about.source), about.worker or "one trace", about.span).label
            raise UnreadableError.none_fits(path, [label])
        trace_analysis = Analysis(opened, path, None, group_by, clock=clock, limits=limits)
        return _of_steps(trace_analysis, wanted)
    run = open_run(place, cache=cache, jobs=jobs, progress=progress)
    if run.trace is not None:
        _check_timeline(run.trace, path)
        trace_analysis = Analysis(
            *(run.trace, place.label, None, group_by, run.notes, cache), clock=clock, limits=limits
        )
        analysis = _of_steps(trace_analysis, wanted)
        _check_limits(analysis)
        return analysis
    from timesink.analyses.ranks.rank_set import steps_in_detail  # noqa: PLC0415 - most runs have one rank
    from timesink.analyses.ranks.reading import UnrelatedRunsError, open_set  # noqa: PLC0415 - as above

    how = engine_of(engine, jobs=jobs, address=ray_address)
    ranks, detailed, trace = open_set(
        run.recordings, engine=how, steps=wanted, cache=cache, progress=progress
    )
    if len(ranks.runs) > 1:
        raise UnrelatedRunsError(place.label, run.recordings, ranks)
    # One rank in detail, all of them where they are compared.
    _check_timeline(trace, place.label)
    full_analysis = Analysis(trace, place.label, ranks, group_by, run.notes, limits=limits)
    many = units.count_noun(len(ranks.ranks), "ranks")
    note = f"{many}: {detailed} in detail; --worker NAME shows another one alone"
    analysis = _of_steps(full_analysis, steps_in_detail(ranks, detailed, wanted))
    return replace(analysis, chosen=(*analysis.chosen, note))


def analyze_opened(
    trace: Trace, *, path: str, steps: Steps | None = None, ranks: RankSet | None = None
) -> Analysis:
    """The analysis of a trace that is open already, with the `ranks` it is compared to."""
    _check_timeline(trace, path)
    wanted = None if steps is None else step_choice(steps)
    if ranks is not None:
        from timesink.analyses.ranks.rank_set import steps_in_detail  # noqa: PLC0415 - most runs have one rank

        wanted = steps_in_detail(ranks, trace.metadata.worker, wanted)
    return _of_steps(Analysis(trace, path, ranks=ranks), wanted)


def _check_timeline(trace: Trace, path: str) -> None:
    if trace.has_only_counters:
        raise UnreadableError.only_counters(path, why_no_calls(trace))
    if trace.has_timeline:
        return
    if trace.has_behaviour:
        raise UnreadableError.only_behaviour(path)
    raise UnreadableError.no_timeline(path)


def _check_limits(analysis: Analysis) -> None:
    """Refuse what efficiency is compared with where it cannot be read, whatever is asked next."""
    limits = analysis.limits
    if limits.device is not None or limits.peaks is not None:
        choose_peaks(analysis.trace, device=limits.device, peaks=limits.peaks)
    if limits.formulas is not None:
        formula_text(limits.formulas)


def _of_steps(analysis: Analysis, wanted: str | None) -> Analysis:
    """The analysis of all steps or some, with what its recording says of itself.

    Summaries of a set are about these steps already.
    """
    chosen = (*analysis.chosen, *recording_notes(analysis.trace.health))
    if wanted is None:
        return replace(analysis, chosen=chosen)
    part = carry_fitness(within_steps(analysis.trace, wanted), analysis.trace)
    missing = missing_steps(wanted, find_steps(analysis.trace)["name"])
    note = f"steps {wanted} only"
    if missing:
        word = "step" if len(missing) == 1 and missing[0].isdigit() else "steps"
        note += f"; no {word} {', '.join(missing)}"
    return replace(analysis, trace=part, full_trace=analysis.trace, chosen=(*chosen, note))


# Recordings that are no ranks of one run: one answer for each of them.

SCHEMA_OF_LIST = "timesink/analyses/1"


class ListedRun(msgspec.Struct, frozen=True):
    """One run of a folder: its answer, or why there is none."""

    name: str
    path: str
    """What to name to see this run alone."""
    analysis: Analysis | None
    reason: str = ""
    recordings: int = 1


class RunList(msgspec.Struct, frozen=True):
    """What recordings at a place tell, one answer for each run."""

    path: str
    runs: tuple[ListedRun, ...]

    @property
    def headline(self) -> str:
        """How many runs there are, and that they are not compared."""
        many = units.count_noun(self.recordings, "recordings")
        of = "different runs"
        if self.recordings > len(self.runs):
            of = units.count_noun(len(self.runs), "runs")
        return f"{many} of {of}, each analysed separately."

    @property
    def recordings(self) -> int:
        """How many recordings the runs have together."""
        return sum(run.recordings for run in self.runs)

    def to_json(self) -> bytes:
        """The answers as JSON, on one line; `docs/analysis.md` describes every key."""
        runs = [ListedRunJson.of(run) for run in self.runs]
        path = safe_text(self.path)
        return msgspec.json.encode(RunListJson(SCHEMA_OF_LIST, self.headline, path, runs))

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        values: dict[str, Any] = msgspec.json.decode(self.to_json())
        return values


class ListedRunJson(msgspec.Struct, frozen=True):
    """One run of a folder: its answer, or why there is none."""

    name: str
    path: str
    reason: str
    recordings: int
    answer: Annotated[
        msgspec.Raw | None, msgspec.Meta(extra_json_schema={"record": "AnalysisJson"})
    ]
    """As of this run alone."""

    @classmethod
    def of(cls, run: ListedRun) -> ListedRunJson:
        answer = None if run.analysis is None else msgspec.Raw(run.analysis.to_json())
        name, path, reason = map(safe_text, (run.name, run.path, run.reason))
        return cls(name, path, reason, run.recordings, answer)


class RunListJson(msgspec.Struct, frozen=True):
    """The answer of `timesink analyze` about recordings that are no ranks of one run."""

    schema: str
    headline: str
    path: str
    runs: list[ListedRunJson]


def analyze_place(
    source: str | Path | Input,
    *,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    **options: Any,
) -> Analysis | RunList:
    """What `analyze` says, or a list of answers where recordings are no ranks of one run.

    `options` are those of `analyze`.
    """
    source = input_of(source, worker=worker, span=span, rank=rank)
    try:
        return analyze(source, **options)
    except SeveralRunsError:
        runs_by_name = runs_among(source.recordings)
        runs = [
            run
            for name in sorted(runs_by_name, key=units.natural)
            for run in _runs(name, runs_by_name[name], source, options)
        ]
        return RunList(source.label, tuple(runs))
    except AmbiguousError as several:
        from timesink.analyses.ranks.reading import UnrelatedRunsError  # noqa: PLC0415 - most runs have one rank

        if not isinstance(several, UnrelatedRunsError):
            raise
        runs = [_listed_run(recordings, options) for recordings in several.runs]
        damaged = [
            ListedRun(recording.worker, recording.source, None, recording.reason)
            for recording in several.damaged
        ]
        return RunList(several.place, (*runs, *damaged))


def table_text(
    source: Input,
    view: str,
    form: str,
    *,
    table_clock: str = RECORDED,
    sort: str | None = None,
    fits: str | None = None,
    top: int | None = None,
    **options: Any,
) -> tuple[str, str] | RunList:
    """One table of the run at a place, as CSV or JSON, and why it is empty, where it is.

    Rows are those that fit, as sorted, the first of them; `options` are those of `analyze`.
    """
    analysis = analyze_place(source, **options)
    if isinstance(analysis, RunList):
        return analysis
    table = view_table(analysis, view, clock=table_clock, shares=False).pick(sort, fits)
    return table.to_text(form, top), table.why_empty


def _runs(
    name: str, recordings: Sequence[Recording], source: Input, options: dict[str, Any]
) -> Iterator[ListedRun]:
    """A folder among several: its run, or each of those it holds."""
    folder = recordings[0].path.parent
    try:
        members, _ = one_run(recordings, source.place)
        path = folder if len(members) > 1 else members[0].source
        answer = analyze_place(replace(source, source=path), **options)
    except TimesinkError as error:
        yield ListedRun(name, str(folder), None, error.message, len(recordings))
        return
    if isinstance(answer, RunList):
        yield from (structs.replace(run, name=f"{name}/{run.name}") for run in answer.runs)
        return
    path = str(folder) if len(members) > 1 else members[0].source
    yield ListedRun(name, path, answer, recordings=len(members))


def _listed_run(recordings: Sequence[Recording], options: dict[str, Any]) -> ListedRun:
    first = recordings[0]
    source = first.source if first.remote is None else first.remote.url
    try:
        if len(recordings) == 1:
            return ListedRun(first.worker, first.source, analyze(source, **options))
        return ListedRun(
            first.worker,
            first.source,
            _analyze_ranks(recordings, options),
            recordings=len(recordings),
        )
    except TimesinkError as error:
        return ListedRun(first.worker, first.source, None, error.message)


def _analyze_ranks(recordings: Sequence[Recording], options: dict[str, Any]) -> Analysis:
    """Ranks of one run among recordings of others."""
    engine: str | Engine = options.get("engine", "local")
    steps = options.get("steps")
    from timesink.analyses.ranks.reading import open_set  # noqa: PLC0415 - most runs have one rank

    ranks, detailed, trace = open_set(
        recordings,
        engine=engine_of(engine, jobs=options.get("jobs"), address=options.get("ray_address")),
        steps=None if steps is None else step_choice(steps),
        cache=options.get("cache", True),
        progress=options.get("progress"),
    )
    note = f"{units.count_noun(len(ranks.ranks), 'ranks')}: {detailed} in detail"
    analysis = Analysis(trace, recordings[0].source, ranks, chosen=(note,))
    return replace(analysis, group_by=options.get("group_by", ""))
