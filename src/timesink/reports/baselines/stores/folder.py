"""Baselines as files of a folder."""

from __future__ import annotations

import uuid
from contextlib import suppress
from pathlib import Path

from timesink.errors import OutputError, UnreadableError
from timesink.reports.baselines.stores.store import ENDING

_ELSEWHERE = "choose another place with --store"


class FolderStore:
    """Baselines as files of a folder, which is made when it is needed.

    >>> import tempfile
    >>> store = FolderStore(Path(tempfile.mkdtemp()))
    >>> store.write("main", b"content")
    >>> store.names(), store.read("main"), store.remove("main"), store.remove("main")
    (['main'], b'content', True, False)
    """

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
        file = self._file(name)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            _replace(file, content)
        except OSError as error:
            message = f"{file}: cannot be written ({_why(error)})"
            raise OutputError(message, _ELSEWHERE) from None

    def names(self) -> list[str]:
        try:
            files = [one.name for one in self._folder.iterdir() if one.is_file()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise UnreadableError.denied(self._folder, _why(error)) from None
        return sorted(name.removesuffix(ENDING) for name in files if _is_baseline(name))

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


def _is_baseline(file: str) -> bool:
    return file.endswith(ENDING) and not file.startswith(".")


def _replace(file: Path, content: bytes) -> None:
    """Write aside and rename: a reader sees the old content or the new."""
    aside = file.parent / f".writing-{uuid.uuid4().hex}"
    try:
        with aside.open("xb") as stream:
            stream.write(content)
        aside.replace(file)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise


def _why(error: OSError) -> str:
    return error.strerror or str(error)
