"""What a watch writes into its folder, as records whose fields are the keys of the JSON."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from timesink.watcher.expected.live import LiveAlarm
from timesink.watcher.expected.model import LiveModel

Row: TypeAlias = dict[str, Any]


class WatchJson(msgspec.Struct, frozen=True, kw_only=True):
    """The content of watch.json: what is watched, and how."""

    schema: str
    timesink: str
    command: list[str]
    options: Row
    pid: int
    started_us: int
    ended_us: int | None
    exit: Row | None
    """How the program ended: `code` and `signal`."""


class ReferenceJson(msgspec.Struct, frozen=True, kw_only=True):
    """A recording of healthy steps, and what they had to do."""

    name: str
    phase: str
    workload: dict[str, float]
    taken_us: int


class LikenessJson(ReferenceJson, frozen=True, kw_only=True):
    """A reference beside the workload of an incident."""

    same_phase: bool
    differs_most: str | None
    factor: float
    """By how much the column differs that differs most."""


class IncidentHead(msgspec.Struct, frozen=True, kw_only=True):
    """An incident as the status shows it."""

    id: str
    state: str
    """`open` or `closed`."""
    since_us: int
    ended_us: int | None
    cause: str
    phase: str
    expected_us: float
    observed_us: float
    lost_us: float
    folder: str
    slow_rank: int | None


class IncidentSchema(IncidentHead, frozen=True):
    """The version of the file, before the incident."""

    schema: str


class IncidentJson(IncidentSchema, frozen=True, kw_only=True):
    """The content of incident.json."""

    stream: str
    process: int | None
    rank: int | None
    source: str
    workload: dict[str, float]
    raised_us: int
    cycles: int
    rule: str
    alarms: list[LiveAlarm]
    reference: LikenessJson | None
    recording: Row | None
    """What came of recording it."""
    verdict: str | None
    sentence: str | None
    causes: list[Row]
    """As in comparison.json; so are the next two."""
    anomalies: list[Row]
    edits: list[Row]
    notes: list[str]
    cycle_time: Row | None
    files: list[str]
    remarks: list[str]


class WatchedProcessJson(msgspec.Struct, frozen=True, kw_only=True):
    """One process that tells its steps."""

    pid: int
    rank: int | None
    world_size: int | None
    streams: list[int]
    source: str
    cycles: int
    dropped: int
    failed: int
    """Steps whose workload could not be told."""
    last_us: int


class LearnedJson(msgspec.Struct, frozen=True, kw_only=True):
    """How far learning is, and what was learned."""

    cycles: int
    of: int
    seconds_left: float | None
    kind: str | None
    error_pct: float | None
    range_us: tuple[float, float] | None

    @classmethod
    def of_model(
        cls, model: LiveModel | None, cycles: int, of: int, seconds_left: float | None = None
    ) -> LearnedJson:
        """Nulls where nothing was learned yet."""
        return cls(
            cycles=cycles,
            of=of,
            seconds_left=seconds_left,
            kind=None if model is None else model.model.kind,
            error_pct=None if model is None else model.model.error_pct[0],
            range_us=None if model is None else model.range_us,
        )


class PhaseDurationsJson(msgspec.Struct, frozen=True):
    """What all steps of a phase took, as a histogram."""

    sum_us: float
    counts: list[int]


class DurationsJson(msgspec.Struct, frozen=True):
    """What all steps took so far."""

    at_most_us: tuple[float, ...]
    phases: dict[str, PhaseDurationsJson]


class AlarmsJson(msgspec.Struct, frozen=True, kw_only=True):
    """How many alarms were raised, and those that go on."""

    raised: int
    brief: int
    open: list[LiveAlarm]
    last: LiveAlarm | None


class RecorderJson(msgspec.Struct, frozen=True, kw_only=True):
    """Whether incidents are recorded."""

    on: bool
    """Whether one is recorded now."""
    last_us: int | None
    why_not: str | None


class OwnCostJson(msgspec.Struct, frozen=True, kw_only=True):
    """What watching costs."""

    cpu_pct: float | None
    rss_bytes: int | None
    judged_share: float | None


class StatusJson(msgspec.Struct, frozen=True, kw_only=True):
    """The content of status.json, and the answer of `timesink watch status`."""

    schema: str
    state: str
    time_us: int
    started_us: int
    exit: Row | None
    cycles: int
    dropped: int
    invalid_messages: int
    outside: int
    learned: LearnedJson
    processes: list[WatchedProcessJson]
    phases: list[Row]
    durations: DurationsJson
    workload: dict[str, float]
    counters: dict[str, float]
    alarms: AlarmsJson
    incidents: list[IncidentHead]
    incidents_begun: int
    recorder: RecorderJson
    own: OwnCostJson
    references: list[ReferenceJson]
    remarks: list[str]


class SeriesJson(msgspec.Struct, frozen=True, kw_only=True):
    """The content of series.json: curves of a watch, a point per second."""

    schema: str
    started_us: int
    every_s: int
    phases: dict[str, dict[str, list[float | None]]]
    workload: dict[str, list[float | None]]
    counters: dict[str, dict[str, list[float]]]
    alarms: list[Row]
