"""Where calls come from: modules of the network and lines of the program, in the timeline.

Hooks that torch offers for all modules are there while cycles are recorded and at no other time.
A range is that of an operator: those made for users are ten times as slow, and would be repeated
on the device.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from timesink.recorder.folder import LINE_MARK, MODULE_MARK

WRAPPERS = frozenset(
    {"DataParallel", "DistributedDataParallel", "FullyShardedDataParallel", "OptimizedModule"}
)
"""Modules around a network that change nothing in it: the network is the same without them."""
_WRAPPED = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
"""What modules are called within those that wrap them."""
GENERATED = ("torch.fx.", "torch._dynamo.", "torch._inductor.", "torch._functorch.")
_WARNS = r"Using `torch\.compile\(module\)` when there are global hooks"
_WAITS = ("item", "tolist", "__bool__", "__int__", "__float__")
"""Methods of a tensor that wait for its value."""
FAR = 2
_MAX_FRAMES = 32


class ModuleNames:
    """Every module by its path from the outermost one that is called: `Model.encoder.layers.3`."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, str]] = {}
        """By identity, with a weak reference: numbers of modules that are gone are used again."""

    def name(self, module: Any, *, outermost: bool) -> str:
        """The path of a module; of one that belongs to none that was called, its class."""
        cached = self._known.get(id(module))
        if cached is not None and cached[0]() is module:
            return cached[1]
        if not outermost:
            return type(module).__name__
        root = type(module).__name__
        for path, child in module.named_modules():
            parts = [part for part in path.split(".") if part and part not in _WRAPPED]
            name = ".".join([root, *parts])
            self._known[id(child)] = (weakref.ref(child), name)
        return root


class ProgramLines:
    """The line of the program that a call comes from: not of torch, and rather not of libraries."""

    def __init__(self, torch: Any) -> None:
        self._passed = (str(Path(torch.__file__).parent), str(Path(__file__).parents[2]), "<")
        self._library = sysconfig.get_paths()["stdlib"]
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        self._folder = Path(main).absolute().parent if main else Path.cwd()
        self._seen: dict[CodeType, tuple[int, str]] = {}

    def above(self, frame: FrameType | None) -> str:
        """`train.py:88` for the innermost line above; empty where there is none."""
        library = ""
        while frame is not None:
            distance = self.distance(frame.f_code)
            if distance < FAR and not (distance and library):
                library = f"{self._seen[frame.f_code][1]}:{frame.f_lineno}"
            if distance == 0:
                break
            frame = frame.f_back
        return library

    def stack(self, frame: FrameType | None, until: FrameType | None = None) -> list[str]:
        """Functions of the program and of libraries above, the innermost first, as profilers do.

        `model.py(88): forward`; those of torch are left out, and those from `until` on.
        """
        lines: list[str] = []
        while frame is not None and frame is not until and len(lines) < _MAX_FRAMES:
            code = frame.f_code
            if self.distance(code) < FAR:
                lines.append(f"{self._seen[code][1]}({frame.f_lineno}): {code.co_name}")
            frame = frame.f_back
        return lines

    def function(self, code: CodeType | None) -> list[str]:
        """A function of the program by the line it begins in; nothing for one of torch."""
        if code is None or self.distance(code) >= FAR:
            return []
        return [f"{self._seen[code][1]}({code.co_firstlineno}): {code.co_name}"]

    def line(self, code: CodeType, number: int) -> str:
        """`train.py:88` for a line of some code."""
        self.distance(code)
        return f"{self._seen[code][1]}:{number}"

    def distance(self, code: CodeType) -> int:
        """How far code is from the program: 0 is the program, 1 a library, `FAR` torch."""
        seen = self._seen.get(code)
        if seen is None:
            seen = self._seen[code] = self._describe_file(code.co_filename)
        return seen[0]

    def _describe_file(self, file: str) -> tuple[int, str]:
        """How far a file is from the program, and what it is called: equal wherever it lies."""
        if file.startswith(self._passed):
            return FAR, ""
        path = Path(file).absolute()
        is_installed = not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
        is_library = is_installed or file.startswith(self._library)
        if not is_library and path.is_relative_to(self._folder):
            return 0, path.relative_to(self._folder).as_posix()
        return int(is_library), "/".join(path.parts[-2:])


