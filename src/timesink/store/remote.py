"""Remote recordings: a copy on this machine while one is read, and a key without one."""

from __future__ import annotations

import hashlib
import importlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from timesink.errors import UnreadableError
from timesink.model.version import SCHEMA_VERSION
from timesink.readers.options import Progress
from timesink.readers.places import without_password
from timesink.readers.recording import Recording, RemoteFile
from timesink.readers.remote_places import connected, saying
from timesink.store.cache import READER_VERSION


def remote_key(recording: Recording) -> str:
    """Key of a remote recording and of what is read with it; empty where nobody knows versions.

    It is found without the network, and is the same on every machine.
    """
    files = [recording.remote, *recording.beside]
    versions = [file.version for file in files if file is not None]
    if not all(versions):
        return ""
    digest = hashlib.blake2b(f"remote {SCHEMA_VERSION}.{READER_VERSION}".encode(), digest_size=16)
    for version in versions:
        digest.update(b"\0" + version.encode())
    return digest.hexdigest()


@contextmanager
def on_this_machine(recording: Recording, progress: Progress | None = None) -> Iterator[Path]:
    """The path of a recording; a remote one is copied, and the copy removed in the end.

    >>> with on_this_machine(Recording(Path("a.json"), "a")) as path:
    ...     str(path)
    'a.json'
    """
    if recording.remote is None:
        yield recording.path
        return
    with tempfile.TemporaryDirectory(prefix="timesink-") as folder:
        copy = Path(folder) / recording.path.name
        _copy(recording.remote, copy, progress)
        for file in recording.beside:
            _copy(file, Path(folder) / Path(file.url.partition("::")[0]).name)
        try:
            yield copy
        except UnreadableError as error:
            # The copy is gone when anybody reads this.
            said = error.message.replace(str(copy), recording.source)
            raise UnreadableError(said, error.hint) from None


def _copy(file: RemoteFile, target: Path, progress: Progress | None = None) -> None:
    """Copy a remote file, piece by piece."""
    system, place = connected(file.url)
    try:
        with saying(file.url, "cannot be copied"):
            system.get_file(place, str(target), **_told(progress, file.size_bytes))
    except FileNotFoundError:
        raise UnreadableError.missing(without_password(file.url)) from None


def _told(progress: Progress | None, size: int) -> dict[str, Any]:
    """How a file system tells how far it is, where anybody wants to know."""
    if progress is None or not size:
        return {}
    callbacks = importlib.import_module("fsspec.callbacks")

    def tell(_size: int | None, done: int, **_: object) -> None:
        progress(min(done, size), size)

    return {"callback": callbacks.Callback(hooks={"progress": tell})}
