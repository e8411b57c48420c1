"""Notes a process leaves in the control folder: one line each, whole whatever happens next."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Note = Mapping[str, Any]


@dataclass(frozen=True)
class Notebook:
    """Where this process writes its notes; a fork of it writes its own."""

    control: Path

    def add(self, event: str, **facts: object) -> None:
        """Write down that something happened; a full disk must not stop the program."""
        line = json.dumps({"event": event, **facts}) + "\n"
        with suppress(OSError):
            path = self.control / f"{os.getpid()}.jsonl"
            end = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(end, line.encode())
            finally:
                os.close(end)


@dataclass(frozen=True)
class ProcessNotes:
    """What one process wrote down, in order."""

    pid: int
    notes: tuple[Note, ...]

    def last(self, event: str) -> Note | None:
        """The latest note of an event."""
        return next((note for note in reversed(self.notes) if note["event"] == event), None)


def read_notes(control: Path) -> list[ProcessNotes]:
    """The notes of every process, in the order of their numbers."""
    found = [
        ProcessNotes(int(path.stem), tuple(_notes_in(path)))
        for path in control.glob("*.jsonl")
        if path.stem.isdigit()
    ]
    return sorted(found, key=lambda process: process.pid)


def _notes_in(path: Path) -> list[Note]:
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    notes = []
    for line in lines:
        # A process that was killed while it wrote leaves half a line.
        with suppress(ValueError):
            notes.append(json.loads(line))
    return [note for note in notes if isinstance(note, dict) and "event" in note]
