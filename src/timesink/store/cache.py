"""Traces already read, as Parquet folders keyed by the content of their recording.

A small index remembers which content a path had at a size, time and inode, so that an unchanged
file is not hashed again.  Entries are written aside and renamed into place, so readers never see
half of one and any number of processes may share the cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.errors import OutputError, UsageError
from timesink.model.version import SCHEMA_VERSION
from timesink.readers.beside import find_beside
from timesink.writers.marks import is_folder

if TYPE_CHECKING:
    from timesink.model.trace import Trace

READER_VERSION = 1
"""Raised whenever a reader gives another result for the same bytes."""
_SETTLED_NS = 2_000_000_000
"""A file changed more recently than this may change again within the clock's resolution."""
_DEFAULT_LIMIT_GB = 20.0
_STALE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One cached trace."""

    folder: Path
    bytes: int
    last_used: float


class Cache:
    """A folder of cached traces.

    >>> import tempfile
    >>> Cache(Path(tempfile.mkdtemp())).entries()
    []
    """

    def __init__(self, root: Path, limit_bytes: int | None = None) -> None:
        self.root = root
        self.limit_bytes = limit_bytes

    @classmethod
    def default(cls) -> Cache:
        """The user's cache: `TIMESINK_CACHE_DIR`, else the system's place for caches."""
        asked = os.environ.get("TIMESINK_CACHE_DIR")
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return cls(Path(asked) if asked else Path(base) / "timesink", _limit_from_environment())

    def load(self, key: str) -> Trace | None:
        """A cached trace, or None; a broken entry counts as absent and is removed."""
        folder = self._traces / key
        if not self.holds(key):
            return None
        from timesink.writers.folder import read_folder  # noqa: PLC0415 - most keys are not here

        try:
            trace = read_folder(folder)
            for frame in trace.frames.values():
                frame.collect_schema()
        except Exception:  # noqa: BLE001 - whatever is wrong with an entry, the recording has it all
            shutil.rmtree(folder, ignore_errors=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(folder)
        return trace

    def save(self, key: str, trace: Trace) -> None:
        """Keep a trace; a cache that cannot be written is not an error."""
        from timesink.writers.folder import write_folder  # noqa: PLC0415

        try:
            self._traces.mkdir(parents=True, exist_ok=True)
            aside = Path(tempfile.mkdtemp(prefix=".writing-", dir=self._traces))
        except OSError:
            return
        try:
            write_folder(trace, aside)
            aside.rename(self._traces / key)
        except OSError:
            # Another process was first, or the disk is full: either way nothing is lost.
            shutil.rmtree(aside, ignore_errors=True)
        self._evict()

    def holds(self, key: str) -> bool:
        return is_folder(self._traces / key)

    def key_of(self, recording: Path) -> str:
        """Key of a recording and the counters beside it."""
        counters = find_beside(recording)
        return self.key([recording] if counters is None else [recording, counters])

    def key(self, files: Iterable[Path]) -> str:
        """Key of files: their content and the versions that shape the result."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(f"{SCHEMA_VERSION}.{READER_VERSION}".encode())
        for file in files:
            # The name counts: ranks and workers may come from it.
            digest.update(b"\0" + file.name.encode("utf-8", "surrogateescape"))
            digest.update(self._content_hash(file))
        return digest.hexdigest()

    def entries(self) -> list[Entry]:
        """Cached traces, the least recently used first."""
        found = [
            Entry(folder, sum(f.stat().st_size for f in folder.iterdir()), folder.stat().st_mtime)
            for folder in self._folders()
            if is_folder(folder)
        ]
        return sorted(found, key=lambda entry: entry.last_used)

    def clear(self) -> int:
        """Remove every entry; the number of bytes freed."""
        freed = sum(entry.bytes for entry in self.entries())
        try:
            if self.root.exists():
                for child in (self._traces, self._index):
                    shutil.rmtree(child, ignore_errors=not child.exists())
        except OSError as error:
            raise OutputError.unwritable(self.root, error.strerror or str(error)) from None
        return freed

    @property
    def _traces(self) -> Path:
        return self.root / "traces"

    @property
    def _index(self) -> Path:
        return self.root / "index"

    def _folders(self) -> Iterator[Path]:
        try:
            yield from (child for child in self._traces.iterdir() if child.is_dir())
        except OSError:
            return

    def _content_hash(self, file: Path) -> bytes:
        stat = file.stat()
        signature = f"{file.resolve()}|{stat.st_size}|{stat.st_mtime_ns}|{stat.st_ino}"
        note = self._index / hashlib.blake2b(signature.encode(), digest_size=16).hexdigest()
        if time.time_ns() - stat.st_mtime_ns > _SETTLED_NS:
            with contextlib.suppress(OSError):
                known = note.read_bytes()
                if len(known) == 20:
                    return known
        content = _hash_file(file)
        with contextlib.suppress(OSError):
            self._index.mkdir(parents=True, exist_ok=True)
            note.write_bytes(content)
        return content

    def _evict(self) -> None:
        """Drop the least recently used entries beyond the limit, and leftovers of crashed writers."""
        now = time.time()
        for folder in self._folders():
            with contextlib.suppress(OSError):
                if folder.name.startswith(".writing-") and now - folder.stat().st_mtime > _STALE_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)
        if self.limit_bytes is None:
            return
        with contextlib.suppress(OSError):
            entries = self.entries()
            total = sum(entry.bytes for entry in entries)
            for entry in entries[:-1]:
                if total <= self.limit_bytes:
                    return
                shutil.rmtree(entry.folder, ignore_errors=True)
                total -= entry.bytes


def _hash_file(file: Path) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    with file.open("rb") as stream:
        while block := stream.read(1024 * 1024):
            digest.update(block)
    return digest.digest()


def _limit_from_environment() -> int:
    text = os.environ.get("TIMESINK_CACHE_MAX_GB", str(_DEFAULT_LIMIT_GB))
    try:
        return int(float(text) * 1024**3)
    except ValueError:
        raise UsageError(
            f"TIMESINK_CACHE_MAX_GB is {text!r}, not a number", "set it to gigabytes, e.g. 20"
        ) from None


def describe(entries: Iterable[Entry]) -> dict[str, int]:
    """Number and size of entries, for a report."""
    listed = list(entries)
    return {"traces": len(listed), "bytes": sum(entry.bytes for entry in listed)}


