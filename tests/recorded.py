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

WITHOUT_COMPILER = """
import sys, types
for name, parts in {
    "torch._dynamo": {
        "disable": lambda run, *_, **__: run,
        "graph_break": lambda: None,
        "trace_rules": types.SimpleNamespace(clear_lru_cache=lambda: None),
    },
    "torch._inductor": {},
    "torch._inductor.config": {"triton": types.SimpleNamespace(cudagraphs=False)},
    "torch._meta_registrations": {},
}.items():
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(parts)
"""
"""Optimizers and profilers import the compiler of torch, which takes as long as torch itself, and
torch what it needs for tensors without data, a third of that: programs here use neither."""

FOREVER = """
import time, torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
while True:
    model(torch.randn(2, 8)).sum().backward()
    optimizer.step()
    step += 1
    if step == 5:
        open("running", "w").close()
    time.sleep(0.01)
"""


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
        range_events = [
            event for event in self.events(name) if event.get("cat") == "user_annotation"
        ]
        return [event["name"] for event in sorted(range_events, key=lambda event: event["ts"])]


def made_once(place: Path, make: Callable[[Path], Recording]) -> Recording:
    """A recording that several processes test: one of them makes it."""
    facts = place.with_suffix(".json")
    try:
        place.parent.mkdir()
    except FileExistsError:
        wait_for(facts)
    else:
        try:
            recording = make(place)
        except BaseException as error:
            _tell(facts, -1, "", f"it could not be made: {error!r}")
            raise
        _tell(facts, recording.code, recording.out, recording.err)
    return Recording(place, *json.loads(facts.read_text()))


def _tell(facts: Path, code: int, out: str, err: str) -> None:
    """Let the others have it, whole."""
    unfinished = facts.with_suffix(".unfinished")
    unfinished.write_text(json.dumps([code, out, err]))
    unfinished.rename(facts)


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
    process = subprocess.run(
        [*TIMESINK, "record", "-o", str(folder), *options, "--", *command],
        capture_output=True, text=True, cwd=folder.parent, env=env or environment(), check=False,
    )  # fmt: skip
    return Recording(folder, process.returncode, process.stdout, process.stderr)


def write(folder: Path, text: str, *, as_it_is: bool = False) -> str:
    """A program; one with torch does without its compiler, unless it is to stay as it is."""
    path = folder / "program.py"
    path.write_text(text if as_it_is or "torch" not in text else WITHOUT_COMPILER + text)
    return str(path)


def git(folder: Path, *words: str) -> str:
    """What git says in a folder, as somebody who may commit."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    process = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return process.stdout.strip()


def plain(folder: Path, text: str, *options: str, env: dict[str, str] | None = None) -> Recording:
    """A recording of a program that takes no time."""
    command = [sys.executable, write(folder, text)]
    return record(folder / "run", ["--interval", "20", *options], command, env)
