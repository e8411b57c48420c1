"""The JSON of `timesink kernels`, as records whose fields are the keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType, structs

from timesink.analyses.kernels.join import Join
from timesink.analyses.kernels.roofline import DeviceRoof, Roofline
from timesink.analyses.kernels.usage import DeviceUse
from timesink.answers.common_json import DevicePeaksJson, HealthJson, Rows, rows_of
from timesink.model.findings import KernelAdvice

SCHEMA = "timesink/kernels/1"
GROUPED_BY = {
    "name": "short_name",
    "family": "family",
    "operator": "operator",
    "module": "module",
    "module-class": "module_class",
}
"""What `groups` are by, and the column of calls that says it."""
_DIGITS = 6


class SampleJson(msgspec.Struct, frozen=True):
    """Of a sample: which launches were measured, and how many there are."""

    every: int
    per: str
    calls_seen: int
    kernels_seen: int
    launches_estimated: int


class ThresholdsJson(msgspec.Struct, frozen=True):
    """Below and from which use on a resource counts as little and much used."""

    low_pct: float
    high_pct: float


class DeviceUseJson(msgspec.Struct, frozen=True, kw_only=True):
    """How well the kernels of a device used it."""

    host: str | None
    device: int | None
    name: str | None
    compute_capability: str | None
    calls: int
    launches: int
    """Of a sample an estimate."""
    kernels: int
    untimed_calls: int
    total_ns: int | None
    min_ns: int | None
    max_ns: int | None
    tensor_pct: float | None
    dram_pct: float | None
    sm_pct: float | None
    measured_ns: int
    missing_ns: dict[str, int]
    axis: str
    """What stands for the multiprocessors: `sm`, or `tensor`."""
    class_pct: dict[str, float]
    bins_pct: list[list[float]]
    above_low_pct: dict[str, float]
    headroom_ns: int | None
    headroom_pct: float | None
    intervals_95: dict[str, list[float]] | None
    """Of a sample."""

    @classmethod
    def of(cls, use: DeviceUse) -> DeviceUseJson:
        headroom_pct = None
        if use.headroom_ns is not None and use.measured_ns > 0:
            headroom_pct = rounded(100 * use.headroom_ns / use.measured_ns)
        return cls(
            host=use.host,
            device=use.device,
            name=use.name or None,
            compute_capability=use.compute_capability,
            calls=use.calls,
            launches=use.launches,
            kernels=use.names,
            untimed_calls=use.untimed,
            total_ns=use.total_ns if use.timed else None,
            min_ns=use.min_ns,
            max_ns=use.max_ns,
            tensor_pct=None if use.tensor_pct is None else rounded(use.tensor_pct),
            dram_pct=None if use.dram_pct is None else rounded(use.dram_pct),
            sm_pct=None if use.sm_pct is None else rounded(use.sm_pct),
            measured_ns=use.measured_ns,
            missing_ns=dict(use.missing_ns),
            axis=use.axis,
            class_pct={name: rounded(100 * part) for name, part in use.class_share.items()},
            bins_pct=[[rounded(100 * cell) for cell in row] for row in use.bins],
            above_low_pct={name: rounded(100 * part) for name, part in use.above.items()},
            headroom_ns=use.headroom_ns,
            headroom_pct=headroom_pct,
            intervals_95=None if use.intervals is None else _intervals(use.intervals),
        )


def _intervals(intervals: Mapping[str, tuple[float, float]]) -> dict[str, list[float]]:
    """Shares in percent, under names that say so."""
    return {
        f"{name.removesuffix('_share')}_pct" if is_share else name: [
            rounded(100 * end if is_share else end) for end in ends
        ]
        for name, ends in intervals.items()
        for is_share in (name.endswith("_share"),)
    }


class AdviceJson(msgspec.Struct, frozen=True):
    """What to try on the kernels of a device, units in the keys."""

    rule: str
    host: str | None
    device: int | None
    share_pct: float
    gain_ns: int | None
    """None where no number is honest."""
    gain_basis: str
    kernels: list[str]
    sentence: str
    advice: str

    @classmethod
    def of(cls, advice: KernelAdvice) -> AdviceJson:
        return cls(
            rule=advice.id,
            host=advice.host,
            device=advice.device,
            share_pct=round(advice.share_pct, _DIGITS),
            gain_ns=round(advice.cost_ns) if advice.gain_basis else None,
            gain_basis=advice.gain_basis,
            kernels=list(advice.kernels),
            sentence=advice.sentence,
            advice=advice.advice,
        )


class JoinJson(msgspec.Struct, frozen=True, kw_only=True):
    """How the launches fit those of a timeline: see `Join`."""

    timeline: str | None
    calls: int
    aligned: int
    aligned_share: float
    exact_share: float
    aligned_time_share: float | None
    min_aligned: float
    timeline_calls: int
    timeline_covered_share: float
    steps: list[str]
    refused: bool
    reason: str

    @classmethod
    def of(cls, join: Join, timeline: str | None) -> JoinJson:
        names = (name for name in cls.__struct_fields__ if name not in ("timeline", "steps"))
        values = {name: getattr(join, name) for name in names}
        return cls(timeline=timeline, steps=list(join.steps), **values)


class RooflineJson(msgspec.Struct, frozen=True, kw_only=True):
    """Launches against the roofs of their device; times are null where there are several."""

    peaks: DevicePeaksJson | None
    reason: str
    """Why there are no roofs; empty where there are."""
    total_ns: int | None
    covered_ns: int | None
    roof_ns: float | None
    roof_share_pct: float | None
    bound_ns: dict[str, float] | None
    clock_hz: float | None
    flop: float
    bytes: float
    flop_by_precision: dict[str, float]
    devices: list[DeviceRoof]
    notes: list[str]

    @classmethod
    def of(cls, roofline: Roofline) -> RooflineJson:
        peaks, devices = roofline.peaks, roofline.devices
        flop, moved_bytes = roofline.totals
        figures = dict.fromkeys(_OF_A_DEVICE)
        if len(devices) == 1:
            figures = {name: getattr(devices[0], name) for name in _OF_A_DEVICE}
        return cls(
            peaks=None if peaks is None else DevicePeaksJson.of(peaks),
            reason=roofline.reason,
            **figures,
            flop=flop,
            bytes=moved_bytes,
            flop_by_precision=roofline.flop_by_precision,
            devices=list(devices),
            notes=list(roofline.notes),
        )


_OF_A_DEVICE = ("total_ns", "covered_ns", "roof_ns", "roof_share_pct", "bound_ns", "clock_hz")


class KernelsJson(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `timesink kernels` about one recording."""

    schema: str | UnsetType = UNSET
    """Not of each of several runs."""
    headline: str
    source: str
    format: str
    layout: str | None
    calls: int
    kernels: int
    total_ns: int | None
    sampled: SampleJson | None
    thresholds: ThresholdsJson
    devices: list[DeviceUseJson]
    advice: list[AdviceJson]
    groups: dict[str, Annotated[Rows, rows_of("kernel-use", in_ns=True)]]
    """By name, family, operator, module and module class, as far as these are known."""
    join: JoinJson | None
    roofline: RooflineJson | None
    notes: list[str]
    health: list[HealthJson]


class KernelRunsJson(msgspec.Struct, frozen=True):
    """The answer of `timesink kernels` about several recordings."""

    schema: str
    runs: list[KernelsJson]

    @classmethod
    def of(cls, answers: Iterable[KernelsJson]) -> KernelRunsJson:
        return cls(SCHEMA, [structs.replace(answer, schema=UNSET) for answer in answers])


def rounded(value: float) -> float:
    """A number without the noise of dividing."""
    return round(value, _DIGITS)
