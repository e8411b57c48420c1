"""Answers already given about a cached trace, kept beside its tables.

An answer is valid for one content (the folder it lies in), one question and one state of the code;
it goes away with its trace.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from timesink.store.arrays import Block
from timesink.store.background import after_saving
from timesink.store.cache import Cache
from timesink.writers.aside import replace_file


@dataclass(frozen=True, slots=True)
class KeptAnswer:
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

    def load(self) -> bytes | None:
        with contextlib.suppress(OSError):
            return self.file.read_bytes()
        return None

    def map(self) -> memoryview | None:
        """The answer as it lies in its file, which is read where it is looked at."""
        with contextlib.suppress(OSError, ValueError), self.file.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return None

    def save(self, answer: bytes) -> None:
        """Keep an answer as soon as its trace is kept; that it cannot be written is no error."""
        after_saving(self.store, self.key, lambda: replace_file(self.file, [answer]))

    def save_only(self, blocks: Iterable[Block]) -> None:
        """Keep a large answer, and none of its sort that older code gave."""
        after_saving(self.store, self.key, lambda: self._replace(blocks))

    def _replace(self, blocks: Iterable[Block]) -> None:
        replace_file(self.file, blocks)
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
    with os.scandir(folder) as found:
        for one in found:
            if not one.is_dir():
                yield one.path, one.stat()
            elif one.name != "__pycache__":
                yield from _own_files(one.path)
