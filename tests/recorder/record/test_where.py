"""Where calls come from: modules and lines that are shown while cycles are recorded."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forked_programs import host_of_programs
from recorded import needs_torch, record, write
from timesink.cli import main
from timesink.model.schema import LINE_PREFIX, MODULE_PREFIX
from timesink.recorder.agent.profiling import RecordedWindow
from timesink.recorder.agent.source_locations import ModuleNames, ProgramLines
from timesink.recorder.folder import LINE_MARK, MODULE_MARK, Notebook

torch: Any = None


@pytest.fixture(scope="module", autouse=True)
def _torch() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch")
    globals()["torch"] = importlib.import_module("torch")


@pytest.fixture
def window(tmp_path: Path) -> Iterator[RecordedWindow]:
    window = RecordedWindow(torch, (), Notebook(tmp_path), where=True)
    yield window
    window.abandon()


def timeline_marks(window: RecordedWindow, folder: Path) -> list[dict[str, Any]]:
    """Modules and lines of the timeline, in order, once it is written."""
    window.close([], "")
    (path,) = folder.glob("trace-*.json")
    events = json.loads(path.read_text())["traceEvents"]
    marks = [
        event for event in events if event.get("name", "").startswith((MODULE_MARK, LINE_MARK))
    ]
    return sorted(marks, key=lambda event: (event["ts"], -event["dur"]))


def names(events: list[dict[str, Any]]) -> list[str]:
    return [event["name"] for event in events if event["name"].startswith(MODULE_MARK)]


def network() -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(2, 2), nn.ModuleDict({"a": nn.ReLU()})["a"])


def hooks() -> tuple[int, ...]:
    module = sys.modules["torch.nn.modules.module"]
    return (
        len(module._global_forward_hooks),
        len(module._global_forward_pre_hooks),
        len(module._global_forward_hooks_always_called),
    )


def test_reader_and_recorder_agree_on_names():
    assert (MODULE_MARK, LINE_MARK) == (MODULE_PREFIX, LINE_PREFIX)


def test_modules_by_path_and_lines_of_the_program(window: RecordedWindow, tmp_path: Path):
    model, before = network(), (hooks(), torch.Tensor.item, list(warnings.filters))
    # Nothing is shown of what is not recorded.
    model(torch.ones(2))
    window.open()
    window.mark(0)
    model(torch.ones(2)).sum().item()
    marks = timeline_marks(window, tmp_path)
    assert names(marks) == [f"nn.Module: Sequential{path}" for path in ("", ".0", ".1")]
    lines = {
        mark["name"].rpartition(":")[0] for mark in marks if mark["name"].startswith(LINE_MARK)
    }
    assert {Path(line).name for line in lines} == {"test_where.py"}
    # The model's call, and the call that waits for its value.
    assert sum(mark["name"].startswith(LINE_MARK) for mark in marks) == 2
    assert (hooks(), torch.Tensor.item, list(warnings.filters)) == before
    assert "item" not in vars(torch.Tensor)


def test_exceptions_close_ranges(window: RecordedWindow, tmp_path: Path):
    model = network()
    window.open()
    with pytest.raises(RuntimeError):
        model(torch.ones(3))
    model(torch.ones(2))
    marks = timeline_marks(window, tmp_path)
    root = "nn.Module: Sequential"
    assert names(marks) == [root, f"{root}.0", root, f"{root}.0", f"{root}.1"]
    first, second = (mark for mark in marks if mark["name"] == root)
    assert first["ts"] + first["dur"] <= second["ts"]


def test_ranges_do_not_reach_into_the_next_cycle(window: RecordedWindow, tmp_path: Path):
    class Marked(torch.nn.Module):  # type: ignore[name-defined, misc, unused-ignore]
        def forward(self, values: Any) -> Any:
            window.mark(1)
            return values + 1

    window.open()
    window.mark(0)
    Marked()(torch.ones(2))
    window.close([], "")
    (path,) = tmp_path.glob("trace-*.json")
    events = json.loads(path.read_text())["traceEvents"]
    marks = [event for event in events if event.get("name", "").startswith("timesink cycle")]
    border = max(mark["ts"] for mark in marks)
    modules = [event for event in events if event.get("name") == "nn.Module: Marked"]
    before, after = sorted(modules, key=lambda event: event["ts"])
    assert before["ts"] + before["dur"] <= border <= after["ts"]


def test_other_threads_are_left_alone(window: RecordedWindow, tmp_path: Path):
    model = network()
    window.open()
    thread = threading.Thread(target=model, args=(torch.ones(2),))
    thread.start()
    thread.join()
    model(torch.ones(2))
    assert len(names(timeline_marks(window, tmp_path))) == 3


def test_compiled_regions_stay_whole(window: RecordedWindow, tmp_path: Path):
    dynamo = importlib.import_module("torch._dynamo")
    model = network()
    compiled = torch.compile(lambda values: model(values) * 2, backend="eager", fullgraph=True)
    fresh = torch.compile(network(), backend="eager", fullgraph=True)
    compiled(torch.ones(2))
    graphs = dynamo.utils.counters["stats"]["unique_graphs"]
    window.open()
    with warnings.catch_warnings(record=True) as messages:
        compiled(torch.ones(2))
        # One that is compiled while modules are shown is compiled whole.
        fresh(torch.ones(2))
    assert dynamo.utils.counters["stats"]["unique_graphs"] == graphs + 1
    assert not messages
    # What is compiled calls no modules.
    assert names(timeline_marks(window, tmp_path)) == []


def test_wrapped_modules_go_by_their_own_names():
    named = ModuleNames()
    inner = torch.nn.ModuleDict({"_orig_mod": network()})
    model = torch.nn.ModuleDict({"net": inner})
    assert named.name(inner, outermost=False) == "ModuleDict"
    assert named.name(model, outermost=True) == "ModuleDict"
    assert named.name(inner["_orig_mod"][0], outermost=True) == "ModuleDict.net.0"


def test_line_of_a_library_only_where_no_program_calls_it(monkeypatch: pytest.MonkeyPatch):
    lines = ProgramLines(torch)
    assert lines.above(sys._getframe()).rpartition(":")[0].endswith("test_where.py")
    monkeypatch.setattr(lines, "_describe_file", lambda _file: (1, "library.py"))
    lines._seen.clear()
    assert lines.above(sys._getframe()).startswith("library.py:")


PROGRAM = """
import sys, torch
from torch import nn
class Layer(nn.Module):
    def __init__(self, copies):
        super().__init__()
        self.linear, self.copies = nn.Linear(4, 4), copies
    def forward(self, values):
        return self.linear(values.clone() if self.copies else values)
edited = sys.argv[1:] == ["edited"]
model = nn.Sequential(*(Layer(edited and number == 2) for number in range(4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(9):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
"""


@needs_torch
@pytest.mark.whole
def test_compare_names_the_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    program = write(tmp_path, PROGRAM)
    options = ["--counters", "none", "--cycles", "4", "--skip", "3", "--plain", "0"]
    command = host_of_programs().command(program)
    # A recording without modules is compared with one that has them.
    assert record(tmp_path / "base", options, command).code == 0
    assert record(tmp_path / "new", [*options, "--where"], [*command, "edited"]).code == 0
    assert main(["compare", str(tmp_path / "base"), str(tmp_path / "new"), "--view", "edits"]) == 0
    match = re.search(
        r"aten::clone added, in Sequential\.2 \(program\.py:(\d+)\)", capsys.readouterr().out
    )
    assert match is not None
    lines = Path(program).read_text(encoding="utf-8").splitlines()
    assert "model(torch.ones(2, 4))" in lines[int(match[1]) - 1]
