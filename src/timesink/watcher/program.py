"""Watching a program: one that is started for it, one that runs, or the one we were started by."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from timesink.errors import CollectError, OutputError, TimesinkError, UsageError
from timesink.formats.small_files import DamagedError, read_small_json
from timesink.recorder.cycle_channel import CycleReceiver
from timesink.recorder.folder import CONTROL_VARIABLE, is_ending, write_plan
from timesink.recorder.places import write_whole
from timesink.recorder.processes import (
    birth,
    collect_signals,
    is_alive,
    is_running,
    mask_secrets,
    passed_on,
)
from timesink.recorder.recording import SITE, Running, start_recorded
from timesink.recorder.run_file import ProgramEnd
from timesink.recorder.watch_plan import OTHER, SAME, WatchPlan
from timesink.sources.watch_folder import INCIDENT_FILE
from timesink.watcher.durations import model_content
from timesink.watcher.expected.live import LiveAlarm
from timesink.watcher.expected.model import live_model_from
from timesink.watcher.incidents import CLOSED, EARLY, Incident, Reference, kind_of
from timesink.watcher.journal import WatchFolder, remove_folder
from timesink.watcher.session import WatchSession

_TICK_S = 0.1

Say = Callable[[str], None]


class _Guarded:
    """The session's tick; a fault of ours ends watching, and never the program."""

    def __init__(self, session: WatchSession, say: Say) -> None:
        self._session = session
        self._say = say
        self.has_failed = False

    def begin(self, pid: int) -> None:
        self._try(lambda: self._session.begin(pid))

    def __call__(self) -> None:
        if not self.has_failed:
            self._try(self._session.tick)

    def end(self, ended: ProgramEnd | None, is_hurried: Callable[[], bool]) -> None:
        self._try(lambda: self._session.end(ended, is_hurried))

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:
            if os.environ.get("TIMESINK_DEBUG"):
                raise
            self.has_failed = True
            why = f"watching has failed ({type(error).__name__}: {error})".splitlines()[0]
            try:
                self._session.give_up(why)
            except Exception:  # noqa: BLE001 - whatever it is that fails, it is said
                self._say(why)


def watch_program(plan: WatchPlan, say: Say) -> int:
    """Run a program to its end and watch it meanwhile; the exit code is the program's."""
    with _session(plan, say) as session, collect_signals() as came, passed_on():
        control = session.place.control
        process = start_recorded(plan.command, control)
        _say_begun(plan, " ".join(mask_secrets(plan.command))[:80], say)
        tick = _Guarded(session, say)
        tick.begin(process.pid)
        ended = Running(process, came, partial(is_ending, control), say).to_the_end(tick)
        signals_before = len(came)
        tick.end(ended, lambda: len(came) > signals_before)
        return ended.status


def watch_running(
    plan: WatchPlan,
    pid: int,
    say: Say,
    let_in: Callable[[WatchFolder], None],
    is_over: Callable[[], bool] = lambda: False,
) -> int:
    """Watch a program that runs, until it ends, `is_over` says so, or we are interrupted.

    `let_in` lets the agent into it.
    """
    born = birth(pid)
    with _session(plan, say) as session, collect_signals() as came:
        let_in(session.place)
        tick = _Guarded(session, say)
        tick.begin(pid)
        while is_running(pid, born) and not came and not is_over():
            tick()
            time.sleep(_TICK_S)
        signals_before = len(came)
        if is_running(pid, born):
            session.desk.recorder.leave(session.intake.processes)
        tick.end(None, lambda: len(came) > signals_before)
    return 0


@contextmanager
def _session(plan: WatchPlan, say: Say) -> Iterator[WatchSession]:
    """A folder that is ours and a session in it; a watch that never began leaves nothing."""
    place = WatchFolder(plan.folder)
    plan = _checked_again(plan, say)
    try:
        place.prepare(plan.before)
        write_plan(plan.agent, place.control)
        receiver = CycleReceiver(place.control)
    except OSError as error:
        place.place.clear_control()
        raise OutputError.unwritable(plan.folder, error) from None
    try:
        session = WatchSession(plan, receiver, say)
        if plan.before:
            session.desk.references.taken += earlier_references(place.references)
            session.desk.incidents.take_over(earlier_incidents(place.incidents))
        try:
            yield session
        finally:
            # However it ended: nobody reads what is closed.
            session.intake.stop()
    except TimesinkError:
        if plan.before:
            place.place.clear_control()
        else:
            place.discard()
        raise
    finally:
        receiver.close()
    if place.place.recorder() in {None, os.getpid()}:
        # Else it was deleted meanwhile, and another watcher has it.
        place.place.clear_control()


