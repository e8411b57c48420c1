"""Rows of a history: what is kept of runs, under which commit, and what is refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import timesink
from recorded_runs import run_fields, write_recording
from timesink.answers.comparison.history import bisect_lines
from timesink.comparison.gate.history_rows import (
    Commit,
    HistoryRow,
    add_runs,
    commit_of,
    history_rows,
    series_store,
)
from timesink.errors import NotFoundError, UnreadableError, UsageError
from timesink.sources.ab_folder import AbRun, AbRuns, AbSide, write_ab

CYCLES_US = [900.0, 100.0, 101.0, 102.0, 103.0]


def plain_run(folder: Path, cycles_us: list[float] = CYCLES_US, **changed: Any) -> Path:
    """What `timesink record --plain-only` leaves: no timeline."""
    folder.mkdir(parents=True)
    fields: dict[str, Any] = {
        "cycles": {"plain": len(cycles_us) - 1},
        "overhead": {"plain_cycles_us": cycles_us},
    }
    (folder / "run.json").write_text(json.dumps(run_fields([], **{**fields, **changed})))
    return folder


def test_plain_cycles_are_a_row_without_a_timeline(tmp_path: Path):
    run = plain_run(tmp_path / "run")
    add_runs("main", [run], tmp_path / "store", commit="0123abcd", time_us=7)
    (row,), notes = history_rows("@main", tmp_path / "store")
    assert (row.commit.sha, row.commit.time_us, row.by, notes) == (
        "0123abcd", 7, "plain cycles", (),
    )  # fmt: skip
    assert (row.value("cycle_ns"), row.value("mean_ns")) == (101_500.0, 101_500.0)
    assert row.value("launches") is None
    assert row.machine == "AMD EPYC 9654 with 16 cores, NVIDIA H200"
    assert row.runs[0].command == ("python", "train.py", "--lr", "0.1")


def test_a_recording_tells_counts_as_well(tmp_path: Path):
    added, new = add_runs("main", [write_recording(tmp_path / "run")], tmp_path, commit="0123abcd")
    (run,) = added.runs
    assert new
    assert (run.launches, run.program is not None, run.by) == (1.0, True, "recorded cycles")
    assert run.device_ns is not None
    assert run.versions["torch"] == "2.11.0"


def test_a_second_addition_joins_the_row_and_the_same_run_counts_once(tmp_path: Path):
    first, second = (plain_run(tmp_path / name) for name in ("a", "b"))
    assert add_runs("main", [first], tmp_path, commit="0123abcd")[1]
    assert not add_runs("main", [first], tmp_path, commit="0123abcd")[1]
    assert add_runs("main", [first, second], tmp_path, commit="0123abcd")[1]
    (row,), _ = history_rows("main", tmp_path)
    assert [run.name for run in row.runs] == ["a", "b"]


def test_new_runs_of_versions_in_turn(tmp_path: Path):
    folder = tmp_path / "pr"
    runs = (
        AbRun("base", "base/01", 1, 2, 0),
        AbRun("new", "new/01", 2, 3, 0),
        AbRun("new", "new/02", 3, 4, 1, failed="it crashed"),
        AbRun("new", "new/03", 4, 5, 0, timeline=True),
    )
    for run in runs[:2]:
        plain_run(folder / run.folder)
    write_recording(folder / "new" / "03")
    side = AbSide(("python", "train.py"), ref="0123abcd")
    write_ab(AbRuns("timesink/ab/1", "0.1.0", side, side, 1.0, 60.0, 1, runs=runs), folder)
    added, _ = add_runs("main", [folder], tmp_path)
    assert added.commit.sha == "0123abcd"
    assert [(run.name, run.cycle_ns) for run in added.runs] == [("01", 101_500.0), ("03", None)]
    (row,), _ = history_rows("main", tmp_path)
    assert (row.value("launches"), row.value("cycle_ns")) == (1.0, 101_500.0)


def in_turn(folder: Path, **new: Any) -> Path:
    plain_run(folder / "new" / "01")
    side, runs = AbSide(("python", "train.py"), **new), (AbRun("new", "new/01", 2, 3, 0),)
    write_ab(AbRuns("timesink/ab/1", "0.1.0", side, side, 1.0, 60.0, 1, runs=runs), folder)
    return folder


def test_runs_of_a_changed_work_tree_are_those_of_its_commit_then(tmp_path: Path):
    run = in_turn(tmp_path / "pr", head="0123abcd", dirty=True)
    added, _ = add_runs("main", [run], tmp_path)
    assert (added.commit.sha, added.commit.dirty) == ("0123abcd", True)
    other = in_turn(tmp_path / "next", ref="4567abcd")
    with pytest.raises(UsageError, match="these runs belong to commits 0123abcd and 4567abcd"):
        add_runs("main", [run, other], tmp_path)
    assert not add_runs("main", [run, other], tmp_path, commit="4567abcd")[0].commit.dirty


def test_rows_of_other_machines_are_rows_of_their_own(tmp_path: Path):
    here = plain_run(tmp_path / "here")
    there = plain_run(tmp_path / "there", host={"cpu": "Grace", "cores": 72}, devices=[])
    add_runs("main", [here, there], tmp_path, commit="0123abcd")
    rows, _ = history_rows("main", tmp_path)
    assert {row.machine for row in rows} == {
        "AMD EPYC 9654 with 16 cores, NVIDIA H200", "Grace with 72 cores",
    }  # fmt: skip


def test_what_cannot_be_kept_is_refused(tmp_path: Path):
    empty = plain_run(tmp_path / "empty", [900.0], why_partial="the program was killed")
    with pytest.raises(UnreadableError, match="neither a timeline nor unprofiled steps"):
        add_runs("main", [empty], tmp_path, commit="0123abcd")
    side, turns = AbSide(("python", "train.py")), tmp_path / "turns"
    turns.mkdir()
    write_ab(AbRuns("timesink/ab/1", "0.1.0", side, side, 1.0, 60.0, 1), turns)
    with pytest.raises(UnreadableError, match="contains no new run that counts"):
        add_runs("main", [turns], tmp_path, commit="0123abcd")
    assert not (tmp_path / "main.history").exists()
    with pytest.raises(UsageError, match="is a baseline"):
        add_runs("main", ["@main"], tmp_path, commit="0123abcd")
    with pytest.raises(UsageError, match="cannot be a commit"):
        add_runs("main", [plain_run(tmp_path / "run")], tmp_path, commit="../..")
    with pytest.raises(NotFoundError, match="@main: no history in"):
        history_rows("main", tmp_path / "nothing")


def test_a_damaged_row_is_left_out_and_named(tmp_path: Path):
    add_runs("main", [plain_run(tmp_path / "run")], tmp_path, commit="0123abcd")
    series_store("main", tmp_path).write("ffff-00", b"{")
    rows, notes = history_rows("main", tmp_path)
    assert len(rows) == 1
    assert notes[0].startswith("left out ffff-00.row: ")


def test_rows_behind_a_url(tmp_path: Path):
    pytest.importorskip("fsspec")
    url = f"memory://{tmp_path.name}"
    add_runs("main", [plain_run(tmp_path / "run")], url, commit="0123abcd")
    assert len(history_rows("main", url)[0]) == 1
    assert timesink.history("@main", store=url).rows[0].commit.sha == "0123abcd"


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs git in an empty work tree, which is the current folder from now on."""
    monkeypatch.chdir(tmp_path)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Somebody")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "somebody@example.com")
        monkeypatch.setenv(f"GIT_{role}_DATE", "2026-01-01T00:00:00Z")

    def run(*words: str) -> None:
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)

    run("init", "--quiet")
    return run


