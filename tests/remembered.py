"""Answers about real recordings: each question is asked once, whichever tests ask it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, wraps
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import timesink

QUESTIONS = ("open", "analyze", "behaviour", "compare", "cycles", "diagnose", "kernels")
"""Functions whose answers are frozen: nobody can spoil them for the next test."""
_MOST = 24
"""Answers of each function that are kept; a trace takes some megabytes."""
_PLAIN = (str, int, float, bool, Path, type(None))


def remember_answers(patch: pytest.MonkeyPatch, recordings: Path) -> None:
    """Let what users call remember its answers about files below a folder that nobody changes.

    What the command line says about them comes from the same answers.
    """
    for name in QUESTIONS:
        function = getattr(timesink, name)
        module = sys.modules[function.__module__]
        patch.setattr(module, function.__name__, _remembering(function, recordings))


def _remembering(function: Callable[..., Any], recordings: Path) -> Callable[..., Any]:
    usual = {name: known.default for name, known in signature(function).parameters.items()}

    @lru_cache(maxsize=_MOST)
    def remembered(*sources: str, **options: Any) -> Any:
        return function(*map(Path, sources), **options)

    @wraps(function)
    def answer(*sources: Any, **options: Any) -> Any:
        special = {name: value for name, value in options.items() if value != usual.get(name)}
        # The answer is the same, whoever watches and whatever process reads.
        special.pop("progress", None)
        if getattr(special.get("engine"), "name", None) == usual.get("engine"):
            special.pop("engine", None)
        is_kept = all(isinstance(one, str | Path) for one in sources) and all(
            Path(one).is_relative_to(recordings) for one in sources
        )
        if is_kept and all(isinstance(value, _PLAIN) for value in special.values()):
            return remembered(*map(str, sources), **special)
        return function(*sources, **options)

    return answer
