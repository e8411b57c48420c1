"""Small examples of what analyses.roofline computes."""

from __future__ import annotations

import timesink
from timesink.analyses.kernels.calls import kernel_calls
from timesink.analyses.kernels.launch_work import role_of
from timesink.analyses.kernels.peaks import choose_peaks, find_peaks, load_peaks, parse_peaks
from timesink.analyses.kernels.roofline import roofline, why_no_roofline
from timesink.model.trace import Device, Metadata, Trace


def test_devicepeaks_peak() -> None:
    assert load_peaks()[0].peak("fp16_tensor") == 125000000000000.0


def test_load_peaks() -> None:
    assert [row.device for row in load_peaks() if row.device.startswith("H200")] == [
        "H200",
        "H200 NVL",
    ]


def test_find_peaks() -> None:
    assert find_peaks("NVIDIA A100-SXM4-80GB").peaks.device == "A100 80GB SXM"
    assert find_peaks("", "9.0").peaks is None


def test_choose_peaks() -> None:
    trace = Trace(Metadata("a.csv", "ncu", "nvidia", 0, devices=(Device(0, "NVIDIA H200"),)))
    assert choose_peaks(trace, peaks="dram=4.0TB/s").peaks.dram_bytes_per_s == 4000000000000.0


def test_parse_peaks() -> None:
    assert parse_peaks("dram=4.8e12, fp16_tensor=790TFLOP/s") == {
        "dram": 4800000000000.0,
        "fp16_tensor": 790000000000000.0,
    }


def test_why_no_roofline() -> None:
    assert (
        why_no_roofline(timesink.open(timesink.sample())).partition(";")[0]
        == "a timeline does not count operations"
    )


def test_roofline() -> None:
    timeline = timesink.open(timesink.sample())
    assert roofline(timeline, kernel_calls(timeline)) is None


def test_role_of() -> None:
    assert role_of("sm__sass_thread_inst_executed_op_ffma_pred_on.sum").factor == 2
    assert role_of("sm__ops_path_tensor_src_bf16_dst_fp32.sum").quantity == "bf16_tensor"
