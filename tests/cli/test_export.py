"""`timesink export`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import timesink
from builders import kineto, operator, python_call, training_trace, write

BOTH = pytest.mark.parametrize("name", ["out.json", "out.json.gz", "tables"])


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write(tmp_path / "small.json", training_trace(1))


@BOTH
def test_export_can_be_opened(run, small: Path, tmp_path: Path, name: str):
    told = run("export", small, "-o", tmp_path / name)
    assert told.code == 0
    assert f"Wrote {tmp_path / name}" in told.out
    assert timesink.open(tmp_path / name).device.height == timesink.open(small).device.height > 0


def test_json_is_plain_json(run, tmp_path: Path):
    told = run("export", timesink.sample(), "-o", tmp_path / "out.json")
    count = len(json.loads((tmp_path / "out.json").read_bytes())["traceEvents"])
    assert f"({count} events)" in told.out


@BOTH
def test_an_export_goes_to_a_new_folder_and_is_replaced(
    run, decline, small: Path, tmp_path: Path, name: str
):
    place = tmp_path / "new" / name
    for _ in range(2):
        assert run("export", small, "-o", place).code == 0
    if place.is_file():
        place.write_text("{}")
        message, hint = decline("export", small, "-o", place)
        assert "already exists" in message
        assert "--force" in hint
        assert run("export", small, "-o", place, "--force").code == 0


def test_folder_of_others_is_never_replaced(decline, tmp_path: Path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1").touch()
    message, _ = decline("export", timesink.sample(), "-o", tmp_path / "thesis", "--force")
    assert "not written by timesink" in message
    assert (tmp_path / "thesis" / "chapter1").exists()


def test_current_folder_is_never_replaced(decline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mine").touch()
    monkeypatch.chdir(tmp_path)
    decline("export", timesink.sample(), "-o", ".", "--force")
    assert (tmp_path / "mine").exists()


def test_json_over_a_folder(decline, tmp_path: Path):
    (tmp_path / "out.json").mkdir()
    message, _ = decline("export", timesink.sample(), "-o", tmp_path / "out.json", "--force")
    assert "it is a folder" in message


def test_output_is_refused_before_the_input_is_read(decline, tmp_path: Path):
    (tmp_path / "out.json").touch()
    message, _ = decline("export", tmp_path / "nowhere.json", "-o", tmp_path / "out.json")
    assert "already exists" in message


def test_next_command_is_quoted(run, tmp_path: Path):
    told = run("export", timesink.sample(), "-o", tmp_path / "my tables")
    assert f"timesink query '{tmp_path}/my tables'" in told.out


def test_call_stacks_from_nesting_are_exported(run, tmp_path: Path):
    functions = [python_call("main", 0, 100), python_call("forward", 10, 50)]
    source = write(tmp_path / "a.json", kineto([*functions, operator("aten::mm", 20, 10)]))
    run("export", source, "-o", tmp_path / "tables")
    stacks = timesink.open(tmp_path / "tables").host.filter(name="aten::mm")["call_stack"]
    assert stacks.to_list() == ["forward;main"]
