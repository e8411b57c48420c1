"""`timesink steps`."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from builders import write
from loops import chrome_events, serve


@pytest.fixture
def server_recording(tmp_path: Path) -> Path:
    return write(tmp_path / "served.json", chrome_events(serve(["decode"] * 8, layers=4)))


def test_text(run):
    outcome = run("cycles", timesink.sample())
    assert outcome.code == 0
    assert "2 steps of 27.2 ms on average, found by profiler steps (confidence 0.67)" in outcome.out
    assert "the profiler marked the steps" in outcome.out


def test_a_server_in_words(run, server_recording):
    outcome = run("cycles", server_recording, "--no-cache")
    assert (
        "8 steps of 4.46 ms (median), found by the Python call Scheduler.run_batch" in outcome.out
    )


def test_csv_has_every_cycle(run, server_recording):
    outcome = run("cycles", server_recording, "--by", "layer", "--format", "csv", "--no-cache")
    lines = outcome.out.splitlines()
    assert lines[0] == "source,cycle,type,pid,name,start_ns,end_ns,length_ns"
    assert len(lines) == 1 + 8 * 4


def test_json(run):
    answer = run("cycles", timesink.sample(), "--format", "json").json
    assert answer["runs"][0]["processes"][0]["cycles"] == 2


def test_markdown_of_a_folder(run, server_recording):
    write(server_recording.with_name("again.json"), chrome_events(serve(["decode"] * 5)))
    out = server_recording.with_name("cycles.md")
    assert run("cycles", server_recording.parent, "-o", out, "--no-cache").code == 0
    text = out.read_text()
    assert text.startswith("**13 steps in 2 recordings, all found by the Python call")
    assert "# again" in text
    assert "# served" in text


def test_several_recordings_in_one_table(run, server_recording):
    write(server_recording.with_name("again.json"), chrome_events(serve(["decode"] * 5)))
    outcome = run("cycles", server_recording.parent, "--no-cache")
    assert [line.split()[0] for line in outcome.out.splitlines()[3:5]] == ["again", "served"]


def test_a_refusal_says_what_to_try(run, server_recording):
    outcome = run("cycles", server_recording, "--marker", "nothing", "--no-cache")
    assert outcome.code == 1
    assert "no event is called 'nothing'" in outcome.err


def test_a_unit_inside_of_the_chosen_one_can_be_chosen(run, tmp_path):
    step = ["embedding", *["gemm", "norm", "add"] * 6, "head", "sample"]
    kernels = [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 20 * at, "dur": 10}
        | {"args": {"device": 0, "stream": 7}}
        for at, name in enumerate(step * 8)
    ]
    outcome = run("cycles", write(tmp_path / "kernels.json", kernels), "--no-cache")
    assert outcome.out.startswith("8 steps")
    assert "choose it with --marker" in outcome.out


def test_a_process_that_is_not_there(run, server_recording):
    outcome = run("cycles", server_recording, "--pid", "5", "--no-cache")
    assert outcome.code == 1
    assert "no process 5" in outcome.err
    assert "944615" in outcome.err
