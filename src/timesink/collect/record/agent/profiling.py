"""torch.profiler, from the first cycle recorded to the file it writes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from timesink.collect.record.marks import CLOCK_MARK, STEP_MARK
from timesink.errors import CollectError

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
