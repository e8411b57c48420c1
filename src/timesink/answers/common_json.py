"""What the JSON of several answers has in common, as records whose fields are the keys.

`docs/generate_schemas.py` writes the published schemas from these and the records of each answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from timesink.analyses.kernels.peaks import DevicePeaks
from timesink.analyses.replay.own_clock import (
    OwnClock,
    StepTime,
    own_clock,
    own_median_ns,
    step_time,
)
from timesink.model.fitness import Fitness, Reason
from timesink.model.health import HealthEntry
from timesink.model.trace import Trace

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[dict[str, Any]]


def rows_of(table: str, *, in_ns: bool = False) -> msgspec.Meta:
    """For an annotation: that rows have columns of a table of `columns.csv`, or of a schema.

    `docs/generate_schemas.py` says which schema a name in capitals is of.  Lengths of time are in
    microseconds, unless they are as analyses have them (`in_ns`).
    """
    return msgspec.Meta(extra_json_schema={"table": table, "in_ns": in_ns})


class ReasonJson(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a recording lacks or distorts."""

    side: str | UnsetType = UNSET
    """Whose recording it is, where there are several."""
    code: str
    sentence: str
    record: str
    """What to record instead."""
    denies: tuple[str, ...]
    """The questions that cannot be answered because of this."""
    evidence: dict[str, int | float | str]
    """What was measured, under names with the unit."""
    ranks: tuple[int, ...] | UnsetType = UNSET
    """Of a set of ranks: whose recordings show this."""

    @classmethod
    def of(cls, reason: Reason, side: str | UnsetType = UNSET) -> ReasonJson:
        return cls(
            side=side,
            code=reason.code,
            sentence=reason.sentence,
            record=reason.record,
            denies=reason.denies,
            evidence=dict(reason.evidence),
            ranks=reason.ranks or UNSET,
        )


class FitnessJson(msgspec.Struct, frozen=True, kw_only=True):
    """What recordings can answer: the key `recording`."""

    fit: str
    """`yes`, `partly` or `no`; of several the worst."""
    reasons: tuple[ReasonJson, ...]

    @classmethod
    def of(cls, fitness: Fitness) -> FitnessJson:
        return cls(fit=fitness.fit, reasons=tuple(map(ReasonJson.of, fitness.reasons)))

    @classmethod
    def of_sides(cls, sides: Mapping[str, Fitness]) -> FitnessJson:
        """The verdict on several recordings: the worst, and whose each reason is.

        >>> FitnessJson.of_sides({"base": Fitness(), "new": Fitness()})
        FitnessJson(fit='yes', reasons=())
        """
        fits = {fitness.fit for fitness in sides.values()}
        reasons = (
            ReasonJson.of(reason, name)
            for name, fitness in sides.items()
            for reason in fitness.reasons
        )
        return cls(
            fit=next((fit for fit in ("no", "partly") if fit in fits), "yes"),
            reasons=tuple(reasons),
        )


class HealthJson(msgspec.Struct, frozen=True, kw_only=True):
    """What was repaired, lost or looks wrong."""

    code: str
    severity: str
    count: int
    title: str
    example: str
    consequence: str
    advice: str
    ranks: int | UnsetType = UNSET
    """Of a set of ranks: on how many of them."""

    @classmethod
    def of(cls, entry: HealthEntry, ranks: int | UnsetType = UNSET) -> HealthJson:
        rule = entry.rule
        return cls(
            code=entry.code,
            severity=rule.severity.value,
            count=entry.count,
            title=rule.title,
            example=entry.example,
            consequence=rule.consequence,
            advice=rule.advice,
            ranks=ranks,
        )


class ClockJson(msgspec.Struct, frozen=True, kw_only=True):
    """The step time as recorded and without profiler overhead, and how that is known."""

    recorded_cycle_us: float
    """Median of the complete steps."""
    own_cycle_us: float | None
    ci95_us: tuple[float, float] | None
    source: str
    """`measured`, `estimated` or `none`."""
    why: str
    """Why there is no time without profiler overhead; else empty."""
    outside: str
    """Why steps may take as long as recorded all the same; else empty."""
    recorded_step_us: float
    """Mean of the complete steps."""
    corrected_step_us: float | None
    corrected_ci95_us: tuple[float, float] | None
    tables: str | UnsetType = UNSET
    """On which clock tables are."""

    @classmethod
    def of(
        cls, clock: OwnClock, steps: StepTime, own_ns: float | None, tables: str | UnsetType = UNSET
    ) -> ClockJson:
        """Of both clocks; `own_ns` is the median without profiler overhead."""
        return cls(
            recorded_cycle_us=_us(clock.recorded_ns),
            own_cycle_us=None if own_ns is None else _us(own_ns),
            ci95_us=_interval_us(clock.interval_ns),
            source=clock.source,
            why=clock.why,
            outside=clock.outside,
            recorded_step_us=_us(steps.recorded_ns),
            corrected_step_us=None if steps.corrected_ns is None else _us(steps.corrected_ns),
            corrected_ci95_us=_interval_us(steps.interval_ns),
            tables=tables,
        )

    @classmethod
    def of_trace(cls, trace: Trace) -> ClockJson:
        """Of a recording."""
        return cls.of(own_clock(trace), step_time(trace), own_median_ns(trace))


class DevicePeaksJson(msgspec.Struct, frozen=True, kw_only=True):
    """What a device can do at most."""

    device: str
    source: str
    given: tuple[str, ...]
    """Which of them the user said."""
    measured: tuple[str, ...]
    unsure: tuple[str, ...]
    dram_bytes_per_s: float | None
    link_bytes_per_s: float | None
    flop_per_s: dict[str, float]
    """By precision."""
    boost_hz: float | None
    tensor_boost_hz: float | None

    @classmethod
    def of(cls, peaks: DevicePeaks) -> DevicePeaksJson:
        return cls(
            device=peaks.device,
            source=peaks.source,
            given=tuple(peaks.stated),
            measured=tuple(peaks.measured),
            unsure=tuple(peaks.unsure),
            dram_bytes_per_s=peaks.dram_bytes_per_s,
            link_bytes_per_s=peaks.link_bytes_per_s,
            flop_per_s=dict(peaks.flop_per_s),
            boost_hz=peaks.boost_hz,
            tensor_boost_hz=peaks.tensor_boost_hz,
        )


def _us(time_ns: float) -> float:
    return round(time_ns / 1000, 3)


def _interval_us(interval_ns: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval_ns is None else (_us(interval_ns[0]), _us(interval_ns[1]))
