"""The history of an allocator: begun with the device, left at the end and where memory runs out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from timesink.recorder.agent.memory_history import MAX_EVENTS, NO_DEVICE, MemoryHistory
from timesink.recorder.folder import MEMORY_SNAPSHOT, Notebook, RecordingFolder
from timesink.recorder.places import CONTROL_FOLDER
from timesink.recorder.traces import collect_memory_alone


class FakeTorch:
    """Remembers what is asked of its allocator."""

    def __init__(self, *, fails: bool = False) -> None:
        self.asked: list[Any] = []
        self.waiting: list[Callable[[], None]] = []
        self.observers: list[Callable[..., None]] = []

        def dump(path: str) -> None:
            if fails:
                msg = "no room"
                raise OSError(msg)
            Path(path).write_bytes(b"a snapshot")

        memory = SimpleNamespace(
            _record_memory_history=lambda *a, **k: self.asked.append((a, k)), _dump_snapshot=dump
        )
        self.cuda = SimpleNamespace(memory=memory, _lazy_call=self.waiting.append)
        self._C = SimpleNamespace(_cuda_attach_out_of_memory_observer=self.observers.append)

    def use_device(self) -> None:
        for begin in self.waiting:
            begin()


@pytest.fixture
def control(tmp_path: Path) -> Path:
    folder = tmp_path / CONTROL_FOLDER
    folder.mkdir()
    return folder


def _files(control: Path) -> list[str]:
    return sorted(file.name.partition(".")[2] for file in control.glob("memory-*"))


def test_it_begins_with_the_device_and_ends_with_a_file(control: Path):
    torch = FakeTorch()
    history = MemoryHistory(torch, Notebook(control), is_wanted=True)
    assert torch.asked == []
    torch.use_device()
    torch.use_device()
    (first,) = torch.asked
    assert first[1] == {"context": "all", "stacks": "python", "max_entries": MAX_EVENTS}
    history.end()
    history.end()
    assert _files(control) == ["pickle"]
    assert torch.asked[-1][0] == (None,)


def test_what_is_not_wanted_is_not_recorded(control: Path):
    torch = FakeTorch()
    history = MemoryHistory(torch, Notebook(control), is_wanted=False)
    torch.use_device()
    history.end()
    assert torch.asked == []
    assert _files(control) == []


def test_a_failed_allocation_leaves_a_file_of_its_own(control: Path):
    torch = FakeTorch()
    history = MemoryHistory(torch, Notebook(control), is_wanted=True)
    torch.use_device()
    for _ in range(2):
        torch.observers[0](0, 1, 2, 3)
    history.end()
    assert _files(control) == ["oom.pickle", "pickle"]


def test_without_a_device_there_is_a_remark(control: Path):
    MemoryHistory(FakeTorch(), Notebook(control), is_wanted=True).end()
    text = "".join(file.read_text() for file in control.iterdir())
    assert NO_DEVICE in text


def test_a_snapshot_that_cannot_be_written_ends_nothing(control: Path):
    torch = FakeTorch(fails=True)
    history = MemoryHistory(torch, Notebook(control), is_wanted=True)
    torch.use_device()
    history.end()
    assert _files(control) == []
    assert "no room" in "".join(file.read_text() for file in control.iterdir())


def test_a_fork_leaves_nothing(control: Path):
    torch = FakeTorch()
    history = MemoryHistory(torch, Notebook(control), is_wanted=True)
    torch.use_device()
    history.forget()
    history.end()
    assert _files(control) == []


def test_a_program_that_ends_early_keeps_its_snapshot(control: Path):
    for kind, content in (("", b"end"), ("oom.", b"failed")):
        (control / MEMORY_SNAPSHOT.format(pid=7, kind=kind)).write_bytes(content)
    process: Any = SimpleNamespace(pid=7)
    assert collect_memory_alone([process], RecordingFolder(control.parent)) == "memory.pickle"
    assert (control.parent / "memory.pickle").read_bytes() == b"failed"
