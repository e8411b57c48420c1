"""The JSON of a diagnosis, as records whose fields are the keys.

Times are in microseconds, and every number is finite or null.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from timesink.model.diagnosis import (
    Component,
    CycleKinds,
    Diagnosis,
    EvenPace,
    ProgramChange,
    ProgramEdit,
    SteadyTimes,
)
from timesink.model.findings import Anomaly, Cause, Evidence, Interval, Symptom

NS_PER_US = 1000.0


def us(time_ns: float | None) -> float | None:
    """A time in microseconds."""
    return None if time_ns is None else finite(time_ns / NS_PER_US)


def _rounded_us(time_ns: float) -> float:
    return round(time_ns / NS_PER_US, 3)


def finite(value: float | None) -> float | None:
    """A number JSON can hold."""
    return float(value) if value is not None and isfinite(value) else None


def interval_us(interval_ns: Interval | None) -> list[float | None] | None:
    """An interval of times in microseconds."""
    return None if interval_ns is None else [us(bound) for bound in interval_ns]


def interval_pct(interval: Interval | None) -> list[float | None] | None:
    """An interval of shares."""
    return None if interval is None else [finite(bound) for bound in interval]


class SteadyTimesJson(msgspec.Struct, frozen=True):
    """Mean steps of both sides, and how they changed."""

    base_us: float | None
    new_us: float | None
    change_pct: float | None
    ci95_pct: list[float | None] | None

    @classmethod
    def of(cls, times: SteadyTimes) -> SteadyTimesJson:
        return cls(
            us(times.base_ns),
            us(times.new_ns),
            finite(times.change_pct),
            interval_pct(times.interval_pct),
        )


class CorrectedTimesJson(SteadyTimesJson, frozen=True):
    """Mean steps without profiler overhead."""

    decides: bool
    """Whether verdict and limits are by them."""


class CycleTimeJson(SteadyTimesJson, frozen=True, kw_only=True):
    """How long steps are, and whether that changed."""

    p_value: float | None
    by: str
    runs: list[int]
    """Of either side."""
    outcome: str
    more_runs: int | None
    recorded_us: list[float] | None
    """Means of the recorded steps, which `attribution` is of, where others are judged."""
    steady: SteadyTimesJson | None
    """What is tested: without warm-up and isolated outliers."""
    corrected: CorrectedTimesJson | None

    @classmethod
    def of_diagnosis(cls, diagnosis: Diagnosis) -> CycleTimeJson:
        times, corrected = diagnosis.cycle_time, diagnosis.corrected
        steady = times.steady
        without_overhead = None
        if corrected is not None:
            without_overhead = CorrectedTimesJson(
                us(corrected.base_ns),
                us(corrected.new_ns),
                finite(corrected.change_pct),
                interval_pct(corrected.interval_pct),
                diagnosis.is_without_overhead,
            )
        return cls(
            base_us=us(times.base_ns),
            new_us=us(times.new_ns),
            change_pct=finite(times.change_pct),
            ci95_pct=interval_pct(times.interval_pct),
            p_value=finite(times.p_value),
            by=times.by,
            runs=list(times.runs),
            outcome=times.outcome,
            more_runs=times.more_runs,
            recorded_us=[ns / 1000 for ns in times.recorded_ns or ()] or None,
            steady=None if steady is None else SteadyTimesJson.of(steady),
            corrected=without_overhead,
        )


class ComponentJson(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the step, and what it adds to the change of the mean step."""

    component: str
    part: str
    family: str | None
    base_us: float | None
    new_us: float | None
    delta_us: float | None
    ci95_us: list[float | None] | None
    p_value: float | None
    same_launches_us: float | None

    @classmethod
    def of(cls, component: Component) -> ComponentJson:
        return cls(
            component=component.name,
            part=component.part,
            family=component.family,
            base_us=us(component.base_ns),
            new_us=us(component.new_ns),
            delta_us=us(component.delta_ns),
            ci95_us=interval_us(component.interval_ns),
            p_value=finite(component.p_value),
            same_launches_us=us(component.same_launches_ns),
        )


