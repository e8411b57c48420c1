"""What changed between runs: which processes are compared, and the answer as plain data."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timesink.answers.comparison.pairing import Compared
    from timesink.answers.comparison.report import Comparison
    from timesink.answers.comparison.work import compare

__all__ = ["Compared", "Comparison", "compare"]

_PLACES = {"compare": "work", "Compared": "pairing", "Comparison": "report"}


def __getattr__(name: str) -> Any:
    # Processes that only look into recordings must not pay for comparing them.
    if name not in _PLACES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
