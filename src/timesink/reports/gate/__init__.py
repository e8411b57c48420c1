"""Whether a comparison passes: what fails a run, what cannot be judged, and why."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timesink.reports.gate.gate import Check, Gate
    from timesink.reports.gate.judging import gate_of, gate_of_error
    from timesink.reports.gate.limit import Limit

__all__ = ["Check", "Gate", "Limit", "gate_of", "gate_of_error"]

_PLACES = {
    "Check": "gate",
    "Gate": "gate",
    "Limit": "limit",
    "gate_of": "judging",
    "gate_of_error": "judging",
}


def __getattr__(name: str) -> Any:
    # A limit is read before anything heavy is loaded.
    if name not in _PLACES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
