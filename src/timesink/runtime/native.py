"""The compiled part of the package, where it was built with a compiler; loads nothing else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INTERFACE = 2
"""The functions and arrays that are expected, as `native/module.cpp` numbers them."""

_native: Any
try:
    from timesink.runtime import _native  # type: ignore[attr-defined, no-redef]
except ImportError:  # built without a compiler
    _native = None
_is_stale = _native is not None and getattr(_native, "INTERFACE", 1) != INTERFACE
if _is_stale:  # of other sources: it would read arrays that it is not given
    _native = None

NATIVE_VARIABLE = "TIMESINK_NATIVE"
"""With `0` in it, everything is done in Python."""


def is_native() -> bool:
    """Whether compiled code does the work: it was built, and nobody turned it off."""
    return _native is not None and os.environ.get(NATIVE_VARIABLE) != "0"


def native_module() -> Any:
    """The compiled module; None where the package was built without a compiler."""
    return _native


ArrayView: TypeAlias = "tuple[int, int]"
"""Where an array is, and how many entries it has."""


def array_view(array: NDArray[Any], dtype: type[np.generic]) -> ArrayView:
    """An array for compiled code, which reads it where it is: it must outlive the call."""
    if array.dtype != dtype or not array.flags.c_contiguous:
        msg = f"an array in one piece of {dtype.__name__} is needed, not of {array.dtype}"
        raise ValueError(msg)
    return array.__array_interface__["data"][0], array.size


def native_state() -> str:
    """In words for `--version --verbose`: what reads traces, and why."""
    if _is_stale:
        return "Python (compiled code is of another version: install again)"
    if _native is None:
        return "Python (installed without a compiler)"
    return "native scanner" if is_native() else f"Python ({NATIVE_VARIABLE}=0)"
