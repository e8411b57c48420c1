"""Kineto and other Chrome-format JSON traces, of every vendor."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

# Polars loads it for the first array it is given: so it is loaded while the scanner works.
import numpy.ma  # noqa: F401
import polars as pl
from msgspec.structs import replace

from timesink.errors import UnreadableError
from timesink.formats.chrome.columns import Tally
from timesink.formats.chrome.container import (
    closes_document,
    cut_pieces,
    looks_like_events,
    split_head,
    value_end,
)
from timesink.formats.chrome.decode import Share
from timesink.formats.chrome.decoder_crew import DecoderCrew
from timesink.formats.chrome.tables import (
    LEFT_OUT_IN_BRIEF,
    Assembly,
    build_tables,
    device_labels,
)
from timesink.formats.file_names import rank_in_name, worker_and_span
from timesink.formats.finish import finish_trace, of_kind
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import SourceFile, damage_code
from timesink.model import schema, vendors
from timesink.model.health import HealthEntry
from timesink.model.trace import Device, Distributed, Metadata, Trace
from timesink.model.vendors import recognise_vendor
from timesink.patterns import regex

_DEVICE_KEYS = ("deviceProperties", "computeProperties")
_CONSUMED = frozenset(
    {*_DEVICE_KEYS, "distributedInfo", "schemaVersion", "baseTimeNanoseconds", "traceEvents"}
)
_FIELD = regex(rb'("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_FIELD_END = regex(rb'(?=,\s*"(?:[^"\\]|\\.)*"\s*:)|(?=\}\s*\Z)', re.DOTALL)
_LARGEST_BASE_NS = 2**62
_DIGITS = regex(r"^[0-9]{1,19}$")


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
    is_whole = bool(rest.strip()) and closes_document(rest)
    end = len(text) if is_whole else value_end(text, 0)
    if end is None:
        tally.add("bad_metadata", 1, rest.strip()[:80] or "the document is not closed")
        fields, _ = _load_each_field(text + b"}")
    else:
        if text[end:].strip():
            tally.add("trailing_content", 1, text[end:].strip()[:80])
        fields = _load(text[:end], tally)
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
        start = match.end()
        end = value_end(text, start) if text[start : start + 1] in b"{[" else None
        after = _FIELD_END.search(text, start) if end is None else None
        at = end or (after.start() if after else len(text))
        try:
            key = msgspec.json.decode(match.group(1), type=str)
            fields[key] = msgspec.json.decode(text[start:at])
        except (msgspec.DecodeError, UnicodeDecodeError):
            lost += 1
    return fields, lost


def devices_of(fields: Mapping[str, Any]) -> tuple[Device, ...]:
    """Devices the trace lists."""
    listed = next((fields[key] for key in _DEVICE_KEYS if isinstance(fields.get(key), list)), ())
    devices = []
    for place, properties in enumerate(listed):
        if isinstance(properties, dict):
            major = properties.get("computeMajor", properties.get("major"))
            minor = properties.get("computeMinor", properties.get("minor"))
            number = properties.get("id", place)
            device = Device(
                id=number if isinstance(number, int) else place,
                name=str(properties.get("name") or ""),
                memory_bytes=vendors.device_memory_bytes(properties),
                compute_capability=None if major is None else f"{major}.{minor or 0}",
                multiprocessors=vendors.multiprocessors(properties),
                properties=properties,
            )
            devices.append(device)
    return tuple(devices)


def distributed_of(fields: Mapping[str, Any], file_name: str) -> Distributed:
    """Rank and groups as recorded; the rank from the file name when the trace does not say."""
    info = fields.get("distributedInfo")
    info = info if isinstance(info, dict) else {}
    groups = info.get("pg_config")
    return Distributed(
        rank=_natural_number(info.get("rank"), rank_in_name(file_name)),
        world_size=_natural_number(info.get("world_size"), None),
        backend=str(info["backend"]) if info.get("backend") else None,
        groups=tuple(g for g in groups if isinstance(g, dict)) if isinstance(groups, list) else (),
    )


def _natural_number(value: Any, otherwise: int | None) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return int(value) if isinstance(value, str) and _DIGITS.match(value) else otherwise


def base_time_ns(fields: Mapping[str, Any]) -> int:
    """What the source's timestamps count from, in ns since 1970."""
    base = _natural_number(fields.get("baseTimeNanoseconds"), 0) or 0
    return base if base < _LARGEST_BASE_NS else 0


