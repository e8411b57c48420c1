"""What other processes ask of a watcher: a file per request, which is gone when it is taken."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from timesink.errors import CollectError, UnreadableError
from timesink.sources.watch_folder import is_watch
from timesink.watcher.journal import WatchFolder

ASKED = ("accept", "reference", "off")
_TAKEN_S = 5.0


def taken_commands(folder: Path) -> Iterator[str]:
    """Requests in the order they came."""
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            what = path.suffix[1:]
            with suppress(OSError):
                path.unlink()
                if what in ASKED:
                    yield what


def ask_watcher(folder: Path, what: str) -> None:
    """Ask the watcher of a folder for something, and wait until it has taken that."""
    place = WatchFolder(folder)
    if not is_watch(folder):
        hint = "name the folder of  timesink watch -o DIR"
        raise UnreadableError(f"{folder}: nothing is watched there", hint)
    if place.place.recorder() is None:
        raise CollectError(
            f"{folder}: its watcher runs no more", "start the program again with  timesink watch"
        )
    path = place.commands / f"{time.time_ns()}.{what}"
    try:
        path.touch()
    except OSError as error:
        raise UnreadableError.denied(path, error.strerror or str(error)) from None
    until = time.monotonic() + _TAKEN_S
    while path.exists():
        if time.monotonic() > until:
            raise CollectError(
                f"{folder}: its watcher does not answer", "see  timesink watch status"
            )
        time.sleep(0.05)
