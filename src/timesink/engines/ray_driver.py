"""The process that speaks to Ray: it gets items on its input and tells what came of them.

Only so many tasks are under way as keep the cluster busy, and results leave it as they come.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import IO, Any

import ray
from ray import exceptions

from timesink.engines.calling import Outcome, internal, killed, name_of
from timesink.engines.child import own_output
from timesink.engines.engine import Call
from timesink.engines.ray_cluster import connect, other_versions, own_versions
from timesink.engines.ray_engine import News
from timesink.errors import TimesinkError

_RETRIES = 5
"""Of Ray, for a task whose worker or node is gone."""
_TRIES = 2
"""Of ours: a task that Ray has given up is handed to it again."""
_LEAST_UNDER_WAY = 32
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
    told = own_output()
    try:
        connect(address, jobs)
        _Tasks(call, told).work(_listen())
    except TimesinkError as error:
        _tell(told, News(error=error))
    except BrokenPipeError:
        # Nobody waits for the answers any more.
        pass
    finally:
        ray.shutdown()


@dataclass(slots=True)
class _Task:
    place: int
    item: bytes
    tries: int = 0


_Asked = queue.SimpleQueue["_Task | None"]


def _listen() -> _Asked:
    """Items as they come; None when there will be no more."""
    asked: _Asked = queue.SimpleQueue()

    def listen() -> None:
        try:
            while True:
                asked.put(_Task(*pickle.load(sys.stdin.buffer)))  # noqa: S301 - our own parent
        except (EOFError, pickle.UnpicklingError):
            asked.put(None)

    threading.Thread(target=listen, daemon=True).start()
    return asked


class _Tasks:
    """Tasks that are under way."""

    def __init__(self, call: Call, told: IO[bytes]) -> None:
        self._told = told
        self._function = _remote_function()
        self._given = (own_versions(), os.getcwd(), pickle.dumps(call))  # noqa: PTH109 - as text
        self._under_way: dict[Any, _Task] = {}
        self._room = 0
        """For so many items we have told that they may come, and they have not ended."""
        self._wanted = 0
        self._counted_at = -_COUNT_SECONDS

    def work(self, asked: _Asked) -> None:
        """Until nothing is asked any more."""
        while True:
            more = self._more()
            if more:
                _tell(self._told, News(more))
            while not self._under_way or not asked.empty():
                task = asked.get()
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
            _tell(self._told, News(self._more(), task.place, *outcome))

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
        return None, killed(named, how, _REMEDY)

    def _more(self) -> int:
        """Room for further items; it is counted as told."""
        now = time.monotonic()
        if now - self._counted_at > _COUNT_SECONDS:
            self._counted_at = now
            cores = int(ray.cluster_resources().get("CPU", 0))
            self._wanted = max(_LEAST_UNDER_WAY, _UNDER_WAY_PER_CORE * cores)
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
        found = timesink, ".".join(platform.python_version_tuple()[:2])
        if found != versions:
            return found, platform.node(), None
        from timesink.engines.ray_worker import answer  # noqa: PLC0415

        return found, platform.node(), answer(folder, call, item)

    return ray.remote(num_cpus=1, max_retries=_RETRIES)(timesink_call)


def _tell(told: IO[bytes], news: News) -> None:
    pickle.dump(news, told, protocol=5)
    told.flush()
