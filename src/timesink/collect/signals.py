"""Signals that ask to stop: noticed, so that what was measured can be put away first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from timesink.errors import CollectError

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
"""Ctrl-C, the end of a batch job, a connection that dropped; not every system has the last."""


@contextmanager
def noticed() -> Iterator[list[int]]:
    """Signals that ask to stop, in the order they came, instead of what they do by default."""
    came: list[int] = []
    with answered(came.append):
        yield came


@contextmanager
def answered(answer: Callable[[int], None]) -> Iterator[None]:
    """Signals that ask to stop call `answer`, instead of what they did."""

    def heard(number: int, _frame: FrameType | None) -> None:
        answer(number)

    before = {number: signal.getsignal(number) for number in _heeded()}
    for number in before:
        signal.signal(number, heard)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _heeded() -> list[signal.Signals]:
    """Signals that would stop us; one that is ignored, as in the background, stays so."""
    if threading.current_thread() is not threading.main_thread():
        return []
    known = [number for number in signal.Signals if number.name in _NAMES]
    return [number for number in known if signal.getsignal(number) not in (signal.SIG_IGN, None)]


@contextmanager
def hangups_ignored() -> Iterator[None]:
    """Programs started meanwhile survive a dropped connection, as under `nohup`.

    They are asked to stop instead, and so have the time to write what they measured.
    """
    hangup = next((number for number in _heeded() if number.name == "SIGHUP"), None)
    if hangup is None:
        yield
        return
    handler = signal.signal(hangup, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(hangup, handler)


def interruption(came: list[int]) -> CollectError | None:
    """What to say of an interruption, with the exit code a shell expects; None without one."""
    if not came:
        return None
    stopped = CollectError("interrupted", "")
    stopped.exit_code = 128 + came[0]
    return stopped
