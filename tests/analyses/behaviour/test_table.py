"""What functions cost in each cycle, and what their counters read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from behaviours import activity, behaviour, both, call, cycles_at, rows_of, samples, trace_of_rows
from plain_behaviour import functions_by_cycle, level
from recorded_roles import recorded_roles
from timelines import patient
from timesink.analyses.behaviour.classes import load_classes
from timesink.analyses.behaviour.table import NOTHING_RECORDED
from timesink.model.recorded_run import RecordedRun, RunCounters, RunDevice, RunProcess
from timesink.model.schema import BEHAVIOUR

TWO_CYCLES = cycles_at((0, 100), (100, 200))


def launch_event(correlation: int, ts: int) -> dict:
    return call("cudaLaunchKernel", ts, 5, "runtime", correlation=correlation)


def test_shares_and_calls_of_device_work_count_where_it_was_launched():
    trace = trace_of_rows(
        [launch_event(1, 10), launch_event(2, 90)],
        [activity("gemm", 20, 30, correlation=1), activity("gemm", 120, 40, correlation=2)],
    )
    rows = rows_of(behaviour(trace, TWO_CYCLES), function="gemm")
    assert [(row["cycle"], row["beta_pct"], row["calls"], row["dur_ns"]) for row in rows] == [
        (1, 70.0, 2, 70)
    ]
    assert (rows[0]["device"], rows[0]["function_class"]) == ("GPU 0", "gpu_compute")


def test_device_work_without_a_launch_counts_where_it_starts_and_is_mentioned():
    trace = trace_of_rows(device=[activity("gemm", 120, 40)])
    result = behaviour(trace, TWO_CYCLES)
    assert [row["cycle"] for row in rows_of(result, function="gemm")] == [2]
    assert any("of their start: 1 device activity" in note for note in result.notes)


def test_work_outside_of_cycles_is_mentioned():
    trace = trace_of_rows([call("mm", 500, 5)], [activity("gemm", 300, 40)])
    result = behaviour(trace, TWO_CYCLES)
    assert {row["function"] for row in rows_of(result)} == {NOTHING_RECORDED}
    assert sum("outside of all steps" in note for note in result.notes) == 2


def test_one_call_of_thousands_outside_of_cycles_is_no_news():
    inside = [call("mm", ts, 1) for ts in range(2, 200, 2)] * 20
    result = behaviour(trace_of_rows([*inside, call("cudaDeviceSynchronize", 500, 5)]), TWO_CYCLES)
    assert not any("outside of all cycles" in note for note in result.notes)


def test_a_cycle_without_work_has_a_row():
    rows = rows_of(behaviour(trace_of_rows([call("mm", 10, 5)]), TWO_CYCLES), cycle=2)
    assert [(row["function"], row["calls"], row["beta_pct"]) for row in rows] == [
        (NOTHING_RECORDED, 0, 0.0)
    ]


def test_without_cycles_there_is_nothing():
    trace = trace_of_rows([call("mm", 10, 5)], [activity("gemm", 10, 5)])
    result = behaviour(trace, cycles_at())
    assert result.table.is_empty()
    assert dict(result.table.schema) == BEHAVIOUR.schema


def test_an_empty_recording_has_empty_cycles():
    rows = rows_of(behaviour(trace_of_rows(), TWO_CYCLES))
    assert [row["function"] for row in rows] == [NOTHING_RECORDED] * 2


def test_host_calls_count_without_what_they_call():
    host = [call("step", 0, 100, "annotation"), call("linear", 10, 50), call("mm", 20, 30)]
    rows = rows_of(behaviour(trace_of_rows(host), TWO_CYCLES), cycle=1)
    assert {row["function"]: row["dur_ns"] for row in rows} == {"step": 50, "linear": 20, "mm": 30}
    assert sum(row["beta_pct"] for row in rows) == 100


def test_calls_that_last_into_another_cycle_are_cut():
    rows = rows_of(behaviour(trace_of_rows([call("main", 50, 80)]), TWO_CYCLES), function="main")
    assert [(row["cycle"], row["dur_ns"], row["calls"]) for row in rows] == [
        (1, 50, 1),
        (2, 30, 0),
    ]


def test_names_of_kernels_are_shortened_and_others_are_not():
    trace = trace_of_rows(
        [call("train.py(12): main", 0, 90, "python_function")],
        [activity("void at::native::reduce_kernel<512, 1>(int)", 10, 20)],
    )
    rows = rows_of(behaviour(trace, TWO_CYCLES), cycle=1)
    assert {row["short_name"] for row in rows} == {"train.py(12): main", "reduce_kernel"}


def test_numbered_marks_are_one_function():
    host = [call(f"decode bs={size}", 100 * size, 90, "annotation") for size in range(3)]
    cycles = cycles_at(*((100 * size, 100 * size + 90) for size in range(3)))
    numbered = cycles.table.with_columns(name=pl.format("decode bs={}", pl.col("cycle") - 1))
    result = behaviour(trace_of_rows(host), structs.replace(cycles, table=numbered))
    assert {row["function"] for row in rows_of(result)} == {"decode bs=#"}


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e12 / 7])
def test_a_constant_counter_is_exactly_that(value: float):
    values = dict.fromkeys(range(0, 200, 7), value)
    device = [activity("gemm", start, 1 + start * start % 37) for start in range(0, 160, 3)]
    trace = trace_of_rows(device=device, counters=samples("gpu_usage", values))
    rows = rows_of(behaviour(trace, TWO_CYCLES))
    assert {(row["mu"], row["sigma"]) for row in rows} == {(value, 0.0)}


@pytest.mark.parametrize("value", [0.7, 1 / 3, 1e-9 / 7])
def test_a_counter_constant_in_one_cycle_is_exactly_that_there(value: float):
    values = {ts: 1e9 / (7 + ts) if ts < 100 else value for ts in range(0, 200, 7)}
    trace = trace_of_rows(
        device=[activity("gemm", 5, 90), activity("gemm", 108, 80)],
        counters=samples("gpu_usage", values),
    )
    (row,) = rows_of(behaviour(trace, TWO_CYCLES), cycle=2)
    assert (row["mu"], row["sigma"], row["interpolated"]) == (value, 0.0, "none")


def test_a_call_with_three_samples_has_their_mean():
    trace = trace_of_rows(
        device=[activity("gemm", 10, 20)],
        counters=samples("gpu_usage", {0: 0, 10: 1, 20: 2, 30: 6, 40: 0}),
    )
    (row,) = rows_of(behaviour(trace, TWO_CYCLES), cycle=1)
    assert row["mu"] == pytest.approx(3)
    assert row["sigma"] == pytest.approx((14 / 3) ** 0.5)
    assert row["interpolated"] == "none"


def test_a_short_call_has_the_values_at_its_ends():
    trace = trace_of_rows(
        device=[activity("gemm", 12, 4)], counters=samples("gpu_usage", {10: 0, 20: 10})
    )
    (row,) = rows_of(behaviour(trace, TWO_CYCLES), cycle=1)
    assert (row["mu"], row["sigma"], row["interpolated"]) == (4, 2, "all")


def test_interpolation_is_marked_for_each_metric():
    trace = trace_of_rows(
        device=[activity("gemm", 10, 20), activity("gemm", 40, 1)],
        counters=[
            *samples("gpu_usage", dict.fromkeys(range(0, 100, 5), 1)),
            *samples("gpu_temp", {0: 40, 50: 41}),
        ],
    )
    marks = {
        row["metric"]: row["interpolated"] for row in rows_of(behaviour(trace, TWO_CYCLES), cycle=1)
    }
    assert marks == {"gpu_usage": "some", "gpu_temp": "all"}


def test_a_sample_too_far_away_says_nothing():
    trace = trace_of_rows(
        device=[activity("gemm", 10, 5), activity("gemm", 150, 5)],
        counters=samples("gpu_usage", {0: 1, 10: 1, 20: 1}),
    )
    rows = rows_of(behaviour(trace, TWO_CYCLES))
    assert [(row["cycle"], row["metric"]) for row in rows] == [(1, "gpu_usage"), (2, None)]


def test_functions_without_metrics_keep_their_time():
    trace = trace_of_rows(
        [call("cudaStreamSynchronize", 10, 30, "runtime")],
        counters=samples("host_cpu_usage", {0: 5, 50: 5}, "Host"),
    )
    (row,) = rows_of(behaviour(trace, TWO_CYCLES), cycle=1)
    assert (row["function_class"], row["metric"], row["dur_ns"]) == ("cpu_sync", None, 30)
    assert (row["mu"], row["unit"], row["interpolated"]) == (None, None, "none")


def test_without_counters_there_are_times_and_a_note():
    result = behaviour(trace_of_rows(device=[activity("gemm", 10, 20)]), TWO_CYCLES)
    assert [row["metric"] for row in rows_of(result)] == [None, None]
    assert any("times only" in note for note in result.notes)


def test_counters_of_another_time_are_mentioned():
    trace = trace_of_rows(
        device=[activity("gemm", 10, 20)],
        counters=samples("gpu_usage", {10**12: 1, 10**12 + 5: 1}),
    )
    assert any("another clock" in note for note in behaviour(trace, TWO_CYCLES).notes)


def test_counters_nobody_reads_are_mentioned():
    trace = trace_of_rows(
        device=[activity("gemm", 10, 20)],
        counters=[*samples("gpu_usage", {10: 1}), *samples("fan_speed", {10: 1})],
    )
    (note,) = (n for n in behaviour(trace, TWO_CYCLES).notes if "fan_speed" in n)
    assert "no function here reads counter fan_speed" in note


def test_counters_of_the_recorder_are_no_news_and_others_beside_them_are():
    trace = trace_of_rows(
        device=[activity("gemm", 10, 20)],
        counters=[
            *samples("gpu_usage", {10: 1}),
            *samples("disk_util_pct", {10: 1}, "Host"),
            *samples("fan_speed", {10: 1}),
        ],
    )
    run = RecordedRun(counters=RunCounters(recorded=("gpu_usage", "disk_util_pct")))
    by_recorder = replace(trace, metadata=replace(trace.metadata, run=run))
    (note,) = (n for n in behaviour(by_recorder, TWO_CYCLES).notes if "--map" in n)
    assert note.startswith("no function here reads counter fan_speed;")


def test_threads_on_cpu_are_summed_for_time_and_merged_for_counters():
    host = [
        call("oncpu", 0, 40, "other", tid="1"),
        call("oncpu_2", 20, 40, "other", tid="2"),
        call("oncpu", 80, 20, "other", tid="1"),
    ]
    counters = samples("cpu_frequency", {0: 10, 20: 20, 40: 30, 60: 40, 80: 0, 100: 0}, "Host")
    (row,) = rows_of(behaviour(trace_of_rows(host, counters=counters), TWO_CYCLES), cycle=1)
    assert (row["function"], row["beta_pct"], row["calls"]) == ("oncpu", 100.0, 3)
    # Four samples in 0 to 60, the ends of 80 to 100; weights 60 and 20.
    assert row["mu"] == pytest.approx((25 * 60 + 0 * 20) / 80)


def test_threads_that_take_turns_are_read_one_by_one():
    host = [call("oncpu", 0, 20, "other"), call("oncpu", 20, 20, "other")]
    counters = samples("cpu_frequency", {0: 0, 20: 10, 40: 40}, "Host")
    (row,) = rows_of(behaviour(trace_of_rows(host, counters=counters), TWO_CYCLES), cycle=1)
    assert (row["mu"], row["interpolated"]) == ((5 + 25) / 2, "all")


# -- which counters --------------------------------------------------------------------------------


def test_counters_of_a_device_belong_to_its_work():
    trace = trace_of_rows(
        device=[activity("gemm", 10, 20, device=number) for number in (0, 1)],
        counters=[
            *samples("gpu_usage", {10: 5}, "GPU 0"),
            *samples("gpu_usage", {10: 7}, "GPU 1"),
        ],
    )
    rows = rows_of(behaviour(trace, TWO_CYCLES), function="gemm")
    assert {row["device"]: row["mu"] for row in rows} == {"GPU 0": 5, "GPU 1": 7}


def test_a_single_device_is_the_one_that_was_sampled():
    trace = trace_of_rows(
        device=[activity("gemm", 10, 20)], counters=samples("gpu_usage", {10: 5}, "GPU 7")
    )
    result = behaviour(trace, TWO_CYCLES)
    assert [row["device"] for row in rows_of(result, function="gemm")] == ["GPU 7"]
    assert any("taken for GPU 7" in note for note in result.notes)


def test_counters_in_the_trace_name_devices_and_processes_by_number():
    trace = trace_of_rows(
        [call("mm", 10, 20)],
        [activity("gemm", 10, 20)],
        [
            *samples("gpu_usage", {10: 5}, "0"),
            *samples("process_cpu_usage", {10: 90}, "1"),
            *samples("host_cpu_usage", {10: 3}, None),
        ],
    )
    rows = rows_of(behaviour(trace, TWO_CYCLES), cycle=1)
    assert {(row["function"], row["metric"], row["mu"]) for row in rows} == {
        ("gemm", "gpu_usage", 5),
        ("mm", "process_cpu_usage", 90),
        ("mm", "host_cpu_usage", 3),
    }


def test_processes_read_their_own_counters():
    host = [call("mm", 10, 20, pid=pid) for pid in ("1", "2")]
    counters = [
        *samples("process_cpu_usage", {10: 10}, "pid 1"),
        *samples("process_cpu_usage", {10: 20}, "pid 2"),
    ]
    cycles = both(cycles_at((0, 100)), cycles_at((5, 55), pid="2"))
    rows = rows_of(behaviour(trace_of_rows(host, counters=counters), cycles))
    assert [(row["pid"], row["mu"], row["beta_pct"]) for row in rows] == [
        ("1", 10, 20.0),
        ("2", 20, 40.0),
    ]


def test_a_single_process_is_the_one_that_was_sampled():
    trace = trace_of_rows(
        [call("mm", 10, 20)], counters=samples("process_cpu_usage", {10: 80}, "pid 944615")
    )
    result = behaviour(trace, TWO_CYCLES)
    assert [row["mu"] for row in rows_of(result, function="mm")] == [80]
    assert any("pid 944615" in note for note in result.notes)


def test_processes_without_cycles_are_mentioned():
    trace = trace_of_rows([call("mm", 10, 20), call("mm", 10, 20, pid="2")])
    assert any("process 2" in note for note in behaviour(trace, TWO_CYCLES).notes)


def test_processes_that_each_see_a_device_0_are_told_apart_by_the_machine():
    device = [activity("gemm", 10, 20, pid=pid) for pid in ("1", "2")]
    counters = [
        *samples("gpu_usage", {10: 60}, "GPU 6"),
        *samples("gpu_usage", {10: 70}, "GPU 7"),
    ]
    trace = trace_of_rows(device=device, counters=counters)
    extra = {"topology": {"gpus_of_process": {"1": 6, "2": "7"}}}
    trace = replace(trace, metadata=replace(trace.metadata, extra=extra))
    cycles = both(cycles_at((0, 100)), cycles_at((0, 100), pid="2"))
    rows = rows_of(behaviour(trace, cycles))
    assert [(row["pid"], row["device"], row["mu"]) for row in rows] == [
        ("1", "GPU 6", 60),
        ("2", "GPU 7", 70),
    ]


def test_a_recorded_process_that_was_shown_one_device_reads_the_counters_of_that_one():
    counters = [
        *samples("gpu_usage", {10: 60}, "GPU 0"),
        *samples("gpu_usage", {10: 70}, "GPU 1"),
    ]
    trace = trace_of_rows(device=[activity("gemm", 10, 20)], counters=counters)
    seen = tuple(RunDevice(f"GPU {number}", uuid=f"GPU-{number}") for number in range(2))
    run = RecordedRun(processes=(RunProcess(pid=1, devices=("GPU-1",)),), devices=seen)
    trace = replace(trace, metadata=replace(trace.metadata, run=run))
    result = behaviour(trace, TWO_CYCLES)
    assert [(row["device"], row["mu"]) for row in rows_of(result, function="gemm")] == [
        ("GPU 1", 70)
    ]
    assert not any("counters of 2 devices" in note for note in result.notes)


def test_several_sampled_devices_and_one_in_the_trace_leave_a_doubt():
    counters = [
        *samples("gpu_usage", {10: 60}, "GPU 0"),
        *samples("gpu_usage", {10: 70}, "GPU 7"),
    ]
    result = behaviour(
        trace_of_rows(device=[activity("gemm", 10, 20)], counters=counters), TWO_CYCLES
    )
    assert [row["mu"] for row in rows_of(result, function="gemm")] == [60]
    assert any("counters of 2 devices" in note for note in result.notes)


def test_a_process_on_a_named_host():
    cycles = cycles_at((0, 100), pid="node1(1234)")
    trace = trace_of_rows(
        [call("mm", 10, 20, pid="node1(1234)")],
        counters=samples("process_cpu_usage", {10: 80}, "pid 1234"),
    )
    (row,) = rows_of(behaviour(trace, cycles))
    assert (row["host"], row["pid"], row["mu"]) == ("node1", "1234", 80)


def test_machines_of_one_recording_read_their_own_counters():
    host = [
        call("cudaLaunchKernel", 10, 5, "runtime", pid=f"{node}(7)", correlation=number)
        for number, node in enumerate(("node1", "node2"), 1)
    ]
    device = [
        activity("gemm", 20, 30, pid=f"{node}(7)", correlation=number)
        for number, node in enumerate(("node1", "node2"), 1)
    ]
    counters = [
        *samples("gpu_usage", {20: 5}, "GPU 0 on node1"),
        *samples("gpu_usage", {20: 9}, "GPU 0 on node2"),
        *samples("gpu_usage", {20: 7}, "GPU 0"),
    ]
    cycles = both(cycles_at((0, 100), pid="node1(7)"), cycles_at((0, 100), pid="node2(7)"))
    rows = rows_of(behaviour(trace_of_rows(host, device, counters), cycles), function="gemm")
    assert [(row["host"], row["pid"], row["device"], row["mu"]) for row in rows] == [
        ("node1", "7", "GPU 0", 5),
        ("node2", "7", "GPU 0", 9),
    ]


def test_work_goes_to_the_process_that_launched_it():
    host = [
        call("cudaLaunchKernel", 10, 5, "runtime", pid=pid, correlation=correlation)
        for pid, correlation in (("1", 11), ("2", 22))
    ]
    device = [activity("gemm", 20, 30, correlation=11), activity("gemm", 60, 10, correlation=22)]
    cycles = both(cycles_at((0, 100)), cycles_at((0, 100), pid="2"))
    rows = rows_of(behaviour(trace_of_rows(host, device), cycles), function="gemm")
    assert [(row["pid"], row["dur_ns"]) for row in rows] == [("1", 30), ("2", 10)]


def test_cycles_of_a_kernel_sequence_hold_what_runs_in_them():
    trace = trace_of_rows(
        [launch_event(1, 10), launch_event(2, 20)],
        [activity("gemm", 20, 30, correlation=1), activity("gemm", 120, 40, correlation=2)],
    )
    result = behaviour(trace, cycles_at((0, 100), (100, 200), pid="0", on_device=True))
    assert [row["dur_ns"] for row in rows_of(result, function="gemm")] == [30, 40]
    assert [row["calls"] for row in rows_of(result, function="cudaLaunchKernel")] == [2]


def test_a_map_of_ones_own(tmp_path: Path):
    map_file = tmp_path / "map.csv"
    map_file.write_text("class,metric\ngpu_compute,fan_*\n")
    trace = trace_of_rows(
        device=[activity("gemm", 10, 20)],
        counters=[*samples("gpu_usage", {10: 1}), *samples("fan_speed", {10: 2})],
    )
    rows = rows_of(behaviour(trace, TWO_CYCLES, load_classes(map_file)), cycle=1)
    assert [row["metric"] for row in rows] == ["fan_speed"]


def test_rows_are_ordered_and_typed():
    trace = trace_of_rows(
        [call("mm", 10, 20), call("add", 40, 30)],
        counters=[
            *samples("process_cpu_usage", {10: 90}, "Host"),
            *samples("host_cpu_usage", {10: 3}, "Host"),
        ],
    )
    table = behaviour(trace, TWO_CYCLES).table
    assert dict(table.schema) == BEHAVIOUR.schema
    assert table.select("cycle", "function", "metric").cast(pl.String).rows() == [
        ("1", "add", "host_cpu_usage"),
        ("1", "add", "process_cpu_usage"),
        ("1", "mm", "host_cpu_usage"),
        ("1", "mm", "process_cpu_usage"),
        ("2", NOTHING_RECORDED, None),
    ]


# -- against the definitions -----------------------------------------------------------------------


def _without_crossing(rows: list[dict]) -> list[dict]:
    plain_rows: list[dict] = []
    for row in rows:
        start, end = row["ts_ns"], row["ts_ns"] + row["dur_ns"]
        crosses = any(
            other["tid"] == row["tid"]
            and (
                start < other["ts_ns"] < end < other["ts_ns"] + other["dur_ns"]
                or other["ts_ns"] < start < other["ts_ns"] + other["dur_ns"] < end
            )
            for other in plain_rows
        )
        if not crosses:
            plain_rows.append(row)
    return plain_rows


_times = {"ts_ns": st.integers(0, 90), "dur_ns": st.integers(0, 40)}
_operators = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["operator", "runtime", "annotation"]),
        "name": st.sampled_from(["mm", "add", "forward"]),
        "tid": st.sampled_from(["1", "2"]),
        **_times,
    }
)
_on_cpu = st.fixed_dictionaries(
    {"kind": st.just("other"), "name": st.just("oncpu"), "tid": st.just("9"), **_times}
)
_kernels = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["gemm", "relu"]), "launch": st.none() | st.integers(0, 90)}
        | _times
    ),
    max_size=6,
)
_cycle_borders = st.lists(st.integers(0, 100), min_size=2, max_size=6, unique=True).map(sorted)
_sampled = st.dictionaries(st.integers(0, 110), st.integers(0, 5), min_size=1, max_size=12)


@patient
@given(
    st.lists(_operators, max_size=8).map(_without_crossing),
    st.lists(_on_cpu, max_size=4),
    _kernels,
    _cycle_borders,
    _sampled,
)
def test_agrees_with_the_definitions(operators, on_cpu, kernels, borders, values):
    calls = [{"pid": "1", **row} for row in [*operators, *on_cpu]]
    launches = [
        call("cudaLaunchKernel", row["launch"], 0, "driver", tid="3", correlation=number)
        for number, row in enumerate(kernels, 1)
        if row["launch"] is not None
    ]
    work = [
        activity(row["name"], row["ts_ns"], row["dur_ns"], correlation=number)
        for number, row in enumerate(kernels, 1)
    ]
    spans = list(zip(borders[::2], borders[1::2], strict=False))
    counters = [
        *samples("gpu_usage", values),
        *samples("host_cpu_usage", values, "Host"),
    ]
    result = behaviour(trace_of_rows([*calls, *launches], work, counters), cycles_at(*spans))
    row_by_function = {
        (row["cycle"], row["function"]): row
        for row in rows_of(result)
        if row["function"] != NOTHING_RECORDED
    }
    plain = functions_by_cycle([*calls, *launches], work, spans)
    lengths = {number: end - start for number, (start, end) in enumerate(spans, 1)}
    merged = _merged_classes(result)
    assert set(row_by_function) == set(plain)
    for key, function in plain.items():
        row, share = merged[key], 100 * function.time / lengths[key[0]]
        assert (row["dur_ns"], row["calls"]) == (function.time, function.calls)
        assert row["beta_pct"] == pytest.approx(share)
        if row["parts"] == 1:
            _check_level(row, level(function.spans, sorted(values.items())))


def _merged_classes(result) -> dict:
    """Rows of one name under several classes put together; `parts` says of how many."""
    merged: dict = {}
    for row in rows_of(result):
        key = row["cycle"], row["function"]
        if key not in merged:
            merged[key] = {**row, "parts": 1}
            continue
        for name in ("dur_ns", "calls", "beta_pct", "parts"):
            merged[key][name] += row.get(name, 1)
    return merged


def _check_level(row: dict, expected: tuple[float, float, str] | None) -> None:
    if expected is None:
        assert row["metric"] is None
        return
    mean, spread, mark = expected
    assert row["mu"] == pytest.approx(mean, abs=1e-9)
    assert row["sigma"] == pytest.approx(spread, abs=1e-7)
    assert row["interpolated"] == mark


@patient
@given(_kernels, _cycle_borders, _sampled, st.floats(-1e12, 1e12, allow_nan=False))
def test_a_constant_counter_is_always_exact(kernels, borders, values, constant):
    work = [activity(row["name"], row["ts_ns"], row["dur_ns"]) for row in kernels]
    spans = list(zip(borders[::2], borders[1::2], strict=False))
    counters = samples("gpu_usage", dict.fromkeys(values, constant))
    result = behaviour(trace_of_rows(device=work, counters=counters), cycles_at(*spans))
    measured = [row for row in rows_of(result) if row["metric"] is not None]
    assert all((row["mu"], row["sigma"]) == (constant, 0.0) for row in measured)


# -- real recordings -------------------------------------------------------------------------------


def test_shares_of_a_real_run_add_up(shared_root: Path):
    table = recorded_roles(shared_root / "data/h200/faults/normal")[0].behaviour
    once = table.unique(["cycle", "function", "function_class", "device"])
    host = once.filter(pl.col("device").cast(pl.String) == "Host")
    shares = host.group_by("cycle").agg(pl.col("beta_pct").sum())["beta_pct"]
    assert shares.to_list() == pytest.approx([100.0] * 30)
    gpu = once.filter(pl.col("device").cast(pl.String) != "Host")
    assert gpu["calls"].sum() == 16290 + 60 + 30
