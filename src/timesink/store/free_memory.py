"""Memory that is no longer needed goes back to the system."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def return_free_memory() -> None:
    """Give back what heavy work needed for a while; glibc would keep it, a quarter of the peak."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
