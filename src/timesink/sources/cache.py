"""Traces already read, as Parquet folders keyed by the content of their recording.

A small index remembers which content a file had at a size, time and inode, so that an unchanged
file is not hashed again.  Entries appear and disappear by renaming, so nobody sees half of one and
any number of processes may share the cache.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from timesink.errors import OutputError, UnreadableError, UsageError
from timesink.formats.small_files import DamagedError, small_content
from timesink.formats.stored_names import SCHEMA_VERSION, is_folder
from timesink.formats.written_files import replace_file
from timesink.patterns import regex

if TYPE_CHECKING:
    from timesink.model.trace import Trace


READER_VERSION = 10
"""Raised whenever a reader gives another result for the same bytes."""
_SETTLED_NS = 2_000_000_000
"""A file changed more recently than this may change again within the clock's resolution."""
_DEFAULT_LIMIT_GB = "20"
_ABANDONED_SECONDS = 3600.0
_MAX_WRITTEN = 5000
"""Digests of answers that are kept, the latest ones."""
_KEY = regex(r"[0-9a-f]{32}")
_SUMMARY = regex(r"[0-9a-f]{32}\.parquet")
_TEMPORARY = regex(r"\.(?:writing|gone)-.*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One cached trace, or one summary of a rank."""

    folder: Path
    """Where it is: the folder of a trace, the file of a summary."""
    bytes: int
    last_used: float


def data_folder() -> Path:
    """What is kept for the user: `TIMESINK_DATA_DIR`, else the system's place for data."""
    return _user_folder("TIMESINK_DATA_DIR", "XDG_DATA_HOME", ".local/share")


def _user_folder(variable: str, system: str, usual: str) -> Path:
    if override := os.environ.get(variable):
        return Path(override)
    # A user without a home, as in some containers: nowhere to write, which is no error.
    place = Path(os.devnull)
    with suppress(RuntimeError):
        place = Path(os.environ.get(system) or Path.home() / usual)
    return place / "timesink"


class Cache:
    """A folder of cached traces."""

    def __init__(self, root: Path, limit_bytes: int | None = None) -> None:
        self.root = root
        self.limit_bytes = limit_bytes
        self.summaries = root / "summaries"
        """The folder of the summaries of ranks."""
        self._traces, self._index = root / "traces", root / "index"
        self._written = root / "written"

    @classmethod
    def default(cls) -> Cache:
        """The user's cache: `TIMESINK_CACHE_DIR`, else the system's place for caches."""
        root = _user_folder("TIMESINK_CACHE_DIR", "XDG_CACHE_HOME", ".cache")
        text = os.environ.get("TIMESINK_CACHE_MAX_GB") or _DEFAULT_LIMIT_GB
        gigabytes = math.nan
        with suppress(ValueError):
            gigabytes = float(text)
        if not 0 <= gigabytes < math.inf:
            message = f"TIMESINK_CACHE_MAX_GB is {text!r}, not a size"
            raise UsageError(message, "set it to gigabytes, e.g. 20")
        return cls(root, int(gigabytes * 1024**3))

    def load(self, key: str) -> Trace | None:
        """A cached trace, or None; a broken entry counts as absent and is removed."""
        if not self.holds(key):
            return None
        from timesink.formats.parquet_folder import read_folder  # noqa: PLC0415 - most keys are not here

        folder = self.folder(key)
        try:
            # Held open: the trace stays whole when its entry is evicted or cleared.
            trace = read_folder(folder, hold_open=True)
        except UnreadableError:
            _discard(folder)
            return None
        with suppress(OSError):
            os.utime(folder)
        return trace

    def save(self, key: str, trace: Trace) -> None:
        """Keep a trace; a cache that cannot be written is not an error."""
        from timesink.formats.parquet_folder import write_folder  # noqa: PLC0415 - start-up time

        with suppress(OSError):
            self._traces.mkdir(parents=True, exist_ok=True)
            aside = Path(tempfile.mkdtemp(prefix=".writing-", dir=self._traces))
            try:
                write_folder(trace, aside)
                folder = self.folder(key)
                if folder.exists() and not is_folder(folder):
                    _discard(folder)
                # Fails when another process was first; its entry is as good as this one.
                aside.rename(folder)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        self.settle()

    def folder(self, key: str) -> Path:
        """Where a trace is kept, whether it is there or not."""
        return self._traces / key

    def is_writable(self) -> bool:
        """Whether a trace could be kept here."""
        try:
            self._traces.mkdir(parents=True, exist_ok=True)
        except OSError:
            return False
        return os.access(self._traces, os.W_OK) and self.limit_bytes != 0

    def holds(self, key: str) -> bool:
        return bool(key) and is_folder(self.folder(key))

    def key(self, files: Iterable[Path], *words: str) -> str:
        """Key of files: their content, words on them, and the versions that shape the result."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(f"{SCHEMA_VERSION}.{READER_VERSION}".encode())
        for file in files:
            # The name counts: ranks and workers may come from it.
            digest.update(b"\0" + os.fsencode(file.name) + b"\0")
            digest.update(self._content_hash(file))
        for word in words:
            digest.update(b"\0\0" + os.fsencode(word))
        return digest.hexdigest()

    def entries(self) -> list[Entry]:
        """Cached traces, the least recently used first."""
        return _entries(self._own_folders(_KEY))

    def summary_entries(self) -> list[Entry]:
        """Summaries of ranks, the least recently used first."""
        return _entries(_matching_children(self.summaries, _SUMMARY))

    def clear(self) -> list[Entry]:
        """Remove every entry and tell which there were, summaries of ranks after traces."""
        removed = [*self.entries(), *self.summary_entries()]
        traces = [*self._own_folders(_KEY), *self._own_folders(_TEMPORARY)]
        summaries = [
            *_matching_children(self.summaries, _SUMMARY),
            *_matching_children(self.summaries, _TEMPORARY),
        ]
        for entry in traces + summaries:
            _discard(entry)
        for note in _matching_children(self._index, _KEY):
            with suppress(OSError):
                note.unlink()
        if any(entry.folder.exists() for entry in removed):
            message = f"{self.root}: some traces cannot be removed"
            raise OutputError(message, "check the permissions of the folder")
        return removed

    def _own_folders(self, name: re.Pattern[str]) -> Iterator[Path]:
        """Folders of this cache; what else a user keeps in the same place is not touched."""
        return (child for child in _matching_children(self._traces, name) if child.is_dir())

    def _content_hash(self, file: Path) -> bytes:
        stat = file.stat()
        # The time of change, unlike that of modification, cannot be set back.
        changed_ns = max(stat.st_mtime_ns, stat.st_ctime_ns)
        signature = f"{stat.st_size}|{stat.st_mtime_ns}|{stat.st_ctime_ns}|{stat.st_ino}|"
        name = hashlib.blake2b(signature.encode() + os.fsencode(file.resolve()), digest_size=16)
        note = self._index / name.hexdigest()
        if time.time_ns() - changed_ns <= _SETTLED_NS:
            return _hash_file(file)
        with suppress(OSError, DamagedError):
            stored_hash = small_content(note)
            if len(stored_hash) == 20:
                return stored_hash
        content = _hash_file(file)
        with suppress(OSError):
            self._index.mkdir(parents=True, exist_ok=True)
            note.write_bytes(content)
        return content

    def note_written(self, file: Path) -> None:
        """Keep the digest of an answer, to know it again."""
        with suppress(OSError, DamagedError):
            digest = _hash_file(file).hex().encode()
            self.root.mkdir(parents=True, exist_ok=True)
            digests = small_content(self._written).split() if self._written.exists() else []
            if digest not in digests:
                replace_file(self._written, [b"\n".join([*digests[-_MAX_WRITTEN:], digest])])

    def has_written(self, file: Path) -> bool:
        """Whether a file is an answer, and as it was written."""
        with suppress(OSError, DamagedError):
            return _hash_file(file).hex().encode() in small_content(self._written).split()
        return False

    def settle(self) -> None:
        """Drop leftovers of crashed processes, and the least recently used beyond the limit."""
        abandoned_before = time.time() - _ABANDONED_SECONDS
        for left in [
            *self._own_folders(_TEMPORARY),
            *_matching_children(self.summaries, _TEMPORARY),
        ]:
            with suppress(OSError):
                if left.stat().st_mtime < abandoned_before:
                    _remove(left)
        if self.limit_bytes is None:
            return
        entries = [*self.entries(), *self.summary_entries()]
        surplus = sum(entry.bytes for entry in entries) - self.limit_bytes
        for entry in sorted(entries, key=lambda entry: entry.last_used):
            if surplus <= 0:
                return
            _discard(entry.folder)
            surplus -= entry.bytes


def _discard(entry: Path) -> None:
    """Remove an entry: gone by its name first, so that nobody reads what is half removed."""
    gone = entry.with_name(f".gone-{os.getpid()}-{entry.name}")
    with suppress(OSError):
        entry.rename(gone)
        _remove(gone)


def _remove(entry: Path) -> None:
    if entry.is_dir():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        entry.unlink()


def _entries(places: Iterable[Path]) -> list[Entry]:
    """Files and folders of files as entries, the least recently used first."""
    entries = []
    for place in places:
        # Another process may remove it at any moment.
        with suppress(OSError):
            files = place.iterdir() if place.is_dir() else [place]
            size = sum(file.stat().st_size for file in files)
            entries.append(Entry(place, size, place.stat().st_mtime))
    return sorted(entries, key=lambda entry: entry.last_used)


def _matching_children(folder: Path, name: re.Pattern[str]) -> list[Path]:
    """What lies in a folder under such a name; nothing where there is no folder."""
    try:
        return [child for child in folder.iterdir() if name.fullmatch(child.name)]
    except OSError:
        return []


def _hash_file(file: Path) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    with file.open("rb") as stream:
        while block := stream.read(1024 * 1024):
            digest.update(block)
    return digest.digest()


_saving: dict[tuple[Path, str], Thread] = {}


def save_in_background(cache: Cache, key: str, trace: Trace) -> None:
    """Start to keep a trace.  The process does not end before it is done."""
    _start(cache, key, lambda: cache.save(key, trace))


def after_saving(cache: Cache, key: str, action: Callable[[], None]) -> None:
    """Do something as soon as a trace is kept: at once if it is not being kept just now."""
    pending = _saving.get((cache.root, key))
    if pending is None:
        action()
        return

    def wait_and_act() -> None:
        pending.join()
        action()

    _start(cache, key, wait_and_act)


def wait_until_saved(cache: Cache, key: str) -> None:
    """Wait for a trace that is being kept; return at once if none is."""
    thread = _saving.pop((cache.root, key), None)
    if thread is not None:
        thread.join()


def _start(cache: Cache, key: str, action: Callable[[], None]) -> None:
    thread = Thread(target=action, name="timesink-cache")
    _saving[cache.root, key] = thread
    thread.start()
