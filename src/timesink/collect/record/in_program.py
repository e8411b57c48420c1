"""`timesink.record`: a program that records a part of itself."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from timesink.collect.counters import wanted
from timesink.collect.record.agent import begin, running
from timesink.collect.record.agent.endings import BLOCK_ENDED
from timesink.collect.record.agent.engine import BY_HAND, Engine
from timesink.collect.record.beside import has_finished, start_keeper
from timesink.collect.record.keeper import Task, write_task
from timesink.collect.record.notes import Notebook
from timesink.collect.record.places import Place
from timesink.collect.record.plan import (
    CONTROL_VARIABLE,
    DEFAULT_CYCLES,
    DEFAULT_INTERVAL_MS,
    DEFAULT_SKIP,
    EXTRAS,
    LONGEST_INTERVAL_MS,
    PLAN_FILE,
    SHORTEST_INTERVAL_MS,
    Plan,
    write_plan,
)
from timesink.errors import CollectError, UsageError

if TYPE_CHECKING:
    from typing_extensions import Self

_FIRST_WORKER_S = 60.0
"""The first worker of a machine gets so long to begin the recording the others join."""


def record(
    path: str | Path = "timesink-run",
    *,
    cycles: int = DEFAULT_CYCLES,
    skip: int = DEFAULT_SKIP,
    marker: str = "",
    whole: bool = False,
    extras: Iterable[str] = (),
    counters: str = "all",
    interval_ms: float = DEFAULT_INTERVAL_MS,
    force: bool = False,
) -> Recording:
    """Record cycles of a block of this program, as `timesink record` does of a whole program.

    `step()` ends a cycle; with `marker` a function or an annotation begins one; `whole` records
    all of the block.  The folder is complete when the block is left, however that happens.

    >>> import tempfile, timesink
    >>> folder = tempfile.mkdtemp()
    >>> with timesink.record(folder, cycles=2, skip=1, counters="none") as recording:
    ...     for _ in range(4):
    ...         recording.step()
    >>> (recording.path / "run.json").exists()
    True
    """
    plan = Plan(
        cycles=cycles,
        skip=skip,
        marker=marker,
        whole=whole,
        extras=tuple(extras),
        by_hand=not (marker or whole),
    )
    _check(plan, interval_ms)
    wanted(counters)
    outer = os.environ.get(CONTROL_VARIABLE, "")
    if outer and Path(outer).is_dir():
        return Recording(Place(Path(outer).parent), plan, None, is_outer=True)
    place = Place(Path(path).absolute())
    if _local("LOCAL_RANK"):
        return Recording(place, plan, None)
    place.check(force=force)
    task = Task(
        pid=os.getpid(),
        command=tuple(sys.argv),
        counters=counters,
        interval_ms=interval_ms,
        timesink=_version(),
        workers=_local("LOCAL_WORLD_SIZE") or 1,
    )
    return Recording(place, plan, task)


def _version() -> str:
    # The package itself knows this module: it is not imported from here.
    return str(sys.modules[__name__.partition(".")[0]].__version__)


def _check(plan: Plan, interval_ms: float) -> None:
    unknown = [name for name in plan.extras if name not in EXTRAS]
    if unknown:
        raise UsageError(f"extras: {unknown[0]!r} is not known", f"known are {', '.join(EXTRAS)}")
    if plan.cycles < 1 or plan.skip < 0:
        raise UsageError("cycles is 1 or more, and skip 0 or more", "change cycles or skip")
    if plan.whole and plan.marker:
        raise UsageError("whole and marker cannot go together", "leave out one of them")
    if not SHORTEST_INTERVAL_MS <= interval_ms <= LONGEST_INTERVAL_MS:
        bounds = f"from {SHORTEST_INTERVAL_MS:g} to {LONGEST_INTERVAL_MS:g} ms"
        raise UsageError(f"interval_ms is {bounds}, not {interval_ms:g}", "change interval_ms")


def _local(variable: str) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdigit() else 0


class Recording:
    """A recording of the block it is entered for; `step()` ends a cycle."""

    def __init__(
        self, place: Place, plan: Plan, task: Task | None, *, is_outer: bool = False
    ) -> None:
        self._place = place
        self._plan = plan
        self._task = task
        self._is_outer = is_outer
        self._pid = os.getpid()
        self._engine: Engine | None = None
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
            write_task(self._task, self._place.control)
            self._keeper = start_keeper(self._place)
            write_plan(self._plan, self._place.control)
        self._engine = _joined(self._place.control, is_outer=self._is_outer)
        if self._engine is not None and not (self._engine.plan.whole or self._engine.plan.marker):
            self._engine.begin_by_hand()
        return self

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
            why = BLOCK_ENDED if kind is None else f"{BLOCK_ENDED} with {kind.__name__}"
            self._engine.end(why)
        if self._keeper is not None and not has_finished(self._keeper):
            # What the program has computed meanwhile is worth more than an exception.
            warnings.warn(f"{self.path}: the recording could not be finished", stacklevel=2)


def _joined(control: Path, *, is_outer: bool) -> Engine | None:
    """The engine of this process; None without torch."""
    _await_plan(control)
    if importlib.util.find_spec("torch") is None:
        return None
    importlib.import_module("torch")
    if is_outer and running() is not None:
        return running()
    try:
        begin(control)
    except Exception as error:  # noqa: BLE001 - whatever torch is, the program goes on
        Notebook(control).add("failed", why=f"{type(error).__name__}: {error}")
        return None
    return running()


def _await_plan(control: Path) -> None:
    deadline = time.monotonic() + _FIRST_WORKER_S
    while not (control / PLAN_FILE).exists():
        if time.monotonic() > deadline:
            raise CollectError(
                f"{control.parent}: the first worker has not begun to record",
                "enter timesink.record in every worker, or in none but the first",
            )
        time.sleep(0.05)
