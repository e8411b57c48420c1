"""The watch folder: every file appears whole, and what cannot be written is counted and said."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from timesink.errors import CollectError, UnreadableError, reason_of
from timesink.formats.small_files import DamagedError, encode_json, read_small_json
from timesink.recorder.folder import RecordingFolder
from timesink.recorder.places import write_whole
from timesink.recorder.watch_plan import OTHER
from timesink.sources.watch_folder import INCIDENTS, SERIES_FILE, STATUS_FILE, WATCH_FILE, is_watch

_MAX_ROWS = 100_000
_ROWS, _OLD_ROWS = "cycles.csv", "cycles.old.csv"
_EVENTS, _OLD_EVENTS = "alarms.jsonl", "alarms.old.jsonl"
_MAX_EVENT_BYTES = 16 << 20
_WATCH_FILES = (
    WATCH_FILE, STATUS_FILE, SERIES_FILE, "model.json", "model-*.json", _EVENTS, _OLD_EVENTS,
)  # fmt: skip


class WatchFolder:
    """Where everything of one watched program lies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = RecordingFolder(folder)
        self.control = self.place.control
        self.commands = self.control / "commands"
        """Where other processes ask the watcher for something."""
        self.tasks = self.control / "tasks"
        self.model = folder / "model.json"
        self.references = folder / "references"
        self.incidents = folder / INCIDENTS
        self.rows = (folder / _OLD_ROWS, folder / _ROWS)
        """Tables of the last cycles, the older one first."""

    def prepare(self, before: str = "") -> None:
        """A place to begin in; what an earlier watcher left here goes, and nothing else.

        Of one that is gone on with, what was found stays, and what was learned of the same program.
        """
        self.place.prepare()
        if not before:
            self._clear()
        elif before == OTHER:
            with suppress(OSError):
                self.model.replace(self.folder / f"model-{time.strftime('%Y%m%d-%H%M%S')}.json")
            for path in self.rows:
                path.unlink(missing_ok=True)
            remove_folder(self.references)
        for path in (self.folder / STATUS_FILE, self.folder / SERIES_FILE):
            path.unlink(missing_ok=True)
        for folder in (self.commands, self.tasks, self.references, self.incidents):
            folder.mkdir(exist_ok=True)

    def discard(self) -> None:
        """Leave no trace of a watch that never began."""
        with suppress(OSError):
            self._clear()
            self.place.discard()

    def _clear(self) -> None:
        for pattern in (*_WATCH_FILES, _ROWS, _OLD_ROWS):
            for path in self.folder.glob(pattern):
                path.unlink()
        for folder in (self.references, self.incidents):
            shutil.rmtree(folder, ignore_errors=True)


