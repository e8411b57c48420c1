"""Behaviour tables below a folder."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from timesink.errors import UnreadableError
from timesink.readers import behaviour
from timesink.readers.beside import find_topology
from timesink.readers.discover import folders_below
from timesink.readers.names import is_named_as_table
from timesink.readers.registry import read_trace, reader_of
from timesink.readers.source import open_source

_ENDINGS = (".csv", ".csv.gz", ".parquet")


def find_behaviour_tables(folder: Path) -> list[Path]:
    """Every behaviour table in a folder and below it, in the order of their paths.

    A table is named `..._perf_data.csv[.gz]`, or has `behaviour` in its name, and is one by
    content.
    """
    found = (path for path in may_be_tables(folder) if is_named_as_table(path.name))
    return sorted(path for path in found if is_behaviour_table(path))


def may_be_tables(folder: Path) -> list[Path]:
    """Every file in a folder and below it that ends as tables do, whatever it holds."""
    return sorted(
        path
        for place in folders_below(folder)
        for path in place.iterdir()
        if path.name.lower().endswith(_ENDINGS) and path.is_file()
    )


def is_behaviour_table(path: Path) -> bool:
    """Whether a file is a behaviour table with all it needs, by content."""
    with suppress(UnreadableError, OSError):
        source = open_source(path)
        return behaviour.is_table(source.head())
    return False


def why_no_table(path: Path) -> str | None:
    """Why a file that may be meant as a table is none; None where it is something else.

    Counters, events, the description of a machine: these are read with what they belong to.
    """
    if find_topology(path) == path:
        return None
    try:
        reader = reader_of(open_source(path))
        if reader.NAME == behaviour.NAME:
            read_trace(path)
    except UnreadableError as error:
        return error.message
    except OSError as error:
        return UnreadableError.denied(path, error.strerror or str(error)).message
    return None
