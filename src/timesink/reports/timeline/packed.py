"""Arrays for browsers: a JSON head that lists them, then their bytes, each at a multiple of 8."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 8
_LENGTH_BYTES = 4
_TYPES = {"<f8": "f64", "<u4": "u32", "<i4": "i32", "<u2": "u16", "|u1": "u8"}


def packed(head: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    r"""A head and arrays as one run of bytes, little-endian."""
    little = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }
    listed = [[name, _TYPES[array.dtype.str], len(array)] for name, array in little.items()]
    text = msgspec.json.encode({**head, "arrays": listed})
    text += b" " * (-(len(text) + _LENGTH_BYTES) % _ALIGNMENT)
    parts: list[bytes] = [len(text).to_bytes(_LENGTH_BYTES, "little"), text]
    for array in little.values():
        parts += [array.tobytes(), bytes(-array.nbytes % _ALIGNMENT)]
    return b"".join(parts)
