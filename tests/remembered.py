"""What several tests ask is worked out once: answers about real recordings, and pairs of runs."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import lru_cache, wraps
from hashlib import sha256
from inspect import signature
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import timesink
from timesink.analyses.comparison import verdict
from timesink.analyses.comparison.pair import Pair, Role
from timesink.model.diagnosis import Diagnosis
from timesink.rules import diagnosis

QUESTIONS = ("open", "analyze", "behaviour", "compare", "cycles", "diagnose", "kernels")
"""Functions whose answers are frozen: nobody can spoil them for the next test."""
_MOST = 24
"""Answers of each function that are kept; a trace takes some megabytes."""
_MOST_PAIRS = 128
_PLAIN = (str, int, float, bool, Path, type(None))


def remember_answers(patch: pytest.MonkeyPatch, *recordings: Path) -> None:
    """Let what users call remember its answers about files in folders that nobody changes.

    What the command line says about them comes from the same answers.
    """
    for name in QUESTIONS:
        function = getattr(timesink, name)
        module = sys.modules[function.__module__]
        patch.setattr(module, function.__name__, _remembering(function, recordings))


def _remembering(function: Callable[..., Any], recordings: Sequence[Path]) -> Callable[..., Any]:
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
            any(Path(one).is_relative_to(folder) for folder in recordings) for one in sources
        )
        if is_kept and all(isinstance(value, _PLAIN) for value in special.values()):
            return remembered(*map(str, sources), **special)
        return function(*sources, **options)

    return answer


def remember_pairs() -> None:
    """Let two runs with the same content be compared and diagnosed once, wherever their files lie.

    Both functions depend on nothing but the tables they are given: most tests of comparisons look
    at one sentence about the same few runs.
    """
    compare_roles, diagnose = verdict.compare_roles, diagnosis.diagnose
    pairs: dict[bytes, Pair] = {}
    diagnoses: dict[tuple[int, ...], tuple[Pair, Diagnosis]] = {}

    def remembered_pair(base: Role, new: Role, kind: str) -> Pair:
        sides = replace(base, source=""), replace(new, source="")
        try:
            content = pickle.dumps((*sides, kind, base.source == new.source))
        except (AttributeError, pickle.PicklingError):
            # What a timeline tells is worked out when it is asked for.
            return compare_roles(base, new, kind)
        key = sha256(content).digest()
        if key not in pairs:
            _forget(pairs)
            pairs[key] = compare_roles(base, new, kind)
        pair = pairs[key]
        return replace(
            pair,
            base=replace(pair.base, source=base.source),
            new=replace(pair.new, source=new.source),
        )

    def remembered_diagnosis(pair: Pair) -> Diagnosis:
        # Copies of a pair with its files elsewhere have the very same parts.
        key = tuple(
            id(getattr(whole, field.name))
            for whole in (pair, pair.base, pair.new)
            for field in fields(whole)
            if field.name not in {"base", "new", "source"}
        )
        if key not in diagnoses:
            _forget(diagnoses)
            diagnoses[key] = (pair, diagnose(pair))
        return diagnoses[key][1]

    replaced = {compare_roles: remembered_pair, diagnose: remembered_diagnosis}
    for name, module in list(sys.modules.items()):
        if name.startswith("timesink."):
            for attribute, value in list(vars(module).items()):
                if isinstance(value, FunctionType) and value in replaced:
                    setattr(module, attribute, replaced[value])


def _forget(kept: dict[Any, Any]) -> None:
    """Drop what was kept longest, where there is much."""
    if len(kept) >= _MOST_PAIRS:
        del kept[next(iter(kept))]
