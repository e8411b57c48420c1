"""A process and what it started, so that nothing is left behind."""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_PROC = "/proc"

Birth = str
"""When a process started, as the system writes it: tells it from a later one with its number."""

_POLL_S = 0.05
_STATE, _PARENT, _BIRTH = 0, 1, 19
"""Fields of `stat`, after the name of the program."""


def family(pid: int) -> dict[int, Birth]:
    """A process and its descendants; only the process where there is no /proc."""
    return {member: birth(member) for member in descendants(pid, children_by_parent(_PROC))}


def children_by_parent(proc: str = _PROC) -> dict[int, list[int]]:
    """Every process that runs, under the one that started it."""
    children: dict[int, list[int]] = defaultdict(list)
    names: list[str] = []
    with suppress(OSError):
        # Path objects for thousands of processes take long.
        names = os.listdir(proc)  # noqa: PTH208
    for pid in (int(name) for name in names if name.isdigit()):
        found = _parent_and_birth(proc, pid)
        if found is not None:
            children[found[0]].append(pid)
    return children


def descendants(pid: int, children: Mapping[int, Sequence[int]]) -> tuple[int, ...]:
    """A process and all it started, itself first."""
    members = [pid]
    for member in members:
        members += children.get(member, ())
    return tuple(members)


def _parent_and_birth(proc: str, pid: int) -> tuple[int, Birth] | None:
    """None for one that is gone, also where nobody has asked how it ended."""
    try:
        with open(f"{proc}/{pid}/stat", errors="replace") as file:  # noqa: PTH123 - the same
            text = file.read()
    except OSError:
        return None
    # The name of the program stands in parentheses and may hold any of them, and spaces.
    fields = text.rpartition(")")[2].split()
    is_gone = len(fields) <= _PARENT or fields[_STATE] == "Z"
    return None if is_gone else (int(fields[_PARENT]), "".join(fields[_BIRTH : _BIRTH + 1]))


def is_alive(pid: int) -> bool:
    """Whether a process of this number runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # One that has ended keeps its number until its parent asks how.
    is_known = Path(f"{_PROC}/{pid}/stat").exists()
    return not is_known or _parent_and_birth(_PROC, pid) is not None


def birth(pid: int) -> Birth:
    """When a process started; empty for one that is gone, and where there is no /proc."""
    found = _parent_and_birth(_PROC, pid)
    return found[1] if found else ""


def is_running(pid: int, born: Birth) -> bool:
    """Whether this very process runs; where births are not known its number has to do."""
    found = _parent_and_birth(_PROC, pid)
    return found[1] == born if found else not born and is_alive(pid)


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
    return [pid for pid, born in members.items() if is_running(pid, born)]
