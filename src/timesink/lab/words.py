"""Programs that start at a word: a load must run before the program beside it is recorded.

The words are empty files in a folder that an environment variable names.  A program started by
hand finds no such variable and does not wait.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from timesink.collect.processes import is_alive

FOLDER = "TIMESINK_LAB_WORDS"
STARTER = "TIMESINK_LAB_STARTER"
_POLL_S = 0.005
_MOST_S = 600.0
"""Whoever should say the word is gone by then."""


def starter() -> int | None:
    """Number of the process that started all this; None for a program started by hand."""
    told = os.environ.get(STARTER, "")
    return int(told) if told.isdigit() else None


def say(word: str) -> None:
    """Say a word to those who wait for it."""
    folder = os.environ.get(FOLDER)
    if folder:
        (Path(folder) / word).touch()


def wait_for(word: str) -> None:
    """Wait until the word is said, or until whoever should say it is gone."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    until, number = time.monotonic() + _MOST_S, starter()
    while not (Path(folder) / word).exists():
        is_gone = number is not None and not is_alive(number)
        if is_gone or time.monotonic() > until:
            raise SystemExit(f"nobody said {word!r}")
        time.sleep(_POLL_S)