def _checked_again(plan: WatchPlan, say: Say) -> WatchPlan:
    """What to do about an earlier watch of the folder, and say it."""
    model_file = plan.folder / "model.json"
    if plan.before == SAME and plan.model == model_file:
        try:
            live_model_from(model_content(model_file), str(model_file))
        except TimesinkError:
            plan = replace(plan, before=OTHER, model=None)
            say(f"{model_file}: cannot be used; learning again")
        else:
            say("using the model in this folder (--force starts again)")
    elif plan.before == OTHER:
        say("the folder is of another command or other options: learning again")
    return plan


def watch_pid(plan: WatchPlan, pid: int, say: Say) -> int:
    """Watch a program that runs, and was not started by us."""
    if not is_alive(pid):
        raise UsageError(f"--pid {pid}: there is no such process", "see  ps -ef")

    def let_in(place: WatchFolder) -> None:
        attach(pid, place.control)
        _say_begun(plan, f"process {pid}", say)

    return watch_running(plan, pid, say, let_in)


def _say_begun(plan: WatchPlan, what: str, say: Say) -> None:
    say(f"watching {what}; see  timesink watch status {shlex.quote(str(plan.folder))}")


# What an earlier watcher of the same folder left: its references and incidents.

_UNREADABLE = (OSError, DamagedError, ValueError, TypeError, KeyError, msgspec.ValidationError)


def earlier_references(folder: Path) -> Iterator[Reference]:
    """Recordings of healthy cycles; what was not finished goes."""
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        try:
            facts = read_small_json(place / "workload.json")
            phase, workload = str(facts["phase"]), dict(facts["workload"])
            kind = kind_of(phase, workload) if phase else EARLY
            reference = Reference(place.name, place, phase, kind, workload, int(facts["taken_us"]))
        except _UNREADABLE:
            remove_folder(place)
            continue
        yield reference


def earlier_incidents(folder: Path) -> Iterator[Incident]:
    """Incidents, so that they are shown and count for the quota; none is open any more."""
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        with suppress(*_UNREADABLE):
            file = place / INCIDENT_FILE
            facts: dict[str, Any] = read_small_json(file)
            alarms = msgspec.convert(facts["alarms"], list[LiveAlarm])
            if facts["ended_us"] is None:
                facts |= {"state": CLOSED, "ended_us": file.stat().st_mtime_ns // 1000}
                facts["remarks"] = [*facts["remarks"], "The watcher ended before the incident did."]
                write_whole(file, json.dumps(facts).encode())
            alarms_by_number = {alarm.number: alarm for alarm in alarms}
            compared = {name: facts.get(name) for name in ("cause", "slow_rank", "verdict")}
            yield Incident(
                place.name, place, alarms_by_number, compared=compared, wants_recording=False,
                ended_us=int(facts["ended_us"]), is_concluded=True,
            )  # fmt: skip


# Letting the agent into a program that runs already.

_OLDEST = (3, 14)
_SCRIPT = """\
import importlib.util, os
before = os.environ.get({variable!r})
os.environ[{variable!r}] = {control!r}
try:
    spec = importlib.util.spec_from_file_location("timesink_attached", {site!r})
    site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(site)
    site._begin()
finally:
    if before is None:
        del os.environ[{variable!r}]
    else:
        os.environ[{variable!r}] = before
"""
"""Run by the program between two of its own lines; children it starts are left alone."""


def attach(pid: int, control: Path) -> None:
    """Have a process take part, by the plan in a control folder: it needs Python 3.14, as we do.

    The process comes to it by itself, when it next runs Python in its main thread; the script it
    runs lies in the control folder.

    >>> import sys
    >>> if sys.version_info < (3, 14):
    ...     try:
    ...         attach(1, Path("."))
    ...     except UsageError as error:
    ...         print(error.message[:42])
    ... else:
    ...     print("a running program cannot be watched with P")
    a running program cannot be watched with P
    """
    remote_exec: Any = getattr(sys, "remote_exec", None)
    if sys.version_info < _OLDEST or remote_exec is None:
        mine = ".".join(map(str, sys.version_info[:2]))
        raise UsageError(
            f"a running program cannot be watched with Python {mine}: "
            "timesink and the program need 3.14",
            "start the program with `timesink watch -- COMMAND`",
        )
    try:
        remote_exec(pid, str(script_for(control)))
    except ProcessLookupError:
        raise UsageError(f"there is no process {pid}", "check the number after --pid") from None
    except (OSError, RuntimeError, ValueError) as error:
        raise CollectError(
            f"process {pid} cannot be attached to ({error})",
            "it needs the same version of Python and the same user, or root",
        ) from None


def script_for(control: Path) -> Path:
    """What the process is to run; left in the control folder, which it can read."""
    site = str(SITE / "sitecustomize.py")
    text = _SCRIPT.format(variable=CONTROL_VARIABLE, control=str(control.absolute()), site=site)
    end, path = tempfile.mkstemp(prefix="attach-", suffix=".py", dir=control)
    with os.fdopen(end, "w") as file:
        file.write(text)
    return Path(path)
