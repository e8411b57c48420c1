"""Baselines as files of a folder."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from timesink.errors import OutputError, UnreadableError
from timesink.reports.baselines.stores.store import ENDING, baseline_names

_ELSEWHERE = "choose another place with --store"


class FolderStore:
    """Baselines as files of a folder, which is made when it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def place(self) -> str:
        return str(self._folder)

    def read(self, name: str) -> bytes | None:
        try:
            return self._file(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise UnreadableError.denied(self._file(name), _why(error)) from None

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
        file = self._file(name)
        aside = self._folder / f".writing-{uuid.uuid4().hex}"
        try:
            self._made_folder()
            with aside.open("xb") as stream:
                stream.write(content)
            move(aside, file)
        except FileExistsError:
            raise
        except OSError as error:
            message = f"{file}: cannot be written ({_why(error)})"
            raise OutputError(message, _ELSEWHERE) from None
        finally:
            with suppress(OSError):
                aside.unlink()

    def _made_folder(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise NotADirectoryError(error.errno, _why(error)) from None

    def names(self) -> list[str]:
        try:
            files = [one.name for one in self._folder.iterdir() if one.is_file()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise UnreadableError.denied(self._folder, _why(error)) from None
        return baseline_names(files)

    def remove(self, name: str) -> bool:
        file = self._file(name)
        try:
            file.unlink()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            message = f"{file}: cannot be removed ({_why(error)})"
            raise OutputError(message, "check the permissions of the folder") from None
        return True

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}{ENDING}"


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
