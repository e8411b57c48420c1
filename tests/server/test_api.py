"""What the app asks for."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event as Signal
from typing import Any
from urllib.parse import urlencode

import pytest

import timesink
from ab_runs import Bench, planned_runs
from asking import Browser
from builders import training_trace, write
from collective_logs import entry, write_dumps
from memory_snapshots import train, write_snapshot
from timesink.comparison.gate.history_rows import add_runs
from timesink.formats.read_options import Progress
from timesink.recorder.folder import RecordingFolder
from timesink.sources.ab_folder import read_ab, write_ab
from timesink.sources.opening import Opened, open_each
from timesink.sources.recordings import Recording

UNET = {"run": "unet", "worker": "unet_train", "span": "default"}
LONG_AGO = 1_700_000_000


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """A timeline with counters of its kernels, and two behaviour tables."""
    logdir = tmp_path_factory.mktemp("served")
    base, new = timesink.sample_runs()
    copied = {
        "unet": (timesink.sample(), timesink.sample(counters=True)),
        "decode": (base,),
        "slow": (new,),
    }
    for name, files in copied.items():
        (logdir / name).mkdir()
        for file in files:
            shutil.copy(file, logdir / name)
            os.utime(logdir / name / file.name, (LONG_AGO, LONG_AGO))
    return Browser.of(logdir)


# -- runs ------------------------------------------------------------------------------------------


def test_runs_are_listed_with_what_they_hold(browser: Browser):
    listed = {run["name"]: run for run in browser.get("api/runs")["runs"]}
    assert list(listed) == ["decode", "slow", "unet"]
    unet = listed["unet"]
    assert unet["workers"] == [{"name": "unet_train", "spans": ["default"]}]
    assert (unet["timeline"], unet["counters"]) == (True, ["unet_train.ncu.csv.gz"])
    assert (unet["changed_s"], unet["growing"]) == (LONG_AGO, False)
    assert (listed["slow"]["timeline"], listed["slow"]["behaviour"]) == (False, True)


def test_routes_of_the_former_plugin_list_timelines_only(browser: Browser):
    assert browser.get("data/plugin/pytorch_profiler/runs")["runs"] == ["unet"]


class Minutes:
    """A clock on which a minute passes between searches; each looks at it twice."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return 60.0 * ((self.looks + 1) // 2)


def test_generation_changes_when_a_run_does(tmp_path: Path):
    file = tmp_path / "run" / "worker0.1.pt.trace.json"
    file.parent.mkdir()
    write(file, training_trace(1))
    os.utime(file, (LONG_AGO, LONG_AGO))
    browser = Browser.of(tmp_path, clock=Minutes())
    first = browser.get("api/runs")["generation"]
    assert browser.get("api/runs")["generation"] == first
    write(file, training_trace(2))
    assert browser.get("api/runs")["generation"] != first


def test_file_that_changed_just_now_is_growing(tmp_path: Path):
    (tmp_path / "run").mkdir()
    write(tmp_path / "run" / "worker0.1.pt.trace.json", training_trace(1))
    (run,) = Browser.of(tmp_path).get("api/runs")["runs"]
    assert run["growing"]


def test_recording_that_has_not_ended_is_listed_and_what_it_notes_is_no_run(tmp_path: Path):
    place = RecordingFolder(tmp_path / "logs" / "run")
    place.prepare()
    write(place.control / "trace-1.json", training_trace(1))
    (run,) = Browser.of(tmp_path / "logs").get("api/runs")["runs"]
    assert (run["name"], run["growing"], run["timeline"]) == ("run", True, False)
    place.release()
    assert Browser.of(tmp_path / "logs").get("api/runs")["runs"] == []


def test_half_written_file_is_told_and_works_when_it_is_finished(tmp_path: Path):
    (tmp_path / "run").mkdir()
    file = write(tmp_path / "run" / "worker0.1.pt.trace.json.gz", training_trace(2))
    content = file.read_bytes()
    file.write_bytes(content[:12])
    chosen = {"run": "run", "worker": "worker0", "span": "1", "page": "overview"}
    browser = Browser.of(tmp_path, clock=Minutes())
    assert "worker0.1.pt.trace.json.gz" in browser.fails("api/document", 422, **chosen)
    file.write_bytes(content)
    assert browser.get("api/document", **chosen)["sections"]


# -- documents -------------------------------------------------------------------------------------


