"""Cycles without the profiler: how long each took, how fast host and device were beside it."""

from __future__ import annotations

import os
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from timesink.recorder.folder import MAX_PLAIN, Notebook, plain_files

PROBES_EVERY_NS = 5_000_000
"""The probe takes some 8 us: a fifth of a percent of the time at most."""
_WRITES_EVERY_NS = 250_000_000
_MAX_EVENTS = 4096
_PROBED = tuple(range(110))


def probe_ns() -> int:
    """How long this host takes for always the same, in Python: others on it make that longer.

    >>> probe_ns() > 0
    True
    """
    begin_ns, total = time.perf_counter_ns(), 0
    for number in _PROBED:
        total += number
    return time.perf_counter_ns() - begin_ns


class PlainCycles:
    """The times of unprofiled steps, on disk four times a second: a program may be killed.

    All of it happens at the borders of cycles, and is no part of one.
    """

    def __init__(self, notebook: Notebook, torch: Any, *, device_events: bool) -> None:
        self._notebook = notebook
        self._rows: list[str] = []
        self._written = self._older = self._dropped = 0
        """Rows in the newer file, in the older one, and in none any more."""
        self._probed_at_ns = self._wrote_at_ns = 0
        self._events = _DeviceEvents(torch, notebook) if device_events else None
        self.settled = 0

    def border(self, timed: list[tuple[int, bool]], now_ns: int) -> None:
        """A cycle has ended; it is taken from `timed`, where it was plain, with its settledness."""
        if self._events is not None:
            self._events.border(is_timed=bool(timed))
        beside = "-"
        if now_ns - self._probed_at_ns >= PROBES_EVERY_NS:
            self._probed_at_ns, beside = now_ns, str(probe_ns())
        for lasted_ns, is_settled in timed:
            self.settled += is_settled
            self._rows.append(f"{lasted_ns} {beside} {int(is_settled)}\n")
        timed.clear()
        if now_ns - self._wrote_at_ns >= _WRITES_EVERY_NS:
            self._wrote_at_ns = now_ns
            self._write()

    def end(self, *, wait: bool = False) -> None:
        """No more are timed; `wait` for the device where the program goes on."""
        self._write()
        if self._events is not None:
            self._notebook.add("device", cycles_us=self._events.between_us(wait=wait))
            self._events = None

    def forget(self) -> None:
        """What was timed were no cycles."""
        self._rows.clear()
        self._written = self._older = self._dropped = self.settled = 0
        if self._events is not None:
            self._events.forget()
        for path in plain_files(self._notebook.control, os.getpid()):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _write(self) -> None:
        # A full disk must not stop the program.
        older, newer = plain_files(self._notebook.control, os.getpid())
        with suppress(OSError):
            if self._written >= MAX_PLAIN:
                newer.replace(older)
                self._dropped += self._older
                self._older, self._written = self._written, 0
                self._notebook.add("dropped", cycles=self._dropped)
            if self._rows:
                with newer.open("a") as file:
                    file.writelines(self._rows)
                self._written += len(self._rows)
        self._rows.clear()


_AHEAD = 8
"""No worker is so many cycles ahead of another."""


def last_plain(control: Path, completed: int, *, is_long: bool, is_alone: bool) -> int | None:
    """After which cycle plain ones have lasted long enough; None where nobody has said so.

    Workers that wait for each other have to end with the same one: the first that finds it long
    enough says which, and leaves the others time to hear of it.
    """
    if is_alone:
        return completed if is_long else None
    agreed, proposal = control / "last-plain", control / f"last-plain.{os.getpid()}"
    try:
        if is_long and not agreed.exists():
            proposal.write_text(str(completed + _AHEAD))
            with suppress(FileExistsError):
                agreed.hardlink_to(proposal)
        return int(agreed.read_text()) if agreed.exists() else None
    except (OSError, ValueError):
        return completed if is_long else None


class _DeviceEvents:
    """Events of the device at the borders of cycles, read only once all are over."""

    def __init__(self, torch: Any, notebook: Notebook) -> None:
        self._cuda = torch.cuda
        self._notebook = notebook
        self._last: Any = None
        self._pairs: deque[tuple[Any, Any]] = deque(maxlen=_MAX_EVENTS)
        """First and last event of each cycle; None where there was none."""

    def border(self, *, is_timed: bool) -> None:
        """One more event on the stream the program uses; no device is woken up for it."""
        event = None
        try:
            if self._cuda.is_initialized() and not self._cuda.is_current_stream_capturing():
                event = self._cuda.Event(enable_timing=True)
                event.record()
        except Exception as error:  # noqa: BLE001 - whatever a driver says, cycles go on
            event = None
            self._notebook.add("remark", text=f"the device takes no events: {error}")
        if is_timed:
            self._pairs.append((self._last, event))
        self._last = event

    def forget(self) -> None:
        self._pairs.clear()

    def between_us(self, *, wait: bool) -> list[float | None]:
        """Time between the events of each of the last cycles."""
        if wait and self._last is not None:
            with suppress(Exception):
                self._last.synchronize()
        return [_between_us(*pair) for pair in self._pairs]


def _between_us(first: Any, last: Any) -> float | None:
    # Where the device has failed, or the program ends before it has come so far.
    with suppress(Exception):
        if first is not None and last is not None and last.query():
            return float(round(1000.0 * first.elapsed_time(last), 3))
    return None
