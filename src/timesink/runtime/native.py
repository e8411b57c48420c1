"""The compiled part of the package, where it was built with a compiler; loads nothing else."""

from __future__ import annotations

import os
from typing import Any

_native: Any
try:
    from timesink.runtime import _native  # type: ignore[attr-defined, no-redef]
except ImportError:  # built without a compiler
    _native = None

NATIVE_VARIABLE = "TIMESINK_NATIVE"
"""With `0` in it, everything is done in Python."""


def is_native() -> bool:
    """Whether compiled code does the work: it was built, and nobody turned it off."""
    return _native is not None and os.environ.get(NATIVE_VARIABLE) != "0"


def native_module() -> Any:
    """The compiled module; None where the package was built without a compiler."""
    return _native


def native_state() -> str:
    """In words for `--version --verbose`: what reads traces, and why."""
    if _native is None:
        return "Python (installed without a compiler)"
    return "native scanner" if is_native() else f"Python ({NATIVE_VARIABLE}=0)"