def versions_of(fields: Mapping[str, Any]) -> dict[str, str]:
    return {
        key: str(value)
        for key, value in fields.items()
        if vendors.VERSION_KEY.search(key) and not isinstance(value, (dict, list))
    }


NAME = "chrome"
_UNIX_SINCE_2001_NS = 10**18
_LATEST_NS = 2**63 - 1


def sniff(head: bytes, name: str) -> bool:
    """Whether this is a Chrome-format trace: a list of events, or the start of one."""
    del name  # the content decides
    return looks_like_events(head)


def read(source: SourceFile, options: ReadOptions) -> Trace:
    """Read a trace of any size; what is damaged is mended or counted."""
    crew = options.crew
    if not isinstance(crew, DecoderCrew):
        crew = DecoderCrew(source, options.jobs, options.brief)
    shares = crew.decode(options.progress)
    if not shares[0].has_events:
        if shares[0].damage:
            reason, hint = shares[0].damage[0], "copy the file again, or record again"
        else:
            reason = "the JSON holds no list of events"
            hint = "give the trace itself; a trace has a `traceEvents` list"
        raise UnreadableError.damaged(source.path, reason, hint)
    shares, rest = _end_of_list(source, shares)
    tally = Tally()
    assembly = Assembly(shares)
    for piece in assembly.pieces:
        tally.update(piece.tally)
    _allow_open_list(shares[0], tally)
    for reason in shares[0].damage:
        after_end = reason.startswith("bytes after")
        tally.add("trailing_content" if after_end else damage_code(reason), 1, reason)
    if source.other_members:
        tally.add("archive_members", len(source.other_members), source.other_members[0])
    fields = read_fields(shares[0].head, rest, bare=shares[0].bare, tally=tally)
    brief = options.brief is not None
    tables = build_tables(assembly, tally, brief=brief)
    offset_ns = base_time_ns(fields)
    for name, frame in tables.items():
        if offset_ns and "ts_ns" in frame.columns:
            latest = _LATEST_NS - offset_ns
            too_late = int((frame["ts_ns"] > latest).sum())
            tally.add("bad_value", too_late, "a timestamp beyond 64 bits")
            times = frame["ts_ns"].clip(upper_bound=latest) if too_late else frame["ts_ns"]
            tables[name] = frame.with_columns(times + offset_ns)
    metadata = metadata_of(source, fields, assembly, tables, offset_ns)
    if brief:
        tables = {name: table for name, table in tables.items() if name not in LEFT_OUT_IN_BRIEF}
    health = [
        HealthEntry(code, count, tally.examples.get(code, ""))
        for code, count in tally.counts.items()
    ]
    return finish_trace(metadata, tables, health)


def _allow_open_list(share: Share, tally: Tally) -> None:
    """A bare list may lack its end: programs that write one as they go never close it."""
    may_be_open = share.bare and not share.damage and "lost_events" not in tally.counts
    if may_be_open and tally.counts.pop("truncated_tail", 0):
        tally.add("open_list", 1, tally.examples.pop("truncated_tail", ""))


