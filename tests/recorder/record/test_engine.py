"""The agent in a process of its own making: what it leaves behind, and what it takes back."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from timesink.recorder.agent import entry as agent
from timesink.recorder.agent import profiling as compiling
from timesink.recorder.agent.engine import CycleEngine
from timesink.recorder.agent.functions import MarkedCalls, watch_functions
from timesink.recorder.agent.hooks import watch_annotations, watch_optimizers
from timesink.recorder.agent.profiling import RecordedWindow
from timesink.recorder.folder import Notebook, ProcessNotes, RecordPlan, read_notes, write_plan

if importlib.util.find_spec("torch") is None:
    pytest.skip("needs torch", allow_module_level=True)

torch: Any = None

follows_by_monitoring = sys.version_info >= (3, 12)


@pytest.fixture(scope="module", autouse=True)
def _torch() -> None:
    """Only the process that runs these tests waits for torch; others only read their names."""
    globals()["torch"] = importlib.import_module("torch")


def notes(control: Path) -> ProcessNotes:
    (process,) = read_notes(control)
    return process


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[Any]:
    """Makes engines, and ends what a test has left."""
    all_engines: list[CycleEngine] = []

    def make(**plan: Any) -> CycleEngine:
        all_engines.append(CycleEngine(RecordPlan(**plan), torch, tmp_path))
        return all_engines[-1]

    yield make
    for engine in all_engines:
        engine.end("the test ended")


def decode_one() -> None:
    torch.ones(2)


def sample_one() -> None:
    decode_one()


# -- failures end the recording alone ------------------------------------------------------------


def test_device_that_broke_costs_no_timeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise RuntimeError("device-side assert triggered\nCompile with ...")

    window = RecordedWindow(torch, (), Notebook(tmp_path))
    window.open()
    decode_one()
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", fail)
    # As where there is one: then it waits for the device itself.
    window._profile.profiler.use_device = "cuda"
    window.close([], "")
    exported = notes(tmp_path).last("exported") or {}
    assert exported["why"] == "the device failed: device-side assert triggered"
    assert "aten::ones" in (tmp_path / exported["file"]).read_text()
    assert torch.cuda.synchronize is fail


def test_annotation_that_cannot_be_counted(engines: Any, tmp_path: Path, monkeypatch: Any):
    engine = engines(marker="decode")
    watch_annotations(torch, engine, "decode")
    monkeypatch.setattr(engine, "boundary", lambda *_, **__: 1 / 0)
    with torch.profiler.record_function("decode"):
        pass
    assert engine.is_over
    assert notes(tmp_path).last("failed") == {
        "event": "failed", "why": "ZeroDivisionError: division by zero",
    }  # fmt: skip


def test_call_that_cannot_be_shown(engines: Any, tmp_path: Path, monkeypatch: Any):
    engine = engines(marker="step", skip=0, plain=0, cycles=3)
    calls = MarkedCalls(torch, engine, "step")
    with calls.call():
        pass
    monkeypatch.setattr(torch.profiler, "record_function", lambda _name: 1 / 0)
    with calls.call():
        pass
    assert engine.is_over
    assert str((notes(tmp_path).last("failed") or {})["why"]).startswith("ZeroDivisionError")


def test_signal_while_writing_begins(engines: Any, tmp_path: Path, monkeypatch: Any):
    """What it calls writes the timeline, for the process is gone after it."""
    engine = engines(whole=True)

    @contextlib.contextmanager
    def signalled() -> Iterator[None]:
        monkeypatch.undo()
        engine.end("the program was ended by SIGTERM")
        raise SystemExit
        yield

    engine.begin_whole()
    monkeypatch.setattr(compiling, "defer_signals", signalled)
    with pytest.raises(SystemExit):
        engine.end("the program ended")
    exported = notes(tmp_path).last("exported") or {}
    assert exported["why"] == "the program was ended by SIGTERM"


def test_cycles_under_the_programs_own_profiler_are_not_timed(engines: Any):
    engine = engines(by_hand=True, skip=99)
    for is_profiled in (False, False, True, True, False, False):
        profiler = torch.profiler.profile() if is_profiled else contextlib.nullcontext()
        with profiler:
            decode_one()
        engine.boundary("step()", "", begins=False)
    assert len(engine._plain._rows) == 3
    assert engine._source.seen == 6


class Event:
    """An event of a device on which every cycle takes 3 ms."""

    recorded = 0

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        Event.recorded += 1
        self.at_ms = 3.0 * Event.recorded

    def synchronize(self) -> None:
        assert self.at_ms == 3.0 * Event.recorded

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Event) -> float:
        return other.at_ms - self.at_ms


def test_device_is_asked_once_plain_cycles_are_over(engines: Any, tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    engine = engines(by_hand=True, skip=1, plain=3, plain_only=True, device_events=True, stop=True)
    for _ in range(3):
        engine.boundary("step()", "", begins=False)
    assert notes(tmp_path).last("device") is None
    with pytest.raises(SystemExit):
        engine.boundary("step()", "", begins=False)
    assert (notes(tmp_path).last("device") or {})["cycles_us"] == [3000.0] * 3
    assert (notes(tmp_path).last("exported") or {})["plain"] == 3
    assert engine.is_over


def test_only_what_counted_can_be_gone(engines: Any):
    engine = engines(by_hand=True, skip=0, plain=0, cycles=2)
    engine.begin_by_hand()
    engine.restart("optimizer step")
    assert engine.is_recording
    assert engine.is_by_hand


# -- hooks are taken back ------------------------------------------------------------------------


def test_annotations_are_left_as_they_were(engines: Any):
    kind = torch.autograd.profiler.record_function
    before = kind.__enter__, kind.__exit__
    for _ in range(3):
        engine = engines(marker="decode")
        watch_annotations(torch, engine, "decode")
        assert kind.__enter__ is not before[0]
        engine.end("the block ended")
    assert (kind.__enter__, kind.__exit__) == before


def test_hooks_of_an_agent_that_cannot_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    kind = torch.autograd.profiler.record_function
    before = kind.__enter__, kind.__exit__
    monkeypatch.setattr(agent, "watch_functions", lambda *_: 1 / 0)
    write_plan(RecordPlan(marker="decode"), tmp_path)
    agent.begin(tmp_path)
    assert (kind.__enter__, kind.__exit__) == before
    assert (notes(tmp_path).last("failed") or {})["why"].startswith("ZeroDivisionError")
    agent._running.clear()


def test_optimizers_made_later_are_left_as_they_are(engines: Any):
    class Late(torch.optim.SGD):  # type: ignore[misc]
        pass

    engine = engines()
    watch_optimizers(torch, engine)
    engine.end("the program ended")
    optimizer = Late([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    assert not hasattr(optimizer.step, "timesink_counts")


def count_cycles(engine: CycleEngine, marker: str) -> int:
    """Cycles that three calls make of one function that calls another."""
    watch_functions(torch, engine, marker)
    for _ in range(3):
        sample_one()
    seen = engine._source.seen if engine._source is not None else -1
    engine.end("the block ended")
    return seen


@pytest.fixture
def _all_objects() -> Iterator[None]:
    """Functions of a marker are looked for among all objects; conftest has put some aside."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("_all_objects")
