"""Small examples of functions that other tests use only in passing."""

from __future__ import annotations

import asyncio
from pathlib import Path

from starlette.requests import Request

from timesink.answers.plugin.query import Query
from timesink.model.host_names import allowed_hosts, is_allowed
from timesink.server.app import clean_prefix
from timesink.server.former import VIEWS, former_routes, load_view
from timesink.server.jobs import Jobs, Report, in_thread
from timesink.server.library import RunLibrary
from timesink.server.replies import parameters, reply_to, row_limit
from timesink.server.runs import ReachableFiles, log_folders, span_of
from timesink.sources.recordings import Recording


def request(query: bytes = b"") -> Request:
    return Request({"type": "http", "method": "GET", "query_string": query, "headers": []})


def test_answers_reply_to():
    assert reply_to(request(), {"share": float("nan")}).body == b'{"share":null}'


def test_app_clean_prefix():
    assert clean_prefix("profiles/") == "/profiles"
    assert clean_prefix("/") == ""


def test_asked_asked_parameters():
    assert parameters(request(b"run=a%20b&run=c")).text("run") == "c"


def test_bounds_row_limit():
    assert row_limit(Query({"rows": "50"})) == 50
    assert row_limit(Query()) is None


def test_former_former_routes():
    assert sorted(former_routes(VIEWS))[:3] == ["diff", "diffnode", "distributed/commops"]


def test_inside_inside_holds():
    inside = ReachableFiles(Path("/data/logs"))
    assert inside.holds(Path("/data/logs/run/a.json"))
    assert not inside.holds(Path("/data/logs/../b.json"))


def test_jobs_jobs():
    jobs = Jobs()
    assert jobs.ask("sum", lambda _report: 2 + 2) == 4


def test_library_runlibrary():
    import timesink

    library = RunLibrary(timesink.sample())
    assert library.runs() == ["unet_train.pt.trace.json.gz"]
    assert library.run("unet_train.pt.trace.json.gz").workers == ["unet_train"]


def test_log_folders_log_folders():
    assert repr(log_folders("/data/logs")) == "{'': PosixPath('/data/logs')}"
    assert (
        repr(log_folders("", "old:/data/old,/data/new"))
        == "{'old': PosixPath('/data/old'), 'data/new': PosixPath('/data/new')}"
    )


def test_progress_report():
    report = Report("waiting")
    advance = report.start("reading trace.json")
    advance(10, 40)
    assert report.doing == "reading trace.json"
    assert report.share == 0.25


def test_routes_load_view():
    assert load_view("overview:available_views").__name__ == "available_views"


def test_runs_span_of():
    assert span_of(Recording(Path("a"), "worker0", span=2)) == "2"
    assert span_of(Recording(Path("a"), "worker0")) == "default"


def test_safety_allowed_hosts():
    assert sorted(allowed_hosts("127.0.0.1")) == ["127.0.0.1", "::1", "localhost"]
    assert allowed_hosts("0.0.0.0") is None  # noqa: S104


def test_safety_is_allowed():
    assert is_allowed("[::1]:6006", ["::1"])
    assert not is_allowed("evil.example:6006", ["localhost"])


def test_threads_in_thread():
    assert asyncio.run(in_thread(lambda: 2 + 2)) == 4
