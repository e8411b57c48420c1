"""What is written as a Perfetto trace: as the published schema reads it, and read again."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

import timesink
from builders import kineto, to_bytes, training_trace
from perfetto_files import pb
from timesink.formats.perfetto.archive import ArchiveMember, write_archive
from timesink.formats.perfetto.writer import write_pftrace
from timesink.formats.source_file import read_trace
from timesink.model.schema import TABLES
from timesink.model.trace import Trace


def content(trace: Trace, name: str) -> pl.DataFrame:
    """A table without the order in which its source had it, arrows without where in a slice."""
    frame = getattr(trace, name).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    frame = frame.drop("index", *(("ts_ns",) if name == "flows" else ()), strict=False)
    return frame.sort(frame.columns)


def assert_same(first: Trace, second: Trace, *left_out: str) -> None:
    for name in TABLES:
        if name not in left_out:
            assert content(first, name).equals(content(second, name)), name


def write_again(trace: Trace, path: Path) -> Trace:
    write_pftrace(trace, path)
    return read_trace(path)


@pytest.fixture
def training(tmp_path) -> Trace:
    path = tmp_path / "training.json"
    path.write_bytes(to_bytes(training_trace(steps=3)))
    return read_trace(path)


def test_written_and_read_again_nothing_is_lost(training, tmp_path):
    first = write_again(training, tmp_path / "first.pftrace")
    assert_same(training, first)
    second = write_again(first, tmp_path / "second.pftrace.gz")
    assert_same(first, second)


def test_the_sample_too(tmp_path):
    trace = timesink.open(timesink.sample())
    first = write_again(trace, tmp_path / "first.pftrace")
    assert_same(trace, first)
    assert first.metadata.devices == trace.metadata.devices
    assert first.metadata.distributed == trace.metadata.distributed
    assert first.metadata.versions == trace.metadata.versions


def test_bindings_read_each_slice(training, tmp_path):
    path = tmp_path / "run.pftrace"
    write_pftrace(training, path)
    trace = pb.Trace.FromString(path.read_bytes())
    tracks = {p.track_descriptor.uuid for p in trace.packet if p.HasField("track_descriptor")}
    stacks: dict[int, list[int]] = {}
    lengths = []
    last: dict[int, int] = {}
    for packet in trace.packet:
        if not packet.HasField("track_event") or packet.track_event.type not in (1, 2):
            continue
        event = packet.track_event
        assert event.track_uuid in tracks
        # A viewer takes events of one time as they come: ends before begins, the outer one first.
        assert packet.timestamp >= last.get(event.track_uuid, 0)
        last[event.track_uuid] = packet.timestamp
        stack = stacks.setdefault(event.track_uuid, [])
        if event.type == 1:
            stack.append(packet.timestamp)
        else:
            lengths.append(packet.timestamp - stack.pop())
    assert not any(stacks.values())
    timed = training.host.filter(pl.col("kind") != "instant")
    expected = [*timed["dur_ns"], *training.device["dur_ns"]]
    assert sorted(lengths) == sorted(expected)


def test_slices_that_cross_keep_their_lengths(tmp_path):
    common = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 2, "args": {}}
    events = [
        {**common, "name": "first", "ts": 0.0, "dur": 10.0},
        {**common, "name": "second", "ts": 5.0, "dur": 10.0},
        {**common, "name": "none", "ts": 7.0, "dur": 0.0},
    ]
    path = tmp_path / "crossing.json"
    path.write_bytes(to_bytes(kineto(events)))
    trace = read_trace(path)
    again = write_again(trace, tmp_path / "again.pftrace")
    assert_same(trace, again)


def test_an_archive_relates_the_clocks_of_ranks(training, tmp_path):
    members = [ArchiveMember(0, "rank 0", 700), ArchiveMember(3, "rank 3 on node7", 200)]
    path = tmp_path / "run.zip"
    write_archive(path, members, [training, training])
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("perfetto_manifest.json"))["perfetto_manifest"]
        packets = pb.Trace.FromString(archive.read("rank3.pftrace")).packet
    first, second = manifest["files"]
    assert manifest["version"] == 1
    assert manifest["trace_time"] == {"clock": "BOOTTIME", "file": "rank0.pftrace"}
    assert "clocks" not in first
    assert second["machine"] == {"name": "rank 3 on node7"}
    assert second["clocks"] == {
        "clock": "BOOTTIME",
        "sync_to": {"file": "rank0.pftrace", "clock": "BOOTTIME"},
        "offset_ns": 500,
    }
    # Nothing else relates the clocks: the manifest alone does.
    assert not any(packet.HasField("clock_snapshot") for packet in packets)
    assert read_trace(path).device.height == training.device.height
