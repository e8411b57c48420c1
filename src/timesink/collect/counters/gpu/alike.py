"""What holds for the management libraries of all makers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

KB_PER_KIB = 1.024
"""Libraries count KiB where counters have kB."""
_LEAST_MS = {"gpu_power_limit_mw": 1000.0}

_Value = TypeVar("_Value")


def least_ms_of(names: tuple[str, ...]) -> float:
    """How long to wait at least before counters are read again.

    >>> least_ms_of(("gpu_power_limit_mw",)), least_ms_of(("gpu_temp",))
    (1000.0, 0.0)
    """
    return max(_LEAST_MS.get(name, 0.0) for name in names)


def if_told(ask: Callable[[], _Value]) -> _Value | None:
    """What a library answers; None where it does not.

    >>> if_told(lambda: "NVIDIA H200"), if_told(lambda: {}["name"])
    ('NVIDIA H200', None)
    """
    try:
        return ask()
    except Exception:  # noqa: BLE001 - libraries raise errors of their own
        return None
