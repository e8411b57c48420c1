"""Top-level fields of a Chrome-format trace: devices, ranks, versions, clocks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from timesink.model import vendors
from timesink.model.trace import Device, Distributed
from timesink.readers.chrome.columns import Tally
from timesink.readers.chrome.container import closes_document, value_end
from timesink.readers.names import rank_in_name

_DEVICE_KEYS = ("deviceProperties", "computeProperties")
_CONSUMED = frozenset(
    {*_DEVICE_KEYS, "distributedInfo", "schemaVersion", "baseTimeNanoseconds", "traceEvents"}
)
_FIELD = re.compile(rb'("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_FIELD_END = re.compile(rb'(?=,\s*"(?:[^"\\]|\\.)*"\s*:)|(?=\}\s*\Z)', re.DOTALL)
_LARGEST_BASE_NS = 2**62
_DIGITS = re.compile(r"^[0-9]{1,19}$")


def read_fields(head: bytes, rest: bytes | None, *, bare: bool, tally: Tally) -> dict[str, Any]:
    """Fields in front of and behind the event list; `rest` is None when the list never ends."""
    if bare:
        if rest and rest.strip():
            tally.add("trailing_content", 1, rest.strip()[:80])
        return {}
    before = _load(head.removeprefix(b"\xef\xbb\xbf") + b"]}", tally)
    after = {} if rest is None else _load_rest(rest, tally)
    second = after.get("traceEvents")
    if isinstance(second, list):
        tally.add("lost_events", len(second), "a second list of events was not read")
    fields = {**before, **after}
    base = fields.get("baseTimeNanoseconds", 0)
    if base not in (0, "0") and not base_time_ns(fields):
        tally.add("bad_metadata", 1, f"baseTimeNanoseconds: {base!r}")
    return fields


def _load_rest(rest: bytes, tally: Tally) -> dict[str, Any]:
    """Fields after the list; anything after the document itself is noted and ignored."""
    text = b'{"":0' + rest
    if rest.strip() and closes_document(rest):
        return _without_placeholder(_load(text, tally))
    end = value_end(text, 0)
    if end is None:
        tally.add("bad_metadata", 1, rest.strip()[:80] or "the document is not closed")
        return _without_placeholder(_load_each_field(text + b"}")[0])
    if text[end:].strip():
        tally.add("trailing_content", 1, text[end:].strip()[:80])
    return _without_placeholder(_load(text[:end], tally))


def _without_placeholder(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key}


def _load(text: bytes, tally: Tally) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        fields, lost = _load_each_field(text)
        tally.add("bad_metadata", max(lost, 1), text.strip()[:80])
        return fields


def _load_each_field(text: bytes) -> tuple[dict[str, Any], int]:
    """Fields that read by themselves, so that one bad value does not cost the others."""
    fields: dict[str, Any] = {}
    lost = 0
    at = text.find(b"{") + 1
    while match := _FIELD.search(text, at):
        start, at = match.end(), _end_of_field(text, match.end())
        try:
            key = msgspec.json.decode(match.group(1), type=str)
            fields[key] = msgspec.json.decode(text[start:at])
        except (msgspec.DecodeError, UnicodeDecodeError):
            lost += 1
    return fields, lost


def _end_of_field(text: bytes, start: int) -> int:
    end = value_end(text, start) if text[start : start + 1] in b"{[" else None
    if end is None:
        after = _FIELD_END.search(text, start)
        end = after.start() if after else len(text)
    return end


def devices_of(fields: Mapping[str, Any]) -> tuple[Device, ...]:
    """Devices the trace lists."""
    listed: Sequence[Any] = next(
        (fields[key] for key in _DEVICE_KEYS if isinstance(fields.get(key), list)), ()
    )
    return tuple(
        _device(place, properties)
        for place, properties in enumerate(listed)
        if isinstance(properties, dict)
    )


def _device(place: int, properties: dict[str, Any]) -> Device:
    major = properties.get("computeMajor", properties.get("major"))
    minor = properties.get("computeMinor", properties.get("minor"))
    number = properties.get("id", place)
    return Device(
        id=number if isinstance(number, int) else place,
        name=str(properties.get("name") or ""),
        memory_bytes=vendors.device_memory_bytes(properties),
        compute_capability=None if major is None else f"{major}.{minor or 0}",
        multiprocessors=vendors.multiprocessors(properties),
        properties=properties,
    )


def distributed_of(fields: Mapping[str, Any], file_name: str) -> Distributed:
    """Rank and groups as recorded; the rank from the file name when the trace does not say."""
    info = fields.get("distributedInfo")
    info = info if isinstance(info, dict) else {}
    groups = info.get("pg_config")
    return Distributed(
        rank=_whole(info.get("rank"), rank_in_name(file_name)),
        world_size=_whole(info.get("world_size"), None),
        backend=str(info["backend"]) if info.get("backend") else None,
        groups=tuple(g for g in groups if isinstance(g, dict)) if isinstance(groups, list) else (),
    )


def _whole(value: Any, otherwise: int | None) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return int(value) if isinstance(value, str) and _DIGITS.match(value) else otherwise


def base_time_ns(fields: Mapping[str, Any]) -> int:
    """What the source's timestamps count from, in ns since 1970."""
    base = _whole(fields.get("baseTimeNanoseconds"), 0) or 0
    return base if base < _LARGEST_BASE_NS else 0


def versions_of(fields: Mapping[str, Any]) -> dict[str, str]:
    return {
        key: str(value)
        for key, value in fields.items()
        if vendors.VERSION_KEY.search(key) and not isinstance(value, (dict, list))
    }


def extra_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    known = _CONSUMED | versions_of(fields).keys()
    return {key: value for key, value in fields.items() if key not in known}
