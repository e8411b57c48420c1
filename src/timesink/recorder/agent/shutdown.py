"""The ways a program ends, each of them heard in time to write what was recorded."""

from __future__ import annotations

import atexit
import os
import platform
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, NoReturn

from timesink.recorder.processes import collect_signals, is_main_thread

End = Callable[[str], None]
"""Told why it ends."""

ENDED = "the program ended"
"""Why a recording ends where nothing went wrong."""

BLOCK_ENDED = "the recorded block ended"
"""The same, where the program goes on."""

UNMARKED = "no more steps were marked"
"""And where nothing is left to tell cycles apart."""

_HARD_ENDS = [number for number in signal.Signals if number.name in ("SIGTERM", "SIGHUP")]


class Endings:
    """Calls `end` before this process goes, with the reason in words."""

    def __init__(self, end: End) -> None:
        self._end = end
        self._pid = os.getpid()
        self._exit_at_once = os._exit
        atexit.register(self._at_exit)

    def watch(self) -> None:
        """From now on a hard end would lose something."""
        os._exit = self._before_exit
        if is_main_thread():
            for number in _HARD_ENDS:
                # What the program wants to do itself stays its own affair.
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._on_signal)

    def adopt(self) -> None:
        """This process is a fork, and records in place of the one it was made from."""
        self._pid = os.getpid()

    def leave(self) -> None:
        """Nothing is left to lose."""
        atexit.unregister(self._at_exit)
        if os._exit == self._before_exit:
            os._exit = self._exit_at_once
        if is_main_thread():
            for number in _HARD_ENDS:
                if signal.getsignal(number) == self._on_signal:
                    signal.signal(number, signal.SIG_DFL)

    def _is_here(self) -> bool:
        """A fork inherits all of this, and has nothing to write."""
        return os.getpid() == self._pid

    def _at_exit(self) -> None:
        if self._is_here():
            # Python keeps the last exception that nobody caught.
            kind = getattr(sys, "last_type", None)
            why = ENDED if kind is None else f"the program ended with {kind.__name__}"
            is_interrupted = kind is KeyboardInterrupt
            self._end("the program was interrupted" if is_interrupted else why)
            if is_interrupted:
                # Let it end as one, by its signal, as a shell expects: Python remembers the
                # interruption until it runs text as code, which exporting does.
                with suppress(KeyboardInterrupt):
                    exec("raise KeyboardInterrupt")  # noqa: S102

    def _before_exit(self, status: int) -> NoReturn:
        if self._is_here():
            self._end("the program ended with os._exit")
        self._exit_at_once(status)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._is_here():
            self._end(f"the program was ended by {signal.Signals(number).name}")
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Signals that would break off what happens within are delivered after it."""
    came: list[int] = []
    try:
        with collect_signals() as came:
            yield
    finally:
        for first in came[:1]:
            os.kill(os.getpid(), first)


class ProgramGuard:
    """Lets no exception of ours into the program; one for all costs less than one for each time."""

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self._failed = failed

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        with suppress(Exception):
            self._failed(error)
        return True


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


# What a process can say about itself.


def identity(torch: Any) -> dict[str, int | None]:
    """Which of how many workers this process is; unknown where it is alone."""
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return {"rank": distributed.get_rank(), "world_size": distributed.get_world_size()}
    return {"rank": env_int("RANK"), "world_size": env_int("WORLD_SIZE")}


def env_int(variable: str) -> int | None:
    """What whoever started this process tells it in a variable."""
    text = os.environ.get(variable, "")
    return int(text) if text.isdigit() else None


def versions(torch: Any) -> dict[str, str | None]:
    """What the program runs on."""
    named_versions: dict[str, str | None] = {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
    }
    for name in ("cuda", "hip", "xpu"):
        version = getattr(torch.version, name, None)
        if version:
            named_versions[name] = str(version)
    return named_versions


def devices(torch: Any) -> list[str]:
    """UUIDs of the GPUs this process sees, in the order it numbers them, as NVML spells them.

    Empty where it has used none, for none is woken up, and where torch does not tell.
    """
    cuda = torch.cuda
    # Whatever a driver says to that, the recording matters more.
    with suppress(Exception):
        if cuda.is_initialized():
            seen = [cuda.get_device_properties(number) for number in range(cuda.device_count())]
            return [f"GPU-{str(device.uuid).removeprefix('GPU-')}" for device in seen]
    return []
