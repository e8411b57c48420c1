"""Calls of one function as the beginning of a cycle, in a program nobody edited."""

from __future__ import annotations

import fnmatch
import gc
import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from timesink.recorder.agent.engine import Arguments, MarkedCycles
from timesink.recorder.agent.profiling import compiling_test

# What happens at every call of the function that marks cycles.

_BY = "function"


class MarkedCalls:
    """Calls that begin cycles; they are shown in the timeline under the name asked for."""

    is_told_all = False
    """Whether it is told of arguments, and of the ends of coroutines."""

    def __init__(self, torch: Any, engine: MarkedCycles, name: str) -> None:
        self._torch = torch
        self._engine = engine
        self._name = name
        self._open = threading.local()

    def entered(
        self,
        *,
        is_visible: bool,
        read_arguments: Callable[[], Arguments] | None = None,  # noqa: ARG002
    ) -> None:
        """The function was called; one that is called from itself begins nothing."""
        ranges = self._ranges()
        is_outermost = not ranges
        ranges.append(None)
        with self._engine.program_goes_on():
            # A process that only loads data for another has no cycles.
            if is_outermost and self._torch.utils.data.get_worker_info() is None:
                self._engine.boundary(_BY, self._name, begins=True)
            if is_outermost and is_visible and self._engine.is_recording:
                ranges[-1] = self._torch.profiler.record_function(self._name)
                ranges[-1].__enter__()

    def left(self) -> None:
        """The function returned, or an exception left it."""
        ranges = self._ranges()
        last = ranges.pop() if ranges else None
        if last is not None:
            with self._engine.program_goes_on():
                last.__exit__(None, None, None)
        if not ranges:
            self._end()

    def _end(self) -> None:
        """The outermost call is over."""

    def task_entered(self, task: int, read_arguments: Callable[[], Arguments]) -> None:
        """A coroutine was begun; only told where ends of coroutines are asked for."""

    def task_left(self, task: int) -> None:
        """A coroutine has come to its end."""

    def forget(self) -> None:
        """Of the calls this thread is in, nothing more is told."""
        while self._ranges():
            self.left()

    @contextmanager
    def _call(self) -> Iterator[None]:
        self.entered(is_visible=True)
        try:
            yield
        finally:
            self.left()

    def call(self) -> AbstractContextManager[None]:
        """One call, from its beginning to its end."""
        return self._call()

    def _ranges(self) -> list[Any]:
        """Ranges of the calls this thread is in, the outermost first."""
        ranges: list[Any]
        try:
            ranges = self._open.ranges
        except AttributeError:
            ranges = self._open.ranges = []
        return ranges


# Whether a function is the one that was asked for by name.

_GLOB = frozenset("*?[")

