"""One trace file of a run: where it is, whose it is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from timesink.readers.places import without_password


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file behind a URL, as its file system listed it."""

    url: str = field(repr=False)
    """As whoever reads needs it, with the password if there is one."""
    size_bytes: int = 0
    version: str = ""
    """Another one for other content; empty where the file system does not tell."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One trace file of a run.  It can be sent to other machines, and read there."""

    path: Path
    """Of a remote file it has name and folder, and tells it from others; nothing is there."""
    worker: str
    span: int | None = None
    """1-based place among the worker's spans, in the order of their timestamps."""
    rank: int | None = None
    """Rank the name of the file or of its folder states; the trace itself may say more."""
    host: str | None = None
    """Host the name of the file or of its folder states."""
    run: str = "."
    """Which of the runs at a place it is of: the folder, below what all of them lie in."""
    remote: RemoteFile | None = None
    beside: tuple[RemoteFile, ...] = ()
    """Remote files that may belong to a remote trace: counters, what the recorder says."""

    @property
    def label(self) -> str:
        return self.worker if self.span is None else f"{self.worker} span {self.span}"

    @property
    def source(self) -> str:
        """Where it comes from, as it may be shown."""
        return str(self.path) if self.remote is None else without_password(self.remote.url)

    def size_bytes(self) -> int:
        """How large the file is; 0 where nobody knows."""
        if self.remote is not None:
            return self.remote.size_bytes
        with suppress(OSError):
            return self.path.stat().st_size
        return 0
