"""What single functions of `model` answer, by example."""

from __future__ import annotations

from timesink.model.health import HealthEntry, merge_entries
from timesink.model.intervals import (
    clip,
    coverage,
    coverage_within,
    intersect,
    merge,
    partially_overlapping,
    subtract,
    sweep,
)
from timesink.model.recorded_run import (
    RecordedRun,
    RunDevice,
    RunOverhead,
    RunProcess,
    recorded_run,
)
from timesink.model.schema import host_and_pid
from timesink.model.units import (
    amount,
    amounts,
    chance,
    change,
    digits,
    from_to,
    interval_pct,
    natural,
    per_cycle,
    published_unit,
    quantity,
    shares,
    signed_ns,
    signed_pct,
    times,
    unit_of,
)
from timesink.model.vendors import (
    is_collective_call,
    is_collective_kernel,
    recognise_vendor,
    waits_for_device,
)


def test_amounts_amount() -> None:
    assert (amount(0.2643, "100 %"), amount(650_000, "mW"), amount(3.5, None)) == (
        "26.4 %",
        "650 W",
        "3.5",
    )
    assert (amount(2.6e11, "B/s"), amount(3_641_245_696, "B"), amount(38_500, "ns")) == (
        "260 GB/s",
        "3.4 GiB",
        "38.5 us",
    )


def test_amounts_amounts() -> None:
    assert (amounts(118687.5, 21000, "0.01 MHz"), amounts(0, 1.5e12, "0.01 B/s")) == (
        "1 187 → 210 MHz",
        "0 B/s → 15.0 GB/s",
    )
    assert (amounts(103, 26.8, "% of a core")) == "103 → 26.8 % of a core"


def test_amounts_chance() -> None:
    assert (chance(0.0000123), chance(0.0432), chance(float("nan"))) == ("< 0.001", "0.043", "-")


def test_amounts_change() -> None:
    assert (
        change(100, 104.66),
        change(34, 121.3),
        change(100, 20),
        change(0, 5),
        change(5, 0),
    ) == ("+4.7 %", "3.6 x", "-80.0 %", "from 0", "-100 %")
    assert (change(1e-6, 1e9)) == "> 1 000 000 x"


def test_amounts_digits() -> None:
    assert (digits(1186.875), digits(6.3248), digits(0), digits(1234567.0), digits(1e308)) == (
        "1 187",
        "6.32",
        "0",
        "1 234 567",
        "1e+308",
    )


def test_amounts_from_to() -> None:
    assert (from_to("34.0 ms", "121.3 ms"), from_to("631.4 ms", "2.46 s"), from_to("3", "4")) == (
        "34.0 → 121.3 ms",
        "631.4 ms → 2.46 s",
        "3 → 4",
    )


def test_amounts_interval_pct() -> None:
    assert (interval_pct(15.82, 30.17), interval_pct(-130.0, -20.06), interval_pct(-0.01, 5e9)) == (
        "+15.8 to +30.2 %",
        "-100 to -20.0 %",
        "-0.1 % to > 1 000 000 x",
    )


def test_amounts_per_cycle() -> None:
    assert (per_cycle(64.0), per_cycle(0.0126), per_cycle(125820.5)) == ("64", "0.0126", "125 820")


def test_amounts_shares() -> None:
    assert (shares(2.7123, 8.6207)) == "2.71 → 8.62 %"


def test_amounts_signed_ns() -> None:
    assert (signed_ns(5_310_000), signed_ns(-310_000), signed_ns(0.2)) == (
        "+5.31 ms",
        "-310 us",
        "0 ns",
    )


def test_amounts_signed_pct() -> None:
    assert (signed_pct(4.66), signed_pct(-100), signed_pct(-0.01), signed_pct(-99.99)) == (
        "+4.7 %",
        "-100 %",
        "0 %",
        "-99.99 %",
    )


def test_amounts_times() -> None:
    assert (times(34_000_000, 121_300_000)) == "34.0 → 121 ms"


def test_counter_units_published_unit() -> None:
    assert (published_unit("gpu_frequency", 118687.5), published_unit("gpu_sm_util", 0.26)) == (
        "0.01 MHz",
        "100 %",
    )
    assert (published_unit("cpu_frequency", 87.5), published_unit("cpu_frequency", 350000.0)) == (
        "%",
        "0.01 MHz",
    )


def test_counter_units_quantity() -> None:
    assert (quantity(118687.5, "0.01 MHz"), quantity(0.26, "100 %"), quantity(3, None)) == (
        (1186.875, "MHz"),
        (26.0, "%"),
        (3, ""),
    )
    assert (quantity(650_000, "mW"), quantity(2, "GiB"), quantity(3.2, "GHz")) == (
        (650.0, "W"),
        (2147483648.0, "B"),
        (3200.0, "MHz"),
    )


