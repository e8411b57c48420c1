"""Arguments one by one, whatever their types: what the fast decoders refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from timesink.readers.chrome.argument_sets import ValueType
from timesink.readers.chrome.columns import Tally
from timesink.readers.chrome.timestamps import NULL_INT

PACKED_ARGUMENTS = "args"
"""A JSON text under this key holds further arguments."""


def load_each(raws: Sequence[Raw], tally: Tally) -> list[dict[str, Any]]:
    """Arguments as dicts, those packed as JSON text unpacked."""
    loaded: list[dict[str, Any]] = []
    for raw in raws:
        value = msgspec.json.decode(raw)
        if not isinstance(value, dict):
            tally.add("bad_value", 1, f"args: {value!r}")
            value = {}
        loaded.append(_unpacked(value))
    return loaded


def _unpacked(arguments: dict[str, Any]) -> dict[str, Any]:
    packed = arguments.get(PACKED_ARGUMENTS)
    if not isinstance(packed, str):
        return arguments
    try:
        inner = msgspec.json.decode(packed)
    except msgspec.DecodeError:
        return arguments
    rest = {key: value for key, value in arguments.items() if key != PACKED_ARGUMENTS}
    return {**inner, **rest} if isinstance(inner, dict) else arguments


def _as_int(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        number = int(value, 0) if isinstance(value, str) else int(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return number if NULL_INT < number < 2**63 else None


def _as_float(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (ValueError, TypeError):
        return None


def _as_lane(value: Any) -> int | str | None:
    return value if isinstance(value, (int, str)) and not isinstance(value, bool) else None


CONVERSIONS: dict[ValueType, Callable[[Any], Any]] = {
    "int": _as_int,
    "float": _as_float,
    "lane": _as_lane,
    "text": msgspec.json.encode,
}
"""A value as what its column holds; None where it is no such thing."""
