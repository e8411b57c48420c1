"""What the app asks for: a route is a line that names a function."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from timesink.answers.plugin.query import Query
from timesink.answers.views import GROUPS, VIEWS, find_view
from timesink.errors import NotFoundError, TimesinkError, UnreadableError, UsageError
from timesink.formats.small_files import small_content
from timesink.model.diagnosis import SIDES
from timesink.recorder.processes import safe_text
from timesink.server.jobs import Report
from timesink.server.library import WAIT_SECONDS, Answer, RequestContext, TimelineSort
from timesink.server.replies import Download, Encoded, WrittenPage, row_limit
from timesink.server.runs import ServedAb, ServedRun, ServedWatch
from timesink.sources.watch_folder import (
    INCIDENTS,
    REPORT,
    SERIES_FILE,
    STATUS_FILE,
    WatchStatus,
    check_values,
    incident_folders,
    told_values,
    told_watch,
)
from timesink.version import __version__

if TYPE_CHECKING:
    import polars as pl

    from timesink.answers.analysis.report import Analysis
    from timesink.answers.timeline.opening import Timeline


_LONGEST_MARKER = 1000
_MAX_FILES = 8
"""Files of Nsight Compute that are read for one page."""
CLOCKS = ("recorded", "own", "corrected")
_MAX_PAGE_BYTES = 256 << 20
"""Of the page of an incident."""
_OF_ALL_WORKERS = ("overview", "distributed")
"""Pages that compare workers; the others need one."""
_PAGE_ROWS = 1000
"""Rows of a table on a page; `api/table` gives more."""


# What `make` loads in the functions below is every analysis: a listing of runs waits for none.


def comparison(desk: RequestContext, query: Query) -> Encoded:
    """What `timesink compare BASE NEW`, or of a folder of `timesink ab`, finds, as a document."""
    sides = _runs_to_compare(desk, query)
    marker = query.text("marker") or None
    if marker and len(marker) > _LONGEST_MARKER:
        raise UsageError("the parameter 'marker' is too long", "name one annotation or function")

    def make(report: Report) -> Any:
        from timesink.answers.comparison.document import comparison_document  # noqa: PLC0415 - start-up time
        from timesink.answers.comparison.report import compare  # noqa: PLC0415
        from timesink.answers.comparison.untimed import untimed_document  # noqa: PLC0415

        both = " and ".join(run.name for run in sides)
        for run in sides:
            run.inside.check_below(run.folder)
        folders = [run.folder for run in sides]
        without_timeline = untimed_document(folders, cache=desk.library.cache)
        if without_timeline is not None:
            return without_timeline
        result = compare(
            *(run.folder for run in sides),
            marker=marker,
            cache=desk.library.cache,
            jobs=desk.library.jobs,
            progress=report.start(f"reading {both}", f"comparing {both}"),
        )
        return comparison_document(result)

    states = tuple((run.name, run.files) for run in sides)
    return desk.document(("compare", states, marker), make)


def _runs_to_compare(desk: RequestContext, query: Query) -> Sequence[ServedRun | ServedAb]:
    """Base and new, or the one folder that holds runs of both."""
    if name := query.text("ab"):
        return [desk.library.ab(name)]
    served_runs = [desk.library.run(query.required(side)) for side in ("base", "new")]
    for run in served_runs:
        if not run.recordings and not run.tables:
            raise NotFoundError(
                f"{run.name}: has neither a timeline nor a behaviour table",
                "choose a run that has one of them",
            )
    return served_runs


def utilisation(desk: RequestContext, query: Query) -> Encoded:
    """What `timesink kernels FILE...` says of the files in the folder of the run."""
    run = desk.library.run(query.required("run"))
    if not run.counters:
        raise NotFoundError(
            f"{run.name}: no counters of Nsight Compute",
            "record them with  timesink ncu  and put the file into the folder of the run",
        )

    def make(report: Report) -> Any:
        from timesink.answers.kernels.document import kernels_document  # noqa: PLC0415 - start-up time
        from timesink.answers.kernels.reading import kernels  # noqa: PLC0415

        files, how = run.counters[:_MAX_FILES], desk.library
        run.inside.check(files)
        return kernels_document(
            [
                kernels(
                    path,
                    cache=how.cache,
                    jobs=how.jobs,
                    progress=report.start(f"reading {path.name}"),
                )
                for path in files
            ]
        )

    return desk.document(("utilisation", run.state), make)


def history_page(desk: RequestContext, query: Query) -> Encoded:
    """What `timesink history @NAME` says, as a document."""
    name, store = query.required("name"), desk.library.baselines

    def make(report: Report) -> Any:
        from timesink.answers.comparison.history import history, history_document  # noqa: PLC0415 - start-up time

        report.start(f"looking when @{name} changed")
        return history_document(history(name, store=store))

    return desk.document(("history", name, desk.library.histories()), make)


def watch_status(desk: RequestContext, query: Query) -> dict[str, Any]:
    """What a watcher told last, as a document, and where its incidents can be looked into."""
    from timesink.output.json import to_json  # noqa: PLC0415 - as above
    from timesink.watcher.interface import is_gone, status_document  # noqa: PLC0415

    watch = desk.library.watch(query.required("name"))
    files = [watch.folder / name for name in (STATUS_FILE, SERIES_FILE)]
    watch.inside.check(files)
    status, series, folders = told_watch(watch.folder, watch.inside.holds)
    now_us = time.time_ns() // 1000
    answer = status_document(status, series, now_us=now_us, folders=folders, subject=watch.name)
    checked_status = check_values(status, WatchStatus, STATUS_FILE)
    runs = {run.name for run in desk.library.all_runs()}
    return {
        "name": watch.name,
        "state": checked_status.state,
        "gone": is_gone(checked_status, now_us),
        "incidents": {
            name: {"report": folder.report, **_sides(watch, name, runs)}
            for name, folder in folders.items()
        },
        "document": msgspec.Raw(to_json(answer)),
    }


def _sides(watch: ServedWatch, incident: str, runs: set[str]) -> dict[str, str]:
    """The recordings of an incident, as runs; none where one of them is missing."""
    sides = {side: safe_text(watch.name_of(INCIDENTS, incident, side)) for side in SIDES}
    return sides if runs.issuperset(sides.values()) else {}


def incident_report(desk: RequestContext, query: Query) -> WrittenPage:
    """The page that was written of an incident."""
    watch, incident = desk.library.watch(query.required("name")), query.required("incident")
    incident_folder = incident_folders(watch.folder, watch.inside.holds).get(incident)
    if incident_folder is None or not incident_folder.report:
        raise NotFoundError(
            f"{watch.name}: no report of an incident {incident!r}",
            "the page of the program lists all incidents",
        )
    file = watch.folder / INCIDENTS / incident_folder.id / REPORT
    watch.inside.check([file])
    try:
        return WrittenPage(small_content(file, most_bytes=_MAX_PAGE_BYTES))
    except OSError as error:
        raise UnreadableError.denied(file, error) from None


class _Chosen(msgspec.Struct, frozen=True):
    """Which recording a request is about."""

    run: ServedRun
    worker: str
    span: str
    steps: str

    @classmethod
    def of(cls, desk: RequestContext, query: Query) -> _Chosen:
        run = desk.library.run(query.required("run"))
        chosen = cls(run, query.required("worker"), query.required("span"), query.text("steps"))
        run.recording(chosen.worker, chosen.span)
        return chosen

    @property
    def state(self) -> tuple[object, ...]:
        return (*self.run.state, self.worker, self.span, self.steps)


def document(desk: RequestContext, query: Query) -> Encoded:
    """One page of a run."""
    from timesink.answers.analysis.document import PAGES  # noqa: PLC0415 - loads every analysis

    chosen = _Chosen.of(desk, query)
    page = query.choice("page", *PAGES) or next(iter(PAGES))
    rows = row_limit(query) or _PAGE_ROWS

    def make(report: Report) -> Any:
        from timesink.answers.analysis.document import analysis_document  # noqa: PLC0415 - start-up time

        analysis, start_ns = _analysis_and_start(
            desk, chosen, report, together=page in _OF_ALL_WORKERS
        )
        report.start(f"analysing {chosen.worker}")
        return analysis_document(analysis, page=page, rows=rows, start_ns=start_ns)

    return desk.document(("document", chosen.state, page, rows), make)


def table(desk: RequestContext, query: Query) -> Encoded:
    """One of the tables, or its rows with a certain value in a column."""
    chosen = _Chosen.of(desk, query)
    view = query.choice("view", *VIEWS)
    if not view:
        query.required("view")
    group = query.choice("group_by", *GROUPS)
    column, value, rows = query.text("column"), query.text("equals"), row_limit(query)

    def make(report: Report) -> Any:
        from timesink.answers.analysis.report import view_table  # noqa: PLC0415 - start-up time

        analysis, start_ns = _analysis_and_start(
            desk, chosen, report, together=find_view(view).per_span
        )
        table = view_table(analysis, view, group or None)
        if column:
            table = replace(table, frame=_with_value(table.frame, column, value))
        return table.block(start_ns=start_ns, rows=rows)

    return desk.document(("table", chosen.state, view, group, column, value, rows), make)


def stacks(desk: RequestContext, query: Query) -> Encoded:
    """Where an operator is called from, with calls and times of each place."""
    chosen = _Chosen.of(desk, query)
    operator, dims = query.required("operator"), query.text("dims")
    rows = row_limit(query)

    def make(report: Report) -> Any:
        from timesink.answers.tables import ViewTable  # noqa: PLC0415 - start-up time

        analysis, start_ns = _analysis_and_start(desk, chosen, report, together=False)
        frame = analysis.table("operators", "shape-stack" if dims else "stack")
        frame = _with_value(frame, "name", operator)
        if dims:
            frame = _with_value(frame, "input_dims", dims)
        return ViewTable(find_view("operators"), frame).block(start_ns=start_ns, rows=rows)

    return desk.document(("stacks", chosen.state, operator, dims, rows), make)


def _analysis_and_start(
    desk: RequestContext, chosen: _Chosen, report: Report, *, together: bool
) -> tuple[Analysis, int]:
    """An analysis, and when the whole recording began: of some steps it is not known."""
    from timesink.analyses.memory_curve import recording_start  # noqa: PLC0415 - as above
    from timesink.answers.analysis.report import analyze_opened, step_choice  # noqa: PLC0415

    run, worker = chosen.run, chosen.worker
    steps = chosen.steps or None
    ranks = None
    if together and len(run.span(chosen.span)) > 1:
        wanted = "" if steps is None else step_choice(steps)
        ranks = desk.library.ranks(run, chosen.span, worker, steps=wanted, report=report)
        # Recordings of different runs are shown one by one.
        ranks = None if len(ranks.runs) > 1 else ranks
    trace = desk.library.trace(run, worker, chosen.span, report)
    analysis = analyze_opened(trace, path=run.name, steps=steps, ranks=ranks)
    return analysis, recording_start(trace)


def _with_value(frame: pl.DataFrame, column: str, value: str) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 - as above

    if column not in frame.columns:
        raise UsageError(
            f"the table has no column {column!r}", f"it has {', '.join(frame.columns)}"
        )
    return frame.filter(pl.col(column).cast(pl.String, strict=False) == value)


_JUST_NOW_SECONDS = 5.0
"""A file that changed so shortly ago may still be written."""


def runs(desk: RequestContext, _query: Query) -> dict[str, Any]:
    """Every run with its workers and spans; `generation` changes when anything does."""
    served_runs = desk.library.all_runs()
    now = time.time()
    listed = [_run_entry(run, now) for run in served_runs]
    histories = desk.library.histories()
    states = [(run.state, entry["growing"]) for run, entry in zip(served_runs, listed, strict=True)]
    in_turn = desk.library.in_turn()
    watches = [_listed_watch(watch, now) for watch in desk.library.watched()]
    state = repr(
        (states, histories, [(served_ab.name, served_ab.files) for served_ab in in_turn], watches)
    )
    return {
        "logdir": safe_text(str(desk.library.logdir)),
        "version": __version__,
        "generation": blake2b(state.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest(),
        "runs": listed,
        "ab": [_listed_ab(served_ab) for served_ab in in_turn],
        "watches": watches,
        "histories": [name for name, _ in histories],
    }


def _run_entry(run: ServedRun, now: float) -> dict[str, Any]:
    changed_s = max((time_ns for _, _, time_ns in run.files), default=0) / 1e9
    return {
        "name": run.name,
        "workers": [{"name": worker, "spans": run.spans(worker)} for worker in run.workers],
        "bytes": sum(size for _, size, _ in run.files),
        "changed_s": round(changed_s, 3),
        "growing": run.recorded_now or 0 <= now - changed_s < _JUST_NOW_SECONDS,
        "timeline": bool(run.recordings),
        "behaviour": bool(run.tables),
        "counters": [safe_text(path.name) for path in run.counters],
    }


def _listed_ab(served_ab: ServedAb) -> dict[str, Any]:
    counted = () if served_ab.ab is None else served_ab.ab.counted
    return {
        "name": served_ab.name,
        "runs": len(counted),
        "complete": served_ab.ab is not None and served_ab.ab.complete,
        "changed_s": round(max((time_ns for _, _, time_ns in served_ab.files), default=0) / 1e9, 3),
        "timelines": served_ab.timelines,
    }


def _listed_watch(watch: ServedWatch, now: float) -> dict[str, str]:
    """A watched program with its state; "" where that cannot be read, which its page says."""
    from timesink.watcher.interface import is_gone  # noqa: PLC0415 - loads what writes tables

    file = watch.folder / STATUS_FILE
    try:
        watch.inside.check([file])
        status = check_values(told_values(file), WatchStatus, STATUS_FILE)
    except TimesinkError:
        return {"name": watch.name, "state": ""}
    return {
        "name": watch.name,
        "state": "gone" if is_gone(status, int(1e6 * now)) else status.state,
    }


_OF_TIMELINE = ("tracks", "slices", "counters", "slice", "flows", "search", "aggregate", "export")
_OVER_TIMELINE = ("overlay", "clock", "other_clock", "path")
"""What is drawn over it, for which the recording is played again."""


def _of_timeline(name: str, desk: RequestContext, query: Query) -> Any:
    """What a timeline says: plain values, a range of it as a table, or as a file for viewers."""
    sort = TimelineSort(query.choice("clock", *CLOCKS) in CLOCKS[1:], name in _OVER_TIMELINE)
    timeline = _timeline(desk, query, sort)
    from timesink.answers.timeline.routes import ROUTES, aggregate_block, export  # noqa: PLC0415
    from timesink.output.json import to_json  # noqa: PLC0415 - loads what draws timelines

    if name == "export":
        file = f"{query.text('run')}.{query.text('worker')}.json.gz"
        return Download(file, export(timeline, query))
    answer = ROUTES[name](timeline, query)
    return Encoded(to_json(aggregate_block(answer))) if name == "aggregate" else answer


def _timeline(desk: RequestContext, query: Query, sort: TimelineSort) -> Timeline:
    """The timeline, at once where it is at hand; opening it is the heavy part."""
    run = desk.library.run(query.required("run"))
    worker, span = query.required("worker"), query.required("span")
    recording = run.recording(worker, span)
    open_timeline = desk.library.timeline_at_hand(run, recording, sort)
    if open_timeline is not None:
        return open_timeline
    work = partial(desk.library.timeline, run, recording, sort)
    key = ("timeline", run.state, worker, span, sort)
    timeline: Timeline = desk.jobs.ask(key, work, wait_s=WAIT_SECONDS, keep=False)
    return timeline


API: Mapping[str, Answer] = {
    "runs": runs,
    "document": document,
    "table": table,
    "stacks": stacks,
    "compare": comparison,
    "utilisation": utilisation,
    "history": history_page,
    "watch": watch_status,
    "watch/report": incident_report,
    **{
        f"timeline/{name}": partial(_of_timeline, name) for name in (*_OF_TIMELINE, *_OVER_TIMELINE)
    },
}
"""What answers `api/NAME`."""
