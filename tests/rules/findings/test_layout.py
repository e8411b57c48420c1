"""Tensors turned between memory layouts."""

from __future__ import annotations

import pytest

from cases import STEP, K, device_event, read
from timesink.answers.analysis.finding_values import evidence_json
from timesink.rules.device_work import layout_conversions

TO_NHWC = "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>"
TO_NCHW = "void cudnn::ops::nhwcToNchwKernel<float, float, float>"


def test_share_gain_and_evidence():
    kernels = [K(TO_NHWC, 0, 30), K("conv", 100, 500), K(TO_NCHW, 700, 10), K(TO_NHWC, 800, 20)]
    (finding,) = layout_conversions(read(STEP(1, 0, 1000), *kernels))
    assert (finding.rule, finding.severity) == ("layout-conversions", "medium")
    assert finding.share == pytest.approx(0.06)
    assert finding.cost_ns == 60_000
    assert "3 kernels a step" in finding.sentence
    assert [evidence_json(item) for item in finding.evidence] == [
        {"kind": "kernel", "name": TO_NHWC, "calls": 2, "total_us": 50},
        {"kind": "kernel", "name": TO_NCHW, "calls": 1, "total_us": 10},
    ]


@pytest.mark.parametrize(("us", "finding_count"), [(20, 0), (21, 1)])
def test_two_percent_are_needed(us: int, finding_count: int):
    assert len(layout_conversions(read(STEP(1, 0, 1000), K(TO_NHWC, 0, us)))) == finding_count


def test_products_in_either_layout_are_fine():
    trace = read(STEP(1, 0, 1000), K("xmma_fprop_implicit_gemm_nhwc_tilesize", 0, 900))
    assert layout_conversions(trace) == layout_conversions(read()) == []


def test_parallel_streams_count_once_and_only_inside_steps():
    kernels = [K(TO_NHWC, 100, 600, stream=stream) for stream in range(20)]
    (finding,) = layout_conversions(read(STEP(1, 0, 1000), *kernels, K(TO_NHWC, 5000, 900)))
    assert (finding.share, finding.cost_ns) == (pytest.approx(0.6), 600_000)
    assert "20 kernels a step" in finding.sentence


def test_ranges_of_a_profiler_are_no_kernels():
    marked = device_event("cuda_profiler_range", TO_NHWC, 0, 900, c=0, x=None, device=0)
    assert layout_conversions(read(STEP(1, 0, 1000), marked)) == []
