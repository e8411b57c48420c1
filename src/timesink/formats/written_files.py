"""How what is written takes its place: whole, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from timesink.errors import OutputError


def replace_file(file: Path, blocks: Iterable[bytes | memoryview]) -> None:
    """Write a file that nobody ever reads half of; that it cannot be written is no error."""
    with suppress(OSError):
        handle, aside = tempfile.mkstemp(dir=file.parent, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.writelines(blocks)
            Path(aside).replace(file)
        except OSError:
            # A full disk: half a file is of no use.
            Path(aside).unlink()


def make_folder(folder: Path) -> None:
    """A folder for what is written, with those around it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError.unwritable(folder, error) from None


@contextmanager
def written_aside(path: Path, *, force: bool = True) -> Iterator[Path]:
    """A place to write a file or a folder to; it takes the name `path` when all went well.

    A file that is there is replaced; a folder only by `force`, else that is an error.
    """
    place = path.resolve()
    make_folder(place.parent)
    aside = place.with_name(f".timesink-{os.getpid()}.writing")
    try:
        yield aside
        if force and place.is_dir() and aside.is_dir():
            shutil.rmtree(place)
        aside.replace(place)
    except OSError as error:
        raise OutputError.unwritable(path, error) from None
    finally:
        if aside.is_dir():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.unlink(missing_ok=True)
