"""Real recordings: normal runs and runs with a known fault."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import polars as pl
import pytest

import timesink
from roles_changed import change_role
from timesink.comparison.exploration.groups import explore
from timesink.comparison.results import Process

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
