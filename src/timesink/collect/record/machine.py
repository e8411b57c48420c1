"""The machine a program runs on, asked while it runs: some of it cannot be told afterwards."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from timesink.collect.record.notes import ProcessNotes
from timesink.recorder.gpu_counters import describe_devices
from timesink.recorder.host_description import describe_host

_PATIENCE_S = 5.0
"""A driver that does not answer is not waited for longer."""


class Machine:
    """The host as the program sees it, and the devices."""

    def __init__(self, pid: int) -> None:
        self._started = (pid, "")
        self._seen: tuple[int, str] | None = None
        self._host: dict[str, Any] | None = None
        self._devices: list[dict[str, Any]] | None = None
        # Some drivers never answer, and what waits for them cannot be ended.
        self._asking = threading.Thread(target=self._ask, name="timesink machine", daemon=True)
        with suppress(RuntimeError):
            self._asking.start()

    def look(self, processes: Sequence[ProcessNotes]) -> None:
        """See what the program may use: it is told that by itself, or by who starts it."""
        # The process that is furthest in what is recorded, and how far it is.
        working = next(
            (
                (process.pid, event)
                for event in ("window", "torch", "python")
                for process in processes
                if process.last(event) is not None
            ),
            self._started,
        )
        if working != self._seen:
            self._seen = working
            with suppress(OSError):
                self._host = describe_host(pid=working[0])

    @property
    def host(self) -> dict[str, Any]:
        """Of the process that does the work; of this one where that was too short to be seen."""
        return self._host or describe_host()

    def devices(self) -> list[dict[str, Any]] | None:
        """None where their driver does not answer."""
        if self._asking.is_alive():
            self._asking.join(_PATIENCE_S)
        return self._devices

    def _ask(self) -> None:
        # Whatever a driver says to that, the recording matters more.
        with suppress(Exception):
            self._devices = describe_devices()
