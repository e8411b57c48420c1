"""The engine of a Ray cluster, as the caller sees it.

Ray itself is loaded in a process of its own: what it says never reaches the screen, its threads
and signals are not ours, and a cluster that goes away takes that process with it, not this one.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import platform
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from timesink.errors import TimesinkError, UnreadableError
from timesink.runtime.engine import Call, Done, Outcome, make, settle_down
from timesink.runtime.workers import start_interpreter

_ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_task_oom_retries": "3"}
"""Nobody is told that Ray is used; and what does not fit into memory is not tried for ever."""
_PATIENCE = 10.0
"""Seconds for Ray to take leave, until it is ended."""


class RayEngine:
    """Makes calls on the workers of a Ray cluster.

    `address` names a running one (`HOST:PORT`, `ray://HOST:PORT` or `auto`); without it that of
    RAY_ADDRESS is meant, or the one this program is connected to; else one with `jobs` workers is
    started on this machine, and stopped in the end.
    """

    name = "ray"

    def __init__(self, address: str | None = None, *, jobs: int | None = None) -> None:
        if importlib.util.find_spec("ray") is None:
            raise TimesinkError("Ray is not installed", "pip install 'timesink[ray]'")
        ray = sys.modules.get("ray")
        # The cluster this program uses already.
        connected = ray is not None and ray.is_initialized()
        own = str(ray.get_runtime_context().gcs_address) if ray and connected else None
        self._address = address or os.environ.get("RAY_ADDRESS") or own
        self._jobs = jobs

    def run(self, call: Call, items: Sequence[Any]) -> Iterator[Done]:
        """Call once for every item; as many are under way as keep the cluster busy."""
        if not items:
            return
        with tempfile.TemporaryFile() as said:
            driver = _Driver(call, self._address, self._jobs, said)
            try:
                yield from driver.work(items)
            finally:
                driver.stop()


class News(NamedTuple):
    """What the process that speaks to Ray tells."""

    room: int = 0
    """For so many more items."""
    place: int | None = None
    """Of an item that is done; an error without one ends it all."""
    value: bytes | None = None
    error: TimesinkError | None = None


class _Driver:
    """The process that speaks to Ray."""

    def __init__(self, call: Call, address: str | None, jobs: int | None, said: IO[bytes]) -> None:
        self._said = said
        self._cluster = f"the Ray cluster at {address}" if address else "Ray"
        self._process = start_interpreter(
            "timesink.runtime.ray_driver", "drive", call, address, jobs,
            environment=_environment(address), errors=said,
        )  # fmt: skip

    def work(self, items: Sequence[Any]) -> Iterator[Done]:
        """Hand over items as there is room for them, and give what comes back."""
        room, given, done = 0, 0, 0
        while done < len(items):
            news = self._news(done, len(items))
            room += news.room
            while room and given < len(items):
                self._ask(given, items[given])
                room, given = room - 1, given + 1
            if news.place is not None:
                done += 1
                yield Done(news.place, news.value, news.error)
            elif news.error is not None:
                raise news.error

    def _ask(self, place: int, item: Any) -> None:
        if self._process.stdin is not None:
            # A process that is gone already shows when news is waited for.
            with suppress(OSError):
                pickle.dump((place, pickle.dumps(item)), self._process.stdin)
                self._process.stdin.flush()

    def _news(self, done: int, total: int) -> News:
        if self._process.stdout is not None:
            with suppress(EOFError, pickle.UnpicklingError, OSError):
                news: News = pickle.load(self._process.stdout)  # noqa: S301 - our own process
                return news
        self._said.seek(0)
        said = last_words(self._said.read().decode(errors="replace"))
        raise TimesinkError(
            f"{self._cluster} is gone after {done} of {total} ({said})",
            "see its logs; to go on with what is not done yet, start it and ask again",
        )

    def stop(self) -> None:
        """Let it take leave of Ray, and stop what it started; if it does not, end it."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _environment(address: str | None) -> dict[str, str]:
    """What Ray is told.  One that is started here gets a secret of its own.

    It listens to the whole network, and without a secret does what anybody there asks for.
    """
    if address is not None:
        return _ENVIRONMENT
    return {**_ENVIRONMENT, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def last_words(log: str) -> str:
    """The first sentence of the last line of a log, without when and where it was written."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if not lines:
        return "it said nothing"
    said = re.sub(r"^\[[^]]*\] *\S+:\d+: ", "", lines[-1])
    return said.partition(". ")[0][:200]


# What a worker of a Ray cluster does for one item; it needs no Ray.


def answer(folder: str, call: bytes, item: bytes) -> Outcome:
    """Make a pickled call as if in `folder`, where whoever asks for it is."""
    # Paths that are not absolute start there; where there is no such folder, none is found.
    with suppress(OSError):
        os.chdir(folder)
    settle_down()
    path = local_path(pickle.loads(item))  # noqa: S301 - from whoever asks for the call
    if path is not None and not path.exists():
        return None, out_of_sight(path)
    return make(pickle.loads(call), item)  # noqa: S301 - likewise


def local_path(item: object) -> Path | None:
    """The file an item is about, unless that lies behind a URL."""
    path = getattr(item, "path", None)
    is_remote = getattr(item, "remote", None) is not None
    return path if isinstance(path, Path) and not is_remote else None


def out_of_sight(path: Path) -> UnreadableError:
    """A file that is not there for the worker.

    >>> out_of_sight(Path("rank0.json")).message
    'rank0.json: not to be seen from the Ray worker on ...'
    """
    return UnreadableError(
        f"{path}: not to be seen from the Ray worker on {platform.node()}",
        "paths must be the same on every node (a shared file system), or URLs such as s3://",
    )
