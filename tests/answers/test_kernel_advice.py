"""What to try, in every form of a report on kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from kernels_text import to_markdown, to_text
from measured_kernels import H200, trace_of_launches, use
from timesink.answers.kernels.document import kernels_document
from timesink.answers.kernels.report import KernelReport
from timesink.answers.kernels.tables import KernelChoice as Choice
from timesink.model.trace import Device
from timesink.output.blocks import Findings
from told_documents import blocks

PRODUCT = use("ampere_sgemm_128x64_tn", 100_000, sm=87.0)
FINE = use("unlike", 100_000, sm=70.0, dram=70.0, device=1)


@pytest.fixture
def report() -> KernelReport:
    return timesink.kernels(trace_of_launches(PRODUCT))


def test_text(report: KernelReport):
    text = to_text(report, None, Choice())
    assert "leave the tensor cores idle" in text
    assert "(ampere_sgemm_128x64_tn)" in text
    assert "estimated saving 50.0 us if tensor-core kernels take half the time" in text
    assert text.index("Share of time by class") < text.index("What to try")
    assert text.index("What to try") < text.index("\nKernels")


def test_documents(report: KernelReport):
    assert ": 100 % of the time" in to_markdown(report, None, Choice())
    (findings,) = blocks(kernels_document([report]), Findings)
    assert (
        findings.items[0].gain
        == "estimated saving 50.0 us if tensor-core kernels take half the time"
    )


def test_nothing_to_try():
    report = timesink.kernels(trace_of_launches(use("unlike", 10, sm=70.0, dram=70.0)))
    assert "What to try" not in to_text(report, None, Choice())


def test_each_device_has_its_own():
    trace = trace_of_launches(PRODUCT, FINE, devices=(H200, Device(1, "NVIDIA H200")))
    text = to_text(timesink.kernels(trace), None, Choice())
    assert "GPU 0: What to try" in text
    assert "GPU 1: What to try" not in text


def test_the_guide_names_every_key_and_rule(report: KernelReport):
    guide = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text()
    (advice,) = report.to_dict()["advice"]
    assert [key for key in (*advice, advice["rule"]) if f"`{key}`" not in guide] == []
