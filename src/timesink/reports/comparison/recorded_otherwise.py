"""What recorders say that two sides do not have in common, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from timesink.model.recorded_run import RecordedRun
from timesink.reports.comparison.runs import SideRun

_NOT_THE_PROGRAM = frozenset({"timesink"})
"""Versions of what the program does not run on."""
_NAMED = ("function", "annotation")
Fact = TypeVar("Fact")


def recorded_otherwise(base: Sequence[SideRun], new: Sequence[SideRun]) -> list[str]:
    """How the recordings of two sides differ before anything is measured.

    Sides whose files disagree among themselves, or that no recorder described, say nothing.

    >>> recorded_otherwise([], [])
    []
    """
    cycles = _both(base, new, _unit)
    versions = _both(base, new, lambda run: tuple(sorted(run.versions.items())))
    notes = []
    if cycles is not None and cycles[0] != cycles[1]:
        notes.append(f"cycles were recorded by {cycles[0]} in base, by {cycles[1]} in new")
    if versions is not None:
        notes += _changed(dict(versions[0]), dict(versions[1]))
    return notes


def _both(
    base: Sequence[SideRun], new: Sequence[SideRun], fact: Callable[[RecordedRun], Fact | None]
) -> tuple[Fact, Fact] | None:
    found = []
    for side in (base, new):
        told = {None if run.recorded is None else fact(run.recorded) for run in side}
        (only,) = told if len(told) == 1 else (None,)
        if only is None:
            return None
        found.append(only)
    return found[0], found[1]


def _unit(run: RecordedRun) -> str | None:
    """What a cycle is; whichever optimizer steps, it is its step."""
    by, name = run.cycles.by, run.cycles.name
    return f"{by} {name}" if by in _NAMED and name else by


def _changed(base: dict[str, str], new: dict[str, str]) -> list[str]:
    changed = [
        f"{name} {base[name]} → {new[name]}"
        for name in base
        if name in new and base[name] != new[name] and name not in _NOT_THE_PROGRAM
    ]
    return [f"recorded with other versions: {', '.join(changed)}"] if changed else []
