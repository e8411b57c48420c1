"""`timesink analyze`: where the time of one run goes, as plain data and in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.damage import refusing_damage
from timesink.analyses.fitness import carry_fitness, recording_fitness
from timesink.analyses.kernels.peaks import choose_peaks
from timesink.analyses.ranks.rank_set import RankSet, set_fitness, set_health, set_notes
from timesink.analyses.replay.critical_path import PlayedRun, played_run
from timesink.analyses.replay.own_clock import (
    CLOCK_KEY,
    MEASURED,
    NONE,
    OwnClock,
    StepTime,
    clock_values,
    own_clock,
    own_timeline,
)
from timesink.analyses.steps import find_steps, within_steps
from timesink.analyses.work.calls import modelled_calls
from timesink.analyses.work.efficiency import Efficiency
from timesink.analyses.work.formulas import REGISTERED, FormulaRegistry
from timesink.analyses.work.own_formulas import load_formulas
from timesink.answers.analysis import sections
from timesink.answers.analysis.headline import (
    efficiency_values,
    headline,
    interval,
    step_values,
    tells_clocks_apart,
)
from timesink.answers.analysis.sections import start_side_by_side
from timesink.answers.analysis.straggler_text import straggler_headline
from timesink.answers.tables import ViewTable
from timesink.answers.views import View, check_group, find_view
from timesink.errors import TimesinkError
from timesink.formats.small_files import encode_json
from timesink.model import units
from timesink.model.findings import SEVERITIES, Finding
from timesink.model.fitness import COMMUNICATION, CRITICAL_PATH, Fitness
from timesink.model.health import HealthEntry, recording_notes
from timesink.model.trace import Trace
from timesink.rules.communication import stragglers
from timesink.rules.efficiency import proven_findings
from timesink.sources.kept_answers import KeptAnswer

SCHEMA = "timesink/analysis/1"
CORRECTED, RECORDED = ("own", "recorded")
CLOCKS = {"corrected": CORRECTED, "own": CORRECTED, "recorded": RECORDED}
"""Clocks as people call them; `own` is the word of JSON for times without profiler overhead."""
"""Times of the program by itself, or as its profiler has them."""
_OVERHEAD = ("heavy_profiling", "profiler_overhead")
"""Health that says what the clock without profiler overhead takes out."""
_FOR_PANDAS = ("pandas", "pyarrow")
"""What Polars needs to make a pandas frame."""


@dataclass(frozen=True, slots=True)
class RooflineOptions:
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
    answer_cache: KeptAnswer | None = None
    """Where the whole answer is kept, so that it need not be found again."""
    clock: str = CORRECTED
    """On which clock the answer is: the program's own, where that is known, or as recorded."""
    full_trace: Trace | None = None
    """The recording, where `trace` has some of its steps."""
    limits: RooflineOptions = RooflineOptions()

    @property
    def is_set(self) -> bool:
        """Whether several ranks are compared."""
        return self.ranks is not None and len(self.ranks.ranks) > 1

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen on the user's behalf, and what is to be known about the set of ranks."""
        return self.chosen if self.ranks is None else (*self.chosen, *set_notes(self.ranks))

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
        return tuple(entry for entry, _ in set_health(self.ranks))

    @cached_property
    def fitness(self) -> Fitness:
        """What the recording can answer, and why it cannot answer the rest."""
        rank_reasons_ = recording_fitness(self.recording)
        if self.ranks is None:
            return rank_reasons_
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
        straggler_text = "" if self.ranks is None else straggler_headline(self.ranks)
        return straggler_text or self.rank_headline

    @property
    def rank_headline(self) -> str:
        """The answer about the trace in detail."""
        if self.timeline is self.trace:
            return headline(self.trace, self.findings)
        return headline(self.timeline, self.findings, clock=self.own_clock)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What costs time and what to try, the most severe first."""
        if refusing_damage(self.fitness) is not None:
            return ()
        other_findings = list(proven_findings(self.timeline, self.efficiency))
        straggler_groups = [] if self.ranks is None else stragglers(self.ranks)
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

    def _find(self) -> dict[str, Any]:
        trace, timeline = self.trace, self.timeline
        start_side_by_side(trace, timeline)
        return {
            "schema": SCHEMA,
            "headline": self.headline,
            "recording": self.fitness.to_dict(),
            "source": sections.source(trace, self.path, self.ranks, self.notes),
            "health": sections.health(trace, self.ranks),
            "device": sections.device(trace),
            "steps": sections.steps(trace),
            "breakdown": sections.breakdown(trace),
            "operators": sections.operators(trace, self.table("operators"), self.group_by),
            "kernels": sections.kernels(trace),
            "memory": sections.memory(trace),
            "modules": sections.modules(self.table("modules")),
            "distributed": sections.distributed_values(trace, self.ranks),
            "findings": [finding.to_dict() for finding in self.findings],
            "clock": self._clock_values(),
            "own": None if timeline is trace else self._on_own_clock(timeline),
            "critical_path": sections.critical_path(self.played, self.fitness),
            "efficiency": efficiency_values(self.efficiency_of(trace)),
        }

    def _clock_values(self) -> dict[str, Any]:
        """The step time on both clocks, and how the corrected one is known."""
        values = self.own_clock.to_dict() if self.ranks else clock_values(self.recording)
        return {**values, **self.step_time.to_dict(), "tables": RECORDED}

    def _on_own_clock(self, timeline: Trace) -> dict[str, Any]:
        """What depends on the clock, of the program by itself; what kernels take does not."""
        step = self.efficiency_of(timeline).step
        step_figures = None if step is None else step_values(step)
        return {**sections.on_own_clock(timeline), "efficiency": {"step": step_figures}}

    def to_pandas(self, view: str = "operators", group_by: str | None = None) -> Any:
        """One of the tables as a pandas frame; needs pandas and pyarrow."""
        absent = [name for name in _FOR_PANDAS if not _is_installed(name)]
        if absent:
            raise TimesinkError(
                f"a pandas frame needs {' and '.join(absent)}, not installed here",
                f"pip install {' '.join(_FOR_PANDAS)}, or use .table({view!r}), a Polars frame",
            )
        return self.table(view, group_by).to_pandas()

    def __repr__(self) -> str:
        """One line: what was analysed, and the answer."""
        name = Path(self.path or self.trace.metadata.source).name
        steps = units.count_noun(find_steps(self.trace).height, "steps")
        return f"<Analysis of {name}, {steps}: {self.headline}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
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


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # so the import system says that it is barred
        return False


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
    is_unexplained = frame.is_empty() and about.is_of_roofs
    absent = sections.absence(view, analysis.efficiency) if is_unexplained else None
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
