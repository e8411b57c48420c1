"""What a baseline holds, as plain data and in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

import msgspec

from timesink.analyses.names import short_kernel_name
from timesink.comparison.gate.baseline_store import Baseline, Listed, reference
from timesink.comparison.gate.verdict import doubts_of
from timesink.comparison.results import Run, cycle_lengths
from timesink.comparison.snapshots import SnapshotSide
from timesink.comparison.untimed import UntimedSide
from timesink.formats.small_files import plain_values
from timesink.model.units import brief_bytes, brief_ns, count_noun, from_to, join_names, size_bytes

SCHEMA = "timesink/baseline/1"


class StoredRecordingJson(msgspec.Struct, frozen=True, kw_only=True):
    """A recording of a baseline."""

    file: str
    rank: int | None
    unit: str | None
    """What marks its steps."""
    method: str | None
    cycles: int
    mean_cycle_ns: float | None
    devices: list[str]
    operators: int
    modules: int
    notes: list[str]

    @classmethod
    def of(cls, run: Run) -> StoredRecordingJson:
        calls = [
            anatomy.calls.select("kind", "name").unique() for anatomy in run.anatomies.values()
        ]
        return cls(
            file=run.source.path.as_posix(),
            rank=run.rank,
            unit=run.unit.anchor,
            method=run.unit.method,
            cycles=_cycles(run),
            mean_cycle_ns=_mean_ns(run),
            devices=sorted(run.behaviour["device"].drop_nulls().cast(str).unique()),
            operators=sum(table.filter(kind="operator").height for table in calls),
            modules=sum(table.filter(kind="module").height for table in calls),
            notes=list(run.notes),
        )


class BaselineJson(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of a baseline but its rows."""

    schema: str
    name: str
    saved: str
    """A moment, in UTC."""
    timesink: str
    bytes: int
    timed_runs: int
    marker: str | None
    by: str | None
    command: list[str]
    devices: list[str]
    processor: str | None
    versions: dict[str, str]
    world_size: int | None
    recordings: list[StoredRecordingJson]
    notes: list[str]
    untimed: str | None = None
    """`memory_snapshot` or `collective_log`, which have no steps."""

    @classmethod
    def of(cls, baseline: Baseline) -> BaselineJson:
        return cls(
            schema=SCHEMA,
            name=baseline.name,
            saved=_moment(baseline).isoformat(timespec="seconds"),
            timesink=baseline.timesink,
            bytes=baseline.size_bytes,
            timed_runs=max(len(baseline.timed), 1),
            marker=baseline.finding.marker,
            by=baseline.finding.by,
            command=next(iter(_commands(baseline)), []),
            **baseline.facts,
            recordings=list(map(StoredRecordingJson.of, baseline.runs)),
            notes=list(_notes(baseline)),
            untimed=None if baseline.untimed is None else baseline.untimed.kind,
        )


class BaselinesJson(msgspec.Struct, frozen=True):
    """All baselines and histories of a store."""

    baselines: list[BaselineJson]
    unreadable: dict[str, str]
    """Names of others, and why they cannot be read."""
    histories: list[str]

    @classmethod
    def of(cls, entries: Iterable[Listed], histories: Iterable[str]) -> BaselinesJson:
        listed = list(entries)
        lost = {entry.name: entry.problem.message for entry in listed if entry.problem is not None}
        baselines = [entry.baseline for entry in listed if entry.baseline is not None]
        return cls(list(map(BaselineJson.of, baselines)), lost, list(histories))


def baseline_values(baseline: Baseline) -> dict[str, Any]:
    """The same as plain data."""
    return plain_values(BaselineJson.of(baseline))


def listed_values(entries: Iterable[Listed], histories: Iterable[str]) -> dict[str, Any]:
    """All of a store as plain data."""
    return plain_values(BaselinesJson.of(entries, histories))


def _cycles(run: Run) -> int:
    return run.behaviour.select("host", "pid", "cycle").n_unique()


def _mean_ns(run: Run) -> float | None:
    mean = cycle_lengths(run.behaviour).mean()
    return mean if isinstance(mean, float) else None


