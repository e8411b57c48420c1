"""A diagnosis as plain values, for JSON: times in microseconds, every number finite or null."""

from __future__ import annotations

from dataclasses import fields
from math import isfinite
from typing import Any

from timesink.model.diagnosis import Component, CycleTime, Diagnosis, SteadyTimes
from timesink.model.findings import Evidence, Finding, Interval

_NS_PER_US = 1000.0


def diagnosis(one: Diagnosis) -> dict[str, Any]:
    """The verdict and all behind it; `docs/comparison_json.md` describes every key."""
    steady = one.cycle_time.steady
    return {
        "verdict": one.verdict,
        "reason": one.reason,
        "cycle_time": {
            **_cycle_time(one.cycle_time, {"p_value": _finite(one.cycle_time.p_value)}),
            "steady": None if steady is None else _cycle_time(steady, {}),
        },
        "attribution": [_component(each) for each in one.attribution],
        "anomalies": [_anomaly(*each) for each in enumerate(one.anomalies, 1)],
        "causes": [_cause(*each) for each in enumerate(one.causes, 1)],
        "unexplained_us": _us(one.unexplained_ns),
        "unexplained": [{"component": name, "delta_us": _us(ns)} for name, ns in one.unexplained],
        "symptoms": [
            {**_counter(each), "process": each.process, "sentence": each.sentence}
            for each in one.symptoms
        ],
        "diagnosis_notes": list(one.notes),
    }


def no_diagnosis() -> dict[str, Any]:
    """The same keys where nothing was diagnosed, as of many roles that were only told apart."""
    lists = ("attribution", "anomalies", "causes", "unexplained", "symptoms", "diagnosis_notes")
    single = ("verdict", "reason", "cycle_time", "unexplained_us")
    return {**dict.fromkeys(single), **{name: [] for name in lists}}


def _cycle_time(one: CycleTime | SteadyTimes, more: dict[str, Any]) -> dict[str, Any]:
    bounds = one.interval_pct
    return {
        "base_us": _us(one.base_ns),
        "new_us": _us(one.new_ns),
        "change_pct": _finite(one.change_pct),
        "ci95_pct": None if bounds is None else [_finite(bound) for bound in bounds],
        **more,
    }


def _component(one: Component) -> dict[str, Any]:
    return {
        "component": one.name,
        "part": one.part,
        "family": one.family,
        "base_us": _us(one.base_ns),
        "new_us": _us(one.new_ns),
        "delta_us": _us(one.delta_ns),
        "ci95_us": _interval(one.interval_ns),
        "p_value": _finite(one.p_value),
        "same_launches_us": _us(one.same_launches_ns),
    }


def _counter(one: Finding) -> dict[str, Any]:
    """The counter of an anomaly or a symptom on both sides."""
    return {
        "device": one.device,
        "metric": one.metric,
        "unit": one.unit,
        "base": _finite(one.base),
        "new": _finite(one.new),
    }


def _anomaly(rank: int, one: Finding) -> dict[str, Any]:
    return {
        "rank": rank,
        "cause": one.id,
        **_counter(one),
        "effect": _finite(one.share),
        "q_value": _finite(one.q_value),
        "explained_us": _us(one.cost_ns),
        "process": one.process,
        "sentence": one.sentence,
        "advice": one.advice,
        "evidence": [_evidence(each) for each in one.evidence],
    }


def _cause(rank: int, one: Finding) -> dict[str, Any]:
    return {
        "rank": rank,
        "cause": one.id,
        "explained_us": _us(one.cost_ns),
        "ci95_us": _interval(one.interval_ns),
        "process": one.process,
        "sentence": one.sentence,
        "advice": one.advice,
        "components": [{"component": name, "explained_us": _us(ns)} for name, ns in one.claims],
        "evidence": [_evidence(each) for each in one.evidence],
    }


def _evidence(one: Evidence) -> dict[str, Any]:
    """What is known of it; times of the recording and amounts of time in microseconds."""
    told: dict[str, Any] = {}
    for name in (field.name for field in fields(one) if field.name != "numbers"):
        value = getattr(one, name)
        if name.endswith("_ns"):
            told[f"{name.removesuffix('_ns')}_us"] = _us(value)
        elif isinstance(value, float):
            told[name] = _us(value) if one.unit == "ns" else _finite(value)
        else:
            told[name] = "us" if (name, value) == ("unit", "ns") else value
    return {name: value for name, value in told.items() if value is not None}


def _interval(interval_ns: Interval | None) -> list[float | None] | None:
    return None if interval_ns is None else [_us(bound) for bound in interval_ns]


def _us(time_ns: float | None) -> float | None:
    return None if time_ns is None else _finite(time_ns / _NS_PER_US)


def _finite(value: float | None) -> float | None:
    """A number JSON can hold."""
    return float(value) if value is not None and isfinite(value) else None
