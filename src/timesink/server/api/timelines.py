"""The timeline of a recording: what is visible of it, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from timesink.reports.plugin.query import Query
from timesink.server.answers import Download, Encoded
from timesink.server.bounds import check_bounds
from timesink.server.desk import Answer, Desk
from timesink.server.progress import Report

if TYPE_CHECKING:
    from timesink.reports.timeline import Timeline

_PLAIN = ("tracks", "slices", "counters", "slice", "flows", "search")
_TIMELINE = "timeline"


def timeline_routes() -> Mapping[str, Answer]:
    """What answers `api/timeline/NAME`."""
    plain = {f"timeline/{name}": partial(_plain, name) for name in _PLAIN}
    return {**plain, "timeline/aggregate": _aggregate, "timeline/export": _export}


def _plain(name: str, desk: Desk, query: Query) -> Any:
    timeline = _timeline(desk, query)
    from timesink.reports.timeline import ROUTES  # noqa: PLC0415 - loads what draws timelines

    return ROUTES[name](timeline, query)


def _aggregate(desk: Desk, query: Query) -> Encoded:
    """What happened in a range, as a table."""
    timeline = _timeline(desk, query)
    from timesink.answers.timeline import aggregate_block  # noqa: PLC0415
    from timesink.output.json import to_json  # noqa: PLC0415 - as above
    from timesink.reports.timeline import ROUTES  # noqa: PLC0415

    return Encoded(to_json(aggregate_block(ROUTES["aggregate"](timeline, query))))


def _export(desk: Desk, query: Query) -> Download:
    """The recording, or a range of it, as a file other viewers open."""
    timeline = _timeline(desk, query)
    from timesink.reports.timeline import export  # noqa: PLC0415 - as above

    name = f"{query.text('run')}.{query.text('worker')}.json.gz"
    return Download(name, export(timeline, query))


def _timeline(desk: Desk, query: Query) -> Timeline:
    """The timeline, at once where it is at hand; opening it is the heavy part."""
    check_bounds(query)
    run = desk.library.run(query.required("run"))
    worker, span = query.required("worker"), query.required("span")
    recording = run.recording(worker, span)
    known: Timeline | None = desk.library.made_already(run, recording, _TIMELINE)
    if known is not None:
        return known

    def opened(report: Report) -> Any:
        from timesink.reports.timeline import open_timeline  # noqa: PLC0415 - as above

        return desk.library.made(run, recording, _TIMELINE, open_timeline, report)

    timeline: Timeline = desk.soon(("timeline", run.state, worker, span), opened)
    return timeline
