"""A load that goes on until nobody wants it any more."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from timesink.lab.workloads import registry as words

_MOST_S = 900.0
"""No recording takes longer; a load that was forgotten ends by itself."""


def keep_on(work: Callable[[], object], starter: int | None = None) -> None:
    """Do a piece of work again and again, from the word on until the starter is gone."""
    parent = starter or words.starter() or os.getppid()
    words.say("load.ready")
    words.wait_for("load.go")
    until = time.monotonic() + _MOST_S
    work()
    words.say("load.works")
    # A process whose starter is gone gets another parent.
    while os.getppid() == parent and time.monotonic() < until:
        work()


def in_processes(how_many: int, work: Callable[[], object]) -> None:
    """The same in several processes."""
    first = os.getpid()
    for _ in range(how_many - 1):
        if os.fork() == 0:
            keep_on(work, first)
            return
    keep_on(work)
