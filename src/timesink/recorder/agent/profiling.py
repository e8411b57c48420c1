"""torch.profiler, from the first cycle recorded to the file it writes."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from enum import Enum
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from timesink.errors import CollectError
from timesink.recorder.agent.shutdown import defer_signals, devices, identity
from timesink.recorder.agent.source_locations import Places
from timesink.recorder.folder import CLOCK_MARK, STEP_MARK, Notebook

_CLOCK_MARKS = 3
"""At the beginning and at the end each; the narrowest of them count."""


class Stage(Enum):
    """How far a window is."""

    AHEAD = "there is no profiler yet"
    PREPARED = "the profiler is ready"
    OPEN = "the profiler is on"
    WRITING = "its timeline is being written"
    CLOSED = "there is no profiler any more"


class RecordedWindow:
    """The one stretch of a program that is recorded, from the profiler's start to its file.

    All of it happens on one thread: the profiler belongs to the one that started it, and one that
    is ended by another takes the process with it.
    """

    def __init__(
        self, torch: Any, extras: Collection[str], notebook: Notebook, *, where: bool = False
    ) -> None:
        self._torch = torch
        self._places = Places(torch, compiling_test(torch)) if where else None
        self._extras = extras
        self._notebook = notebook
        self._profile: Any = None
        self._open_mark: Any = None
        self._open_name = ""
        self._clock_marks: list[tuple[str, int, int]] = []
        self.stage = Stage.AHEAD

    def prepare(self) -> None:
        """Make the profiler ready."""
        profile = self._torch.profiler.profile(
            activities=list(self._torch.profiler.supported_activities()),
            record_shapes="shapes" in self._extras,
            profile_memory="memory" in self._extras,
            with_stack="stack" in self._extras,
            with_flops="flops" in self._extras,
            with_modules="modules" in self._extras,
        )
        # Starting to collect device activities takes a while: that belongs to cycles not recorded.
        with warnings.catch_warnings():
            # Some versions warn of a second recording by the same profiler; there is none.
            warnings.simplefilter("ignore", UserWarning)
            profile.prepare_trace()
        self._profile, self.stage = profile, Stage.PREPARED

    def put_off(self) -> None:
        """Give up a profiler that was only made ready."""
        profile, self._profile, self.stage = self._profile, None, Stage.AHEAD
        if profile is not None:
            profile.start_trace()
            profile.stop_trace()

    def open(self, **facts: object) -> None:
        """Start recording, with the device at rest, and write down since when."""
        if self._profile is None:
            self.prepare()
        synchronise(self._torch)
        self._profile.start_trace()
        self._tell_time()
        if self._places is not None:
            self._places.begin()
        self.stage = Stage.OPEN
        now_us = time.time_ns() // 1000
        self._notebook.add("window", started_us=now_us, **facts, **identity(self._torch))

    def mark(self, number: int) -> None:
        """End the cycle before, and begin one with this number."""
        if self._profile is not None:
            with nullcontext() if self._places is None else self._places.interrupted():
                self._close_mark()
                self._open_name = f"{STEP_MARK}{number}"
                self._open_mark = self._torch.profiler.record_function(self._open_name)
                self._open_mark.__enter__()

    def unmark(self) -> None:
        """End the cycle before, and begin none."""
        with nullcontext() if self._places is None else self._places.interrupted():
            self._close_mark()

    def _close_mark(self) -> None:
        if self._open_mark is not None:
            self._open_mark.__exit__(None, None, None)
        self._open_mark, self._open_name = None, ""

    def close(self, recorded_ns: Sequence[int], why: str) -> None:
        """End recording, leave the file, and write down what is in it.

        `why` says what broke it off; then the cycle it was in has been cut.
        """
        if self._profile is None:
            return
        path = self._notebook.control / f"trace-{os.getpid()}.json"
        cut, ended_us = self._open_name if why else "", time.time_ns() // 1000
        with defer_signals():
            # Not before: what a signal ends is written only while this is not under way.
            self.stage = Stage.WRITING
            self._end_places()
            self._close_mark()
            trouble = self._stop(self._profile)
            self._write(path)
            self._notebook.add(
                "exported",
                file=path.name,
                cycles=len(recorded_ns),
                cut=cut,
                why=why or trouble,
                ended_us=ended_us,
                recorded_ns=recorded_ns,
                clock=self._clock_marks,
                devices=devices(self._torch),
            )
            self.abandon()

    def forget(self) -> None:
        """This process is a fork: the profiler belongs to the one it was made from."""
        self.stage = Stage.CLOSED
        if self._places is not None:
            self._places.leave()

    def _end_places(self) -> None:
        if self._places is not None:
            self._places.end()

    def abandon(self) -> None:
        """Have no profiler any more, whatever became of it."""
        profile, stage = self._profile, self.stage
        self._profile, self.stage = None, Stage.CLOSED
        with suppress(Exception):
            self._end_places()
        with suppress(Exception):
            if stage is Stage.PREPARED:
                profile.start_trace()
                profile.stop_trace()
            elif stage is Stage.OPEN:
                self._stop(profile)

    def _stop(self, profile: Any) -> str:
        """End, with all that was asked of the device done; in words where that failed.

        An error of the program may have broken the device: what was recorded is worth all the more.
        """
        with suppress(Exception):
            self._tell_time()
        try:
            synchronise(self._torch)
        except Exception as error:  # noqa: BLE001 - nobody knows what a driver may raise
            with _waiting_for_nothing(self._torch):
                profile.stop_trace()
            return f"the device failed: {str(error).partition(chr(10))[0]}"
        profile.stop_trace()
        return ""

    def _write(self, path: Path) -> None:
        """Write the timeline; the file has its name only once it is whole."""
        # Only names that end in .json are written as they are.
        part = path.with_suffix(".unfinished.json")
        self._profile.export_chrome_trace(str(part))
        if not part.exists():
            # It does not say so itself.
            raise CollectError("torch.profiler could not write its timeline: is the disk full?")
        part.replace(path)

    def _tell_time(self) -> None:
        for _ in range(_CLOCK_MARKS):
            name = f"{CLOCK_MARK}{len(self._clock_marks)}"
            before_ns = time.time_ns()
            with self._torch.profiler.record_function(name):
                pass
            self._clock_marks.append((name, before_ns, time.time_ns()))


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

CALLING_THE_PROGRAM = (
    "counted",
    "stand_in",
    "foreign_start",
    "exited",
    "told_wait",
    "preset_stand_in",
    "compiler_stand_in",
    "compiler_stand_in_before",
)
"""Wrappers around functions of the program and of torch; no other code of ours is called so."""

_OURS = "timesink.recorder."


def hide_from_compiler(torch: Any) -> None:
    """Let torch.compile pass over the agent: compiling it takes long and gains nothing.

    What the agent calls, such as a step of an optimizer, is compiled all the same.
    """
    # Names and signatures in there change from version to version.
    with suppress(Exception):
        skip = _code_skipper(torch._C._dynamo.eval_frame)  # noqa: SLF001 - its public name imports it all
        ours = [module for name, module in sys.modules.items() if name.startswith(_OURS)]
        for module in ours:
            for code in _codes_of(module):
                skip(code)


def compiling_test(torch: Any) -> Callable[[], bool]:
    """What says whether a compiler follows the program just now."""
    compiler = getattr(torch, "compiler", None)
    test: Callable[[], bool] | None = getattr(compiler, "is_compiling", None)
    return test if test is not None else lambda: False


def _code_skipper(compiler: Any) -> Callable[[CodeType], None]:
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
    for value in list(vars(module).values()):
        members = vars(value).values() if isinstance(value, type) else [value]
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
        begin, end = getattr(kind, beginning), kind.__exit__

        @functools.wraps(begin)
        def foreign_start(profiler: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._is_ours:
                self._before_one()
                self._active.add(id(profiler))
                self._was_active = True
            return begin(profiler, *args, **kwargs)

        @functools.wraps(end)
        def exited(profiler: Any, *args: Any, **kwargs: Any) -> Any:
            self._active.discard(id(profiler))
            return end(profiler, *args, **kwargs)

        for name, before, mine in ((beginning, begin, foreign_start), ("__exit__", end, exited)):
            self._replaced.append((kind, name, before, mine))
            setattr(kind, name, mine)

    def leave(self) -> None:
        """Stop watching, where nobody else has begun to watch in the same place."""
        for kind, name, before, mine in self._replaced:
            if getattr(kind, name) is mine:
                setattr(kind, name, before)
