"""Cycles of a real server: runs that learning did not see, in order of time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from timesink.formats.cycle_rows import read_cycle_rows
from timesink.watcher.expected.judged import judge_rows
from timesink.watcher.expected.model import learn_model

pytest.importorskip("sklearn")


def test_new_workloads_of_a_server(shared_root: Path) -> None:
    folder = shared_root / "data/latencyprism/sentinel"
    rows = read_cycle_rows(str(folder / "normal_vllm_rows.csv.gz"))
    jobs = rows["job_name"].unique().sort().to_list()
    # Learning takes as long as there are runs: of five it gets two, and is tried on another one.
    learned, is_held_out = (
        pl.col("job_name").is_in(some) for some in (jobs[1::5] + jobs[4::5], jobs[2::5])
    )
    model = learn_model(rows.filter(learned), rounds=40)
    plain = rows.filter(is_held_out).sort("job_name", "start_ts")
    judged = judge_rows(model, plain)
    accuracy = judged.accuracy
    assert accuracy.rows > 0.9 * plain.height
    assert accuracy.median_ape_pct < 1.5
    assert accuracy.mape_pct < 5
    assert accuracy.within_10pct > 92
    assert accuracy.alarms / accuracy.rows < 0.05
    late = (pl.int_range(pl.len()) >= pl.len() // 2).over("job_name")
    times = pl.when(late).then(1.2).otherwise(1.0)
    after = judge_rows(model, plain.with_columns(pl.col("duration_us") * times))
    alarm, truth = after.alarm, plain.select(late).to_series().to_numpy()
    truth = truth[after.expected.cycles.rows]
    assert 2 * (alarm & truth).sum() / (alarm.sum() + truth.sum()) > 0.95
    other = read_cycle_rows(str(folder / "abnormal_sglang_rows.csv.gz"))
    assert np.isfinite(other["forward_mode"].to_numpy()).all()
    assert judge_rows(model, other).alarm.mean() > 0.9
