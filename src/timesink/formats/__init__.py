"""Formats of recordings: a folder or file for each, reader and writer beside each other.

Here is what all of them share: the choices a caller may make for a reading, and how what is written
takes its place.  None of it loads a format.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from timesink.errors import OutputError

if TYPE_CHECKING:
    from timesink.runtime import Workers

# How to read: the choices a caller may make, the same for every format.

Progress = Callable[[int, int], None]
"""Called with (bytes read, bytes in all) of the packed file."""

IsChosen = Callable[[str], bool]
"""Whether a call is chosen, by its name."""


def tell_of_set(progress: Progress | None, done: int, total: int, damaged: int) -> None:
    """Say how reading a set goes, in files.

    Who has a method `of_set` learns how many are damaged, others (done, total) as of one file.
    """
    of_set = getattr(progress, "of_set", None)
    if of_set is not None:
        of_set(done, total, damaged)
    elif progress is not None:
        progress(done, total)


class ReadOptions(msgspec.Struct, frozen=True):
    """Choices for one reading.

    ``jobs`` is the number of processes for one file; None takes what the machine has.
    ``crew`` are processes already at work on the file.

    ``brief`` asks for what happened when, and no more: a reader may then leave out the tables
    `memory`, `flows` and `event_args`, and of `host` and `device` what describes an event but
    neither names, places, links nor measures it: stacks, modules, Python ids, blocks, registers,
    occupancy, graphs.  Inputs stay for the host calls it chooses by their names.  The rest, and
    what is said of the health of the recording, is the same.
    """

    jobs: int | None = None
    progress: Progress | None = None
    crew: Workers | None = None
    brief: IsChosen | None = None


# Writing beside the place that was asked for, so that nothing half written is ever found there.

BASELINE_ENDING = ".baseline"
"""Of files of baselines; no other result is called so."""
SERIES = ".history"
"""Of folders with the rows of a series of commits."""
STORE = Path(".timesink") / "baselines"
"""Where both are kept, unless a store is named: below the working directory."""


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


# How a folder written by timesink is told from others, without loading what reads it.

DESCRIPTION = "trace.json"
SCHEMA_VERSION = 5
"""Raised whenever a table changes; part of every cache key and of every exported folder."""


def is_folder(folder: Path) -> bool:
    """Whether this is a trace written as a folder of Parquet files."""
    try:
        with (folder / DESCRIPTION).open("rb") as file:
            return b'"timesink_schema"' in file.read(64)
    except OSError:
        return False
