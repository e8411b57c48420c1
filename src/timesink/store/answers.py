"""Answers already given about a cached trace, kept beside its tables.

An answer is valid for one content (the folder it lies in), one question and one state of the code;
it goes away with its trace.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from timesink.store.background import after_saving
from timesink.store.cache import Cache


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """Where the answer to one question about one trace is kept."""

    store: Cache
    key: str
    """Of the trace."""
    name: str
    """Of the question."""

    @classmethod
    def about(cls, store: Cache, key: str, question: Iterable[object]) -> KeptAnswer:
        """The place for an answer; the trace need not be in the store yet.

        >>> store = Cache(Path("cache"))
        >>> first, second = (KeptAnswer.about(store, "k", ["steps", n]) for n in (1, 2))
        >>> first.file.parent == second.file.parent, first == second
        (True, False)
        """
        digest = hashlib.blake2b(_state_of_code(), digest_size=16)
        for part in question:
            digest.update(f"\0{part!r}".encode("utf-8", "backslashreplace"))
        return cls(store, key, f"answer-{digest.hexdigest()}")

    @property
    def file(self) -> Path:
        return self.store.folder(self.key) / self.name

    def load(self) -> bytes | None:
        with contextlib.suppress(OSError):
            return self.file.read_bytes()
        return None

    def save(self, answer: bytes) -> None:
        """Keep an answer as soon as its trace is kept; that it cannot be written is no error."""
        after_saving(self.store, self.key, lambda: self._write(answer))

    def _write(self, answer: bytes) -> None:
        with contextlib.suppress(OSError):
            handle, aside = tempfile.mkstemp(dir=self.file.parent, prefix=".answer-")
            with os.fdopen(handle, "wb") as stream:
                stream.write(answer)
            Path(aside).replace(self.file)


@cache
def _state_of_code() -> bytes:
    """Changes whenever code or data of this package does: no answer outlives what gave it."""
    digest = hashlib.blake2b(digest_size=16)
    for path, stat in sorted(_own_files(str(Path(__file__).parents[1]))):
        digest.update(os.fsencode(path) + f"|{stat.st_size}|{stat.st_mtime_ns}\n".encode())
    return digest.digest()


def _own_files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as found:
        for one in found:
            if not one.is_dir():
                yield one.path, one.stat()
            elif one.name != "__pycache__":
                yield from _own_files(one.path)