def test_the_commit_is_that_of_the_work_tree(git: Callable[..., None], tmp_path: Path):
    with pytest.raises(UsageError, match="not in a git work tree with a commit"):
        commit_of(None)
    (tmp_path / "train.py").write_text("steps = 1\n")
    git("add", "train.py")
    git("commit", "--quiet", "--message", "Train; once")
    commit = commit_of(None)
    assert (len(commit.sha), commit.subject, commit.dirty) == (40, "Train; once", False)
    assert commit.time_us == 1767225600_000_000
    (tmp_path / "train.py").write_text("steps = 2\n")
    assert commit_of(None).dirty
    assert commit_of(commit.sha[:8]).sha == commit.sha
    assert not commit_of(commit.sha).dirty


def test_commits_that_follow_each_other_are_not_bisected(git: Callable[..., None]):
    def commit(name: str) -> Commit:
        git("commit", "--quiet", "--allow-empty", "--message", name)
        return commit_of(None)

    first, second, third = map(commit, ("first", "second", "third"))
    row = HistoryRow(third, "a machine", "plain", ())
    assert list(bisect_lines("cycle_ns", second, third, [row])) == []
    assert f"git bisect start {third.short} {first.short}" in list(
        bisect_lines("cycle_ns", first, third, [row])
    )


def test_a_pattern_stands_for_several_runs(tmp_path: Path):
    for number in (1, 2):
        plain_run(tmp_path / f"run{number}", [*CYCLES_US, 100.0 + number])
    added, _ = add_runs("main", [tmp_path / "run*"], tmp_path, commit="0123abcd")
    assert [run.name for run in added.runs] == ["run1", "run2"]


def test_plain_cycles_of_one_of_several_ranks_are_not_those_of_the_run(tmp_path: Path):
    ranks = [{"pid": 1, "rank": 0}, {"pid": 2, "rank": 1}]
    run = plain_run(tmp_path / "run", processes=ranks)
    with pytest.raises(UnreadableError, match="those it has are of one of 2 processes"):
        add_runs("main", [run], tmp_path, commit="0123abcd")
    with pytest.raises(UnreadableError, match="4 unprofiled steps of one of 2 processes, with"):
        timesink.compare(run, run)
