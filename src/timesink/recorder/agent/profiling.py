"""torch.profiler, from the first cycle recorded to the file it writes."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from timesink.errors import CollectError
from timesink.recorder.folder import CLOCK_MARK, STEP_MARK

_CLOCK_MARKS = 3
"""At the beginning and at the end each; the narrowest of them count."""


class Profiling:
    """The profiler of one recording: made ready, started, marked, ended, written, in that order.

    All of it happens on one thread: the profiler belongs to the one that started it, and one that
    is ended by another takes the process with it.
    """

    def __init__(self, torch: Any, extras: Collection[str]) -> None:
        self._torch = torch
        self._profile = torch.profiler.profile(
            activities=list(torch.profiler.supported_activities()),
            record_shapes="shapes" in extras,
            profile_memory="memory" in extras,
            with_stack="stack" in extras,
            with_flops="flops" in extras,
            with_modules="modules" in extras,
        )
        self._open_mark: Any = None
        self.open_name = ""
        self.clock_marks: list[tuple[str, int, int]] = []
        # Starting to collect device activities takes a while: that belongs to cycles not recorded.
        with warnings.catch_warnings():
            # Some versions warn of a second recording by the same profiler; there is none.
            warnings.simplefilter("ignore", UserWarning)
            self._profile.prepare_trace()

    def start(self) -> None:
        """Begin to record, with the device at rest."""
        synchronise(self._torch)
        self._profile.start_trace()
        self._tell_time()

    def mark(self, number: int) -> None:
        """End the cycle before, and begin one with this number."""
        self.close_mark()
        self.open_name = f"{STEP_MARK}{number}"
        self._open_mark = self._torch.profiler.record_function(self.open_name)
        self._open_mark.__enter__()

    def close_mark(self) -> None:
        """End the cycle that is marked."""
        if self._open_mark is not None:
            self._open_mark.__exit__(None, None, None)
        self._open_mark, self.open_name = None, ""

    def stop(self) -> str:
        """End, with all that was asked of the device done; in words where that failed.

        An error of the program may have broken the device: what was recorded is worth all the more.
        """
        with suppress(Exception):
            self._tell_time()
        try:
            synchronise(self._torch)
        except Exception as error:  # noqa: BLE001 - nobody knows what a driver may raise
            with _waiting_for_nothing(self._torch):
                self._profile.stop_trace()
            return f"the device failed: {str(error).partition(chr(10))[0]}"
        self._profile.stop_trace()
        return ""

    def cancel(self) -> None:
        """End a profiler that was only made ready."""
        self._profile.start_trace()
        self._profile.stop_trace()

    def write(self, path: Path) -> None:
        """Write the timeline; the file has its name only once it is whole."""
        unfinished = path.with_suffix(".unfinished")
        # Only names that end in .json are written as they are.
        part = unfinished.with_name(f"{unfinished.name}.json")
        self._profile.export_chrome_trace(str(part))
        if not part.exists():
            # It does not say so itself.
            raise CollectError("torch.profiler could not write its timeline: is the disk full?")
        part.replace(path)

    def _tell_time(self) -> None:
        for _ in range(_CLOCK_MARKS):
            name = f"{CLOCK_MARK}{len(self.clock_marks)}"
            before_ns = time.time_ns()
            with self._torch.profiler.record_function(name):
                pass
            self.clock_marks.append((name, before_ns, time.time_ns()))


def synchronise(torch: Any) -> None:
    """Wait for all devices the program uses; none is woken up for it.

    Of GPUs those count on which the process has a context; of other kinds the current device.
    """
    for device in _devices_in_use(torch):
        device.synchronize()
    # What is public wakes devices up, and builds for other kinds do not have this.
    is_awake = getattr(torch._C, "_cuda_hasPrimaryContext", None)  # noqa: SLF001
    if is_awake is not None and torch.cuda.is_initialized():
        for number in filter(is_awake, range(torch.cuda.device_count())):
            torch.cuda.synchronize(number)


def _devices_in_use(torch: Any) -> Iterator[Any]:
    for kind in ("cuda", "xpu", "npu", "mlu", "mtia"):
        device = getattr(torch, kind, None)
        is_used = getattr(device, "is_initialized", None)
        if device is not None and is_used is not None and is_used():
            yield device


@contextmanager
def _waiting_for_nothing(torch: Any) -> Iterator[None]:
    """The profiler waits for devices itself, and gives up where that fails."""
    waits = [(device, device.synchronize) for device in _devices_in_use(torch)]
    for device, _ in waits:
        device.synchronize = lambda *_args, **_more: None
    try:
        yield
    finally:
        for device, synchronize in waits:
            device.synchronize = synchronize


# Code of the agent, and a compiler that follows the program into it.

CALLING_THE_PROGRAM = ("counted", "stand_in", "foreign_start", "exited")
"""Wrappers around functions of the program and of torch; no other code of ours is called so."""

_OURS = "timesink.recorder."


def hide_from_compiler(torch: Any) -> None:
    """Let torch.compile pass over the agent: compiling it takes long and gains nothing.

    What the agent calls, such as a step of an optimizer, is compiled all the same.
    """
    # Names and signatures in there change from version to version.
    with suppress(Exception):
        skip = _skipping(torch._C._dynamo.eval_frame)  # noqa: SLF001 - its public name imports it all
        ours = [module for name, module in sys.modules.items() if name.startswith(_OURS)]
        for module in ours:
            for code in _codes_of(module):
                skip(code)


def compiling_test(torch: Any) -> Callable[[], bool]:
    """What says whether a compiler follows the program just now."""
    compiler = getattr(torch, "compiler", None)
    test: Callable[[], bool] | None = getattr(compiler, "is_compiling", None)
    return test if test is not None else lambda: False


def _skipping(compiler: Any) -> Callable[[CodeType], None]:
    if hasattr(compiler, "skip_code"):
        # Versions before 2.6.
        older: Callable[[CodeType], None] = compiler.skip_code
        return older
    action, strategy = compiler._FrameAction, compiler._FrameExecStrategy  # noqa: SLF001
    # The second is for what is called from there.
    all_of_it = strategy(action.SKIP, action.SKIP)
    only_itself = strategy(action.SKIP, action.DEFAULT)

    def skip(code: CodeType) -> None:
        calls_program = code.co_name in CALLING_THE_PROGRAM
        compiler.set_code_exec_strategy(code, only_itself if calls_program else all_of_it)

    return skip


def _codes_of(module: ModuleType) -> Iterator[CodeType]:
    for held in list(vars(module).values()):
        members = vars(held).values() if isinstance(held, type) else [held]
        for member in members:
            # What decorators put around it is code of theirs, which the program uses as well.
            decorated: Any = member.fget if isinstance(member, property) else member
            function = inspect.unwrap(decorated)
            if isinstance(function, FunctionType) and function.__module__.startswith(_OURS):
                yield from _with_inner(function.__code__)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


# The thread a recording belongs to: it alone can end it, another takes the process along.

_ANSWERS_S = 5.0
"""The thread that is recorded gets so long to come to the end of a cycle."""
_WRITES_S = 300.0
"""And so long to write its recording, once it does."""


class RecordedThread:
    """Carries the wish to end to the thread that is recorded, and hears of its own end."""

    def __init__(self, end: Callable[[str], None]) -> None:
        self._end = end
        self._held_by_thread = threading.local()
        self._has_ended = threading.Event()
        self.asked = ""
        """Why another thread wants the recording to end; empty where none does."""

    def begin(self) -> None:
        """This thread is recorded from now on; what it holds goes when it ends."""
        if not is_main_thread():
            self._held_by_thread.farewell = _Farewell(
                lambda: self._end("the thread that was recorded ended")
            )

    def ask(self, why: str, is_writing: Callable[[], bool]) -> None:
        """Ask for the end from another thread, and wait for it."""
        self.asked = why
        if not self._has_ended.wait(_ANSWERS_S) and is_writing():
            self._has_ended.wait(_WRITES_S)

    def ended(self) -> None:
        """The recording is written, or given up."""
        self._has_ended.set()


class _Farewell:
    """Calls something when nobody holds it any more."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def __del__(self) -> None:
        self._call()


