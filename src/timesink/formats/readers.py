"""The readers of recordings, and which of them a file belongs to.

A new format is one module with ``NAME``, ``sniff`` and ``read``, and one line in ``READERS``.
Modules are loaded when they are asked: a small file does not wait for the readers of others.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from timesink.errors import UnreadableError
from timesink.formats.chrome.container import names_its_profiler
from timesink.formats.read_options import ReadOptions

if TYPE_CHECKING:
    from timesink.model.trace import Trace
from timesink.formats.source_file import Damage, SourceFile, open_source
from timesink.patterns import regex


class Reader(Protocol):
    """What a format offers: say whether a file is yours, and read it."""

    NAME: str

    def sniff(self, head: bytes, name: str) -> bool: ...

    def read(self, source: SourceFile, options: ReadOptions) -> Trace: ...


_FURTHER = 16 * 1024 * 1024
"""How far to look for a table behind other output, where the first bytes say nothing."""

READERS = (
    "nsys_parquet",
    "behaviour",
    "counters",
    "event_csv",
    "xplane",
    "perfetto.reader",
    "rocpd",
    "nsys_report",
    "nsys",
    "rocprof",
    "memory_snapshot.reader",
    "collective_logs.flight_recorder",
    "collective_logs.inspector",
    "kernel_table",
    "ncu.reader",
    "chrome.reader",
)
"""Modules in the order they are asked: first those that know their header line and load fast; last
the Chrome reader, the most forgiving one."""

_AS_JSON = (
    "rocprof",
    "collective_logs.flight_recorder",
    "collective_logs.inspector",
    "ncu.reader",
    "chrome.reader",
)
"""Those that a file may belong to which begins with a bracket: no others need be loaded."""
_OF_EVENTS = ("rocprof", "chrome.reader")
"""The same where a list of events is announced at the start."""

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")

_DECLINED: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (
        regex(rb"^(?:\xef\xbb\xbf)?Function Name,Metric Name,Device,Suspicion Score"),
        "a finished comparison",
        "give the recordings or behaviour tables it was made from:  timesink compare BASE NEW",
    ),
    (
        regex(rb'^\s*\{[^{\[]*"timesink/run/'),
        "the description of a recorded run",
        "give the folder it lies in, or the trace beside it",
    ),
    (
        regex(rb"^\s*\[\s*\[\s*\[?\s*[\d\[]"),
        "a memory timeline: lists of numbers without events",
        "give the trace of the same run",
    ),
)


def find_reader(source: SourceFile, head: bytes) -> Reader:
    """The reader whose format this is, decided by content."""
    if head.startswith(_UTF_16):
        raise UnreadableError(
            f"{source.path}: text in UTF-16, as PowerShell writes it",
            "convert it first: iconv -f UTF-16 -t UTF-8 FILE > OTHER",
        )
    candidates: tuple[str, ...] = READERS
    if names_its_profiler(head):
        candidates = READERS[-1:]
    elif head.lstrip().startswith((b"{", b"[")):
        candidates = _OF_EVENTS if b'"traceEvents"' in head else _AS_JSON
    for reader in map(_load_reader, candidates):
        if reader.sniff(head, source.name):
            return reader
    for pattern, what, hint in _DECLINED:
        if pattern.search(head[:4096]):
            raise UnreadableError(f"{source.path}: {what}", hint)
    raise UnreadableError.unrecognised(source.path, _describe(head))


def read_trace(path: Path, options: ReadOptions | None = None) -> Trace:
    """Read one file, whatever its format, without the cache."""
    source = open_source(path)
    try:
        return reader_of(source).read(source, options or ReadOptions())
    except OSError as error:
        raise UnreadableError.denied(path, error) from None
    except RecursionError:
        raise UnreadableError.damaged(
            path, "values are nested too deeply", "check the tool that wrote the file"
        ) from None


def reader_of(source: SourceFile) -> Reader:
    """The reader of a file that can be read."""
    damage = Damage()
    head = source.head(damage=damage)
    try:
        if not head.strip():
            raise UnreadableError.empty(source.path)
        return find_reader(source, head)
    except UnreadableError:
        if damage:
            raise UnreadableError.damaged(
                source.path, damage[0], "copy the file again, or record again"
            ) from None
        # A profiled program may have printed much before the profiler wrote its first line.
        ncu = _load_reader("ncu.reader")
        if ncu.sniff(source.head(_FURTHER), source.name):
            return ncu
        raise


def _load_reader(reader: str) -> Reader:
    return cast("Reader", import_module(f"timesink.formats.{reader}"))


def _describe(head: bytes) -> str:
    """What the start of a file looks like, in a few words."""
    text = head.lstrip()
    if not text:
        return "an empty file"
    if text[:1] in b"{[":
        return "JSON without a list of events"
    if b"\0" in head[:1024]:
        return "binary data"
    if text[:1] == b"<":
        return "markup"
    first_line = text.splitlines()[0][:60].decode("utf-8", "replace")
    if any(ord(letter) < ord(" ") and letter != "\t" for letter in first_line):
        return "binary data"
    return f"text starting with {first_line!r}"
