"""What devices spend their time on, by class of work and by annotation."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from builders import (
    HOST_PID,
    annotation,
    complete,
    kernel,
    memcpy,
    memset,
    runtime,
    step,
)
from cases import MAIN, C, K, O, R, read
from timelines import (
    RECORDINGS,
    patient,
    random_traces,
    recording,
    whole_microseconds,
    without_stream,
)
from timesink.analyses.columns import seed_memo
from timesink.analyses.device_activities import kernels_by_annotation
from timesink.analyses.device_utilisation import (
    COMMUNICATION,
    COMPUTATION,
    MEMORY,
    activity_classes,
    device_time,
    kernel_kinds,
    overlap_by_step,
)
from timesink.analyses.links import link_launches
from timesink.analyses.steps import find_steps
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

MTIA, NS_RESOLUTION = RECORDINGS[0], "hta/ns_resolution_trace"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

OVERLAPPING = (
    kernel("gemm", 0, 40, 1),
    kernel(NCCL, 20, 60, 2, stream=13),
    memcpy("Memcpy HtoD (Pinned -> Device)", 30, 60, 3, stream=20),
    memset("Memset (Device)", 95, 5, 4),
    kernel("add", 140, 10, 5),
)
"""Computation 0-40 and 140-150, communication 20-80, memory 30-90 and 95-100."""


class TestWholeTrace:
    def test_unions_exposed_parts_and_rest(self):
        (row,) = device_time(read(*OVERLAPPING)).rows(named=True)
        us = {name: value / 1000 for name, value in row.items() if name.endswith("_ns")}
        assert us == {
            "span_ns": 150,
            "busy_ns": 105,
            "idle_ns": 45,
            "compute_ns": 50,
            "communication_ns": 60,
            "memory_ns": 65,
            "compute_only_ns": 30,
            "exposed_communication_ns": 40,
            "exposed_memory_ns": 15,
        }
        assert row["communication_overlap_pct"] == pytest.approx(100 * 20 / 60)
        assert (row["device"], row["activities"]) == (0, 5)

    def test_no_communication_has_no_overlap(self):
        assert device_time(read(kernel("a", 0, 5, 1)))["communication_overlap_pct"][0] is None

    def test_devices_apart(self):
        time = device_time(read(kernel("a", 0, 5, 1, device=1), kernel("b", 2, 9, 2, device=0)))
        assert time.select("device", "busy_ns").rows() == [(0, 9_000), (1, 5_000)]

    def test_annotations_on_the_device_are_no_work(self):
        note = complete("gpu_user_annotation", "step", 0, 500, pid=0, tid=7)
        assert device_time(read(note, kernel("a", 10, 5, 1)))["span_ns"].to_list() == [5_000]

    def test_work_counts_for_its_class(self):
        trace = replace(read(*OVERLAPPING))
        classes = activity_classes(trace).copy()
        classes[(trace.device["kind"] == "memset").to_numpy()] = COMPUTATION
        seed_memo(trace, activity_classes, classes)
        time = device_time(trace)
        assert time.select("compute_ns", "exposed_memory_ns").rows() == [(55_000, 10_000)]


class TestKinds:
    def test_every_mixture_of_classes(self):
        rows = kernel_kinds(read(*OVERLAPPING)).select("kind", "activities", "sum_ns", "time_ns")
        assert rows.rows() == [
            ("computation", 2, 50_000, 30_000),
            ("communication", 1, 60_000, 0),
            ("memory", 2, 65_000, 15_000),
            ("computation+communication", None, None, 10_000),
            ("communication+memory", None, None, 40_000),
            ("computation+communication+memory", None, None, 10_000),
        ]

    def test_classes_that_did_not_run_are_left_out(self):
        assert kernel_kinds(read(kernel("a", 0, 5, 1)))["kind"].to_list() == ["computation"]


class TestSteps:
    def test_work_is_cut_at_the_borders_of_steps(self):
        trace = read(
            step(1, 0, 100),
            step(2, 100, 100),
            runtime("cudaLaunchKernel", 10, 5, 1),
            kernel("a", 20, 60, 1),
            runtime("cudaLaunchKernel", 110, 5, 2),
            kernel(NCCL, 120, 100, 2, stream=13),
            kernel("unlinked", 130, 40, 9),
        )
        steps = overlap_by_step(trace)
        columns = ("step", "span_ns", "compute_ns", "communication_ns", "exposed_communication_ns")
        assert steps.select(columns).rows() == [
            ("1", 100_000, 60_000, 0, 0),
            ("2", 120_000, 40_000, 100_000, 60_000),
        ]
        assert steps["communication_overlap_pct"].to_list() == [None, 40]


class TestAnnotations:
    def test_innermost_annotation_around_the_call(self):
        trace = read(
            step(1, 0, 300),
            annotation("forward", 0, 100),
            annotation("block", 20, 30),
            runtime("cudaLaunchKernel", 10, 5, 1),
            kernel("a", 200, 10, 1),
            runtime("cudaLaunchKernel", 25, 5, 2),
            kernel("b", 205, 10, 2, stream=13),
            runtime("cudaLaunchKernel", 60, 5, 3),
            kernel("c", 215, 20, 3),
            runtime("cudaLaunchKernel", 150, 5, 4),
            kernel("d", 240, 7, 4),
            kernel("e", 250, 3, 99),
        )
        assert kernels_by_annotation(trace).rows() == [
            ("forward", True, 2, 30_000, 30_000),
            ("block", True, 1, 10_000, 10_000),
            (None, True, 1, 7_000, 7_000),
            (None, False, 1, 3_000, 3_000),
        ]

    def test_what_runs_at_the_same_time_is_busy_once(self):
        trace = read(
            annotation("forward", 0, 100),
            runtime("cudaLaunchKernel", 10, 5, 1),
            kernel("a", 200, 10, 1),
            runtime("cudaLaunchKernel", 25, 5, 2),
            kernel("b", 205, 10, 2, stream=13),
        )
        assert kernels_by_annotation(trace).rows() == [("forward", True, 2, 20_000, 15_000)]

    def test_annotations_of_other_threads_do_not_count(self):
        trace = read(
            complete("user_annotation", "elsewhere", 0, 100, pid=HOST_PID, tid=77),
            runtime("cudaLaunchKernel", 10, 5, 1),
            kernel("a", 20, 10, 1),
        )
        assert kernels_by_annotation(trace)["annotation"].to_list() == [None]

    def test_a_call_that_outlasts_an_annotation_is_not_inside(self):
        trace = read(
            annotation("outer", 0, 100),
            annotation("inner", 10, 20),
            runtime("cudaMemcpy", 25, 30, 1),
            memcpy("copy", 30, 10, 1),
        )
        assert kernels_by_annotation(trace)["annotation"].to_list() == ["outer"]

    def test_old_profilers_recorded_annotations_as_operators(self):
        trace = read(
            O("Optimizer.step#SGD.step", 0, 100),
            O("aten::add_", 5, 50),
            R(10, 5, c=1),
            K("add", 30, 10, c=1),
            R(200, 5, c=2, tid=MAIN),
            C(210, 5, c=2),
        )
        rows = kernels_by_annotation(trace).select("annotation", "activities").rows()
        assert rows == [("Optimizer.step#SGD.step", 1), (None, 1)]


PARTS = ("compute_ns", "exposed_communication_ns", "exposed_memory_ns", "idle_ns")


def moments(trace: Trace) -> dict[tuple[int, int], set[int]]:
    """Which classes ran on each device at each ns, counted one by one."""
    classes = activity_classes(trace)
    moment_classes: dict[tuple[int, int], set[int]] = {}
    for place, row in enumerate(trace.device.iter_rows(named=True)):
        device = -1 if row["device"] is None else row["device"]
        if row["kind"] in BUSY_KINDS:
            for moment in range(row["ts_ns"], row["ts_ns"] + row["dur_ns"]):
                moment_classes.setdefault((device, moment), set()).add(int(classes[place]))
    return moment_classes


@patient
@given(random_traces)
def test_times_agree_with_counting(trace: Trace):
    counted = moments(trace)
    time = device_time(trace)
    assert (time.select(PARTS).sum_horizontal() == time["span_ns"]).all()
    for row in time.iter_rows(named=True):
        ran = [classes for (device, _), classes in counted.items() if device == row["device"]]
        assert row["busy_ns"] == len(ran)
        assert row["compute_ns"] == sum(COMPUTATION in classes for classes in ran)
        assert row["communication_ns"] == sum(COMMUNICATION in classes for classes in ran)
        assert row["memory_ns"] == sum(MEMORY in classes for classes in ran)
        assert row["compute_only_ns"] == ran.count({COMPUTATION})
        assert row["exposed_memory_ns"] == ran.count({MEMORY})
        kinds = kernel_kinds(trace).filter(pl.col("device") == row["device"])
        assert kinds["time_ns"].sum() == row["busy_ns"]
        assert kinds["activities"].sum() == row["activities"]


@patient
@given(random_traces)
def test_steps_agree_with_counting(trace: Trace):
    counted = moments(trace)
    steps = find_steps(trace)
    by_step = overlap_by_step(trace)
    assert by_step.height == steps.height * device_time(trace).height
    assert (by_step.select(PARTS).sum_horizontal() == by_step["span_ns"]).all()
    for row in by_step.iter_rows(named=True):
        inside = range(row["start_ns"], row["start_ns"] + row["span_ns"])
        ran = [counted.get((row["device"], moment), set()) for moment in inside]
        assert row["busy_ns"] == sum(bool(classes) for classes in ran)
        assert row["exposed_communication_ns"] == sum(
            COMMUNICATION in classes and COMPUTATION not in classes for classes in ran
        )


def innermost(trace: Trace, call: dict[str, Any]) -> str | None:
    """The annotation around a call that started last, looked up one by one."""
    end = call["ts_ns"] + call["dur_ns"]
    around = [
        (row["ts_ns"], -row["dur_ns"], place, row["name"])
        for place, row in enumerate(trace.host.iter_rows(named=True))
        if row["tid"] == call["tid"]
        and row["ts_ns"] <= call["ts_ns"]
        and row["ts_ns"] + row["dur_ns"] >= end
        and (row["kind"] == "annotation" or "DataLoader" in row["name"])
        and row["kind"] in {"annotation", "operator"}
    ]
    return max(around)[-1] if around else None


@patient
@given(random_traces)
def test_annotations_agree_with_looking_them_up(trace: Trace):
    calls = trace.host.rows(named=True)
    busy = trace.device["kind"].is_in(BUSY_KINDS)
    expected = Counter(
        innermost(trace, calls[row])
        for row, works in zip(link_launches(trace).call_row, busy, strict=True)
        if row >= 0 and works
    )
    labels = kernels_by_annotation(trace).filter("launched")
    assert dict(labels.select("annotation", "activities").rows()) == expected


@patient
@given(random_traces)
def test_annotations_close(trace: Trace):
    labels = kernels_by_annotation(trace)
    busy = trace.device.filter(pl.col("kind").is_in(BUSY_KINDS))
    assert labels["activities"].sum() == busy.height
    assert labels["device_ns"].sum() == busy["dur_ns"].sum()
    assert labels["busy_ns"].is_between(0, labels["device_ns"]).all()


EXACT = {
    "hta/ns_resolution_trace": (480029.179, 472454.441, 468739.037, 0, 0, 3715.404, 3715.404),
    "hta/nccl_parser_config": (
        *(660551.005, 157500.014, 116046.564),
        *(46876.493, 39529.327, 2262.781, 1924.123),
    ),
    "hta/amd_trace": (8911.887, 149.042, 110.881, 0, 0, 38.161, 38.161),
    "tracelens/b200/eager_trace.json.gz": (
        *(84487.178, 11596.482, 10771.685),
        *(21.953, 21.953, 802.844, 802.844),
    ),
}
"""In us: span, busy, computation, communication, exposed, copies, exposed."""

COLUMNS = (
    "span_ns",
    "busy_ns",
    "compute_ns",
    "communication_ns",
    "exposed_communication_ns",
    "memory_ns",
    "exposed_memory_ns",
)


def plain_classes(trace: Trace) -> np.ndarray:
    """Only libraries of collectives communicate, and filling memory is computation."""
    classes = np.full(trace.device.height, COMPUTATION, dtype=np.int8)
    classes[(trace.device["kind"] == "memcpy").to_numpy()] = MEMORY
    talks = trace.device["name"].cast(pl.String).str.contains("nccl|rccl")
    classes[talks.to_numpy()] = COMMUNICATION
    return classes


class TestRecordings:
    @pytest.mark.parametrize("name", EXACT)
    def test_exact_sums(self, shared_root: Path, name: str):
        trace = replace(recording(shared_root, name))
        seed_memo(trace, activity_classes, plain_classes(trace))
        (row,) = device_time(trace).select(COLUMNS).rows()
        assert row == tuple(round(us * 1000) for us in EXACT[name])

    def test_mtia_in_whole_microseconds(self, shared_root: Path):
        trace = whole_microseconds(without_stream(recording(shared_root, MTIA), "801"))
        (row,) = device_time(trace).rows(named=True)
        assert 100 * row["idle_ns"] / row["span_ns"] == pytest.approx(42.38, abs=0.01)
        assert 100 * row["compute_ns"] / row["span_ns"] == pytest.approx(54.81, abs=0.01)
        assert 100 * row["exposed_memory_ns"] / row["span_ns"] == pytest.approx(2.81, abs=0.02)
        kinds = kernel_kinds(trace).select("kind", "sum_ns").rows()
        assert kinds == [("computation", 7_305_597_000), ("memory", 400_892_000)]

    def test_annotations_of_a_real_run(self, shared_root: Path):
        labels = kernels_by_annotation(recording(shared_root, NS_RESOLUTION))
        counts = dict(labels.select("annotation", "activities").rows())
        assert counts == {
            "DistributedDataParallel.forward": 2300,
            "Optimizer.step#SGD.step": 45,
            "## backward ##": 30,
            None: 3720,
        }
