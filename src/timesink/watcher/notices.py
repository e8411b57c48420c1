"""Telling others: a command of the user's, and the status of every watcher in one place."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from timesink.errors import TimesinkError
from timesink.sources.places import is_url, place_of, without_password
from timesink.sources.remote import connected, why

_COMMAND_S = 60.0
_MOST_COMMANDS = 4


class AlarmCommand:
    """Runs the command of `--on-alarm`; no shell takes its words apart."""

    def __init__(self, words: tuple[str, ...], say: Callable[[str], None]) -> None:
        self._words = words
        self._say = say
        self._running: list[tuple[float, subprocess.Popen[bytes]]] = []

    def run(self, event: str, folder: Path, facts: Mapping[str, object]) -> None:
        """Start it; the folder of the incident is its last argument."""
        if not self._words:
            return
        self.look()
        if len(self._running) >= _MOST_COMMANDS:
            self._say(f"--on-alarm: not run for {event}: {len(self._running)} still run")
            return
        told = {f"TIMESINK_{name.upper()}": str(value) for name, value in facts.items()}
        variables = {**os.environ, "TIMESINK_EVENT": event, **told}
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's
                [*self._words, str(folder)], stdin=subprocess.DEVNULL, env=variables,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self._say(f"--on-alarm: {self._words[0]} cannot be started ({error.strerror or error})")
            return
        self._running.append((time.monotonic(), process))

    @property
    def is_running(self) -> bool:
        """Whether one is under way."""
        self.look()
        return bool(self._running)

    def look(self) -> None:
        """See which have ended; one that takes too long is ended."""
        left = []
        for begun_s, process in self._running:
            code = process.poll()
            if code is None and time.monotonic() - begun_s > _COMMAND_S:
                process.kill()
                self._say(f"--on-alarm: ended after {_COMMAND_S:.0f} s")
            elif code is None:
                left.append((begun_s, process))
            elif code:
                self._say(f"--on-alarm: failed with code {code}")
        self._running = left


class SharedStatus:
    """Puts the status of this watcher beside those of others; a slow network delays nothing."""

    def __init__(self, place: str, say: Callable[[str], None]) -> None:
        self._place = place
        self._name = f"{socket.gethostname()}-{os.getpid()}.json"
        self._say = say
        self._has_failed = False
        self._thread: threading.Thread | None = None

    def put(self, content: bytes) -> None:
        """Send it, unless the one before is still on its way."""
        if self._place and not (self._thread and self._thread.is_alive()):
            self._thread = threading.Thread(target=self._send, args=(content,), daemon=True)
            self._thread.start()

    def finish(self, timeout_s: float = 5.0) -> None:
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _send(self, content: bytes) -> None:
        try:
            if is_url(place_of(self._place)):
                system, folder = connected(self._place)
                with suppress(Exception):
                    system.makedirs(folder, exist_ok=True)
                system.pipe_file(f"{folder}/{self._name}", content)
            else:
                path = Path(self._place, self._name)
                path.parent.mkdir(parents=True, exist_ok=True)
                beside = path.with_name(f".{self._name}")
                beside.write_bytes(content)
                beside.replace(path)
        except Exception as error:  # noqa: BLE001 - each file system has errors of its own
            if not self._has_failed:
                self._has_failed = True
                said = error.message if isinstance(error, TimesinkError) else why(error)
                self._say(f"--summary {without_password(self._place)}: {said}")
