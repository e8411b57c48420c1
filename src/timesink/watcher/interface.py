"""What the command line and the server may ask of watching.

A name is loaded from its file when it is first asked for, for the sake of start-up time: to read
a status needs little of what judging steps needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timesink.watcher.collective_logs import (
        log_watch_document,
        log_watch_status,
        watch_logs,
    )
    from timesink.watcher.durations import (
        judge_durations,
        learn_durations,
        learned_sentences,
        watch_document,
    )
    from timesink.watcher.journal import ask_watcher
    from timesink.watcher.program import watch_pid, watch_program
    from timesink.watcher.start import one_thread
    from timesink.watcher.status import is_gone, place_document, status_document, status_of

__all__ = [
    "ask_watcher",
    "is_gone",
    "judge_durations",
    "learn_durations",
    "learned_sentences",
    "log_watch_document",
    "log_watch_status",
    "one_thread",
    "place_document",
    "status_document",
    "status_of",
    "watch_document",
    "watch_logs",
    "watch_pid",
    "watch_program",
]

_FILES = {
    "collective_logs": ("log_watch_document", "log_watch_status", "watch_logs"),
    "durations": ("judge_durations", "learn_durations", "learned_sentences", "watch_document"),
    "journal": ("ask_watcher",),
    "program": ("watch_pid", "watch_program"),
    "start": ("one_thread",),
    "status": ("is_gone", "place_document", "status_document", "status_of"),
}
_FILE_OF_NAME = {name: file for file, names in _FILES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load what is asked for."""
    if name not in _FILE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"timesink.watcher.{_FILE_OF_NAME[name]}"), name)
