"""The anatomy of cycles of which only a behaviour table tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from behaviour_rows import behaviour
from behaviours import samples
from timelines import patient
from timesink.analyses.behaviour.anatomy import Anatomy, anatomy_of
from timesink.model.schema import COUNTERS

ON_HOST = {"device": "Host", "metric": None, "mu": None}


def parts(anatomy: Anatomy) -> dict[str, float]:
    return {
        part if family is None else f"{part}/{family}": time
        for part, family, time in anatomy.parts.select("part", "family", "dur_ns").iter_rows()
    }


def counters(*rows: list[dict[str, Any]]) -> pl.DataFrame:
    every = [sample for row in rows for sample in row]
    return pl.DataFrame(every, schema=COUNTERS.schema, strict=False)


def test_parts_follow_each_other_and_the_rest_is_idle() -> None:
    table = behaviour(
        {"function": "sgemm", "dur_ns": 100},
        {"function": "sgemm", "dur_ns": 100, "metric": "gpu_temp"},
        {"function": "cross_device_reduce_1stage", "dur_ns": 50},
        {"function": "Memcpy", "function_class": "gpu_memcpy_h2d", "dur_ns": 10},
        {"function": "read", "function_class": "disk_read_and_write", "dur_ns": 30, **ON_HOST},
        {"function": "runq", "function_class": "runq", "dur_ns": 20, **ON_HOST},
        {"function": "oncpu", "function_class": "oncpu", "dur_ns": 500, **ON_HOST},
    )
    assert parts(anatomy_of(table)) == {
        "device_compute/gemm": 100,
        "exposed_communication": 50,
        "copies": 10,
        "io": 30,
        "run_queue": 20,
        "host_cpu": 500,
        "idle": 290,
    }


def test_what_is_more_than_the_cycle_is_cut() -> None:
    table = behaviour(
        {"function": "sgemm", "dur_ns": 600},
        {"function": "oncpu", "function_class": "oncpu", "dur_ns": 1_500, **ON_HOST},
    )
    assert parts(anatomy_of(table)) == {"device_compute/gemm": 600, "host_cpu": 400}


def test_of_several_devices_the_busiest_counts() -> None:
    table = behaviour(
        {"function": "sgemm", "dur_ns": 600},
        {"function": "sgemm", "dur_ns": 700, "device": "GPU 1"},
    )
    assert parts(anatomy_of(table)) == {"device_compute/gemm": 700, "idle": 300}


def test_a_level_is_the_median_over_functions() -> None:
    rows = [{"function": name, "mu": mu} for name, mu in (("a", 1.0), ("b", 2.0), ("c", 9.0))]
    nothing = {"function": "d", "mu": float("nan")}
    levels = anatomy_of(behaviour(*rows, nothing)).levels
    assert levels.rows() == [(1, "gpu_usage", "GPU 0", "%", 2.0)]


def test_counters_beside_are_added_where_the_table_lacks_them() -> None:
    table = behaviour({"cycle_ts_ns": 0}, ON_HOST | {"metric": "host_cpu_usage", "mu": 3.0})
    every = dict.fromkeys(range(0, 1001, 100), 8.0)
    beside = counters(
        samples("host_cpu_usage", every, None),
        samples("host_mem_available", every, None),
        samples("process_mem_rss", every, "pid 7"),
        samples("process_mem_vms", every, "pid 8"),
        samples("gpu_power", every, None),
    )
    levels = anatomy_of(table, beside).levels.select("metric", "device", "value").rows()
    assert levels == [
        ("gpu_usage", "GPU 0", 50.0),
        ("host_cpu_usage", "Host", 3.0),
        ("host_mem_available", "Host", 8.0),
        ("process_mem_rss", "Host", 8.0),
    ]


def test_a_mix_of_devices_is_added_up_where_that_means_something() -> None:
    def mixed(counter: str) -> list[dict[str, Any]]:
        rounds = range(0, 1001, 100)
        return [
            sample
            for place in (0, 1)
            for sample in samples(counter, {ts + place: 5.0 + place for ts in rounds}, None)
        ]

    beside = counters(mixed("net_rx_rate"), mixed("disk_usage"))
    levels = anatomy_of(behaviour({"cycle_ts_ns": 0}), beside).levels
    assert levels.filter(device="Host").select("metric", "value").rows() == [("net_rx_rate", 11.0)]


_times: st.SearchStrategy[Mapping[str, int]] = st.dictionaries(
    st.sampled_from(
        ["gpu_compute", "gpu_comm", "gpu_memcpy_d2h", "cpu_sync", "runq", "oncpu", "cpu_launch"]
    ),
    st.integers(0, 1_500),
)


@patient
@given(_times)
def test_parts_add_up_to_the_cycle(times: Mapping[str, int]) -> None:
    rows = [
        {"function": kind, "function_class": kind, "dur_ns": time}
        | ({} if kind.startswith("gpu") else ON_HOST)
        for kind, time in times.items()
    ]
    anatomy = anatomy_of(behaviour(*rows, {"function": "x", "function_class": None, "dur_ns": 0}))
    assert anatomy.parts["dur_ns"].sum() == 1_000


def test_an_empty_table_has_an_empty_anatomy() -> None:
    anatomy = anatomy_of(behaviour().clear(), counters())
    assert anatomy.parts.is_empty()
    assert anatomy.cycles.is_empty()
