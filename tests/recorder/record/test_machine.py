"""What is told of the machine a program runs on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from timesink.recorder import watch as machine
from timesink.recorder.folder import ProcessNotes
from timesink.recorder.watch import Machine

ON_ONE_CORE = """
import os, sys
os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def on_one_core() -> Iterator[int]:
    command = [sys.executable, "-c", ON_ONE_CORE]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as program:
        assert program.stdout is not None
        program.stdout.readline()
        yield program.pid
        program.communicate()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinity")
def test_cores_are_those_of_the_process_that_works(on_one_core: int):
    seen = Machine(os.getpid())
    seen.look([])
    assert 0 < seen.host["cores"] <= len(os.sched_getaffinity(0))
    seen.look([ProcessNotes(on_one_core, ({"event": "torch"},))])
    assert seen.host["cores"] <= 1


def test_program_that_was_too_short_to_be_seen():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    seen = Machine(gone.pid)
    seen.look([])
    assert seen.host["cores"] > 0


def test_driver_that_does_not_answer(monkeypatch: pytest.MonkeyPatch):
    answers = threading.Event()
    monkeypatch.setattr(machine, "describe_devices", answers.wait)
    monkeypatch.setattr(machine, "_PATIENCE_S", 0.05)
    assert Machine(os.getpid()).devices() is None
    answers.set()


def test_driver_that_fails(monkeypatch: pytest.MonkeyPatch):
    def fail() -> None:
        raise RuntimeError

    monkeypatch.setattr(machine, "describe_devices", fail)
    assert Machine(os.getpid()).devices() is None
