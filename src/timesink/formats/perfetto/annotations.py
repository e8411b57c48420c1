"""Arguments of events of a Perfetto trace, from annotations of any depth to JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.formats.perfetto import numbers as n
from timesink.formats.perfetto.packets import Packets, count_broken
from timesink.formats.wire import LENGTH, Fields, Integers, split_messages
from timesink.model.arrays import run_slices
from timesink.model.health import HealthEntry

MAX_DEPTH = 16
"""Annotations inside one another; what lies deeper is left out, and counted."""

_NUMBERS = (n.UNSIGNED, n.INTEGER, n.POINTER)
_FORMS = (n.BOOLEAN, *_NUMBERS, n.DOUBLE, n.STRING, n.LEGACY_JSON, n.STRING_IID, n.ENTRIES, n.ITEMS)
_encode = msgspec.json.Encoder().encode


class Annotations(msgspec.Struct, frozen=True):
    """Annotations of events, in the order of the file."""

    owner: Integers
    """The event each belongs to."""
    keys: list[str | None]
    values: list[bytes]
    """As JSON."""


def read_annotations(packets: Packets, packet: Integers, events: Fields) -> Annotations:
    """The annotations of track events; `packet` is the packet of each event."""
    owner, starts, ends = events.submessages(n.ANNOTATIONS)
    names = packets.names(n.ANNOTATION_NAMES)
    strings = packets.names(n.STRINGS)
    keys, values = _read_level(packets, packet[owner], (starts, ends), (names, strings), 0)
    return Annotations(owner, keys, values)


def _read_level(
    packets: Packets,
    packet: Integers,
    ranges: tuple[Integers, Integers],
    tables: tuple[pl.DataFrame, pl.DataFrame],
    depth: int,
) -> tuple[list[str | None], list[bytes]]:
    """Keys and values of annotations, with what lies inside them."""
    fields = split_messages(packets.data, *ranges)
    count_broken(fields, "an argument", packets.health)
    count = len(ranges[0])
    names, strings = tables
    keys = fields.text_of(n.ANNOTATION_NAME, count)
    iids = fields.numbers(n.ANNOTATION_NAME_IID, count)
    numbered = np.flatnonzero(iids)
    looked_up = packets.look_up(names, packet[numbered], iids[numbered]).to_list()
    for row, name in zip(numbered.tolist(), looked_up, strict=True):
        keys[row] = keys[row] or name
    values = [b"null"] * count
    rows = np.flatnonzero(np.isin(fields.number, _FORMS))
    forms = fields.number[rows]
    _fill_scalars(fields, rows, forms, values)
    references = rows[forms == n.STRING_IID]
    at = fields.message[references]
    texts = packets.look_up(strings, packet[at], fields.value[references]).to_list()
    for row, text in zip(at.tolist(), texts, strict=True):
        values[row] = b"null" if text is None else _encode(text)
    for form, brackets in ((n.ITEMS, b"[]"), (n.ENTRIES, b"{}")):
        nested = rows[(forms == form) & (fields.wire_type[rows] == LENGTH)]
        if not len(nested):
            continue
        if depth >= MAX_DEPTH:
            example = "arguments nested too deeply"
            packets.health.append(HealthEntry("bad_value", len(nested), example))
            continue
        of = fields.message[nested]
        begin = fields.value[nested]
        inside = (begin, begin + fields.length[nested])
        inner_keys, inner = _read_level(packets, packet[of], inside, tables, depth + 1)
        if form == n.ENTRIES:
            inner = [
                _encode(key or "") + b":" + value
                for key, value in zip(inner_keys, inner, strict=True)
            ]
        parts: dict[int, list[bytes]] = {}
        for row, value in zip(of.tolist(), inner, strict=True):
            parts.setdefault(row, []).append(value)
        for row, members in parts.items():
            values[row] = brackets[:1] + b",".join(members) + brackets[1:]
    return keys, values


def _fill_scalars(fields: Fields, rows: Integers, forms: Integers, values: list[bytes]) -> None:
    """Put numbers, truths and texts in their places, as JSON."""
    chosen = rows[np.isin(forms, _NUMBERS) & (fields.wire_type[rows] == 0)]
    is_signed = fields.number[chosen] == n.INTEGER
    at = fields.message[chosen].tolist()
    numbers = fields.value[chosen]
    for row, number in zip(at, numbers.tolist(), strict=True):
        values[row] = b"%d" % number
    # Unsigned numbers beyond 63 bits are rare: addresses and hashes.
    for place in np.flatnonzero(~is_signed & (numbers < 0)).tolist():
        values[at[place]] = b"%d" % (int(numbers[place]) % 2**64)
    truths = rows[forms == n.BOOLEAN]
    for row, number in zip(
        fields.message[truths].tolist(), fields.value[truths].tolist(), strict=True
    ):
        values[row] = b"true" if number else b"false"
    reals = rows[(forms == n.DOUBLE) & (fields.wire_type[rows] == 1)]
    for row, real in zip(
        fields.message[reals].tolist(), fields.doubles(reals).tolist(), strict=True
    ):
        values[row] = repr(real).encode() if abs(real) < float("inf") else b"null"
    for form in (n.STRING, n.LEGACY_JSON):
        texts = rows[(forms == form) & (fields.wire_type[rows] == LENGTH)]
        for row, text in zip(fields.message[texts].tolist(), fields.texts(texts), strict=True):
            values[row] = _json_of(text) if form == n.LEGACY_JSON else _encode(text)


def _pairs(rows: Integers, values: Any) -> Iterator[tuple[int, Any]]:
    return zip(rows.tolist(), values.tolist(), strict=True)


def _json_of(text: str) -> bytes:
    """JSON as it is written, on one line; other text quoted."""
    try:
        return _encode(json.loads(text))
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return _encode(text)


def arguments_of(
    annotations: Annotations, events: int, extra: dict[int, dict[str, object]] | None = None
) -> list[msgspec.Raw]:
    """The arguments of each event as one JSON object; of `extra`, what is to be added to some."""
    empty = msgspec.Raw(b"{}")
    result = [empty] * events
    heads: dict[str | None, bytes] = {}
    for key in set(annotations.keys):
        heads[key] = _encode(key or "") + b":"
    parts = [
        heads[key] + value for key, value in zip(annotations.keys, annotations.values, strict=True)
    ]
    owner = annotations.owner
    for span in run_slices(owner) if len(owner) else ():
        event, start, end = int(owner[span.start]), span.start, span.stop
        result[event] = msgspec.Raw(b"{" + b",".join(parts[start:end]) + b"}")
    for event, added in (extra or {}).items():
        inside = bytes(result[event])[1:-1]
        text = _encode(added)[1:-1]
        result[event] = msgspec.Raw(b"{" + b",".join(filter(None, (inside, text))) + b"}")
    return result
