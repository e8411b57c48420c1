"""Saving, loading, listing and removing baselines."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec

from timesink.analyses.names import short_kernel_name
from timesink.analyses.statistics.repeats import TimedRun
from timesink.answers.comparison.gate_result import doubts_of
from timesink.answers.comparison.repeated import RepeatedSide, distinct, expand_paths, timed_side
from timesink.comparison.gate import baseline_store
from timesink.comparison.inputs import ProcessedRun, SideReadOptions, find_cases, find_side
from timesink.comparison.reading import Runs, read_sides
from timesink.comparison.results import cycle_lengths
from timesink.errors import NotFoundError, OutputError, TimesinkError, UsageError
from timesink.model.units import brief_bytes, brief_ns, count_noun, from_to, join_names, size_bytes

StorePlace = str | Path | None
"""A folder, a URL, or None for the usual one."""


class Listed(msgspec.Struct, frozen=True):
    """A baseline of a store, or why it cannot be read."""

    name: str
    baseline: baseline_store.Baseline | None
    problem: TimesinkError | None = None


def save_baseline(
    name: str,
    run: str | Path | Sequence[str | Path],
    store: StorePlace = None,
    *,
    rank: int | None = None,
    reading: SideReadOptions | None = None,
    force: bool = False,
) -> baseline_store.Baseline:
    """Keep what a run says cycle by cycle, to compare others with; its recordings may then go.

    Of several runs the times of all are kept, and the rest of one of them.
    """
    name, place = baseline_store.checked_name(name), baseline_store.store_at(store)
    runs = [run] if isinstance(run, str | Path) else list(run)
    for path in runs:
        _check_run(path)
    if not force and name in place.names():
        raise _name_taken_error(name, place.place)
    content = _content(runs, rank, reading or SideReadOptions())
    # What cannot be read again must not take the place of what can.
    baseline = baseline_store.baseline_of(content, name, place.place)
    if force:
        place.write(name, content)
    elif not place.add(name, content):
        # Somebody else saved one while the run was read.
        raise _name_taken_error(name, place.place)
    return baseline


def _name_taken_error(name: str, place: str) -> OutputError:
    return OutputError(
        f"{baseline_store.reference(name)}: already in {place}",
        "add --force to replace it, or choose another name",
    )


def unsaved_baseline(
    run: str | Path, *, rank: int | None = None, reading: SideReadOptions | None = None
) -> baseline_store.Baseline:
    """What would be kept of a run."""
    _check_run(run)
    content = _content([run], rank, reading or SideReadOptions())
    return baseline_store.baseline_of(content, "run", str(run))


def _content(paths: Sequence[str | Path], rank: int | None, reading: SideReadOptions) -> bytes:
    sides = tuple(find_side(path, rank) for path in distinct(expand_paths(paths)))
    runs, side, timed, notes = Runs(reading), sides[0], tuple[TimedRun, ...](), tuple[str, ...]()
    if len(sides) > 1:
        several = timed_side(RepeatedSide(sides), runs)
        side, timed, notes = several.leading, several.timed, several.notes
    (read,), noted, _ = read_sides(runs, [side.sources])
    every = (*side.notes, *notes, *noted)
    return baseline_store.content_of(read, side.path, reading.finding, every, timed)


def _check_run(run: str | Path) -> None:
    if isinstance(run, str) and baseline_store.is_reference(run):
        raise UsageError(f"{run}: is a baseline already", "name a recording or its folder")
    cases = find_cases(Path(run))
    if cases:
        raise UsageError(
            f"{run}: contains a normal and an abnormal run",
            f"name one of them, such as {cases[0].base}",
        )


def load_baseline(name: str, store: StorePlace = None) -> baseline_store.Baseline:
    """A baseline by its name, with its @ or without."""
    name, place = baseline_store.checked_name(name), baseline_store.store_at(store)
    content = place.read(name)
    if content is None:
        raise _none_there(name, place.place, place.names())
    return baseline_store.baseline_of(content, name, place.place)


def list_baselines(store: StorePlace = None) -> tuple[Listed, ...]:
    """All baselines of a store, in the order of names."""
    return tuple(_list_entry(name, store) for name in baseline_store.store_at(store).names())


def _list_entry(name: str, store: StorePlace) -> Listed:
    try:
        return Listed(name, load_baseline(name, store))
    except TimesinkError as error:
        return Listed(name, None, error)


def remove_baseline(name: str, store: StorePlace = None) -> None:
    """Take a baseline away; one that is not there is refused."""
    name, place = baseline_store.checked_name(name), baseline_store.store_at(store)
    if not place.remove(name):
        raise _none_there(name, place.place, place.names())


def _none_there(name: str, place: str, names: list[str]) -> NotFoundError:
    hint = (
        "there are "
        f"{join_names([baseline_store.reference(baseline_name) for baseline_name in names])}"
        if names
        else (f"save one with  timesink baseline save {name} RUN, or name its store with --store")
    )
    return NotFoundError(f"{baseline_store.reference(name)}: no such baseline in {place}", hint)


# What a baseline holds, as plain data and in words.

SCHEMA = "timesink/baseline/1"


def plain(baseline: baseline_store.Baseline) -> dict[str, Any]:
    """All that is known of a baseline but its rows, ready for JSON."""
    return {
        "schema": SCHEMA,
        "name": baseline.name,
        "saved": _moment(baseline).isoformat(timespec="seconds"),
        "timesink": baseline.timesink,
        "bytes": baseline.size_bytes,
        "timed_runs": max(len(baseline.timed), 1),
        "marker": baseline.finding.marker,
        "by": baseline.finding.by,
        "command": next(iter(_commands(baseline)), []),
        **baseline.facts,
        "recordings": [_plain_run(run) for run in baseline.runs],
        "notes": list(baseline.side.notes),
    }


def _plain_run(run: ProcessedRun) -> dict[str, Any]:
    calls = [anatomy.calls.select("kind", "name").unique() for anatomy in run.anatomies.values()]
    return {
        "file": run.source.path.as_posix(),
        "rank": run.rank,
        "unit": run.unit.anchor,
        "method": run.unit.method,
        "cycles": _cycles(run),
        "mean_cycle_ns": _mean_ns(run),
        "devices": sorted(run.behaviour["device"].drop_nulls().cast(str).unique()),
        "operators": sum(call_table.filter(kind="operator").height for call_table in calls),
        "modules": sum(call_table.filter(kind="module").height for call_table in calls),
        "notes": list(run.notes),
    }


def _cycles(run: ProcessedRun) -> int:
    return run.behaviour.select("host", "pid", "cycle").n_unique()


def _mean_ns(run: ProcessedRun) -> float | None:
    mean = cycle_lengths(run.behaviour).mean()
    return mean if isinstance(mean, float) else None


def _moment(baseline: baseline_store.Baseline) -> datetime:
    return datetime.fromtimestamp(baseline.saved_us / 1e6, tz=timezone.utc)


def saved_text(baseline: baseline_store.Baseline, place: str, store: str | None = None) -> str:
    """That it was saved, how large it is, and what to do with it; `store` was asked for."""
    where = f" --store {shlex.quote(store)}" if store else ""
    doubts = doubts_of(note for run in baseline.runs for note in run.notes)
    name, size = baseline_store.reference(baseline.name), brief_bytes(baseline.size_bytes)
    lines = [
        f"Saved {name} in {place}: {_content_line(baseline)}, {size}",
        *(f"note: {doubt}" for doubt in doubts),
        f"Compare with it:  timesink compare {name} RUN{where}",
    ]
    return "\n".join(lines)


def _content_line(baseline: baseline_store.Baseline) -> str:
    """Recordings, cycles and their length."""
    cycles = [_cycles(run) for run in baseline.runs]
    many = (
        f"{count_noun(len(baseline.timed), 'runs')}, one stored in full: " if baseline.timed else ""
    )
    many += f"{count_noun(len(baseline.runs), 'recordings')} of " if len(baseline.runs) > 1 else ""
    least, most = min(cycles), max(cycles)
    count = count_noun(most, "steps") if least == most else f"{least} to {most} steps"
    means = [mean for run in baseline.runs if (mean := _mean_ns(run)) is not None]
    if not means:
        return f"{many}{count}"
    low, high = brief_ns(min(means)), brief_ns(max(means))
    span = low if low == high else from_to(low, high).replace("→", "to")
    anchors = {short_kernel_name(run.unit.anchor) for run in baseline.runs if run.unit.anchor}
    unit = f" ({join_names(sorted(anchors), 2)})" if anchors else ""
    return f"{many}{count} of {span}{unit}"


def row(entry: Listed) -> tuple[str, str, str, str]:
    """Name, moment, size and content for a list; or why it cannot be read."""
    if entry.baseline is None:
        problem = "" if entry.problem is None else entry.problem.message
        return baseline_store.reference(entry.name), "", "", problem
    baseline = entry.baseline
    moment = f"{_moment(baseline):%Y-%m-%d %H:%M} UTC"
    return (
        baseline_store.reference(entry.name),
        moment,
        size_bytes(baseline.size_bytes),
        _content_line(baseline),
    )


def baseline_lines(baseline: baseline_store.Baseline) -> list[str]:
    """What a baseline holds, line by line."""
    facts, size = baseline.facts, size_bytes(baseline.size_bytes)
    versions = [f"{name} {version}" for name, version in facts["versions"].items()]
    options = [f"--marker {baseline.finding.marker}"] if baseline.finding.marker else []
    options += [f"--by {baseline.finding.by}"] if baseline.finding.by else []
    devices = [*facts["devices"], *filter(None, [facts["processor"]])]
    lines = [
        f"{baseline_store.reference(baseline.name)}: {_content_line(baseline)}",
        f"saved {_moment(baseline):%Y-%m-%d %H:%M:%S} UTC by timesink {baseline.timesink}, {size}",
        f"devices: {join_names(devices) or 'not recorded'}",
        *(f"command: {shlex.join(command)}" for command in _commands(baseline)[:1]),
        *([f"versions: {', '.join(versions)}"] if versions else []),
        *([f"steps found with {' '.join(options)}"] if options else []),
    ]
    for run in baseline.runs:
        plain_run = _plain_run(run)
        rank = "" if run.rank is None else f"rank {run.rank}, "
        mean = (
            ""
            if plain_run["mean_cycle_ns"] is None
            else f" of {brief_ns(plain_run['mean_cycle_ns'])}"
        )
        steps = count_noun(plain_run["cycles"], "steps")
        calls = [count_noun(plain_run[kind], kind) for kind in ("operators", "modules")]
        lines.append(f"  {plain_run['file']}: {rank}{steps}{mean}, {', '.join(calls)}")
    notes = (
        *baseline.side.notes,
        *dict.fromkeys(note for run in baseline.runs for note in run.notes),
    )
    return [*lines, *(f"note: {note}" for note in notes)]


def _commands(baseline: baseline_store.Baseline) -> list[list[str]]:
    """What was run, as the recorder says it: without words that are secret."""
    recorders = [run.recorded for run in baseline.runs if run.recorded is not None]
    return [list(recorder.command) for recorder in recorders if recorder.command]
