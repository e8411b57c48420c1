"""Replays of vLLM and SGLang with the captures beside them, against sums of another tool."""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import timesink
from timesink.analyses.forest import call_forest
from timesink.analyses.graphs import replayed_work
from timesink.analyses.links import link_launches
from timesink.analyses.modules import is_module_call, module_table
from timesink.analyses.operators import launch_sites, operator_table

PROGRAMS = ("vllm_decode_full", "sglang_decode")
TOLERANCE = 0.01
LEAST = 0.95
NO_OPERATOR = ("hipLaunchKernel", "hipModuleLaunchKernel")
"""The other tool counts launches outside of every operator as operators."""
NUMBERED = re.compile(r"_\d+$")
"""Custom operators of one program carry the number of their call, which the other tool drops."""


@pytest.mark.parametrize("program", PROGRAMS)
def test_operators_are_those_of_the_other_tool(shared_root: Path, program: str):
    folder = shared_root / "data/graphs" / program
    trace = timesink.open(folder)
    expected: defaultdict[str, float] = defaultdict(float)
    with (folder / "expected/ops_summary.csv").open() as file:
        for row in csv.DictReader(file):
            expected[row["name"]] += 1000 * float(row["total_direct_kernel_time_sum"])
    sums: defaultdict[str, int] = defaultdict(int)
    for name, time_ns in operator_table(trace).select("name", "device_self_ns").rows():
        plain = NUMBERED.sub("", name) if name.startswith("sglang_profiler") else name
        sums[plain] += time_ns
    named = {name: time for name, time in expected.items() if name not in NO_OPERATOR}
    assert {name: sums[name] for name in named} == pytest.approx(named, rel=TOLERANCE)


@pytest.mark.parametrize("program", PROGRAMS)
def test_nearly_all_device_work_has_an_operator(shared_root: Path, program: str):
    trace = timesink.open(shared_root / "data/graphs" / program)
    work = replayed_work(trace)
    assert work is not None
    assert work.named_pieces == work.pieces
    sites = dict(launch_sites(trace).select("site", "device_ns").rows())
    operators = sum(time for site, time in sites.items() if site.startswith("operator"))
    assert operators >= LEAST * sum(sites.values())


@pytest.mark.parametrize(
    "place", ["h200/traces/cuda_graph", "tracelens/inference/sglang_decode.json.gz"]
)
def test_without_captures_nothing_is_named(shared_root: Path, place: str):
    trace = timesink.open(shared_root / "data" / place)
    work = replayed_work(trace)
    assert work is not None
    assert (work.named_ns, trace.metadata.graphs) == (0, None)


# Recordings of `benchmarks/graph_programs.py` on an H200, with what the recorder saw captured.

RECORDED = Path(__file__).parent / "data" / "graphs"


def launched(folder: Path) -> Counter[tuple[str, str]]:
    """How often each operator launches work below each module, but for the outermost module."""
    trace = timesink.open(folder)
    forest, is_module = call_forest(trace), is_module_call(trace)
    counts: Counter[tuple[str, str]] = Counter()
    for node in link_launches(trace).node.tolist():
        operator = module = ""
        above = node
        while above >= 0:
            name = forest.names[forest.name[above]]
            if is_module[above]:
                module = module or name.removeprefix("nn.Module: ").partition(".")[2]
            elif forest.is_operator[above]:
                operator = operator or name
            above = int(forest.parent[above])
        counts[operator, module] += 1
    return counts


def test_graphs_of_two_batch_sizes_name_what_the_eager_program_names():
    eager, graphs = launched(RECORDED / "sizes.eager"), launched(RECORDED / "sizes.graphs")
    assert graphs.total() > 0
    # The first recorded step of one may lack a piece of work.
    assert (graphs - eager).total() <= 0.01 * graphs.total()


def test_equal_branches_on_two_streams_are_distinguished():
    counts = launched(RECORDED / "branches.graphs")
    sides = Counter(module.partition(".")[0] for _, module in counts.elements() if module)
    assert sides["left"] == sides["right"] > 0


def test_a_backward_graph_belongs_to_the_modules_of_the_forward_graph():
    modules = module_table(timesink.open(RECORDED / "graphed_training.graphs"))
    backward = dict(modules.select("name", "backward_device_ns").rows())
    assert backward["Model.layers.5.qkv"] > 0
    assert backward["Model"] >= sum(backward[f"Model.layers.{layer}"] for layer in range(6))
