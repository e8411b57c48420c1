"""What marks cycles in a watched program: steps, calls and ranges, and functions known by name."""

from __future__ import annotations

import csv
import functools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from timesink.recorder.agent.engine import Arguments
from timesink.recorder.agent.functions import MarkedCalls, watch_functions
from timesink.recorder.agent.hooks import OptimizerSteps, watch_annotations, watch_steps
from timesink.recorder.agent.profiling import compiling_test
from timesink.recorder.agent.watched import (
    CALL,
    FUNCTION,
    LOOP,
    RANGE,
    ArgumentReader,
    WatchedCycle,
    WatchEngine,
)
from timesink.recorder.agent.workloads import (
    EXTRACTORS,
    OUTCOMES,
    BatchShapes,
    batch,
    own_extractor,
)

# Programs whose cycles are known by the name of a function: servers, and loops of libraries.
#
# Which function that is, when a cycle of it is over, and what tells its workload are rows of
# presets.csv.  A function is replaced in its class when its module is loaded; others cost nothing.


@dataclass(frozen=True)
class Preset:
    """One function that makes cycles; several of one name are versions of a program."""

    name: str
    function: str
    """As `package.module:Class.method`."""
    goes_on: tuple[tuple[str, str], ...]
    """A call whose outcome is of this type, * for any, is a cycle until that function returns."""
    workload: str
    """The function whose arguments tell the workload; empty: the same."""
    span: str
    extractor: str
    """One of workloads.EXTRACTORS."""
    default: bool
    """Whether it counts where nobody said what makes a cycle."""


@functools.cache
def presets() -> tuple[Preset, ...]:
    """All there are, in order.

    >>> sorted({preset.name for preset in presets()})[:3]
    ['continuous-batching', 'generate', 'lightning']
    """
    with (Path(__file__).parent / "presets.csv").open(newline="") as file:
        return tuple(
            Preset(
                row["name"],
                row["function"],
                tuple(tuple(pair.split("=")) for pair in row["goes_on"].split()),
                row["workload"],
                row["span"],
                row["extractor"],
                row["default"] == "yes",
            )
            for row in csv.DictReader(file)
        )


def preset_names() -> tuple[str, ...]:
    """What can be asked for by name."""
    return tuple(dict.fromkeys(preset.name for preset in presets()))


def wanted_presets(name: str) -> tuple[Preset, ...]:
    """Those of a name; without one those that count by default."""
    return tuple(
        preset for preset in presets() if (preset.name == name if name else preset.default)
    )


# Functions by their names, replaced as soon as they are there.

Replace = Callable[[Any], Any]
"""From a function to what stands in for it."""