class Journal:
    """Writes the folder; a full disk costs rows, and never the watcher."""

    def __init__(self, place: WatchFolder, say: Callable[[str], None]) -> None:
        self.place = place
        self.failed = 0
        """Writes that could not be done."""
        self._say = say
        self._has_said = False
        self._columns: list[str] = []
        """Of the table that is written to; it gets more, and keeps those it has."""
        self._rows = 0

    def replace(self, name: str, content: Mapping[str, Any] | msgspec.Struct | bytes) -> bool:
        """A whole file in the place of the one before; whether it worked."""
        path = self.place.folder / name
        data = content if isinstance(content, bytes) else encode_json(content)
        try:
            write_whole(path, data)
        except OSError as error:
            self._fail(path, error)
            return False
        return True

    def event(self, name: str, **facts: Any) -> None:
        """One line of alarms.jsonl, of now."""
        record = {"event": name, "time_us": time.time_ns() // 1000, **facts}
        line = encode_json(record) + b"\n"
        path = self.place.folder / _EVENTS
        with suppress(OSError):
            if path.stat().st_size > _MAX_EVENT_BYTES:
                path.replace(path.with_name(_OLD_EVENTS))
        self._append(path, line)

    def add_rows(self, rows: pl.DataFrame) -> None:
        """Keep cycles; of all that came, the last hundred thousand at least."""
        if rows.is_empty():
            return
        old, path = self.place.rows
        new = [name for name in rows.columns if name not in self._columns]
        is_full = not self._columns or self._rows + rows.height > _MAX_ROWS
        if is_full or (new and self._rows and not self._widen(path, new)):
            try:
                if path.exists():
                    path.replace(old)
            except OSError as error:
                self._fail(path, error)
                return
            self._rows = 0
        self._columns += new
        nothing = (pl.lit(None).alias(name) for name in self._columns if name not in rows.columns)
        table = rows.with_columns(nothing).select(self._columns)
        text = table.write_csv(include_header=not self._rows, float_precision=6)
        if self._append(path, text.encode()):
            self._rows += rows.height

    def _widen(self, path: Path, new: Sequence[str]) -> bool:
        """Give the rows that are there columns they say nothing of; whether it worked."""
        try:
            table = pl.read_csv(path, infer_schema=False)
        except (OSError, pl.exceptions.PolarsError):
            return False
        nothing = (pl.lit(None, dtype=pl.String).alias(name) for name in new)
        return self.replace(path.name, table.with_columns(nothing).write_csv().encode())

    def _append(self, path: Path, content: bytes) -> bool:
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                end = os.fstat(file).st_size
                if os.write(file, content) < len(content):
                    # Rather none than half a line.
                    os.ftruncate(file, end)
                    self._fail(path, OSError("no space left on its disk"))
                    return False
            finally:
                os.close(file)
        except OSError as error:
            self._fail(path, error)
            return False
        return True

    def _fail(self, path: Path, error: OSError) -> None:
        self.failed += 1
        if not self._has_said:
            self._has_said = True
            why = reason_of(error)
            self._say(f"{path}: cannot be written ({why}); lost writes are counted")


def remove_folder(folder: Path) -> None:
    """Take away a folder, as far as that works."""
    shutil.rmtree(folder, ignore_errors=True)


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    total = 0
    for around, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(around, name).stat().st_size
    return total


# What other processes ask of a watcher: a file per request, and one with its answer.

REQUESTS = ("accept", "reference", "off")
_TAKEN_S = 5.0


class Refused(Exception):  # noqa: N818 - it is an answer
    """Why a request cannot be met."""


def obey_commands(folder: Path, obey: Callable[[str], str]) -> None:
    """Meet requests in the order they came; each gets a sentence, or why it is refused."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix[1:] in REQUESTS)
    except OSError:
        return
    for path in paths:
        with suppress(OSError):
            path.unlink()
            try:
                answer = {"done": obey(path.suffix[1:])}
            except Refused as why:
                answer = {"refused": str(why)}
            write_whole(path.with_suffix(".answer"), json.dumps(answer).encode())


def ask_watcher(folder: Path, what: str) -> str:
    """Ask the watcher of a folder for something; what it says to that."""
    place = WatchFolder(folder)
    if not is_watch(folder):
        hint = "name the folder of  timesink watch -o DIR"
        raise UnreadableError(f"{folder}: no watch in this folder", hint)
    if place.place.recorder() is None:
        raise CollectError(
            f"{folder}: the watcher is not running", "start the program again with  timesink watch"
        )
    path = place.commands / f"{time.time_ns()}.{what}"
    try:
        path.touch()
    except OSError as error:
        raise UnreadableError.denied(path, error) from None
    until = time.monotonic() + _TAKEN_S
    while time.monotonic() < until:
        answer: dict[str, str] = {}
        with suppress(OSError, DamagedError):
            answer = read_small_json(path.with_suffix(".answer"))
            path.with_suffix(".answer").unlink()
        if "refused" in answer:
            hint = f"see  timesink watch status {folder}"
            raise CollectError(f"{folder}: {what} is not possible: {answer['refused']}", hint)
        if answer:
            return answer["done"]
        time.sleep(0.05)
    with suppress(OSError):
        path.unlink()
    raise CollectError(f"{folder}: the watcher does not answer", "see  timesink watch status")
