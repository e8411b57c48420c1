"""`timesink.record`: a program that records a part of itself."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from timesink.collect.counters import wanted
from timesink.collect.record.agent import begin, running
from timesink.collect.record.agent.endings import BLOCK_ENDED
from timesink.collect.record.agent.engine import BY_HAND, Engine
from timesink.collect.record.keeper import Task, write_task
from timesink.collect.record.places import Place
from timesink.collect.record.plan import (
    CONTROL_VARIABLE,
    DEFAULT_CYCLES,
    DEFAULT_INTERVAL_MS,
    DEFAULT_SKIP,
    EXTRAS,
    PLAN_FILE,
    Plan,
    write_plan,
)
from timesink.errors import CollectError, UsageError

if TYPE_CHECKING:
    from typing_extensions import Self

_PACKAGE = Path(__file__).resolve().parents[2]
_KEEPER = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from timesink.collect.record.keeper import main; main()"
)
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
    _check(plan)
    wanted(counters)
    outer = os.environ.get(CONTROL_VARIABLE, "")
    if outer and Path(outer).is_dir():
        return Recording(Place(Path(outer).parent), plan, None)
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


def _check(plan: Plan) -> None:
    unknown = [name for name in plan.extras if name not in EXTRAS]
    if unknown:
        raise UsageError(f"extras: {unknown[0]!r} is not known", f"known are {', '.join(EXTRAS)}")
    if plan.cycles < 1 or plan.skip < 0:
        raise UsageError("cycles is 1 or more, and skip 0 or more", "change cycles or skip")
    if plan.whole and plan.marker:
        raise UsageError("whole and marker cannot go together", "leave out one of them")


def _local(variable: str) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdigit() else 0


class Recording:
    """A recording of the block it is entered for; `step()` ends a cycle."""

    def __init__(self, place: Place, plan: Plan, task: Task | None) -> None:
        self._place = place
        self._plan = plan
        self._task = task
        self._is_outer = CONTROL_VARIABLE in os.environ
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
        control = self._place.control
        if self._task is not None:
            self._place.prepare()
            write_task(self._task, control)
            self._keeper = _start_keeper(control)
            write_plan(self._plan, control)
        self._engine = _joined(control)
        if self._keeper is not None and self._keeper.stdout is not None:
            self._keeper.stdout.readline()
        if self._engine is not None and not (self._engine.plan.whole or self._engine.plan.marker):
            self._engine.begin_by_hand()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        # A recording that the command line has begun goes on after the block.
        if self._engine is not None and (self._engine.is_by_hand or not self._is_outer):
            why = BLOCK_ENDED if kind is None else f"{BLOCK_ENDED} with {kind.__name__}"
            self._engine.end(why)
        if self._keeper is not None:
            self._keeper.communicate()
            if self._keeper.returncode and kind is None:
                raise CollectError(
                    f"{self.path}: the recording could not be finished",
                    "its last words say why; check the disk",
                )


def _joined(control: Path) -> Engine | None:
    """The engine of this process; None without torch."""
    if CONTROL_VARIABLE in os.environ and running() is not None:
        return running()
    deadline = time.monotonic() + _FIRST_WORKER_S
    while not (control / PLAN_FILE).exists():
        if time.monotonic() > deadline:
            raise CollectError(
                f"{control.parent}: the first worker has not begun to record",
                "enter timesink.record in every worker, or in none but the first",
            )
        time.sleep(0.05)
    if importlib.util.find_spec("torch") is None:
        return None
    importlib.import_module("torch")
    begin(control)
    return running()


def _start_keeper(control: Path) -> subprocess.Popen[bytes]:
    environment: Mapping[str, Any] = {
        name: value for name, value in os.environ.items() if name != CONTROL_VARIABLE
    }
    try:
        return subprocess.Popen(  # noqa: S603 - our own Python
            [sys.executable, "-c", _KEEPER, str(_PACKAGE.parent), str(control)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # Ctrl-C in the terminal is for the program.
            start_new_session=True,
        )
    except OSError as error:
        raise CollectError(
            f"the process beside the program cannot be started ({error.strerror or error})",
            "check sys.executable",
        ) from None
