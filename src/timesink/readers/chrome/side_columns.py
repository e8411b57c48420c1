"""Columns beside those of the events: flow ids, counter samples."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Raw

from timesink.readers.chrome.argument_sets import DEVICE
from timesink.readers.chrome.columns import Group, PieceColumn, Tally, Vocabularies
from timesink.readers.chrome.envelopes import Lane
from timesink.readers.chrome.forgiving import load_each
from timesink.readers.chrome.timestamps import NULL_INT

_NOT_SAMPLED = frozenset({"hostname"})
"""Arguments of counter events that say where, not how much."""
_SAMPLED = ("index", "phase", "category", "ts_ns", "pid", "tid")
"""What a sample takes over from its event."""


def flow_ids(ids: Sequence[Lane]) -> PieceColumn:
    """Ids as numbers: text is read as one, or hashed alike in every process."""
    try:
        return PieceColumn(np.array(ids, np.int64))
    except (TypeError, ValueError, OverflowError):
        return PieceColumn(np.array([_flow_number(flow_id) for flow_id in ids], np.int64))


def _flow_number(flow_id: Lane) -> int:
    if flow_id is None:
        return NULL_INT
    try:
        number = int(flow_id, 0) if isinstance(flow_id, str) else flow_id
    except ValueError:
        number = 2**40 + zlib.crc32(str(flow_id).encode())
    return number if abs(number) < 2**63 else number % 2**62


def samples(
    group: Group, raws: Sequence[Raw], words: Vocabularies, tally: Tally, *, of_ranges: bool = False
) -> Group:
    """Counter values of these events: one row per series.

    Ranges of a hardware profiler name their metrics in the arguments, beside ordinary ones.
    """
    names = words.names.words()
    codes = group["name"].values
    rows: list[tuple[int, str, float]] = []
    for row, series in enumerate(load_each(raws, tally)):
        name = str(names[codes[row]]) if codes[row] >= 0 else ""
        known = DEVICE.known if of_ranges else _NOT_SAMPLED
        for key, value in _numbers(series, known, name, tally):
            alone = len(series.keys() - known) == 1 or key == "value"
            counter = key if of_ranges else name if alone else f"{name} {key}"
            rows.append((row, counter, value))
    where = np.array([row for row, _, _ in rows], np.intp)
    taken = {key: PieceColumn(group[key].values[where], group[key].vocabulary) for key in _SAMPLED}
    return {
        **taken,
        "counter": PieceColumn(words.names.encode(counter for _, counter, _ in rows), "names"),
        "value": PieceColumn(np.array([value for _, _, value in rows], np.float64)),
    }


def _numbers(
    series: dict[str, Any], skipped: frozenset[str], name: str, tally: Tally
) -> Iterator[tuple[str, float]]:
    for key, value in series.items():
        if key in skipped:
            continue
        try:
            # Numbers written as text count; true and false are no measurements.
            number = None if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = None
        if number is None:
            tally.add("bad_value", 1, f"counter {name}: {key} = {value!r}")
        else:
            yield key, number


def append(groups: dict[str, Group], name: str, more: Group) -> None:
    """Add rows to a group that several kinds of events feed."""
    if not len(more["index"].values):
        return
    known = groups.get(name)
    if known is None:
        groups[name] = more
        return
    groups[name] = {
        key: PieceColumn(
            np.concatenate((known[key].values, more[key].values)), more[key].vocabulary
        )
        for key in more
    }
