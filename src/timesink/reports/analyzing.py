"""`timesink.analyze`: from a path, or an open trace, to its analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from timesink.analyses.ranks.rank_set import DamagedRank, RankSet, ranks_of_traces
from timesink.analyses.restrict import within_steps
from timesink.analyses.steps import find_steps
from timesink.engines.choosing import engine_of
from timesink.engines.engine import Engine
from timesink.errors import NotFoundError, UnreadableError, UsageError
from timesink.model.trace import Trace, why_no_calls
from timesink.model.units import counted
from timesink.readers.options import Progress
from timesink.readers.places import place_of, shown
from timesink.readers.recording import Recording
from timesink.readers.runs import one_run
from timesink.reports.analysis import SCHEMA, Analysis
from timesink.reports.faults import recording_notes
from timesink.reports.ranks.opening import OpenedSet, open_set
from timesink.reports.step_choice import Steps, missing_steps, step_choice
from timesink.reports.tables import check_group
from timesink.store.answers import KeptAnswer
from timesink.store.cache import Cache
from timesink.store.opening import find_chosen, key_of, open_recording, open_trace
from timesink.writers.marks import is_folder


def analyze(
    source: str | Path | Trace,
    *,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    steps: Steps | None = None,
    group_by: str = "",
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
    a cluster.  `steps` keeps only some steps, e.g. `"5-8"`, `5` or `[5, 7]`.

    >>> import timesink
    >>> analysis = timesink.analyze(timesink.sample())
    >>> analysis.findings[0].rule != ""
    True
    >>> timesink.analyze(timesink.sample(), steps=3).table("steps")["name"].to_list()
    ['3']

    A run of several ranks, here a generated one in which all is well:

    >>> import tempfile
    >>> from timesink.lab.ranks import Plan, generate_ranks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = generate_ranks(Plan(ranks=4, steps=2), folder)
    ...     timesink.analyze(folder, engine="local").table("stragglers").height
    0
    """
    check_group(group_by)
    wanted = None if steps is None else step_choice(steps)
    opened = _opened(source)
    if opened is not None:
        _check_timeline(opened, source)
        _check_choice(opened, source, worker=worker, span=span, rank=rank)
        said = tuple(recording_notes(opened))
        given = Analysis(opened, _path_of(source), group_by=group_by, chosen=said)
        return _restricted(given, wanted)
    place = place_of(_path_of(source))
    recordings, notes = one_run(find_chosen(place, worker=worker, span=span, rank=rank), place)
    if len(recordings) > 1:
        how = engine_of(engine, jobs=jobs, address=ray_address)
        found = open_set(recordings, engine=how, steps=wanted, cache=cache, progress=progress)
        return _of_set(found, shown(place), wanted, notes, group_by)
    store = Cache.default() if cache else None
    trace = open_recording(recordings[0], store, jobs=jobs, progress=progress, in_background=True)
    _check_timeline(trace, source)
    said = (*notes, *recording_notes(trace))
    whole = _restricted(Analysis(trace, shown(place), group_by=group_by, chosen=said), wanted)
    return _keeping(whole, recordings[0], wanted) if cache else whole


def _of_set(
    found: OpenedSet, path: str, wanted: str | None, notes: Sequence[str], group_by: str
) -> Analysis:
    """The analysis of a set: one rank in detail, all of them where they are compared."""
    _check_timeline(found.trace, path)
    said = (*notes, *recording_notes(found.trace))
    whole = Analysis(found.trace, path, ranks=found.ranks, group_by=group_by, chosen=said)
    analysis = _restricted(whole, wanted)
    many = counted(len(found.ranks.ranks), "ranks")
    note = f"{many}: {found.worker} in detail; --worker NAME shows another one alone"
    return replace(analysis, chosen=(*analysis.chosen, note))


