"""Matrix products that run beside the tensor cores."""

from __future__ import annotations

from typing import Any

import pytest

from cases import STEP, K, O, R, read
from timesink.answers.analysis.finding_values import evidence_json
from timesink.model.trace import Trace
from timesink.rules.device_work import tensor_cores_unused

PLAIN, TENSOR = "volta_sgemm_128x64_nn", "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn"


def gpu(major: int) -> dict[str, Any]:
    return {"deviceProperties": [{"id": 0, "name": "NVIDIA", "computeMajor": major}]}


def product(us: int, kernel: str = PLAIN, operator: str = "aten::mm", major: int = 7) -> Trace:
    """A step of 1 ms with one kernel of an operator, and another kernel of 100 us."""
    calls = [O(operator, 0, 50), R(5, 5, c=1), O("aten::add", 60, 30), R(65, 5, c=2)]
    kernels = [K(kernel, 100, us, c=1), K("elementwise", 900, 100, c=2)]
    return read(STEP(1, 0, 1000), *calls, *kernels, **gpu(major))


def test_share_gain_and_evidence():
    (finding,) = tensor_cores_unused(product(300))
    assert (finding.rule, finding.severity) == ("tensor-cores-unused", "high")
    assert finding.share == pytest.approx(0.3)
    assert finding.cost_ns == 150_000
    assert [evidence_json(item) for item in finding.evidence] == [
        {"kind": "operator", "name": "aten::mm", "kernels": 1, "kernel_us": 300},
        {"kind": "kernel", "name": PLAIN, "calls": 1, "total_us": 300},
    ]


def test_parallel_streams_count_once_and_only_inside_steps():
    launches = [R(5 + number, 1, c=number) for number in range(1, 21)]
    kernels = [K(PLAIN, 100, 600, c=number, stream=number) for number in range(1, 21)]
    late = [O("aten::mm", 2000, 50), R(2005, 5, c=99), K(PLAIN, 5000, 900, c=99)]
    trace = read(STEP(1, 0, 1000), O("aten::mm", 0, 50), *launches, *kernels, *late, **gpu(7))
    (finding,) = tensor_cores_unused(trace)
    assert (finding.share, finding.cost_ns) == (pytest.approx(0.6), 300_000)


@pytest.mark.parametrize(("us", "finding_count"), [(20, 0), (21, 1)])
def test_two_percent_are_needed(us: int, finding_count: int):
    assert len(tensor_cores_unused(product(us))) == finding_count


def test_tf32_is_advised_only_where_it_exists():
    (older,), (newer,) = (tensor_cores_unused(product(300, major=major)) for major in (7, 8))
    assert "TF32" not in older.advice
    assert "TF32" in newer.advice


@pytest.mark.parametrize(
    "other",
    [
        {"kernel": TENSOR},
        {"kernel": "some_unknown_gemm"},
        {"kernel": "volta_sgemm_transpose"},
        {"operator": "aten::sum"},
        {"major": 6},
    ],
    ids=["they are used", "unknown kernel", "not the product", "not eligible", "old device"],
)
def test_nothing_to_say(other: dict[str, Any]):
    assert tensor_cores_unused(product(300, **other)) == []


def test_kernels_of_no_operator():
    assert tensor_cores_unused(read(STEP(1, 0, 1000), K(PLAIN, 100, 500), **gpu(7))) == []
    assert tensor_cores_unused(read(**gpu(7))) == []
