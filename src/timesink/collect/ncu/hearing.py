"""What Nsight Compute said while the program ran."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

_PROFILING = re.compile(r'Profiling "(?P<name>.*)" - \d+(?: \(\d+/(?P<of>\d+)\))?: 0%')
_ANSWERED = re.compile(r"The application returned an error code \((-?\d+)\)")

KernelMet = Callable[[int, str, int | None], None]
"""Called with (kernels so far, name, how many there will be where that is known)."""


@dataclass(slots=True)
class Heard:
    """Everything that matters later, gathered line by line."""

    on_kernel: KernelMet | None = None
    kernels: int = 0
    notes: list[str] = field(default_factory=list)
    """Warnings and errors as they were printed, each once."""
    table: list[bytes] = field(default_factory=list)
    """Lines of a table printed instead of a report."""
    application_code: int | None = None
    connected: int = 0
    disconnected: int = 0
    is_shutting_down: bool = False

    def line(self, raw: bytes) -> None:
        """Take in one line of the profiler."""
        kind, _, text = raw.decode("utf-8", "replace").strip().partition("== ")
        if kind == "==PROF":
            self._progress(text)
        elif kind in ("==WARNING", "==ERROR"):
            if f"{kind}== {text}" not in self.notes:
                self.notes.append(f"{kind}== {text}")
            answered = _ANSWERED.search(text)
            if answered is not None:
                self.application_code = int(answered[1])

    def _progress(self, text: str) -> None:
        kernel = _PROFILING.match(text)
        if kernel is not None:
            self.kernels += 1
            if self.on_kernel is not None:
                self.on_kernel(self.kernels, kernel["name"], int(kernel["of"] or 0) or None)
        self.connected += text.startswith("Connected to process")
        self.disconnected += text.startswith("Disconnected from process")
        self.is_shutting_down |= text.startswith("Trying to shutdown")

    @property
    def errors(self) -> list[str]:
        """What the profiler itself complained about; the program's exit code is no such thing."""
        own = (note.removeprefix("==ERROR== ") for note in self.notes if note.startswith("==E"))
        return [text for text in own if not _ANSWERED.search(text)]
