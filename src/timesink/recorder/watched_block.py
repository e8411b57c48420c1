"""`timesink.watch`: a program that has itself watched, by a process beside it."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from timesink.errors import CollectError, UsageError
from timesink.recorder.agent import begin, watching
from timesink.recorder.agent.endings import BLOCK_ENDED
from timesink.recorder.folder import CONTROL_VARIABLE, Notebook, RecordingFolder
from timesink.recorder.in_program import READY, start_keeper
from timesink.recorder.watch_plan import DEFAULT_PLACE, WatchPlan, plan_in_place, plan_of

if TYPE_CHECKING:
    from typing_extensions import Self

_KEEPER = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from timesink.watcher.keeper import keep; keep()"
)
_FINISHES_S = 120.0


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
    given = {"counters": "all", **options}
    plan = plan_of(folder, given, command=tuple(sys.argv), timesink=version)
    if not _is_watched_outside():
        plan = plan_in_place(plan, force=force)
    return BlockWatch(plan)


def _is_watched_outside() -> bool:
    outer = os.environ.get(CONTROL_VARIABLE, "")
    return bool(outer) and Path(outer).is_dir()


class BlockWatch:
    """A watch of the block it is entered for."""

    def __init__(self, plan: WatchPlan) -> None:
        self._plan = plan
        self._pid = os.getpid()
        self._keeper: subprocess.Popen[bytes] | None = None
        self._is_outer = _is_watched_outside()

    @property
    def path(self) -> Path:
        """The folder of the watch."""
        return self._plan.folder

    def __enter__(self) -> Self:
        if self._is_outer:
            return self
        self._start()
        control = RecordingFolder(self._plan.folder).control
        try:
            # Without torch there is no agent.
            if importlib.util.find_spec("torch") is not None:
                importlib.import_module("torch")
                begin(control)
        except Exception as error:  # noqa: BLE001 - whatever torch is, the program goes on
            Notebook(control).add("failed", why=f"{type(error).__name__}: {error}")
        return self

    def _start(self) -> None:
        told = asdict(self._plan) | {"counters": sorted(self._plan.counters)}
        told |= {"folder": str(self._plan.folder), "pid": self._pid}
        if self._plan.model is not None:
            told["model"] = str(self._plan.model)
        self._keeper, said = start_keeper(_KEEPER, json.dumps(told))
        if said != READY:
            # It says why, as an error and its hint.
            try:
                message, hint = json.loads(said)
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
        engine = watching()
        if engine is not None:
            engine.end(BLOCK_ENDED if kind is None else f"{BLOCK_ENDED} with {kind.__name__}")
        with suppress(subprocess.TimeoutExpired):
            self._keeper.communicate(b"end\n", timeout=_FINISHES_S)
        if self._keeper.returncode != 0:
            warnings.warn(f"{self.path}: the watch could not be finished", stacklevel=2)
