"""Recording small programs, as a user would: with torch where it is installed."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="records a program with torch, which is not installed",
)

TIMESINK = (sys.executable, "-m", "timesink")
SOURCES = str(Path(importlib.util.find_spec("timesink").origin).parents[1])  # type: ignore[union-attr, arg-type]


@dataclass(frozen=True)
class Recording:
    """A finished recording, and what the command said about it."""

    folder: Path
    code: int
    out: str
    err: str

    @property
    def run(self) -> Any:
        return json.loads((self.folder / "run.json").read_text())

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def events(self, name: str = "trace.json.gz") -> list[dict[str, Any]]:
        with gzip.open(self.folder / name) as file:
            return json.load(file)["traceEvents"]  # type: ignore[no-any-return]

    def marks(self, name: str = "trace.json.gz") -> list[str]:
        """The annotations of a timeline, in order."""
        found = [event for event in self.events(name) if event.get("cat") == "user_annotation"]
        return [event["name"] for event in sorted(found, key=lambda event: event["ts"])]


def made_once(place: Path, make: Callable[[Path], Recording]) -> Recording:
    """A recording that several processes test: one of them makes it."""
    facts = place.with_suffix(".json")
    try:
        place.parent.mkdir()
    except FileExistsError:
        wait_for(facts)
    else:
        made = make(place)
        told = json.dumps([made.code, made.out, made.err])
        unfinished = facts.with_suffix(".unfinished")
        unfinished.write_text(told)
        unfinished.rename(facts)
    return Recording(place, *json.loads(facts.read_text()))


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 300
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": SOURCES, "OMP_NUM_THREADS": "1", **more}


def record(
    folder: Path, options: list[str], command: list[str], env: Mapping[str, str] | None = None
) -> Recording:
    """Run `timesink record` to its end."""
    told = subprocess.run(
        [*TIMESINK, "record", "-o", str(folder), *options, "--", *command],
        capture_output=True, text=True, cwd=folder.parent, env=env or environment(), check=False,
    )  # fmt: skip
    return Recording(folder, told.returncode, told.stdout, told.stderr)
