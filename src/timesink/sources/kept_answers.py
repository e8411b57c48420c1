"""Answers already given about a cached trace, kept beside its tables.

An answer is valid for one content (the folder it lies in), one question and one state of the code;
it goes away with its trace.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import polars as pl
from isal.isal_zlib import crc32
from msgspec.structs import replace
from numpy.typing import NDArray

from timesink.formats.written_files import replace_file
from timesink.sources.cache import Cache, after_saving

# Plain data and named blocks of bytes as one file; large arrays that are mapped, not read.

Block: TypeAlias = bytes | memoryview

_LENGTH_BYTES = 8
_MARK = b"timesink arrays 2\n"
_ALIGNMENT = 64


_SEAL = b"crc32"
_SEAL_BYTES = len(_SEAL) + 4


def seal_blocks(blocks: Iterable[Block], place: str = "") -> Iterator[Block]:
    """The blocks of a file with their checksum behind them, which is also of the file's place.

    What lies in another place, as of two files that were exchanged, is not as it was written.

    >>> content = b"".join(seal_blocks([b"12", b"3"]))
    >>> bytes(unseal(content)), unseal(content[:-1] + b"?")
    (b'123', None)
    """
    checksum = crc32(place.encode())
    for block in blocks:
        checksum = crc32(block, checksum)
        yield block
    yield _SEAL + checksum.to_bytes(4, "big")


def unseal(content: Block, place: str = "") -> memoryview | None:
    """What was sealed, as a view of the content; None where a bit of it is not as it was."""
    view = memoryview(content)
    payload, seal = view[:-_SEAL_BYTES], bytes(view[-_SEAL_BYTES:])
    checksum = crc32(payload, crc32(place.encode()))
    return payload if seal == _SEAL + checksum.to_bytes(4, "big") else None


def _kept_in(file: Path, place: str) -> bytes | None:
    """What was sealed in a file; None where it is not there, or not as it was."""
    with contextlib.suppress(OSError):
        content = unseal(file.read_bytes(), place)
        return None if content is None else bytes(content)
    return None


def pack(
    mark: bytes, about: Mapping[str, Any], blocks: Mapping[str, Block], alignment: int = 1
) -> Iterator[Block]:
    """The content of a file that begins with a mark and has each block at an aligned place."""
    sizes = {name: len(block) for name, block in blocks.items()}
    head = json.dumps({"about": dict(about), "sizes": sizes}).encode()
    yield mark + len(head).to_bytes(_LENGTH_BYTES, "big") + head
    place = len(mark) + _LENGTH_BYTES + len(head)
    for block in blocks.values():
        yield bytes(-place % alignment)
        place += -place % alignment + len(block)
        yield block


def unpack(
    mark: bytes, content: Block, alignment: int = 1
) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """What `pack` was given, blocks as views of the content; ValueError where it is not whole."""
    view = memoryview(content)
    start = len(mark) + _LENGTH_BYTES
    if len(view) < start or bytes(view[: len(mark)]) != mark:
        raise ValueError(mark)
    place = start + int.from_bytes(view[len(mark) : start], "big")
    try:
        head = json.loads(bytes(view[start:place]))
    except RecursionError as error:
        raise ValueError(mark) from error
    blocks = {}
    for name, size in head["sizes"].items():
        place += -place % alignment
        blocks[name] = view[place : place + size]
        place += size
    if place != len(view):
        raise ValueError(place)
    return dict(head["about"]), blocks


class Arrays(msgspec.Struct, frozen=True, eq=False):
    """Arrays by name, and plain data about them."""

    about: dict[str, Any]
    """Whatever JSON can hold."""
    arrays: dict[str, NDArray[Any]]


def array_blocks(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[Block]:
    """The content of a file of arrays, in blocks."""
    flat = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    types = {name: array.dtype.str for name, array in flat.items()}
    # Empty arrays cannot be seen as bytes.
    blocks: dict[str, Block] = {
        name: array.data.cast("B") if array.nbytes else b"" for name, array in flat.items()
    }
    return pack(_MARK, {"about": dict(about), "types": types}, blocks, _ALIGNMENT)


def arrays_in(content: Block) -> Arrays | None:
    """What `array_blocks` was given, as views of the content; None where it is not whole."""
    try:
        head, blocks = unpack(_MARK, content, _ALIGNMENT)
        types = head["types"]
        arrays = {name: np.frombuffer(block, types[name]) for name, block in blocks.items()}
        return Arrays(head["about"], arrays)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


class KeptAnswer(msgspec.Struct, frozen=True):
    """Where the answer to one question about one trace is kept."""

    store: Cache
    key: str
    """Of the trace."""
    name: str
    """Of the question."""

    @classmethod
    def about(
        cls, store: Cache, key: str, question: Iterable[object], *, sort: str = "answer"
    ) -> KeptAnswer:
        """The place for an answer; the trace need not be in the store yet.

        The `sort` is the first part of its file's name.
        """
        digest = hashlib.blake2b(state_of_code(), digest_size=16)
        for part in question:
            digest.update(f"\0{part!r}".encode("utf-8", "backslashreplace"))
        return cls(store, key, f"{sort}-{digest.hexdigest()}")

    def as_form(self, form: str) -> KeptAnswer:
        """The place for the same answer in another form."""
        return replace(self, name=f"{self.name}-{form}")

    @property
    def file(self) -> Path:
        return self.store.folder(self.key) / self.name

    @property
    def _place(self) -> str:
        return f"{self.key}/{self.name}"

    def _write(self, blocks: Iterable[Block]) -> None:
        replace_file(self.file, seal_blocks(blocks, self._place))

    def load(self) -> bytes | None:
        """The answer, where it is there and as it was written."""
        return _kept_in(self.file, self._place)

    def map(self) -> memoryview | None:
        """The answer as it lies in its file; reading it once to check it takes 0.1 s per GB."""
        with contextlib.suppress(OSError, ValueError), self.file.open("rb") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            return unseal(content, self._place)
        return None

    def save(self, answer: bytes) -> None:
        """Keep an answer as soon as its trace is kept; that it cannot be written is no error."""
        after_saving(self.store, self.key, lambda: self._write([answer]))

    def save_only(self, blocks: Iterable[Block]) -> None:
        """Keep a large answer, and none of its sort that older code gave."""
        after_saving(self.store, self.key, lambda: self._replace(blocks))

    def _replace(self, blocks: Iterable[Block]) -> None:
        self._write(blocks)
        sort, _, _ = self.name.partition("-")
        with contextlib.suppress(OSError):
            for other in self.file.parent.glob(f"{sort}-*"):
                if other.name != self.name:
                    other.unlink()


@cache
def state_of_code() -> bytes:
    """Changes whenever code or data of this package does: no answer outlives what gave it."""
    digest = hashlib.blake2b(digest_size=16)
    for path, stat in sorted(_own_files(str(Path(__file__).parents[1]))):
        digest.update(os.fsencode(path) + f"|{stat.st_size}|{stat.st_mtime_ns}\n".encode())
    return digest.digest()


def _own_files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir():
                yield entry.path, entry.stat()
            elif entry.name != "__pycache__":
                yield from _own_files(entry.path)


# Summaries of ranks already made, one small file each, in a folder of the cache of their own.
#
# A summary is valid for one content of a recording, one question and one state of the code.
# Traces of a fleet are not kept: their summaries are what the next question needs.


class KeptSummaries(msgspec.Struct, frozen=True):
    """The summaries that answer one question, such as which steps they are of."""

    store: Cache
    question: str = ""

    def file(self, key: str) -> Path:
        """Where the summary of a recording is kept, whether it is there or not."""
        digest = hashlib.blake2b(state_of_code(), digest_size=16)
        digest.update(f"\0{key}\0{self.question}".encode())
        return self.store.summaries / f"{digest.hexdigest()}.parquet"

    def load(self, key: str) -> bytes | None:
        """A kept summary, or None."""
        if not key:
            return None
        content = _kept_in(self.file(key), self.file(key).name)
        with contextlib.suppress(OSError):
            # It was used: the least recently used go first.
            os.utime(self.file(key))
        return content

    def save(self, key: str, summary: bytes) -> None:
        """Keep a summary; that it cannot be written is no error.  `Cache.settle` comes last."""
        if not key or self.store.limit_bytes == 0:
            return
        file = self.file(key)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(file, seal_blocks([summary], file.name))

    def forget(self, key: str) -> None:
        """Remove a summary that turned out to be broken."""
        with contextlib.suppress(OSError):
            self.file(key).unlink()


_TABLES_MARK = b"timesink tables 1\n"


class Tables(msgspec.Struct, frozen=True, eq=False):
    """Tables by name, and plain data about them."""

    about: dict[str, Any]
    """Whatever JSON can hold."""
    tables: dict[str, pl.DataFrame]


def to_bytes(
    about: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], *, small: bool = False
) -> bytes:
    """Tables with exact types and values; `small` takes longer to write."""
    blocks: dict[str, Block] = {}
    for name, table in tables.items():
        stream = io.BytesIO()
        table.write_ipc_stream(stream, compression="zstd" if small else "lz4")
        blocks[name] = stream.getvalue()
    return b"".join(pack(_TABLES_MARK, about, blocks))


def from_bytes(content: bytes) -> Tables | None:
    """What `to_bytes` was given; None where the bytes are not whole."""
    try:
        about, blocks = unpack(_TABLES_MARK, content)
        tables = {name: pl.read_ipc_stream(io.BytesIO(block)) for name, block in blocks.items()}
        return Tables(about, tables)
    except (AttributeError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        return None