def is_main_thread() -> bool:
    """Whether this is the thread that receives signals; asked of threads that end, too."""
    return threading.get_ident() == threading.main_thread().ident


# Profilers the program starts itself: two at a time break each other, and its own go first.


class ForeignProfilers:
    """Notices when profilers of the program begin and end."""

    def __init__(self, torch: Any, before_one: Callable[[], None]) -> None:
        self._before_one = before_one
        self._active: set[int] = set()
        self._was_active = False
        self._is_ours = False
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        module = torch.autograd.profiler
        self._watch(module.profile, "_prepare_trace")
        for name in ("emit_nvtx", "emit_itt"):
            if hasattr(module, name):
                self._watch(getattr(module, name), "__enter__")

    @property
    def is_active(self) -> bool:
        """Whether a profiler of the program is running."""
        return bool(self._active)

    def was_active(self) -> bool:
        """Whether a profiler of the program was running at any time since this was asked."""
        was_active, self._was_active = self._was_active, self.is_active
        return was_active

    @contextmanager
    def ours(self) -> Iterator[None]:
        """A profiler that begins within is not the program's."""
        self._is_ours = True
        try:
            yield
        finally:
            self._is_ours = False

    def _watch(self, kind: Any, beginning: str) -> None:
        self._replace(kind, beginning, self._noticing(getattr(kind, beginning)))
        self._replace(kind, "__exit__", self._forgetting(kind.__exit__))

    def _replace(self, kind: Any, name: str, new: Any) -> None:
        self._replaced.append((kind, name, getattr(kind, name), new))
        setattr(kind, name, new)

    def leave(self) -> None:
        """Stop watching, where nobody else has begun to watch in the same place."""
        for kind, name, before, mine in self._replaced:
            if getattr(kind, name) is mine:
                setattr(kind, name, before)

    def _noticing(self, begin: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(begin)
        def foreign_start(profiler: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._is_ours:
                self._before_one()
                self._active.add(id(profiler))
                self._was_active = True
            return begin(profiler, *args, **kwargs)

        return foreign_start

    def _forgetting(self, end: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(end)
        def exited(profiler: Any, *args: Any, **kwargs: Any) -> Any:
            self._active.discard(id(profiler))
            return end(profiler, *args, **kwargs)

        return exited
