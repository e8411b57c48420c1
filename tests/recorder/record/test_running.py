"""Signals on their way to a program that is recorded."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from timesink.errors import CollectError
from timesink.recorder import recording
from timesink.recorder.counter_probes import wanted_counters
from timesink.recorder.folder import RecordingFolder, RecordPlan
from timesink.recorder.processes import is_alive
from timesink.recorder.recording import TIMED_OUT, Request, Running, record_program
from timesink.recorder.run_file import ProgramEnd, ProgramRun, Watched

pytestmark = pytest.mark.whole

WRITES_AND_GOES = """
import signal, sys, time
def go(number, frame):
    time.sleep(0.5)
    sys.exit(7)
signal.signal(signal.SIGHUP, go)
signal.signal(signal.SIGINT, signal.SIG_IGN)
print(flush=True)
while True:
    time.sleep(0.02)
"""


def run(came: list[int], tick: Callable[[], None]) -> ProgramEnd:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", WRITES_AND_GOES], stdout=pipe) as program:
        assert program.stdout is not None
        program.stdout.readline()
        return Running(program, came, lambda: False, lambda _: None).to_the_end(tick)


def test_several_signals_at_once_are_one_request():
    came: list[int] = []

    def tick() -> None:
        if len(came) < 3:
            came.append(signal.SIGTERM if came[1:] else signal.SIGHUP)

    assert run(came, tick) == ProgramEnd(7, "", 7)


def test_second_ctrl_c_stops_at_once():
    came: list[int] = []
    start_s = time.monotonic()

    def tick() -> None:
        if not came or (len(came) == 1 and time.monotonic() - start_s > 1):
            came.append(signal.SIGINT)

    assert run(came, tick) == ProgramEnd(None, "SIGKILL", 137)


def test_program_that_nobody_minds_is_not_waited_for():
    came: list[int] = [signal.SIGINT]
    with subprocess.Popen(
        [sys.executable, "-c", WRITES_AND_GOES], stdout=subprocess.PIPE
    ) as process:
        running = Running(process, came, lambda: False, lambda _: None, patience_s=0.2)
        assert running.to_the_end(lambda: None) == ProgramEnd(None, "SIGKILL", 137)


def test_program_in_a_folder_of_its_own_reads_nothing(tmp_path: Path):
    text = "import os, sys; print(os.getcwd(), os.environ['MINE'], repr(sys.stdin.read()))"
    (tmp_path / "there").mkdir()
    request = Request(
        (sys.executable, "-c", text), RecordPlan(), RecordingFolder(tmp_path / "run"),
        wanted_counters("none"), 50, "1", directory=tmp_path / "there", environment={"MINE": "yes"},
        log=tmp_path / "run" / "output.txt", is_alone=True,
    )  # fmt: skip
    record_program(request, lambda _: None)
    assert (tmp_path / "run" / "output.txt").read_text() == f"{tmp_path}/there yes ''\n"


def test_program_that_hangs_is_ended(tmp_path: Path):
    request = Request(
        (sys.executable, "-c", "import time; time.sleep(300)"), RecordPlan(),
        RecordingFolder(tmp_path / "run"), wanted_counters("none"), 50, "1", limit_s=0.3,
    )  # fmt: skip
    _, _, ended = record_program(request, lambda _: None)
    assert (ended.signal, ended.status) == ("SIGTERM", TIMED_OUT)


def test_program_is_not_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where the recorder itself fails, nobody would pass signals on to it."""
    pids = []

    def fail(_control: Path, _counters: Path, pid: int, **_more: object) -> None:
        pids.append(pid)
        raise MemoryError

    monkeypatch.setattr(recording, "Watch", fail)
    command = (sys.executable, "-c", "import time; time.sleep(300)")
    request = Request(
        command, RecordPlan(), RecordingFolder(tmp_path / "run"), wanted_counters("none"), 50, "1"
    )
    with pytest.raises(MemoryError):
        record_program(request, lambda _: None)
    assert not is_alive(pids[0])


@pytest.fixture
def ctrl_c() -> Iterator[Callable[[], None]]:
    """Presses it; tests may run where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_second_ctrl_c_while_packing_stops_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ctrl_c: Callable[[], None]
):
    messages: list[str] = []

    def pack(_program: ProgramRun, _watched: Watched, place: RecordingFolder) -> None:
        (place.control / "trace-7.json").touch()
        ctrl_c()
        assert messages == ["packing what was recorded (once more: stop at once)"]
        ctrl_c()
        pytest.fail("still packing")

    monkeypatch.setattr(recording, "conclude", pack)
    monkeypatch.setattr(recording, "_ONE_KEY_S", -1.0)
    command, place = (sys.executable, "-c", ""), RecordingFolder(tmp_path / "run")
    with pytest.raises(CollectError, match="before the recording was packed") as caught:
        record_program(
            Request(command, RecordPlan(), place, wanted_counters("none"), 50, "1"), messages.append
        )
    assert caught.value.exit_code == 130
    assert (place.control / "trace-7.json").exists()
