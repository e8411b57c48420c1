"""Large arrays and what is said about them as one file that is mapped, not read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

Block: TypeAlias = bytes | memoryview

_MARK = b"timesink arrays 1\n"
_LENGTH_BYTES = 8
_ALIGNMENT = 64


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """Arrays by name, and plain data about them."""

    about: dict[str, Any]
    """Whatever JSON can hold."""
    arrays: dict[str, NDArray[Any]]


def array_blocks(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[Block]:
    """The content of a file of arrays, in blocks."""
    flat = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    listed = [(name, array.dtype.str, len(array)) for name, array in flat.items()]
    head = msgspec.json.encode({"about": about, "arrays": listed})
    yield _MARK + len(head).to_bytes(_LENGTH_BYTES, "big") + head
    place = len(_MARK) + _LENGTH_BYTES + len(head)
    for array in flat.values():
        yield bytes(-place % _ALIGNMENT)
        place += -place % _ALIGNMENT + array.nbytes
        # Empty arrays cannot be seen as bytes.
        yield array.data.cast("B") if array.nbytes else b""


def arrays_in(content: bytes | memoryview) -> Arrays | None:
    """What `array_blocks` was given, as views of the content; None where it is not whole."""
    view = memoryview(content)
    start = len(_MARK) + _LENGTH_BYTES
    if len(view) < start or bytes(view[: len(_MARK)]) != _MARK:
        return None
    place = start + int.from_bytes(view[len(_MARK) : start], "big")
    arrays = {}
    try:
        head = msgspec.json.decode(view[start:place])
        for name, dtype, length in head["arrays"]:
            place += -place % _ALIGNMENT
            arrays[name] = np.frombuffer(view, dtype, length, place)
            place += arrays[name].nbytes
        return Arrays(head["about"], arrays) if place == len(view) else None
    except (KeyError, TypeError, ValueError, msgspec.DecodeError):
        return None
