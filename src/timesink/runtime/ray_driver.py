"""The process that speaks to Ray: it gets items on its input and tells what came of them.

Only so many tasks are under way as keep the cluster busy, and results leave it as they come.
"""

from __future__ import annotations

import logging
import os
import pickle
import platform
import queue
import signal
import socket
import sys
import threading
import time
from typing import IO, Any
from urllib.parse import urlsplit

import msgspec
import ray
from ray import exceptions

from timesink.errors import TimesinkError, UsageError, reason_of
from timesink.runtime.engine import (
    Call,
    DriverMessage,
    Outcome,
    internal,
    name_of,
    own_output,
    worker_killed,
)
from timesink.runtime.workers import send, usable_cores
from timesink.version import __version__

_STORE_BYTES = 128 * 1024 * 1024
"""For results on their way, of a cluster that is started here."""
_REACH_SECONDS = 10.0
_START = "start it (ray start --head), or leave out --ray-address to work on this machine"


def connect(address: str | None, jobs: int | None) -> None:
    """Connect to the cluster at an address; without one, start one of `jobs` workers here."""
    # The caller's screen is not for logs, and they are kept in files anyway.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    quiet = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.CRITICAL}
    if address is not None:
        _check_reachable(address)
    try:
        if address is None:
            ray.init("local", num_cpus=jobs or usable_cores(), include_dashboard=False,
                     object_store_memory=_STORE_BYTES, **quiet)  # fmt: skip
        else:
            ray.init(address, **quiet)
    except ValueError as error:
        raise UsageError(_in_a_line(error), "give HOST:PORT, ray://HOST:PORT or auto") from None
    except (OSError, RuntimeError, exceptions.RayError) as error:
        raise _connection_error(address, error) from None


def _check_reachable(address: str) -> None:
    """Ray waits for minutes for a cluster that is not there."""
    if address in {"auto", "local"}:
        return
    place = urlsplit(address if "://" in address else f"//{address}")
    try:
        host, port = place.hostname, place.port
    except ValueError:
        host, port = None, None
    if host is None or port is None:
        raise UsageError(
            f"{address!r} is not the address of a Ray cluster",
            "give HOST:PORT, ray://HOST:PORT or auto",
        )
    try:
        socket.create_connection((host, port), timeout=_REACH_SECONDS).close()
    except OSError as error:
        raise TimesinkError(
            f"no Ray cluster answers at {address} ({reason_of(error)})", _START
        ) from None


def _connection_error(address: str | None, error: Exception) -> TimesinkError:
    where = "Ray cannot be started" if address is None else f"the Ray cluster at {address}"
    message = _in_a_line(error)
    if "ersion mismatch" in message:
        return TimesinkError(
            f"{where} has other versions than this machine ({message})",
            "install the same Python and the same Ray on both",
        )
    if address is None:
        return TimesinkError(f"{where} ({message})", "try --engine local")
    return TimesinkError(f"{where} cannot be used ({message})", _START)


def other_versions(node: str, actual: tuple[str, str]) -> TimesinkError:
    """A worker whose answers may differ from ours."""
    timesink, python = actual
    our_timesink, our_python = own_versions()
    has = f"timesink {timesink}" if timesink else "no timesink"
    return TimesinkError(
        f"the Ray worker on {node} has {has} and Python {python}; "
        f"here are timesink {our_timesink} and Python {our_python}",
        f"install the same on every node: pip install timesink=={our_timesink}",
    )


def own_versions() -> tuple[str, str]:
    """Of timesink, and of Python as far as it matters."""
    return __version__, ".".join(platform.python_version_tuple()[:2])


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())[:400]


_RETRIES = 5
"""Of Ray, for a task whose worker or node is gone."""
_TRIES = 2
"""Of ours: a task that Ray has given up is handed to it again."""
_MIN_UNDER_WAY = 32
_UNDER_WAY_PER_CORE = 3
"""Enough for cores not to wait for us, and for a cluster that grows with its load to see it."""
_LOOK_SECONDS = 0.5
_COUNT_SECONDS = 5.0
_ENDS = {
    "MemoryError": "out of memory",
    "NodeDiedError": "its node was lost",
    "OutOfMemoryError": "out of memory",
    "WorkerCrashedError": "it crashed or was killed",
}
_REMEDY = "try nodes that have more, or fewer workers on each (ray start --num-cpus)"


