"""`timesink ab` with real programs: commits of a repository, an interruption, a side that fails."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from forked_programs import host_of_programs
from recorded import TIMESINK, environment, git, needs_torch, wait_for, write
from timesink.recorder.processes import children_by_parent, descendants, is_alive
from timesink.sources.ab_folder import read_ab

pytestmark = [pytest.mark.whole, needs_torch]

PROGRAM = """
import time, torch
from pace import EXTRA_S
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while True:
    model(torch.randn(2, 8)).sum().backward()
    optimizer.step()
    time.sleep(0.003 + EXTRA_S)
"""
BRIEF = ("--seconds", "0.1", "--skip", "3", "--counters", "none", "--seed", "1")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits, the second of which waits longer, and a program in a folder below."""
    top = tmp_path / "project"
    (top / "jobs").mkdir(parents=True)
    git(tmp_path, "init", "-q", "-b", "main", str(top))
    write(top / "jobs", PROGRAM)
    # So much longer that few runs tell, also on a busy machine.
    for extra_s in (0.0, 0.015):
        (top / "pace.py").write_text(f"EXTRA_S = {extra_s}\n")
        git(top, "add", "-A")
        git(top, "commit", "-qm", f"waits {extra_s}")
    return top


def start_ab(folder: Path, *words: str) -> subprocess.Popen[str]:
    # Work trees go to a place of their own, so that what is left of them is seen.
    cache = folder.parents[1] / "cache"
    places = environment(TMPDIR=str(folder.parent), TIMESINK_CACHE_DIR=str(cache))
    return subprocess.Popen(
        [*TIMESINK, "ab", *BRIEF, *words], cwd=folder, env=places, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def left_of_trees(top: Path) -> list[Any]:
    listed = git(top, "worktree", "list").splitlines()
    return [*top.parent.glob("timesink-ab-*"), *(top / ".git").glob("worktrees/*"), *listed[1:]]


def test_a_slower_commit_is_found(repository: Path):
    # Each of the fourteen runs is a program of its own; torch is imported once for all of them.
    command = host_of_programs().command("program.py")
    (repository / "mine.txt").write_text("not in git")
    before = git(repository, "status", "--porcelain")
    out = repository.parent / "runs"
    process = start_ab(
        repository / "jobs", "-o", str(out), "--base-ref", "HEAD~1", "--new-ref", "main",
        "--setup", f"{sys.executable} -c 'import os; print(os.getcwd())'", "--runs", "5",
        "--fail-on", "regression", "--", *command,
    )  # fmt: skip
    output, err = process.communicate()
    assert process.returncode == 3, err
    assert output.startswith("Regression: steps take ")
    assert output.endswith(f"Next: timesink compare {out}\n")
    assert "timesink: FAILED (no slowdown allowed)" in err
    assert f"base: {' '.join(command)}, commit " in err
    assert left_of_trees(repository) == []
    assert git(repository, "status", "--porcelain") == before
    ab = read_ab(out)
    assert ab.complete
    assert (ab.base.ref, ab.new.ref) == tuple(
        git(repository, "rev-parse", revision) for revision in ("HEAD~1", "HEAD")
    )
    assert (out / "base" / "setup.txt").read_text().strip().endswith("/base/jobs")
    plain = json.loads((out / ab.counted[0].folder / "run.json").read_text())
    assert plain["cycles"]["plain"] >= 20
    assert {
        side: (out / folder / "trace.json.gz").exists() for side, folder in ab.timelines().items()
    } == {"base": True, "new": True}


def running_below(pid: int) -> set[int]:
    """A process and those it started, as soon as there are any: between two runs there are none."""
    while len(members := set(descendants(pid, children_by_parent()))) < 2:
        assert is_alive(pid)
        time.sleep(0.01)
    return members


def test_ctrl_c_keeps_what_there_is(repository: Path):
    out = repository.parent / "runs"
    process = start_ab(
        repository / "jobs", "-o", str(out), "--base-ref", "HEAD~1",
        "--", sys.executable, "program.py",
    )  # fmt: skip
    wait_for(out / "new" / "01" / "output.txt")
    members = running_below(process.pid)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert f"continue with  timesink ab --resume {out}" in err
    assert "new: " in err
    assert "the work tree" in err
    assert not [pid for pid in members if is_alive(pid)]
    assert left_of_trees(repository) == []
    ab = read_ab(out)
    assert (ab.complete, ab.why_partial) == (False, "interrupted")
    assert [(run.folder, run.failed) for run in ab.runs] == [
        ("base/01", ""),
        ("new/01", "interrupted"),
    ]
    assert not (out / ".timesink-recording").exists()


def test_a_side_that_fails_is_told_with_its_last_words(tmp_path: Path):
    base = f"{sys.executable} -c 'raise RuntimeError(42)'"
    process = start_ab(tmp_path, "-o", "runs", "--base", base, "--new", f"{sys.executable} -V")
    output, err = process.communicate()
    assert (process.returncode, output) == (1, "")
    assert "timesink: base/01 failed: exit code 1\n" in err
    assert "  RuntimeError: 42\n" in err
    assert "timesink: base: 2 runs in a row failed (exit code 1)\n" in err
    assert f"hint: its output is in {tmp_path}/runs/base/02/output.txt" in err
    assert [run.folder for run in read_ab(tmp_path / "runs").runs] == ["base/01", "base/02"]
