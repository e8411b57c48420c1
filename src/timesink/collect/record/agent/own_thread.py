"""The thread a recording belongs to: it alone can end it, another takes the process along."""

from __future__ import annotations

import threading
from collections.abc import Callable

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
