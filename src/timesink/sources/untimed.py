"""Which files and folders have no timeline, told without loading what reads them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from timesink.errors import TimesinkError
from timesink.formats.collective_logs.signatures import is_log_folder, log_format
from timesink.formats.memory_snapshot.signature import sniff
from timesink.formats.source_file import open_source

SNAPSHOT, LOG = "memory_snapshot", "collective_log"
WORDS = {SNAPSHOT: "memory snapshot", LOG: "log of collectives"}
"""Of each kind, for people."""


def untimed_kind(path: str | Path) -> str | None:
    """What a path holds that has no timeline: `memory_snapshot`, `collective_log` or None.

    >>> untimed_kind("/no/such/file")
    """
    file = Path(path)
    with suppress(OSError, TimesinkError, ValueError):
        if file.is_dir():
            if is_log_folder(file):
                return LOG
            from timesink.sources.discovery import find_recordings  # noqa: PLC0415 - most are files

            recordings = find_recordings(file)
            return untimed_kind(recordings[0].path) if len(recordings) == 1 else None
        if file.is_file():
            if sniff(open_source(file).head(1024), file.name):
                return SNAPSHOT
            return LOG if log_format(file) is not None else None
    return None
