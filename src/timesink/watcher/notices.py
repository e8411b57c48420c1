"""Telling others: a command of the user's, and the status of every watcher in one place."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from timesink.errors import TimesinkError
from timesink.sources.places import is_url, place_of, without_password
from timesink.sources.remote import connected, why

_COMMAND_S = 60.0
_MOST_WAITING = 16
_LAST_S = 5.0
"""What was told at the end gets so long."""
_ENDS_S = 1.0


class AlarmCommand:
    """Runs the command of `--on-alarm`, one at a time; no shell takes its words apart."""

    def __init__(self, words: tuple[str, ...], say: Callable[[str], None]) -> None:
        self._words = words
        self._say = say
        self._waiting: deque[tuple[Path, dict[str, str]]] = deque()
        self._running: tuple[float, subprocess.Popen[bytes]] | None = None

    def run(self, event: str, folder: Path, facts: Mapping[str, object]) -> None:
        """Start it, after those before; the folder of the incident is its last argument."""
        if not self._words:
            return
        if len(self._waiting) >= _MOST_WAITING:
            self._say(f"--on-alarm: not run for {event}: {len(self._waiting)} wait already")
            return
        told = {f"TIMESINK_{name.upper()}": str(value) for name, value in facts.items()}
        self._waiting.append((folder, {"TIMESINK_EVENT": event, **told}))
        self.look()

    def _start(self, folder: Path, told: Mapping[str, str]) -> None:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's
                [*self._words, str(folder)], stdin=subprocess.DEVNULL, env={**os.environ, **told},
                start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            self._say(f"--on-alarm: {self._words[0]} cannot be started ({why})")
            return
        self._running = time.monotonic(), process

    @property
    def is_running(self) -> bool:
        """Whether one is under way, or waits."""
        self.look()
        return self._running is not None

    def look(self) -> None:
        """See whether it has ended, and start the next; one that takes too long is ended."""
        if self._running is not None:
            begun_s, process = self._running
            code = process.poll()
            if code is None and time.monotonic() - begun_s > _COMMAND_S:
                self._end(process)
                self._say(f"--on-alarm: ended after {_COMMAND_S:.0f} s")
            elif code is None:
                return
            elif code:
                self._say(f"--on-alarm: failed with code {code}")
            self._running = None
        while self._waiting and self._running is None:
            self._start(*self._waiting.popleft())

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """It and what it has started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(OSError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_ENDS_S)
                return

    def close(self, is_hurried: Callable[[], bool] = lambda: False) -> None:
        """The watcher ends, and this with it."""
        until = time.monotonic() + _LAST_S
        while self.is_running and time.monotonic() < until and not is_hurried():
            time.sleep(0.05)
        left = len(self._waiting)
        self._waiting.clear()
        if self._running is not None:
            self._end(self._running[1])
            self._running = None
            more = f", {left} more not run" if left else ""
            self._say(f"--on-alarm: ended with the watcher{more}")


class SharedStatus:
    """Puts the status of this watcher beside those of others; a slow network delays nothing."""

    def __init__(self, place: str, say: Callable[[str], None]) -> None:
        self._place = place
        self._name = f"{socket.gethostname()}-{os.getpid()}.json"
        self._say = say
        self._has_failed = False
        self._lock = threading.Lock()
        self._next: bytes | None = None
        self._thread: threading.Thread | None = None

    def put(self, content: bytes) -> None:
        """Send it; while one is on its way the last of those that wait is the next."""
        with self._lock:
            self._next = content
            if self._place and self._thread is None:
                self._thread = threading.Thread(target=self._send_all, daemon=True)
                self._thread.start()

    def _send_all(self) -> None:
        while True:
            with self._lock:
                content, self._next = self._next, None
                if content is None:
                    self._thread = None
                    return
            self._send(content)

    def finish(self, timeout_s: float = 5.0) -> None:
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)

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
