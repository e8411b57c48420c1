"""The repeating unit of each recording at a path, as a document."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl
from msgspec import structs

from timesink.analyses.cycles.search import cycle_summary, find_cycles
from timesink.analyses.cycles.spans import SCHEMA as SCHEMA_OF_CYCLES
from timesink.analyses.cycles.spans import Candidate, Cycles, has_host_spans
from timesink.analyses.damage import refusing_damage
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.names import short_kernel_name
from timesink.answers.common_json import FitnessJson, Rows, rows_of
from timesink.answers.fitness import fitness_of_sides, fitness_sections
from timesink.answers.views import listed_table
from timesink.errors import TimesinkError
from timesink.formats.read_options import Progress
from timesink.formats.small_files import encode_json, plain_values
from timesink.model import units
from timesink.model.fitness import FIT, STEP_TIME, Fitness
from timesink.output.blocks import Curve, Curves, Document, Section, Table, Text
from timesink.output.names import cut_end
from timesink.sources.discovery import Input, distinct_labels, input_of
from timesink.sources.opening import open_each, open_trace

SCHEMA = "timesink/cycles/1"


class CycleRun(msgspec.Struct, frozen=True):
    """The cycles of one recording."""

    source: str
    label: str
    """What tells it apart from the other recordings of a folder."""
    cycles: Cycles
    summary: pl.DataFrame
    """One row per process and type: see `analyses.cycles.search.cycle_summary`."""
    fitness: Fitness = FIT
    """What the recording can answer."""


class CycleReport(msgspec.Struct, frozen=True):
    """The cycles of everything at a path."""

    path: str
    runs: tuple[CycleRun, ...]
    refused: tuple[TimesinkError, ...] = ()
    """Why recordings beside these have no cycles, or could not be read."""

    @property
    def table(self) -> pl.DataFrame:
        """Every cycle: recording, number, type, process, name, start, end, length."""
        return pl.concat(
            run.cycles.table.select(
                pl.lit(run.source).alias("source"),
                pl.col(*SCHEMA_OF_CYCLES),
                (pl.col("end_ns") - pl.col("start_ns")).alias("length_ns"),
            )
            for run in self.runs
        )

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON: `CyclesJson` as plain data."""
        return plain_values(CyclesJson.of(self))

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        return encode_json(CyclesJson.of(self))


class AlternativeJson(msgspec.Struct, frozen=True):
    """A unit that was considered, and why it was not taken."""

    method: str
    anchor: str
    count: int
    period_ns: int
    reason: str
    marker: str | None
    """For a unit inside of the chosen one: what to ask for."""


class CycleRunJson(msgspec.Struct, frozen=True, kw_only=True):
    """The steps of one recording."""

    source: str
    recording: FitnessJson
    method: str
    anchor: str
    confidence: float
    coverage: float
    likeness: float
    on_device: bool
    until_device_work: bool
    """Whether steps end with their device work."""
    reason: str
    notes: tuple[str, ...]
    count: int
    median_ns: int
    mean_ns: int
    processes: Annotated[Rows, rows_of("CYCLE_SUMMARY", in_ns=True)]
    """A row per process and step type."""
    others: list[AlternativeJson]
    cycles: Annotated[Rows, rows_of("CYCLES", in_ns=True)]
    """A row per step."""

    @classmethod
    def of(cls, run: CycleRun) -> CycleRunJson:
        cycles = run.cycles
        return cls(
            source=run.source,
            recording=FitnessJson.of(run.fitness),
            method=cycles.method,
            anchor=cycles.anchor,
            confidence=round(cycles.confidence, 4),
            coverage=round(cycles.coverage, 4),
            likeness=round(cycles.likeness, 4),
            on_device=cycles.on_device,
            until_device_work=has_host_spans(cycles),
            reason=cycles.reason,
            notes=tuple(cycles.notes),
            count=cycles.table.height,
            median_ns=round(cycles.median_ns),
            mean_ns=round(cycles.mean_ns),
            processes=run.summary.to_dicts(),
            others=[
                AlternativeJson(**{**structs.asdict(other), "marker": other.marker or None})
                for other in cycles.alternatives
            ],
            cycles=cycles.table.to_dicts(),
        )


class RefusalJson(msgspec.Struct, frozen=True):
    """Why a recording has no steps, or could not be read."""

    message: str
    hint: str


