"""Commits in work trees: where a command runs, what its paths mean, and that nothing is left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recorded import git
from timesink.errors import CollectError, UsageError
from timesink.recorder.versions import Repository, Version, set_up

pytestmark = pytest.mark.whole


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """One with a commit, a change that is none, and files that git does not have."""
    top = tmp_path / "project"
    (top / "src").mkdir(parents=True)
    (top / "jobs").mkdir()
    (top / "jobs" / "train.py").write_text("first")
    (top / "src" / "model.py").write_text("first")
    git(tmp_path, "init", "-q", str(top))
    git(top, "add", "-A")
    git(top, "commit", "-qm", "first")
    (top / "jobs" / "train.py").write_text("second")
    (top / "jobs" / "data").mkdir()
    (top / "jobs" / "data" / "few.bin").write_text("0")
    return Repository.around(top / "jobs")


def test_a_tree_holds_the_commit_and_goes_again(repository: Repository):
    before = git(repository.top, "status", "--porcelain")
    with repository.tree(repository.commit("HEAD"), "base") as tree:
        assert (tree / "jobs" / "train.py").read_text() == "first"
        assert len(git(repository.top, "worktree", "list").splitlines()) == 2
        (tree / "left.txt").write_text("a program writes here")
    assert not tree.parent.exists()
    assert len(git(repository.top, "worktree", "list").splitlines()) == 1
    assert git(repository.top, "status", "--porcelain") == before
    assert (repository.top / "jobs" / "train.py").read_text() == "second"


def test_a_tree_goes_where_something_fails(repository: Repository):
    with (
        pytest.raises(ZeroDivisionError),
        repository.tree(repository.commit("HEAD"), "new") as tree,
    ):
        raise ZeroDivisionError
    assert not tree.parent.exists()
    assert not list((repository.top / ".git").glob("worktrees/*"))


def test_paths_mean_the_commit_or_what_git_does_not_have(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
):
    top, own = repository.top, repository.directory
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(top / "src"), "/elsewhere"]))
    words = ("python", "train.py", str(own / "train.py"), "data/few.bin", "--at=data/few.bin")
    words += ("data", "--lr=3", str(own / "data"), "missing.txt")
    with repository.tree(repository.commit("HEAD"), "base") as tree:
        version = repository.version(words, tree)
    few = str(own / "data" / "few.bin")
    assert version.directory == tree / "jobs"
    assert version.command == (
        "python", "train.py", str(tree / "jobs" / "train.py"), few, f"--at={few}",
        "data", "--lr=3", str(own / "data"), "missing.txt",
    )  # fmt: skip
    places = version.environment["PYTHONPATH"].split(os.pathsep)
    assert places == [str(tree / "src"), "/elsewhere", str(tree)]


def test_what_is_no_commit_is_refused(repository: Repository, tmp_path: Path):
    with pytest.raises(UsageError, match="--new-ref nothing: no such commit"):
        repository.commit("nothing", "--new-ref")
    with pytest.raises(UsageError, match="not in a git repository"):
        Repository.around(tmp_path)


def test_setup_runs_in_the_tree(repository: Repository, tmp_path: Path):
    version = Version((), repository.directory, os.environ)
    log = tmp_path / "base" / "setup.txt"
    set_up("sh -c 'pwd; touch made'", version, log, print, [])
    assert (repository.directory / "made").exists()
    assert log.read_text().strip() == str(repository.directory)
    with pytest.raises(CollectError, match="--setup failed with exit code 3") as failed:
        set_up("sh -c 'exit 3'", version, log, print, [])
    assert str(log) in failed.value.hint
    with pytest.raises(CollectError, match="no-such-program cannot be started"):
        set_up("no-such-program", version, log, print, [])
