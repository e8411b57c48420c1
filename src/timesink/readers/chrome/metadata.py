"""Top-level fields of a Chrome-format trace: devices, ranks, versions, clocks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from timesink.model.trace import Device, Distributed
from timesink.readers import vendors
from timesink.readers.chrome.columns import Tally

_VERSION_KEY = re.compile(
    r"^(?:cuda|cupti|hip|roc|nccl|rccl|torch|pytorch|mlu|cn|npu|cann|xpu|level_zero|driver|runtime)"
    r".*version$",
    re.IGNORECASE,
)
_DEVICE_KEYS = ("deviceProperties", "computeProperties")
_CONSUMED = frozenset(
    {*_DEVICE_KEYS, "distributedInfo", "schemaVersion", "baseTimeNanoseconds", "traceEvents"}
)
WORKER_NAME = re.compile(r"^(?P<worker>.*?)(?:\.(?P<span>\d+))?\.pt\.trace\.json(?:\.gz|\.zip)?$")
_RANK_IN_NAME = re.compile(r"(?:^|[^a-z])rank[-_. ]?(\d+)", re.IGNORECASE)


def read_fields(head: bytes, rest: bytes, *, bare: bool, tally: Tally) -> dict[str, Any]:
    """Fields in front of and behind the event list."""
    if bare:
        if rest.strip():
            tally.add("trailing_content", 1, rest.strip()[:80])
        return {}
    before = _load(head.decode("utf-8-sig", "replace") + "]}", tally)
    after = _load_rest(rest.decode("utf-8", "replace"), tally)
    return {**before, **after}


def _load_rest(rest: str, tally: Tally) -> dict[str, Any]:
    """Fields after the list; anything after the document itself is noted and ignored."""
    text = '{"":0' + rest
    try:
        return _without_placeholder(msgspec.json.decode(text, type=dict[str, Any]))
    except msgspec.DecodeError:
        pass
    closed = text.rfind("}")
    while closed > 0:
        try:
            fields = msgspec.json.decode(text[: closed + 1], type=dict[str, Any])
        except msgspec.DecodeError:
            closed = text.rfind("}", 0, closed)
            continue
        if text[closed + 1 :].strip():
            tally.add("trailing_content", 1, text[closed + 1 :].strip()[:80])
        return _without_placeholder(fields)
    if rest.strip():
        tally.add("bad_metadata", 1, rest.strip()[:80])
    return {}


def _without_placeholder(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key}


def _load(text: str, tally: Tally) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        pass
    # One bad value should not cost the others: keep every field that reads by itself.
    fields: dict[str, Any] = {}
    lost = 0
    for match in re.finditer(r'"([^"\\]+)"\s*:\s*', text):
        value = _value_at(text, match.end())
        if value is None:
            lost += 1
        elif text[: match.start()].count("{") - text[: match.start()].count("}") == 1:
            fields[match.group(1)] = value
    tally.add("bad_metadata", max(lost, 1), text.strip()[:80])
    return fields


def _value_at(text: str, at: int) -> Any:
    import json  # noqa: PLC0415 - only this rare path needs a decoder that stops by itself

    try:
        return json.JSONDecoder(strict=False).raw_decode(text, at)[0]
    except ValueError:
        return None


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
    return int(value) if isinstance(value, str) and value.isdigit() else otherwise


def rank_in_name(name: str) -> int | None:
    """Rank that a file name states.

    >>> rank_in_name("rank-34.Jul_15.pt.trace.json.gz"), rank_in_name("worker0.pt.trace.json")
    (34, None)
    """
    match = _RANK_IN_NAME.search(name)
    return int(match.group(1)) if match else None


def worker_and_span(name: str) -> tuple[str | None, int | None]:
    """Worker and span timestamp in the file names the PyTorch profiler writes.

    >>> worker_and_span("worker0.1623143089861.pt.trace.json.gz")
    ('worker0', 1623143089861)
    """
    match = WORKER_NAME.match(name)
    if not match:
        return None, None
    span = match.group("span")
    return match.group("worker"), int(span) if span else None


def base_time_ns(fields: Mapping[str, Any]) -> int:
    """What the source's timestamps count from, in ns since 1970."""
    base = fields.get("baseTimeNanoseconds", 0)
    if isinstance(base, str) and base.isdigit():
        return int(base)
    return base if isinstance(base, int) and not isinstance(base, bool) and base > 0 else 0


def versions_of(fields: Mapping[str, Any]) -> dict[str, str]:
    return {
        key: str(value)
        for key, value in fields.items()
        if _VERSION_KEY.search(key) and not isinstance(value, (dict, list))
    }


def extra_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    known = _CONSUMED | versions_of(fields).keys()
    return {key: value for key, value in fields.items() if key not in known}
