"""What is kept of what a compiler says while a program runs, and what may not happen meanwhile."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from timesink.formats.compiled_code import read_compiled
from timesink.recorder.agent import compiled_code
from timesink.recorder.agent.compiled_code import NOTHING_COMPILED, CompilerWatch
from timesink.recorder.folder import Notebook, read_notes
from timesink.recorder.places import CONTROL_FOLDER

TORCH = SimpleNamespace(__version__="9.9")
STACK = (
    '  File "model.py", line 4, in outer\n    f(x)\n  File "model.py", line 9, in f\n    x.relu()\n'
)
CODE = """k = async_compile.triton('triton_', '''
def triton_():
''', 'cuda')
# [Provenance debug handles] k:7
"""


@pytest.fixture
def control(tmp_path: Path) -> Path:
    folder = tmp_path / CONTROL_FOLDER
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def no_compiler(monkeypatch: pytest.MonkeyPatch):
    """Another process than that of the program: no torch is loaded, nothing is looked for."""
    monkeypatch.setattr(CompilerWatch, "_prepare", lambda _: None)


def say(what: str, about: object, payload: object = None) -> None:
    facts = {what: about, "frame_id": 0, "frame_compile_id": 1}
    log = logging.getLogger(compiled_code.STRUCTURED_LOG)
    extra = {"metadata": facts, "payload": payload}
    log.handle(log.makeRecord(log.name, logging.DEBUG, "", 0, "", (), None, extra=extra))


def artifact(name: str, payload: object) -> None:
    say("artifact", {"name": name, "encoding": "json"}, payload)


def left(control: Path) -> dict[str, Any]:
    (file,) = control.glob("compiled-*.json.gz")
    content: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return content


def test_code_lines_breaks_and_compilations(control: Path):
    watch = CompilerWatch(TORCH, Notebook(control), is_wanted=True)
    say("inductor_output_code", {"filename": "/cache/a.py"}, CODE)
    stacks = {"k:7": [STACK], "of_the_graph_before:1": [STACK]}
    artifact("inductor_provenance_tracking_kernel_stack_traces", json.dumps(stacks))
    artifact("fx_graph_cache_miss", json.dumps({"key": "fkey"}))
    text = "Graph break in user code at model.py:3\nGraph Break Reason: print\n"
    artifact("dynamo_graph_break_reason", text + "\nTraceback (most recent call last)\n  ...")
    metrics = {"compile_id": "0/1", "co_name": "f", "co_filename": "model.py", "co_firstlineno": 1}
    say("compilation_metrics", {**metrics, "entire_frame_compile_time_s": 1.5})
    watch.end()
    (file,) = control.glob("compiled-*.json.gz")
    code = read_compiled(file)
    (kernel,) = code.kernels
    assert (kernel.graphs, kernel.uses[0].places) == (("fkey",), ("model.py:9",))
    assert [found.place for found in code.breaks] == ["model.py:3"]
    assert [(entry.number, entry.seconds) for entry in code.compilations] == [("0/1", 1.5)]


def test_code_that_is_generated_again_is_kept_once(control: Path):
    watch = CompilerWatch(TORCH, Notebook(control), is_wanted=True)
    for key in ("first", "second"):
        say("inductor_output_code", {"filename": "/cache/a.py"}, CODE)
        artifact("fx_graph_cache_hit", json.dumps({"key": key}))
    watch.end()
    assert [graph["keys"] for graph in left(control)["graphs"]] == [["first", "second"]]


def test_code_beyond_the_limits_is_counted(control: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compiled_code, "MAX_CODE_OF_ALL", 10)
    watch = CompilerWatch(TORCH, Notebook(control), is_wanted=True)
    for name in ("a", "b"):
        say("inductor_output_code", {"filename": f"/cache/{name}.py"}, CODE)
    watch.end()
    content = left(control)
    assert [graph["is_cut"] for graph in content["graphs"]] == [True]
    assert content["left_out"] == 1


@pytest.mark.parametrize("payload", [None, b"\xff", "[", "{", 7, "[[[]]]", '{"k:7": 7}', "null"])
def test_whatever_the_compiler_says_the_program_goes_on(control: Path, payload: object):
    watch = CompilerWatch(TORCH, Notebook(control), is_wanted=True)
    say("inductor_output_code", None, payload)
    say("inductor_output_code", {"filename": 7}, CODE)
    for name in (
        "inductor_provenance_tracking_kernel_stack_traces",
        "fx_graph_cache_miss",
        "dynamo_graph_break_reason",
    ):
        artifact(name, payload)
    say("compilation_metrics", payload)
    watch.end()
    assert left(control)["graphs"]


def test_without_the_option_nothing_listens(control: Path):
    before = list(logging.getLogger(compiled_code.STRUCTURED_LOG).handlers)
    watch = CompilerWatch(TORCH, Notebook(control), is_wanted=False)
    assert logging.getLogger(compiled_code.STRUCTURED_LOG).handlers == before
    watch.end()
    assert list(control.iterdir()) == []


def test_a_program_that_compiles_nothing_is_told_so(control: Path):
    watch = CompilerWatch(TORCH, Notebook(control), is_wanted=True)
    watch.end()
    watch.end()
    (process,) = read_notes(control)
    assert [note["text"] for note in process.notes] == [NOTHING_COMPILED]
    assert list(control.glob("compiled-*")) == []


def test_a_fork_leaves_nothing(control: Path):
    watch = CompilerWatch(TORCH, Notebook(control), is_wanted=True)
    say("inductor_output_code", {"filename": "/cache/a.py"}, CODE)
    watch.forget()
    watch.end()
    assert list(control.iterdir()) == []
