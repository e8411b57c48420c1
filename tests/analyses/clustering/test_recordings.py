"""Real recordings: normal runs and runs with a known fault."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import polars as pl
import pytest

import timesink
from roles_changed import change_role
from timesink.comparison.exploration.groups import explore
from timesink.comparison.results import Cluster, Exploration, Process

CASES = ("cpu_frequency_reduction", "gpu_instability", "gpu_memory_squeeze_out_NVLink")


@pytest.fixture(scope="module")
def published_roles(shared_root: Path) -> list[Process]:
    """All processes of three cases, `case/side/pid`."""
    roles = []
    for case in CASES:
        for side in ("normal", "abnormal"):
            file = shared_root / f"data/latencyprism/SGLang/{case}/{side}_perf_data"
            table = timesink.open(file / "result_perf_data.csv.gz").behaviour
            for (pid,), process_table in table.group_by("pid", maintain_order=True):
                roles.append(Process(f"{case}/{side}/{pid}", str(file), str(pid), process_table))
    return roles


def _names(exploration: Exploration, cluster: Cluster) -> set[str]:
    return {exploration.roles[place].label for place in cluster.members}


def test_published_cases_fall_into_runs_that_behave_alike(published_roles):
    exploration = explore(published_roles, most_pairs=0)
    apart_by_names = {
        frozenset(_names(exploration, cluster)): cluster.apart for cluster in exploration.clusters
    }
    clock = frozenset({"gpu_instability/abnormal/944615"})
    layers = frozenset({"cpu_frequency_reduction/abnormal/842126"})
    link = "gpu_memory_squeeze_out_NVLink"
    assert set(apart_by_names) == {
        frozenset({"cpu_frequency_reduction/normal/805580", "gpu_instability/normal/944615"}),
        # The wait for the all-reduce sits on one rank before and on the other after.
        frozenset({f"{link}/normal/923228", f"{link}/normal/923229"}),
        frozenset({f"{link}/abnormal/923228", f"{link}/abnormal/923229"}),
        clock,
        layers,
    }
    assert apart_by_names[clock].startswith("gpu_sm_frequency on GPU 7: 1 187 → 210 MHz; ")
    assert apart_by_names[layers].startswith("different steps: 238 steps of 38.5 ms (Qwen3Decoder")
    assert "cpu_frequency on Host: 85.7 → 22.5 %" in apart_by_names[layers]


def test_no_published_run_is_told_apart_from_itself(published_roles):
    turn = pl.col("cycle").rank("dense")
    # Every other cycle, or the later ones.
    halves = cycle([turn % 2 == 1, turn * 2 > turn.max()])
    for role, part in zip(published_roles, halves, strict=False):
        mixed = role.behaviour.with_columns(taken=part)
        parts = [
            change_role(role, label=str(taken), behaviour=half_rows)
            for (taken,), half_rows in mixed.group_by("taken")
        ]
        assert len(explore(parts, most_pairs=0).clusters) == 1, role.label
