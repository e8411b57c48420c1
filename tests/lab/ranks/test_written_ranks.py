"""Files of generated runs: as PyTorch writes them, the same every time, and read as generated."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import timesink
from timesink_lab.ranks.generated import generate_ranks
from timesink_lab.ranks.plan import Plan, Straggler

PUT_IN = (Straggler("sync", rank=3, share=0.5), Straggler("uneven_work", rank=6))
PLAN = Plan(ranks=8, tensor=2, pipeline=2, expert=2, steps=2, layers=1, seed=7, stragglers=PUT_IN)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("ranks")
    generate_ranks(PLAN, place, jobs=2)
    return place


def test_the_same_plan_gives_the_same_bytes_and_another_seed_others(folder, tmp_path):
    generate_ranks(PLAN, tmp_path / "again", jobs=1)
    generate_ranks(replace(PLAN, seed=8), tmp_path / "other", jobs=1)
    for rank in (0, 6):
        name = f"rank{rank}.pt.trace.json.gz"
        first = (folder / name).read_bytes()
        assert (tmp_path / "again" / name).read_bytes() == first
        assert (tmp_path / "other" / name).read_bytes() != first


def test_truth_knows_all_files_and_events(tmp_path):
    truth = generate_ranks(Plan(ranks=3, steps=1), tmp_path)
    traces = [timesink.open(path, cache=False) for path in truth.files]
    assert [trace.metadata.distributed.rank for trace in traces] == [0, 1, 2]
    assert sum(trace.metadata.events for trace in traces) == truth.events


def test_a_collective_is_written_as_pytorch_does(folder):
    trace = json.loads(gzip.decompress((folder / "rank5.pt.trace.json.gz").read_bytes()))
    distributed = trace["distributedInfo"]
    assert (distributed["rank"], distributed["world_size"], distributed["backend"]) == (
        5,
        8,
        "nccl",
    )
    config = {group["pg_name"]: group for group in distributed["pg_config"]}
    kernels = [event for event in trace["traceEvents"] if event["name"].startswith("ncclDevKernel")]
    calls = {
        event["args"]["External id"]: event["args"]
        for event in trace["traceEvents"]
        if event["name"] == "record_param_comms" and event["args"]["Collective name"] != "wait"
    }
    assert len(kernels) == len(calls) > 10
    for kernel in kernels:
        kernel_args = kernel["args"]
        call = calls[kernel_args["External id"]]
        shared = {
            key: kernel_args[key]
            for key in kernel_args.keys() & call.keys()
            if key != "External id"
        }
        assert shared.items() <= call.items()
        group = config[kernel_args["Process Group Name"]]
        assert json.loads(kernel_args["Process Group Ranks"]) == group["ranks"]
        assert kernel_args["Group size"] == group["pg_size"] == len(group["ranks"])
        assert 5 in group["ranks"]
        assert kernel_args["Process Group Description"] == group["pg_desc"]
        assert isinstance(call["Seq"], int)


def test_long_lists_of_ranks_are_cut_and_numbers_may_be_left_out(tmp_path):
    truth = generate_ranks(Plan(ranks=40, steps=1, sequence_numbers=False), tmp_path)
    trace = timesink.open(truth.files[39], cache=False)
    ranks = trace.collectives["group_ranks"].cast(pl.String).unique()
    assert any(text.endswith("27, 28, ..., 39]") for text in ranks)
    assert trace.collectives["sequence"].null_count() == trace.collectives.height
    assert len(trace.metadata.distributed.groups[0]["ranks"]) == 40


def test_more_tokens_show_in_shapes_grids_and_amounts(folder):
    usual, more = (
        timesink.open(folder / f"rank{rank}.pt.trace.json.gz", cache=False) for rank in (4, 6)
    )
    shapes = [set(trace.host["input_dims"].cast(pl.String).drop_nulls()) for trace in (usual, more)]
    assert "[[8192, 4096], [4096, 4096]]" in shapes[0]
    assert "[[8192, 4096], [4096, 4096]]" not in shapes[1]
    assert more.device["grid_x"].sum() > usual.device["grid_x"].sum()
    sent = [
        trace.collectives.filter(pl.col("collective") == "all_to_all")["in_elements"].max()
        for trace in (usual, more)
    ]
    assert sent[1] > sent[0]


def test_a_rank_that_synchronises_says_so_in_its_steps_only(folder):
    counts = [
        timesink.open(folder / f"rank{rank}.pt.trace.json.gz", cache=False)
        .host.filter(pl.col("name") == "cudaStreamSynchronize")
        .height
        for rank in (2, 3)
    ]
    # One after every layer and part of the batch, in one of two steps.
    assert counts == [2, 4]
