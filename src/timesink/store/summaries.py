"""Summaries of ranks already made, one small file each, in a folder of the cache of their own.

A summary is valid for one content of a recording, one question and one state of the code.  Traces
of a fleet are not kept: their summaries are what the next question needs.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from timesink.store.answers import state_of_code
from timesink.store.cache import Cache
from timesink.writers.aside import replace_file


@dataclass(frozen=True, slots=True)
class KeptSummaries:
    """The summaries that answer one question, such as which steps they are of."""

    store: Cache
    question: str = ""

    def file(self, key: str) -> Path:
        """Where the summary of a recording is kept, whether it is there or not."""
        asked = hashlib.blake2b(state_of_code(), digest_size=16)
        asked.update(f"\0{key}\0{self.question}".encode())
        return self.store.summaries / f"{asked.hexdigest()}.parquet"

    def load(self, key: str) -> bytes | None:
        """A kept summary, or None."""
        if not key:
            return None
        file = self.file(key)
        with contextlib.suppress(OSError):
            kept = file.read_bytes()
            # It was used: the least recently used go first.
            os.utime(file)
            return kept
        return None

    def save(self, key: str, summary: bytes) -> None:
        """Keep a summary; that it cannot be written is no error.  `Cache.settle` comes last."""
        if not key or self.store.limit_bytes == 0:
            return
        file = self.file(key)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(file, [summary])

    def forget(self, key: str) -> None:
        """Remove a summary that turned out to be broken."""
        with contextlib.suppress(OSError):
            self.file(key).unlink()
