"""Every counter of every device, once per cycle."""

from __future__ import annotations

from dataclasses import replace

from behaviours import activity, call, cycles_at, samples, trace_of_rows
from timesink.analyses.behaviour.recorded_anatomy import anatomies
from timesink.model.recorded_run import RecordedRun, RunCycles, RunOverhead
from timesink.model.trace import Device, Trace

HOST = [call("step", 0, 100, "annotation"), call("step", 100, 100, "annotation")]
KERNEL = activity("sgemm", 0, 10)


def steady(value: float) -> dict[int, float]:
    return dict.fromkeys(range(0, 201, 20), value)


def levels(trace: Trace) -> list[tuple[str, str, float]]:
    (anatomy,) = anatomies(trace, cycles_at((0, 100), (100, 200))).values()
    assert anatomy.levels["cycle"].to_list() == sorted([1, 2] * (anatomy.levels.height // 2))
    return anatomy.levels.filter(cycle=1).select("metric", "device", "value").rows()


def test_counters_no_function_uses_are_there_too() -> None:
    counters = samples("gpu_throttle_reasons", steady(4.0)) + samples("disk_io", steady(7), "Host")
    assert levels(trace_of_rows(HOST, [KERNEL], counters)) == [
        ("disk_io", "Host", 7.0),
        ("gpu_throttle_reasons", "GPU 0", 4.0),
    ]


def test_a_level_is_the_mean_while_the_cycle_lasts() -> None:
    counters = samples("gpu_usage", {0: 0, 50: 30, 100: 60, 150: 60, 200: 60})
    (anatomy,) = anatomies(
        trace_of_rows(HOST, [KERNEL], counters), cycles_at((0, 100), (100, 200))
    ).values()
    assert anatomy.levels["value"].to_list() == [30.0, 60.0]
    assert anatomy.levels["unit"].to_list() == ["%", "%"]


def test_a_mask_has_no_mean() -> None:
    masks = {0: 0, 20: 72, 48: 72, 60: 0, 80: 0, 120: 4, 149: 0, 152: 4, 180: 72}
    trace = trace_of_rows(HOST, [KERNEL], samples("gpu_throttle_reasons", masks))
    (anatomy,) = anatomies(trace, cycles_at((0, 100), (100, 200))).values()
    assert anatomy.levels["value"].to_list() == [72.0, 0.0]


def test_a_counter_of_the_process_comes_before_that_of_the_host() -> None:
    counters = samples("cpu_usage", steady(10), "pid 1") + samples("cpu_usage", steady(90), "Host")
    counters += samples("cpu_usage", steady(50), "pid 2")
    assert levels(trace_of_rows(HOST, [KERNEL], counters)) == [("cpu_usage", "Host", 10.0)]


def test_devices_the_process_does_not_use_say_nothing_about_it() -> None:
    counters = samples("gpu_usage", steady(10)) + samples("gpu_usage", steady(90), "GPU 3")
    assert levels(trace_of_rows(HOST, [KERNEL], counters)) == [("gpu_usage", "GPU 0", 10.0)]
    two = [KERNEL, activity("sgemm", 20, 10, device=3)]
    assert [row[1] for row in levels(trace_of_rows(HOST, two, counters))] == ["GPU 0", "GPU 3"]


def test_counters_without_a_device_are_those_of_the_only_one() -> None:
    counters = samples("gpu_usage", steady(10), None) + samples("host_cpu_usage", steady(5), None)
    assert levels(trace_of_rows(HOST, [KERNEL], counters)) == [
        ("gpu_usage", "GPU 0", 10.0),
        ("host_cpu_usage", "Host", 5.0),
    ]


def test_no_counters_no_levels() -> None:
    assert levels(trace_of_rows(HOST, [KERNEL])) == []


def test_the_hardware_is_what_the_recording_says() -> None:
    trace = trace_of_rows(HOST, [KERNEL])
    about = replace(
        trace.metadata,
        devices=(Device(0, "NVIDIA H200"), Device(1, "NVIDIA H200")),
        extra={"host": {"cpu_count": 16}},
    )
    (anatomy,) = anatomies(replace(trace, metadata=about), cycles_at((0, 100))).values()
    assert anatomy.hardware == {"GPU 0": "NVIDIA H200"}
    assert anatomy.cores == 16


def test_levels_of_the_cycles_right_before_the_profiler() -> None:
    busy = dict.fromkeys(range(1000, 3001, 100), 80.0)
    calm = dict.fromkeys(range(8000, 8201, 50), 9.0)
    counters = samples("gpu_usage", {0: 5, 900: 5, **busy, **calm})
    trace = trace_of_rows(
        [call("step", 8000, 100, "annotation")], [activity("k", 8000, 9)], counters
    )
    cycles = cycles_at((8000, 8100))
    (anatomy,) = anatomies(trace, cycles).values()
    assert anatomy.plain_levels.is_empty()
    overhead = RunOverhead(plain_cycles_us=(70.0, 1.0, 1.0), plain_started_us=1)
    run = RecordedRun(cycles=RunCycles(plain=2), overhead=overhead)
    run_trace = replace(trace, metadata=replace(trace.metadata, run=run))
    (anatomy,) = anatomies(run_trace, cycles).values()
    plain = anatomy.plain_levels.select("cycle", "metric", "device", "value").rows()
    assert plain == [(-2, "gpu_usage", "GPU 0", 80.0), (-1, "gpu_usage", "GPU 0", 80.0)]
    assert anatomy.levels["value"].to_list() == [9.0]
