"""What must hold of any recording holds of small ones that other people made."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from shared_folder import REPOSITORY
from thinning import IS_SEARCH

DIFFERENT = (
    "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "hta/rank_non_gpu/rank_non_gpu.json.gz",
    "graphs/vllm_decode_full/graph_execution.json.gz",
)
"""Training, a rank without a device, inference in replayed graphs."""
LIKE_THEM = (
    "tracelens/evals/sdpa_04_large_head_dim.json.gz",
    "tracelens/mi210/gpu_only_trace.json.gz",
    "hta/trace_compare/base/base.json.gz",
    "hta/critical_path/cuda_event_sync_multi_stream/event_sync_trace.json.gz",
    "hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
    "graphs/sglang_decode/sglang_Qwen3-8B_decode.json.gz",
    "h200/traces/cuda_graph/graph.1794703828349873378.pt.trace.json.gz",
    "tracelens/evals/conv_04_depthwise.json.gz",
    "tracelens/evals/moe_04_top2_dense.json.gz",
    "tracelens/mi300/bert-small.json.gz",
)
"""Looked at when faults are searched for: each takes a second or two."""
SMALL = DIFFERENT + LIKE_THEM if IS_SEARCH else DIFFERENT


def invariants():
    """The module `benchmarks/strangers.py`, which is no package."""
    spec = spec_from_file_location("strangers", REPOSITORY / "benchmarks" / "strangers.py")
    module = module_from_spec(spec)
    sys.modules["strangers"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SMALL)
def test_invariants_hold(name, shared_root: Path):
    strangers = invariants()
    outcome = strangers.check(shared_root / "data" / name, list(strangers.INVARIANTS))
    assert outcome.refused == ""
    assert outcome.violations == ()


def test_what_is_no_recording_is_refused_in_a_sentence(tmp_path):
    strangers = invariants()
    path = tmp_path / "notes.json"
    path.write_text('{"a": 1}')
    outcome = strangers.check(path, list(strangers.INVARIANTS))
    assert "notes.json" in outcome.refused
    assert outcome.violations == ()
