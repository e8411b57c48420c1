"""Several tables and what is said about them as one run of bytes, for answers that are kept."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

_MARK = b"timesink tables 1\n"
_HEAD_BYTES = 8


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
    blocks = {name: _packed(table, small=small) for name, table in tables.items()}
    sizes = {name: len(block) for name, block in blocks.items()}
    head = json.dumps({"about": dict(about), "sizes": sizes}).encode()
    return b"".join([_MARK, len(head).to_bytes(_HEAD_BYTES, "big"), head, *blocks.values()])


def from_bytes(kept: bytes) -> Tables | None:
    """What `to_bytes` was given; None where the bytes are not whole."""
    start = len(_MARK) + _HEAD_BYTES
    if not kept.startswith(_MARK) or len(kept) < start:
        return None
    end = start + int.from_bytes(kept[len(_MARK) : start], "big")
    try:
        head = json.loads(kept[start:end])
        if len(kept) != end + sum(head["sizes"].values()):
            return None
        return Tables(dict(head["about"]), _unpacked(kept, end, head["sizes"]))
    except (AttributeError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        return None


def _packed(table: pl.DataFrame, *, small: bool) -> bytes:
    stream = io.BytesIO()
    table.write_ipc_stream(stream, compression="zstd" if small else "lz4")
    return stream.getvalue()


def _unpacked(kept: bytes, start: int, sizes: Mapping[str, int]) -> dict[str, pl.DataFrame]:
    tables = {}
    for name, size in sizes.items():
        tables[name] = pl.read_ipc_stream(io.BytesIO(kept[start : start + size]))
        start += size
    return tables
