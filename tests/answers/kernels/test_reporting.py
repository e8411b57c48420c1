"""`timesink.kernels`: what it takes, and what it refuses."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import timesink
from builders import kernel, kineto, operator, runtime
from cases import MODULE, K, R, read, read_document
from measured_kernels import launch, trace_of_launches
from timesink.answers.kernels.reading import kernels
from timesink.errors import UnreadableError, UsageError
from timesink.model.health import HealthEntry
from timesink.model.trace import Device, Trace

NAMES = ("sgemm_a", "add_kernel", "sgemm_b", "mul_kernel")


def counters(names: tuple[str, ...] = NAMES, **extra: Any) -> Trace:
    return trace_of_launches(*(launch(10, {}, name=name, sm_pct=50.0) for name in names), **extra)


def timeline(names: tuple[str, ...] = NAMES) -> Trace:
    events = [operator("aten::linear", 0, 45), operator("aten::gelu", 50, 100)]
    for n, name in enumerate(names, 1):
        events += [runtime("cudaLaunchKernel", 20 * n, 5, n), kernel(name, 100 + 20 * n, 10, n)]
    return read_document(kineto(events))


def test_calls_carry_class_and_weight():
    report = kernels(counters())
    assert {"class", "weight", "short_name", "family"} <= set(report.calls.columns)
    assert report.calls["weight"].to_list() == [1.0] * 4


def test_it_is_exported():
    assert inspect.unwrap(timesink.kernels) is inspect.unwrap(kernels)


def test_a_path_is_opened(tmp_path):
    del tmp_path
    report = kernels(timesink.sample())
    assert report.source == str(timesink.sample())
    assert report.devices[0].calls == report.calls.height


def test_an_empty_path():
    with pytest.raises(UsageError, match="the path is empty"):
        kernels("")


def test_own_families(tmp_path):
    families_file = tmp_path / "own.txt"
    families_file.write_text("ours  add_kernel\n")
    families = kernels(counters(), families=families_file).groups("family")["group"].to_list()
    assert sorted(families) == ["elementwise", "gemm", "ours"]


# -- sampling --------------------------------------------------------------------------------------


def test_the_user_declares_a_sample():
    report = kernels(counters(), every=5)
    assert report.calls["weight"].to_list() == [5.0] * 4
    assert report.devices[0].total_ns == 200
    assert any("every 5th launch was measured, 4 launches of 4 kernels" in n for n in report.notes)


def test_every_single_launch_is_no_sample():
    assert kernels(counters(), every=1).sampling is None


def test_the_file_knows_better():
    sampled = counters(collected={"every": 7, "per": "kernel"})
    assert kernels(sampled, every=7).sampling == kernels(sampled).sampling
    with pytest.raises(UsageError, match="every 7th launch of each kernel was measured"):
        kernels(sampled, every=5)


def test_a_timeline_is_no_sample():
    with pytest.raises(UsageError, match="holds every launch"):
        kernels(read(K("f", 100, 10)), every=5)


# -- joined with a timeline ------------------------------------------------------------------------


def test_a_timeline_tells_which_operator_launched():
    report = kernels(counters(), trace=timeline())
    assert report.join is not None
    assert report.join.aligned == 4
    assert report.calls["operator"].to_list() == ["aten::linear"] * 2 + ["aten::gelu"] * 2
    groups = report.groups("operator").select("group", "calls", "sm_pct")
    assert groups.rows() == [("aten::gelu", 2, 50.0), ("aten::linear", 2, 50.0)]
    assert "operator" in report.to_dict()["groups"]


def test_own_families_hold_for_both_sides(tmp_path):
    """Kernels of other names are found by their family, whoever names it."""
    families_file = tmp_path / "own.txt"
    families_file.write_text("ours  sgemm\n")
    other = timeline(("sgemm_a", "add_kernel", "sgemm_y", "mul_kernel"))
    report = kernels(counters(), trace=other, families=families_file)
    assert report.join is not None
    assert report.join.aligned == 4


def counted_trace() -> Trace:
    """Launches with counted operations, on a device without a name."""
    work = {"sm__ops_path_tensor_src_fp16.sum": 1e6, "dram__bytes.sum": 1e3}
    unnamed = [Device(0, "", compute_capability="9.0")]
    return trace_of_launches(*(launch(10, work, name=name) for name in NAMES), devices=unnamed)


def on_h200(names: tuple[str, ...]) -> Trace:
    trace = timeline(names)
    device = Device(0, "NVIDIA H200", compute_capability="9.0")
    return replace(trace, metadata=replace(trace.metadata, devices=(device,)))


def test_a_timeline_of_another_program_does_not():
    report = kernels(counted_trace(), trace=on_h200(("p", "q", "r", "s")))
    assert report.roofline is not None
    assert report.roofline.peaks is None


def test_modules_are_grouped_by_class():
    blocks = [
        MODULE(f"nn.Module: Block_{n}", 40 * n, 39, python_id=n, parent=None, module=n)
        for n in (0, 1)
    ]
    launches = [R(20 * n - 15, 5, c=n) for n in range(1, 5)]
    ran = [K(name, 100 + 20 * n, 10, c=n) for n, name in enumerate(NAMES, 1)]
    report = kernels(counters(), trace=read(*blocks, *launches, *ran))
    modules, classes = (
        report.groups(by).select("group", "calls").rows() for by in ("module", "module-class")
    )
    assert sorted(modules) == [("Block_0", 2), ("Block_1", 2)]
    assert classes == [("Block", 4)]
    assert "module-class" in report.to_dict()["groups"]


def test_launches_that_are_not_in_the_timeline_have_no_operator():
    names = (*NAMES, *NAMES, "other_kernel")
    report = kernels(counters(names), trace=timeline((*NAMES, *NAMES)))
    assert report.calls["operator"].to_list()[-1] is None
    assert report.groups("operator")["calls"].sum() == len(names)


def test_another_program_is_refused():
    report = kernels(counters(), trace=timeline(("p", "q", "r", "s")))
    assert report.join is not None
    assert report.join.refused
    assert "operator" not in report.calls.columns
    with pytest.raises(UsageError, match="is not known") as raised:
        report.groups("operator")
    assert raised.value.hint == "give --trace a timeline of the same program"


def test_nothing_in_common_is_refused_whatever_the_limit():
    report = kernels(counters(), trace=timeline(("p", "q", "r", "s")), min_aligned=0)
    assert report.join is not None
    assert report.join.reason == "none of the 4 kernels was found in the timeline: another program?"


def test_a_timeline_names_the_device():
    about = Device(0, "", compute_capability="9.0")
    nameless = counters(devices=(about,))
    recorded = timeline()
    named = replace(recorded.metadata, devices=(Device(0, "NVIDIA H200"),))
    same = Trace(named, recorded.health, recorded.frames)
    assert kernels(nameless).devices[0].name == ""
    assert kernels(nameless, trace=same).devices[0].name == "NVIDIA H200"
    other = Trace(named, (), timeline(("p", "q", "r", "s")).frames)
    assert kernels(nameless, trace=other).devices[0].name == ""


def test_launches_without_a_module_say_why():
    report = kernels(counters((*NAMES, "extra_kernel")), trace=timeline())
    calls = report.calls.with_columns(
        pl.when(pl.col("operator") == "aten::linear").then(pl.lit("Net.fc")).alias("module")
    )
    groups = replace(report, calls=calls).groups("module")
    rows_by_label = {row["label"]: (row["group"], row["calls"]) for row in groups.to_dicts()}
    assert rows_by_label["(not aligned)"] == (None, 1)
    assert rows_by_label["(outside modules)"][0] is None
    assert rows_by_label["Net.fc"][0] == "Net.fc"


def test_a_folder_of_counters_is_named_file_by_file(tmp_path):
    (tmp_path / "a.csv").write_text("ID\n")
    with pytest.raises(UnreadableError) as raised:
        kernels(tmp_path)
    assert raised.value.hint == f"name the files: timesink kernels {tmp_path}/*.csv"


def test_a_timeline_needs_no_timeline():
    with pytest.raises(UsageError, match="needs no other"):
        kernels(timeline(), trace=timeline())


def test_counters_are_no_timeline():
    with pytest.raises(UsageError, match="no timeline"):
        kernels(counters(), trace=counters())


def test_a_timeline_without_kernels():
    empty = read_document(kineto([operator("aten::add", 0, 10)]))
    with pytest.raises(UsageError, match="without kernels") as raised:
        kernels(counters(), trace=empty)
    assert "only one of them sees the device" in raised.value.hint


# -- notes -----------------------------------------------------------------------------------------


def test_what_to_know_before_believing():
    trace = trace_of_launches(
        launch(10, {}, tensor_pct=5.0, dram_pct=5.0, device=0),
        launch(10, {}, device=1),
        profiler_notes=["Note: Running with unmodified GPU clocks."],
    )
    notes = kernels(trace).notes
    assert [note.partition(" ")[0] for note in notes] == ["durations", "no", "2", "the"]
    assert notes[-1] == "the profiler says: Running with unmodified GPU clocks."


def test_what_health_says_is_no_note():
    trace = trace_of_launches(launch(10, {}), profiler_notes=["Note: clocks vary", "odd"])
    entry = HealthEntry("uncontrolled_clocks", 1, "Note: clocks vary")
    notes = kernels(Trace(trace.metadata, (entry,), trace.frames)).notes
    assert [note for note in notes if "profiler says" in note] == ["the profiler says: odd"]


def test_kernels_of_all_devices_are_counted():
    launches = (launch(10, {}, name=name, device=device) for device, name in enumerate("aabc"))
    (note,) = (
        n for n in kernels(trace_of_launches(*launches), every=2).notes if n.startswith("a sample")
    )
    assert "every 2nd launch was measured, 4 launches of 3 kernels seen" in note
    assert "kernels that run rarely may be missing" in note


def test_a_sample_of_each_kernel_misses_none():
    notes = " ".join(kernels(counters(collected={"every": 7, "per": "kernel"})).notes)
    assert "a sample: every 7th launch of each kernel" in notes
    assert "missing" not in notes


def test_a_timeline_says_how_to_get_counters():
    (note,) = kernels(timeline()).notes
    assert "`timesink ncu -- PROGRAM`" in note
    assert "--trace" in note


def test_a_sample_of_all_launches_may_alias():
    assert any("shares a factor with 6" in note for note in kernels(counters(), every=6).notes)


# -- real recordings -------------------------------------------------------------------------------
