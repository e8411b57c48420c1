"""Processes at work on one call: plain interpreters that run one function of this package.

They are neither forked (which would copy the caller's locks) nor spawned by multiprocessing (which
would import the caller's script again).
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

Answer = TypeVar("Answer")

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


class Peer:
    """A process of ours that is told pickled things, and tells some."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def tell(self, thing: Any) -> None:
        """Tell it something; a process that is gone already shows when it is listened to."""
        with suppress(OSError):
            send(thing, pipe(self.process.stdin))

    def hear(self) -> Any:
        """What it tells next; None when it is gone, for whatever reason."""
        with suppress(EOFError, pickle.UnpicklingError, OSError):
            return pickle.load(pipe(self.process.stdout))  # noqa: S301 - our own process
        return None


class Worker:
    """One process at work on one call, named so that the caller need not load it."""

    def __init__(self, module: str, function: str, *arguments: Any) -> None:
        self._peer = None
        # Where none can be started, there is no result.
        with suppress(OSError):
            self._peer = Peer(start_interpreter(module, function, *arguments))
            pipe(self._peer.process.stdin).close()

    def result(self) -> Any:
        """What the function returned; None when the process failed, for whatever reason."""
        return None if self._peer is None else self._peer.hear()

    def stop(self) -> None:
        if self._peer is not None:
            pipe(self._peer.process.stdout).close()
            self._peer.process.kill()
            self._peer.process.wait()


class Workers:
    """Processes that make one call for each of some shares; this process does its own meanwhile.

    A share is the arguments of the call.  Workers start at once, and are stopped with the block.
    """

    def __init__(self, module: str, function: str, shares: Iterable[tuple[Any, ...]]) -> None:
        self._work = [(share, Worker(module, function, *share)) for share in shares]

    def results(self, otherwise: Callable[..., Answer]) -> Iterator[Answer]:
        """What came of every share; `otherwise` does that of a process that failed."""
        for share, worker in self._work:
            result = worker.result()
            yield otherwise(*share) if result is None else result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for _, worker in self._work:
            worker.stop()


def start_interpreter(
    module: str,
    function: str,
    *arguments: Any,
    environment: Mapping[str, str] | None = None,
    errors: int | IO[bytes] = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a process that calls a function and writes what it returns, pickled, to its output.

    Its input stays open: the function may read more from it.  `environment` is added to ours;
    what it says to the screen goes to `errors`.
    """
    process = subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
        [*_COMMAND, _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=None if environment is None else {**os.environ, **environment},
    )
    # A process that died already shows when it is asked for a result.
    with suppress(OSError):
        stdin = pipe(process.stdin)
        stdin.write(pickle.dumps(sys.path) + pickle.dumps((module, function, arguments)))
        stdin.flush()
    return process


def send(thing: Any, stream: IO[bytes]) -> None:
    """Write something, pickled, for whoever listens."""
    pickle.dump(thing, stream, protocol=5)
    stream.flush()


def pipe(stream: IO[bytes] | None) -> IO[bytes]:
    """The input or output of a process that was started with one."""
    if stream is None:
        raise RuntimeError("a process was started without a pipe")
    return stream


def usable_cores() -> int:
    """Cores this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1
