"""Efficiency of real recordings: how much is modelled, and how bytes compare with counters."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import timesink
from timesink.analyses.kernels.calls import kernel_calls
from timesink.analyses.work.efficiency import efficiency, operator_efficiency
from timesink.analyses.work.steps import MEMORY

EAGER = (
    *(f"h200/traces/{name}" for name in ("gpt_infer", "llama_decode", "resnet50_train")),
    *("tracelens/h100/bert-small.json.gz", "tracelens/mi300/timesformer.json.gz"),
    *("tracelens/mi300/resnet_act_checkpoint.json.gz", "tracelens/b200/eager_trace.json.gz"),
    "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "hta/mtia_trace_single_rank/mtia_rank_0.json.gz",
)
COMPILED = ("tracelens/torch_compile_triton.json.gz", "hta/triton_example/triton_example.json.gz")
EXPECTED_FINDINGS = (
    *("h200/traces/bert_train", "h200/traces/llama_decode", "h200/traces/resnet50_train"),
    *("tracelens/torch_compile_triton.json.gz", "tracelens/mi210/gpu_only_trace.json.gz"),
)
"""Training and decoding, eager and compiled, and kernels without a call."""


@pytest.mark.parametrize(
    ("recording", "least"),
    [*((name, 0.95) for name in EAGER), *((name, 0.85) for name in COMPILED)],
)
def test_most_of_the_kernel_time_is_modelled(shared_root: Path, recording: str, least: float):
    efficiency_ = efficiency(timesink.open(shared_root / "data" / recording))
    assert efficiency_.modelled.modelled_share >= least


@pytest.mark.parametrize("recording", EAGER)
def test_nothing_is_faster_than_it_can_be(shared_root: Path, recording: str):
    """Of tensors that no cache holds; a few percent for clocks and for the peak itself."""
    efficiency_ = efficiency(timesink.open(shared_root / "data" / recording))
    rows = operator_efficiency(efficiency_).filter(pl.col("mib") > 128, pl.col("roof_pct") > 105)
    assert rows.select("operator", "shape", "roof_pct").rows() == []
    assert efficiency_.step is None or efficiency_.step.hfu is None or efficiency_.step.hfu < 1


@pytest.mark.parametrize("recording", EXPECTED_FINDINGS)
def test_findings_save_no_more_than_a_step_takes(shared_root: Path, recording: str):
    """Also where kernels have no call, or calls no figure."""
    analysis = timesink.analyze(shared_root / "data" / recording)
    step = analysis.table("steps", clock="own").filter("complete")["total_ns"].mean() or 0.0
    saved = {finding.rule: finding.cost_ns for finding in analysis.findings if finding.gain_basis}
    assert {rule: ns for rule, ns in saved.items() if ns > step} == {}


@pytest.mark.parametrize("program", ["gpt_infer", "unet_train"])
def test_bytes_are_those_that_nsight_compute_counts(shared_root: Path, program: str):
    """Of memory-bound calls whose tensors no cache holds, in the median within 15 %."""
    folder = shared_root / "data" / "h200"
    timeline = timesink.open(folder / "traces" / program)
    report = timesink.kernels(folder / "ncu" / f"{program}.csv.gz", trace=timeline)
    counted = report.calls.select(
        row=kernel_calls(timeline)["device_row"].gather(report.join.rows).cast(pl.Int64),
        counted=pl.col("dram_pct") / 100 * 4.8e12 * pl.col("dur_ns") / 1e9,
    )
    calls = (
        efficiency(timeline)
        .kernels.join(counted.drop_nulls(), on="row")
        .filter(pl.col("bound") == MEMORY)
        .group_by("call")
        .agg(pl.col("bytes", "counted").sum())
        .filter(pl.col("bytes") > 64 * 2**20)
    )
    assert calls.height > 50
    assert calls.select((pl.col("bytes") / pl.col("counted")).median()).item() == pytest.approx(
        1, abs=0.15
    )
