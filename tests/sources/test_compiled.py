"""Files about compiled code beside a recording: which count, and what becomes of damaged ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import timesink
from compiled_runs import FILE, KERNEL, steps
from graph_programs import write as write_run
from timesink.analyses.compiled import compiled_table
from timesink.formats.compiled_code import SCHEMA
from timesink.sources.compiled import compiled_beside
from timesink.sources.discovery import find_recordings
from timesink.sources.sidecars import belongs_beside, is_trace_file

STACK = 'File "/home/me/net/model.py", line 5, in forward\n    x = torch.relu(x)'


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run/trace.json", steps())


def recorder_file(run: Path, **fields: Any) -> Path:
    defined = f"{KERNEL} = async_compile.triton('triton_', '''\ndef triton_():\n''', 'cuda')"
    calls = {f"{KERNEL}:1": {"stacks": [STACK]}}
    graph = {"code": defined, "keys": ["fkey"], "kernels": calls}
    file = run.with_name("trace.compiled.json.gz")
    file.write_bytes(
        gzip.compress(json.dumps({"schema": SCHEMA, "graphs": [graph], **fields}).encode())
    )
    return file


def line_of(run: Path) -> object:
    (row,) = compiled_table(timesink.open(run)).to_dicts()
    return row["place"]


def test_the_file_of_the_recorder_is_no_trace_and_another_entry_of_the_cache(run: Path):
    assert line_of(run) is None
    file = recorder_file(run)
    assert belongs_beside(file.name, run.name, shared=False)
    assert not is_trace_file(file)
    assert line_of(run) == line_of(run) == "model.py:5"
    assert [recording.path.name for recording in find_recordings(run.parent)] == ["trace.json"]


def test_files_of_the_compiler_in_its_folder(run: Path):
    folder = run.parent / "torch_compile_debug/run_1/torchinductor"
    folder.mkdir(parents=True)
    about = {f"{KERNEL}:1": {"stack_traces": [STACK]}}
    (folder / "kernel_information.json").write_text(json.dumps(about))
    (folder / "notes.json").write_text("{}")
    assert line_of(run) == "model.py:5"


def test_a_file_of_a_kernel_counts_where_a_launch_names_it(run: Path):
    folder = run.parent / "compiled"
    folder.mkdir()
    for letter in "ab":
        (folder / f"c{letter * 51}.py").write_text(f"def {KERNEL}(x):\n    '{letter}'\n")
    trace = timesink.open(run)
    assert trace.metadata.compiled is not None
    assert [kernel.file for kernel in trace.metadata.compiled.kernels] == [FILE.rpartition("/")[2]]


def test_a_path_that_a_trace_names_is_opened_nowhere_else(tmp_path: Path):
    secret = tmp_path / f"c{'a' * 51}.py"
    secret.write_text(f"def {KERNEL}(x):\n    pass\n")
    run = write_run(tmp_path / "run/trace.json", steps(file=str(secret)))
    assert compiled_beside(run) == ()
    assert timesink.open(run).metadata.compiled is None


def test_a_damaged_file_does_not_cost_the_recording(run: Path):
    recorder_file(run, breaks=7)
    trace = timesink.open(run)
    assert "unreadable_compiled" in [entry.code for entry in trace.health]
    assert compiled_table(trace).height == 1


def test_what_is_beyond_the_limits_is_counted(run: Path, monkeypatch: pytest.MonkeyPatch):
    reader = "timesink.formats.compiled_code"
    operators = [f"aten::op{number}" for number in range(65)]
    kernels = {f"{KERNEL}:{number}": {"operators": operators} for number in (1, 2, 3)}
    code = f"{KERNEL} = async_compile.triton('triton_', '''\ndef triton_():\n''', 'cuda')\n"
    recorder_file(run, graphs=[{"code": code * 2, "keys": ["fkey"], "kernels": kernels}])
    monkeypatch.setattr(f"{reader}.MAX_KERNELS", 1)
    monkeypatch.setattr(f"{reader}.MAX_CALLS", 2)
    entries = {entry.code: entry.count for entry in timesink.open(run).health}
    assert (entries["compiled_left_out"], entries["compiled_cut"]) == (2, 3)


def test_files_of_the_compiler_beyond_the_limit_are_counted(
    run: Path, monkeypatch: pytest.MonkeyPatch
):
    for number in range(3):
        folder = run.parent / f"compiled/{number}"
        folder.mkdir(parents=True)
        (folder / "output_code.py").write_text("")
    monkeypatch.setattr("timesink.sources.compiled._MAX_FILES", 2)
    entries = {entry.code: entry.count for entry in timesink.open(run).health}
    assert entries["compiled_left_out"] == 1


def test_graphs_that_were_not_kept_are_counted(run: Path):
    recorder_file(run, left_out=3)
    entries = {entry.code: entry.count for entry in timesink.open(run).health}
    assert entries["compiled_left_out"] == 3
