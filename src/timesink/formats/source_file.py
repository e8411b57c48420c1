"""One file to read: the bytes in it, plain, gzip or zip, and the reader it belongs to.

Streams are decompressed block by block, so memory stays bounded whatever the size, and damage in
the packing is reported instead of raised: everything before the break is still delivered.

A new format is one module with ``NAME``, ``sniff`` and ``read``, and one line in ``READERS``.
Modules are loaded when they are asked: a small file does not wait for the readers of others.
"""

from __future__ import annotations

import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol, cast

import msgspec
from isal import isal_zlib

from timesink.errors import UnreadableError
from timesink.formats.read_options import Progress, ReadOptions
from timesink.model.health import HealthEntry
from timesink.patterns import regex

if TYPE_CHECKING:
    from timesink.model.trace import Trace

Packing = Literal["plain", "gzip", "zip"]

Damage = list[str]
"""Collects what was wrong with the packing while a stream was read."""

PACKED_BLOCK = 64 * 1024
"""Compressed bytes fed at once; traces shrink 10 to 40 times, so a block is 1 to 3 MB of text."""

_GZIP_MAGIC = b"\x1f\x8b"
_ZIP_MAGIC = b"PK\x03\x04"
_MANIFEST = "perfetto_manifest.json"
_BAD_ZIP = (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError)
_OTHER_PACKINGS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"7z\xbc\xaf": "7z",
}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file to read, with its packing found from its first bytes."""

    path: Path
    packing: Packing
    offset: int = 0
    """Where the packed bytes start (inside a zip)."""
    packed_size: int = 0
    stored: bool = False
    """True for a zip member that is not compressed."""
    checksum: int | None = None
    """CRC-32 of the content, where the packing has it apart from the packed bytes."""
    member: str = ""
    other_members: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.member or self.path.name

    def blocks(
        self, damage: Damage | None = None, progress: Progress | None = None
    ) -> Iterator[bytes]:
        """Unpacked content, block by block; stops at the first damage and notes it."""
        damage = Damage() if damage is None else damage
        with self.path.open("rb") as file:
            file.seek(self.offset)
            if self.packing == "plain" or self.stored:
                unpacked = _plain_blocks(file, self.packed_size)
            else:
                wbits = 31 if self.packing == "gzip" else -15
                unpacked = _inflated_blocks(file, self.packed_size, wbits, damage)
            for block in _verify_checksum(unpacked, self.checksum, damage):
                yield block
                if progress is not None:
                    progress(file.tell() - self.offset, self.packed_size)

    def content(self) -> tuple[bytes, list[HealthEntry]]:
        """All of the unpacked content, and what was wrong with the packing."""
        damage = Damage()
        content = b"".join(self.blocks(damage))
        return content, packing_health(damage)

    @contextmanager
    def plain_file(self, name: str, damage: Damage | None = None) -> Iterator[Path]:
        """The content as a file of this machine, for programs that want one: unpacked aside."""
        if self.packing == "plain":
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="timesink-") as folder:
            path = Path(folder) / name
            with path.open("wb") as file:
                file.writelines(self.blocks(damage))
            yield path

    def head(self, size: int = 64 * 1024, damage: Damage | None = None) -> bytes:
        """The first bytes of the content, as many as `size` if there are."""
        gathered = b""
        for block in self.blocks(damage):
            gathered += block
            if len(gathered) >= size:
                break
        return gathered[:size]


_WRONG_CHECKSUM = "the checksum of the content is wrong"


def damage_code(reason: str) -> str:
    """The code of health for what was wrong with the packing: of a wrong checksum all is there."""
    return "wrong_checksum" if reason == _WRONG_CHECKSUM else "truncated_archive"


def packing_health(damage: Damage) -> list[HealthEntry]:
    """What was wrong with the packing, each once."""
    return [HealthEntry(damage_code(reason), 1, reason) for reason in dict.fromkeys(damage)]


def open_source(path: Path) -> SourceFile:
    """Look at the first bytes of a file and find out how it is packed."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            magic = file.read(8)
    except FileNotFoundError:
        raise UnreadableError.missing(path) from None
    except IsADirectoryError:
        raise UnreadableError(
            f"{path}: is a folder, not a trace", "name one of the traces in it"
        ) from None
    except OSError as error:
        raise UnreadableError.denied(path, error) from None
    if size == 0:
        raise UnreadableError.empty(path)
    if magic.startswith(_GZIP_MAGIC):
        return SourceFile(path, "gzip", packed_size=size)
    if magic.startswith(_ZIP_MAGIC):
        try:
            return _zip_member(path)
        except _BAD_ZIP as error:
            raise UnreadableError.damaged(
                path, f"broken zip archive: {error}", "copy the file again, or give the .json.gz"
            ) from None
    for other, label in _OTHER_PACKINGS.items():
        if magic.startswith(other):
            raise UnreadableError(
                f"{path}: packed with {label}, which timesink does not unpack",
                "unpack it first, or pack it with gzip",
            )
    return SourceFile(path, "plain", packed_size=size)


def head_of_packed(packed: bytes) -> bytes:
    """What the first bytes of a file hold, unpacked as far as they go; of a zip, nothing."""
    if packed.startswith(_ZIP_MAGIC):
        return b""
    if not packed.startswith(_GZIP_MAGIC):
        return packed
    with suppress(zlib.error):
        return zlib.decompressobj(31).decompress(packed)
    return b""


