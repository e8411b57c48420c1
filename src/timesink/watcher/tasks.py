"""Heavy work beside the watcher: each task is a process of its own, told and answered by files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from timesink.recorder.folder import CONTROL_VARIABLE

_SOURCES = Path(__file__).resolve().parents[2]
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from timesink.watcher.task_process import main; main()"
)
NICE, NICEST = 10, 15
"""What is waited for, and what may take its time where all processors are busy."""


class WatchTask:
    """A task that runs; `answer` is there when it has ended."""

    def __init__(self, kind: str, folder: Path, limit_s: float, **facts: Any) -> None:
        """`OSError` where it cannot be started."""
        self.kind = kind
        self.begun_s = time.monotonic()
        self._limit_s = limit_s
        self._file = folder / f"{kind}-{time.time_ns()}.json"
        self._file.write_text(json.dumps({"kind": kind, **facts}))
        variables = {name: value for name, value in os.environ.items() if name != CONTROL_VARIABLE}
        with self._beside("log").open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own Python
                [sys.executable, "-c", _START, str(_SOURCES), str(self._file)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=variables,
                # Ctrl-C in the terminal is for the program.
                start_new_session=True,
            )

    def _beside(self, ending: str) -> Path:
        return self._file.with_suffix(f".{ending}")

    @property
    def is_ready(self) -> bool:
        """Whether it waits for what it was started for."""
        return self._beside("ready").exists()

    def end_soon(self) -> None:
        """Ask it to come to an end with what there is."""
        with suppress(OSError):
            self._beside("stop").touch()

    def answer(self) -> dict[str, Any] | None:
        """What came of it; None as long as it works."""
        code = self._process.poll()
        if code is None:
            if time.monotonic() - self.begun_s <= self._limit_s:
                return None
            self._process.kill()
            self._process.wait()
        answer: dict[str, Any] = {"error": f"{self.kind}: ended with code {code}"}
        if code is None:
            answer = {"error": f"{self.kind}: given up after {self._limit_s:.0f} s"}
        with suppress(OSError, ValueError):
            answer = json.loads(self._beside("answer").read_text())
        for ending in ("json", "ready", "stop", "answer"):
            self._beside(ending).unlink(missing_ok=True)
        log = self._beside("log")
        with suppress(OSError):
            # What the last task of a kind that failed has said is kept.
            if "error" in answer and log.stat().st_size:
                log.replace(log.with_name(f"{self.kind}.log"))
            else:
                log.unlink()
        return answer

    def kill(self) -> None:
        """Break it off."""
        self._process.kill()
        self._process.wait()


class TaskFiles:
    """The side of the task: how it tells the watcher something."""

    def __init__(self, file: Path) -> None:
        self.facts: dict[str, Any] = json.loads(file.read_text())
        self._file = file
        self._parent = os.getppid()

    def say_ready(self) -> None:
        self._file.with_suffix(".ready").touch()

    def is_to_end(self) -> bool:
        """Whether the watcher asks for an end, or is no more."""
        return self._file.with_suffix(".stop").exists() or os.getppid() != self._parent

    def give(self, answer: dict[str, Any]) -> None:
        unfinished = self._file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(answer))
        unfinished.replace(self._file.with_suffix(".answer"))


def be_nice(by: int = NICE) -> None:
    """The program comes first."""
    with suppress(OSError, AttributeError):
        os.nice(by)
    # Linux shares processors among sessions first, and this is one of its own.  The same number
    # counts for more there: beside busy ones 6 got 6 % of a processor, 8 got 3 %, 10 got 0.3 %.
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(by // 2 + 1))
