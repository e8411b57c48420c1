"""Saving, loading, listing and removing baselines."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from timesink import __version__
from timesink.errors import NotFoundError, OutputError, TimesinkError, UsageError
from timesink.model.units import listed
from timesink.reports.baselines.baseline import Baseline
from timesink.reports.baselines.content import About, baseline_of, content_of
from timesink.reports.baselines.facts import facts_of
from timesink.reports.baselines.names import checked_name, is_reference, reference
from timesink.reports.baselines.stores import store_at
from timesink.reports.comparison.reading import read_sides
from timesink.reports.comparison.runs import ReadOptions, Runs, SideRun
from timesink.reports.comparison.sides import find_cases, find_side

StorePlace = str | Path | None
"""A folder, a URL, or None for the usual one."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A baseline of a store, or why it cannot be read."""

    name: str
    baseline: Baseline | None
    problem: TimesinkError | None = None


def save_baseline(
    name: str,
    run: str | Path,
    store: StorePlace = None,
    *,
    rank: int | None = None,
    reading: ReadOptions | None = None,
    force: bool = False,
) -> Baseline:
    """Keep what a run says cycle by cycle, to compare others with; its recordings may then go.

    >>> import tempfile, timesink
    >>> kept = save_baseline("main", timesink.sample(), tempfile.mkdtemp())
    >>> [role.source.path.as_posix() for role in kept.runs]
    ['@main/unet_train.pt.trace.json.gz']
    """
    name, place = checked_name(name), store_at(store)
    _check_run(run)
    if not force and name in place.names():
        raise _taken(name, place.place)
    content = _content(Path(run), rank, reading or ReadOptions())
    # What cannot be read again must not take the place of what can.
    baseline = baseline_of(content, name, place.place)
    if force:
        place.write(name, content)
    elif not place.add(name, content):
        # Somebody else saved one while the run was read.
        raise _taken(name, place.place)
    return baseline


def _taken(name: str, place: str) -> OutputError:
    return OutputError(
        f"{reference(name)}: already in {place}",
        "add --force to replace it, or choose another name",
    )


def unsaved_baseline(
    run: str | Path, *, rank: int | None = None, reading: ReadOptions | None = None
) -> Baseline:
    """What would be kept of a run.

    >>> import timesink
    >>> unsaved_baseline(timesink.sample()).runs[0].unit.anchor
    'ProfilerStep'
    """
    _check_run(run)
    content = _content(Path(run), rank, reading or ReadOptions())
    return baseline_of(content, "run", str(run))


def _content(run: Path, rank: int | None, reading: ReadOptions) -> bytes:
    runs, notes = _read(run, rank, reading)
    about = About(
        timesink=__version__,
        saved_us=time.time_ns() // 1000,
        marker=reading.finding.marker,
        by=reading.finding.by,
        facts=facts_of(runs),
        notes=notes,
    )
    return content_of(tuple(replace(one, trace=None) for one in runs), run, about)


def _check_run(run: str | Path) -> None:
    if isinstance(run, str) and is_reference(run):
        raise UsageError(f"{run}: is a baseline already", "give a recording, or a folder of one")
    cases = find_cases(Path(run))
    if cases:
        raise UsageError(
            f"{run}: holds a normal and an abnormal run",
            f"give one of them, such as {cases[0].base}",
        )


def _read(
    run: Path, rank: int | None, reading: ReadOptions
) -> tuple[list[SideRun], tuple[str, ...]]:
    side = find_side(run, rank)
    read = read_sides(Runs(reading), reading.finding, [side.sources])
    return read.sides[0], (*side.notes, *read.notes)


def load_baseline(name: str, store: StorePlace = None) -> Baseline:
    """A baseline by its name, with its @ or without.

    >>> import tempfile
    >>> load_baseline("@main", tempfile.mkdtemp())
    Traceback (most recent call last):
    timesink.errors.NotFoundError: @main: no such baseline in ...
    """
    name, place = checked_name(name), store_at(store)
    content = place.read(name)
    if content is None:
        raise _none_there(name, place.place, place.names())
    return baseline_of(content, name, place.place)


def list_baselines(store: StorePlace = None) -> tuple[Listed, ...]:
    """All baselines of a store, in the order of names.

    >>> import tempfile
    >>> list_baselines(tempfile.mkdtemp())
    ()
    """
    return tuple(_listed(name, store) for name in store_at(store).names())


def _listed(name: str, store: StorePlace) -> Listed:
    try:
        return Listed(name, load_baseline(name, store))
    except TimesinkError as error:
        return Listed(name, None, error)


def remove_baseline(name: str, store: StorePlace = None) -> None:
    """Take a baseline away; one that is not there is refused."""
    name, place = checked_name(name), store_at(store)
    if not place.remove(name):
        raise _none_there(name, place.place, place.names())


def _none_there(name: str, place: str, known: list[str]) -> NotFoundError:
    hint = (
        f"there are {listed([reference(one) for one in known])}"
        if known
        else (f"save one with  timesink baseline save {name} RUN, or name its store with --store")
    )
    return NotFoundError(f"{reference(name)}: no such baseline in {place}", hint)
