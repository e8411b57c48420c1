"""Helper processes: plain interpreters that run one function of this package.

They are neither forked (which would copy the caller's locks) nor spawned by multiprocessing (which
would import the caller's script again).
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from contextlib import suppress
from typing import Any

# Isolated: nothing in the current folder or the environment is imported before our path is set.
_COMMAND = (sys.executable, "-I", "-c")
_PROGRAM = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
module, function, arguments = pickle.load(sys.stdin.buffer)
import importlib
call = getattr(importlib.import_module(module), function)
pickle.dump(call(*arguments), sys.stdout.buffer, protocol=5)
"""


class Worker:
    """One process at work on one call, named so that the caller need not load it."""

    def __init__(self, module: str, function: str, *arguments: Any) -> None:
        task = (module, function, arguments)
        self._process = _start(pickle.dumps(sys.path) + pickle.dumps(task))

    def result(self) -> Any:
        """What the function returned; None when the process failed, for whatever reason."""
        if self._process is None or self._process.stdout is None:
            return None
        with suppress(EOFError, pickle.UnpicklingError, OSError):
            return pickle.load(self._process.stdout)  # noqa: S301 - written by our own worker
        return None

    def stop(self) -> None:
        if self._process is None:
            return
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.kill()
        self._process.wait()


def _start(task: bytes) -> subprocess.Popen[bytes] | None:
    try:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
            [*_COMMAND, _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    if process.stdin is not None:
        # A process that died already shows when its result is asked for.
        with suppress(OSError), process.stdin as stdin:
            stdin.write(task)
    return process


def usable_cores() -> int:
    """Cores this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1
