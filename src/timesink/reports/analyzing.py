"""`timesink.analyze`: from a path, or an open trace, to its analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from timesink.analyses.restrict import within_steps
from timesink.analyses.steps import find_steps
from timesink.errors import (
    AmbiguousError,
    NotFoundError,
    TimesinkError,
    UnreadableError,
    UsageError,
)
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.trace import Trace, why_no_calls
from timesink.readers.discover import Recording, told_apart
from timesink.readers.options import Progress
from timesink.reports.analysis import SCHEMA, Analysis
from timesink.reports.faults import recording_notes
from timesink.reports.step_choice import Steps, missing_steps, step_choice
from timesink.reports.tables import check_group
from timesink.store.answers import KeptAnswer
from timesink.store.cache import Cache
from timesink.store.many import open_each
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
) -> Analysis:
    """Where the time of a run goes.

    The source is a trace, or a path to one.  A folder with the traces of several workers is
    analysed as one run: one worker in detail, all of them where they are compared.  `steps`
    keeps only some steps, e.g. `"5-8"`, `5` or `[5, 7]`.

    >>> import timesink
    >>> analysis = timesink.analyze(timesink.sample())
    >>> analysis.findings[0].rule != ""
    True
    >>> timesink.analyze(timesink.sample(), steps=3).table("steps")["name"].to_list()
    ['3']
    """
    check_group(group_by)
    wanted = None if steps is None else step_choice(steps)
    opened = _opened(source)
    if opened is not None:
        _check_timeline(opened, source)
        _check_choice(opened, source, worker=worker, span=span, rank=rank)
        said = tuple(recording_notes(opened))
        given = Analysis(opened, _path_of(source), group_by=group_by, notes=said)
        return _restricted(given, wanted)
    path = Path(str(source))
    chosen, notes = _one_span(find_chosen(path, worker=worker, span=span, rank=rank), path)
    traces, unreadable = _open_all(chosen, cache=cache, jobs=jobs, progress=progress)
    name, first = next(iter(traces.items()))
    _check_timeline(first, source)
    if unreadable:
        first = replace(first, health=merge_entries([*first.health, *unreadable]))
    analysis = Analysis(
        first,
        str(source),
        # The same object: what is known of it is not found out twice.
        workers={**traces, name: first},
        group_by=group_by,
        notes=(*notes, *recording_notes(first)),
    )
    whole = _with_worker_note(_restricted(analysis, wanted))
    return _keeping(whole, chosen, wanted) if cache else whole


def analyze_opened(
    traces: Mapping[str, Trace],
    worker: str,
    *,
    path: str,
    steps: Steps | None = None,
    unreadable: Mapping[str, str] | None = None,
) -> Analysis:
    """The analysis of one worker, with those it is compared to, where all are open already.

    `unreadable` says of further workers why they could not be read.

    >>> import timesink
    >>> trace = timesink.open(timesink.sample())
    >>> analyze_opened({"worker0": trace}, "worker0", path="run").path
    'run'
    """
    first = traces[worker]
    _check_timeline(first, path)
    if unreadable:
        missing = [HealthEntry("unreadable_file", 1, reason) for reason in unreadable.values()]
        first = replace(first, health=merge_entries([*first.health, *missing]))
    workers = {worker: first, **{name: one for name, one in traces.items() if name != worker}}
    notes = tuple(recording_notes(first))
    whole = Analysis(first, path, workers=workers if len(workers) > 1 else {}, notes=notes)
    return _restricted(whole, None if steps is None else step_choice(steps))


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


# -- what has to be looked for ---------------------------------------------------------------------


def _one_span(found: list[Recording], path: Path) -> tuple[list[Recording], list[str]]:
    """The recordings of the first span, each with a name of its own; several runs are not one."""
    folders = sorted({recording.path.parent for recording in found})
    if len(folders) > 1:
        shown = ", ".join(str(folder.relative_to(path)) for folder in folders[:4])
        raise AmbiguousError(
            f"{path}: holds {len(folders)} runs ({shown}{', ...' if len(folders) > 4 else ''})",
            f"name one run folder, e.g. {folders[0]}",
        )
    spans = sorted({recording.span or 0 for recording in found})
    notes = []
    if len(spans) > 1:
        notes.append(f"{len(spans)} spans: this is span {spans[0]}, choose with --span")
    first = [recording for recording in found if (recording.span or 0) == spans[0]]
    named = told_apart(first)
    notes += [
        f"{recording.path.name} has the worker and span of another file: "
        f"it counts as a worker of its own, {recording.worker}"
        for recording in named
        if recording not in first
    ]
    return named, notes


def _open_all(
    chosen: list[Recording], *, cache: bool, jobs: int | None, progress: Progress | None
) -> tuple[Mapping[str, Trace], list[HealthEntry]]:
    """The traces by worker; those that cannot be read are counted, unless none can."""
    if len(chosen) == 1:
        store = Cache.default() if cache else None
        alone = open_recording(chosen[0], store, jobs=jobs, progress=progress, in_background=True)
        return {chosen[0].worker: alone}, []
    traces: dict[str, Trace] = {}
    failures: list[TimesinkError] = []
    for one in open_each(chosen, cache=cache, jobs=jobs, progress=progress):
        if one.trace is not None:
            traces[one.recording.worker] = one.trace
        elif one.error is not None:
            failures.append(one.error)
    if not traces:
        raise failures[0]
    return traces, [HealthEntry("unreadable_file", 1, str(error)) for error in failures]


def _keeping(analysis: Analysis, chosen: list[Recording], wanted: str | None) -> Analysis:
    """The analysis with a place for its answer; answers about several traces are not kept."""
    store = Cache.default()
    key = key_of(chosen[0], store)
    if len(chosen) > 1 or not key:
        return analysis
    about = analysis.trace.metadata
    # In another folder, `.` is called otherwise.
    name = Path(analysis.path).resolve().name
    question = (SCHEMA, analysis.path, name, about.source, about.worker, about.span)
    asked = (wanted, analysis.group_by, analysis.notes)
    return replace(analysis, kept=KeptAnswer.about(store, key, [*question, *asked]))


def _with_worker_note(analysis: Analysis) -> Analysis:
    if len(analysis.workers) < 2:
        return analysis
    name = next(name for name, one in analysis.workers.items() if one is analysis.trace)
    note = f"{len(analysis.workers)} workers: {name} in detail, choose with --worker"
    return replace(analysis, notes=(*analysis.notes, note))


# -- some steps only -------------------------------------------------------------------------------


def _restricted(analysis: Analysis, wanted: str | None) -> Analysis:
    """The analysis of some steps; a worker that has none of them is left out, unless all are."""
    if wanted is None:
        return analysis
    # A trace that was given has no name among workers.
    workers = analysis.workers or {"": analysis.trace}
    found = {name: _within(trace, wanted) for name, trace in workers.items()}
    kept = {name: trace for name, trace in found.items() if isinstance(trace, Trace)}
    if not kept:
        raise next(error for error in found.values() if isinstance(error, NotFoundError))
    detailed = next(iter(kept))
    notes = [_steps_note(workers[detailed], wanted)]
    if len(kept) < len(found):
        without = [name for name in found if name not in kept]
        notes.append(f"without these steps and left out: {_listed(without)}")
    return replace(
        analysis,
        trace=kept[detailed],
        workers=kept if analysis.workers else {},
        notes=(*analysis.notes, *notes),
    )


def _within(trace: Trace, wanted: str) -> Trace | NotFoundError:
    try:
        return within_steps(trace, wanted)
    except NotFoundError as error:
        return error


def _steps_note(trace: Trace, wanted: str) -> str:
    missing = missing_steps(wanted, find_steps(trace)["name"])
    if not missing:
        return f"steps {wanted} only"
    word = "step" if len(missing) == 1 and missing[0].isdigit() else "steps"
    return f"steps {wanted} only; no {word} {', '.join(missing)}"


def _listed(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
