"""Logs of NCCL's Inspector plugin: one JSON object per line, with time and bandwidth of a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from timesink.errors import UnreadableError
from timesink.formats.collective_logs.rows import (
    COMPLETED,
    CollectiveRow,
    Losses,
    log_trace,
    positive_number,
    short_text,
    whole_number,
)
from timesink.formats.collective_logs.signatures import is_inspector
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import SourceFile
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
        losses.add("truncated_archive", reason)


def _decoded(line: bytes, losses: Losses) -> Iterator[Any]:
    text = line.strip().rstrip(b",")
    if not text or text in (b"[", b"]"):
        return
    try:
        yield msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # A line that lost its end holds several.
        losses.add(
            "lost_events", text[:80].decode("utf-8", "replace"), max(1, text.count(b'"metadata"'))
        )


def _row(value: Any, versions: dict[str, str], losses: Losses) -> CollectiveRow | None:
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
