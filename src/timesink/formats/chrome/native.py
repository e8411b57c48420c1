"""Whether this installation has the native scanner; loads nothing heavy."""

from __future__ import annotations

import os
from typing import Any

_scanner: Any
try:
    from timesink.formats.chrome import _scanner  # type: ignore[attr-defined, no-redef]
except ImportError:  # built without a compiler
    _scanner = None

NATIVE_VARIABLE = "TIMESINK_NATIVE"
"""With `0` in it, traces are read without the scanner."""


def has_scanner() -> bool:
    """Whether traces are read with the native scanner: it was built, and nobody turned it off."""
    return _scanner is not None and os.environ.get(NATIVE_VARIABLE) != "0"


def scanner_module() -> Any:
    """The module of the scanner; None where the package was built without a compiler."""
    return _scanner
