"""Making one recording: a fault that ended too early, or half a recording, is a failure."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from timesink_lab import driver as one_run
from timesink_lab.driver import RunFailedError, RunSpec, make, patience_of
from timesink_lab.faults import faults_named, workloads_named
from timesink_lab.order import LabFolder, LabRun

PATIENCE_S = 60
HOW = RunSpec(cycles=5, skip=2, device="cpu", size="small")
[DENOISE] = workloads_named(["denoise"])
[HOG] = faults_named(["cpu_hog"])
RECORDER = """
import sys
from pathlib import Path
from timesink_lab.workloads import switches as words
folder, told = Path(sys.argv[1]), sys.argv[2]
words.print_word("workload.ready")
words.wait_for("workload.go")
if told:
    folder.mkdir()
    (folder / "trace.json.gz").touch()
    (folder / "run.json").write_text(told)
    words.print_word("workload.done")
else:
    words.wait_for("a word that nobody says")
"""
LOAD = """
from timesink_lab.workloads import switches as words
words.print_word("load.ready")
words.wait_for("load.go")
words.print_word("load.works")
words.wait_for("workload.go")
"""


@contextmanager
def short_load(
    _load: Sequence[str], _scratch: Path, environment: Mapping[str, str], log: IO[str]
) -> Iterator[subprocess.Popen[str]]:
    """One that works once and ends."""
    command = [sys.executable, "-c", LOAD]
    with subprocess.Popen(
        command, env=dict(environment), stdout=log, stderr=log, text=True
    ) as process:
        yield process


def make_with_recorder(
    run: LabRun, content: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Make a run with a recorder that writes what it is told; told nothing, it goes on and on."""

    def command(_run: LabRun, _how: RunSpec, into: Path) -> list[str]:
        return [sys.executable, "-c", RECORDER, str(into), content]

    monkeypatch.setattr(one_run, "recorder_command", command)
    make(run, HOW, LabFolder(folder), patience_of(PATIENCE_S, []))


def test_a_load_that_ends_before_the_program_spoils_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(one_run, "beside", short_load)
    with pytest.raises(RunFailedError, match="the load ended early"):
        make_with_recorder(LabRun(DENOISE, HOG, 1), "", tmp_path, monkeypatch)


PARTIAL = {
    '{"complete": false, "why_partial": "3 of 5 cycles"}': "partial: 3 of 5 cycles",
    "[]": "run.json",
    "{": "run.json",
}


@pytest.mark.parametrize("content", PARTIAL)
def test_half_a_recording_is_none(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(RunFailedError, match=PARTIAL[content]):
        make_with_recorder(LabRun(DENOISE, None, 1), content, tmp_path, monkeypatch)


def test_a_whole_recording_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make_with_recorder(LabRun(DENOISE, None, 1), '{"complete": true}', tmp_path, monkeypatch)
