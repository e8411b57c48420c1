"""One call in a process of its own, which is ended where it takes more memory or time than it may.

The process is a fork where nothing has started threads yet, as in a command that has just begun,
for that costs nothing; else a fresh interpreter, for a fork of threads may wait for ever.
"""

from __future__ import annotations

import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Literal, NoReturn

import msgspec

from timesink.runtime.workers import pipe, send, start_interpreter

_POLL_S = 0.005
"""Memory is looked at so often: a core fills some 20 MB in between."""
_PARENT_POLL_S = 0.5
_MEMORY_FIELDS = ("RssAnon:", "VmSwap:")
_ENDS_WITHIN_S = 2.0
"""Of a process that says no more: it may still be writing what is left of it."""
_OUT_OF_MEMORY = (-signal.SIGABRT, -9)
_STDERR = 2

Limited = Callable[[], AbstractContextManager[None]]
"""Given to the call: what it does in `with limited():` is limited, and nothing else."""


class CallLimits(msgspec.Struct, frozen=True):
    """What a call may take for the part of it that is limited."""

    memory_bytes: int
    """Beyond what the process has when that begins; not limited where the system does not tell."""
    seconds: float


class CallEndedError(Exception):
    """The process of a call came to an end without an answer."""

    def __init__(self, why: Literal["memory", "time", "crash"]) -> None:
        super().__init__(why)
        self.why = why


def limited_call(module: str, function: str, arguments: tuple[Any, ...], limits: CallLimits) -> Any:
    """What `function(limited, *arguments)` returns, or the exception that it raises.

    Raises CallEndedError where it took more than the limits, or its process died.
    """
    process = _ForkedCall if may_fork() else _StartedCall
    running = process(module, function, arguments)
    messages: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    listener = threading.Thread(target=_pass_on, args=(running.stream, messages), daemon=True)
    listener.start()
    try:
        return _wait_for(running, messages, limits)
    finally:
        running.end()
        listener.join()


def _wait_for(
    running: _ForkedCall | _StartedCall,
    messages: queue.SimpleQueue[tuple[str, Any]],
    limits: CallLimits,
) -> Any:
    most_bytes, until = 0, math.inf
    while True:
        try:
            kind, value = messages.get(timeout=_POLL_S if most_bytes else None)
        except queue.Empty:
            if time.monotonic() > until:
                raise CallEndedError("time") from None
            if memory_of(running.pid) > most_bytes:
                raise CallEndedError("memory") from None
            continue
        if kind == "begun":
            most_bytes, until = value + limits.memory_bytes + 1, time.monotonic() + limits.seconds
        elif kind == "over":
            most_bytes, until = 0, math.inf
        elif kind == "answer":
            return value
        elif kind == "error":
            raise value
        else:
            # The system ends what takes all of its memory, and an allocator itself that gets none.
            lacks_memory = most_bytes and running.end(_ENDS_WITHIN_S) in _OUT_OF_MEMORY
            raise CallEndedError("memory" if lacks_memory else "crash")


def _pass_on(stream: IO[bytes], messages: queue.SimpleQueue[tuple[str, Any]]) -> None:
    # Unpickling raises whatever the classes of the answer do; who waits must hear of the end.
    try:
        with stream, suppress(Exception):
            while True:
                messages.put(pickle.load(stream))  # noqa: S301 - our own process
    finally:
        messages.put(("end", None))


def memory_of(pid: int) -> int:
    """Bytes a process holds that are of no file; zero where the system does not tell.

    >>> memory_of(os.getpid()) >= 0
    True
    """
    with suppress(OSError, ValueError, IndexError):
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        fields = (line.split() for line in lines.splitlines() if line.startswith(_MEMORY_FIELDS))
        return sum(1024 * int(words[1]) for words in fields)
    return 0


# The process of the call.


def serve_call(module: str, function: str, arguments: tuple[Any, ...]) -> None:
    """Make the call in an interpreter of its own, which tells on its output how it goes."""
    _make_call(module, function, arguments, sys.stdout.buffer)


def _make_call(module: str, function: str, arguments: tuple[Any, ...], stream: IO[bytes]) -> None:
    # Who interrupts the command means the process that waits, and that ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()

    @contextmanager
    def limited() -> Iterator[None]:
        send(("begun", memory_of(os.getpid())), stream)
        yield
        send(("over", None), stream)

    try:
        message = ("answer", getattr(import_module(module), function)(limited, *arguments))
    except BaseException as error:  # noqa: BLE001 - panics of libraries are no exceptions
        message = ("error", _sendable(error))
    with suppress(OSError):
        send(message, stream)


def _sendable(error: BaseException) -> BaseException:
    """The error, or what can be told of it where it cannot be pickled."""
    if isinstance(error, Exception):
        with suppress(Exception):
            pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
            return error
    first_line = (str(error) or type(error).__name__).splitlines()[0]
    return RuntimeError(f"{type(error).__name__}: {first_line}")


def _end_with(parent: int) -> None:
    """Nobody waits for the answer any more once the process that asked is gone."""
    while os.getppid() == parent:
        time.sleep(_PARENT_POLL_S)
    os._exit(1)


def may_fork() -> bool:
    """Whether the call is made in a copy of this process: what that says goes where ours does."""
    is_alone = threading.active_count() == 1 and "polars" not in sys.modules
    return is_alone and sys.platform == "linux" and hasattr(os, "fork")


class _ForkedCall:
    """A copy of this process that makes the call."""

    def __init__(self, module: str, function: str, arguments: tuple[Any, ...]) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        reading, writing = os.pipe()
        self._code: int | None = None
        self.pid = os.fork()
        if not self.pid:
            _serve_forked(reading, writing, module, function, arguments)
        os.close(writing)
        self.stream: IO[bytes] = os.fdopen(reading, "rb")

    def end(self, within_s: float = 0.0) -> int:
        """Its exit code; unless it ends by itself within so long, it ends now."""
        until = time.monotonic() + within_s
        while self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= until:
                os.kill(self.pid, signal.SIGKILL)
                self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            else:
                time.sleep(_POLL_S)
        return self._code


def _serve_forked(
    reading: int, writing: int, module: str, function: str, arguments: tuple[Any, ...]
) -> NoReturn:
    code = 1
    try:
        os.close(reading)
        with os.fdopen(writing, "wb") as stream:
            _make_call(module, function, arguments, stream)
        sys.stderr.flush()
        code = 0
    finally:
        os._exit(code)


class _StartedCall:
    """A fresh interpreter that makes the call."""

    def __init__(self, module: str, function: str, arguments: tuple[Any, ...]) -> None:
        call = (module, function, arguments)
        self._process = start_interpreter(__name__, "serve_call", *call, errors=_STDERR)
        pipe(self._process.stdin).close()
        self.pid = self._process.pid
        self.stream = pipe(self._process.stdout)

    def end(self, within_s: float = 0.0) -> int:
        """Its exit code; unless it ends by itself within so long, it ends now."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(within_s)
        self._process.kill()
        return self._process.wait()