class NamedFunctions:
    """Replaces functions of modules, those loaded already and those that will be."""

    def __init__(
        self, wanted: Iterable[tuple[str, Replace]], missing: Callable[[str], None]
    ) -> None:
        """`wanted` are names as `package.module:Class.method`."""
        self._wanted: dict[str, list[tuple[str, Replace]]] = {}
        for name, replace in wanted:
            module, _, path = name.partition(":")
            self._wanted.setdefault(module, []).append((path, replace))
        self._missing = missing
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self._loading: set[str] = set()

    def begin(self) -> None:
        for name in list(self._wanted):
            module = sys.modules.get(name)
            if module is None:
                continue
            if _is_loading(module):
                # The agent came with torch, which this very module asked for.
                self._loading.add(name)
            else:
                self._replace_in(name)
        sys.meta_path.insert(0, self)

    def leave(self) -> None:
        """Put everything back, where nobody else has replaced it since."""
        with suppress(ValueError):
            sys.meta_path.remove(self)
        self._wanted.clear()
        for owner, name, before, mine in self._replaced:
            if vars(owner).get(name) is mine:
                setattr(owner, name, before)
        self._replaced.clear()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Asked for every module that is imported: finds those wanted as they would be found."""
        # Other threads import as well.
        for loaded in tuple(self._loading):
            if _is_loading(sys.modules.get(loaded)):
                continue
            self._loading.discard(loaded)
            self._replace_in(loaded)
        if name not in self._wanted:
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find else None
            if spec is not None:
                self._hear(spec.loader, name)
                return spec
        return None

    def _hear(self, loader: Any, name: str) -> None:
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: Any) -> None:
            execute(module)
            self._replace_in(name)

        with suppress(Exception):
            loader.exec_module = exec_module

    def _replace_in(self, module: str) -> None:
        for path, replace in self._wanted.pop(module, []):
            try:
                owner: Any = sys.modules[module]
                *outer, name = path.split(".")
                for part in outer:
                    owner = getattr(owner, part)
                before = vars(owner)[name]
                mine = replace(before)
                setattr(owner, name, mine)
                self._replaced.append((owner, name, before, mine))
            except Exception as error:  # noqa: BLE001, PERF203 - another version of the program
                self._missing(f"{module}:{path} is not there ({type(error).__name__}: {error})")


def _is_loading(module: Any) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


# What marks cycles in a watched program.


def watch_cycles(engine: WatchEngine, torch: Any) -> None:
    """Begin to watch, as planned."""
    plan, is_compiling = engine.plan, compiling_test(torch)
    if plan.marker:
        ended = functools.partial(engine.end_open, RANGE, plan.marker)
        watch_annotations(torch, engine, plan.marker, ended if engine.span == CALL else _do_nothing)
        watch_functions(torch, engine, plan.marker, WatchedCalls(torch, engine, plan.marker))
        return
    if not plan.preset:
        watch_steps(torch, engine, WatchedSteps(engine, torch).stepped)
    wanted = [
        replacement
        for preset in wanted_presets(plan.preset)
        for replacement in PresetCalls(engine, preset, is_compiling).functions()
    ]
    # Which versions of a program there are is nobody's business, where none was asked for.
    named = NamedFunctions(wanted, engine.remark if plan.preset else lambda _: None)
    named.begin()
    engine.when_over(named.leave)


def _do_nothing() -> None:
    """Nobody asked."""


class WatchedSteps:
    """Steps of optimizers, those of each thread by themselves."""

    def __init__(self, engine: WatchEngine, torch: Any) -> None:
        self._engine = engine
        self._here = threading.local()
        extract = own_extractor(engine.plan.extractor) if engine.plan.extractor else batch
        self._shapes = engine.shapes = BatchShapes(
            torch, compiling_test(torch), extract, engine.unknown_workload
        )

    def stepped(self, optimizer: Any) -> None:
        """An optimizer has made a step."""
        if self._engine.is_over:
            return
        try:
            steps = self._here.steps
        except AttributeError:
            steps = self._here.steps = OptimizerSteps(self._engine)
        if self._shapes.is_looking:
            with self._engine.program_goes_on():
                self._shapes.look(optimizer)
        steps.stepped(optimizer)


class WatchedCalls(MarkedCalls):
    """Calls of the function that marks cycles, with their arguments and ends where those count."""

    def __init__(self, torch: Any, engine: WatchEngine, name: str) -> None:
        super().__init__(torch, engine, name)
        self._watch = engine
        self._tasks: dict[int, WatchedCycle] = {}
        self.is_told_all = engine.span == CALL or bool(engine.plan.extractor)
        self._guard = engine.program_goes_on()
        self._is_told_arguments = bool(engine.plan.extractor)

    def call(self, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> _Call:
        """One call, from its beginning to its end."""
        return _Call(self, (args, kwargs or {}))

    def entered(self, *, is_visible: bool, read_arguments: ArgumentReader | None = None) -> None:
        """The function was called; of a call seen too late nobody knows how long it takes."""
        ranges, engine = self._ranges(), self._watch
        ranges.append(None)
        if len(ranges) > 1 or not (is_visible or engine.span == LOOP):
            return
        with self._guard:
            # A process that only loads data for another has no cycles.
            if self._torch.utils.data.get_worker_info() is None:
                wanted = read_arguments if self._is_told_arguments else None
                engine.boundary(FUNCTION, self._name, begins=True, read_arguments=wanted)
            if is_visible and engine.is_recording:
                ranges[-1] = self._torch.profiler.record_function(self._name)
                ranges[-1].__enter__()

    def _end(self) -> None:
        if self._watch.span == CALL:
            self._watch.end_open(FUNCTION, self._name)

    def task_entered(self, task: int, read_arguments: ArgumentReader) -> None:
        """A coroutine was begun: others of its thread may run before it ends."""
        engine = self._watch
        with engine.program_goes_on():
            if engine.span == LOOP:
                engine.boundary(FUNCTION, self._name, begins=True, read_arguments=read_arguments)
            elif engine.hears(FUNCTION, self._name):
                self._tasks[task] = engine.new_cycle(read_arguments)

    def task_left(self, task: int) -> None:
        """A coroutine has come to its end."""
        cycle = self._tasks.pop(task, None)
        if cycle is not None:
            with self._watch.program_goes_on():
                self._watch.ended(cycle, is_last=not self._tasks)


class _Call:
    """One call of a marked function."""

    __slots__ = ("_calls", "_told")

    def __init__(self, calls: WatchedCalls, arguments: Arguments) -> None:
        self._calls, self._told = calls, arguments

    def __enter__(self) -> None:
        self._calls.entered(is_visible=True, read_arguments=lambda: self._told)

    def __exit__(self, *_reason: object) -> None:
        self._calls.left()


_MAX_WAITING = 8
_NESTED = WatchedCycle(0, None, False)
"""Stands for a call within a call, which is no cycle."""


class PresetCalls:
    """Cycles of a known program: from a call of a function to its end, or that of another one.

    Programs that give the device the next batch before they take the last one have two cycles
    under way: the time of each begins where the one before it ends.
    """

    def __init__(
        self, engine: WatchEngine, preset: Preset, is_compiling: Callable[[], bool]
    ) -> None:
        self._engine, self._preset, self._is_compiling = engine, preset, is_compiling
        self._extract = EXTRACTORS[preset.extractor]
        self._span = engine.plan.span or preset.span
        self._waiting: list[deque[tuple[int, WatchedCycle]]] = [
            deque(maxlen=_MAX_WAITING) for _ in preset.goes_on
        ]
        self._last_end_ns = 0
        self._key = (FUNCTION, preset.name)
        self._add = None if engine.plan.extractor else OUTCOMES.get(preset.extractor)

    def functions(self) -> Iterator[tuple[str, Replace]]:
        """Those to replace, by name."""
        preset = self._preset
        yield preset.function, lambda before: self._wrap(before, self._begin, self._end)
        if preset.workload:
            yield preset.workload, lambda before: self._wrap(before, self._tell_workload, None)
        for at, (_, name) in enumerate(preset.goes_on if self._span == CALL else ()):
            yield name, functools.partial(self._told_on, at)

    def _told_on(self, at: int, before: Any) -> Any:
        def end(_cycle: object, args: tuple[Any, ...], outcome: Any, *, is_failed: bool) -> None:
            cycle = self._taken(at, args)
            if cycle is not None and not is_failed:
                self._pass_on(cycle, at + 1, outcome)

        return self._wrap(before, lambda _args, _kwargs: None, end)

    def _wrap(
        self, function: Any, begin: Callable[..., Any], end: Callable[..., None] | None
    ) -> Any:
        engine, is_compiling, guard = (
            self._engine,
            self._is_compiling,
            self._engine.program_goes_on(),
        )

        @functools.wraps(function)
        def preset_stand_in(*args: Any, **kwargs: Any) -> Any:
            # A compiler that follows this call must find nothing but the function.
            if engine.is_over or is_compiling():
                return function(*args, **kwargs)
            cycle = None
            with guard:
                cycle = begin(args, kwargs)
            if end is None:
                return function(*args, **kwargs)
            try:
                outcome = function(*args, **kwargs)
            except BaseException:
                with guard:
                    end(cycle, args, None, is_failed=True)
                raise
            with guard:
                end(cycle, args, outcome, is_failed=False)
            return outcome

        return preset_stand_in

    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> WatchedCycle | None:
        engine, name = self._engine, self._preset.name
        if engine.source != self._key and not engine.hears(
            FUNCTION, name, source=name, span=self._span
        ):
            return None
        stream = engine.stream()
        stream.depth += 1
        if stream.depth > 1:
            return _NESTED
        extract = None if self._preset.workload else self._extract
        read_arguments = None if self._preset.workload else lambda: (args, kwargs)
        try:
            if self._span == LOOP:
                engine.next_cycle(read_arguments, extract)
                return _NESTED
            stream.open = engine.new_cycle(read_arguments, extract, stream)
        except BaseException:
            # Nobody hears of the end of this call: later ones are not within it.
            stream.depth -= 1
            raise
        return stream.open

    def _tell_workload(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        cycle = self._engine.stream().open
        if cycle is not None and not cycle.values:
            cycle.values = self._engine.workload(lambda: (args, kwargs), self._extract) or {}

    def _end(
        self, cycle: WatchedCycle | None, _args: tuple[Any, ...], outcome: Any, *, is_failed: bool
    ) -> None:
        if cycle is None:
            return
        stream = self._engine.stream()
        stream.depth -= 1
        if cycle is _NESTED:
            return
        stream.open = None
        if not is_failed:
            self._pass_on(cycle, 0, outcome)

    def _pass_on(self, cycle: WatchedCycle, at: int, outcome: Any) -> None:
        """The cycle is over, unless another function is to end it."""
        kind = type(outcome).__name__
        for later, (wanted, _) in enumerate(self._preset.goes_on[at:], at):
            if wanted == "*" or (wanted == kind and cycle.values is not None):
                self._waiting[later].append((id(outcome), cycle))
                return
        if self._add is not None and cycle.values is not None:
            self._add(cycle.values, outcome)
        is_last = not any(self._waiting)
        self._last_end_ns = self._engine.ended(
            cycle, since_ns=self._last_end_ns if self._waiting else 0, is_last=is_last
        )

    def _taken(self, at: int, args: tuple[Any, ...]) -> WatchedCycle | None:
        """The cycle that a function ends: that of its object, or the first that waits for it."""
        waiting, kind = self._waiting[at], self._preset.goes_on[at][0]
        if not waiting:
            return None
        if kind in ("*", "NoneType"):
            return waiting.popleft()[1]
        object_id = id(args[0]) if args else 0
        entry = next((candidate for candidate in waiting if candidate[0] == object_id), None)
        if entry is not None:
            waiting.remove(entry)
        return entry[1] if entry is not None else None