def test_pages_are_documents(browser: Browser):
    page = browser.get("api/document", **UNET, page="operators")
    assert page["schema"] == "timesink/document/1"
    assert page["sections"][0]["id"] == "operators"


def test_page_of_some_steps(browser: Browser):
    (step,) = column(browser.get("api/table", **UNET, view="steps", steps="3"), "name")
    assert step == "3"


def test_table_with_rows_of_one_value(browser: Browser):
    launches = browser.get("api/table", **UNET, view="kernel-launches")
    operator = column(launches, "operator")[0]
    chosen = browser.get(
        "api/table", **UNET, view="kernel-launches", column="operator", equals=operator
    )
    assert 0 < chosen["rows"] < launches["rows"]


def test_table_is_cut_where_asked(browser: Browser):
    table = browser.get("api/table", **UNET, view="operators", group_by="shape", rows=2)
    assert (table["rows"], table["total_rows"] > 2) == (2, True)


def test_call_stacks_of_an_operator(browser: Browser):
    table = browser.get("api/stacks", **UNET, operator="aten::convolution")
    assert set(column(table, "name")) == {"aten::convolution"}


def column(table: Any, key: str) -> list[Any]:
    """The cells of a column of text."""
    data = next(candidate for candidate in table["columns"] if candidate["key"] == key)["data"]
    return [data["texts"][code] for code in data["codes"]]


def test_behaviour_tables_are_compared(browser: Browser):
    document = browser.get("api/compare", base="decode", new="slow")
    assert (document["kind"], document["tone"]) == ("comparison", "bad")
    assert "21.8 %" in document["headline"]


def test_use_of_the_hardware_where_it_was_counted(browser: Browser):
    assert browser.get("api/utilisation", run="unet")["kind"] == "kernels"
    assert "no counters" in browser.fails("api/utilisation", 404, run="decode")


# -- timeline --------------------------------------------------------------------------------------


def test_timeline_of_a_run(browser: Browser):
    about = browser.get("api/timeline/tracks", **UNET)
    assert about["events"] > 1000
    slices = browser.reply("api/timeline/slices", **UNET, pixels=800)
    assert slices.headers["Content-Type"] == "application/octet-stream"
    assert browser.get("api/timeline/search", **UNET, q="conv")["total"] > 0
    assert browser.get("api/timeline/aggregate", **UNET)["type"] == "table"


def test_export_is_a_download_with_a_plain_name(browser: Browser):
    reply = browser.reply("api/timeline/export", **UNET, from_=0, to=1_000_000)
    assert reply.headers["Content-Disposition"] == 'attachment; filename="unet.unet_train.json.gz"'
    document = json.loads(gzip.decompress(reply.content))
    assert document["traceEvents"]


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "parameters", "status", "sentence"),
    [
        ("api/document", {}, 400, "'run' is missing"),
        ("api/document", {**UNET, "run": "other"}, 404, "no run is named 'other'"),
        ("api/document", {**UNET, "worker": "other"}, 404, "no process is named 'other'"),
        ("api/document", {**UNET, "page": "other"}, 400, "overview, operators"),
        ("api/document", {**UNET, "steps": "x"}, 400, "steps"),
        ("api/table", {**UNET, "view": "other"}, 400, "'view' is 'other'"),
        ("api/table", {**UNET, "view": "kernels", "rows": "1000000"}, 400, "1 to 100000"),
        ("api/table", {**UNET, "view": "kernels", "column": "x"}, 400, "no column 'x'"),
        ("api/compare", {"base": "unet"}, 400, "'new' is missing"),
        ("api/timeline/slices", {**UNET, "pixels": "9000"}, 400, "at most 8192"),
        ("api/timeline/slices", {**UNET, "tracks": "1," * 1100}, 400, "at most 1024"),
        ("api/timeline/slice", {**UNET, "id": "99999999"}, 404, "no slice"),
        ("api/timeline/nonsense", UNET, 404, "no such route"),
        ("api/runs", {"x": "y" * 9000}, 400, "at most 8192"),
    ],
)
def test_errors_are_sentences(
    browser: Browser, path: str, parameters: dict[str, str], status: int, sentence: str
):
    assert sentence in browser.fails(path, status, **parameters)


# -- heavy work ------------------------------------------------------------------------------------


