"""Versions of a program to run in turn: commands, and commits in work trees of their own.

The user's own work tree and index are left alone.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from timesink.errors import CollectError, UsageError, reason_of
from timesink.recorder.processes import birth, is_running
from timesink.recorder.recording import LEAVES_S, Running, start


@dataclass(frozen=True)
class Version:
    """How one version of a program is run."""

    command: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str]


def as_it_is(command: tuple[str, ...], directory: Path) -> Version:
    """The program where it is, with our variables.

    >>> as_it_is(("python", "train.py"), Path("/code")).directory.name
    'code'
    """
    return Version(command, directory, os.environ)


# Commits.

_OF_ANOTHER = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
"""Variables that a hook of git is called with; they would lead us astray."""


TREE_VARIABLE = "TIMESINK_TREE"
"""Tells a program where the repository is, and the work tree that is meant instead."""
_PREFIX = "timesink-ab-"
_OWNER = "owner.pid"
"""Beside a work tree: the process that made it, and when that started."""
_ABSENT = "absent"
"""Beside a work tree: what git has of the repository and the commit does not, NUL between two."""


def _is_stale(place: Path) -> bool:
    """Whether a folder is one of ours, made by a process of this user that runs no more."""
    if not place.name.startswith(_PREFIX) or place.is_symlink():
        return False
    with suppress(OSError, ValueError):
        file = place / _OWNER
        is_mine = not hasattr(os, "getuid") or file.lstat().st_uid == os.getuid()
        number, _, born = file.read_text().partition(" ")
        return is_mine and not is_running(int(number), born)
    return False


@dataclass(frozen=True)
class Repository:
    """A git repository, and the folder of it that we are in."""

    top: Path
    directory: Path

    @classmethod
    def around(cls, directory: Path) -> Repository:
        """The repository that a folder belongs to."""
        hint = "leave out --base-ref and --new-ref, or start in a git repository"
        try:
            top = git(directory, "rev-parse", "--show-toplevel")
        except FileNotFoundError:
            raise CollectError("git is not installed, or not on PATH", hint) from None
        except subprocess.CalledProcessError:
            raise UsageError(f"{directory}: not in a git repository", hint) from None
        return cls(Path(top).resolve(), directory.resolve())

    def commit(self, ref: str, option: str = "--base-ref") -> str:
        """The full name of a commit."""
        try:
            return git(self.top, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}")
        except subprocess.CalledProcessError:
            raise UsageError(
                f"{option} {ref}: no such commit in {self.top}",
                "name a branch, a tag or a commit; git fetch gets remote ones",
            ) from None

    @contextmanager
    def tree(self, commit: str, name: str) -> Iterator[Path]:
        """A work tree of a commit in a temporary folder; it goes again, whatever happens."""
        self.remove_stale()
        place = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        tree = place / name
        try:
            (place / _OWNER).write_text(f"{os.getpid()} {birth(os.getpid())}")
            try:
                git(self.top, "worktree", "add", "--force", "--detach", str(tree), commit)
                absent = sorted(self._places("ls-files") - self._places("ls-tree", "-r", commit))
            except subprocess.CalledProcessError as error:
                complaint = (error.stderr.strip().splitlines() or ["git gives no reason"])[-1]
                hint = "try  git worktree add --detach /tmp/tree  with it"
                raise CollectError(f"no work tree of {commit[:10]} ({complaint})", hint) from None
            (place / _ABSENT).write_bytes(b"\0".join(map(os.fsencode, absent)))
            yield tree
        finally:
            self._remove(tree)

    def _places(self, command: str, *words: str) -> set[str]:
        """Files that git lists below the top, and the folders that hold them."""
        named = ["--name-only"] if command == "ls-tree" else []
        files = git(self.top, command, "-z", *named, *words, errors="surrogateescape").split("\0")
        places = {name for name in files if name}
        for name in files:
            folder = name.rpartition("/")[0]
            while folder and folder not in places:
                places.add(folder)
                folder = folder.rpartition("/")[0]
        return places

    def remove_stale(self) -> None:
        """Remove work trees of others like us that were killed; those of anybody else stay."""
        with suppress(subprocess.CalledProcessError, OSError):
            listed = git(self.top, "worktree", "list", "--porcelain").splitlines()
            for line in listed:
                tree = Path(line.removeprefix("worktree "))
                if line.startswith("worktree ") and _is_stale(tree.parent):
                    self._remove(tree)

    def _remove(self, tree: Path) -> None:
        with suppress(subprocess.CalledProcessError):
            git(self.top, "worktree", "remove", "--force", "--force", str(tree))
        shutil.rmtree(tree.parent, ignore_errors=True)
        with suppress(subprocess.CalledProcessError):
            git(self.top, "worktree", "prune")

    def version(self, command: tuple[str, ...], tree: Path) -> Version:
        """The command as it is run in a work tree, in the same folder below its top."""
        directory = tree / self.directory.relative_to(self.top)
        if not directory.is_dir():
            raise CollectError(
                f"{self.directory.relative_to(self.top)}: no such folder in that commit",
                "start in a folder that both commits have",
            )
        words = tuple(self._placed(word, directory, tree) for word in command)
        return Version(words, directory, self._variables(tree))

    def _placed(self, word: str, directory: Path, tree: Path) -> str:
        """A word whose path means the same as before, or its like in the tree.

        What is not in git, such as data or an environment, stays where it is.
        """
        option, equals, text = word.rpartition("=")
        path = Path(text)
        there = self.directory / path
        if not text or not there.exists():
            return word
        if path.is_absolute():
            inside = self._in_tree(path, tree)
            return f"{option}{equals}{inside}" if inside and inside.exists() else word
        # A word that only looks like the name of a folder is none.
        is_path = there.is_file() or "/" in text
        return word if (directory / path).exists() or not is_path else f"{option}{equals}{there}"

    def _variables(self, tree: Path) -> dict[str, str]:
        """Ours, in which places of the repository are those in the tree.

        No place is added, for that would hide modules of Python and of others.  Every Python that
        the command starts moves places it knows by itself, as of an editable install, and looks
        in the tree for what is nowhere else: see `site/sitecustomize.py`.
        """
        before = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
        moved = [str(self._in_tree(Path(place), tree) or place) for place in before]
        variables = {**os.environ, TREE_VARIABLE: os.pathsep.join((str(self.top), str(tree)))}
        return variables | ({"PYTHONPATH": os.pathsep.join(moved)} if moved else {})

    def _in_tree(self, path: Path, tree: Path) -> Path | None:
        """Where something of the repository is in the tree; None for what is not of it."""
        for candidate in (path, path.resolve()):
            if path.is_absolute() and candidate.is_relative_to(self.top):
                return tree / candidate.relative_to(self.top)
        return None


def git(directory: Path, *words: str, errors: str = "replace") -> str:
    """What git says in a folder; `errors` as of `str.decode`, for names that are no text.

    >>> git(Path(), "--version").split()[0]
    'git'
    """
    variables = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER}
    # Hooks are for checkouts of people.  In a group of its own: Ctrl-C must not stop a clean-up.
    command = ["git", "-c", f"core.hooksPath={os.devnull}", *words]
    process = subprocess.run(  # noqa: S603 - as written here
        command, cwd=directory, env=variables, capture_output=True, text=True, errors=errors,
        check=True, stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    return process.stdout.strip()


def state_of(directory: Path) -> tuple[str | None, bool]:
    """The commit that a folder is at, and whether its files differ from it; None without git."""
    try:
        head = git(directory, "rev-parse", "--verify", "HEAD")
        return head, bool(git(directory, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):
        return None, False


def set_up(
    words: str,
    version: Version,
    log: Path,
    say: Callable[[str], None],
    interruptions: list[int],
) -> None:
    """Run what prepares a version, in its folder; what it says goes to a file."""
    command = shlex.split(words)
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        process = start(
            command, version.environment, directory=version.directory, log=log, is_alone=True
        )
    except OSError as error:
        message = f"--setup: {command[0]} cannot be started ({reason_of(error)})"
        raise CollectError(message, "check the name and PATH; no shell runs it") from None
    running = Running(process, interruptions, lambda: False, say, patience_s=LEAVES_S)
    ended = running.to_the_end(lambda: None)
    if ended.status and not interruptions:
        raise CollectError(
            f"--setup failed with exit code {ended.status}", f"its output is in {log}"
        )
