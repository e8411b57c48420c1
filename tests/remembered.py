"""What several tests ask is worked out once: answers about real recordings, and pairs of runs.

Measured without: tests of answers, causes and commands take 38 % longer where answers are not
remembered, and 16 % longer where pairs are not.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache, partial, wraps
from hashlib import sha256
from inspect import signature, unwrap
from io import BytesIO
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import pytest

import timesink
from timesink.analyses import columns
from timesink.comparison.causes import diagnosis
from timesink.comparison.results import Pair, Process
from timesink.comparison.steps import verdict
from timesink.model.diagnosis import Diagnosis
from timesink.sources.discovery import Input

QUESTIONS = ("open", "analyze", "behaviour", "compare", "cycles", "diagnose", "kernels")
"""Functions whose answers are frozen: nobody can spoil them for the next test."""
_MOST = 24
"""Answers of each function that are kept; a trace takes some megabytes."""
_MOST_PAIRS = 128
_NAMES_AND_PLACES = frozenset(
    {"base", "new", "source", "job", "origin", "identifier", "file_stem", "peaks", "of_all_devices"}
)
"""What of a pair and its processes no diagnosis depends on."""
_CODE = (FunctionType, MethodType, BuiltinFunctionType, partial)
_PLAIN = (str, int, float, bool, Path, type(None))


def remember_answers(patch: pytest.MonkeyPatch, *recordings: Path) -> None:
    """Let what users call remember its answers about files in folders that nobody changes.

    What the command line says about them comes from the same answers.
    """
    for name in QUESTIONS:
        function = getattr(timesink, name)
        module = sys.modules[function.__module__]
        patch.setattr(module, function.__name__, _remember_calls(function, recordings))


def _remember_calls(function: Callable[..., Any], recordings: Sequence[Path]) -> Callable[..., Any]:
    usual = {name: parameter.default for name, parameter in signature(function).parameters.items()}

    @lru_cache(maxsize=_MOST)
    def remembered(*sources: str, **options: Any) -> Any:
        return function(*map(Path, sources), **options)

    @wraps(function)
    def answer(*sources: Any, **options: Any) -> Any:
        as_resolved = sources, options
        sources, options = _as_written(sources, options)
        special = {name: value for name, value in options.items() if value != usual.get(name)}
        # The answer is the same, whoever watches and whatever process reads.
        special.pop("progress", None)
        if getattr(special.get("engine"), "name", None) == usual.get("engine"):
            special.pop("engine", None)
        is_kept = all(isinstance(source, str | Path) for source in sources) and all(
            any(Path(source).is_relative_to(folder) for folder in recordings) for source in sources
        )
        if is_kept and all(isinstance(value, _PLAIN) for value in special.values()):
            return remembered(*map(str, sources), **special)
        return function(*as_resolved[0], **as_resolved[1])

    return answer


def _as_written(
    sources: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What commands resolved, as who calls from Python writes it."""
    inputs = [source for source in (*sources, options.get("trace")) if isinstance(source, Input)]
    choices = [
        {name: getattr(source, name) for name in ("worker", "span", "rank")} for source in inputs
    ]
    written = tuple(source.source if isinstance(source, Input) else source for source in sources)
    trace = options.get("trace")
    timeline = {"trace": str(trace.source)} if isinstance(trace, Input) else {}
    return written, {**options, **timeline, **(choices[-1] if choices else {})}


class _Contents(pickle.Pickler):
    """Writes values by what they hold, and functions by who they are."""

    def reducer_override(self, value: Any) -> Any:
        return (int, (id(value),)) if isinstance(value, _CODE) else NotImplemented


def remember_pairs() -> None:
    """Let two runs with the same content be compared and diagnosed once, wherever their files lie.

    Both functions depend on nothing but the tables they are given: most tests of comparisons look
    at one sentence about the same few runs.
    """
    compare_roles, diagnose = verdict.compare_roles, diagnosis.diagnose
    pairs: dict[bytes, tuple[Pair, Process, Process]] = {}
    diagnoses: dict[tuple[int, ...], tuple[Pair, Diagnosis]] = {}

    def remembered_pair(
        base: Process, new: Process, kind: str, *, detect_pct: float | None = None
    ) -> Pair:
        sides = [replace(side, source="", job="", origin=None) for side in (base, new)]
        content = BytesIO()
        try:
            _Contents(content).dump((*sides, kind, detect_pct, base.source == new.source))
        except (AttributeError, TypeError, pickle.PicklingError):
            return compare_roles(base, new, kind, detect_pct=detect_pct)
        key = sha256(content.getbuffer()).digest()
        if key not in pairs:
            _forget(pairs)
            # Both roles stay, and so does whoever they name.
            pairs[key] = compare_roles(base, new, kind, detect_pct=detect_pct), base, new
        pair = pairs[key][0]
        return replace(pair, base=_at_place(pair.base, base), new=_at_place(pair.new, new))

    @wraps(diagnose)
    def remembered_diagnosis(pair: Pair) -> Diagnosis:
        _, given = columns._note_of(pair, (unwrap(diagnose), (), ()))
        if given or pair.expected is not None:
            return diagnose(pair)
        # Copies of a pair with its files elsewhere have the very same parts.
        parts = pair.whole, pair.whole.base, pair.whole.new
        key = tuple(
            id(getattr(part, field.name))
            for part in parts
            for field in fields(part)
            if field.name not in _NAMES_AND_PLACES
        )
        if key not in diagnoses:
            _forget(diagnoses)
            diagnoses[key] = (pair, diagnose(pair))
        return diagnoses[key][1]

    _put_in_place({compare_roles: remembered_pair, diagnose: remembered_diagnosis})


def _at_place(process: Process, place: Process) -> Process:
    """A process whose file lies where that of another does."""
    return replace(process, source=place.source, job=place.job, origin=place.origin)


def _put_in_place(replaced: Mapping[Any, Callable[..., Any]]) -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("timesink."):
            for attribute, value in list(vars(module).items()):
                if isinstance(value, FunctionType) and value in replaced:
                    setattr(module, attribute, replaced[value])


def _forget(store: dict[Any, Any]) -> None:
    """Drop what was kept longest, where there is much."""
    if len(store) >= _MOST_PAIRS:
        del store[next(iter(store))]
