"""Commits in work trees: where a command runs, what its paths mean, and that nothing is left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from recorded import git
from timesink.errors import CollectError, UsageError
from timesink.recorder.recording import recorded_environment
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
    top, directory = repository.top, repository.directory
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(top / "src"), "/elsewhere"]))
    words = ("python", "train.py", str(directory / "train.py"), "data/few.bin", "--at=data/few.bin")
    words += ("data", "--lr=3", str(directory / "data"), "missing.txt")
    with repository.tree(repository.commit("HEAD"), "base") as tree:
        version = repository.version(words, tree)
    few = str(directory / "data" / "few.bin")
    assert version.directory == tree / "jobs"
    assert version.command == (
        "python", "train.py", str(tree / "jobs" / "train.py"), few, f"--at={few}",
        "data", "--lr=3", str(directory / "data"), "missing.txt",
    )  # fmt: skip
    places = version.environment["PYTHONPATH"].split(os.pathsep)
    assert places == [str(tree / "src"), "/elsewhere"]


PROGRAM = """
import json, random, sys
print(json.dumps([random.randint(1, 1), sys.path, sys.argv, model.NUMBER]))
"""


def path_of(command: list[str], directory: Path, environment: dict[str, str]) -> list[Any]:
    process = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=True
    )
    answer: list[Any] = json.loads(process.stdout)
    return answer


@pytest.mark.parametrize("finder", [False, True])
def test_a_commit_sees_the_modules_that_a_checkout_of_it_sees(tmp_path: Path, finder: bool):  # noqa: FBT001
    """Also where modules at the top have names of Python's, and the package is editable."""
    top, control = tmp_path / "project", tmp_path / "control"
    for folder in (top / "src" / "model", top / "jobs", control):
        folder.mkdir(parents=True)
    (top / "random.py").write_text("raise SystemExit('the random of the repository')")
    (top / "sitecustomize.py").write_text("raise SystemExit('the sitecustomize, too')")
    (top / "src" / "model" / "__init__.py").write_text("NUMBER = 1")
    (top / "jobs" / "train.py").write_text(f"import model\n{PROGRAM}")
    (top / "pace.py").write_text("EXTRA_S = 1")
    (top / "wandb").mkdir()
    git(tmp_path, "init", "-q", str(top))
    git(top, "add", "-A")
    git(top, "commit", "-qm", "first")
    (top / "src" / "model" / "__init__.py").write_text("NUMBER = 2")
    # An environment beside the repository, in which the package is installed as it is edited.
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    (site,) = environment.glob("lib/python*/site-packages")
    if finder:
        (site / "__editable___model_finder.py").write_text(
            FINDER.format(str(top / "src" / "model"))
        )
        (site / "model.pth").write_text("import __editable___model_finder as f; f.install()")
    else:
        (site / "model.pth").write_text(str(top / "src"))
    command = [str(environment / "bin" / "python"), "train.py"]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    plain = path_of(command, top / "jobs", variables)
    assert plain[3] == 2
    repository = Repository.around(top / "jobs")
    with repository.tree(repository.commit("HEAD"), "base") as tree:
        version = repository.version(tuple(command), tree)
        run_variables = {k: v for k, v in version.environment.items() if k != "PYTHONPATH"}
        paths = path_of(
            list(version.command), version.directory, recorded_environment(run_variables, control)
        )
        words = [command[0], "-c", "import pace; print(pace.__file__)\nimport wandb"]
        places = recorded_environment(run_variables, control)
        last = subprocess.run(words, env=places, capture_output=True, text=True, check=False)
        # Nobody else has it; a folder is no module, here as in a checkout.
        assert last.stdout.strip() == str(tree / "pace.py")
        assert "No module named 'wandb'" in last.stderr
    assert paths[3] == 1
    assert paths[1] == [place.replace(str(top), str(tree)) for place in plain[1]]


FINDER = """
import sys
from importlib.util import spec_from_file_location
MAPPING = {{"model": {!r}}}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        place = MAPPING.get(name)
        return spec_from_file_location(name, place + "/__init__.py") if place else None
def install():
    sys.meta_path.append(Finder)
"""


MOVED_PROGRAM = """
import importlib, json
def origin(name):
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    return getattr(module, "__file__", None) or list(module.__path__)
names = ["package", "tools", "space", "space.part", "kept", "built", "installed"]
print(json.dumps([{name: origin(name) for name in names}]))
"""

