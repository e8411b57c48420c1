"""The process beside a program that is watched: it learns, judges, records and compares.

Here is how it begins, before anything heavy is loaded; the program has started it by itself where
that has called `timesink.watch`.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import pickle
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from timesink.errors import TimesinkError
from timesink.recorder.in_program import READY, told_by_program
from timesink.recorder.watch_plan import WatchPlan

_THREADS = "POLARS_MAX_THREADS"


@contextmanager
def one_thread() -> Iterator[None]:
    """Import what makes tables in here: few rows need one thread, and idle ones are not free."""
    if _THREADS in os.environ:
        yield
        return
    os.environ[_THREADS] = "1"
    try:
        yield
        importlib.import_module("polars").thread_pool_size()
    finally:
        # The program is not to know of it.
        del os.environ[_THREADS]


def keep() -> None:
    """Watch the program that has started us, until it says so or is gone."""
    payload: tuple[WatchPlan, int] = pickle.loads(  # noqa: S301 - from the program itself
        base64.b64decode(told_by_program())
    )
    plan, pid = payload

    def is_over() -> bool:
        return bool(select.select([sys.stdin], [], [], 0)[0]) or os.getppid() != pid

    with one_thread():
        from timesink.watcher.program import watch_running  # noqa: PLC0415 - start-up time
    has_begun = False

    def begin(_: object) -> None:
        nonlocal has_begun
        has_begun = True
        os.write(sys.stdout.fileno(), READY)

    try:
        watch_running(plan, pid, _say, begin, is_over)
    except Exception as error:
        if os.environ.get("TIMESINK_DEBUG"):
            raise
        is_ours = isinstance(error, TimesinkError)
        text = str(error) if is_ours else f"watching has failed ({type(error).__name__}: {error})"
        if has_begun:
            sys.exit(f"timesink: {text}")
        # The program that waits for us says it.
        message = json.dumps([text, getattr(error, "hint", "")])
        os.write(sys.stdout.fileno(), f"{message}\n".encode())
        sys.exit(1)


def _say(text: str) -> None:
    print(f"timesink: {text}", file=sys.stderr, flush=True)  # noqa: T201 - nobody else says it
