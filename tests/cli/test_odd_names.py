"""Names of files and words of commands that are no UTF-8: every answer is written, and read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from builders import training_trace, write
from recorded_runs import loop_trace, write_recording
from timesink.formats.small_files import encode_json, read_small_json
from timesink.recorder.processes import mask_secrets
from timesink.sources.sidecars import run_file_in

ODD = os.fsdecode(b"a\xff b")
ESCAPED_NAME = r"a\xff b"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a name that is no text, and in it a recording and traces."""
    folder = tmp_path_factory.mktemp("odd") / ODD
    write_recording(folder / "run", trace=loop_trace(4), command=["python", "train.py", ODD])
    for number in (1, 2):
        (folder / f"{number}{ODD}").mkdir()
        write(folder / f"{number}{ODD}" / f"{ODD}.json", training_trace(2 + number))
    return folder


@pytest.mark.parametrize("format_", ["text", "json", "md", "html"])
def test_analyze_and_compare(run, odd: Path, format_: str):
    for words in (["analyze", odd / "run"], ["compare", odd / f"1{ODD}", odd / f"2{ODD}"]):
        outcome = run(*words, "--format", format_)
        assert (outcome.code, "internal" in outcome.err) == (0, False), outcome.err
        outcome.out.encode()
        if format_ == "json":
            assert ESCAPED_NAME in json.dumps(msgspec.json.decode(outcome.out)).replace(
                "\\\\", "\\"
            )


@pytest.mark.parametrize("command", ["info", "cycles", "whatif", "kernels"])
def test_json_of_other_commands(run, odd: Path, command: str):
    more = ["--best"] if command == "whatif" else []
    outcome = run(command, odd / "run", *more, "--format", "json")
    assert outcome.code == 0, outcome.err
    assert "\\ud" not in outcome.out
    msgspec.json.decode(outcome.out)


def test_a_folder_of_ranks(run, tmp_path: Path):
    folder = tmp_path / ODD
    folder.mkdir()
    for rank in range(2):
        write(folder / f"rank{rank}.json", training_trace(2))
    outcome = run("analyze", folder, "--format", "json")
    assert outcome.code == 0, outcome.err
    msgspec.json.decode(outcome.out)


def test_a_description_with_such_names_is_read(odd: Path):
    # As earlier versions wrote it.
    assert r"\udcff" in (odd / "run" / "run.json").read_text()
    run_file = run_file_in(odd / "run")
    assert run_file is not None
    assert run_file.run is not None
    assert run_file.run.command[-1] == ESCAPED_NAME


def test_what_is_written_can_be_read_by_anybody(tmp_path: Path):
    assert mask_secrets(["python", ODD]) == ["python", ESCAPED_NAME]
    values = {ODD: [ODD, "\ud800", "\N{PILE OF POO}", {"a": (ODD,)}]}
    (tmp_path / "a.json").write_bytes(encode_json(values))
    assert read_small_json(tmp_path / "a.json") == {
        ESCAPED_NAME: [ESCAPED_NAME, r"\ud800", "\N{PILE OF POO}", {"a": [ESCAPED_NAME]}]
    }
    (tmp_path / "a.json").write_text(json.dumps(values))
    assert read_small_json(tmp_path / "a.json")[ESCAPED_NAME][2] == "\N{PILE OF POO}"


@pytest.mark.whole
def test_a_program_with_such_an_argument_is_recorded(tmp_path: Path):
    program = [sys.executable, "-c", "import time; time.sleep(0.2)", ODD]
    command = [sys.executable, "-m", "timesink", "record", "-o", tmp_path / ODD, "--", *program]
    subprocess.run(command, capture_output=True, timeout=60, check=True)
    content = (tmp_path / ODD / "run.json").read_bytes()
    assert msgspec.json.decode(content)["command"][-1] == ESCAPED_NAME
