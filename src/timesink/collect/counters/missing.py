"""What could not be sampled: every counter once, with the reason."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

from timesink.collect.counters.sampled import Missing


class UnavailableError(Exception):
    """Why a source has no counters at all; never reaches a user as an error."""


class MissingBook:
    """Counters that are not there; may be written to from several threads.

    >>> book = MissingBook()
    >>> book.name("gpu_temp", "not supported", device="GPU 1")
    >>> book.name("gpu_temp", "not supported", device="GPU 0")
    >>> book.named()
    (Missing(counter='gpu_temp', why='GPU 0, GPU 1: not supported'),)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reasons: dict[str, dict[str, set[str]]] = {}

    def name(self, counter: str, why: str, device: str = "") -> None:
        """Say once that a counter is missing, and for which device if not for all."""
        with self._lock:
            devices = self._reasons.setdefault(counter, {}).setdefault(why, set())
            if device:
                devices.add(device)

    def name_all(self, counters: Iterable[str], why: str, device: str = "") -> None:
        """The same reason for several counters."""
        for counter in counters:
            self.name(counter, why, device)

    def named(self) -> tuple[Missing, ...]:
        """Every counter that is missing, each of them once."""
        with self._lock:
            return tuple(
                Missing(counter, "; ".join(_told(why, devices) for why, devices in reasons.items()))
                for counter, reasons in sorted(self._reasons.items())
            )


def _told(why: str, devices: set[str]) -> str:
    return f"{', '.join(sorted(devices))}: {why}" if devices else why


def reason(error: BaseException) -> str:
    """An error as a reason that a counter is missing.

    >>> reason(PermissionError(13, "Permission denied", "/proc/1/stat"))
    '/proc/1/stat: Permission denied'
    >>> reason(ValueError())
    'ValueError'
    """
    if isinstance(error, OSError) and error.errno is not None:
        said = error.strerror or os.strerror(error.errno)
        return f"{error.filename}: {said}" if error.filename else said
    if isinstance(error, KeyError):
        return f"the system does not tell {error.args[0]}" if error.args else "not told"
    return " ".join(str(error).split()) or type(error).__name__