class Places:
    """Shows which module is called, and from which line, in the timeline of this thread."""

    def __init__(self, torch: Any, is_compiling: Callable[[], bool]) -> None:
        self._torch = torch
        self._is_compiling = is_compiling
        self._names = ModuleNames()
        self._lines = ProgramLines(torch)
        self._open = threading.local()
        self._leaving: list[Callable[[], None]] = []
        fast = getattr(torch._C, "_profiler", None)  # noqa: SLF001 - what is public is too slow
        self._range = getattr(fast, "_RecordFunctionFast", torch.profiler.record_function)
        profiled = torch.autograd._profiler_enabled  # noqa: SLF001 - there is no public name
        self._is_profiled: Callable[[], bool] = profiled

    def begin(self) -> None:
        """Show modules and lines from now on."""
        # The program may have become another since torch was imported.
        self._lines = ProgramLines(self._torch)
        self._name_running(sys._getframe())  # noqa: SLF001
        self._hook()
        self._watch_waits()

    def leave(self) -> None:
        """Take back all hooks."""
        leaving, self._leaving = self._leaving, []
        for leave in reversed(leaving):
            leave()

    def end(self) -> None:
        """Show nothing any more; what is open on this thread is closed."""
        self.leave()
        stack = self._stack()
        while stack:
            self._close(stack.pop())

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        """What is open goes on after this: a range must not reach from one cycle to the next."""
        stack = self._stack()
        for entry in reversed(stack):
            self._close(entry)
        yield
        stack[:] = [(module, *self._opened(names)) for module, names, _ in stack]

    # -- modules ---------------------------------------------------------------------------------

    def _name_running(self, frame: FrameType | None) -> None:
        """Recording may begin within a module, whose parts go by its name all the same."""
        code, running = self._torch.nn.Module._call_impl.__code__, []  # noqa: SLF001
        while frame is not None:
            if frame.f_code is code:
                running.append(frame.f_locals.get("self"))
            frame = frame.f_back
        inside = [module for module in reversed(running) if type(module).__name__ not in WRAPPERS]
        for module in inside[:1]:
            self._names.name(module, outermost=True)

    def _hook(self) -> None:
        module = sys.modules["torch.nn.modules.module"]
        is_compiling, entered, left = self._is_compiling, self._entered, self._left

        def before(module: Any, _args: Any) -> None:
            # A compiler that follows this call must find nothing.
            if not is_compiling():
                entered(module)

        def after(module: Any, _args: Any, _output: Any) -> None:
            if not is_compiling():
                left(module)

        hooks = [module.register_module_forward_pre_hook(before)]
        try:
            # Also where an exception leaves the module.
            hooks.append(module.register_module_forward_hook(after, always_call=True))
        except TypeError:
            hooks.append(module.register_module_forward_hook(after))
        self._leaving += [hook.remove for hook in hooks]
        warnings.filterwarnings("ignore", _WARNS)
        added = warnings.filters[0]
        self._leaving.append(lambda: _forget(added))

    def _entered(self, module: Any) -> None:
        kind = type(module)
        if not self._is_profiled() or kind.__module__.startswith(GENERATED):
            return
        stack = self._stack()
        try:
            if not stack and kind.__name__ in WRAPPERS:
                return
            name = MODULE_MARK + self._names.name(module, outermost=not stack)
            names = [name] if stack else [*self._line(sys._getframe(2)), name]  # noqa: SLF001
            stack.append((module, *self._opened(names)))
        except Exception:  # noqa: BLE001 - the program must not notice
            self.end()

    def _left(self, module: Any) -> None:
        stack = self._stack()
        # What lies above was left by exceptions nobody told of.
        if any(entry[0] is module for entry in reversed(stack)):
            while stack:
                entry = stack.pop()
                self._close(entry)
                if entry[0] is module:
                    break

    def _stack(self) -> list[tuple[Any, list[str], list[Any]]]:
        """Modules this thread is in, the outermost first, with their names and ranges."""
        try:
            stack: list[tuple[Any, list[str], list[Any]]] = self._open.stack
        except AttributeError:
            stack = self._open.stack = []
        return stack

    def _opened(self, names: list[str]) -> tuple[list[str], list[Any]]:
        ranges = [self._range(name) for name in names]
        for record_range in ranges:
            record_range.__enter__()
        return names, ranges

    def _close(self, entry: tuple[Any, list[str], list[Any]]) -> None:
        for record_range in reversed(entry[2]):
            record_range.__exit__(None, None, None)

    # -- lines -----------------------------------------------------------------------------------

    def _line(self, frame: FrameType | None) -> list[str]:
        line = self._lines.above(frame)
        return [f"{LINE_MARK}{line}"] if line else []

    def _watch_waits(self) -> None:
        torch = self._torch
        for name in _WAITS:
            self._wrap(torch.Tensor, name)
        for kind in ("cuda", "xpu"):
            device = getattr(torch, kind, None)
            for owner in (device, *(getattr(device, name, None) for name in ("Event", "Stream"))):
                if hasattr(owner, "synchronize"):
                    self._wrap(owner, "synchronize")

    def _wrap(self, owner: Any, name: str) -> None:
        wait, is_own = getattr(owner, name), name in vars(owner)
        is_compiling, is_profiled = self._is_compiling, self._is_profiled

        @functools.wraps(wait)
        def told_wait(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or not is_profiled():
                return wait(*args, **kwargs)
            ranges: list[Any] = []
            with suppress(Exception):
                frame = sys._getframe(1)  # noqa: SLF001
                # Optimizers of torch ask for values of the host by the hundred.
                is_at_hand = args and getattr(args[0], "is_cpu", False)
                if not is_at_hand or self._lines.distance(frame.f_code) < FAR:
                    _, ranges = self._opened(self._line(frame))
            try:
                return wait(*args, **kwargs)
            finally:
                for record_range in ranges:
                    record_range.__exit__(None, None, None)

        def leave() -> None:
            if vars(owner).get(name) is told_wait:
                setattr(owner, name, wait) if is_own else delattr(owner, name)

        setattr(owner, name, told_wait)
        self._leaving.append(leave)


def _forget(added: Any) -> None:
    """Take back what was said about a warning, where nobody else has."""
    with suppress(ValueError):
        warnings.filters.remove(added)  # type: ignore[attr-defined, unused-ignore]
