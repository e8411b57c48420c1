"""One trace file of a run: where it is, and whose it is as far as names say."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from timesink.formats.file_names import (
    host_in_name,
    rank_in_name,
    rank_of_folder,
    worker_and_span,
)
from timesink.model.vendors import PARSED_FOLDERS
from timesink.patterns import regex
from timesink.recorder.processes import safe_text
from timesink.sources.captures import CaptureFile
from timesink.sources.places import without_password

# One file of a run.


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file behind a URL, as its file system listed it."""

    url: str = field(repr=False)
    """As whoever reads needs it, with the password if there is one."""
    size_bytes: int = 0
    version: str = ""
    """Another one for other content; empty where the file system does not tell."""


class Recording(msgspec.Struct, frozen=True):
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
    captures: tuple[CaptureFile, ...] = ()
    """What a user named that says what its graphs hold, instead of what lies beside it."""

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


_TRACE_NAME = regex(
    r"\.(?:(?:json|sqlite|csv|pftrace|xplane\.pb)(?:\.gz)?|json\.zip|parquet|nsys-rep|db"
    r"|perfetto-trace)$",
    re.IGNORECASE,
)

_TEXTS_OF_FOLDER = "StringIds.parquet"
_FOLDER_ENDING = regex(r"(?:[._-](?:pqtdir|parquetdir|parquet))$", re.IGNORECASE)
_INFO_FILE = regex(r"profiler_info_(\d{1,6})\.json")


def _rank_beside(folder: Path) -> int | None:
    """The rank that the description beside a folder of traces has in its name."""
    with suppress(OSError):
        names = map(_INFO_FILE.fullmatch, sorted(entry.name for entry in folder.iterdir()))
        return next((int(match[1]) for match in names if match), None)
    return None


def recording_of(file: Path) -> Recording:
    """A file as a recording, as far as its name and that of its folder say."""
    worker, timestamp = worker_and_span(file.name)
    if file.name == _TEXTS_OF_FOLDER:
        # It stands for the tables of its folder, which has the name of the recording.
        worker = _FOLDER_ENDING.sub("", file.parent.name) or None
    if file.parent.name in PARSED_FOLDERS:
        # The traces of all ranks have one name; what they are of says the folder around.
        worker = re.sub(r"_[a-z]+_pt$", "", file.parent.parent.name) or None
    rank = rank_in_name(file.name)
    if rank is None and file.parent.name in PARSED_FOLDERS:
        rank = _rank_beside(file.parent.parent)
    return Recording(
        path=file,
        worker=safe_text(worker or _TRACE_NAME.sub("", file.name)),
        span=timestamp,
        rank=rank_of_folder(file.parent.name) if rank is None else rank,
        host=host_in_name(file.name),
    )
