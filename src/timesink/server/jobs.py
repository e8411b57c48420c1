"""Heavy work, one job per question: few at once, a bounded queue, answers kept for a while."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import partial
from threading import Condition, Thread
from typing import Any, TypeVar

import msgspec

from timesink.errors import TimesinkError
from timesink.formats.read_options import Progress


class Report(msgspec.Struct, eq=False):
    """What is being done, and which share of it is done where that is known."""

    _doing: str = ""
    _share: float | None = None
    _followed: Report | None = None

    @property
    def doing(self) -> str:
        return self._doing if self._followed is None else self._followed.doing

    @property
    def share(self) -> float | None:
        return self._share if self._followed is None else self._followed.share

    def start(self, doing: str, then: str = "") -> Progress:
        """From now on something else is done; the result is called with what is done of it.

        When all of it is done, what comes `then` is told.
        """
        self._doing, self._share, self._followed = doing, None, None

        def advance(done: int, total: int) -> None:
            if done < total:
                self._doing, self._share = doing, round(done / total, 3)
            else:
                self._doing, self._share = then or doing, None

        return advance

    def tell(self, doing: str, share: float) -> None:
        """What is being done, and which share of it is done."""
        self._doing, self._share, self._followed = doing, round(share, 3), None

    def follow(self, other: Report) -> None:
        """Tell what another one tells: somebody else is doing what this work needs."""
        self._followed = other


AT_ONCE = 2
MAX_WAITING = 32
MAX_KEPT_BYTES = 64 * 1024**2
_KEPT_SECONDS = 60.0
_KEPT_ERROR_SECONDS = 5.0
"""Long enough for a client to ask again, also one whose clock is slowed down in the background."""
_FORGOTTEN_SECONDS = 5.0
"""Clients ask again several times a second; who has not done so for so long has gone away."""
_IN_QUEUE, _STARTING = "waiting for other requests", "starting"
_LOG = logging.getLogger(__name__)

Work = Callable[[Report], Any]


class BusyError(TimesinkError):
    """More was asked for at once than the server takes on."""


class FailedError(TimesinkError):
    """A mistake of ours, which the log tells about."""

    @classmethod
    def by_mistake(cls) -> FailedError:
        message = "this view failed on this trace; see the log of the server"
        return cls(message, "this is a bug: report it with the log")


class StillWorking(Exception):  # noqa: N818 - nothing went wrong
    """The answer is not there yet; what is being done meanwhile."""

    def __init__(self, report: Report, waited_s: float) -> None:
        super().__init__(report.doing)
        self.report, self.waited_s = report, waited_s

    def progress_fields(self) -> dict[str, Any]:
        """What a client is told."""
        return {
            "doing": self.report.doing,
            "share": self.report.share,
            "waited_s": round(self.waited_s, 1),
        }


class _Job(msgspec.Struct, eq=False):
    key: Hashable
    work: Work
    report: Report
    requested_at: float
    """When somebody last asked for it."""
    began: float
    waiting: int = 0
    """Requests that wait for its end."""
    ended: float | None = None
    value: Any = None
    error: TimesinkError | None = None
    size: int = 0


class Jobs(msgspec.Struct, eq=False):
    """Work that takes long, found once however many ask for it."""

    at_once: int = AT_ONCE
    most_waiting: int = MAX_WAITING
    most_bytes: int = MAX_KEPT_BYTES
    clock: Callable[[], float] = time.monotonic
    size: Callable[[Any], int] = lambda _value: 0
    """How many bytes a value takes."""
    after: Callable[[], None] = lambda: None
    """Done after each job, e.g. to give back memory."""
    _jobs: OrderedDict[Hashable, _Job] = msgspec.field(default_factory=OrderedDict)
    _queue: deque[_Job] = msgspec.field(default_factory=deque)
    _running: int = 0
    _changed: Condition = msgspec.field(default_factory=Condition)

    def ask(
        self, key: Hashable, work: Work, *, wait_s: float | None = None, keep: bool = True
    ) -> Any:
        """What the work of this key gives; raises `StillWorking` if it takes longer than `wait_s`.

        Work of the same key is done once; unless `keep` is false, who asks later gets the same
        answer for a while.
        """
        with self._changed:
            self._let_go()
            job = self._jobs.get(key) or self._queued(key, work)
            job.requested_at = self.clock()
            job.waiting += 1
            try:
                self._changed.wait_for(lambda: job.ended is not None, wait_s)
            finally:
                job.waiting -= 1
            job.requested_at = self.clock()
            if job.ended is None:
                raise StillWorking(job.report, self.clock() - job.began)
            if not keep:
                self._jobs.pop(key, None)
        if job.error is not None:
            raise job.error
        return job.value

    def _queued(self, key: Hashable, work: Work) -> _Job:
        if len(self._queue) >= self.most_waiting:
            raise BusyError(
                f"the server is busy: {len(self._queue)} requests are waiting",
                "try again in a moment",
            )
        now = self.clock()
        job = self._jobs[key] = _Job(key, work, Report(_IN_QUEUE), now, now)
        self._queue.append(job)
        if self._running < self.at_once:
            self._running += 1
            Thread(target=self._work, name="timesink job", daemon=True).start()
        return job

    def _work(self) -> None:
        """Do what is queued until nothing is left."""
        while True:
            with self._changed:
                self._let_go()
                if not self._queue:
                    self._running -= 1
                    return
                job = self._queue.popleft()
            self._do(job)
            del job
            self.after()

    def _do(self, job: _Job) -> None:
        job.report.start(_STARTING)
        try:
            settle = partial(setattr, job, "value", job.work(job.report))
        except TimesinkError as error:
            # Frames of a traceback hold what was being worked on.
            settle = partial(setattr, job, "error", error.with_traceback(None))
        except Exception:  # noqa: BLE001 - one piece of work must not end the others
            _LOG.exception("no answer to %s", job.key)
            settle = partial(setattr, job, "error", FailedError.by_mistake())
        with self._changed:
            settle()
            # The work may hold a whole trace.
            job.work = lambda _report: None
            job.size = self.size(job.value)
            job.ended = self.clock()
            self._changed.notify_all()

    def _let_go(self) -> None:
        """Forget what nobody waits for any longer and what was kept long enough; lock is held."""
        now = self.clock()
        for job in list(self._queue):
            if not job.waiting and now - job.requested_at > _FORGOTTEN_SECONDS:
                self._queue.remove(job)
                self._jobs.pop(job.key, None)
        ended = [job for job in self._jobs.values() if job.ended is not None and not job.waiting]
        ended.sort(key=lambda job: job.ended or 0.0)
        surplus = sum(job.size for job in ended) - self.most_bytes
        for job in ended:
            kept_s = _KEPT_SECONDS if job.error is None else _KEPT_ERROR_SECONDS
            is_stale = now - (job.ended or 0.0) > kept_s
            # The last one stays whatever its size: who asked for it has to get it.
            if is_stale or (surplus > 0 and job is not ended[-1]):
                surplus -= job.size
                del self._jobs[job.key]


Result = TypeVar("Result")


async def in_thread(call: Callable[[], Result]) -> Result:
    """What a call returns; other requests are answered meanwhile."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Result] = loop.create_future()

    def settle(set_outcome: Callable[[], None]) -> None:
        if not outcome.done():
            set_outcome()

    def work() -> None:
        try:
            callback = partial(outcome.set_result, call())
        except Exception as error:  # noqa: BLE001 - handed to whoever asked
            callback = partial(outcome.set_exception, error)
        # Whoever asked may be gone, and the loop with it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, callback)

    Thread(target=work, name="timesink request", daemon=True).start()
    return await outcome
