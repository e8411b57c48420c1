"""Recordings whose device work carries no correlation: tied by external ids, or to nothing."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timesink
from builders import complete
from cases import MAIN, PID, read
from timesink.analyses.links import link_launches, origin_rows
from timesink.analyses.operators import operator_table
from timesink.analyses.replay.own_clock import own_clock
from timesink.analyses.work.efficiency import efficiency
from timesink.cli import main


def call(name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return complete("cuda_runtime", name, ts, dur, pid=PID, tid=MAIN, args=args)


def operator(name: str, ts: float, dur: float, external_id: int | None = None) -> dict[str, Any]:
    args = {} if external_id is None else {"External id": external_id}
    return complete("cpu_op", name, ts, dur, pid=PID, tid=MAIN, args=args)


def work(ts: float, dur: float, external_id: int, *, kind: str = "kernel") -> dict[str, Any]:
    return complete(kind, "gemm", ts, dur, pid=2, tid=0, args={"External id": external_id})


class TestWorkThatCarriesAnExternalIdOnly:
    def test_belongs_to_the_launch_that_carries_it(self):
        trace = read(
            operator("aten::mm", 0, 40, 500),
            call("hipGetDevice", 2, 1, **{"External id": 7}),
            call("hipExtModuleLaunchKernel", 5, 5, **{"External id": 7}),
            work(30, 100, 7),
        )
        links = link_launches(trace)
        assert trace.host["name"][links.call_row].to_list() == ["hipExtModuleLaunchKernel"]
        assert operator_table(trace).filter(name="aten::mm")["device_total_ns"].item() == 100_000

    def test_launches_and_kernels_of_one_operator_belong_together_in_order(self):
        trace = read(
            operator("aten::mm", 0, 40, 7),
            call("hipLaunchKernel", 5, 5, **{"External id": 7}),
            call("hipLaunchKernel", 15, 5, **{"External id": 7}),
            work(50, 100, 7),
            work(160, 10, 7),
        )
        rows = link_launches(trace).call_row
        assert trace.host["ts_ns"][rows].to_list() == [5_000, 15_000]

    def test_belongs_to_the_operator_where_no_launch_carries_it(self):
        trace = read(
            operator("aten::mm", 0, 40, 7),
            operator("aten::add", 60, 40, 8),
            operator("aten::mm", 200, 40, 7),
            work(30, 20, 7),
            work(90, 20, 8),
        )
        assert link_launches(trace).call_row.tolist() == [-1, -1]
        assert trace.host["ts_ns"][origin_rows(trace)].to_list() == [0, 60_000]
        assert "unlinked_kernels" not in {entry.code for entry in trace.health}

    def test_an_annotation_of_the_device_is_no_work(self):
        trace = read(
            operator("aten::mm", 0, 40, 7),
            call("hipLaunchKernel", 5, 5, **{"External id": 7}),
            work(30, 20, 7, kind="gpu_user_annotation"),
        )
        assert origin_rows(trace).tolist() == [-1]


@pytest.mark.parametrize(
    ("name", "operators", "matrix_flop"),
    [
        ("gemm_01_compute_few_tiles", "aten::mm", 10 * 2 * 256 * 131072 * 512),
        ("conv_04_depthwise", "aten::convolution", 2 * 8 * 1024 * 32 * 32 * 9),
        ("moe_04_top2_dense", "vllm::rocm_aiter_fused_moe", 512 * 2 * 2 * 7168 * (28672 + 14336)),
    ],
)
def test_operators_of_real_recordings_have_their_kernels_and_work(
    shared_root: Path, name: str, operators: str, matrix_flop: int
):
    trace = timesink.open(shared_root / f"data/tracelens/evals/{name}.json.gz")
    kernels = trace.device.filter(pl.col("kind") == "kernel")["dur_ns"].sum()
    table = operator_table(trace)
    assert table["device_self_ns"].sum() == kernels
    assert table.sort("device_self_ns")["name"][-1] == operators
    modelled = efficiency(trace).modelled
    assert modelled.modelled_share == 1.0
    calls = modelled.calls.join(
        modelled.sets.with_row_index("set").cast({"set": pl.Int64}), on="set"
    )
    assert calls["matrix_flop"].sum() == pytest.approx(matrix_flop)


def test_without_launches_nothing_tells_what_the_program_takes_without_a_profiler():
    events = [
        *(operator("aten::mm", 30 * n, 20) for n in range(4)),
        *(call("cudaLaunchKernel", 30 * n + 5, 5) for n in range(4)),
    ]
    linked = [{**work(30 * n + 15, 40, 0), "args": {"correlation": n + 1}} for n in range(4)]
    for number, event in enumerate(events[4:]):
        event["args"] = {"correlation": number + 1}
    kernels = [work(200 + 50 * n, 40, 900 + n) for n in range(4)]
    clock = own_clock(read(*events, *linked[:1], *kernels))
    assert clock.own_ns is None
    assert clock.why.startswith("80 % of the device work has no launch in the recording")


@st.composite
def evaluations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Operators one after the other, their launches and kernels, which ids may tie or not."""
    events: list[dict[str, Any]] = []
    host, device = 0.0, draw(st.sampled_from([0, 0, 5, 1000]))
    has_correlations = draw(st.booleans())
    for number in range(draw(st.integers(1, 6))):
        length = draw(st.sampled_from([0, 0.4, 7, 26, 900]))
        external = draw(st.sampled_from([None, 500 + number]))
        events.append(operator("aten::mm", host, length, external))
        for place in range(draw(st.integers(0, 3))):
            ids = {"External id": draw(st.sampled_from([10 * number + place + 1, 500 + number]))}
            if has_correlations and draw(st.booleans()):
                ids["correlation"] = 10 * number + place + 1
            takes = draw(st.sampled_from([0, 0, 0.3, 5]))
            events.append(call("cudaLaunchKernel", host + 2 * place, takes, **ids))
        for place in range(draw(st.integers(0, 3))):
            ids = {"External id": draw(st.sampled_from([0, 10 * number + place + 1, 500 + number]))}
            if has_correlations and draw(st.booleans()):
                ids["correlation"] = draw(st.sampled_from([0, 10 * number + place + 1]))
            takes = draw(st.sampled_from([0, 0, 1, 80, 1085]))
            events.append({**work(device, takes, 0), "args": ids})
            device += takes + draw(st.sampled_from([0, 0, 1, 30]))
        host += length + draw(st.sampled_from([0, 1, 30]))
    if draw(st.booleans()):
        events.append(call("cudaDeviceSynchronize", host, draw(st.sampled_from([0, 2000]))))
    if draw(st.booleans()):
        events.append(complete("user_annotation", "ProfilerStep#3", 0, host, pid=PID, tid=MAIN))
    return events


@settings(max_examples=4)
@given(evaluations())
def test_any_such_recording_is_answered(events: list[dict[str, Any]]):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_text(json.dumps({"traceEvents": events, "schemaVersion": 1}))
        for question in (
            ["analyze"],
            ["analyze", "--format", "json"],
            ["whatif", "--scale", "cycle=2"],
        ):
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as errors:
                main([question[0], str(path), *question[1:]])
            assert "internal error" not in errors.getvalue()
