"""A diagnosis as plain values, for JSON: times in microseconds, every number finite or null."""

from __future__ import annotations

from dataclasses import fields
from math import isfinite
from typing import Any

from timesink.analyses.comparison.pair import SteadyTimes
from timesink.analyses.diagnosis.diagnosis import (
    Anomaly,
    Cause,
    Component,
    CycleTime,
    Diagnosis,
    Evidence,
    Symptom,
)

_NS_PER_US = 1000.0


def diagnosis(one: Diagnosis) -> dict[str, Any]:
    """The verdict and all behind it; `docs/comparison_json.md` describes every key.

    >>> from timesink.analyses.diagnosis.diagnosis import CycleTime, Diagnosis
    >>> times = CycleTime(2000.0, 3000.0, 50.0, (40.0, 60.0), 0.001)
    >>> told = diagnosis(Diagnosis("regression", "", times, (), (), (), 1000.0, ()))
    >>> told["verdict"], told["cycle_time"]["new_us"], told["unexplained_us"]
    ('regression', 3.0, 1.0)
    """
    return {
        "verdict": one.verdict,
        "reason": one.reason,
        "cycle_time": _cycle_time(one.cycle_time),
        "attribution": [_component(each) for each in one.attribution],
        "anomalies": [_anomaly(*each) for each in enumerate(one.anomalies, 1)],
        "causes": [_cause(*each) for each in enumerate(one.causes, 1)],
        "unexplained_us": _us(one.unexplained_ns),
        "unexplained": [_part(*each, "delta_us") for each in one.unexplained],
        "symptoms": [_symptom(each) for each in one.symptoms],
        "diagnosis_notes": list(one.notes),
    }


def no_diagnosis() -> dict[str, Any]:
    """The same keys where nothing was diagnosed, as of many roles that were only told apart.

    >>> no_diagnosis()["verdict"] is None
    True
    """
    lists = ("attribution", "anomalies", "causes", "unexplained", "symptoms", "diagnosis_notes")
    single = ("verdict", "reason", "cycle_time", "unexplained_us")
    return {**dict.fromkeys(single), **{name: [] for name in lists}}


def _cycle_time(one: CycleTime) -> dict[str, Any]:
    return {
        "base_us": _us(one.base_ns),
        "new_us": _us(one.new_ns),
        "change_pct": _finite(one.change_pct),
        "ci95_pct": None if one.interval_pct is None else [_finite(x) for x in one.interval_pct],
        "p_value": _finite(one.p_value),
        "steady": None if one.steady is None else _steady(one.steady),
    }


def _steady(one: SteadyTimes) -> dict[str, Any]:
    bounds = one.interval_pct
    return {
        "base_us": _us(one.base_ns),
        "new_us": _us(one.new_ns),
        "change_pct": _finite(one.change_pct),
        "ci95_pct": None if bounds is None else [_finite(bound) for bound in bounds],
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


def _anomaly(rank: int, one: Anomaly) -> dict[str, Any]:
    return {
        "rank": rank,
        "cause": one.cause,
        "device": one.device,
        "metric": one.metric,
        "unit": one.unit,
        "base": _finite(one.base),
        "new": _finite(one.new),
        "effect": _finite(one.severity),
        "q_value": _finite(one.q_value),
        "explained_us": _us(one.explained_ns),
        "process": one.process,
        "sentence": one.sentence,
        "advice": one.advice,
        "evidence": [_evidence(each) for each in one.evidence],
    }


def _cause(rank: int, one: Cause) -> dict[str, Any]:
    return {
        "rank": rank,
        "cause": one.cause,
        "explained_us": _us(one.explained_ns),
        "ci95_us": _interval(one.interval_ns),
        "process": one.process,
        "sentence": one.sentence,
        "advice": one.advice,
        "components": [_part(*each, "explained_us") for each in one.claims],
        "evidence": [_evidence(each) for each in one.evidence],
    }


def _symptom(one: Symptom) -> dict[str, Any]:
    return {
        "device": one.device,
        "metric": one.metric,
        "unit": one.unit,
        "base": _finite(one.base),
        "new": _finite(one.new),
        "process": one.process,
        "sentence": one.sentence,
    }


def _evidence(one: Evidence) -> dict[str, Any]:
    """What is known of it; times of the recording and amounts of time in microseconds."""
    told: dict[str, Any] = {}
    for name in (field.name for field in fields(one)):
        value = getattr(one, name)
        if name.endswith("_ns"):
            told[f"{name.removesuffix('_ns')}_us"] = _us(value)
        elif isinstance(value, float):
            told[name] = _us(value) if one.unit == "ns" else _finite(value)
        else:
            told[name] = "us" if (name, value) == ("unit", "ns") else value
    return {name: value for name, value in told.items() if value is not None}


def _part(component: str, time_ns: float, key: str) -> dict[str, Any]:
    return {"component": component, key: _us(time_ns)}


def _interval(interval_ns: tuple[float, float] | None) -> list[float | None] | None:
    return None if interval_ns is None else [_us(bound) for bound in interval_ns]


def _us(time_ns: float | None) -> float | None:
    return None if time_ns is None else _finite(time_ns / _NS_PER_US)


def _finite(value: float | None) -> float | None:
    """A number JSON can hold."""
    return float(value) if value is not None and isfinite(value) else None