class EvidenceJson(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one can open and see; keys that do not apply are left out."""

    kind: str
    text: str
    side: str | None = None
    cycle: int | None = None
    start_us: float | None = None
    end_us: float | None = None
    function: str | None = None
    device: str | None = None
    metric: str | None = None
    unit: str | None = None
    base: float | None = None
    new: float | None = None

    @classmethod
    def of(cls, evidence: Evidence) -> EvidenceJson:
        is_time = evidence.unit == "ns"

        def level(value: float | None) -> float | None:
            if not isinstance(value, float):
                return value
            return us(value) if is_time else finite(value)

        return cls(
            kind=evidence.kind,
            text=evidence.text,
            side=evidence.side,
            cycle=evidence.cycle,
            start_us=us(evidence.start_ns),
            end_us=us(evidence.end_ns),
            function=evidence.function,
            device=evidence.device,
            metric=evidence.metric,
            unit="us" if is_time else evidence.unit,
            base=level(evidence.base),
            new=level(evidence.new),
        )


class AnomalyJson(msgspec.Struct, frozen=True, kw_only=True):
    """A resource that is less there than it was."""

    rank: int
    """Place in the list, from 1."""
    cause: str
    device: str
    metric: str
    unit: str | None
    base: float | None
    new: float | None
    effect: float | None
    """Share of its capacity that was lost or taken, 0 to 1."""
    q_value: float | None
    explained_us: float | None
    process: str | None
    sentence: str
    advice: str
    evidence: list[EvidenceJson]

    @classmethod
    def of(cls, rank: int, anomaly: Anomaly) -> AnomalyJson:
        return cls(
            rank=rank,
            cause=anomaly.id,
            device=anomaly.device,
            metric=anomaly.metric,
            unit=anomaly.unit,
            base=finite(anomaly.base),
            new=finite(anomaly.new),
            effect=finite(anomaly.share),
            q_value=finite(anomaly.q_value),
            explained_us=us(anomaly.cost_ns),
            process=anomaly.process,
            sentence=anomaly.sentence,
            advice=anomaly.advice,
            evidence=list(map(EvidenceJson.of, anomaly.evidence)),
        )


class ExplainedJson(msgspec.Struct, frozen=True):
    """What a cause explains of a component."""

    component: str
    explained_us: float | None


class CauseJson(msgspec.Struct, frozen=True, kw_only=True):
    """What explains a part of the change."""

    rank: int
    """Place in the list, from 1."""
    cause: str
    explained_us: float | None
    ci95_us: list[float | None] | None
    process: str | None
    sentence: str
    advice: str
    components: list[ExplainedJson]
    evidence: list[EvidenceJson]

    @classmethod
    def of(cls, rank: int, cause: Cause) -> CauseJson:
        return cls(
            rank=rank,
            cause=cause.id,
            explained_us=us(cause.cost_ns),
            ci95_us=interval_us(cause.interval_ns),
            process=cause.process,
            sentence=cause.sentence,
            advice=cause.advice,
            components=[ExplainedJson(name, us(ns)) for name, ns in cause.claims],
            evidence=list(map(EvidenceJson.of, cause.evidence)),
        )


class UnexplainedJson(msgspec.Struct, frozen=True):
    """Where the part of the change sits that no cause explains."""

    component: str
    delta_us: float | None


class SymptomJson(msgspec.Struct, frozen=True, kw_only=True):
    """A counter that tells of the change and does not explain it."""

    device: str
    metric: str
    unit: str | None
    base: float | None
    new: float | None
    process: str | None
    sentence: str

    @classmethod
    def of(cls, symptom: Symptom) -> SymptomJson:
        return cls(
            device=symptom.device,
            metric=symptom.metric,
            unit=symptom.unit,
            base=finite(symptom.base),
            new=finite(symptom.new),
            process=symptom.process,
            sentence=symptom.sentence,
        )


class DeviceTimeJson(msgspec.Struct, frozen=True):
    """Device time of a typical step."""

    verdict: str
    base_us: float
    new_us: float
    change_pct: float | None
    ci95_pct: Interval | None


class ProgramTimeJson(msgspec.Struct, frozen=True):
    """Change of the mean step, and what of it is in calls that both programs make."""

    device_us: float
    host_us: float
    same_calls_device_us: float
    same_calls_host_us: float


class EditJson(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the new program does otherwise; amounts are changes per step."""

    edit: str
    """A sentence."""
    cause: str
    place: str
    call: str
    base_calls: float
    new_calls: float
    device_us: float
    host_us: float
    launches: float
    waits: float
    bytes: float
    evidence: list[str] | UnsetType = UNSET
    """Sentences; not of `choices`."""

    @classmethod
    def of(cls, edit: ProgramEdit, evidence: list[str] | UnsetType = UNSET) -> EditJson:
        return cls(
            edit=edit.sentence,
            cause=edit.cause,
            place=edit.place,
            call=edit.call,
            base_calls=edit.base_calls,
            new_calls=edit.new_calls,
            device_us=_rounded_us(edit.device_ns),
            host_us=_rounded_us(edit.host_ns),
            launches=edit.launches,
            waits=edit.waits,
            bytes=edit.bytes,
            evidence=evidence,
        )


class ProgramJson(msgspec.Struct, frozen=True, kw_only=True):
    """What the program does otherwise."""

    same: bool
    certain: bool
    """Whether calls of the host were recorded on both sides."""
    device_time: DeviceTimeJson
    change: ProgramTimeJson
    varying: int
    choices: list[EditJson]
    kinds: list[CycleKinds]
    """Step types, the most frequent first."""
    edits: list[EditJson]

    @classmethod
    def of(cls, change: ProgramChange) -> ProgramJson:
        times = change.device_time
        return cls(
            same=change.same,
            certain=change.certain,
            device_time=DeviceTimeJson(
                change.device_verdict,
                _rounded_us(times.base_ns),
                _rounded_us(times.new_ns),
                times.change_pct,
                times.interval_pct,
            ),
            change=ProgramTimeJson(
                _rounded_us(change.device_ns),
                _rounded_us(change.host_ns),
                _rounded_us(change.same_device_ns),
                _rounded_us(change.same_host_ns),
            ),
            varying=change.varying,
            choices=list(map(EditJson.of, change.choices)),
            kinds=list(change.kinds),
            edits=[
                EditJson.of(edit, [proof.text for proof in edit.evidence]) for edit in change.edits
            ],
        )


class DiagnosisJson(msgspec.Struct, frozen=True, kw_only=True):
    """Whether runs differ, where and why; null or empty where roles were explored."""

    verdict: str | None
    reason: str | None
    cycle_time: CycleTimeJson | None
    attribution: list[ComponentJson]
    """Largest first; their `delta_us` add up to the change of the mean step."""
    anomalies: list[AnomalyJson]
    causes: list[CauseJson]
    """Most time first."""
    unexplained_us: float | None
    unexplained: list[UnexplainedJson]
    symptoms: list[SymptomJson]
    paces: list[EvenPace]
    diagnosis_notes: list[str]
    program: ProgramJson | None


def diagnosis_fields(diagnosis: Diagnosis | None) -> dict[str, Any]:
    """The fields of `DiagnosisJson`; of nothing where roles were only distinguished."""
    if diagnosis is None:
        single = ("verdict", "reason", "cycle_time", "unexplained_us", "program")
        return {name: None if name in single else [] for name in DiagnosisJson.__struct_fields__}
    program = diagnosis.program
    return {
        "verdict": diagnosis.verdict,
        "reason": diagnosis.reason,
        "cycle_time": CycleTimeJson.of_diagnosis(diagnosis),
        "attribution": list(map(ComponentJson.of, diagnosis.attribution)),
        "anomalies": [AnomalyJson.of(*entry) for entry in enumerate(diagnosis.anomalies, 1)],
        "causes": [CauseJson.of(*entry) for entry in enumerate(diagnosis.causes, 1)],
        "unexplained_us": us(diagnosis.unexplained_ns),
        "unexplained": [UnexplainedJson(name, us(ns)) for name, ns in diagnosis.unexplained],
        "symptoms": list(map(SymptomJson.of, diagnosis.symptoms)),
        "paces": list(diagnosis.paces),
        "diagnosis_notes": list(diagnosis.notes),
        "program": None if program is None else ProgramJson.of(program),
    }