PASSES_ON = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Set for functions that hand over and come back; a range would cross those of others."""


class FunctionName:
    """A function by its name: `step`, `Model.forward`, `package.module:function`, `*_step`."""

    def __init__(self, pattern: str) -> None:
        module, colon, name = pattern.rpartition(":")
        self._module = module if colon else ""
        self._name = name
        self._last = name.rpartition(".")[2]
        self._is_glob = not _GLOB.isdisjoint(pattern)

    def may_be(self, name: str) -> bool:
        """Whether a function of this short name may be meant; asked of every call."""
        return fnmatch.fnmatchcase(name, self._last) if self._is_glob else name == self._last

    def is_it(self, module: str, qualified_name: str) -> bool:
        """Whether the function is meant: functions within functions go by their own name."""
        modules = _names_of(module)
        if self._module and not any(
            fnmatch.fnmatchcase(module_name, self._module) for module_name in modules
        ):
            return False
        local_name = qualified_name.rpartition("<locals>.")[2]
        names = {
            local_name,
            local_name.rpartition(".")[2],
            qualified_name,
            *(f"{module_name}.{local_name}" for module_name in modules),
        }
        names |= set(_inherited_as(module, qualified_name))
        if self._is_glob:
            return any(fnmatch.fnmatchcase(name, self._name) for name in names)
        return self._name in names


def _inherited_as(module: str, qualified_name: str) -> Iterator[str]:
    """What a method is called by those who see it in a class that inherits it."""
    owner_name, _, method = qualified_name.rpartition(".")
    owner: Any = sys.modules.get(module)
    for part in owner_name.split("."):
        owner = getattr(owner, part, None)
    waiting: list[type] = [owner] if isinstance(owner, type) else []
    while waiting:
        below: list[type] = type.__subclasses__(waiting.pop())
        heirs = [heir for heir in below if method not in vars(heir)]
        yield from (f"{heir.__qualname__}.{method}" for heir in heirs)
        waiting += heirs


def _names_of(module: str) -> set[str]:
    """What a module is called: the one that was started goes by the name of its file, too."""
    main = sys.modules.get(module)
    if module != "__main__" or main is None:
        return {module}
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    return {module, spec.name if spec else Path(file or module).stem}


def functions_with(code: CodeType) -> list[FunctionType]:
    """The functions that run some code."""
    holders = gc.get_referrers(code)
    return [
        holder for holder in holders if isinstance(holder, FunctionType) and holder.__code__ is code
    ]


def arguments_of(frame: FrameType) -> Arguments:
    """What a function was called with, as its first line finds it."""
    code, variables = frame.f_code, frame.f_locals
    names, by_place = code.co_varnames, code.co_argcount
    by_name = by_place + code.co_kwonlyargcount
    args = tuple(variables[name] for name in names[:by_place] if name in variables)
    kwargs = {name: variables[name] for name in names[by_place:by_name] if name in variables}
    if code.co_flags & inspect.CO_VARARGS:
        args += tuple(variables.get(names[by_name], ()))
        by_name += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs.update(variables.get(names[by_name], {}))
    return args, kwargs


# Finding calls of a function from Python 3.12 on: all other code is asked about once.

_TOOL_IDS = (3, 4, 2)
"""Free for tools such as this one; the last is that of profilers."""


class MonitoredCalls:
    """Tells `calls` of every call of the first function that is called and wanted."""

    def __init__(self, engine: MarkedCycles, calls: MarkedCalls, wanted: FunctionName) -> None:
        self._engine, self._calls, self._wanted = engine, calls, wanted
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        free = (number for number in _TOOL_IDS if self._monitoring.get_tool(number) is None)
        self._tool = next(free, None)
        # Compiled code is another object with the place of the original.
        self._found: set[tuple[str, int]] = set()
        self._followed: dict[int, CodeType] = {}
        """Code whose returns are told, by identity: other code may be equal to it."""

    def begin(self) -> None:
        if self._tool is None:
            self._engine.remark("functions cannot be marked: other tools monitor this program")
            return
        self._monitoring.use_tool_id(self._tool, "timesink")
        self._engine.when_over(self.leave)
        for event, callback in self._callbacks():
            self._monitoring.register_callback(self._tool, event, callback)
        self._monitoring.set_events(self._tool, self._monitoring.events.PY_START)
        # What an earlier recording was not interested in may be what is wanted now.
        self._monitoring.restart_events()

    def _callbacks(self) -> list[tuple[int, Any]]:
        events = self._monitoring.events
        return [
            (events.PY_START, self._started),
            (events.PY_RETURN, lambda code, _offset, _value: self._left(code, sys._getframe(1))),  # noqa: SLF001
            (events.PY_UNWIND, self._unwound),
        ]

    def _started(self, code: CodeType, _offset: int) -> Any:
        # What is raised here is raised in the function of the program.
        with self._engine.program_goes_on():
            if not self._engine.is_over and self._is_wanted(code):
                is_visible = not code.co_flags & PASSES_ON
                if (is_visible or self._calls.is_told_all) and id(code) not in self._followed:
                    self._followed[id(code)] = code
                    returning = self._monitoring.events.PY_RETURN
                    self._monitoring.set_local_events(self._tool, code, returning)
                self._entered(sys._getframe(1), is_visible=is_visible)  # noqa: SLF001
                return None
        return self._monitoring.DISABLE

    def _entered(self, frame: FrameType, *, is_visible: bool) -> None:
        if is_visible:
            self._calls.entered(is_visible=True, read_arguments=lambda: arguments_of(frame))
        elif self._calls.is_told_all:
            self._calls.task_entered(id(frame), lambda: arguments_of(frame))
        else:
            self._calls.entered(is_visible=False)
            self._calls.left()

    def _left(self, code: CodeType, frame: FrameType) -> None:
        if code.co_flags & PASSES_ON:
            self._calls.task_left(id(frame))
        else:
            self._calls.left()

    def _is_wanted(self, code: CodeType) -> bool:
        place = (code.co_filename, code.co_firstlineno)
        if self._found:
            return place in self._found and self._wanted.may_be(code.co_name)
        if not self._wanted.may_be(code.co_name):
            return False
        name = code.co_qualname  # type: ignore[attr-defined, unused-ignore]
        modules = {function.__module__ for function in functions_with(code)} or {""}
        if not any(self._wanted.is_it(module or "", name) for module in modules):
            return False
        self._found.add(place)
        events = self._monitoring.events
        self._monitoring.set_events(self._tool, events.PY_START | events.PY_UNWIND)
        return True

    def _unwound(self, code: CodeType, _offset: int, _error: BaseException) -> None:
        if id(code) in self._followed:
            self._left(code, sys._getframe(1))  # noqa: SLF001

    def leave(self) -> None:
        """Take everything back: whoever gets the number next wants no events of ours."""
        # Older versions keep what belongs to a number when it is given back.
        with suppress(ValueError):
            self._monitoring.set_events(self._tool, 0)
            for code in self._followed.values():
                self._monitoring.set_local_events(self._tool, code, 0)
            for event, _ in self._callbacks():
                self._monitoring.register_callback(self._tool, event, None)
            self._monitoring.free_tool_id(self._tool)
        self._calls.forget()


# A function that tells of its calls, whoever holds it.

_PLACE = "where the stand-in goes"


def tell_of_calls(
    function: FunctionType,
    call: Callable[..., AbstractContextManager[None]],
    is_compiling: Callable[[], bool] = lambda: False,
    *,
    is_told_all: bool = False,
) -> Callable[[], None]:
    """Let every call of a function happen within `call()`, until what this returns is called.

    Where it is told all, that gets the arguments.

    The function stays the same object, so that whoever imported or stored it is served as well;
    what it runs becomes a function of its own.
    """
    code, explicit_signature = function.__code__, vars(function).get("__signature__")
    signature = inspect.signature(function)
    original = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    original.__qualname__ = function.__qualname__

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        # A compiler that follows this call must find nothing but the function.
        if is_compiling():
            return original(*args, **kwargs)
        with call(args, kwargs) if is_told_all else call():
            return original(*args, **kwargs)

    def put_back() -> None:
        if function.__code__ is replacement:
            function.__code__ = code
            vars(function).update(__signature__=explicit_signature)
            if explicit_signature is None:
                del vars(function)["__signature__"]

    # Code that calls something else, and calls itself as the original.
    with warnings.catch_warnings():
        # Of a text that is called: it is replaced by what is to be called.
        warnings.simplefilter("ignore")
        module = compile(f"def f(*a, **k): return {_PLACE!r}(*a, **k)", code.co_filename, "exec")
    plain = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
    replacement = plain.replace(
        co_consts=tuple(
            stand_in if constant == _PLACE else constant for constant in plain.co_consts
        ),
        co_name=code.co_name,
        co_firstlineno=code.co_firstlineno,
        co_freevars=code.co_freevars,
    )
    function.__code__ = replacement
    function.__signature__ = signature  # type: ignore[attr-defined]
    return put_back


# Finding calls of a function before Python 3.12: every call is looked at until one fits.
#
# From then on the function itself tells of its calls, and the others cost nothing again.

_LOADER = "_worker_loop"
"""Where processes begin that only load data: they are not slowed down."""


class TracedCalls:
    """The same, by a profile function."""

    def __init__(
        self,
        engine: MarkedCycles,
        calls: MarkedCalls,
        wanted: FunctionName,
        is_compiling: Callable[[], bool],
    ) -> None:
        self._engine, self._calls, self._wanted = engine, calls, wanted
        self._is_compiling = is_compiling
        self._refused: set[CodeType] = set()
        self._is_over = False

    def begin(self) -> None:
        if sys.getprofile() is not None:
            self._engine.remark("functions cannot be marked: another profiler watches this program")
            return
        self._engine.when_over(self.leave)
        threading.setprofile(self.look)
        sys.setprofile(self.look)

    def look(self, frame: FrameType, event: str, _argument: object) -> Any:
        if event != "call":
            return
        code = frame.f_code
        if self._is_over or self._engine.is_over or code.co_name == _LOADER:
            self.leave()
        elif self._wanted.may_be(code.co_name) and code not in self._refused:
            with self._engine.program_goes_on():
                self._consider(code, frame)

    def _consider(self, code: CodeType, frame: FrameType) -> None:
        module = str(frame.f_globals.get("__name__", ""))
        functions = functions_with(code)
        if not any(self._wanted.is_it(module, function.__qualname__) for function in functions):
            self._refused.add(code)
            return
        if code.co_flags & PASSES_ON:
            self._refused.add(code)
            self._engine.remark(
                f"{code.co_name} is a generator or a coroutine, "
                "which cannot be followed before Python 3.12"
            )
            return
        self.leave()
        for function in functions:
            put_back = tell_of_calls(
                function,
                self._calls.call,
                self._is_compiling,
                is_told_all=self._calls.is_told_all,
            )
            self._engine.when_over(put_back)
        # This very call is under way, and cannot be shown any more.
        self._calls.entered(is_visible=False)
        self._calls.left()

    def leave(self) -> None:
        """Look no further: here, and in other threads at their next call."""
        self._is_over = True
        if sys.getprofile() == self.look:
            sys.setprofile(None)
        if threading.getprofile() == self.look:
            threading.setprofile(None)


def watch_functions(
    torch: Any, engine: MarkedCycles, pattern: str, calls: MarkedCalls | None = None
) -> None:
    """Begin a cycle with every call of the first function that is called and fits."""
    calls = MarkedCalls(torch, engine, pattern) if calls is None else calls
    if sys.version_info >= (3, 12):
        MonitoredCalls(engine, calls, FunctionName(pattern)).begin()
    else:
        TracedCalls(engine, calls, FunctionName(pattern), compiling_test(torch)).begin()