SETUPTOOLS_FINDER = """
import sys
from importlib.machinery import ModuleSpec, all_suffixes
from importlib.util import spec_from_file_location
from pathlib import Path
MAPPING = {mapping!r}
NAMESPACES = {namespaces!r}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        parent, _, child = name.rpartition(".")
        if name in MAPPING:
            place = Path(MAPPING[name])
        elif parent in NAMESPACES and NAMESPACES[parent]:
            place = Path(NAMESPACES[parent][0]) / child
        elif name in NAMESPACES:
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = NAMESPACES[name]
            return spec
        else:
            return None
        files = [place / "__init__.py", *(place.with_suffix(one) for one in all_suffixes())]
        return next((spec_from_file_location(name, one) for one in files if one.exists()), None)
def install():
    sys.meta_path.append(Finder)
"""


@pytest.mark.parametrize("is_finder", [False, True], ids=["path", "finder"])
def test_a_commit_does_not_import_what_only_a_later_one_has(tmp_path: Path, is_finder: bool):  # noqa: FBT001
    """Packages were moved below `src` since; an environment and a build are no part of commits."""
    top, control = tmp_path / "project", tmp_path / "control"
    for folder in (top / "package", top / "lib", top / "jobs", control):
        folder.mkdir(parents=True)
    (top / "package" / "__init__.py").write_text("")
    (top / "lib" / "kept.py").write_text("")
    (top / "jobs" / "train.py").write_text(MOVED_PROGRAM)
    (top / ".gitignore").write_text(".venv\n")
    git(tmp_path, "init", "-q", str(top))
    git(top, "add", "-A")
    git(top, "commit", "-qm", "first")
    source = top / "src"
    (source / "space" / "part").mkdir(parents=True)
    (source / "space" / "part" / "__init__.py").write_text("")
    (source / "tools.py").write_text("")
    git(top, "mv", "package", "src/package")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "moved")
    # What git does not have, inside the repository: an environment, and modules that were built.
    venv.create(top / ".venv", with_pip=False, symlinks=True)
    (site,) = top.glob(".venv/lib/python*/site-packages")
    (site / "installed.py").write_text("")
    (source / "build").mkdir()
    (source / "build" / "built.py").write_text("")
    if is_finder:
        names = {"package": source, "tools": source, "kept": top / "lib", "built": source / "build"}
        (site / "__editable___finder.py").write_text(
            SETUPTOOLS_FINDER.format(
                mapping={name: str(place / name) for name, place in names.items()},
                namespaces={"space": [str(source / "space")]},
            )
        )
        (site / "project.pth").write_text("import __editable___finder as f; f.install()")
    else:
        places = (source, source / "build", top / "lib")
        (site / "project.pth").write_text("\n".join(map(str, places)))
    command = (str(top / ".venv" / "bin" / "python"), "train.py")
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    (before,) = path_of([*command], top / "jobs", variables)
    assert before["package"] == str(source / "package" / "__init__.py")
    assert None not in before.values()
    repository = Repository.around(top / "jobs")
    modules_by_ref = {}
    for ref in ("HEAD~1", "HEAD"):
        with repository.tree(repository.commit(ref), "base") as tree:
            version = repository.version(command, tree)
            places = recorded_environment(
                {k: v for k, v in version.environment.items() if k != "PYTHONPATH"}, control
            )
            (origins,) = path_of([*version.command], version.directory, places)
            modules_by_ref[ref] = {
                name: str(origin).replace(str(tree), "TREE") for name, origin in origins.items()
            }
    stays = {"built": before["built"], "installed": before["installed"]}
    assert modules_by_ref["HEAD~1"] == {
        **stays,
        "package": "TREE/package/__init__.py",
        "kept": "TREE/lib/kept.py",
        **dict.fromkeys(("tools", "space", "space.part"), "None"),
    }
    moved = {name: str(origin).replace(str(top), "TREE") for name, origin in before.items()}
    assert modules_by_ref["HEAD"] == {**moved, **stays}


def test_trees_of_a_process_that_was_killed_go_with_the_next(repository: Repository):
    commit = repository.commit("HEAD")
    program = (
        "import os, pathlib, signal, sys; from timesink.recorder.versions import Repository\n"
        "with Repository.around(pathlib.Path(sys.argv[1])).tree(sys.argv[2], 'base') as tree:\n"
        "    print(tree, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    words = [sys.executable, "-c", program, str(repository.top), commit]
    left = Path(subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip())
    other = left.parent.parent / f"{left.parent.name}-own" / "tree"
    git(repository.top, "worktree", "add", "--detach", str(other), commit)
    assert left.is_dir()
    with repository.tree(commit, "base") as running:
        assert not left.parent.exists()
        with repository.tree(commit, "new"):
            assert running.is_dir()
    # Whoever made it: it is not ours, though it is called as if.
    assert other.is_dir()
    assert len(git(repository.top, "worktree", "list").splitlines()) == 2
    shutil.rmtree(other.parent)


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
