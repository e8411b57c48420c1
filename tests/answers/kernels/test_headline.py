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
        "2 kernels took 8.00 ms, 25.0 % of it in kernels that use less than a third of both SM "
        "and DRAM. Headroom: 3.10 of 8.00 ms, if each kernel's busiest unit ran at peak."
    )


def test_headroom_is_of_what_was_measured():
    (device,) = kernels(trace_of_launches(use(3, 20.0, 10.0), use(1, None, None))).devices
    assert headroom_sentence(device) == (
        "Headroom: 2.40 of 3.00 ms, if each kernel's busiest unit ran at peak"
    )


def test_other_units_and_thresholds():
    assert kernel_headline(use(2, 20.0, 20.0), low=0.25) == (
        "1 kernel took 2.00 ms, 100 % of it in kernels that use less than 25.0 % of both SM "
        "and DRAM. Headroom: 1.60 of 2.00 ms, if each kernel's busiest unit ran at peak."
    )


def test_no_low_utilisation_is_left_out():
    assert kernel_headline(use(2, 20.0, 99.0), low=0.25) == (
        "1 kernel took 2.00 ms. "
        "Headroom: 20.0 us of 2.00 ms, if each kernel's busiest unit ran at peak."
    )


def test_the_tensor_pipe_is_named_where_it_stands_in():
    assert "both the tensor pipe and DRAM" in kernel_headline(
        launch(MS, {}, tensor_pct=1.0, dram_pct=1.0)
    )


def test_what_was_not_measured_is_said():
    headline = kernel_headline(use(3, 20.0, 10.0), use(1, None, None))
    assert "75.0 % of it in" in headline
    assert "(25.0 % not measured)" in headline
    assert "Headroom: 2.40 of 3.00 ms" in headline


def test_a_timeline_has_no_counters():
    headline = kernels(read(K("sgemm", 100, 30), K("add_kernel", 200, 10))).headline
    assert headline == (
        "2 kernels took 40.0 us, 75.0 % of it in gemm; no hardware counters: "
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
    assert headline.startswith(
        "About 67 kernels took 66.9 ms (64.0 ms to 70.0 ms, estimated from 10: "
        "every 7th launch of each kernel), 100 % of it in"
    )


def test_of_several_devices_the_longest_is_told():
    launches = (use(1, 9.0, 9.0, device=0), use(5, 9.0, 9.0, device=1), use(2, 9.0, 9.0, device=2))
    assert kernel_headline(*launches).startswith(
        "3 GPUs; on GPU 1, the busiest, 1 kernel took 5.00 ms, 100 %"
    )


def test_of_several_machines_the_longest_is_named():
    launches = (use(1, 9.0, 9.0, host="a"), use(5, 9.0, 9.0, host="b", device=None))
    assert kernel_headline(*launches).startswith("2 GPUs; on one without number of b, the busiest")


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
    assert kernel_headline(use(0, 3.0, 3.0)) == "1 kernel took 0 ns: no kernel time to analyze."


def test_some_without_a_duration():
    late = launch(None, {}, sm_pct=3.0)
    assert kernel_headline(use(2, 20.0, 99.0), late).startswith(
        "1 kernel (1 more without a duration) took 2.00 ms. "
    )


def test_without_kernels():
    assert kernels(Trace(trace_of_launches().metadata)).headline == "No kernels were recorded."
