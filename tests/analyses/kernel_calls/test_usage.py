"""How well the kernels of a device used it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import timesink
from measured_kernels import H200, launch, trace_of_launches
from timelines import patient
from timesink.analyses.kernels.calls import Sampling, kernel_calls, with_weights
from timesink.analyses.kernels.groups import call_groups
from timesink.analyses.kernels.usage import CLASSES, DeviceUse, device_use
from timesink.model.trace import Device, Trace


def uses(trace: Trace) -> tuple[DeviceUse, ...]:
    return device_use(kernel_calls(trace), trace)


def only(trace: Trace) -> DeviceUse:
    (use,) = uses(trace)
    return use


def test_means_are_weighted_by_time():
    use = only(
        trace_of_launches(
            launch(30, {}, tensor_pct=10.0, dram_pct=50.0, sm_pct=20.0),
            launch(10, {}, tensor_pct=50.0, dram_pct=10.0, sm_pct=100.0),
        )
    )
    assert (use.tensor_pct, use.dram_pct, use.sm_pct) == (20.0, 40.0, 40.0)
    assert (use.calls, use.launches, use.names, use.total_ns) == (2, 2, 1, 40)
    assert (use.min_ns, use.max_ns, use.measured_ns) == (10, 30, 40)
    assert use.class_share == {**dict.fromkeys(CLASSES, 0.0), "low_sm": 0.75, "low_dram": 0.25}
    assert use.above == {"tensor": 0.25, "dram": 0.75, "both": 0.0}
    assert use.headroom_ns == 15.0


def test_missing_metrics_are_left_out_and_told():
    use = only(
        trace_of_launches(
            launch(30, {}, tensor_pct=10.0, sm_pct=20.0),
            launch(10, {}, dram_pct=10.0, sm_pct=60.0),
            launch(5, {}),
        )
    )
    assert (use.tensor_pct, use.dram_pct, use.sm_pct) == (10.0, 10.0, 30.0)
    assert use.missing_ns == {"tensor": 15, "dram": 35, "sm": 5}
    assert use.class_share["unknown"] == pytest.approx(35 / 45)
    assert use.measured_ns == 40


def test_launches_without_a_duration_are_counted_only():
    use = only(trace_of_launches(launch(None, {}, sm_pct=90.0), launch(10, {}, sm_pct=50.0)))
    assert (use.calls, use.untimed, use.total_ns, use.sm_pct) == (2, 1, 10, 50.0)
    nothing = only(trace_of_launches(launch(None, {}, sm_pct=90.0)))
    assert (nothing.total_ns, nothing.min_ns, nothing.sm_pct) == (0, None, None)
    assert nothing.headroom_ns is None


def test_use_beyond_the_peak_leaves_no_headroom():
    assert only(trace_of_launches(launch(10, {}, dram_pct=103.0))).headroom_ns == 0.0


def test_without_counters_there_is_no_headroom():
    use = only(trace_of_launches(launch(10, {})))
    assert (use.headroom_ns, use.measured_ns, use.axis) == (None, 0, "tensor")
    assert use.class_share["unknown"] == 1.0


def test_devices_and_machines_are_apart():
    two = Device(1, "NVIDIA L4", compute_capability="8.9")
    device_uses = uses(
        trace_of_launches(
            launch(10, {}, device=1, host="b", compute_capability=None),
            launch(20, {}, device=0, host="b"),
            launch(40, {}, device=0, host="a"),
            launch(80, {}, device=1, host="b", compute_capability=None),
            devices=(H200, two),
        )
    )
    assert [(use.host, use.device, use.total_ns, use.name) for use in device_uses] == [
        ("a", 0, 40, "NVIDIA H200"),
        ("b", 0, 20, "NVIDIA H200"),
        ("b", 1, 90, "NVIDIA L4"),
    ]
    assert [use.compute_capability for use in device_uses] == ["9.0", "9.0", "8.9"]


def test_a_device_without_number():
    assert only(trace_of_launches(launch(10, {}, device=None))).device is None


def test_samples_are_scaled_and_have_intervals():
    trace = trace_of_launches(
        *(launch(10 + n, {}, name=f"f{n % 2}", sm_pct=50.0) for n in range(8))
    )
    sampling = Sampling(4, "kernel")
    calls = with_weights(kernel_calls(trace), sampling)
    (use,) = device_use(calls, trace, sampling=sampling)
    assert (use.calls, use.launches) == (8, 29)
    assert use.total_ns == pytest.approx(29 * 13.5, rel=0.01)
    assert use.intervals is not None
    low, high = use.intervals["total_ns"]
    assert low < use.total_ns < high
    assert use.intervals["sm_pct"] == pytest.approx((50, 50))


_percent = st.none() | st.floats(0, 110)
_launches = st.builds(
    lambda dur, name, device, tensor, dram, sm: launch(
        dur, {}, name=name, device=device, tensor_pct=tensor, dram_pct=dram, sm_pct=sm
    ),
    *(st.none() | st.integers(0, 50), st.sampled_from("fg"), st.sampled_from([0, 1])),
    *(_percent, _percent, _percent),
)


@patient
@given(st.lists(_launches, min_size=1, max_size=10))
def test_parts_add_up(launches) -> None:
    trace = trace_of_launches(*launches)
    calls = kernel_calls(trace)
    for use in device_use(calls, trace):
        groups = call_groups(calls, "short_name").filter(device=use.device)
        assert groups["total_ns"].sum() == use.total_ns
        assert groups["calls"].sum() == use.calls
        rounded = groups.height
        assert groups["headroom_ns"].sum() == pytest.approx(use.headroom_ns or 0, abs=rounded)
        assert sum(use.class_share.values()) == pytest.approx(1 if use.total_ns else 0)
        assert all(0 <= missing <= use.total_ns for missing in use.missing_ns.values())
        assert use.measured_ns <= use.total_ns
        assert use.headroom_ns is None or -1e-9 <= use.headroom_ns <= use.measured_ns + 1e-9


# -- the tables and files at hand ------------------------------------------------------------------

TABLES: Mapping[str, Mapping[str, object]] = {
    "000": {
        "counts": (990, 20, 69_537_216, 3_488, 3_598_848),
        "means": (0.2646, 0.3446),
        "above": (38.86, 44.38, 0.00),
        "bins": ((16.76, 29.47, 14.90), (21.03, 0.00, 0.00), (17.83, 0.00, 0.00)),
        "top": (
            ("Kernel", 32_537_120, 46.79, 219),
            ("vectorized_elementwise_kernel", 13_140_064, 18.90, 368),
            ("elementwise_kernel", 8_074_688, 11.61, 136),
            ("multi_tensor_apply_kernel", 5_934_848, 8.53, 49),
            ("fused_dropout_kernel_vec", 1_334_816, 1.92, 37),
        ),
    },
    "001": {
        "counts": (971, 15, 32_061_824, 3_712, 751_712),
        "means": (0.2458, 0.1847),
        "above": (45.56, 12.65, 0.00),
        "bins": ((41.78, 12.65, 0.00), (33.08, 0.00, 0.00), (12.48, 0.00, 0.00)),
        "top": (
            ("ampere_fp16_s16816gemm_fp16_64x128_ldg8_relu_f2...", 6_193_504, 19.32, 96),
            ("vectorized_elementwise_kernel", 4_477_856, 13.97, 267),
            ("ampere_fp16_s16816gemm_fp16_256x64_ldg8_relu_f2...", 4_413_856, 13.77, 24),
            ("elementwise_kernel", 4_395_808, 13.71, 241),
            ("ampere_fp16_s16816gemm_fp16_128x128_ldg8_relu_f...", 3_249_504, 10.14, 24),
        ),
    },
    "002": {
        "counts": (560, 39, 59_945_216, 3_520, 2_369_280),
        "means": (0.2080, 0.1763),
        "above": (30.08, 15.56, 0.11),
        "bins": ((54.48, 12.33, 3.12), (11.59, 0.11, 0.00), (18.38, 0.00, 0.00)),
        "top": (
            ("cudnn::bn_bw_1C11_kernel_new", 8_518_240, 14.21, 12),
            ("cudnn::bn_fw_tr_1C11_kernel_NCHW", 5_507_360, 9.19, 8),
            ("sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f1...", 5_448_704, 9.09, 11),
            ("cudnn::ops::nchwToNhwcKernel", 5_338_496, 8.91, 104),
            ("upsample_bilinear2d_backward_out_frame", 4_454_880, 7.43, 4),
        ),
    },
}


@pytest.mark.parametrize("seed", TABLES)
def test_reference_values(shared_root: Path, seed: str) -> None:
    (path,) = (shared_root / "seeds").glob(f"{seed}_*.txt")
    trace, expected = timesink.open(path), TABLES[seed]
    use = only(trace)
    counts = (use.calls, use.names, use.total_ns, use.min_ns, use.max_ns)
    assert counts == expected["counts"]
    assert use.axis == "tensor"
    assert use.tensor_pct is not None
    assert use.dram_pct is not None
    means = (round(use.tensor_pct / 100, 4), round(use.dram_pct / 100, 4))
    assert means == expected["means"]
    above = tuple(round(100 * use.above[name], 2) for name in ("tensor", "dram", "both"))
    assert above == expected["above"]
    bins = tuple(tuple(round(100 * cell, 2) for cell in row) for row in use.bins)
    assert bins == expected["bins"]
    assert use.class_share["both_low"] == pytest.approx(use.bins[0][0])
    top = call_groups(kernel_calls(trace), "short_name").head(5)
    rows = top.select("group", "total_ns", "share_pct", "calls").rows()
    assert tuple((name, ns, round(pct, 2), n) for name, ns, pct, n in rows) == expected["top"]


def test_a_real_file(shared_root):
    """Unrounded input: SM is the axis, and nothing is missing."""
    use = only(timesink.open(shared_root / "data/h200/ncu/gpt_infer.csv.gz"))
    assert (use.calls, use.axis, use.untimed) == (896, "sm", 0)
    assert use.missing_ns == {"tensor": 0, "dram": 0, "sm": 0}
    assert use.class_share["unknown"] == 0
    assert sum(map(sum, use.bins)) == pytest.approx(1)
