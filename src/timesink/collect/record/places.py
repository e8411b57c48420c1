"""The folder of a recording: what belongs to it, and making room for a new one."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from timesink.collect.processes import birth, is_running
from timesink.errors import OutputError

COUNTERS_FILE = "counters.csv"
CONTROL_FOLDER = ".timesink-recording"
"""Nobody else's: it goes with all that is in it, and `.timesink` may hold baselines."""
_PARTS = (
    "trace.json.gz",
    "trace.rank*.json.gz",
    "trace.pid*.json.gz",
    COUNTERS_FILE,
    f".{COUNTERS_FILE}.new",
    "run.json",
)
_LEAST_FREE = 64 * 1024**2
"""Bytes without which even the recording of a small program does not fit."""


@dataclass(frozen=True)
class RecordingFolder:
    """Where a recording goes; absolute, for the program may change its folder."""

    folder: Path

    @property
    def control(self) -> Path:
        """Where the program and the recorder leave notes, and what is not finished."""
        return self.folder / CONTROL_FOLDER

    @property
    def counters(self) -> Path:
        return self.folder / COUNTERS_FILE

    @property
    def run_file(self) -> Path:
        return self.folder / "run.json"

    def trace(self, worker: str = "") -> Path:
        """The timeline of a process."""
        return self.folder / f"trace{f'.{worker}' if worker else ''}.json.gz"

    def check(self, *, force: bool) -> None:
        """Refuse before the program runs what cannot work after it."""
        if self.folder.exists() and not self.folder.is_dir():
            raise OutputError.unwritable(self.folder, "it is a file, not a folder")
        self._check_unused()
        if self.folder.exists() and not force and any(self.folder.iterdir()):
            raise OutputError.exists(self.folder)
        around = next(place for place in (self.folder, *self.folder.parents) if place.exists())
        if not os.access(around, os.W_OK):
            raise OutputError.unwritable(self.folder, f"no permission to write to {around}")
        free = shutil.disk_usage(around).free
        if free < _LEAST_FREE:
            raise OutputError.unwritable(self.folder, f"only {free // 1024**2} MB left on its disk")

    def prepare(self) -> None:
        """An empty place: what an earlier recording left is removed, and nothing else."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._check_unused()
            self._clear()
            self.control.mkdir()
            self._owner.write_text(f"{os.getpid()} {birth(os.getpid())}")
        except OSError as error:
            raise OutputError.unwritable(self.folder, error.strerror or str(error)) from None

    @property
    def _owner(self) -> Path:
        """Says which process records here, and when that started: its number is used again."""
        return self.control / "recorder.pid"

    def recorder(self) -> int | None:
        """The process that records here; None where none does."""
        with suppress(OSError, ValueError):
            number, _, born = self._owner.read_text().partition(" ")
            if is_running(int(number), born):
                return int(number)
        return None

    def release(self) -> None:
        """This process records here no longer, whatever is left."""
        with suppress(OSError):
            self._owner.unlink()

    def _check_unused(self) -> None:
        """Two recordings in one folder would be mixed."""
        pid = self.recorder()
        if pid is not None:
            raise OutputError.unwritable(self.folder, f"process {pid} is recording there")

    def clear_control(self) -> None:
        """Remove the notes; all that matters of them is in the recording."""
        shutil.rmtree(self.control, ignore_errors=True)

    def discard(self) -> None:
        """Leave no trace of a recording that never began."""
        with suppress(OSError):
            self._clear()
            self.folder.rmdir()

    def _clear(self) -> None:
        self.clear_control()
        # Also links to files that are not there.
        for path in list(self.folder.iterdir()):
            if any(fnmatchcase(path.name, pattern) for pattern in _PARTS):
                path.unlink()
