"""Logs of NCCL's Inspector plugin: one JSON object per line, with time and bandwidth of a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from timesink.errors import UnreadableError
from timesink.formats.collective_logs.rows import (
    COMPLETED,
    MAX_TEXT,
    CollectiveRow,
    Losses,
    log_trace,
    positive_number,
    short_text,
    whole_number,
)
from timesink.formats.collective_logs.signatures import is_inspector
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import SourceFile, damage_code
from timesink.model.trace import Trace

NAME = "nccl_inspector"
MAX_LINE_BYTES = 16 * 1024 * 1024
"""Of one object: verbose ones have events of some dozen channels."""
_KINDS = (("coll_perf", "coll", False), ("p2p_perf", "p2p", True))
_GIGA = 1e9


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001 - the content says it
    """Whether a file is a log of the Inspector."""
    return is_inspector(head)


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001 - nothing to choose
    """The calls of one process, with all its communicators."""
    losses = Losses()
    rows: list[CollectiveRow] = []
    versions: dict[str, str] = {}
    for value in _objects(source, losses):
        row = _row(value, versions, losses)
        if row is not None:
            rows.append(row)
    if not rows:
        raise UnreadableError(
            f"{source.path}: a log of the NCCL Inspector without a collective",
            "let the program communicate before it ends, or give the logs of another process",
        )
    return log_trace(source, NAME, rows, losses, rank=None, versions=versions)


def rows_of_lines(lines: bytes, losses: Losses) -> Iterator[CollectiveRow]:
    """The calls of some lines, as of a log that grows.

    >>> list(rows_of_lines(b"", Losses()))
    []
    """
    versions: dict[str, str] = {}
    for line in lines.split(b"\n"):
        for value in _decoded(line, losses):
            row = _row(value, versions, losses)
            if row is not None:
                yield row


def _objects(source: SourceFile, losses: Losses) -> Iterator[Any]:
    """The objects of a file, line by line; a cut or broken line is counted."""
    damage: list[str] = []
    rest = b""
    for block in source.blocks(damage):
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield from _decoded(line, losses)
        if len(rest) > MAX_LINE_BYTES:
            losses.add("lost_events", f"a line of more than {MAX_LINE_BYTES} bytes")
            rest = b""
    yield from _decoded(rest, losses)
    for reason in damage:
        losses.add(damage_code(reason), reason)


def _decoded(line: bytes, losses: Losses) -> Iterator[Any]:
    text = line.strip().rstrip(b",")
    if not text or text in (b"[", b"]"):
        return
    try:
        try:
            value: Any = _USUAL.decode(text)
        except msgspec.ValidationError:  # of another type
            value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # A line that lost its end holds several.
        losses.add(
            "lost_events", text[:80].decode("utf-8", "replace"), max(1, text.count(b'"metadata"'))
        )
        return
    yield value


_SMALL = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]
_Amount = Annotated[float, msgspec.Meta(ge=0, lt=1e18)]


class _Header(msgspec.Struct, gc=False):
    id: _Text | None = None
    rank: _SMALL | None = None
    n_ranks: _SMALL | None = None
    comm_name: _Text | None = None


class _About(msgspec.Struct, gc=False):
    dump_timestamp_us: _SMALL | None = None
    hostname: _Text | None = None
    pid: _SMALL | None = None
    version: _Text | None = msgspec.field(name="inspector_output_format_version", default=None)


class _Measured(msgspec.Struct, gc=False, rename=lambda name: f"coll_{name}"):
    name: _Text = msgspec.field(name="coll")
    sn: _SMALL | None = None
    msg_size_bytes: _SMALL | None = None
    exec_time_us: _Amount | None = None
    algobw_gbs: _Amount | None = None
    busbw_gbs: _Amount | None = None
    timing_source: _Text | None = None


class _UsualLine(msgspec.Struct, gc=False):
    """A collective as today's versions write it; whatever has other types is read by `_row`."""

    header: _Header
    metadata: _About
    coll_perf: _Measured


_USUAL = msgspec.json.Decoder(_UsualLine)


def _usual_row(line: _UsualLine, versions: dict[str, str]) -> CollectiveRow:
    header, about, measured = line.header, line.metadata, line.coll_perf
    if about.version:
        versions["nccl_inspector"] = about.version.removeprefix("v")
    host, pid, dumped, lasted = about.hostname, about.pid, about.dump_timestamp_us, None
    if measured.exec_time_us is not None:
        lasted = round(1000 * measured.exec_time_us)
    algorithm, bus = measured.algobw_gbs, measured.busbw_gbs
    return CollectiveRow(
        collective=measured.name,
        state=COMPLETED,
        member=header.rank,
        process=None if host is None and pid is None else f"{host or '?'}({pid})",
        group_name=header.id,
        group_description=None if header.comm_name == "unknown" else header.comm_name,
        group_size=header.n_ranks,
        sequence=measured.sn,
        completed_ts_ns=dumped * 1000 if dumped and 0 < dumped < 2**52 else None,
        dur_ns=lasted,
        bytes=measured.msg_size_bytes,
        algorithm_bytes_per_s=None if algorithm is None else _GIGA * algorithm,
        bus_bytes_per_s=None if bus is None else _GIGA * bus,
        timing_source=measured.timing_source,
    )


def _row(value: Any, versions: dict[str, str], losses: Losses) -> CollectiveRow | None:
    if isinstance(value, _UsualLine):
        return _usual_row(value, versions)
    if not isinstance(value, dict):
        losses.add("not_an_event", repr(value)[:80])
        return None
    header, about = value.get("header"), value.get("metadata")
    header = header if isinstance(header, dict) else {}
    about = about if isinstance(about, dict) else {}
    for key, prefix, is_p2p in _KINDS:
        measured = value.get(key)
        if not isinstance(measured, dict):
            continue
        name = short_text(measured.get(prefix))
        if name is None:
            break
        version = short_text(about.get("inspector_output_format_version"))
        if version:
            versions["nccl_inspector"] = version.removeprefix("v")
        lasted = positive_number(measured.get(f"{prefix}_exec_time_us"))
        bandwidths = (
            positive_number(measured.get(f"{prefix}_{which}_gbs")) for which in ("algobw", "busbw")
        )
        algorithm, bus = (None if speed is None else _GIGA * speed for speed in bandwidths)
        host, pid = short_text(about.get("hostname")), whole_number(about.get("pid"))
        size = whole_number(header.get("n_ranks"))
        dumped = whole_number(about.get("dump_timestamp_us"))
        return CollectiveRow(
            collective=name,
            state=COMPLETED,
            member=whole_number(header.get("rank")),
            process=None if host is None and pid is None else f"{host or '?'}({pid})",
            group_name=short_text(header.get("id")),
            group_description=_comm_name(header),
            group_size=size,
            sequence=whole_number(measured.get(f"{prefix}_sn")),
            is_p2p=is_p2p,
            peer=whole_number(measured.get("p2p_peer")) if is_p2p else None,
            # When the plugin wrote it down: some milliseconds after it ended.
            completed_ts_ns=dumped * 1000 if dumped and 0 < dumped < 2**52 else None,
            dur_ns=None if lasted is None else round(1000 * lasted),
            bytes=whole_number(measured.get(f"{prefix}_msg_size_bytes")),
            algorithm_bytes_per_s=algorithm,
            bus_bytes_per_s=bus,
            timing_source=short_text(measured.get(f"{prefix}_timing_source")),
        )
    losses.add("not_an_event", repr(value)[:80])
    return None


def _comm_name(header: dict[str, Any]) -> str | None:
    name = short_text(header.get("comm_name"))
    return None if name == "unknown" else name
