"""Counters of several processes."""

from __future__ import annotations

import polars as pl
import pytest

from shared_resources import Side, anomalies, both
from timesink.analyses.behaviour.counters import LEVELS
from timesink.rules.counter_names import only_own

CORE = "% of a core"


def process_counters(pid: str, **values: float) -> dict[str, float]:
    rows = [(1, name, "Host", CORE, value) for name, value in values.items()]
    process_rows = only_own(pl.DataFrame(rows, schema=LEVELS, orient="row"), pid)
    return dict(process_rows.select("metric", "value").iter_rows())


def test_the_own_process_is_taken_and_its_neighbours_are_not():
    assert process_counters("9", process_cpu_usage_7=1.0, process_cpu_usage_9=2.0) == {
        "process_cpu_usage": 2.0
    }


def test_it_comes_before_a_counter_that_names_none():
    assert process_counters("9", process_cpu_usage=1.0, process_cpu_usage_9=2.0) == {
        "process_cpu_usage": 2.0
    }
    assert process_counters("8", process_cpu_usage=1.0, process_cpu_usage_9=2.0) == {
        "process_cpu_usage": 1.0
    }


@pytest.mark.parametrize("pid", ["9", "host-1/9", ""])
def test_the_only_one_is_taken_whatever_its_number(pid: str):
    assert process_counters(pid, process_cpu_usage_4242=2.0, gpu_usage=5.0) == {
        "process_cpu_usage": 2.0,
        "gpu_usage": 5.0,
    }


def test_of_several_strangers_none_is():
    assert process_counters("9", process_cpu_usage_7=1.0, process_cpu_usage_8=2.0) == {}


def test_no_levels():
    assert only_own(pl.DataFrame(schema=LEVELS), "9").is_empty()


def test_what_a_neighbour_uses_is_not_taken_off_as_own():
    process_load = {"process_cpu_usage_7": (97.0, CORE), "host_cpu_usage": (6.0, "%")}
    quiet = Side(process_load | {"process_cpu_usage_99": (0.0, CORE)})
    loud = {"process_cpu_usage_99": (1400.0, CORE), "host_cpu_usage": (94.0, "%")}
    assert [anomaly.id for anomaly in anomalies(quiet, Side(process_load | loud))] == [
        "cpu_contention"
    ]


def test_what_the_process_itself_uses_is():
    other = {"process_cpu_usage_99": (3.0, CORE)}
    quiet = Side(other | {"process_cpu_usage_7": (97.0, CORE), "host_cpu_usage": (6.0, "%")})
    busy = {"process_cpu_usage_7": (1500.0, CORE), "host_cpu_usage": (94.0, "%")}
    anomaly_list, symptoms = both(quiet, Side(other | busy))
    assert anomaly_list == ()
    assert "process_cpu_usage" in [symptom.metric for symptom in symptoms]


def test_cores_tell_own_load_from_that_of_others():
    base = {"process_cpu_usage_7": (100.0, CORE), "host_cpu_usage": (30.0, "%")}
    # Own use rises by seven cores of 16, which is all of the rise here,
    process_load = {"process_cpu_usage_7": (800.0, CORE), "host_cpu_usage": (73.75, "%")}
    assert anomalies(Side(base), Side(process_load)) == ()
    # and not there.
    more = {"process_cpu_usage_7": (300.0, CORE), "host_cpu_usage": (95.0, "%")}
    assert [anomaly.id for anomaly in anomalies(Side(base), Side(more))] == ["cpu_contention"]


def test_cores_of_a_container_are_not_those_of_the_machine():
    """4 of 64 cores: what the process uses is no 50 % of the machine, and hides nobody."""
    base = Side({"process_cpu_usage_7": (200.0, CORE), "host_cpu_usage": (10.0, "%")}, cores=4)
    new = Side({"process_cpu_usage_7": (200.0, CORE), "host_cpu_usage": (60.0, "%")}, cores=4)
    anomaly_list = anomalies(base, new)
    assert [(anomaly.id, round(anomaly.new)) for anomaly in anomaly_list] == [
        ("cpu_contention", 60)
    ]
