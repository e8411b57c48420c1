"""A trace as a folder of Parquet files: the cache's format and an export format."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from timesink.errors import OutputError, UnreadableError
from timesink.model.health import HealthEntry
from timesink.model.schema import TABLES
from timesink.model.trace import Device, Distributed, Metadata, Trace
from timesink.model.version import SCHEMA_VERSION
from timesink.writers.marks import DESCRIPTION


def write_folder(trace: Trace, folder: Path) -> None:
    """Write every table and a description into an existing, empty folder."""
    rows = {}
    for name in TABLES:
        frame = trace.lazy(name).collect()
        rows[name] = frame.height
        if frame.height:
            frame.write_parquet(folder / f"{name}.parquet", compression="lz4", statistics=False)
    description = {
        "timesink_schema": SCHEMA_VERSION,
        "rows": rows,
        "metadata": asdict(trace.metadata),
        "health": [asdict(entry) for entry in trace.health],
    }
    # Written last: a folder without it is not complete.
    (folder / DESCRIPTION).write_bytes(msgspec.json.encode(description))


def export_folder(trace: Trace, folder: Path, *, force: bool = False) -> None:
    """Write a trace where the user asked; an existing folder is replaced only by force."""
    aside = folder.with_name(f".{folder.name}.writing")
    try:
        aside.mkdir()
        write_folder(trace, aside)
        if force and folder.is_dir():
            shutil.rmtree(folder)
        aside.rename(folder)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise OutputError.unwritable(folder, error.strerror or str(error)) from None


def read_folder(folder: Path) -> Trace:
    """Open a folder written by :func:`write_folder`; tables load when they are asked for."""
    try:
        description: dict[str, Any] = msgspec.json.decode((folder / DESCRIPTION).read_bytes())
        schema = description["timesink_schema"]
        if schema != SCHEMA_VERSION:
            raise UnreadableError(
                f"{folder}: exported with table schema {schema}, this timesink has {SCHEMA_VERSION}",
                "export the original trace again",
            )
        frames = {
            name: pl.scan_parquet(folder / f"{name}.parquet")
            for name, rows in description["rows"].items()
            if rows
        }
        return Trace(
            metadata=_metadata(description["metadata"]),
            health=tuple(HealthEntry(**entry) for entry in description["health"]),
            frames=frames,
        )
    except (OSError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise UnreadableError.damaged(
            folder, f"not a complete trace folder: {error}", "export the original trace again"
        ) from None


def _metadata(fields: dict[str, Any]) -> Metadata:
    distributed = fields["distributed"]
    return Metadata(
        **{
            **fields,
            "devices": tuple(Device(**device) for device in fields["devices"]),
            "distributed": Distributed(**{**distributed, "groups": tuple(distributed["groups"])}),
        }
    )
