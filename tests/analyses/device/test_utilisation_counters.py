"""Utilisation over time, as counters for a timeline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import timesink
from builders import annotation, complete, cuda_trace
from cases import C, K, O, read, read_document
from timesink.analyses.device_utilisation import (
    MAX_BUCKETS,
    SM_EFFICIENCY,
    UTILISATION,
    buckets,
    timeline,
    utilisation_counters,
)
from timesink.model.trace import Trace

US = 1000


def samples(trace: Trace, counter: str, device: int = 0) -> list[tuple[float, float]]:
    """Times in us from the start of the recording, and values."""
    start, _ = timeline(trace)
    return [
        ((ts - start) / US, value)
        for ts, on, name, value in utilisation_counters(trace).iter_rows()
        if (on, name) == (device, counter)
    ]


def whole_recording(ts: int, dur: int):
    return complete("Trace", "PyTorch Profiler (0)", ts, dur, pid="Spans", tid="PyTorch Profiler")


def test_part_of_each_bucket_with_a_kernel_running():
    # 250 us in buckets of 10 us; the last takes the remaining 5 us as well.
    trace = read(whole_recording(1000, 255), K("a", 1013, 10), K("a", 1015, 5), K("b", 1240, 15))
    points = samples(trace, UTILISATION)
    assert points[:2] == [(0, 1), (0, 0)]
    assert len(points) == 2 + 25 + 1
    assert [(at, part) for at, part in points[2:] if part] == [
        (10, 0.7),
        (20, 0.3),
        (240, 1.0),
    ]
    assert points[-1] == (255, 0)


def test_multiprocessors_in_use_are_given_where_they_change():
    trace = read(
        whole_recording(1000, 100),
        K("a", 1010, 10, **{"blocks per SM": 0.5}),
        K("a", 1050, 10, **{"blocks per SM": 80}),
    )
    assert samples(trace, SM_EFFICIENCY) == [
        (0, 1),
        (0, 0),
        (10, 0.5),
        (20, 0),
        (50, 1),
        (60, 0),
    ]


def test_kernels_of_unknown_size_have_no_such_counter():
    assert samples(read(K("a", 10, 5)), SM_EFFICIENCY) == []


def test_device_after_device():
    extra = {"blocks per SM": 1}
    trace = read(K("a", 10, 5, device=1, **extra), K("a", 10, 5, device=0, **extra))
    order = utilisation_counters(trace).select("device", "counter").unique(maintain_order=True)
    assert order.rows() == [
        (0, UTILISATION),
        (0, SM_EFFICIENCY),
        (1, UTILISATION),
        (1, SM_EFFICIENCY),
    ]


def test_without_kernels_there_is_nothing_to_show():
    assert utilisation_counters(read(O("aten::add", 0, 10), C(2, 5, c=1))).is_empty()


# -- range and buckets -----------------------------------------------------------------------------


def test_timeline_as_the_profiler_states_it():
    start, end = timeline(read_document(cuda_trace()))
    assert end - start == 500 * US


def test_timeline_from_first_to_last_event_otherwise():
    start, end = timeline(read(annotation("train", 40, 10), O("aten::mm", 50, 10), K("a", 90, 30)))
    assert end - start == 80 * US
    assert timeline(read()) == (0, 0)


@pytest.mark.parametrize(
    ("length_us", "count", "width_us"),
    [(1, 1, 1), (100, 100, 1), (101, 10, 10), (120, 12, 10), (13_896, 13, 1000), (0, 1, 0)],
)
def test_buckets_are_powers_of_ten(length_us: int, count: int, width_us: int):
    borders = buckets(5, 5 + length_us * US)
    assert len(borders) - 1 == count <= MAX_BUCKETS
    assert borders[1] - borders[0] == width_us * US
    assert borders[-1] == 5 + length_us * US


def test_a_recording_without_length():
    assert samples(read(K("a", 10, 0)), UTILISATION) == [(0, 1), (0, 0), (0, 0), (0, 0)]


# -- a known answer --------------------------------------------------------------------------------

EXAGGERATED = {UTILISATION: 100, SM_EFFICIENCY: 10}
"""The values of the sample were raised so that they can be seen: by this much."""


def test_known_recording(shared_root: Path):
    trace = timesink.open(shared_root / "data/kineto/gpu_metrics_input.json")
    document = json.loads(
        (shared_root / "data/kineto/gpu_metrics_expected.json").read_text("utf-8")
    )
    expected = [event for event in document["traceEvents"] if event["ph"] == "C"]
    rows = utilisation_counters(trace).rows()
    assert len(rows) == len(expected) == 78
    for (ts_ns, device, counter, value), event in zip(rows, expected, strict=True):
        (recorded_value,) = event["args"].values()
        assert (ts_ns, device) == (event["ts"] * US, event["pid"])
        frame = value in {0, 1}
        assert recorded_value == pytest.approx(value if frame else EXAGGERATED[counter] * value)
