"""A process that makes calls one after the other, and the loop inside it."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from contextlib import suppress
from typing import IO

from timesink.engines.calling import Outcome, make, settle_down
from timesink.engines.engine import Call
from timesink.readers.workers import start_interpreter

ONE_THREAD = {"POLARS_MAX_THREADS": "1"}
"""Processes share the cores, and sums are the same wherever they are made, to the last digit."""
_OUT_OF_MEMORY = 77
"""What a process ends with that got no more memory: it is not asked anything again."""


class Child:
    """A process of ours that makes the same call for one item at a time."""

    def __init__(self, call: Call) -> None:
        self._process = start_interpreter(__name__, "serve", call, environment=ONE_THREAD)
        self.place = -1
        """Of the item it is at work on."""

    def fileno(self) -> int:
        """What becomes readable when an answer is there, or the process is gone."""
        return _stream(self._process.stdout).fileno()

    def ask(self, place: int, item: object) -> None:
        """Hand over an item; a process that died already shows when it is asked for the answer."""
        self.place = place
        with suppress(OSError):
            stdin = _stream(self._process.stdin)
            pickle.dump(pickle.dumps(item), stdin)
            stdin.flush()

    def answer(self) -> Outcome | None:
        """What came of the item; None when the process is gone."""
        with suppress(EOFError, pickle.UnpicklingError, OSError):
            outcome: Outcome = pickle.load(_stream(self._process.stdout))  # noqa: S301 - our own
            return outcome
        return None

    def stop(self) -> str:
        """End it at once, and say how it ended if it had ended before."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            # What was still to be written to a process that is gone is of no use.
            with suppress(OSError):
                _stream(stream).close()
        code = self._process.wait()
        if code == _OUT_OF_MEMORY:
            return "out of memory"
        if code >= 0:
            return f"exit code {code}"
        with suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
        return f"killed by signal {-code}"


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        msg = "a process was started without a pipe"
        raise RuntimeError(msg)
    return stream


def serve(call: Call) -> None:
    """Answer items on standard input until there are no more; run by the process itself."""
    # Ctrl-C reaches every process of the terminal: the one that started this one decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = own_output()
    settle_down()
    while True:
        try:
            item = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by our own parent
        except EOFError:
            return
        try:
            outcome = make(call, item)
        except MemoryError:
            os._exit(_OUT_OF_MEMORY)
        try:
            pickle.dump(outcome, answers, protocol=5)
            answers.flush()
        except OSError:
            # Nobody waits for the answer any more.
            os._exit(0)


def own_output() -> IO[bytes]:
    """Standard output for ourselves alone: what libraries print must not get in between."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return answers