def _end_of_list(source: SourceFile, shares: list[Share]) -> tuple[list[Share], bytes | None]:
    """Pieces up to the end of the event list, and the text behind it; None when it never ends.

    Metadata behind the list may be longer than a piece; then later pieces are not events.
    """
    pieces = sorted((p for share in shares for p in share.pieces), key=lambda piece: piece.number)
    closing = next((piece for piece in pieces if piece.closed), None)
    if closing is None:
        return shares, None
    if closing.number == pieces[-1].number:
        return shares, closing.rest
    trimmed_shares = [
        replace(share, pieces=[p for p in share.pieces if p.number <= closing.number])
        for share in shares
    ]
    return trimmed_shares, closing.rest + _text_of_pieces_after(source, closing.number)


def metadata_of(
    source: SourceFile,
    fields: Mapping[str, Any],
    assembly: Assembly,
    tables: Mapping[str, pl.DataFrame],
    offset_ns: int,
) -> Metadata:
    """What a trace is, by its top-level fields, its events and the name of its file."""
    worker, span = worker_and_span(source.path.name)
    listed = devices_of(fields)
    # Names such as `MTIA 9` that processes of the trace carry; the first of a device counts.
    named = [label for _, label in device_labels(tables["tracks"])]
    labels = {int(label[2]): f"{label[1]} {label[2]}" for label in reversed(named)}
    # A table without rows has no columns either.
    device = tables["device"] if tables["device"].height else schema.DEVICE.empty()
    busy = device["device"].filter(of_kind(device["kind"], schema.BUSY_KINDS))
    in_use = sorted(number for number in busy.unique() if number is not None)
    vendor = recognise_vendor(
        device_names=[*(listed_device.name for listed_device in listed), *labels.values()],
        metadata_keys=fields,
        categories=assembly.words.texts.get("categories", []),
        calls=[
            name for group in ("runtime", "device", "untyped") for name in assembly.names_in(group)
        ],
        has_device_work=not busy.is_empty(),
    )
    schema_version = fields.get("schemaVersion")
    framework = fields.get("Framework")
    if not isinstance(framework, str):
        operators = assembly.names_in("operator")
        framework = "PyTorch" if any(name.startswith("aten::") for name in operators) else None
    is_unix = any(_is_unix(frame["ts_ns"]) for frame in tables.values() if "ts_ns" in frame.columns)
    consumed_keys = _CONSUMED | versions_of(fields).keys()
    counts: Counter[str] = Counter()
    for piece in assembly.pieces:
        counts.update(piece.phases)
    return Metadata(
        source=str(source.path),
        format="kineto" if "schemaVersion" in fields or listed else NAME,
        vendor=vendor,
        events=assembly.events,
        phases=dict(counts),
        clock="unix" if is_unix else "monotonic",
        clock_offset_ns=offset_ns,
        # Devices that did something, for traces that list none.
        devices=listed
        or tuple(Device(id=device_id, name=labels.get(device_id, "")) for device_id in in_use),
        distributed=distributed_of(fields, source.path.name),
        worker=worker,
        span=span,
        framework=framework,
        schema_version=schema_version if isinstance(schema_version, int) else None,
        versions=versions_of(fields),
        extra={key: value for key, value in fields.items() if key not in consumed_keys},
    )


def _is_unix(times: pl.Series) -> bool:
    """Whether most of these times are too large to count from anything but 1970."""
    least, most = times.min(), times.max()
    if not isinstance(least, int) or not isinstance(most, int):
        return False
    if least > _UNIX_SINCE_2001_NS or most <= _UNIX_SINCE_2001_NS:
        return least > _UNIX_SINCE_2001_NS
    median = times.median()
    return isinstance(median, float) and median > _UNIX_SINCE_2001_NS


def _text_of_pieces_after(source: SourceFile, number: int) -> bytes:
    """Raw text of the pieces after this one: metadata longer than a piece."""
    opened = split_head(source.blocks())
    if opened is None:
        return b""
    later = (cut for cut in cut_pieces(opened[2]) if cut.number > number)
    # The brackets around a piece are ours.
    return b",".join(cut.text[1:] if cut.last else cut.text[1:-1] for cut in later)