def analyze_opened(
    traces: Mapping[str, Trace],
    worker: str,
    *,
    path: str,
    steps: Steps | None = None,
    unreadable: Mapping[str, str] | None = None,
    ranks: RankSet | None = None,
) -> Analysis:
    """The analysis of one worker, with those it is compared to, where all are open already.

    `unreadable` says of further workers why they could not be read.  With `ranks`, summaries of
    the run, only the trace of the worker itself is needed.

    >>> import timesink
    >>> trace = timesink.open(timesink.sample())
    >>> analyze_opened({"worker0": trace}, "worker0", path="run").path
    'run'
    """
    trace = traces[worker]
    _check_timeline(trace, path)
    wanted = None if steps is None else step_choice(steps)
    if ranks is None and (len(traces) > 1 or unreadable):
        damaged = tuple(
            DamagedRank(name, name, reason) for name, reason in (unreadable or {}).items()
        )
        ranks = ranks_of_traces(_with_steps(traces, wanted), damaged)
    notes = tuple(recording_notes(trace))
    return _restricted(Analysis(trace, path, ranks=ranks, chosen=notes), wanted)


def _with_steps(traces: Mapping[str, Trace], wanted: str | None) -> dict[str, Trace]:
    """Traces cut down to the steps that are asked for; those that have none are left out."""
    if wanted is None:
        return dict(traces)
    found = {}
    for worker, trace in traces.items():
        with suppress(NotFoundError):
            found[worker] = within_steps(trace, wanted)
    return found


# -- what is open already --------------------------------------------------------------------------


def _opened(source: str | Path | Trace) -> Trace | None:
    """The trace, where none has to be looked for: it is given, or was exported."""
    if isinstance(source, Trace):
        return source
    if not str(source):
        raise UsageError("the path is empty", "give a trace, or a folder that holds one")
    return open_trace(source) if is_folder(Path(source)) else None


def _path_of(source: str | Path | Trace) -> str:
    return source.metadata.source if isinstance(source, Trace) else str(source)


def _check_timeline(trace: Trace, source: str | Path | Trace) -> None:
    if trace.has_only_counters:
        raise UnreadableError.only_counters(_path_of(source), why_no_calls(trace))
    if trace.has_timeline:
        return
    if trace.has_behaviour:
        raise UnreadableError.only_behaviour(_path_of(source))
    raise UnreadableError.no_timeline(_path_of(source))


def _check_choice(
    trace: Trace,
    source: str | Path | Trace,
    *,
    worker: str | None,
    span: int | None,
    rank: int | None,
) -> None:
    """There is nothing to choose from, but what was asked for must be what is there."""
    about = trace.metadata
    fits = (
        worker in (None, about.worker)
        and span in (None, about.span)
        and rank in (None, about.distributed.rank)
    )
    if not fits:
        label = Recording(Path(about.source), about.worker or "one trace", about.span).label
        raise UnreadableError.none_fits(_path_of(source), [label])


# -- what is kept ----------------------------------------------------------------------------------


def _keeping(analysis: Analysis, recording: Recording, wanted: str | None) -> Analysis:
    """The analysis with a place for its answer."""
    store = Cache.default()
    key = key_of(recording, store)
    if not key:
        return analysis
    about = analysis.trace.metadata
    # In another folder, `.` is called otherwise.
    name = Path(analysis.path).resolve().name
    question = (SCHEMA, analysis.path, name, about.source, about.worker, about.span)
    asked = (wanted, analysis.group_by, analysis.notes)
    return replace(analysis, kept=KeptAnswer.about(store, key, [*question, *asked]))


# -- some steps only -------------------------------------------------------------------------------


def _restricted(analysis: Analysis, wanted: str | None) -> Analysis:
    """The analysis of some steps; summaries of a set are about them already."""
    if wanted is None:
        return analysis
    part = within_steps(analysis.trace, wanted)
    note = _steps_note(analysis.trace, wanted)
    return replace(analysis, trace=part, chosen=(*analysis.chosen, note))


def _steps_note(trace: Trace, wanted: str) -> str:
    missing = missing_steps(wanted, find_steps(trace)["name"])
    if not missing:
        return f"steps {wanted} only"
    word = "step" if len(missing) == 1 and missing[0].isdigit() else "steps"
    return f"steps {wanted} only; no {word} {', '.join(missing)}"
