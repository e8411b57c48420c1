"""`timesink export --flame`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import timesink
from builders import training_trace, write


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write(tmp_path / "small.json", training_trace(2))


@pytest.mark.parametrize("form", ["collapsed", "speedscope", "pprof"])
def test_each_format_is_written(run, small: Path, tmp_path: Path, form: str):
    outcome = run("export", small, "--flame", form, "-o", tmp_path / "out")
    assert outcome.code == 0
    assert f"Wrote {tmp_path / 'out'}" in outcome.out
    assert "Next: open it with" in outcome.out
    content = (tmp_path / "out").read_bytes()
    assert gzip.decompress(content) if form == "pprof" else content


def test_a_measure_is_chosen(run, small: Path, tmp_path: Path):
    for measure, count in (("host", 1), ("device", 1)):
        place = tmp_path / measure
        run("export", small, "--flame", "speedscope", "--measure", measure, "-o", place)
        assert len(json.loads(place.read_text())["profiles"]) == count
    run("export", small, "--flame", "speedscope", "-o", tmp_path / "both")
    names = [row["name"] for row in json.loads((tmp_path / "both").read_text())["profiles"]]
    assert names == ["device time", "host time"]


def test_what_two_runs_differ_by(run, small: Path, tmp_path: Path):
    other = write(tmp_path / "other.json", training_trace(4))
    arguments = ("--flame", "collapsed", "--base", small, "-o", tmp_path / "out")
    assert run("export", other, *arguments).code == 0
    lines = (tmp_path / "out").read_text().splitlines()
    base, new = (sum(int(line.split(" ")[place]) for line in lines) for place in (-2, -1))
    assert new == 2 * base > 0


def test_by_module_and_the_sample(run, tmp_path: Path):
    arguments = ("--flame", "collapsed", "--by", "module", "-o", tmp_path / "out")
    assert run("export", timesink.sample(), *arguments).code == 0


def test_wrong_usage_is_refused(decline, small: Path, tmp_path: Path):
    place = tmp_path / "out"
    decline("export", small, "--by", "module", "-o", place, code=2)
    decline("export", small, "--flame", "pprof", "--own-clock", "-o", place, code=2)
    decline("export", small, "--flame", "pprof", "-o", tmp_path, code=2)
    decline("export", small, "--flame", "pprof", "--measure", "memory", "-o", place)
    place.write_text("mine")
    decline("export", small, "--flame", "pprof", "-o", place)
    assert place.read_text() == "mine"
