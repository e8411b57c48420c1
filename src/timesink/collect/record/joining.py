"""Taking part in a recording that is being made: a worker of several, or a part of a program."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

from timesink.collect.record.agent import begin, running
from timesink.collect.record.agent.engine import CycleEngine
from timesink.collect.record.notes import Notebook
from timesink.collect.record.places import RecordingFolder
from timesink.collect.record.plan import PLAN_FILE
from timesink.errors import CollectError

_FIRST_WORKER_S = 60.0
"""The first worker of a machine gets so long to begin the recording the others join."""


def joined(control: Path, *, is_outer: bool) -> CycleEngine | None:
    """The engine of this process; None without torch."""
    try:
        if importlib.util.find_spec("torch") is None:
            return None
        importlib.import_module("torch")
        if not is_outer or running() is None:
            begin(control)
    except Exception as error:  # noqa: BLE001 - whatever torch is, the program goes on
        Notebook(control).add("failed", why=f"{type(error).__name__}: {error}")
        return None
    return running()


def await_recorder(place: RecordingFolder) -> None:
    """Wait for the first worker; what a recorder that was killed has left is not joined."""
    deadline = time.monotonic() + _FIRST_WORKER_S
    # In this order: a recorder removes what is left before it says who it is.
    while place.recorder() is None or not (place.control / PLAN_FILE).exists():
        if time.monotonic() > deadline:
            raise CollectError(
                f"{place.folder}: the first worker has not begun to record",
                "enter timesink.record in every worker, or in none but the first",
            )
        time.sleep(0.05)
