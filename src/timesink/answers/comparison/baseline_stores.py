"""What baselines may be called: a name is a file in every store, and never a way out of it."""

from __future__ import annotations

import os
import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from timesink.errors import OutputError, UnreadableError, UsageError
from timesink.formats.written_files import BASELINE_ENDING
from timesink.sources.places import without_password
from timesink.sources.remote import connected, saying

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MARK = "@"


def is_reference(text: str) -> bool:
    """Whether a baseline is meant, and no path."""
    return text.startswith(_MARK)


def checked_name(text: str) -> str:
    """The name of a baseline, given with its @ or without; refused where it is not safe."""
    name = text.removeprefix(_MARK)
    if _SAFE.fullmatch(name) is None:
        raise UsageError(
            f"{text!r} cannot be the name of a baseline",
            "begin with a letter or a digit; letters, digits, . _ and - may follow, 100 in all",
        )
    return name


def reference(name: str) -> str:
    """How a baseline is named where paths are."""
    return f"{_MARK}{name}"


# Where baselines are kept: a folder, or whatever a URL names (fsspec: s3://, gs://, sftp://).

DEFAULT = Path(".timesink") / "baselines"
"""Below the working directory."""
VARIABLE = "TIMESINK_BASELINES"
"""Names another store for all commands."""
ENDING = BASELINE_ENDING
"""Of the file that holds a baseline."""
_RENAMING = frozenset({"file", "local", "sftp", "ssh", "smb", "hdfs", "dir", "memory"})
"""File systems that show a file while it is written; others show whole objects only."""
_MISSING = (FileNotFoundError, NotADirectoryError)


def store_at(place: str | Path | None = None) -> BaselineStore:
    """The store of a folder or URL; without one that of the environment, or of this folder."""
    chosen = os.environ.get(VARIABLE) or DEFAULT if place is None else place
    if isinstance(chosen, str) and "://" in chosen:
        return RemoteStore(chosen)
    if not str(chosen):
        raise UsageError("the store of baselines is empty", "name a folder or a URL with --store")
    return FolderStore(Path(chosen))


class BaselineStore(ABC):
    """Baselines by name; names were checked before (`names.checked_name`)."""

    place: str
    """Where it is, as the user knows it."""

    def read(self, name: str) -> bytes | None:
        """The content of a baseline; None where there is none."""
        try:
            return self._read(f"{name}{ENDING}")
        except _MISSING:
            return None

    @abstractmethod
    def write(self, name: str, content: bytes) -> None:
        """Keep a baseline, in the place of one of its name; nobody ever reads half of it."""

    @abstractmethod
    def add(self, name: str, content: bytes) -> bool:
        """Keep a baseline where there is none of its name; False where there is."""

    def names(self) -> list[str]:
        """All baselines, in order; what is being written is none."""
        try:
            files = list(self._files())
        except _MISSING:
            return []
        return sorted(
            file.removesuffix(ENDING)
            for file in files
            if file.endswith(ENDING) and not file.startswith(".")
        )

    def remove(self, name: str) -> bool:
        """Take a baseline away; False where there is none."""
        try:
            self._remove(f"{name}{ENDING}")
        except _MISSING:
            return False
        return True

    @abstractmethod
    def _read(self, file: str) -> bytes: ...

    @abstractmethod
    def _files(self) -> Iterable[str]: ...

    @abstractmethod
    def _remove(self, file: str) -> None: ...


class FolderStore(BaselineStore):
    """Baselines as files of a folder, which is made when it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.place = folder, str(folder)

    def write(self, name: str, content: bytes) -> None:
        self._put(name, content, Path.replace)

    def add(self, name: str, content: bytes) -> bool:
        try:
            self._put(name, content, _link)
        except FileExistsError:
            return False
        return True

    def _put(self, name: str, content: bytes, move: Callable[[Path, Path], object]) -> None:
        """Write aside and move: a reader sees all of it, or what was there before."""
        file = self._folder / f"{name}{ENDING}"
        aside = self._folder / f".writing-{uuid.uuid4().hex}"
        try:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except FileExistsError as error:
                raise NotADirectoryError(error.errno, _why(error)) from None
            with aside.open("xb") as stream:
                stream.write(content)
            move(aside, file)
        except FileExistsError:
            raise
        except OSError as error:
            message = f"{file}: cannot be written ({_why(error)})"
            raise OutputError(message, "choose another place with --store") from None
        finally:
            with suppress(OSError):
                aside.unlink()

    def _read(self, file: str) -> bytes:
        try:
            return (self._folder / file).read_bytes()
        except _MISSING:
            raise
        except OSError as error:
            raise UnreadableError.denied(self._folder / file, _why(error)) from None

    def _files(self) -> Iterable[str]:
        try:
            return [one.name for one in self._folder.iterdir() if one.is_file()]
        except _MISSING:
            raise
        except OSError as error:
            raise UnreadableError.denied(self._folder, _why(error)) from None

    def _remove(self, file: str) -> None:
        try:
            (self._folder / file).unlink()
        except _MISSING:
            raise
        except OSError as error:
            message = f"{self._folder / file}: cannot be removed ({_why(error)})"
            raise OutputError(message, "check the permissions of the folder") from None


def _link(aside: Path, file: Path) -> None:
    """Give a file its name; of several at once one succeeds, and others find it taken."""
    try:
        file.hardlink_to(aside)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links: the name is taken first, and filled then.
        file.open("xb").close()
        aside.replace(file)


def _why(error: OSError) -> str:
    return error.strerror or str(error)


class RemoteStore(BaselineStore):
    """Baselines behind a URL."""

    def __init__(self, url: str) -> None:
        self.place = without_password(url)
        self._system, self._root = connected(url, otherwise="name a folder with --store")

    def write(self, name: str, content: bytes) -> None:
        file = f"{self._root}/{name}{ENDING}"
        names = self._system.protocol
        with saying(self.place, "cannot be written", OutputError):
            self._system.makedirs(self._root, exist_ok=True)
            if _RENAMING.isdisjoint({names} if isinstance(names, str) else names):
                self._system.pipe_file(file, content)
                return
            aside = f"{self._root}/.writing-{uuid.uuid4().hex}"
            try:
                self._system.pipe_file(aside, content)
                self._system.mv(aside, file)
            except BaseException:
                with suppress(Exception):
                    self._system.rm_file(aside)
                raise

    def add(self, name: str, content: bytes) -> bool:
        # Few file systems can do both at once.
        if name in self.names():
            return False
        self.write(name, content)
        return True

    def _read(self, file: str) -> bytes:
        with saying(self.place, "cannot be read"):
            content: bytes = self._system.cat_file(f"{self._root}/{file}")
        return content

    def _files(self) -> Iterable[str]:
        with saying(self.place, "cannot be listed"):
            self._system.invalidate_cache()
            found = self._system.ls(self._root, detail=False)
        return [str(path).rstrip("/").rpartition("/")[2] for path in found]

    def _remove(self, file: str) -> None:
        with saying(self.place, "cannot be removed", OutputError):
            if not self._system.exists(f"{self._root}/{file}"):
                raise FileNotFoundError(file)
            self._system.rm_file(f"{self._root}/{file}")
