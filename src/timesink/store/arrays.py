"""Plain data and named blocks of bytes as one file; large arrays that are mapped, not read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Block: TypeAlias = bytes | memoryview

_LENGTH_BYTES = 8
_MARK = b"timesink arrays 2\n"
_ALIGNMENT = 64


def pack(
    mark: bytes, about: Mapping[str, Any], blocks: Mapping[str, Block], alignment: int = 1
) -> Iterator[Block]:
    """The content of a file that begins with a mark and has each block at an aligned place."""
    sizes = {name: len(block) for name, block in blocks.items()}
    head = json.dumps({"about": dict(about), "sizes": sizes}).encode()
    yield mark + len(head).to_bytes(_LENGTH_BYTES, "big") + head
    place = len(mark) + _LENGTH_BYTES + len(head)
    for block in blocks.values():
        yield bytes(-place % alignment)
        place += -place % alignment + len(block)
        yield block


def unpack(
    mark: bytes, content: Block, alignment: int = 1
) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """What `pack` was given, blocks as views of the content; ValueError where it is not whole."""
    view = memoryview(content)
    start = len(mark) + _LENGTH_BYTES
    if len(view) < start or bytes(view[: len(mark)]) != mark:
        raise ValueError(mark)
    place = start + int.from_bytes(view[len(mark) : start], "big")
    head = json.loads(bytes(view[start:place]))
    blocks = {}
    for name, size in head["sizes"].items():
        place += -place % alignment
        blocks[name] = view[place : place + size]
        place += size
    if place != len(view):
        raise ValueError(place)
    return dict(head["about"]), blocks


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """Arrays by name, and plain data about them."""

    about: dict[str, Any]
    """Whatever JSON can hold."""
    arrays: dict[str, NDArray[Any]]


def array_blocks(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[Block]:
    """The content of a file of arrays, in blocks."""
    flat = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    types = {name: array.dtype.str for name, array in flat.items()}
    # Empty arrays cannot be seen as bytes.
    blocks: dict[str, Block] = {
        name: array.data.cast("B") if array.nbytes else b"" for name, array in flat.items()
    }
    return pack(_MARK, {"about": dict(about), "types": types}, blocks, _ALIGNMENT)


def arrays_in(content: Block) -> Arrays | None:
    """What `array_blocks` was given, as views of the content; None where it is not whole."""
    try:
        head, blocks = unpack(_MARK, content, _ALIGNMENT)
        types = head["types"]
        arrays = {name: np.frombuffer(block, types[name]) for name, block in blocks.items()}
        return Arrays(head["about"], arrays)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
