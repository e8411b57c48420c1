"""A process and what it started, so that nothing is left behind."""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

_PROCESSES = Path("/proc")

Birth = str
"""When a process started, as the system writes it: tells it from a later one with its number."""

_POLL_S = 0.05


def family(pid: int) -> dict[int, Birth]:
    """A process and its descendants; only the process where there is no /proc."""
    children: dict[int, list[int]] = defaultdict(list)
    births: dict[int, Birth] = {}
    for entry in _PROCESSES.glob("[0-9]*"):
        found = _parent_and_birth(int(entry.name))
        if found is not None:
            children[found[0]].append(int(entry.name))
            births[int(entry.name)] = found[1]
    members: list[int] = [pid]
    for member in members:
        members += children[member]
    return {member: births.get(member, "") for member in members}


def _parent_and_birth(pid: int) -> tuple[int, Birth] | None:
    try:
        text = (_PROCESSES / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name of the program stands in parentheses and may hold any of them, and spaces.
    fields = text.rpartition(")")[2].split()
    return (int(fields[1]), fields[19]) if fields[0] != "Z" else None


def is_alive(pid: int) -> bool:
    """Whether there is a process of this number.

    >>> is_alive(os.getpid())
    True
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def end_family(members: dict[int, Birth], grace_s: float) -> None:
    """Wait for processes to end, then kill those that did not."""
    deadline = time.monotonic() + grace_s
    while (left := _alive(members)) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    signal_family({pid: members[pid] for pid in left}, signal.SIGKILL)


def signal_family(members: dict[int, Birth], number: signal.Signals) -> None:
    """Send a signal to those of the processes that still run."""
    for pid in _alive(members):
        # One may have ended since.
        with suppress(OSError):
            os.kill(pid, number)


def _alive(members: dict[int, Birth]) -> list[int]:
    found = {pid: _parent_and_birth(pid) for pid in members}
    return [pid for pid, now in found.items() if now is not None and now[1] == members[pid]]
