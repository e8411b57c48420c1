"""Diagnoses made by hand."""

from __future__ import annotations

from typing import Any

from timesink.model.diagnosis import Component, CycleTime, Diagnosis
from timesink.model.findings import Anomaly, Cause, Evidence, Symptom

MS = 1e6
CLOCK = Evidence(
    "counter",
    "gpu_sm_frequency of GPU 0 is at 345 MHz in all cycles",
    device="GPU 0",
    metric="gpu_sm_frequency",
    unit="MHz",
    base=1980.0,
    new=345.0,
)
GAP = Evidence("place", "cycle 3, 12.1 to 27.9 ms", "new", 3, 12_100_000, 27_900_000)


def component(part: str, base_ms: float, new_ms: float, **more: Any) -> Component:
    """A part of the cycle that is known to half a millisecond."""
    part, _, family = part.partition("/")
    delta = (new_ms - base_ms) * MS
    usual = {"interval_ns": (delta - MS / 2, delta + MS / 2), "p_value": 0.001}
    return Component(part, family or None, base_ms * MS, new_ms * MS, **{**usual, **more})


def slow_clock(**parts: Any) -> Diagnosis:
    """A device whose clock was lowered, and a host that became slower for reasons of its own."""
    usual: dict[str, Any] = {
        "verdict": "regression",
        "reason": "Cycles take 23.0 % longer.",
        "cycle_time": CycleTime(58.7 * MS, 72.1 * MS, 22.8, (15.8, 30.1), 0.0002),
        "attribution": (
            component("host_cpu", 44.0, 52.0),
            component("device_compute/gemm", 1.0, 5.0, same_launches_ns=4.0 * MS),
            component("device_compute/attention", 0.7, 2.0, same_launches_ns=0.0),
            component("launch_gap", 8.0, 8.2, interval_ns=None, p_value=None),
            component("copies", 5.0, 4.9),
            component("idle", 0.0, 0.0),
        ),
        "anomalies": (clock_anomaly(),),
        "causes": (clock_cause(),),
        "unexplained_ns": 8.1 * MS,
        "unexplained": (("host_cpu", 8.0 * MS), ("launch_gap", 0.1 * MS)),
        "symptoms": (symptom("GPU 0", "gpu_usage", 5.0, 15.0, "GPU 0 is busy 15 % of the time."),),
        "notes": ("Cycle 1 is warm-up.",),
    }
    return Diagnosis(**{**usual, **parts})


def symptom(
    device: str, metric: str, base: float, new: float, sentence: str = "", **more: Any
) -> Symptom:
    """A counter that changed and explains nothing."""
    fields = {"unit": "%", **more}
    return Symptom(sentence=sentence, device=device, metric=metric, base=base, new=new, **fields)


def _fields(parts: dict[str, Any]) -> dict[str, Any]:
    """Parts under the names that causes have for them."""
    names = {"cause": "id", "explained_ns": "cost_ns", "severity": "share"}
    return {names.get(name, name): value for name, value in parts.items()}


def clock_anomaly(**parts: Any) -> Anomaly:
    usual: dict[str, Any] = {
        "id": "gpu_clock",
        "device": "GPU 0",
        "metric": "gpu_frequency/gpu_sm_frequency",
        "unit": "MHz",
        "base": 1980.0,
        "new": 345.0,
        "share": 0.83,
        "q_value": 1e-6,
        "sentence": "its clock fell: gpu_sm_frequency 1 980 → 345 MHz, and so did its power.",
        "advice": "See `nvidia-smi -q -d CLOCK,PERFORMANCE`: who locked the clock?",
        "evidence": (CLOCK,),
        "cost_ns": 5.3 * MS,
    }
    return Anomaly(**{**usual, **_fields(parts)})


def clock_cause(**parts: Any) -> Cause:
    usual: dict[str, Any] = {
        "id": "gpu_clock",
        "cost_ns": 5.3 * MS,
        "interval_ns": (5.1 * MS, 5.5 * MS),
        "sentence": "kernels take 4 times as long with as many launches.",
        "advice": "See `nvidia-smi -q -d CLOCK,PERFORMANCE`: who locked the clock?",
        "evidence": (CLOCK, GAP),
        "claims": (("device_compute/gemm", 4.0 * MS), ("device_compute/attention", 1.3 * MS)),
    }
    return Cause(**{**usual, **_fields(parts)})


def unchanged_diagnosis(**parts: Any) -> Diagnosis:
    """Two runs that are the same."""
    usual: dict[str, Any] = {
        "verdict": "no_change",
        "reason": "Cycles take as long as before.",
        "cycle_time": CycleTime(58.7 * MS, 58.8 * MS, 0.2, (-1.0, 1.4), 0.8),
        "attribution": (component("host_cpu", 44.0, 44.1),),
        "anomalies": (),
        "causes": (),
        "unexplained_ns": 0.1 * MS,
        "unexplained": (),
    }
    return Diagnosis(**{**usual, **parts})
