"""The answer of `timesink kernels` in a sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cases import K, read
from measured_kernels import Launch, launch, trace_of_launches
from timesink.answers.kernels.reading import kernels
from timesink.answers.kernels.report import headroom_sentence
from timesink.model.trace import Trace

MS = 1_000_000


def kernel_headline(*launches: Launch, low: float = 1 / 3, **extra: Any) -> str:
    return kernels(trace_of_launches(*launches, **extra), low=low).headline


def use(ms: float, sm: float | None, dram: float | None, **columns: Any) -> Launch:
    return launch(round(ms * MS), {}, sm_pct=sm, dram_pct=dram, **columns)


def test_time_unused_and_headroom():
    assert kernel_headline(use(2, 20.0, 10.0), use(6, 75.0, 10.0)) == (
        "kernel has the most headroom (3.10 of 8.00 ms) and is compute-bound: use a narrower data "
        "type or sizes that fill its tiles. "
        "2 calls of 1 kernel took 8.00 ms. "
        "Headroom: 3.10 of 8.00 ms, if each kernel's busiest unit ran at peak."
    )


def test_headroom_is_of_what_was_measured():
    (device,) = kernels(trace_of_launches(use(3, 20.0, 10.0), use(1, None, None))).devices
    assert headroom_sentence(device) == (
        "Headroom: 2.40 of 3.00 ms, if each kernel's busiest unit ran at peak"
    )


def test_other_units_and_thresholds():
    assert kernel_headline(use(2, 20.0, 20.0), low=0.25) == (
        "kernel has the most headroom (1.60 of 2.00 ms) and is latency-bound or too small: join it "
        "with other products or use larger batches. "
        "1 call of 1 kernel took 2.00 ms. "
        "Headroom: 1.60 of 2.00 ms, if each kernel's busiest unit ran at peak."
    )


def test_no_low_utilisation_is_left_out():
    assert kernel_headline(use(2, 20.0, 99.0), low=0.25) == (
        "kernel has the most headroom (20.0 us of 2.00 ms) and is memory-bound: use smaller data "
        "types or larger batches. 1 call of 1 kernel took 2.00 ms. "
        "Headroom: 20.0 us of 2.00 ms, if each kernel's busiest unit ran at peak."
    )


def test_the_tensor_pipe_is_named_where_it_stands_in():
    assert "both the tensor pipe and DRAM" in kernel_headline(
        launch(MS, {}, tensor_pct=1.0, dram_pct=1.0),
        launch(9 * MS, {}, name="of unknown class", tensor_pct=1.0),
    )


def test_what_was_not_measured_is_said():
    headline = kernel_headline(use(3, 20.0, 10.0), use(1, None, None))
    assert "took 4.00 ms (25.0 % not measured). " in headline
    assert "Headroom: 2.40 of 3.00 ms" in headline


def test_a_timeline_has_no_counters():
    headline = kernels(read(K("sgemm", 100, 30), K("add_kernel", 200, 10))).headline
    assert headline == (
        "2 calls of 2 kernels took 40.0 us, 75.0 % of it in gemm; no hardware counters: "
        "measure them with `timesink ncu`."
    )


def test_what_was_measured_already_is_not_advised():
    assert kernel_headline(use(1, None, None)).endswith("; no measured metric is a utilisation.")


def test_no_remedy_is_named_where_it_does_not_work():
    trace = read(K("sgemm", 100, 30))
    amd = replace(trace, metadata=replace(trace.metadata, vendor="amd"))
    assert kernels(amd).headline.endswith("100 % of it in gemm; no hardware counters.")
    assert kernels(amd).notes == ("a timeline has no hardware counters",)


def test_unknown_kernels_are_no_family_to_name():
    assert "of it" not in kernels(read(K("mine", 100, 30))).headline


def test_a_sample_is_an_estimate():
    headline = kernel_headline(
        *(use(1, 20.0, 10.0) for _ in range(10)), collected={"every": 7, "per": "kernel"}
    )
    assert headline.startswith("kernel has the most headroom (53.6 of 66.9 ms) and is latency-")
    assert (
        "About 67 calls of 1 kernel took 66.9 ms (64.0 ms to 70.0 ms, estimated from 10: "
        "every 7th launch of each kernel). "
    ) in headline


def test_of_several_devices_the_longest_is_told():
    launches = (use(1, 9.0, 9.0, device=0), use(5, 9.0, 9.0, device=1), use(2, 9.0, 9.0, device=2))
    headline = kernel_headline(*launches)
    assert headline.startswith("kernel on GPU 1 has the most headroom (4.55 of 5.00 ms)")
    assert "3 GPUs; on GPU 1, the busiest, 1 call of 1 kernel took 5.00 ms. " in headline


def test_of_several_machines_the_longest_is_named():
    launches = (use(1, 9.0, 9.0, host="a"), use(5, 9.0, 9.0, host="b", device=None))
    headline = kernel_headline(*launches)
    assert headline.startswith("kernel on the busiest GPU has the most headroom (4.55 of 5.00 ms)")
    assert "2 GPUs; on one without number of b, the busiest" in headline


def test_without_durations():
    assert kernel_headline(launch(None, {}, sm_pct=3.0)) == (
        "1 kernel without a duration: kernel time is not known; collect gpu__time_duration.sum "
        "as well, as `timesink ncu` does."
    )


def test_time_that_nobody_measured_is_not_zero():
    facts = kernels(trace_of_launches(launch(None, {}, sm_pct=3.0))).to_dict()
    assert (facts["total_ns"], facts["devices"][0]["total_ns"]) == (None, None)
    assert kernels(trace_of_launches(use(0, 3.0, 3.0))).to_dict()["total_ns"] == 0


def test_kernels_that_lasted_nothing_have_a_duration():
    assert (
        kernel_headline(use(0, 3.0, 3.0))
        == "1 call of 1 kernel took 0 ns: no kernel time to analyze."
    )


def test_some_without_a_duration():
    late = launch(None, {}, sm_pct=3.0)
    headline = kernel_headline(use(2, 20.0, 99.0), late)
    assert "1 call of 1 kernel (1 more without a duration) took 2.00 ms. " in headline


def test_without_kernels():
    assert kernels(Trace(trace_of_launches().metadata)).headline == "No kernels were recorded."


def test_the_action_follows_the_class_and_the_kind_of_kernel():
    name = "void at::native::vectorized_elementwise_kernel<4>(int)"
    fused = kernel_headline(use(1, 5.0, 60.0, name=name, family="elementwise"))
    assert fused.startswith(
        "vectorized_elementwise_kernel has the most headroom (400 us of 1.00 ms) and is "
        "memory-bound: fuse it with its neighbours (torch.compile) or use smaller data types. "
    )
    idle = kernel_headline(use(1, 60.0, 5.0, tensor_pct=0.0))
    assert "compute-bound without tensor cores: use TF32, bf16 or fp16. " in idle
    lasting = kernel_headline(use(1, 5.0, 6.0, name="softmax", family="softmax"))
    assert "(940 us of 1.00 ms) and is latency-bound: fuse it with its neighbours" in lasting
    tiny = kernel_headline(use(0.002, 5.0, 6.0, name="softmax", family="softmax"))
    assert "and is latency-bound or too small: launch fewer and larger kernels (" in tiny
    compiled = kernel_headline(use(1, 5.0, 60.0, name="triton_poi_add", family="elementwise"))
    assert "memory-bound: use smaller data types. " in compiled


def test_launches_of_several_classes_count_by_their_mean_use():
    headline = kernel_headline(use(1, 80.0, 10.0), use(1, 10.0, 60.0))
    assert "and is balanced between SM and DRAM: " in headline


def test_every_number_stands_in_the_answer():
    report = kernels(trace_of_launches(use(2, 20.0, 10.0), use(6, 75.0, 10.0)))
    (kernel,) = report.to_dict()["groups"]["name"]
    assert (kernel["headroom_ns"], report.to_dict()["total_ns"]) == (3_100_000, 8_000_000)
