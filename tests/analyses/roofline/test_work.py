"""What each launch did: one count of each thing, whatever names a profiler gives it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measured_kernels import launch, trace_of_launches
from timesink.analyses.kernels.launch_work import counted_work, role_of
from timesink.recorder.ncu.plan import ROOFLINE, UTILISATION

TENSOR = "sm__ops_path_tensor"
THREAD = "sm__sass_thread_inst_executed_op"


def work_of(metrics, dur_ns=1000, **columns: Any):
    trace = trace_of_launches(launch(dur_ns, metrics, **{"tensor_pct": 0.0, **columns}))
    work = counted_work(trace, trace.kernel_calls)
    return None if work is None else work[0].row(0, named=True)


# -- thread instructions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "precision", "flop"),
    [
        ("fadd", "fp32", 1),
        ("fmul", "fp32", 1),
        ("ffma", "fp32", 2),
        ("dfma", "fp64", 2),
        ("hadd", "fp16", 2),
        ("hfma", "fp16", 4),
        ("ffma2", "fp32", 4),
    ],
)
def test_flop_of_an_instruction(op, precision, flop):
    work = work_of({f"{THREAD}_{op}_pred_on.sum": 100.0})
    assert work[f"flop_{precision}"] == 100 * flop


def test_instructions_of_a_precision_add_up():
    counts = {f"{THREAD}_{op}_pred_on.sum": 10.0 for op in ("fadd", "fmul", "ffma", "dadd")}
    work = work_of(counts)
    assert (work["flop_fp32"], work["flop_fp64"]) == (40.0, 10.0)


def test_a_sum_over_partitions_is_the_same_number_again():
    work = work_of(
        {
            "sm__sass_thread_inst_executed_op_ffma_pred_on.sum": 10.0,
            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 10.0,
            "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": 5.0,
        }
    )
    assert work["flop_fp32"] == 25.0


@pytest.mark.parametrize(
    "metric",
    [
        "sm__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.sum",
        "sm__sass_thread_inst_executed_op_fp32_pred_on.sum",
        "sm__sass_thread_inst_executed_op_ffma_pred_on.avg",
        "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2",
        "sm__ops_path_tensor_src_fp16_realtime.sum",
        "sm__ops_path_tensor_src_fp16.sum.peak_sustained",
        "gpu__time_duration.sum",
    ],
)
def test_what_counts_something_else_has_no_role(metric):
    assert role_of(metric, "9.0") is None


def test_rates_stand_in_for_sums():
    work = work_of(
        {
            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed": 50.0,
            "smsp__cycles_elapsed.avg.per_second": 1e9,
            "sm__sass_thread_inst_executed_op_dadd_pred_on.sum.per_second": 3e9,
            "dram__bytes.sum.per_second": 2e12,
        },
        dur_ns=2000,
    )
    assert work["flop_fp32"] == pytest.approx(50 * 2 * 2000)
    assert work["flop_fp64"] == pytest.approx(6000)
    assert work["bytes"] == pytest.approx(4e6)
    assert work["sm_hz"] == 1e9


def test_a_rate_per_cycle_without_a_clock_counts_nothing():
    rate = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed"
    assert work_of({rate: 50.0}) is None


# -- tensor operations -----------------------------------------------------------------------------


def test_a_total_is_not_added_to_its_parts():
    work = work_of(
        {
            f"{TENSOR}_src_fp16.sum": 100.0,
            f"{TENSOR}_src_fp16_dst_fp16.sum": 30.0,
            f"{TENSOR}_src_fp16_dst_fp32.sum": 70.0,
            f"{TENSOR}_src_fp16_sparsity_off.sum": 100.0,
            f"{TENSOR}_op_hmma_src_fp16_dst_fp32.sum": 20.0,
            f"{TENSOR}_op_hgmma_src_fp16.sum": 80.0,
            f"{TENSOR.replace('sm__', 'smsp__')}_src_fp16.sum": 100.0,
        }
    )
    assert work["flop_fp16_tensor"] == 100.0


@pytest.mark.parametrize(
    "parts",
    [
        {"_src_fp16_dst_fp16": 30.0, "_src_fp16_dst_fp32": 70.0},
        {"_src_fp16_sparsity_on": 60.0, "_src_fp16_sparsity_off": 40.0},
        {
            "_src_fp16_dst_fp16_sparsity_on": 10.0,
            "_src_fp16_dst_fp16_sparsity_off": 20.0,
            "_src_fp16_dst_fp32_sparsity_off": 70.0,
        },
        {"_op_hmma_src_fp16": 25.0, "_op_hmma_src_fp16_dst_fp32": 25.0, "_op_hgmma_src_fp16": 75.0},
        {
            "_op_hmma_src_fp16_dst_fp16_sparsity_off": 5.0,
            "_op_hmma_src_fp16_dst_fp32_sparsity_off": 20.0,
            "_op_hgmma_src_fp16_sparsity_off": 75.0,
        },
    ],
)
def test_parts_make_up_a_missing_total(parts):
    work = work_of({f"{TENSOR}{part}.sum": amount for part, amount in parts.items()})
    assert work["flop_fp16_tensor"] == 100.0
    assert not work["flop_estimated"]


def test_a_total_that_is_not_available_is_no_zero():
    work = work_of({f"{TENSOR}_src_fp16.sum": None, f"{TENSOR}_src_fp16_dst_fp32.sum": 70.0})
    assert work["flop_fp16_tensor"] == 70.0
    assert work["flop_bf16_tensor"] is None


@pytest.mark.parametrize(
    ("source", "precision"),
    [
        ("bf16_dst_fp32", "bf16_tensor"),
        ("tf32_dst_fp32", "tf32_tensor"),
        ("fp64", "fp64_tensor"),
        ("fp8", "fp8_tensor"),
        ("fp4_fp6_fp8_dst_fp16", "fp8_tensor"),
        ("fp4_dst_fp32", "fp4_tensor"),
        ("int8", "int8_tensor"),
        ("int4", "int4_tensor"),
    ],
)
def test_operands_decide_the_precision(source, precision):
    assert work_of({f"{TENSOR}_src_{source}.sum": 7.0})[f"flop_{precision}"] == 7.0


@given(
    parts=st.dictionaries(
        st.tuples(st.sampled_from(["fp16", "fp32"]), st.sampled_from(["on", "off"])),
        st.integers(0, 10**12),
        min_size=1,
    ),
    levels=st.sets(st.sampled_from(["total", "result", "sparsity", "both"]), min_size=1),
)
def test_whatever_is_collected_the_operations_are_counted_once(parts, levels):
    names = {
        "total": lambda _result, _sparsity: "",
        "result": lambda result, _sparsity: f"_dst_{result}",
        "sparsity": lambda _result, sparsity: f"_sparsity_{sparsity}",
        "both": lambda result, sparsity: f"_dst_{result}_sparsity_{sparsity}",
    }
    metrics: dict[str, float] = {}
    for level in levels:
        for (result, sparsity), amount in parts.items():
            metric = f"{TENSOR}_src_fp16{names[level](result, sparsity)}.sum"
            metrics[metric] = metrics.get(metric, 0.0) + amount
    assert work_of(metrics)["flop_fp16_tensor"] == sum(parts.values())


# -- tensor instructions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capability", "metric", "precision", "flop"),
    [
        ("7.0", "sm__inst_executed_pipe_tensor.sum", "fp16_tensor", 512),
        ("8.0", "sm__inst_executed_pipe_tensor_op_hmma.sum", "fp16_tensor", 4096),
        ("8.9", "sm__inst_executed_pipe_tensor_op_hmma_v2.sum", "fp16_tensor", 4096),
        ("8.6", "sm__inst_executed_pipe_tensor_op_imma.sum", "int8_tensor", 8192),
        ("8.0", "sm__inst_executed_pipe_tensor_op_dmma.sum", "fp64_tensor", 512),
    ],
)
def test_instructions_stand_in_where_they_do_a_known_amount(capability, metric, precision, flop):
    work = work_of({metric: 10.0}, compute_capability=capability)
    assert work[f"flop_{precision}"] == 10 * flop
    assert work["flop_estimated"]


@pytest.mark.parametrize("capability", ["9.0", "10.0", "7.5", None])
def test_instructions_of_unknown_size_count_nothing(capability):
    metric = {"sm__inst_executed_pipe_tensor.sum": 10.0}
    assert work_of(metric, compute_capability=capability) is None


def test_half_precision_moves_are_no_tensor_operations():
    pipe = "sm__inst_executed_pipe_tensor_op_hmma"
    work = work_of({f"{pipe}.sum": 10.0, f"{pipe}_type_hfma2.sum": 4.0}, compute_capability="8.0")
    assert work["flop_fp16_tensor"] == 6 * 4096


def test_half_precision_moves_alone_count_nothing():
    moves = {"sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum": 4.0}
    assert work_of(moves, compute_capability="8.0") is None
    adds = {f"{THREAD}_ffma_pred_on.sum": 8.0}
    work = work_of({**moves, **adds}, compute_capability="8.0")
    assert (work["flop_fp16_tensor"], work["flop_fp32"]) == (None, 16.0)


def test_no_operations_are_fewer_than_none():
    pipe = "sm__inst_executed_pipe_tensor_op_hmma"
    work = work_of({f"{pipe}.sum": 3.0, f"{pipe}_type_hfma2.sum": 4.0}, compute_capability="8.0")
    assert work["flop_fp16_tensor"] == 0.0


def test_operations_come_before_instructions():
    work = work_of(
        {f"{TENSOR}_src_fp16_dst_fp32.sum": 0.0, "sm__inst_executed_pipe_tensor_op_hmma.sum": 9.0},
        compute_capability="8.0",
    )
    assert work["flop_fp16_tensor"] == 0.0
    assert not work["flop_estimated"]


def test_tensor_work_that_was_not_counted_is_unknown_not_zero():
    trace = trace_of_launches(
        launch(1000, {f"{THREAD}_ffma_pred_on.sum": 8.0}, tensor_pct=80.0),
        launch(1000, {f"{THREAD}_ffma_pred_on.sum": 8.0}, tensor_pct=2.3),
    )
    work, notes = counted_work(trace, trace.kernel_calls)
    assert work["flop_fp32"].to_list() == [None, 16.0]
    assert any("in 1 kernel call with tensor cores" in note for note in notes)


def test_without_any_trace_of_the_tensor_pipe_work_is_unknown():
    """A matrix product would else get a roof from the few operations beside its tensor work."""
    trace = trace_of_launches(
        launch(1000, {f"{THREAD}_ffma_pred_on.sum": 8.0}),
        launch(1000, {f"{THREAD}_ffma_pred_on.sum": 8.0, f"{TENSOR}_src_fp16.sum": 0.0}),
        launch(1000, {}),
    )
    work, notes = counted_work(trace, trace.kernel_calls)
    assert work["flop_fp32"].to_list() == [None, 16.0, None]
    assert any("were recorded in 1 kernel call: no roofline" in note for note in notes)


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metrics", "amount"),
    [
        ({"": 100.0, "_read": 60.0, "_write": 40.0}, 100.0),
        ({"_read": 60.0, "_write": 40.0}, 100.0),
        ({"_read": 60.0}, None),
        ({}, None),
    ],
)
def test_bytes_are_the_total_or_reads_and_writes(metrics, amount):
    counts = {f"dram__bytes{way}.sum": value for way, value in metrics.items()}
    assert work_of({f"{TENSOR}_src_fp64.sum": 1.0, **counts})["bytes"] == amount


def test_sums_of_reads_and_writes_come_before_a_rate():
    metrics = {
        "dram__bytes_read.sum": 60.0,
        "dram__bytes_write.sum": 40.0,
        "dram__bytes.sum.per_second": 9e9,
        f"{TENSOR}_src_fp64.sum": 1.0,
    }
    assert work_of(metrics)["bytes"] == 100.0


# -- what is missing -------------------------------------------------------------------------------


def test_without_any_count_of_operations_there_is_no_work():
    assert work_of({"dram__bytes.sum": 5.0}) is None
    assert work_of({}) is None


def test_an_incomplete_count_is_called_a_lower_bound():
    trace = trace_of_launches(launch(1000, {f"{THREAD}_ffma_pred_on.sum": 8.0}, tensor_pct=0.0))
    assert counted_work(trace, trace.kernel_calls)[1] == [
        "FADD, FMUL were not counted: FLOP are a lower bound",
    ]


def test_launches_without_metrics_stay_in_their_place():
    trace = trace_of_launches(
        launch(10, {}), launch(10, {f"{TENSOR}_src_fp64.sum": 1.0}), launch(10, {})
    )
    work = counted_work(trace, trace.kernel_calls)[0]
    assert work["index"].to_list() == [0, 1, 2]
    assert work["flop_fp64_tensor"].to_list() == [None, 1.0, None]


# -- the sets of metrics ---------------------------------------------------------------------------


def test_every_metric_of_the_roofline_set_is_used():
    used_as_column_or_clock = {*UTILISATION, "sm__cycles_elapsed.avg.per_second"}
    for metric in set(ROOFLINE) - used_as_column_or_clock:
        assert role_of(metric, "7.0"), metric


def test_the_sets_hold_each_metric_once_and_begin_with_the_four():
    assert len(set(ROOFLINE)) == len(ROOFLINE)
    assert ROOFLINE[:4] == UTILISATION
    assert all(re.fullmatch(r"[a-z]+__\w+(\.\w+)+", metric) for metric in ROOFLINE)