def test_functions_are_left_as_they_were(engines: Any):
    codes = decode_one.__code__, sample_one.__code__
    # What the first has seen and not wanted is what the second wants.
    assert count_cycles(engines(marker="decode_one", skip=9), "decode_one") == 2
    assert count_cycles(engines(marker="sample_one", skip=9), "sample_one") == 2
    assert count_cycles(engines(marker="nothing", skip=9), "nothing") == -1
    assert (decode_one.__code__, sample_one.__code__) == codes
    assert not hasattr(decode_one, "__signature__")
    assert sys.getprofile() is None
    if follows_by_monitoring:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        assert [monitoring.get_tool(number) for number in (2, 3, 4)] == [None] * 3
        monitoring.use_tool_id(3, "next")
        callbacks = [
            monitoring.register_callback(3, event, None)
            for event in (monitoring.events.PY_START, monitoring.events.PY_RETURN)
        ]
        local = monitoring.get_local_events(3, decode_one.__code__)
        monitoring.free_tool_id(3)
        assert (callbacks, local) == ([None, None], 0)


def test_exception_in_a_marked_function_is_its_own(engines: Any):
    def fail_one() -> None:
        raise KeyError("gone")

    engine = engines(marker="fail_one", skip=9)
    watch_functions(torch, engine, "fail_one")
    for _ in range(3):
        with pytest.raises(KeyError, match="gone"):
            fail_one()
    assert engine._source.seen == 2


def test_coroutine_stays_one(engines: Any, tmp_path: Path):
    async def answer() -> int:
        return 7

    engine = engines(marker="answer", skip=9)
    watch_functions(torch, engine, "answer")
    assert [asyncio.run(answer()) for _ in range(3)] == [7, 7, 7]
    assert inspect.iscoroutinefunction(answer)
    if follows_by_monitoring:
        assert engine._source.seen == 2
    else:
        remark = notes(tmp_path).last("remark") or {}
        assert "answer is a generator or a coroutine" in remark["text"]


def test_forks_are_watched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    registered: list[object] = []
    monkeypatch.setattr(os, "register_at_fork", lambda **calls: registered.append(calls))
    agent._watch_forks.cache_clear()
    write_plan(RecordPlan(by_hand=True), tmp_path)
    for _ in range(3):
        agent.begin(tmp_path)
        engine = agent.current_engine()
        assert engine is not None
        engine.end("the block ended")
    assert len(registered) == 1
    agent._watch_forks.cache_clear()
    agent._running.clear()


def test_compiler_passes_over_code_of_the_agent_alone(monkeypatch: pytest.MonkeyPatch):
    """And not over what its decorators share with those of the program."""
    skipped: list[CodeType] = []
    monkeypatch.setattr(compiling, "_code_skipper", lambda _compiler: skipped.append)
    compiling.hide_from_compiler(torch)
    assert CycleEngine.boundary.__code__ in skipped
    assert inspect.unwrap(CycleEngine.program_goes_on).__code__ in skipped
    assert contextlib.__file__ not in {code.co_filename for code in skipped}


def test_names_of_what_calls_the_program_are_unique(monkeypatch: pytest.MonkeyPatch):
    """A compiler is told by these names what to follow."""
    codes: set[CodeType] = set()
    monkeypatch.setattr(compiling, "_code_skipper", lambda _compiler: codes.add)
    compiling.hide_from_compiler(torch)
    names = [code.co_name for code in codes]
    assert {names.count(name) for name in compiling.CALLING_THE_PROGRAM} == {1}
