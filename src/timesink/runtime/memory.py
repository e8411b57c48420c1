"""How a process gets memory and gives it back."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

_M_ARENA_MAX = -8
"""The parameter of `mallopt`, as glibc numbers it."""
_POLARS_ALLOCATOR = "_RJEM_MALLOC_CONF"


def share_one_heap() -> None:
    """Let all threads take memory from one heap, and those of Polars from one of theirs.

    By default each has one of its own, and what a thread gave back is no use to the others.  For
    programs alone, before they start threads and load Polars: the library leaves its host as it is.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    os.environ.setdefault(_POLARS_ALLOCATOR, "narenas:1,tcache:false")


def return_free_memory() -> None:
    """Give back what heavy work needed for a while; glibc would keep it, a quarter of the peak."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
