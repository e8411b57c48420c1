"""Replays of vLLM and SGLang with the captures beside them, against sums of another tool."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from pathlib import Path

import pytest

import timesink
from timesink.analyses.graphs import replayed_work
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
