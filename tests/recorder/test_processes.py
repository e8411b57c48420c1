"""Finding and ending what a process started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from timesink.recorder import processes
from timesink.recorder.processes import end_family, family, is_alive, signal_family

STUBBORN = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"
PARENT = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}])
print(child.pid, flush=True)
child.wait()
"""

if not os.path.isdir("/proc/self"):  # noqa: PTH112 - at import, before anything else
    pytest.skip("needs /proc", allow_module_level=True)


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as run:
        yield run
        run.kill()


def test_children_of_children_end_as_well(parent: subprocess.Popen[str]):
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    members = family(parent.pid)
    assert set(members) == {parent.pid, child}
    # The child outlives its parent, and is still known.
    parent.kill()
    parent.wait()
    end_family(members, grace_s=0)
    assert parent.stdout.read() == ""


def test_process_that_took_the_number_of_another_is_spared(parent: subprocess.Popen[str]):
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    end_family({child: "some other time"}, grace_s=0)
    assert parent.poll() is None
    end_family(family(child), grace_s=0)
    assert parent.wait() == 0


def test_process_that_nobody_has_waited_for_is_gone():
    ended = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert ended.stdout is not None
    ended.stdout.read()
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(ended.pid)
    ended.communicate()


def test_without_proc_the_number_has_to_do(
    parent: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """As on macOS: the program itself is reached, what it started is not known."""
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    monkeypatch.setattr(processes, "_PROC", str(tmp_path))
    members = family(parent.pid)
    assert members == {parent.pid: ""}
    signal_family(members, signal.SIGTERM)
    assert parent.wait() == -signal.SIGTERM
    end_family({parent.pid: "", child: ""}, grace_s=0)
    assert parent.stdout.read() == ""
