"""Loads beside a program: they run when they should, and none is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from timesink.collect.processes import family
from timesink.lab import gate
from timesink.lab.driving.loads import beside
from timesink.lab.faults.registry import FAULTS

PATIENCE_S = 120
ON_THE_HOST = [one for one in FAULTS if one.load and "gpu" not in one.needs]


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.02)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("fault", ON_THE_HOST, ids=lambda one: one.name)
def test_a_load_waits_for_the_word_works_and_ends_with_all_its_processes(fault, tmp_path: Path):
    words, scratch = tmp_path / "words", tmp_path / "scratch"
    words.mkdir()
    scratch.mkdir()
    environment = {**os.environ, gate.FOLDER: str(words)}
    with (tmp_path / "log").open("w") as log, beside(
        fault.load, scratch, environment, log
    ) as process:  # fmt: skip
        wait_until((words / "load.ready").exists)
        assert not (words / "load.works").exists()
        (words / "load.go").touch()
        wait_until((words / "load.works").exists)
        members = family(process.pid)
    assert (tmp_path / "log").read_text() == ""
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in members))
    assert list(scratch.iterdir()) == []


def test_a_load_whose_starter_is_gone_ends_by_itself(tmp_path: Path):
    (tmp_path / "load.go").touch()
    start = (
        "import os, subprocess, sys; from timesink.lab import gate;"
        "os.environ[gate.STARTER] = str(os.getpid());"
        "print(subprocess.Popen([sys.executable, '-m', "
        "'timesink.lab.loads.busy_cores', '--per-core', '1'], stdout=-3, stderr=-3).pid)"
    )
    told = subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, check=True,
        env={**os.environ, gate.FOLDER: str(tmp_path)},
    )  # fmt: skip
    pid = int(told.stdout)
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