def drive(call: Call, address: str | None, jobs: int | None) -> None:
    """Connect, make calls for the items on standard input until it ends, and take leave."""
    # Ctrl-C reaches every process of the terminal: the one that started this one decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    output = own_output()
    try:
        connect(address, jobs)
        _Tasks(call, output).work(_listen())
    except TimesinkError as error:
        send(DriverMessage(error=error), output)
    except BrokenPipeError:
        # Nobody waits for the answers any more.
        pass
    finally:
        ray.shutdown()


class _Task(msgspec.Struct):
    place: int
    item: bytes
    tries: int = 0


_TaskQueue = queue.SimpleQueue["_Task | None"]


def _listen() -> _TaskQueue:
    """Items as they come; None when there will be no more."""
    tasks: _TaskQueue = queue.SimpleQueue()

    def listen() -> None:
        try:
            while True:
                tasks.put(_Task(*pickle.load(sys.stdin.buffer)))  # noqa: S301 - our own parent
        except (EOFError, pickle.UnpicklingError):
            tasks.put(None)

    threading.Thread(target=listen, daemon=True).start()
    return tasks


class _Tasks:
    """Tasks that are under way."""

    def __init__(self, call: Call, output: IO[bytes]) -> None:
        self._told = output
        self._function = _remote_function()
        self._given = (own_versions(), os.getcwd(), pickle.dumps(call))  # noqa: PTH109 - as text
        self._under_way: dict[Any, _Task] = {}
        self._room = 0
        """For so many items we have told that they may come, and they have not ended."""
        self._wanted = 0
        self._counted_at = -_COUNT_SECONDS

    def work(self, tasks: _TaskQueue) -> None:
        """Until nothing is asked any more."""
        while True:
            more = self._more()
            if more:
                send(DriverMessage(more), self._told)
            while not self._under_way or not tasks.empty():
                task = tasks.get()
                if task is None:
                    return
                self._submit(task)
            # First whichever comes, then all that are there.
            ready, rest = ray.wait(list(self._under_way), timeout=_LOOK_SECONDS)
            if ready and rest:
                ready += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
            for reference in ready:
                self._finish(reference)

    def _submit(self, task: _Task) -> None:
        task.tries += 1
        self._under_way[self._function.remote(*self._given, task.item)] = task

    def _finish(self, reference: Any) -> None:
        task = self._under_way.pop(reference)
        try:
            versions, node, outcome = ray.get(reference)
        except exceptions.RayError as error:
            outcome = self._failed(task, error)
        else:
            if outcome is None:
                raise other_versions(node, versions)
        if outcome is not None:
            self._room -= 1
            send(DriverMessage(self._more(), task.place, *outcome), self._told)

    def _failed(self, task: _Task, error: exceptions.RayError) -> Outcome | None:
        """What a task comes to that did not return; None when it is tried again."""
        cause = getattr(error, "cause", None)
        named = name_of(pickle.loads(task.item))  # noqa: S301 - from our own parent
        if isinstance(error, exceptions.RayTaskError) and not isinstance(cause, MemoryError):
            return None, internal(named, cause or error)
        if task.tries < _TRIES:
            self._submit(task)
            return None
        how = _ENDS.get(type(cause or error).__name__, type(error).__name__)
        return None, worker_killed(named, how, _REMEDY)

    def _more(self) -> int:
        """Room for further items; it is counted as told."""
        now = time.monotonic()
        if now - self._counted_at > _COUNT_SECONDS:
            self._counted_at = now
            cores = int(ray.cluster_resources().get("CPU", 0))
            self._wanted = max(_MIN_UNDER_WAY, _UNDER_WAY_PER_CORE * cores)
        more = max(0, self._wanted - self._room)
        self._room += more
        return more


def _remote_function() -> Any:
    """What workers run; inside a function, so that Ray sends it and does not look for it there."""

    def timesink_call(
        versions: tuple[str, str], folder: str, call: bytes, item: bytes
    ) -> tuple[tuple[str, str], str, Outcome | None]:
        import importlib  # noqa: PLC0415 - loaded where it runs, like all of this
        import os  # noqa: PLC0415
        import platform  # noqa: PLC0415

        # As in processes of the local engine; before Polars is loaded.
        os.environ["POLARS_MAX_THREADS"] = "1"
        try:
            timesink = str(importlib.import_module("timesink").__version__)
        except ImportError:
            timesink = ""
        actual = timesink, ".".join(platform.python_version_tuple()[:2])
        if actual != versions:
            return actual, platform.node(), None
        from timesink.runtime.engine import run_in_worker  # noqa: PLC0415 - start-up time

        return actual, platform.node(), run_in_worker(folder, call, item)

    return ray.remote(num_cpus=1, max_retries=_RETRIES)(timesink_call)
