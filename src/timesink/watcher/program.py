"""Watching a program: one that is started for it, one that runs, or the one we were started by."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

from timesink.errors import CollectError, UsageError
from timesink.recorder.cycle_channel import CycleReceiver
from timesink.recorder.folder import read_notes, write_plan
from timesink.recorder.processes import is_alive, noticed
from timesink.recorder.recording import Running, recorded_environment, start
from timesink.recorder.run_file import ProgramEnd
from timesink.watcher.journal import WatchFolder
from timesink.watcher.session import WatchSession
from timesink.watcher.watch_plan import WatchPlan

_TICK_S = 0.1
_LEAVES_S = 0.5

Say = Callable[[str], None]


class _Guarded:
    """The session's tick; a fault of ours ends watching, and never the program."""

    def __init__(self, session: WatchSession, say: Say) -> None:
        self._session = session
        self._say = say
        self.has_failed = False

    def __call__(self) -> None:
        if self.has_failed:
            return
        try:
            self._session.tick()
        except Exception as error:  # noqa: BLE001 - the program goes on whatever we did wrong
            if os.environ.get("TIMESINK_DEBUG"):
                raise
            self.has_failed = True
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            self._say(f"watching has failed ({what}); the program goes on")
            self._session.recorder.leave(self._session.intake.processes)


def _prepared(plan: WatchPlan) -> WatchFolder:
    place = WatchFolder(plan.folder)
    place.prepare()
    write_plan(plan.agent, place.control)
    return place


def watch_program(plan: WatchPlan, say: Say) -> int:
    """Run a program to its end and watch it meanwhile; the exit code is the program's."""
    place = _prepared(plan)
    with noticed() as came:
        receiver = CycleReceiver(place.control)
        try:
            process = start(plan.command, recorded_environment(os.environ, place.control))
        except OSError as error:
            place.place.discard()
            raise CollectError(
                f"{plan.command[0]}: cannot be started ({error.strerror or error})",
                "check the program after --",
            ) from None

        def is_ending() -> bool:
            with suppress(OSError):
                return any(one.last("ending") for one in read_notes(place.control))
            return False

        running = Running(process, came, is_ending, say)
        session: WatchSession | None = None
        try:
            session = WatchSession(plan, receiver, say, process.pid)
            session.begin()
        except BaseException:
            # Asked for something that cannot be: the program has not done anything yet.
            process.kill()
            process.wait()
            place.place.release()
            raise
        tick = _Guarded(session, say)
        ended = running.to_the_end(tick)
        heard = len(came)
        _finish(session, tick, ended, lambda: len(came) > heard)
        place.place.clear_control()
        return ended.status


def watch_running(plan: WatchPlan, pid: int, say: Say, attach: Callable[[WatchFolder], None]) -> int:
    """Watch a program that runs, until it ends or we are interrupted."""
    if not is_alive(pid):
        raise UsageError(f"--pid {pid}: there is no such process", "see  ps -ef")
    place = _prepared(plan)
    with noticed() as came:
        receiver = CycleReceiver(place.control)
        try:
            attach(place)
        except BaseException:
            place.place.discard()
            raise
        session = WatchSession(plan, receiver, say, pid)
        session.begin()
        tick = _Guarded(session, say)
        while is_alive(pid) and not came:
            tick()
            time.sleep(_TICK_S)
        heard = len(came)
        if came:
            session.recorder.leave(session.intake.processes)
            time.sleep(_LEAVES_S)
        _finish(session, tick, None, lambda: len(came) > heard)
        place.place.clear_control()
    return 0


def _finish(
    session: WatchSession, tick: _Guarded, ended: ProgramEnd | None, is_hurried: Callable[[], bool]
) -> None:
    if tick.has_failed:
        session.recorder.current = None
    session.end(ended, is_hurried)
