"""Events without their arguments: the structs they are decoded into, from fast to general."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Raw

from timesink.model.vendors import DEVICE_CATEGORIES, FLOW_CATEGORIES, HOST_CATEGORIES
from timesink.readers.chrome.arguments import NO_ARGUMENTS, NO_RAW
from timesink.readers.chrome.timestamps import (
    EXACT_FLOAT_LIMIT_US,
    NULL_INT,
    Int64Array,
    float_us_to_ns,
    text_us_to_ns,
)

Lane = int | str | None
Fields = list[tuple[Any, ...]]
"""One tuple per field of the envelope, in the order of its fields."""
_NAN = float("nan")
_WHOLE_FLOAT_LIMIT_US = 2.0**53
"""Below this a float64 holds whole microseconds exactly (and their ns fit 64 bits)."""
_TIMES = slice(5, 7)
"""Where `ts` and `dur` stand among the fields."""

_CAPITALISED = ("Operator", "Runtime", "Kernel", "Memcpy", "Memset", "Python", "Trace")
_CATEGORIES = (
    *HOST_CATEGORIES,
    *DEVICE_CATEGORIES,
    *FLOW_CATEGORIES,
    *_CAPITALISED,
    "cpu_instant_event",
)
# Decoding a known text gives the one string that stands for it: nothing is allocated, and its hash
# is known.  An unknown text makes the piece take the next envelope.
_KnownPhase: Any = Literal["X", "s", "t", "f", "i", "M", "C"]
_KnownCategory: Any = Literal[_CATEGORIES]


class TextEnvelope(msgspec.Struct, gc=False):
    """An event with its times as they were written, number or string: exact, and slowest."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: Lane = None
    tid: Lane = None
    ts: Raw = NO_RAW
    dur: Raw = NO_RAW
    id: Lane = None
    args: Raw = NO_ARGUMENTS


def _decoder(name: str, phase: Any, category: Any, time: Any) -> msgspec.json.Decoder[Any]:
    """A decoder of lists of events that differ from `TextEnvelope` in these types."""
    struct: Any = msgspec.defstruct(
        name,
        [
            ("ph", phase | None, None),
            ("cat", category | None, None),
            ("name", str | None, None),
            ("pid", Lane, None),
            ("tid", Lane, None),
            ("ts", time, _NAN),
            ("dur", time, _NAN),
            ("id", Lane, None),
            ("args", Raw, NO_ARGUMENTS),
        ],
        gc=False,
    )
    return msgspec.json.Decoder(list[struct])


ENVELOPES: tuple[msgspec.json.Decoder[Any], ...] = (
    _decoder("FamiliarEnvelope", _KnownPhase, _KnownCategory, float),
    _decoder("Envelope", str, str, float),
    # Whole microseconds since 1970 fit no float64 with decimals, but they are integers.
    _decoder("FamiliarNumberEnvelope", _KnownPhase, _KnownCategory, int | float),
    _decoder("NumberEnvelope", str, str, int | float),
    msgspec.json.Decoder(list[TextEnvelope]),
)
"""From the fastest to the most general; a piece takes the first that is exact for it."""


def transpose(envelopes: Sequence[Any]) -> Fields:
    """Fields of the events, each as one tuple; empty when there are no events."""
    return list(zip(*map(msgspec.structs.astuple, envelopes), strict=True))


def exact_times(fields: Fields) -> list[Int64Array] | None:
    """Start and duration in ns, or None when digits that were written are gone."""
    exact = [_exact_ns(times) for times in fields[_TIMES]]
    kept = [times for times in exact if times is not None]
    return kept if len(kept) == len(exact) else None


def _exact_ns(times: Sequence[Any]) -> Int64Array | None:
    if isinstance(times[0], Raw):
        return text_us_to_ns([bytes(raw) for raw in times])
    try:
        as_floats = np.array(times, np.float64)
    except OverflowError:
        return None
    largest = np.nanmax(np.abs(as_floats), initial=0.0)
    if largest < EXACT_FLOAT_LIMIT_US:
        return float_us_to_ns(as_floats)
    # Only a missing time is the one NaN; `count` finds it by identity.
    integers = list(map(type, times)).count(int)
    if integers + times.count(_NAN) < len(times) or largest >= _WHOLE_FLOAT_LIMIT_US:
        return None
    missing = np.isnan(as_floats)
    return np.where(missing, NULL_INT, np.where(missing, 0, as_floats).astype(np.int64) * 1000)
