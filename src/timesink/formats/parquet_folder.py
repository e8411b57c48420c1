"""A trace as a folder of Parquet files: the cache's format and an export format."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from timesink.errors import UnreadableError
from timesink.formats.written_files import DESCRIPTION, SCHEMA_VERSION, is_folder, written_aside
from timesink.model.health import RULES, HealthEntry
from timesink.model.recorded_run import recorded_run
from timesink.model.schema import TABLES
from timesink.model.trace import Device, Distributed, Metadata, Trace

_FEW_FILES = 128
"""Beyond this many open files in the process, tables are not held open any more."""


def write_folder(trace: Trace, folder: Path) -> None:
    """Write every table and a description into an existing, empty folder."""
    rows = {}
    for name in TABLES:
        frame = trace.lazy(name).collect()
        rows[name] = frame.height
        if frame.height:
            try:
                frame.write_parquet(folder / f"{name}.parquet", compression="lz4", statistics=False)
            except pl.exceptions.PolarsError as error:
                # A full disk comes as an error of the format.
                raise OSError(str(error)) from None
    description = {
        "timesink_schema": SCHEMA_VERSION,
        "rows": rows,
        "metadata": asdict(trace.metadata),
        "health": [asdict(entry) for entry in trace.health],
    }
    # Written last: a folder without it is not complete.
    (folder / DESCRIPTION).write_text(json.dumps(description), encoding="ascii")


def export_folder(trace: Trace, folder: Path, *, force: bool = False) -> None:
    """Write a trace where the user asked; only an earlier export is replaced, and by force."""
    with written_aside(folder, force=force and is_folder(folder)) as aside:
        aside.mkdir()
        write_folder(trace, aside)


def read_folder(folder: Path, *, hold_open: bool = False) -> Trace:
    """Open a folder written by :func:`write_folder`; tables load when they are asked for.

    With `hold_open` the tables can be loaded even after the folder is removed.
    """
    try:
        description: dict[str, Any] = json.loads((folder / DESCRIPTION).read_bytes())
        schema = description["timesink_schema"]
        if schema != SCHEMA_VERSION:
            said = f"exported with table schema {schema}, this timesink has {SCHEMA_VERSION}"
            raise UnreadableError(f"{folder}: {said}", "export the original trace again")
        health = [HealthEntry(**entry) for entry in description["health"]]
        unknown = [entry.code for entry in health if entry.code not in RULES]
        if unknown:
            raise ValueError(f"unknown health code {unknown[0]!r}")
        return Trace(
            metadata=_metadata(description["metadata"]),
            health=tuple(health),
            frames={
                name: _scan_table(folder, name, hold_open=hold_open)
                for name, rows in description["rows"].items()
                if rows
            },
        )
    except _DAMAGE as error:
        text = f"no {error}" if isinstance(error, KeyError) else str(error)
        reason, _, _ = text.strip().partition("\n")
        said = f"not a complete export: {reason}"
        raise UnreadableError.damaged(folder, said, "export the trace again") from None


_DAMAGE = (OSError, pl.exceptions.PolarsError, AttributeError, KeyError, TypeError, ValueError)
"""What a description or a table that is not as it was written leads to."""


def _scan_table(folder: Path, name: str, *, hold_open: bool) -> pl.LazyFrame:
    """A table whose file is there, whole and of the right columns; its rows are not read."""
    file = folder / f"{name}.parquet"
    if hold_open:
        with file.open("rb") as opened:
            # Numbers are given out from the lowest, so a high one means that many files are open.
            frame = pl.scan_parquet(opened if opened.fileno() < _FEW_FILES else file)
    else:
        frame = pl.scan_parquet(file)
    if frame.collect_schema() != TABLES[name].schema:
        raise ValueError(f"{file.name} has other columns")
    return frame


def _metadata(fields: dict[str, Any]) -> Metadata:
    distributed, run = fields["distributed"], fields.get("run")
    return Metadata(
        **{
            **fields,
            "devices": tuple(Device(**device) for device in fields["devices"]),
            "distributed": Distributed(**{**distributed, "groups": tuple(distributed["groups"])}),
            "run": None if run is None else recorded_run(run)[0],
        }
    )
