"""Small examples of what analyses computes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import timesink
from timesink.analyses.call_tree import align, call_tree, compare_trees, threads
from timesink.analyses.columns import dense_codes, encode, numbers, values_at
from timesink.analyses.forest import call_forest
from timesink.analyses.links import launching_calls, link_launches
from timesink.analyses.names import device_word, is_data_loader
from timesink.analyses.operators import launch_sites
from timesink.analyses.steps import (
    PARTS,
    ROLES,
    average_step,
    chosen_steps,
    find_steps,
    role_ranges,
    step_at,
    step_breakdown,
)
from timesink.analyses.summary import sampled_counters, summarise
from timesink.model.arrays import (
    Groups,
    combine_codes,
    densify,
    grouped_cummax,
    new_coverage,
    sums_by,
)
from timesink.model.nested_calls import depth_when_nested, enclosing_calls, subtree_sizes
from timesink.model.vendors import is_collective_call, is_collective_kernel, waits_for_device


def test_step_breakdown() -> None:
    steps = step_breakdown(timesink.open(timesink.sample()))
    parts = steps.select(pl.sum_horizontal(f"{part}_ns" for part in PARTS)).to_series()
    assert bool((parts == steps["total_ns"]).all())


def test_average_step() -> None:
    average = average_step(timesink.open(timesink.sample()))
    assert average["kernel_ns"] <= average["total_ns"]


def test_threads() -> None:
    trace = timesink.open(timesink.sample())
    assert len(threads(trace)) == trace.host.filter(kind="operator")["tid"].n_unique()


def test_call_tree() -> None:
    tree = call_tree(timesink.open(timesink.sample()))
    assert tree["parent_id"].null_count() < tree.height


def test_align() -> None:
    assert align(["load", "net", "step", "load", "net"], ["net", "step", "save", "net"]) == [
        (1, 0),
        (2, 1),
        (4, 3),
    ]


def test_compare_trees() -> None:
    trace = timesink.open(timesink.sample())
    both = compare_trees(trace, trace)
    assert both.left.cost.host_ns == both.right.cost.host_ns


def test_numbers() -> None:
    assert numbers(pl.Series([3, None])).tolist() == [3, 0]


def test_enclosing() -> None:
    parent = np.array([-1, 0, 1, 2])
    assert enclosing_calls(
        np.array([3, 0, -1]), parent, np.array([False, True, False, False])
    ).tolist() == [1, -1, -1]


def test_call_forest() -> None:
    forest = call_forest(timesink.open(timesink.sample()))
    assert bool((forest.depth[forest.parent >= 0] > 0).all())


def test_values_at() -> None:
    assert values_at(pl.Series(["a", "b"]), np.array([1, -1, 0])).to_list() == ["b", None, "a"]


def test_launching_calls() -> None:
    assert bool((launching_calls(timesink.open(timesink.sample())) >= 0).any())


def test_link_launches() -> None:
    links = link_launches(timesink.open(timesink.sample()))
    assert bool((links.call_row >= 0).any())


def test_is_data_loader() -> None:
    assert is_data_loader("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")


def test_is_collective_call() -> None:
    assert (is_collective_call("nccl:_all_gather_base"), is_collective_call("aten::mm")) == (
        True,
        False,
    )


def test_is_collective_kernel() -> None:
    assert is_collective_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)")
    assert not is_collective_kernel("triton_poi_fused_all_gather_into_tensor_copy_0")


def test_waits_for_device() -> None:
    assert (waits_for_device("cudaStreamSynchronize"), waits_for_device("cudaMemcpyAsync")) == (
        True,
        False,
    )


def test_device_word() -> None:
    assert device_word(timesink.open(timesink.sample())) == "GPU"


def test_depth_when_nested() -> None:
    assert depth_when_nested(np.array([0, 2, 4, 9]), np.array([8, 6, 5, 12])).tolist() == [
        0,
        1,
        2,
        0,
    ]


def test_subtree_sizes() -> None:
    assert subtree_sizes(np.array([0, 1, 2, 1]), np.array([-1, 0, 1, 0])).tolist() == [4, 2, 1, 1]


def test_launch_sites() -> None:
    sites = launch_sites(timesink.open(timesink.sample()))
    assert sites["site"][0] == "operator"


def test_chosen_steps() -> None:
    assert chosen_steps(["5", "6", "7", "8"], "5,7-9") == ["5", "7", "8"]


def test_role_ranges() -> None:
    ranges = role_ranges(timesink.open(timesink.sample()))
    assert list(ranges) == list(ROLES)


def test_numbered() -> None:
    assert dense_codes(pl.Series(["b", None, "b"])).tolist() == [0, 1, 0]


def test_compact() -> None:
    assert densify(np.array([900, 7, 900])).tolist() == [0, 1, 0]


def test_joint() -> None:
    assert combine_codes(np.array([0, 0, 1]), np.array([1, 0, 1])).tolist() == [0, 1, 2]


def test_covered() -> None:
    assert new_coverage(np.array([0, 5, 7]), np.array([10, 12, 9]), np.array([0, 2])).tolist() == [
        10,
        2,
        2,
    ]


def test_running_most() -> None:
    assert grouped_cummax(np.array([3, 1, 5, 2]), np.array([0, 3])).tolist() == [3, 3, 5, 2]


def test_groups_of() -> None:
    groups = Groups.of(np.array([7, 3, 7]))
    assert (groups.places.tolist(), groups.least(np.array([5, 6, 4])).tolist()) == (
        [0, 0, 1],
        [4, 6, 4],
    )


def test_sampled_counters() -> None:
    assert sampled_counters(timesink.open(timesink.sample())).columns[:3] == [
        "counter",
        "device",
        "samples",
    ]


def test_find_steps() -> None:
    steps = find_steps(timesink.open(timesink.sample()))
    assert bool((steps["end_ns"] >= steps["start_ns"]).all())


def test_step_at() -> None:
    assert step_at(
        np.array([3, 12]), np.array([4, 25]), np.array([[0, 10], [10, 20]])
    ).tolist() == [0, -1]


def test_summarise() -> None:
    summary = summarise(timesink.open(timesink.sample()))
    assert summary.kernels > 0
    assert summary.device_busy_ns <= summary.device_span.length_ns


def test_sums_by() -> None:
    assert sums_by(np.array([0, 2, 0]), np.array([5, 1, 7]), 3).tolist() == [12, 0, 1]


@pytest.mark.parametrize("times", [1, 100], ids=["few", "many"])
@pytest.mark.parametrize("dtype", [pl.String(), pl.Categorical(), pl.Enum(["x", "add", "mm"])])
def test_encode(dtype: pl.DataType, times: int) -> None:
    names = ["mm", "add", "mm", None] * times
    codes, texts = encode(pl.Series(names, dtype=dtype))
    assert [texts[code] for code in codes] == names
    assert {*texts} == {"mm", "add", None}
    assert texts.index(None) == len(texts) - 1 == 2
    codes, texts = encode(pl.Series(names[:3] * times, dtype=dtype))
    assert [texts[code] for code in codes] == names[:3] * times
    assert {*texts} == {"mm", "add"}
    codes, texts = encode(pl.Series(["add"] * 2 * times, dtype=dtype))
    assert (codes.tolist(), texts) == ([0] * 2 * times, ["add"])
