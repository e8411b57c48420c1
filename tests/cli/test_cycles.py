"""`timesink cycles`."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from builders import write
from loops import chrome_events, serve
from timesink.analyses.cycles import cycles as analysis
from timesink.cli import cycles as command


@pytest.fixture
def served(tmp_path: Path) -> Path:
    return write(tmp_path / "served.json", chrome_events(serve(["decode"] * 8, layers=4)))


def test_text(run):
    told = run("cycles", timesink.sample())
    assert told.code == 0
    assert "2 cycles of about 27.2 ms, by profiler steps (confidence 0.67)" in told.out
    assert "the profiler marked its steps" in told.out


def test_a_server_in_words(run, served):
    told = run("cycles", served, "--no-cache")
    assert "8 cycles of about 4.46 ms, by the Python call Scheduler.run_batch" in told.out


def test_csv_has_every_cycle(run, served):
    told = run("cycles", served, "--by", "layer", "--format", "csv", "--no-cache")
    lines = told.out.splitlines()
    assert lines[0] == "source,cycle,type,pid,name,start_ns,end_ns,length_ns"
    assert len(lines) == 1 + 8 * 4


def test_json(run):
    told = run("cycles", timesink.sample(), "--format", "json").json
    assert told["runs"][0]["processes"][0]["cycles"] == 2


def test_markdown_of_a_folder(run, served):
    write(served.with_name("again.json"), chrome_events(serve(["decode"] * 5)))
    out = served.with_name("cycles.md")
    assert run("cycles", served.parent, "-o", out, "--no-cache").code == 0
    text = out.read_text()
    assert text.startswith("**13 cycles in 2 recordings, all by the Python call")
    assert "# again" in text
    assert "# served" in text


def test_several_recordings_in_one_table(run, served):
    write(served.with_name("again.json"), chrome_events(serve(["decode"] * 5)))
    told = run("cycles", served.parent, "--no-cache")
    assert [line.split()[0] for line in told.out.splitlines()[3:5]] == ["again", "served"]


def test_a_refusal_says_what_to_try(run, served):
    told = run("cycles", served, "--marker", "nothing", "--no-cache")
    assert told.code == 1
    assert "no event is called 'nothing'" in told.err


def test_methods_are_those_of_the_analysis():
    assert command.METHODS == analysis.METHODS
