"""What a baseline holds, as plain data and in words."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from timesink.analyses.comparison.role import cycle_lengths
from timesink.analyses.kernel_names.display import short_kernel_name
from timesink.model.amounts import from_to
from timesink.model.units import brief_ns, counted, listed, size_bytes
from timesink.reports.baselines.baseline import Baseline
from timesink.reports.baselines.keeping import Listed
from timesink.reports.baselines.names import reference
from timesink.reports.comparison.runs import SideRun
from timesink.reports.gate.doubts import doubts_of

SCHEMA = "timesink/baseline/1"


def plain(one: Baseline) -> dict[str, Any]:
    """All that is known of a baseline but its rows, ready for JSON."""
    return {
        "schema": SCHEMA,
        "name": one.name,
        "saved": _moment(one).isoformat(timespec="seconds"),
        "timesink": one.timesink,
        "bytes": one.size_bytes,
        "marker": one.finding.marker,
        "by": one.finding.by,
        "command": next(iter(_commands(one)), []),
        **one.facts,
        "recordings": [_plain_run(run) for run in one.runs],
        "notes": list(one.side.notes),
    }


def _plain_run(run: SideRun) -> dict[str, Any]:
    calls = [anatomy.calls.select("kind", "name").unique() for anatomy in run.anatomies.values()]
    return {
        "file": run.source.path.as_posix(),
        "rank": run.rank,
        "unit": run.unit.anchor,
        "method": run.unit.method,
        "cycles": _cycles(run),
        "mean_cycle_ns": _mean_ns(run),
        "devices": sorted(run.behaviour["device"].drop_nulls().cast(str).unique()),
        "operators": sum(each.filter(kind="operator").height for each in calls),
        "modules": sum(each.filter(kind="module").height for each in calls),
        "notes": list(run.notes),
    }


def _cycles(run: SideRun) -> int:
    return run.behaviour.select("host", "pid", "cycle").n_unique()


def _mean_ns(run: SideRun) -> float | None:
    mean = cycle_lengths(run.behaviour).mean()
    return mean if isinstance(mean, float) else None


def _moment(one: Baseline) -> datetime:
    return datetime.fromtimestamp(one.saved_us / 1e6, tz=timezone.utc)


def saved(one: Baseline, place: str, store: str | None = None) -> str:
    """That it was saved, how large it is, and what to do with it; `store` was asked for."""
    where = f" --store {shlex.quote(store)}" if store else ""
    doubts = doubts_of(note for run in one.runs for note in run.notes)
    lines = [
        f"Saved {reference(one.name)} in {place}: {_held(one)}, {size_bytes(one.size_bytes)}",
        *(f"note: {doubt}" for doubt in doubts),
        f"Compare with it:  timesink compare {reference(one.name)} RUN{where}",
    ]
    return "\n".join(lines)


def _held(one: Baseline) -> str:
    """Recordings, cycles and their length."""
    cycles = [_cycles(run) for run in one.runs]
    many = f"{counted(len(one.runs), 'recordings')} of " if len(one.runs) > 1 else ""
    least, most = min(cycles), max(cycles)
    count = counted(most, "cycles") if least == most else f"{least} to {most} cycles"
    return f"{many}{count}{_lengths(one)}"


def _lengths(one: Baseline) -> str:
    means = [mean for run in one.runs if (mean := _mean_ns(run)) is not None]
    if not means:
        return ""
    low, high = brief_ns(min(means)), brief_ns(max(means))
    span = low if low == high else from_to(low, high).replace("→", "to")
    anchors = {short_kernel_name(run.unit.anchor) for run in one.runs if run.unit.anchor}
    unit = listed(sorted(anchors), 2)
    named = f" ({unit})" if unit else ""
    return f" of {span}{named}"


def row(one: Listed) -> tuple[str, str, str, str]:
    """Name, moment, size and content for a list; or why it cannot be read."""
    if one.baseline is None:
        problem = "" if one.problem is None else one.problem.message
        return reference(one.name), "", "", problem
    kept = one.baseline
    moment = f"{_moment(kept):%Y-%m-%d %H:%M} UTC"
    return reference(one.name), moment, size_bytes(kept.size_bytes), _held(kept)


def shown(one: Baseline) -> list[str]:
    """What a baseline holds, line by line."""
    facts, size = one.facts, size_bytes(one.size_bytes)
    versions = [f"{name} {version}" for name, version in facts["versions"].items()]
    asked = [f"--marker {one.finding.marker}"] if one.finding.marker else []
    asked += [f"--by {one.finding.by}"] if one.finding.by else []
    lines = [
        f"{reference(one.name)}: {_held(one)}",
        f"saved {_moment(one):%Y-%m-%d %H:%M:%S} UTC by timesink {one.timesink}, {size}",
        f"devices: {_devices(facts)}",
        *(f"command: {shlex.join(command)}" for command in _commands(one)[:1]),
        *([f"versions: {', '.join(versions)}"] if versions else []),
        *([f"cycles asked for with {' '.join(asked)}"] if asked else []),
    ]
    lines += [_run_line(run) for run in one.runs]
    notes = (*one.side.notes, *dict.fromkeys(note for run in one.runs for note in run.notes))
    return [*lines, *(f"note: {note}" for note in notes)]


def _commands(one: Baseline) -> list[list[str]]:
    """What was run, as the recorder says it: without words that are secret."""
    recorders = [run.recorded for run in one.runs if run.recorded is not None]
    return [list(each.command) for each in recorders if each.command]


def _devices(facts: Mapping[str, Any]) -> str:
    return listed([*facts["devices"], *filter(None, [facts["processor"]])]) or "not recorded"


def _run_line(run: SideRun) -> str:
    known = _plain_run(run)
    rank = "" if run.rank is None else f"rank {run.rank}, "
    mean = "" if known["mean_cycle_ns"] is None else f" of {brief_ns(known['mean_cycle_ns'])}"
    calls = f"{counted(known['operators'], 'operators')}, {counted(known['modules'], 'modules')}"
    cycles = counted(known["cycles"], "cycles")
    return f"  {run.source.path.as_posix()}: {rank}{cycles}{mean}, {calls}"
