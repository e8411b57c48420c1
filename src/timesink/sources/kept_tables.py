"""Several tables and what is said about them as one run of bytes, for answers that are kept."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from timesink.sources.kept_answers import Block, pack, unpack

_TABLES_MARK = b"timesink tables 1\n"


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Tables by name, and plain data about them."""

    about: dict[str, Any]
    """Whatever JSON can hold."""
    tables: dict[str, pl.DataFrame]


def to_bytes(
    about: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], *, small: bool = False
) -> bytes:
    """Tables with exact types and values; `small` takes longer to write."""
    blocks: dict[str, Block] = {}
    for name, table in tables.items():
        stream = io.BytesIO()
        table.write_ipc_stream(stream, compression="zstd" if small else "lz4")
        blocks[name] = stream.getvalue()
    return b"".join(pack(_TABLES_MARK, about, blocks))


def from_bytes(kept: bytes) -> Tables | None:
    """What `to_bytes` was given; None where the bytes are not whole."""
    try:
        about, blocks = unpack(_TABLES_MARK, kept)
        tables = {name: pl.read_ipc_stream(io.BytesIO(block)) for name, block in blocks.items()}
        return Tables(about, tables)
    except (AttributeError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        return None
