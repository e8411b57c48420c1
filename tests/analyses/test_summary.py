"""What is in a trace: counts, spans, busy time."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from builders import (
    Event,
    complete,
    cuda_trace,
    instant,
    kernel,
    kineto,
    memcpy,
    memory,
    operator,
    write,
)
from timesink.analyses.summary import Span, Summary, summarise


@pytest.fixture
def summary_of(tmp_path: Path):
    def read(*events: Event) -> Summary:
        file = write(tmp_path / "trace.json", kineto(events))
        return summarise(timesink.open(file, cache=False))

    return read


def test_counts_of_every_kind(tmp_path: Path):
    summary = summarise(timesink.open(write(tmp_path / "trace.json", cuda_trace())))
    assert (summary.events, summary.operators, summary.annotations) == (16, 1, 1)
    assert (summary.runtime_calls, summary.driver_calls) == (3, 1)
    assert (summary.kernels, summary.memcpys, summary.memsets) == (1, 1, 1)
    assert (summary.memory_events, summary.flows, summary.steps) == (1, 2, 1)


def test_busy_time_counts_what_overlaps_once(summary_of):
    summary = summary_of(
        kernel("a", 100, 20, 1),
        kernel("b", 110, 20, 2, stream=8),
        memcpy("Memcpy HtoD", 115, 5, 3),
        kernel("c", 190.5, 9.5, 4),
    )
    assert summary.device_busy_ns == 39_500
    assert summary.device_span == Span(100_000, 200_000)


def test_annotations_on_the_device_are_no_work(summary_of):
    on_device = {"pid": 0, "tid": 7}
    summary = summary_of(
        kernel("a", 100, 20, 1), complete("gpu_user_annotation", "step", 0, 500, **on_device)
    )
    assert summary.device_span == Span(100_000, 120_000)


def test_marks_around_the_recording_do_not_stretch_its_span(summary_of):
    summary = summary_of(
        operator("aten::add", 100, 20),
        complete("Trace", "PyTorch Profiler (0)", 0, 9000, pid="Spans", tid="PyTorch Profiler"),
        instant("Record Window End", 9_999_999),
    )
    assert summary.span == Span(100_000, 120_000)


def test_devices_in_use(summary_of):
    summary = summary_of(kernel("a", 1, 1, 1, device=3), kernel("b", 1, 1, 2, device=1))
    assert summary.devices_used == (1, 3)


def test_instants_are_memory_events_only_with_memory_profiling(summary_of):
    assert summary_of(instant("mark", 1), memory(2, 512)).memory_events == 2
    assert summary_of(instant("mark", 1)).memory_events == 0


def test_empty_trace(summary_of):
    summary = summary_of()
    assert (summary.events, summary.span, summary.device_busy_ns) == (0, Span(), 0)
