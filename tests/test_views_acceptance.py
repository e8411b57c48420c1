"""The views on real recordings: known values, and laws that hold for every recording.

Needs the folder of real recordings; see `shared` in conftest.py.
"""

from __future__ import annotations

import importlib
import inspect
import json
import math
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import timesink
import timesink.analyses
from rank_sets import as_set
from shared_folder import find_shared
from thinning import IS_SEARCH
from timesink.analyses.device_utilisation import device_utilisation
from timesink.analyses.kernels.table import kernel_groups, kernel_table
from timesink.analyses.operators import eligible_share, launch_sites, operator_table
from timesink.analyses.steps import PARTS, average_step, find_steps, step_breakdown
from timesink.answers.plugin.distributed import communication_operations, diff, overlap, wait_time
from timesink.answers.plugin.memory import memory_curve, memory_events, memory_table
from timesink.answers.plugin.operators import (
    kernel_pie,
    kernel_table_view,
    module_view,
    operation_pie,
    operation_table,
    tensor_core_pie,
    tree_view,
)
from timesink.answers.plugin.overview import overview
from timesink.answers.plugin.query import Query
from timesink.errors import NotFoundError
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

RUN_0 = "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz"
RUN_4 = "kineto/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz"

Open = Callable[[str], Trace]


@pytest.fixture(autouse=True)
def own_cache(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for the whole file, so that each recording is read once."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))


@pytest.fixture
def recording(shared_root: Path) -> Open:
    return lambda path: timesink.open(shared_root / "data" / path)


# -- known values ----------------------------------------------------------------------------------


def test_average_step_without_loader_processes(recording: Open):
    trace = recording(RUN_0)
    assert find_steps(trace)["name"].to_list() == ["5", "6", "7", "8", "9", "10"]
    average_us = {name: round(ns / 1000, 3) for name, ns in average_step(trace).items()}
    assert average_us == {
        "total_ns": 177592.167,
        "kernel_ns": 98588.667,
        "memcpy_ns": 1915.333,
        "memset_ns": 89,
        "communication_ns": 0,
        "runtime_ns": 2907.5,
        "data_loader_ns": 59261.833,
        "cpu_exec_ns": 13674.167,
        "other_ns": 1155.667,
    }


def test_average_step_with_loader_processes(recording: Open):
    assert average_step(recording(RUN_4))["total_ns"] == 141_068_000


@pytest.mark.parametrize(
    ("path", "utilisation", "sm_efficiency", "occupancy", "eligible"),
    [
        (RUN_0, 0.55514085, 0.54679041, 49.1280049, 0.67619503),
        (RUN_4, 0.70270347, 0.69224978, 48.90989093, 0.67807984),
    ],
)
def test_utilisation(
    recording: Open,
    path: str,
    utilisation: float,
    *,
    sm_efficiency: float,
    occupancy: float,
    eligible: float,
):
    trace = recording(path)
    (device,) = device_utilisation(trace, zeros=True).to_dicts()
    assert device["device"] == 0
    assert round(device["utilisation"], 8) == utilisation
    assert round(device["sm_efficiency"], 8) == sm_efficiency
    assert device["occupancy_pct"] == pytest.approx(occupancy, abs=1e-8)
    assert round(eligible_share(trace) or 0, 8) == eligible


def test_rows_of_the_tables(recording: Open):
    trace = recording(RUN_0)
    assert operator_table(trace).height == 76
    assert operator_table(trace).filter("has_call_stack").height == 52
    assert operator_table(trace, by_shape=True).height == 577
    assert kernel_groups(trace).height == 226
    assert kernel_table(trace).height == 67


def test_rows_of_the_tables_with_loader_processes(recording: Open):
    trace = recording(RUN_4)
    assert (operator_table(trace).height, kernel_table(trace).height) == (69, 62)


def test_two_runs_side_by_side(recording: Open):
    comparison = diff(recording(RUN_0), recording(RUN_4), Query())
    left, right = comparison["left"], comparison["right"]
    assert left["name"] == right["name"] == "CompositeNodes"
    assert [left[key] for key in ("duration", "device_duration", "total_duration")] == [
        793609,
        216936,
        633792,
    ]
    assert (right["duration"], right["total_duration"]) == (497020, 236269)
    names = [child["left"]["name"] for child in comparison["children"]]
    assert names == ["CompositeNodes", "Optimizer.step#SGD.step"] * 6


# -- laws ------------------------------------------------------------------------------------------

DIFFERENT = (
    "h200/traces/cuda_graph/*",
    "hta/cpu_only/*",
    "mlu/mlu_metrics_input.json",
    "tracelens/b200/*",
    "tracelens/mi210/*",
)
"""Recordings that lead analyses where others do not; all of them to search for faults."""


def recordings() -> list[str]:
    folder = find_shared()
    if folder is None:
        return ["without the folder"]
    data = folder / "data"
    if IS_SEARCH:
        places = ("tracelens/**/*.json*", "hta/**/*.json*", "mlu/*.json", "h200/traces/*/*")
    else:
        places = DIFFERENT
    return sorted(str(file.relative_to(data)) for place in places for file in data.glob(place))


@pytest.fixture(scope="module", params=recordings())
def any_recording(request: pytest.FixtureRequest, shared_root: Path, common_cache: Path) -> Trace:
    """Every recording in turn, opened once for all laws."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TIMESINK_CACHE_DIR", str(common_cache))
        return timesink.open(shared_root / "data" / request.param)


@cache
def analyses() -> dict[str, Callable[[Trace], Any]]:
    """Every public function of the analyses that needs nothing but a trace."""
    package = timesink.analyses
    modules = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return dict(
        analysis
        for module in modules
        for analysis in analyses_in(importlib.import_module(module.name))
    )


def analyses_in(module: ModuleType) -> Iterator[tuple[str, Callable[[Trace], Any]]]:
    for name, function in inspect.getmembers(module, inspect.isfunction):
        wanted = list(inspect.signature(function).parameters.values())
        takes_a_trace = bool(wanted) and wanted[0].name == "trace"
        nothing_else = all(parameter.default is not parameter.empty for parameter in wanted[1:])
        is_public = function.__module__ == module.__name__ and not name.startswith("_")
        if is_public and takes_a_trace and nothing_else:
            yield f"{module.__name__}.{name}", function


SIGNED = {"device", "bytes", "size_increase_bytes", "self_size_increase_bytes"}
"""Columns in which less than nothing means something: an unknown device, memory given back."""


def negative(answer: Any) -> Iterator[str]:
    """Where an answer holds a number below zero, or one that is none."""
    if isinstance(answer, int | float):
        if answer < 0 or not math.isfinite(answer):
            yield f": {answer}"
    elif isinstance(answer, pl.DataFrame):
        yield from (f".{name}" for name in negative_columns(answer))
    elif not isinstance(answer, str):
        for key, value in members(answer):
            yield from (f".{key}{place}" for place in negative(value))


def negative_columns(frame: pl.DataFrame) -> Iterator[str]:
    for column in frame.select(pl.selectors.numeric().exclude(SIGNED)).iter_columns():
        values = column.drop_nulls()
        if not ((values >= 0) & values.is_finite()).all():
            yield column.name


def members(answer: Any) -> Iterator[tuple[Any, Any]]:
    """The parts of an answer that is made of parts."""
    if is_dataclass(answer) and not isinstance(answer, type):
        yield from ((field.name, getattr(answer, field.name)) for field in fields(answer))
    elif isinstance(answer, dict):
        yield from answer.items()
    elif isinstance(answer, list | tuple):
        yield from enumerate(answer)


def test_every_analysis_answers_without_negative_numbers(any_recording: Trace):
    assert len(analyses()) > 20
    answers = {name: answer_of(analysis, any_recording) for name, analysis in analyses().items()}
    assert list(negative(answers)) == []


def answer_of(analysis: Callable[[Trace], Any], trace: Trace) -> Any:
    """What an analysis says; None where it refuses to guess, as cycles of a single pass."""
    try:
        return analysis(trace)
    except NotFoundError:
        return None


def test_parts_add_up_to_the_step(any_recording: Trace):
    steps = step_breakdown(any_recording)
    total = steps.select(pl.sum_horizontal(f"{part}_ns" for part in PARTS)).to_series()
    assert total.to_list() == steps["total_ns"].to_list()


def test_operators_and_the_rest_add_up_to_the_device_time(any_recording: Trace):
    work = any_recording.device.filter(pl.col("kind").is_in(BUSY_KINDS))
    sites = dict(launch_sites(any_recording).select("site", "device_ns").iter_rows())
    assert sum(sites.values()) == work["dur_ns"].sum()
    assert operator_table(any_recording)["device_self_ns"].sum() == sites.get("operator", 0)


def test_kernels_add_up_to_the_kernel_time(any_recording: Trace):
    kernels = any_recording.device.filter(pl.col("kind").is_in(["kernel", "collective"]))
    for table in (kernel_table(any_recording), kernel_groups(any_recording)):
        assert table["total_ns"].sum() == kernels["dur_ns"].sum()
        assert table["calls"].sum() == kernels.height


# -- responses -------------------------------------------------------------------------------------

VIEWS: dict[str, tuple[Callable[[Trace, Query], dict[str, Any]], dict[str, str]]] = {
    "overview": (overview, {}),
    "operation": (operation_pie, {"group_by": "OperationAndInputShape"}),
    "operation/table": (operation_table, {"group_by": "OperationAndInputShape"}),
    "kernel": (kernel_pie, {"group_by": "Kernel"}),
    "kernel/table": (kernel_table_view, {"group_by": "Kernel"}),
    "kernel/table by operator": (kernel_table_view, {"group_by": "KernelNameAndOpName"}),
    "kernel/tc_pie": (tensor_core_pie, {}),
    "memory": (memory_table, {}),
    "memory_curve": (memory_curve, {}),
    "memory_events": (memory_events, {}),
    "module": (module_view, {}),
    "tree": (tree_view, {}),
}
NOTHING_TO_SHOW = {"kernel", "memory", "module", "tree"}
"""Views that say so where the recording has nothing for them (`kernel/table` is one of them)."""


def test_every_view_responds(any_recording: Trace):
    for name, (view, params) in VIEWS.items():
        try:
            response = view(any_recording, Query(params))
        except NotFoundError:
            assert name.replace("_", "/").split("/")[0] in NOTHING_TO_SHOW, name
            continue
        json.dumps(response, allow_nan=False)
        if not name.startswith("memory"):
            assert [*negative(response)] == [], name


def test_rank_that_stalls_waits_least(shared_root: Path):
    """The others wait for it in every collective."""
    folder = shared_root / "data/h200/traces/ddp8_stall_rank3"
    files = {rank: next(folder.glob(f"{rank}.*")) for rank in ("rank0", "rank3")}
    traces = as_set({rank: timesink.open(file) for rank, file in files.items()})
    query = Query(workers=2)
    waited = {rank: times[1] for rank, times in wait_time(traces, query)["data"]["all"].items()}
    assert 0 <= waited["rank3"] < waited["rank0"] / 2
    for view in (overlap, communication_operations):
        assert list(negative(view(traces, query))) == []
