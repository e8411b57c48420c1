"""Where recordings of the lab lie, and which of them are there already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timesink.errors import OutputError, UnreadableError
from timesink.lab.driving.order import LabRun

ABOUT = "lab.json"
"""In the folder of all recordings: how they were made."""
FAULT = "fault.json"
"""In the folder of a recording, once it is whole: what was wrong on purpose."""
TRACE = "trace.json.gz"
RUN_FILE = "run.json"


@dataclass(frozen=True)
class LabFolder:
    """A folder of recordings."""

    root: Path

    @property
    def about(self) -> Path:
        """How the recordings are made."""
        return self.root / ABOUT

    def of(self, run: LabRun) -> Path:
        """The folder of a recording."""
        return self.root / run.folder

    def log_of(self, run: LabRun) -> Path:
        """What the recorder and the program said."""
        return self.root / "logs" / f"{run.workload.name}-{run.name}.log"

    def files_of(self, run: LabRun) -> list[Path]:
        """All there is of a run."""
        return [*sorted(self.of(run).glob("*")), self.log_of(run)]

    def has(self, run: LabRun) -> bool:
        """Whether it was recorded before."""
        return (self.of(run) / FAULT).is_file()

    def finish(self, run: LabRun, about: Mapping[str, Any]) -> None:
        """Say what was wrong on purpose; from now on the recording is there."""
        write_json(self.of(run) / FAULT, about)

    def claim(self, how: Mapping[str, Any]) -> None:
        """Take the folder, or go on with one that was begun in the same way."""
        if not self.root.exists() or (self.root.is_dir() and not any(self.root.iterdir())):
            self.root.mkdir(parents=True, exist_ok=True)
            write_json(self.about, how)
            return
        if not self.about.is_file():
            raise OutputError(f"{self.root}: is there and is no folder of the lab", "name a new -o")
        begun = read_about(self.root)
        unlike = [
            f"{name} {begun.get(name)} and not {value}"
            for name, value in how.items()
            if begun.get(name) != value
        ]
        if unlike:
            raise OutputError(
                f"{self.root}: was begun with {', '.join(unlike)}",
                "go on with the same options on the same machine, or name a new -o",
            )


def read_about(root: Path) -> dict[str, Any]:
    """How the recordings of a folder were made; empty where nothing says so."""
    path = root / ABOUT
    if not path.is_file():
        return {}
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{path}: cannot be read ({error})", "name a new -o") from None
    return about if isinstance(about, dict) else {}


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a small file; it is there whole or not at all."""
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)
