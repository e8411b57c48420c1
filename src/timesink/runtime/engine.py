"""What an engine is: it makes the same call for many items, wherever that may be."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import pickle
import platform
import re
import selectors
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from timesink.errors import TimesinkError, UnreadableError, UsageError, reason_of
from timesink.runtime.workers import Peer, pipe, send, start_interpreter, usable_cores


@dataclass(frozen=True, slots=True)
class Call:
    """A function by its name, so that whoever makes the call loads it, and no one else must.

    It takes an item and the arguments, all of which can be pickled, and returns bytes.
    """

    module: str
    function: str
    arguments: dict[str, Any] = field(default_factory=dict)


class Done(NamedTuple):
    """What came of one item: bytes, or why there are none."""

    place: int
    """Of the item among those that were given."""
    value: bytes | None
    error: TimesinkError | None = None


class Engine(Protocol):
    """Makes calls, several at once."""

    @property
    def name(self) -> str:
        """What users choose it by."""
        ...

    def run(self, call: Call, items: Sequence[Any]) -> Iterator[Done]:
        """Call once for every item and give what came of it, as soon as it has come.

        Every item is done exactly once.  A call that dies with its process is made again; what
        fails in the end is an error of its item, and the others stand.
        """
        ...


Outcome = tuple[bytes | None, TimesinkError | None]
"""What came of a call: the one or the other."""
_GC_THRESHOLDS = (200_000, 20, 100)
"""When garbage is collected: allocations, and rounds of the younger generations."""


def settle_down() -> None:
    """Once in a process that does nothing but make calls: they leave few cycles of objects."""
    gc.set_threshold(*_GC_THRESHOLDS)


def make(call: Call, item: bytes) -> Outcome:
    """Call for a pickled item; whatever goes wrong is an error in words.

    Too little memory is none: what to do about it depends on where the call is made.
    """
    named = "an item"
    try:
        argument = pickle.loads(item)  # noqa: S301 - from whoever asks for the call
        named = name_of(argument)
        function = getattr(importlib.import_module(call.module), call.function)
        return bytes(function(argument, **call.arguments)), None
    except MemoryError:
        raise
    except TimesinkError as error:
        return None, error
    except OSError as error:
        return None, UnreadableError.denied(named, error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - one item must not stop the others
        return None, internal(named, error)


def name_of(item: object) -> str:
    """How messages name an item: by where it comes from, if it says so."""
    return str(getattr(item, "source", item))


def internal(named: str, error: BaseException) -> TimesinkError:
    """An error nobody expected."""
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return TimesinkError(
        f"{named}: internal error ({what})",
        "this is a bug: report it with the output of --debug for this file alone",
    )


def worker_killed(named: str, how: str, remedy: str) -> TimesinkError:
    """An item whose process did not live long enough, each time it was tried."""
    return TimesinkError(
        f"{named}: the process that read it died each time ({how})",
        f"it may need more memory: {remedy}",
    )


ONE_THREAD = {"POLARS_MAX_THREADS": "1"}
"""Processes share the cores, and sums are the same wherever they are made, to the last digit."""
_OUT_OF_MEMORY = 77
"""What a process ends with that got no more memory: it is not asked anything again."""


class Child(Peer):
    """A process of ours that makes the same call for one item at a time."""

    def __init__(self, call: Call) -> None:
        super().__init__(start_interpreter(__name__, "serve", call, environment=ONE_THREAD))
        self.place = -1
        """Of the item it is at work on."""

    def fileno(self) -> int:
        """What becomes readable when an answer is there, or the process is gone."""
        return pipe(self.process.stdout).fileno()

    def stop(self) -> str:
        """End it at once, and say how it ended if it had ended before."""
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            # What was still to be written to a process that is gone is of no use.
            with suppress(OSError):
                pipe(stream).close()
        code = self.process.wait()
        if code == _OUT_OF_MEMORY:
            return "out of memory"
        if code >= 0:
            return f"exit code {code}"
        with suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
        return f"killed by signal {-code}"


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
            send(outcome, answers)
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


_REMEDY = "try --jobs 1, or a machine that has more"


class LocalEngine:
    """Makes calls in processes of this machine, as many as it has cores or as `jobs` says."""

    name = "local"

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs

    def run(self, call: Call, items: Sequence[Any]) -> Iterator[Done]:
        """Call once for every item; one whose process died is tried again, last and alone."""
        size = min(self._jobs or usable_cores(), len(items))
        first = _Crew(call, items)
        yield from first.work(range(len(items)), size)
        again = _Crew(call, items)
        for place in first.died:
            # What died of too little memory may live when nothing else needs any.
            yield from again.work([place], 1)
        for place, how in again.died.items():
            yield Done(place, None, worker_killed(name_of(items[place]), how, _REMEDY))


class _Crew:
    """Processes at work on some items."""

    def __init__(self, call: Call, items: Sequence[Any]) -> None:
        self._call = call
        self._items = items
        self._children: set[Child] = set()
        self.died: dict[int, str] = {}
        """Places of items whose process died, and how."""

    def work(self, places: Iterable[int], size: int) -> Iterator[Done]:
        """What comes of the items at some places, by up to `size` processes."""
        waiting = deque(places)
        try:
            with selectors.DefaultSelector() as busy:
                self._start(busy, waiting, size)
                while busy.get_map():
                    done = [self._finish(busy, key.fileobj, waiting) for key, _ in busy.select()]
                    self._start(busy, waiting, size)
                    yield from (outcome for outcome in done if outcome is not None)
        finally:
            for child in self._children:
                child.stop()
            self._children.clear()

    def _start(self, busy: selectors.BaseSelector, waiting: deque[int], size: int) -> None:
        """Bring the number of processes to `size`, as far as there is work for them."""
        while waiting and len(self._children) < size:
            try:
                child = Child(self._call)
            except OSError as error:
                if self._children:
                    return
                raise TimesinkError(
                    f"no process can be started ({reason_of(error)})",
                    "close other programs, or raise the limit (ulimit -u)",
                ) from None
            self._children.add(child)
            busy.register(child, selectors.EVENT_READ)
            self._ask(child, waiting)

    def _ask(self, child: Child, waiting: deque[int]) -> None:
        child.place = waiting.popleft()
        child.tell(pickle.dumps(self._items[child.place]))

    def _finish(self, busy: selectors.BaseSelector, child: Any, waiting: deque[int]) -> Done | None:
        """The answer of a process, which gets another item; None when it is gone."""
        place, outcome = child.place, child.hear()
        if outcome is not None and waiting:
            self._ask(child, waiting)
        else:
            busy.unregister(child)
            self._children.discard(child)
            how = child.stop()
        if outcome is not None:
            return Done(place, *outcome)
        self.died[place] = how
        return None


ENGINES = ("local", "ray")


def engine_of(
    engine: str | Engine = "local", *, jobs: int | None = None, address: str | None = None
) -> Engine:
    """An engine by its name; one that is an engine already stays as it is.

    `jobs` is how many processes of this machine work at once, `address` where a Ray cluster is.
    """
    if not isinstance(engine, str):
        return engine
    if engine not in ENGINES:
        raise UsageError(f"there is no engine {engine!r}", f"choose one of {', '.join(ENGINES)}")
    if engine == "ray":
        return RayEngine(address, jobs=jobs)
    if address is not None:
        raise UsageError(
            "--ray-address does not go with the local engine",
            "add --engine ray",
        )
    return LocalEngine(jobs)


# The engine of a Ray cluster, as the caller sees it.
#
# Ray itself is loaded in a process of its own: what it says never reaches the screen, its threads
# and signals are not ours, and a cluster that goes away takes that process with it, not this one.

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
        own_address = str(ray.get_runtime_context().gcs_address) if ray and connected else None
        self._address = address or os.environ.get("RAY_ADDRESS") or own_address
        self._jobs = jobs

    def run(self, call: Call, items: Sequence[Any]) -> Iterator[Done]:
        """Call once for every item; as many are under way as keep the cluster busy."""
        if not items:
            return
        with tempfile.TemporaryFile() as errors:
            driver = _Driver(call, self._address, self._jobs, errors)
            try:
                yield from driver.work(items)
            finally:
                driver.stop()


class DriverMessage(NamedTuple):
    """What the process that speaks to Ray tells."""

    room: int = 0
    """For so many more items."""
    place: int | None = None
    """Of an item that is done; an error without one ends it all."""
    value: bytes | None = None
    error: TimesinkError | None = None


class _Driver(Peer):
    """The process that speaks to Ray."""

    def __init__(
        self, call: Call, address: str | None, jobs: int | None, errors: IO[bytes]
    ) -> None:
        self._said = errors
        self._cluster = f"the Ray cluster at {address}" if address else "Ray"
        process = start_interpreter(
            "timesink.runtime.ray_driver", "drive", call, address, jobs,
            environment=_environment(address), errors=errors,
        )  # fmt: skip
        super().__init__(process)

    def work(self, items: Sequence[Any]) -> Iterator[Done]:
        """Hand over items as there is room for them, and give what comes back."""
        room, sent, done = 0, 0, 0
        while done < len(items):
            news: DriverMessage | None = self.hear()
            if news is None:
                raise self._gone(done, len(items))
            room += news.room
            while room and sent < len(items):
                self.tell((sent, pickle.dumps(items[sent])))
                room, sent = room - 1, sent + 1
            if news.place is not None:
                done += 1
                yield Done(news.place, news.value, news.error)
            elif news.error is not None:
                raise news.error

    def _gone(self, done: int, total: int) -> TimesinkError:
        self._said.seek(0)
        last_error = last_words(self._said.read().decode(errors="replace"))
        return TimesinkError(
            f"{self._cluster} ended after {done} of {total} ({last_error})",
            "see its logs; start it again and repeat the command, which continues",
        )

    def stop(self) -> None:
        """Let it take leave of Ray, and stop what it started; if it does not, end it."""
        with suppress(OSError):
            pipe(self.process.stdin).close()
        pipe(self.process.stdout).close()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _environment(address: str | None) -> dict[str, str]:
    """What Ray is told.  One that is started here gets a secret of its own.

    It listens to the whole network, and without a secret does what anybody there asks for.
    """
    if address is not None:
        return _ENVIRONMENT
    import secrets  # noqa: PLC0415 - start-up time

    return {**_ENVIRONMENT, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def last_words(log: str) -> str:
    """The first sentence of the last line of a log, without when and where it was written."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if not lines:
        return "it said nothing"
    message = re.sub(r"^\[[^]]*\] *\S+:\d+: ", "", lines[-1])
    return message.partition(". ")[0][:200]


def run_in_worker(folder: str, call: bytes, item: bytes) -> Outcome:
    """Make a pickled call as if in `folder`, where whoever asks for it is: for workers of Ray."""
    # Paths that are not absolute start there; where there is no such folder, none is found.
    with suppress(OSError):
        os.chdir(folder)
    settle_down()
    argument = pickle.loads(item)  # noqa: S301 - from whoever asks for the call
    # The file an item is about, unless that lies behind a URL.
    path = getattr(argument, "path", None)
    is_remote = getattr(argument, "remote", None) is not None
    if isinstance(path, Path) and not is_remote and not path.exists():
        return None, UnreadableError(
            f"{path}: not visible to the Ray worker on {platform.node()}",
            "paths must be the same on every node (a shared file system), or URLs such as s3://",
        )
    return make(pickle.loads(call), item)  # noqa: S301 - likewise
