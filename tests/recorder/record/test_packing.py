"""Timelines as they come from torch.profiler, and what is left of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from timesink.recorder.traces import Offset, measure_offset, pack, shift_counters

BASE_NS = 1_790_857_026_000_000_000


def event(name: str, start_us: float, lasts_us: float) -> str:
    return f"""  {{
    "ph": "X", "cat": "user_annotation", "name": "{name}", "pid": 1, "tid": 1,
    "ts": {start_us:.3f}, "dur": {lasts_us:.3f},
    "args": {{
      "External id": 1
    }}
  }},
"""


def timeline(*events: str) -> str:
    head = f'{{\n  "baseTimeNanoseconds": {BASE_NS},\n  "traceEvents": [\n'
    last = '  {"ph": "i", "s": "g", "name": "Record Window End", "ts": 99, "pid": "", "tid": ""}'
    return f"{head}{''.join(events)}{last}\n]}}\n"


@pytest.mark.parametrize("chunk", [64, 1 << 20], ids=["small pieces", "one piece"])
def test_marks_of_the_recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int):
    monkeypatch.setattr("timesink.recorder.traces._CHUNK", chunk)
    raw, packed = tmp_path / "raw.json", tmp_path / "trace.json.gz"
    raw.write_text(
        timeline(
            event("timesink clock 0", 10.5, 1),
            event("timesink cycle 5", 20, 10),
            event("ProfilerStep#0", 21, 3),
            event("timesink cycle 6", 30, 5),
            event("timesink clock 1", 40.25, 1),
        )
    )
    ranges = pack(raw, packed, cut="timesink cycle 6")
    names = [
        entry["name"] for entry in json.loads(gzip.decompress(packed.read_bytes()))["traceEvents"]
    ]
    assert names == [
        "ProfilerStep#5",
        # Of a profiler of the program, which marks steps and records nothing yet.
        "own profiler step 0",
        "unfinished cycle",
        "Record Window End",
    ]
    assert ranges.span_ns("timesink clock 0") == (BASE_NS + 10_500, BASE_NS + 11_500)
    assert ranges.span_ns("timesink clock 1") == (BASE_NS + 40_250, BASE_NS + 41_250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw.json", "trace.json.gz"]


def test_cycles_end_with_the_ranges_around_their_ends(tmp_path: Path):
    """What overlaps without lying within is dropped by viewers; an epoch is not part of a cycle."""
    raw, packed = tmp_path / "raw.json", tmp_path / "trace.json.gz"
    raw.write_text(
        timeline(
            event("epoch", 21, 60),
            event("timesink cycle 5", 20, 10),
            event("optimizer", 28, 2.5),
            event("timesink cycle 6", 30.125, 9.875),
            event("timesink cycle 7", 40, 10),
            event("optimizer", 48, 51),
        )
    )
    pack(raw, packed)
    events = json.loads(gzip.decompress(packed.read_bytes()))["traceEvents"]
    assert [(entry["name"], entry["ts"], entry["dur"]) for entry in events if "dur" in entry] == [
        ("epoch", 21, 60),
        ("ProfilerStep#5", 20, 10.5),
        ("optimizer", 28, 2.5),
        ("ProfilerStep#6", 30.5, 9.5),
        ("ProfilerStep#7", 40, 10),
        # The recording ended in it.
        ("optimizer", 48, 2),
    ]


def test_timeline_that_breaks_off_is_packed_as_it_is(tmp_path: Path):
    text = timeline(event("forward", 20, 10))[:200]
    raw, packed = tmp_path / "raw.json", tmp_path / "trace.json.gz"
    raw.write_text(text)
    ranges = pack(raw, packed)
    assert gzip.decompress(packed.read_bytes()).decode() == text
    assert measure_offset([("timesink clock 0", 1, 2)], ranges) is None


def test_counters_are_moved_only_where_it_can_be_seen(tmp_path: Path):
    path = tmp_path / "counters.csv"
    text = "timestamp_us,counter,device,value\n5000000,gpu_usage,GPU 0,97\n"
    path.write_text(text)
    beside = tmp_path / "beside"
    beside.mkdir()
    assert shift_counters(path, Offset(999.0, 1.0), beside) is False
    assert path.read_text() == text
    assert shift_counters(path, Offset(2500.4, 1.0), beside) is True
    assert path.read_text().splitlines()[1] == "4997500,gpu_usage,GPU 0,97"
