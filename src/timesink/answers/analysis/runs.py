"""From what a command was given to its analysis: one run or some of its steps, or several runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from timesink.analyses.fitness import carry_fitness
from timesink.analyses.kernels.peaks import choose_peaks
from timesink.analyses.ranks.rank_set import RankSet, steps_in_detail
from timesink.analyses.ranks.reading import UnrelatedRunsError, open_set
from timesink.analyses.steps import find_steps, step_ranges, within_steps
from timesink.analyses.work.formulas import REGISTERED
from timesink.analyses.work.own_formulas import formula_text
from timesink.answers.analysis.report import CLOCKS, CORRECTED, SCHEMA, Analysis, RooflineOptions
from timesink.answers.views import check_group
from timesink.errors import SeveralRunsError, TimesinkError, UnreadableError, UsageError
from timesink.formats.read_options import Progress
from timesink.model import units
from timesink.model.health import recording_notes
from timesink.model.trace import Trace, why_no_calls
from timesink.output import blocks
from timesink.recorder.processes import safe_text, sayable_values
from timesink.runtime.engine import Engine, engine_of
from timesink.sources.cache import Cache
from timesink.sources.discovery import Input, input_of, one_run, runs_among
from timesink.sources.kept_answers import KeptAnswer
from timesink.sources.opening import kept_as, open_recording, open_trace
from timesink.sources.recordings import Recording

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
    recordings, notes = place.run
    if len(recordings) > 1:
        how = engine_of(engine, jobs=jobs, address=ray_address)
        ranks, detailed, trace = open_set(
            recordings, engine=how, steps=wanted, cache=cache, progress=progress
        )
        if len(ranks.runs) > 1:
            raise UnrelatedRunsError(place.label, recordings, ranks)
        # One rank in detail, all of them where they are compared.
        _check_timeline(trace, place.label)
        full_analysis = Analysis(trace, place.label, ranks, group_by, tuple(notes), limits=limits)
        many = units.count_noun(len(ranks.ranks), "ranks")
        note = f"{many}: {detailed} in detail; --worker NAME shows another one alone"
        analysis = _of_steps(full_analysis, steps_in_detail(ranks, detailed, wanted))
        return replace(analysis, chosen=(*analysis.chosen, note))
    store = Cache.default() if cache else None
    trace = open_recording(recordings[0], store, jobs=jobs, progress=progress, in_background=True)
    _check_timeline(trace, path)
    full_analysis = Analysis(
        *(trace, place.label, None, group_by, tuple(notes)), clock=clock, limits=limits
    )
    analysis = _of_steps(full_analysis, wanted)
    stored = kept_as(trace)
    return analysis if stored is None else _with_cache(analysis, *stored, wanted)


def analyze_opened(
    trace: Trace, *, path: str, steps: Steps | None = None, ranks: RankSet | None = None
) -> Analysis:
    """The analysis of a trace that is open already, with the `ranks` it is compared to."""
    _check_timeline(trace, path)
    wanted = None if steps is None else step_choice(steps)
    if ranks is not None:
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


def _with_cache(analysis: Analysis, store: Cache, key: str, wanted: str | None) -> Analysis:
    """The analysis with a place for its answer, beside its trace."""
    if REGISTERED:
        # Formulas of a running program are not for other ones.
        return analysis
    about = analysis.trace.metadata
    # In another folder, `.` is called otherwise.
    name = Path(analysis.path).resolve().name
    question = (SCHEMA, analysis.path, name, about.source, about.worker, about.span)
    options = (wanted, analysis.group_by, analysis.notes, analysis.clock, _limits_of(analysis))
    return replace(analysis, answer_cache=KeptAnswer.about(store, key, [*question, *options]))


def _limits_of(analysis: Analysis) -> dict[str, Any]:
    """What efficiency is compared with: files of peaks and formulas may change."""
    limits = analysis.limits
    peaks = choose_peaks(analysis.trace, device=limits.device, peaks=limits.peaks).peaks
    formulas_text = "" if limits.formulas is None else formula_text(limits.formulas)
    return {"formulas": formulas_text, **({} if peaks is None else peaks.to_dict())}


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


@dataclass(frozen=True, slots=True)
class ListedRun:
    """One run of a folder: its answer, or why there is none."""

    name: str
    path: str
    """What to name to see this run alone."""
    analysis: Analysis | None
    reason: str = ""
    recordings: int = 1


@dataclass(frozen=True, slots=True)
class RunList:
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
        return msgspec.json.encode(
            {
                "schema": SCHEMA_OF_LIST,
                "headline": self.headline,
                "path": safe_text(self.path),
                "runs": [_values(run) for run in self.runs],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        values: dict[str, Any] = msgspec.json.decode(self.to_json())
        return values


def _values(run: ListedRun) -> dict[str, Any]:
    answer = None if run.analysis is None else msgspec.Raw(run.analysis.to_json())
    facts = {"name": run.name, "path": run.path, "reason": run.reason}
    return {**sayable_values(facts), "recordings": run.recordings, "answer": answer}


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
    except UnrelatedRunsError as several:
        runs = [_listed_run(recordings, options) for recordings in several.runs]
        damaged = [
            ListedRun(recording.worker, recording.source, None, recording.reason)
            for recording in several.damaged
        ]
        return RunList(several.place, (*runs, *damaged))


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
        yield from (replace(run, name=f"{name}/{run.name}") for run in answer.runs)
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


def run_list_document(answers: RunList) -> blocks.Document:
    """A headline for each run, and the command that shows it alone."""
    return blocks.Document(
        kind="analysis",
        title=Path(answers.path).name or answers.path,
        subject=answers.path,
        headline=answers.headline,
        sections=tuple(_section(place, run) for place, run in enumerate(answers.runs, start=1)),
    )


def _section(place: int, run: ListedRun) -> blocks.Section:
    command = f"timesink analyze {shlex.quote(run.path)}"
    texts: tuple[blocks.Text, ...]
    if run.analysis is None:
        texts = (blocks.Text(f"Cannot be analysed: {run.reason}", "warning"),)
    else:
        texts = (blocks.Text(run.analysis.headline), blocks.Text(command))
    return blocks.Section(f"run-{place}", run.name, texts)
