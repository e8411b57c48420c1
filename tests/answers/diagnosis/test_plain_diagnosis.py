"""Diagnoses as plain values."""

from __future__ import annotations

import json
from math import inf, nan
from typing import Any

from diagnosed import MS, clock_anomaly, clock_cause, component, slow_clock, unchanged_diagnosis
from timesink.answers.comparison.diagnosis_json import DiagnosisJson, diagnosis_fields
from timesink.formats.small_files import plain_values
from timesink.model.diagnosis import CycleTime, Diagnosis
from timesink.model.findings import Evidence


def values(diagnosis: Diagnosis | None) -> dict[str, Any]:
    """A diagnosis as JSON has it."""
    return plain_values(DiagnosisJson(**diagnosis_fields(diagnosis)))


def test_times_are_microseconds():
    answer = values(slow_clock())
    assert answer["verdict"] == "regression"
    assert answer["cycle_time"]["base_us"] == 58_700.0
    assert answer["cycle_time"]["ci95_pct"] == [15.8, 30.1]
    assert answer["unexplained_us"] == 8_100.0
    assert answer["unexplained"][0] == {"component": "host_cpu", "delta_us": 8_000.0}
    assert answer["causes"][0]["components"][0]["explained_us"] == 4_000.0


def test_a_component_has_the_family_in_its_name_and_adds_up():
    components = values(slow_clock())["attribution"]
    gemm = components[1]
    assert gemm["component"] == "device_compute/gemm"
    assert gemm["ci95_us"] == [3_500.0, 4_500.0]
    assert gemm["same_launches_us"] == 4_000.0
    assert abs(sum(entry["delta_us"] for entry in components) - 13_400.0) < 1e-6


def test_ranks_are_places_from_one_and_effect_is_severity():
    answer = values(slow_clock(anomalies=(clock_anomaly(), clock_anomaly(device="GPU 1"))))
    assert [row["rank"] for row in answer["anomalies"]] == [1, 2]
    assert answer["anomalies"][0]["effect"] == 0.83
    assert answer["anomalies"][0]["explained_us"] == 5_300.0
    assert answer["causes"][0]["rank"] == 1
    assert answer["causes"][0]["ci95_us"] == [5_100.0, 5_500.0]


def test_evidence_has_no_nulls_and_times_in_microseconds():
    _, gap = values(slow_clock())["causes"][0]["evidence"]
    assert gap == {
        "kind": "place",
        "text": "cycle 3, 12.1 to 27.9 ms",
        "side": "new",
        "cycle": 3,
        "start_us": 12_100.0,
        "end_us": 27_900.0,
    }


def test_amounts_of_time_in_evidence_are_microseconds_too():
    waits = Evidence("function", "waits", unit="ns", base=1000.0, new=5000.0)
    (evidence,) = values(slow_clock(causes=(clock_cause(evidence=(waits,)),)))["causes"][0][
        "evidence"
    ]
    assert (evidence["unit"], evidence["base"], evidence["new"]) == ("us", 1.0, 5.0)


def test_no_number_is_infinite_or_none_at_all():
    odd = slow_clock(
        cycle_time=CycleTime(0.0, MS, inf, (nan, inf), nan),
        attribution=(component("idle", 0, 1, interval_ns=(nan, nan), p_value=nan),),
        anomalies=(clock_anomaly(base=nan, severity=inf),),
    )
    text = json.dumps(values(odd), allow_nan=False)
    assert '"base": null' in text


def test_keys_are_the_same_where_nothing_was_diagnosed():
    assert values(None).keys() == values(unchanged_diagnosis()).keys()