def _moment(baseline: Baseline) -> datetime:
    return datetime.fromtimestamp(baseline.saved_us / 1e6, tz=timezone.utc)


def saved_text(baseline: Baseline, place: str, store: str | None = None) -> str:
    """That it was saved, how large it is, and what to do with it; `store` was asked for."""
    where = f" --store {shlex.quote(store)}" if store else ""
    doubts = doubts_of(note for run in baseline.runs for note in run.notes)
    name, size = reference(baseline.name), brief_bytes(baseline.size_bytes)
    lines = [
        f"Saved {name} in {place}: {_content_line(baseline)}, {size}",
        *(f"note: {doubt}" for doubt in doubts),
        f"Compare with it:  timesink compare {name} RUN{where}",
    ]
    return "\n".join(lines)


def _content_line(baseline: Baseline) -> str:
    """Recordings, cycles and their length."""
    if baseline.untimed is not None:
        return _untimed_line(baseline.untimed)
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


def _untimed_line(side: UntimedSide) -> str:
    """What a memory snapshot or logs of collectives hold."""
    if isinstance(side, SnapshotSide):
        peaks = [f"{device} {brief_bytes(size)}" for device, size in side.peaks.items()]
        return f"memory snapshot, peak on {join_names(peaks, 2)}" if peaks else "memory snapshot"
    ranks = side.ranks["rank"].n_unique()
    calls = count_noun(side.collectives.height, "collectives")
    return f"log of {calls} of {count_noun(ranks, 'ranks')}"


def row(entry: Listed) -> tuple[str, str, str, str]:
    """Name, moment, size and content for a list; or why it cannot be read."""
    if entry.baseline is None:
        problem = "" if entry.problem is None else entry.problem.message
        return reference(entry.name), "", "", problem
    baseline = entry.baseline
    moment = f"{_moment(baseline):%Y-%m-%d %H:%M} UTC"
    return (
        reference(entry.name),
        moment,
        size_bytes(baseline.size_bytes),
        _content_line(baseline),
    )


def baseline_lines(baseline: Baseline) -> list[str]:
    """What a baseline holds, line by line."""
    facts, size = baseline.facts, size_bytes(baseline.size_bytes)
    versions = [f"{name} {version}" for name, version in facts["versions"].items()]
    options = [f"--marker {baseline.finding.marker}"] if baseline.finding.marker else []
    options += [f"--by {baseline.finding.by}"] if baseline.finding.by else []
    devices = [*facts["devices"], *filter(None, [facts["processor"]])]
    lines = [
        f"{reference(baseline.name)}: {_content_line(baseline)}",
        f"saved {_moment(baseline):%Y-%m-%d %H:%M:%S} UTC by timesink {baseline.timesink}, {size}",
        f"devices: {join_names(devices) or 'not recorded'}",
        *(f"command: {shlex.join(command)}" for command in _commands(baseline)[:1]),
        *([f"versions: {', '.join(versions)}"] if versions else []),
        *([f"steps found with {' '.join(options)}"] if options else []),
    ]
    for run in baseline.runs:
        recording = StoredRecordingJson.of(run)
        rank = "" if run.rank is None else f"rank {run.rank}, "
        mean_ns = recording.mean_cycle_ns
        mean = "" if mean_ns is None else f" of {brief_ns(mean_ns)}"
        steps = count_noun(recording.cycles, "steps")
        calls = [count_noun(getattr(recording, kind), kind) for kind in ("operators", "modules")]
        lines.append(f"  {recording.file}: {rank}{steps}{mean}, {', '.join(calls)}")
    notes = (
        *_notes(baseline),
        *dict.fromkeys(note for run in baseline.runs for note in run.notes),
    )
    return [*lines, *(f"note: {note}" for note in notes)]


def _notes(baseline: Baseline) -> tuple[str, ...]:
    return baseline.notes if baseline.untimed is not None else baseline.side.notes


def _commands(baseline: Baseline) -> list[list[str]]:
    """What was run, as the recorder says it: without words that are secret."""
    recorders = [run.recorded for run in baseline.runs if run.recorded is not None]
    return [list(recorder.command) for recorder in recorders if recorder.command]
