"""`timesink.record` and `timesink.watch`: a program has a part of itself recorded, or watched."""

from __future__ import annotations

import base64
import importlib
import importlib.util
import json
import os
import pickle
import select
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from timesink.errors import CollectError, TimesinkError, UsageError, reason_of
from timesink.recorder.agent.engine import BY_HAND, CycleEngine
from timesink.recorder.agent.entry import begin, current_engine, current_watch_engine
from timesink.recorder.agent.shutdown import BLOCK_ENDED, env_int
from timesink.recorder.counter_probes import wanted_counters
from timesink.recorder.folder import (
    CONTROL_VARIABLE,
    DEFAULT_CYCLES,
    DEFAULT_INTERVAL_MS,
    DEFAULT_ON,
    DEFAULT_PLAIN,
    DEFAULT_SKIP,
    EXTRAS,
    INTERVALS,
    PLAN_FILE,
    Notebook,
    RecordingFolder,
    RecordPlan,
    is_interval,
    read_notes,
    read_plan,
    write_plan,
)
from timesink.recorder.processes import is_alive
from timesink.recorder.recording import conclude, start_beside
from timesink.recorder.run_file import ProgramRun
from timesink.recorder.watch import Watch
from timesink.recorder.watch_plan import DEFAULT_PLACE, WatchPlan, plan_in_place, plan_of

if TYPE_CHECKING:
    from typing_extensions import Self

READY = b"ready\n"
KEEPER_FILE = "keeper.json"
_KEEPER = "from timesink.recorder.in_program import keep; keep()"
_FINISHES_S = 600.0
"""Packing a long timeline takes minutes; a driver that hangs must not stop the program for ever."""
_BEGINS_S = 60.0
_FIRST_WORKER_S = 60.0
"""The first worker of a machine gets so long to begin the recording the others join."""


def record(
    path: str | Path = "timesink-run",
    *,
    cycles: int = DEFAULT_CYCLES,
    skip: int = DEFAULT_SKIP,
    plain: int = DEFAULT_PLAIN,
    plain_only: bool = False,
    device_events: bool = False,
    marker: str = "",
    whole: bool = False,
    extras: Iterable[str] = (),
    without: Iterable[str] = (),
    where: bool = False,
    counters: str = "all",
    interval_ms: float = DEFAULT_INTERVAL_MS,
    force: bool = False,
) -> BlockRecording:
    """Record cycles of a block of this program, as `timesink record` does of a whole program.

    `step()` ends a cycle; with `marker` a function or an annotation begins one; `whole` records
    all of the block.  The folder is complete when the block is left, however that happens.
    `skip` cycles are let pass and `plain` ones timed before the profiler is there; with
    `plain_only` it never is.

    >>> import tempfile, timesink
    >>> folder = tempfile.mkdtemp()
    >>> with timesink.record(folder, cycles=2, skip=1, plain=3, counters="none") as recording:
    ...     for _ in range(7):
    ...         recording.step()
    >>> (recording.path / "run.json").exists()
    True
    """
    plan = RecordPlan(
        cycles=cycles,
        skip=skip,
        plain=plain,
        plain_only=plain_only,
        device_events=device_events,
        marker=marker,
        whole=whole,
        extras=tuple(extras),
        without=tuple(without),
        where=where,
        by_hand=not (marker or whole),
    )
    _check(plan, interval_ms)
    wanted_counters(counters)
    outer = _outer_control()
    if outer is not None:
        return BlockRecording(RecordingFolder(outer.parent), plan, None, is_outer=True)
    place = RecordingFolder(Path(path).absolute())
    if env_int("LOCAL_RANK"):
        return BlockRecording(place, plan, None)
    place.check(force=force)
    task = {
        "pid": os.getpid(),
        "command": sys.argv,
        "counters": counters,
        "interval_ms": interval_ms,
        # The package itself knows this module: it is not imported from here.
        "timesink": str(sys.modules[__name__.partition(".")[0]].__version__),
        # Processes on this machine that take part.
        "workers": env_int("LOCAL_WORLD_SIZE") or 1,
    }
    return BlockRecording(place, plan, task)


def _check(plan: RecordPlan, interval_ms: float) -> None:
    unknown = [name for name in plan.extras if name not in EXTRAS]
    if unknown:
        raise UsageError(f"extras: {unknown[0]!r} is not known", f"known are {', '.join(EXTRAS)}")
    left_out = [name for name in plan.without if name not in DEFAULT_ON]
    if left_out:
        known = f"known are {', '.join(DEFAULT_ON)}"
        raise UsageError(f"without: {left_out[0]!r} is not known", known)
    if plan.cycles < 1 or plan.skip < 0 or plan.plain < 0:
        raise UsageError(
            "cycles is 1 or more, skip and plain 0 or more", "change cycles, skip or plain"
        )
    if plan.plain_only and (plan.extras or plan.where):
        other = "extras" if plan.extras else "where"
        raise UsageError(f"plain_only and {other} cannot go together", f"leave out {other}")
    if plan.whole and (plan.marker or plan.plain_only):
        other = "marker" if plan.marker else "plain_only"
        raise UsageError(f"whole and {other} cannot go together", "leave out one of them")
    if not is_interval(interval_ms):
        raise UsageError(f"interval_ms is {INTERVALS}, not {interval_ms:g}", "change interval_ms")