def _zip_member(path: Path) -> SourceFile:
    """The largest file in the archive that is named like a trace, else the largest."""
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
    if not members:
        raise UnreadableError.empty(path)
    # What says how the others belong together is no trace.
    members = [m for m in members if m.filename != _MANIFEST] or members
    traces = [m for m in members if ".json" in m.filename.lower()] or members
    chosen = max(traces, key=lambda member: member.file_size)
    if chosen.flag_bits & 1 or chosen.compress_type not in (
        zipfile.ZIP_STORED,
        zipfile.ZIP_DEFLATED,
    ):
        raise UnreadableError(
            f"{path}: the archive is encrypted or uses an unusual compression",
            "unpack it first, or pack it with gzip",
        )
    # The local header repeats the name and has an extra field of its own length.
    with path.open("rb") as file:
        file.seek(chosen.header_offset + 26)
        name_length, extra_length = struct.unpack("<HH", file.read(4))
    return SourceFile(
        path,
        "zip",
        offset=chosen.header_offset + 30 + int(name_length) + int(extra_length),
        packed_size=chosen.compress_size,
        stored=chosen.compress_type == zipfile.ZIP_STORED,
        checksum=chosen.CRC,
        member=chosen.filename,
        other_members=tuple(m.filename for m in members if m is not chosen),
    )


def _verify_checksum(
    blocks: Iterator[bytes], checksum: int | None, damage: Damage
) -> Iterator[bytes]:
    """The blocks unchanged; notes it when their checksum is not the expected one."""
    if checksum is None:
        yield from blocks
        return
    crc = 0
    for block in blocks:
        crc = isal_zlib.crc32(block, crc)
        yield block
    if crc != checksum and not damage:
        damage.append(_WRONG_CHECKSUM)


def _plain_blocks(file: BinaryIO, size: int) -> Iterator[bytes]:
    left = size
    while left > 0:
        block = file.read(min(left, 1024 * 1024))
        if not block:
            return
        left -= len(block)
        yield block


class _Packed(msgspec.Struct):
    """Packed bytes of a file, block by block; those a member leaves over are given again."""

    file: BinaryIO
    left: int
    unused: bytes = b""

    def read(self) -> bytes:
        block, self.unused = self.unused, b""
        if not block:
            block = self.file.read(min(PACKED_BLOCK, self.left))
            self.left -= len(block)
        return block

    def tell(self) -> int:
        return self.file.tell() - len(self.unused)


def _inflated_blocks(
    file: BinaryIO, packed_size: int, wbits: int, damage: Damage
) -> Iterator[bytes]:
    packed = _Packed(file, packed_size)
    while True:
        yield from _inflated_member(packed, wbits, damage)
        if damage:
            return
        packed.unused = packed.read()
        if wbits < 0 or not packed.unused.startswith(_GZIP_MAGIC):
            if packed.unused.strip(b"\0"):
                damage.append("bytes after the end of the compressed stream")
            return


def _inflated_member(packed: _Packed, wbits: int, damage: Damage) -> Iterator[bytes]:
    inflater = isal_zlib.decompressobj(wbits=wbits)
    start, delivered = packed.tell(), 0
    while not inflater.eof:
        block_start = packed.tell()
        block = packed.read()
        if not block:
            damage.append("the compressed stream ends early")
            return
        try:
            text = inflater.decompress(block)
        except isal_zlib.IsalError as error:  # type: ignore[misc]
            is_all_there = "checksum" in str(error).lower()
            corrupt = f"the compressed stream is corrupt ({error})"
            damage.append(_WRONG_CHECKSUM if is_all_there else corrupt)
            yield from _before_break(packed.file, start, block_start, wbits, delivered)
            return
        delivered += len(text)
        if text:
            yield text
    packed.unused = inflater.unused_data


def _before_break(
    file: BinaryIO, member_start: int, broken_block: int, wbits: int, delivered: int
) -> Iterator[bytes]:
    """What a corrupt member holds up to the break, beyond what was delivered already.

    The fast decoder gives nothing of the block it fails in; this one is fed byte by byte there.
    """
    inflater = zlib.decompressobj(wbits)
    file.seek(member_start)
    while left := broken_block - file.tell():
        text = inflater.decompress(file.read(min(left, PACKED_BLOCK)))
        if len(text) > delivered:
            yield text[delivered:]
        delivered = max(0, delivered - len(text))
    rest = bytearray()
    with suppress(zlib.error):
        for byte in file.read(PACKED_BLOCK):
            rest += inflater.decompress(bytes((byte,)))
    yield bytes(rest[delivered:])


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

EVENTS_KEY = regex(rb'"traceEvents"\s*:\s*\[')
METADATA_KEY = regex(rb'"(?:schemaVersion|deviceProperties|distributedInfo)"\s*:')
"""What PyTorch's profiler writes in front of its events, and how it announces them."""

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


def names_its_profiler(head: bytes) -> bool:
    """Whether the metadata in front is that of a profiler whose traces no other reader takes."""
    is_object = head.lstrip()[:1] == b"{"
    return is_object and bool(METADATA_KEY.search(head) and EVENTS_KEY.search(head))


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