class CyclesJson(msgspec.Struct, frozen=True):
    """The answer of `timesink steps`."""

    schema: str
    path: str
    runs: list[CycleRunJson]
    refused: list[RefusalJson]

    @classmethod
    def of(cls, report: CycleReport) -> CyclesJson:
        refused = [RefusalJson(why.message, why.hint) for why in report.refused]
        return cls(SCHEMA, report.path, [CycleRunJson.of(run) for run in report.runs], refused)


def cycles(
    path: str | Path | Input,
    *,
    marker: str | None = None,
    by: str | None = None,
    pid: str | None = None,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> CycleReport:
    """Find the repeating unit of a recording, or of each recording of a folder.

    Raises the first refusal where nothing repeats in any of them.

    >>> import timesink
    >>> found = timesink.cycles(timesink.sample())
    >>> found.runs[0].cycles.anchor, found.table.height
    ('ProfilerStep', 2)
    """
    source = input_of(path, worker=worker, span=span, rank=rank)
    if source.exported is not None:
        trace = open_trace(source)
        run_cycles = find_cycles(trace, marker=marker, by=by, pid=pid)
        run = CycleRun(
            str(source.source),
            source.exported.name,
            run_cycles,
            cycle_summary(run_cycles),
            recording_fitness(trace),
        )
        return CycleReport(str(source.source), (run,))
    chosen = source.recordings
    labels = distinct_labels(chosen) if len(chosen) > 1 else [chosen[0].path.name]
    opened = open_each(chosen, cache=cache, jobs=jobs, progress=progress)
    runs: list[CycleRun] = []
    refused: list[TimesinkError] = []
    for label, opened_trace in zip(labels, opened, strict=True):
        if opened_trace.trace is None:
            refused += [opened_trace.error] if opened_trace.error else []
            continue
        try:
            run_cycles = find_cycles(opened_trace.trace, marker=marker, by=by, pid=pid)
        except TimesinkError as why:
            refused.append(why)
        else:
            fitness, file = recording_fitness(opened_trace.trace), opened_trace.recording.source
            runs.append(CycleRun(file, label, run_cycles, cycle_summary(run_cycles), fitness))
    if not runs:
        raise refused[0]
    return CycleReport(source.label, tuple(runs), tuple(refused))


_NAME = 72
"""Characters of a name in a sentence; kernels have names of hundreds."""
_METHODS = {
    "marker": "the mark",
    "python": "the Python call",
    "layer": "calls of the layer",
    "kernels": "the kernel sequence from",
    "table": "the behaviour table, which names",
}


def cycles_document(report: CycleReport, *, detail: bool = False) -> Document:
    """What repeats, how long it takes, and why that is it; of several recordings a row each.

    With `detail`, several recordings are told one by one as well.
    """
    first, several = report.runs[0], len(report.runs) > 1
    sections: list[Section] = []
    if several:
        sections.append(Section("recordings", "", (_overview(report),)))
    if several and not detail:
        notes = [
            f"{run.label}: {_short_sentence(note)}"
            for run in report.runs
            for note in run.cycles.notes
        ]
        sections += _text_sections("notes", "Notes", notes)
    else:
        for run in report.runs:
            title = f"{run.label}: {_headline(run)}" if several else ""
            # A row per process and type of cycle.
            block = listed_table("cycles-of-processes", "cycles", "", run.summary)
            if refusing_damage(run.fitness) is None:
                sections.append(Section("cycles", title, (block,)))
                sections.append(Section("lengths", "Step time, step by step", (_lengths(run),)))
            cycles = run.cycles
            lines = [_short_sentence(cycles.reason), *_cut_lines(cycles)]
            if cycles.method != "table":
                lines.append(
                    f"{units.share(cycles.coverage, 1)} of the recorded work lies in steps; "
                    f"their amounts of work are {units.share(cycles.likeness, 1)} alike"
                )
            sections += _text_sections("why", "How steps were found", lines)
            sections += _text_sections(
                "others", "Alternatives", [*map(_other, cycles.alternatives)]
            )
            sections += _text_sections("notes", "Notes", [*map(_short_sentence, cycles.notes)])
    refused = tuple(Text(f"{why.message}; hint: {why.hint}", "warning") for why in report.refused)
    if refused:
        sections.append(Section("refused", "No steps found", refused))
    return Document(
        kind="cycles",
        title=first.label,
        subject="" if several else first.label,
        headline=_overview_headline(report) if several else _headline(first),
        sections=(
            *(
                fitness_of_sides({run.label: run.fitness for run in report.runs})
                if several
                else fitness_sections(first.fitness)
            ),
            *sections,
        ),
    )


def _cut_lines(cycles: Cycles) -> Iterator[str]:
    """Where each of the cycles ends: with its device work, or as its mark."""
    if has_host_spans(cycles):
        yield "a step ends with its device work; the next one begins after that"
    elif not cycles.on_device and cycles.method != "table":
        yield "a step ends where the host marks it"


def _text_sections(section: str, title: str, lines: Sequence[str]) -> Iterator[Section]:
    if lines:
        yield Section(section, title, tuple(Text(line) for line in lines))


def _overview(report: CycleReport) -> Table:
    """A row per recording and type; processes of one recording together."""
    rows = [(run, row) for run in report.runs for row in run.summary.to_dicts()]
    sure = [f"{run.cycles.confidence:.2f}" for run, _ in rows]
    values = {
        "recording": [run.label for run, _ in rows],
        "unit": [_unit(run) for run, _ in rows],
        "type": [row["type"] for _, row in rows],
        "cycles": [row["cycles"] for _, row in rows],
        "period_ns": [row["period_ns"] for _, row in rows],
        "length_ns": [row["length_median_ns"] for _, row in rows],
        "cv": [row["length_cv"] for _, row in rows],
        "confidence": sure,
    }
    return listed_table("cycles-of-recordings", "recordings", "", (), values)


def _lengths(run: CycleRun) -> Curves:
    """How long the cycles of each process were, in order."""
    parts = run.cycles.table.partition_by("pid", as_dict=True, maintain_order=True)
    lines = {pid or "-": part["end_ns"] - part["start_ns"] for (pid,), part in parts.items()}
    numbers = max((part["cycle"].to_list() for part in parts.values()), key=len, default=[])
    series = tuple(Curve(str(pid), tuple(line.to_list()), "step") for pid, line in lines.items())
    return Curves("lengths", "", "time_ns", tuple(numbers), series)


def _unit(run: CycleRun) -> str:
    """What marks a cycle, as people say it."""
    cycles = run.cycles
    return cut_end(short_kernel_name(cycles.anchor) if cycles.on_device else cycles.anchor, _NAME)


def _headline(run: CycleRun) -> str:
    """The answer in a sentence."""
    cycles = run.cycles
    count = units.count_noun(cycles.table.height, "steps")
    processes = cycles.processes
    where = f" in {units.count_noun(processes, 'processes')}" if processes > 1 else ""
    if refusing_damage(run.fitness) is not None:
        return f"{count}{where}, found by {_means(run)}; step times cannot be measured"
    return (
        f"{count}{where}{_length(run)}, found by {_means(run)} (confidence {cycles.confidence:.2f})"
    )


def _length(run: CycleRun) -> str:
    """How long a cycle takes: the step time of marked steps, which is their mean; else the median.

    Nothing where the recording cannot tell.
    """
    cycles = run.cycles
    if not run.fitness.answers(STEP_TIME) or not cycles.median_ns:
        return ""
    if cycles.method == "step":
        return f" of {units.brief_ns(cycles.mean_ns)} on average"
    return f" of {units.brief_ns(cycles.median_ns)}" + " (median)" * (cycles.count > 1)


def _means(run: CycleRun) -> str:
    if run.cycles.method == "step":
        return "profiler steps"
    return f"{_METHODS[run.cycles.method]} {_unit(run)}"


def _overview_headline(report: CycleReport) -> str:
    """What several recordings have in common."""
    methods = {(run.cycles.method, run.cycles.anchor) for run in report.runs}
    count = units.count_noun(len(report.runs), "recordings")
    cycles = units.count_noun(sum(run.cycles.table.height for run in report.runs), "steps")
    if len(methods) == 1:
        return f"{cycles} in {count}, all found by {_means(report.runs[0])}"
    ways = f"found in {len(methods)} different ways"
    return f"{cycles} in {count}, {ways}: to compare them, choose a --marker"


def _short_sentence(sentence: str) -> str:
    """A sentence in which the quoted name is not longer than fits."""
    first, quote, rest = sentence.partition("'")
    name, end, last = rest.rpartition("'")
    return f"{first}{quote}{cut_end(name, _NAME)}{end}{last}" if end else sentence


def _other(other: Candidate) -> str:
    count = units.count_noun(other.count, "steps")
    choice = f"; choose it with --marker {shlex.quote(other.marker)}" if other.marker else ""
    period = units.brief_ns(other.period_ns)
    return f"{count} of {period}: {_short_sentence(other.reason)}{choice}"
