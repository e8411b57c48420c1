"""What other processes ask of a watcher: a file per request, and one with its answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from timesink.errors import CollectError, UnreadableError
from timesink.sources.watch_folder import is_watch
from timesink.watcher.journal import WatchFolder

ASKED = ("accept", "reference", "off")
_TAKEN_S = 5.0


class Refused(Exception):  # noqa: N818 - it is an answer
    """Why a request cannot be met."""


def obey_commands(folder: Path, obey: Callable[[str], str]) -> None:
    """Meet requests in the order they came; each gets a sentence, or why it is refused."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix[1:] in ASKED)
    except OSError:
        return
    for path in paths:
        with suppress(OSError):
            path.unlink()
            try:
                answer = {"done": obey(path.suffix[1:])}
            except Refused as why:
                answer = {"refused": str(why)}
            beside = path.with_suffix(".new")
            beside.write_text(json.dumps(answer))
            beside.replace(path.with_suffix(".answer"))


def ask_watcher(folder: Path, what: str) -> str:
    """Ask the watcher of a folder for something; what it says to that."""
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
    while time.monotonic() < until:
        answer: dict[str, str] = {}
        with suppress(OSError, ValueError):
            answer = json.loads(path.with_suffix(".answer").read_text())
            path.with_suffix(".answer").unlink()
        if "refused" in answer:
            hint = f"see  timesink watch status {folder}"
            raise CollectError(f"{folder}: {what} is refused: {answer['refused']}", hint)
        if answer:
            return answer["done"]
        time.sleep(0.05)
    with suppress(OSError):
        path.unlink()
    raise CollectError(f"{folder}: its watcher does not answer", "see  timesink watch status")