def test_counter_units_unit_of() -> None:
    assert (unit_of("gpu_sm_frequency"), unit_of("gpu_power_mw"), unit_of("queue_length")) == (
        "MHz",
        "mW",
        None,
    )
    assert (unit_of("gpu_sm_util", largest=0.79), unit_of("gpu_sm_util", largest=79)) == (
        "100 %",
        "%",
    )


def test_health_merge_entries() -> None:
    assert (
        repr(merge_entries([HealthEntry("nan_value", 2, "dur"), HealthEntry("nan_value", 1, "ts")]))
        == "(HealthEntry(code='nan_value', count=3, example='dur'),)"
    )


def test_intervals_clip() -> None:
    assert (clip([[0, 10], [5, 12], [20, 30]], 8, 20).tolist()) == [[8, 10], [8, 12]]


def test_intervals_coverage() -> None:
    assert (coverage([[0, 10], [5, 12], [20, 25]])) == 17


def test_intervals_coverage_within() -> None:
    assert (
        coverage_within([[0, 10], [5, 12], [20, 25]], [[0, 12], [8, 22], [13, 13]]).tolist()
    ) == [12, 6, 0]


def test_intervals_crossed() -> None:
    assert (partially_overlapping([[0, 10], [2, 4], [8, 12], [12, 15]]).tolist()) == [
        True,
        False,
        False,
        False,
    ]


def test_intervals_intersect() -> None:
    assert (intersect([[0, 10], [20, 30]], [[5, 25]]).tolist()) == [[5, 10], [20, 25]]


def test_intervals_merge() -> None:
    assert (merge([[20, 25], [0, 10], [5, 12], [12, 15], [30, 30]]).tolist()) == [[0, 15], [20, 25]]


def test_intervals_subtract() -> None:
    assert (subtract([[0, 10], [20, 30]], [[5, 25]]).tolist()) == [[0, 5], [25, 30]]


def test_intervals_sweep() -> None:
    boundaries, sums = sweep([0, 5, 20], [10, 12, 25], [1.5, 2.0, 4.0])
    assert (boundaries.tolist(), sums.tolist()) == (
        [0, 5, 10, 12, 20, 25],
        [1.5, 3.5, 2.0, 0.0, 4.0],
    )


def test_ordering_natural() -> None:
    assert (sorted(["GPU 10", "GPU 2", "GPU"], key=natural)) == ["GPU", "GPU 2", "GPU 10"]


def test_processes_host_and_pid() -> None:
    assert (host_and_pid("node1(1234)"), host_and_pid("944615")) == (
        ("node1", "1234"),
        (None, "944615"),
    )


def test_recorded_run_recordedrun_device_numbers() -> None:
    devices = (RunDevice("GPU 0", uuid="GPU-aa"), RunDevice("GPU 1", uuid="GPU-bb"))
    shown_one = RunProcess(pid=7, devices=("GPU-bb",))
    assert (RecordedRun(processes=(shown_one,), devices=devices).device_numbers) == {7: (1,)}


def test_recorded_run_recordedrun_process_of() -> None:
    run = RecordedRun(processes=(RunProcess(pid=7, trace="trace.json.gz"),))
    assert (run.process_of("trace.json").pid, run.process_of("other.json")) == (7, None)


def test_recorded_run_recordedrun_why_no_calls() -> None:
    assert (RecordedRun().why_no_calls) == "the program did not use PyTorch"


def test_recorded_run_runoverhead_ratio() -> None:
    assert (RunOverhead(cycle_us=50.0, cycle_profiled_us=60.0).ratio) == 1.2
    assert (RunOverhead(profiler_pct=20.0).ratio) == 1.2
    assert RunOverhead(plain_cycles_us=(50.0,)).ratio is None


def test_run_fields_recorded_run() -> None:
    run, unused = recorded_run({"complete": True, "host": {"cores": "many"}, "new": 1})
    assert (run.complete, run.host.cores, unused) == (True, None, ["host.cores: 'many'"])


def test_vendors_is_collective_call() -> None:
    assert (is_collective_call("nccl:_all_gather_base"), is_collective_call("aten::mm")) == (
        True,
        False,
    )


def test_vendors_is_collective_kernel() -> None:
    assert is_collective_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)")
    assert not (is_collective_kernel("triton_poi_fused_all_gather_into_tensor_copy_0"))


def test_vendors_recognise_vendor() -> None:
    assert (
        recognise_vendor(device_names=["AMD Instinct MI300X"], categories=["cuda_runtime"])
    ) == "amd"
    assert (recognise_vendor(categories=["kernel"], calls=["hipLaunchKernel"])) == "amd"
    assert (recognise_vendor(has_device_work=False)) == "cpu"


def test_vendors_waits_for_device() -> None:
    assert (waits_for_device("cudaStreamSynchronize"), waits_for_device("cudaMemcpyAsync")) == (
        True,
        False,
    )
