"""A trace as a folder of Parquet files: the cache's format and an export format."""

from __future__ import annotations

import json
import mmap
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from isal.isal_zlib import crc32
from msgspec import structs

from timesink.errors import UnreadableError
from timesink.formats.small_files import small_content
from timesink.formats.stored_names import DESCRIPTION, SCHEMA_VERSION, is_folder
from timesink.formats.written_files import written_aside
from timesink.model.compiled_code import CompiledCode
from timesink.model.graph_facts import CaptureFailure, CaptureUse, GraphFacts
from timesink.model.health import RULES, HealthEntry
from timesink.model.recorded_run import recorded_run
from timesink.model.schema import TABLES
from timesink.model.trace import Device, Distributed, Metadata, Trace

_FEW_FILES = 128
"""Beyond this many open files in the process, tables are not held open any more."""


def write_folder(trace: Trace, folder: Path) -> None:
    """Write every table and a description into an existing, empty folder."""
    rows, checksums = {}, {}
    for name in TABLES:
        frame = trace.lazy(name).collect(engine="in-memory")
        rows[name] = frame.height
        if frame.height:
            try:
                frame.write_parquet(folder / f"{name}.parquet", compression="lz4", statistics=False)
            except pl.exceptions.PolarsError as error:
                # A full disk comes as an error of the format.
                raise OSError(str(error)) from None
            checksums[name] = _checksum(folder / f"{name}.parquet")
    facts = {
        name: msgspec.to_builtins(getattr(trace.metadata, name))
        for name in ("run", "graphs", "compiled")
    }
    content = {
        "rows": rows,
        "crc32": checksums,
        "metadata": {**asdict(trace.metadata), **facts},
        "health": [structs.asdict(entry) for entry in trace.health],
    }
    content_crc = crc32(json.dumps(content).encode("ascii"))
    description = {"timesink_schema": SCHEMA_VERSION, "own_crc32": content_crc, **content}
    # Written last: a folder without it is not complete.
    (folder / DESCRIPTION).write_text(json.dumps(description), encoding="ascii")


def export_folder(trace: Trace, folder: Path, *, force: bool = False) -> None:
    """Write a trace where the user asked; only an earlier export is replaced, and by force."""
    with written_aside(folder, force=force and is_folder(folder)) as aside:
        aside.mkdir()
        write_folder(trace, aside)


def read_folder(folder: Path, *, hold_open: bool = False) -> Trace:
    """Open a folder written by :func:`write_folder`; tables load when they are asked for.

    Every file must be as it was written, bit for bit.  With `hold_open` the tables can be loaded
    even after the folder is removed.
    """
    try:
        description: dict[str, Any] = json.loads(
            small_content(folder / DESCRIPTION, most_bytes=_MAX_BYTES)
        )
        schema = description["timesink_schema"]
        if schema != SCHEMA_VERSION:
            problem = f"exported with table schema {schema}, this timesink has {SCHEMA_VERSION}"
            raise UnreadableError(f"{folder}: {problem}", "export the original trace again")
        _check(folder, description)
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
        problem = f"not a complete export: {reason}"
        raise UnreadableError.damaged(folder, problem, "export the trace again") from None


_MAX_BYTES = 64 << 20
"""Of a description: a trace may hold facts of thousands of ranks."""
_DAMAGE = (
    OSError, pl.exceptions.PolarsError,
    AttributeError, KeyError, RecursionError, TypeError, ValueError,
)  # fmt: skip
"""What a description or a table that is not as it was written leads to."""


def _check(folder: Path, description: dict[str, Any]) -> None:
    content = {key: description[key] for key in ("rows", "crc32", "metadata", "health")}
    damaged = [DESCRIPTION] * (crc32(json.dumps(content).encode()) != description["own_crc32"])
    for name, rows in description["rows"].items():
        file = folder / f"{name}.parquet"
        if rows and _checksum(file) != description["crc32"][name]:
            damaged.append(file.name)
    if damaged:
        msg = f"{damaged[0]} is not as it was written"
        raise ValueError(msg)


def _checksum(file: Path) -> int:
    with file.open("rb") as opened:
        if not os.fstat(opened.fileno()).st_size:
            return 0
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return int(crc32(content))


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
    distributed, run, graphs = fields["distributed"], fields.get("run"), fields.get("graphs")
    compiled = fields.get("compiled")
    return Metadata(
        **{
            **fields,
            "devices": tuple(Device(**device) for device in fields["devices"]),
            "distributed": Distributed(**{**distributed, "groups": tuple(distributed["groups"])}),
            "run": None if run is None else recorded_run(run)[0],
            "graphs": None if graphs is None else _graph_facts(graphs),
            "compiled": None if compiled is None else msgspec.convert(compiled, CompiledCode),
        }
    )


def _graph_facts(fields: dict[str, Any]) -> GraphFacts:
    return GraphFacts(
        tuple(CaptureUse(**use) for use in fields["captures"]),
        tuple(CaptureFailure(**failure) for failure in fields["failures"]),
        tuple(map(int, fields["of_replay"])),
    )