def _outer_control() -> Path | None:
    """Where a recorder, or a watcher, that was started outside already leaves its notes."""
    outer = os.environ.get(CONTROL_VARIABLE, "")
    return Path(outer) if outer and Path(outer).is_dir() else None


def _with_torch(control: Path, let_in: Callable[[], None]) -> None:
    """Let the agent in, which there is none of without torch."""
    try:
        if importlib.util.find_spec("torch") is not None:
            importlib.import_module("torch")
            let_in()
    except Exception as error:  # noqa: BLE001 - whatever torch is, the program goes on
        Notebook(control).add("failed", why=f"{type(error).__name__}: {error}")


def _why_ended(kind: type[BaseException] | None) -> str:
    """Why the recording of a block ends that an exception of this kind has left, or none."""
    return BLOCK_ENDED if kind is None else f"{BLOCK_ENDED} with {kind.__name__}"


def _finish(keeper: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Let the process beside the program come to its end; whether that went well."""
    with suppress(subprocess.TimeoutExpired):
        # Told, and waited for: forks of the program hold its input open, the end of which would
        # tell nothing.
        keeper.communicate(b"end\n", timeout=timeout_s)
    return keeper.returncode == 0


def start_keeper(code: str, task: str) -> tuple[subprocess.Popen[bytes], bytes]:
    """A process of ours beside the program, and what it says first; that should be `READY`.

    It hears of the program by its input, first of its task: other users see what is typed.
    """
    try:
        keeper = start_beside(code, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        raise CollectError(
            f"the process beside the program cannot be started ({reason_of(error)})",
            "check sys.executable",
        ) from None
    reply = b""
    # One that has ended already says why by itself.
    with suppress(BrokenPipeError):
        if keeper.stdin is not None and keeper.stdout is not None:
            keeper.stdin.write(f"{task}\n".encode())
            keeper.stdin.flush()
            if select.select([keeper.stdout], [], [], _BEGINS_S)[0]:
                reply = keeper.stdout.readline()
    if reply != READY:
        if not reply:
            # It may hang.
            keeper.kill()
        keeper.communicate()
    return keeper, reply


def told_by_program() -> str:
    """The first line of our input; what follows stays there, to be waited for."""
    line = b""
    while not line.endswith(b"\n") and (part := os.read(sys.stdin.fileno(), 1)):
        line += part
    return line.decode().strip()


class BlockRecording:
    """A recording of the block it is entered for; `step()` ends a cycle."""

    def __init__(
        self,
        place: RecordingFolder,
        plan: RecordPlan,
        task: Mapping[str, Any] | None,
        *,
        is_outer: bool = False,
    ) -> None:
        """`task` is what a keeper is told when it starts; only the first worker has one."""
        self._place = place
        self._plan = plan
        self._task = task
        self._is_outer = is_outer
        self._pid = os.getpid()
        self._engine: CycleEngine | None = None
        self._keeper: subprocess.Popen[bytes] | None = None

    @property
    def path(self) -> Path:
        """The folder of the recording."""
        return self._place.folder

    def step(self) -> None:
        """End a cycle."""
        if self._engine is not None:
            self._engine.boundary(BY_HAND, "", begins=False)

    def __enter__(self) -> Self:
        if self._task is not None:
            self._place.prepare()
        elif not self._is_outer:
            self._await_recorder()
        try:
            self._begin()
        except BaseException:
            # The block is not entered.
            if self._keeper is not None:
                self._keeper.kill()
                self._keeper.communicate()
            if self._task is not None:
                self._place.discard()
            raise
        return self

    def _await_recorder(self) -> None:
        """Wait for the first worker; what a recorder that was killed has left is not joined."""
        place, deadline = self._place, time.monotonic() + _FIRST_WORKER_S
        # In this order: a recorder removes what is left before it says who it is.
        while place.recorder() is None or not (place.control / PLAN_FILE).exists():
            if time.monotonic() > deadline:
                raise CollectError(
                    f"{place.folder}: the first process does not record yet",
                    "enter timesink.record in every process, or only in the first",
                )
            time.sleep(0.05)

    def _begin(self) -> None:
        control = self._place.control
        if self._task is not None:
            (control / KEEPER_FILE).write_text(json.dumps(self._task))
            self._start_keeper()
            write_plan(self._plan, control)
        _with_torch(control, self._let_in)
        if self._engine is not None and not (self._engine.plan.whole or self._engine.plan.marker):
            self._engine.begin_by_hand()

    def _let_in(self) -> None:
        if not self._is_outer or current_engine() is None:
            begin(self._place.control)
        self._engine = current_engine()

    def _start_keeper(self) -> None:
        """The process beside the program; it samples from then on."""
        self._keeper, reply = start_keeper(_KEEPER, str(self._place.control))
        if reply != READY:
            raise CollectError(
                f"{self.path}: the process beside the program has failed", "see its message above"
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if os.getpid() != self._pid:
            # A fork that leaves the block as well: it is not its recording.
            return
        # A recording that the command line has begun goes on after the block.
        if self._engine is not None and (self._engine.is_by_hand or not self._is_outer):
            self._engine.end(_why_ended(kind))
        if self._keeper is not None and not _finish(self._keeper, _FINISHES_S):
            self._place.release()
            # What the program has computed meanwhile is worth more than an exception.
            warnings.warn(f"{self.path}: the recording could not be finished", stacklevel=2)


# The recorder's side: a process of its own, which samples counters without a share of the program's
# time, and finishes the recording when the program says so, or is gone.

_TICK_S = 0.1
_WRITE_S = 60.0
"""Other workers get so long to write what they recorded."""
_COME_S = 5.0
"""Those that have not begun by then, after the first has ended, take no part."""


def keep() -> None:
    """Keep the recording whose control folder we are told, until the program ends it."""
    try:
        _keep(Path(told_by_program()))
    except TimesinkError as error:
        sys.exit(f"timesink: {error}")


def _keep(control: Path) -> None:
    task = json.loads((control / KEEPER_FILE).read_text())
    place = RecordingFolder(control.parent)
    started_us = time.time_ns() // 1000
    counters, interval_ms = wanted_counters(task["counters"]), task["interval_ms"]
    watch = Watch(control, place.counters, task["pid"], wanted=counters, interval_ms=interval_ms)
    # The program waits for this: what it does next is to be sampled.
    os.write(sys.stdout.fileno(), READY)
    # Until the program wants the recording, or is no more: processes it has left behind may hold
    # our input open.
    while not select.select([sys.stdin], [], [], _TICK_S)[0] and os.getppid() == task["pid"]:
        watch.look()
    _wait_for_others(control, task["workers"])
    program = ProgramRun(
        task["timesink"],
        tuple(task["command"]),
        read_plan(control),
        started_us,
        time.time_ns() // 1000,
        None,
    )
    conclude(program, watch.watched(), place)


def _wait_for_others(control: Path, workers: int) -> None:
    ended_at = time.monotonic()
    while (waited_s := time.monotonic() - ended_at) < _WRITE_S:
        processes = [process for process in read_notes(control) if process.last("torch")]
        # Without torch there is nothing to wait for.
        is_everyone_here = len(processes) >= workers or not processes or waited_s >= _COME_S
        if is_everyone_here and all(
            process.last("left") or process.last("failed") or not is_alive(process.pid)
            for process in processes
        ):
            return
        time.sleep(_TICK_S)


# A program that has itself watched, by a process beside it.

_WATCHER = "from timesink.watcher.start import keep; keep()"
_WATCH_FINISHES_S = 120.0


def watch(path: str | Path = DEFAULT_PLACE, *, force: bool = False, **options: Any) -> BlockWatch:
    """Watch the cycles of a block of this program, as `timesink watch` does of a whole program.

    `options` are those of the command by their names, as `timesink watch run --help` lists them:
    learn, learn_seconds, marker, preset, no_record=True, on_alarm="notify perf", metrics=9400 ...
    Where a watcher was started outside already, or without torch, the block just runs.

    >>> import tempfile, timesink
    >>> folder = tempfile.mkdtemp()
    >>> with timesink.watch(folder, learn=200, counters="none") as watched:
    ...     pass
    >>> (watched.path / "status.json").exists()
    True
    """
    if not isinstance(path, str | Path):
        raise UsageError(f"watch: {path!r} is not a path", "name a folder")
    folder = Path(path).absolute()
    version = str(sys.modules[__name__.partition(".")[0]].__version__)
    all_options = {"counters": "all", **options}
    plan = plan_of(folder, all_options, command=tuple(sys.argv), timesink=version)
    if _outer_control() is None:
        plan = plan_in_place(plan, force=force)
    return BlockWatch(plan)


class BlockWatch:
    """A watch of the block it is entered for."""

    def __init__(self, plan: WatchPlan) -> None:
        self._plan = plan
        self._pid = os.getpid()
        self._keeper: subprocess.Popen[bytes] | None = None
        self._is_outer = _outer_control() is not None

    @property
    def path(self) -> Path:
        """The folder of the watch."""
        return self._plan.folder

    def __enter__(self) -> Self:
        if self._is_outer:
            return self
        self._start()
        control = RecordingFolder(self._plan.folder).control
        _with_torch(control, partial(begin, control))
        return self

    def _start(self) -> None:
        task = base64.b64encode(pickle.dumps((self._plan, self._pid))).decode()
        self._keeper, reply = start_keeper(_WATCHER, task)
        if reply != READY:
            # It says why, as an error and its hint.
            try:
                message, hint = json.loads(reply)
            except ValueError:
                message = f"{self.path}: the process beside the program has failed"
                hint = "see its message above"
            raise CollectError(message, hint)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._keeper is None or os.getpid() != self._pid:
            return
        engine = current_watch_engine()
        if engine is not None:
            engine.end(_why_ended(kind))
        if not _finish(self._keeper, _WATCH_FINISHES_S):
            warnings.warn(f"{self.path}: the watch could not be finished", stacklevel=2)
