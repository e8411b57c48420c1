"""Functions named as text, loaded when they are first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load(place: str, package: str) -> Any:
    """What `module:function` names below a package.

    >>> load("steps:find_steps", "timesink.analyses").__name__
    'find_steps'
    """
    module, _, name = place.partition(":")
    return getattr(import_module(f"{package}.{module}"), name)
