"""Tables of the device timeline are of one form whoever made the recording."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import polars as pl

from timelines import Analysis, recording, trace_of
from timesink.analyses.device_activities import (
    kernels_by_annotation,
    launch_statistics,
    launch_table,
    operator_delays,
    queue_depth,
    queue_summary,
)
from timesink.analyses.device_idle import idle_breakdown, largest_gaps
from timesink.analyses.device_utilisation import device_time, kernel_kinds, overlap_by_step

ANALYSES = (
    device_time,
    idle_breakdown,
    kernel_kinds,
    kernels_by_annotation,
    largest_gaps,
    launch_statistics,
    launch_table,
    operator_delays,
    overlap_by_step,
    queue_depth,
    queue_summary,
)


@cache
def of_nothing(analysis: Analysis) -> pl.DataFrame:
    return analysis(trace_of())


def test_without_a_device_there_is_nothing(shared_root: Path):
    trace = recording(shared_root, "hta/rank_non_gpu/rank_non_gpu.json.gz")
    assert [analysis for analysis in ANALYSES if not analysis(trace).is_empty()] == []
    assert [analysis for analysis in ANALYSES if not of_nothing(analysis).is_empty()] == []
