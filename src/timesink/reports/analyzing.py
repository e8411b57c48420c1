"""`timesink.analyze`: from a path, or an open trace, to its analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from timesink.analyses.restrict import within_steps
from timesink.errors import AmbiguousError, TimesinkError
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.trace import Trace
from timesink.readers.discover import Recording, distinct_labels
from timesink.readers.options import Progress
from timesink.reports.analysis import Analysis
from timesink.store.cache import Cache
from timesink.store.many import open_each
from timesink.store.opening import find_chosen, open_recording, open_trace
from timesink.writers.marks import is_folder


def analyze(
    source: str | Path | Trace,
    *,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    steps: str | None = None,
    group_by: str = "",
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Analysis:
    """Where the time of a run goes.

    The source is a trace, or a path to one.  A folder with the traces of several workers is
    analysed as one run: one worker in detail, all of them where they are compared.  `steps`
    keeps only some steps, e.g. `"5-8"`.

    >>> import timesink
    >>> analysis = timesink.analyze(timesink.sample())
    >>> analysis.findings[0].rule != ""
    True
    """
    if isinstance(source, Trace):
        return _restricted(Analysis(source, source.metadata.source, group_by=group_by), steps)
    path = Path(source)
    if is_folder(path):
        opened = Analysis(open_trace(path), str(source), group_by=group_by)
        return _restricted(opened, steps)
    found = find_chosen(path, worker=worker, span=span, rank=rank)
    chosen, notes = _one_span(found, path)
    traces, unreadable = _open_all(chosen, cache=cache, jobs=jobs, progress=progress)
    name, first = next(iter(traces.items()))
    if unreadable:
        first = replace(first, health=merge_entries([*first.health, *unreadable]))
    if len(traces) > 1:
        notes.append(f"{len(traces)} workers: {name} in detail, choose with --worker")
    analysis = Analysis(
        first,
        str(source),
        # The same object: what is known of it is not found out twice.
        workers={**traces, name: first},
        group_by=group_by,
        notes=tuple(notes),
    )
    return _restricted(analysis, steps)


def _one_span(found: list[Recording], path: Path) -> tuple[list[Recording], list[str]]:
    """The recordings of the first span; several runs are not one."""
    if len({recording.path.parent for recording in found}) > 1:
        raise AmbiguousError.many_traces(path, distinct_labels(found, path))
    spans = sorted({recording.span or 0 for recording in found})
    first = [recording for recording in found if (recording.span or 0) == spans[0]]
    if len(spans) == 1:
        return first, []
    return first, [f"{len(spans)} spans: this is span {spans[0]}, choose with --span"]


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


def _restricted(analysis: Analysis, steps: str | None) -> Analysis:
    if steps is None:
        return analysis
    trace = within_steps(analysis.trace, steps)
    workers = {
        name: trace if other is analysis.trace else within_steps(other, steps)
        for name, other in analysis.workers.items()
    }
    return replace(
        analysis, trace=trace, workers=workers, notes=(*analysis.notes, f"steps {steps} only")
    )