def test_long_work_is_told_and_small_requests_do_not_wait_for_it(tmp_path: Path):
    for name in ("small", "large"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "worker0.json", training_trace(2))
    reading, go_on = Signal(), Signal()

    def open_traces(recordings: Sequence[Recording], progress: Progress) -> Iterator[Opened]:
        if recordings[0].path.parent.name == "large":
            reading.set()
            go_on.wait()
        return open_each(recordings, progress=progress)

    browser = Browser.of(tmp_path, open_traces=open_traces)
    small = {"run": "small", "worker": "worker0", "span": "default"}
    browser.get("api/timeline/tracks", **small)
    large = urlencode({**small, "run": "large"})
    pages = [f"/api/document?{large}&page=kernels&rows={n}" for n in (1, 2, 3)]
    try:
        for page in pages:
            reply = browser.client.get(page)
            assert reply.status_code == 202
            assert set(reply.json()) == {"doing", "share", "waited_s"}
        reading.wait()
        assert browser.get("api/runs")["runs"]
        assert browser.reply("api/timeline/slices", **small, pixels=100).status_code == 200
    finally:
        go_on.set()
        for page in pages:
            browser.client.get(page)


# -- two versions in turn --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def in_turn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of `timesink ab` in which the last run of each side has a timeline."""
    folder = tmp_path_factory.mktemp("in turn") / "served" / "pr"
    folder.mkdir(parents=True)
    Bench(folder, ratio=1.03).turns(planned_runs()).to_the_end()
    for run in read_ab(folder).timelines().values():
        write(folder / run / "trace.json", training_trace())
    return folder


def test_the_served_folder_itself_may_hold_runs_in_turn(in_turn: Path):
    browser = Browser.of(in_turn)
    (comparison,) = browser.get("api/runs")["ab"]
    assert comparison["name"] == "pr"
    assert comparison["timelines"]["base"].startswith("base/")
    assert browser.get("api/compare", ab="pr")["headline"]


def test_runs_in_turn_do_not_lead_out_of_the_folder(in_turn: Path, tmp_path: Path):
    ab, folder = read_ab(in_turn), shutil.copytree(in_turn, tmp_path / "pr")
    write_ab(replace(ab, runs=(replace(ab.runs[0], folder="../../secret"), *ab.runs[1:])), folder)
    browser = Browser.of(tmp_path)
    assert "outside of its folder" in browser.fails("api/compare", 422, ab="pr")
    assert "no runs in turn" in browser.fails("api/compare", 404, ab="../pr")


# -- histories -------------------------------------------------------------------------------------


def test_histories_of_the_store_below_or_beside_have_a_page(tmp_path: Path):
    served = tmp_path / "runs"
    served.mkdir()
    store = tmp_path / ".timesink" / "baselines"
    add_runs("main", [timesink.sample_runs()[0]], store, commit="0123abcd")
    beside = Browser.of(served)
    assert beside.get("api/runs")["histories"] == ["main"]
    assert beside.get("api/history", name="main")["headline"].startswith("@main has 1 row")
    add_runs("own", [timesink.sample_runs()[0]], served / ".timesink" / "baselines", commit="0123")
    assert Browser.of(served).get("api/runs")["histories"] == ["own"]


# -- what has no timeline --------------------------------------------------------------------------


def test_snapshots_and_logs_are_runs(tmp_path: Path):
    for name, steps in (("small", 2), ("large", 4)):
        (tmp_path / name).mkdir()
        write_snapshot(tmp_path / name / "memory.pickle", train(3, batch=steps).snapshot())
    calls = {rank: [entry(rank, number) for number in range(20)] for rank in range(2)}
    write_dumps(tmp_path / "logs", calls, 2)
    browser = Browser.of(tmp_path)
    workers = {run["name"]: run["workers"][0]["name"] for run in browser.get("api/runs")["runs"]}
    assert list(workers) == ["large", "logs", "small"]
    asked = {"run": "logs", "worker": workers["logs"], "span": "default", "page": "distributed"}
    sections = browser.get("api/document", **asked)["sections"]
    assert "collective-log-ranks" in {section["id"] for section in sections}
    compared = browser.get("api/compare", base="small", new="large")
    assert compared["headline"].startswith("Peak memory on GPU0: ")
    # A folder with a link that leads out is not read.
    (tmp_path / "logs" / "nccl_trace_rank_9").symlink_to("/etc/hostname")
    assert "logs" not in {run["name"] for run in Browser.of(tmp_path).get("api/runs")["runs"]}
