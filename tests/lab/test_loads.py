"""Loads beside a program: they run when they should, and none is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from timesink.recorder.processes import family, is_alive
from timesink_lab.driver import beside
from timesink_lab.faults import FAULTS
from timesink_lab.workloads import switches as words

PATIENCE_S = 120
FAINT = {"busy_cores": ("--per-core", "0.1"), "disk_writes": ("--mib", "1")}
"""Tests run beside others, which must not suffer."""
ON_THE_HOST = [fault.load for fault in FAULTS if fault.load and "gpu" not in fault.needs]


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.02)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("load", ON_THE_HOST, ids=lambda load: load[0])
def test_a_load_waits_for_the_word_works_and_ends_with_all_its_processes(
    load: tuple[str, ...], tmp_path: Path
):
    signal_folder, scratch = tmp_path / "said", tmp_path / "scratch"
    signal_folder.mkdir()
    scratch.mkdir()
    environment = {**os.environ, words.FOLDER: str(signal_folder)}
    with (tmp_path / "log").open("w") as log, beside(
        (*load, *FAINT[load[0]]), scratch, environment, log
    ) as process:  # fmt: skip
        wait_until((signal_folder / "load.ready").exists)
        assert not (signal_folder / "load.works").exists()
        (signal_folder / "load.go").touch()
        wait_until((signal_folder / "load.works").exists)
        members = family(process.pid)
    assert (tmp_path / "log").read_text() == ""
    wait_until(lambda: not any(is_alive(pid) for pid in members))
    assert list(scratch.iterdir()) == []


def test_a_load_whose_starter_is_gone_ends_by_itself(tmp_path: Path):
    (tmp_path / "load.go").touch()
    start = (
        "import os, subprocess, sys; from timesink_lab.workloads import switches as words;"
        "os.environ[words.STARTER] = str(os.getpid());"
        "print(subprocess.Popen([sys.executable, '-m', "
        "'timesink_lab.loads', 'busy_cores', '--per-core', '0.1'], stdout=-3, stderr=-3).pid)"
    )
    process = subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, check=True,
        env={**os.environ, words.FOLDER: str(tmp_path)},
    )  # fmt: skip
    pid = int(process.stdout)
    wait_until(lambda: not is_alive(pid))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_a_starter_that_nobody_has_buried_yet_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with subprocess.Popen([sys.executable, "-c", ""]) as starter:
        wait_until(lambda: not is_alive(starter.pid))
        monkeypatch.setenv(words.FOLDER, str(tmp_path))
        monkeypatch.setenv(words.STARTER, str(starter.pid))
        never = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: pytest.fail("it waits"))
        monkeypatch.setattr(words, "time", never)
        with pytest.raises(SystemExit, match="nobody said"):
            words.wait_for("load.go")
