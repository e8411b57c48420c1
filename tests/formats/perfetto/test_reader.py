"""Perfetto traces as their writers make them, read; damaged ones too."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from damaged_files import damage, read_or_refused
from perfetto_files import EPOCH, NEEDS, TraceFile, sdk_trace, torch_slices, torch_stages
from thinning import IS_SEARCH
from timesink.formats.perfetto.slices import pair_slices
from timesink.formats.source_file import read_trace
from timesink.model.trace import Trace

MUTANTS = 100 if IS_SEARCH else 11


def read(tmp_path: Path, content: bytes, name: str = "trace.pftrace") -> Trace:
    path = tmp_path / name
    path.write_bytes(content)
    return read_trace(path)


def codes(trace: Trace) -> dict[str, int]:
    return {entry.code: entry.count for entry in trace.health}


@pytest.mark.parametrize("content", [torch_slices, torch_stages])
def test_both_writers_of_pytorch_give_the_same_device_work(tmp_path, content):
    trace = read(tmp_path, content(3))
    assert trace.metadata.format == "perfetto"
    assert trace.metadata.vendor == "nvidia"
    assert trace.metadata.clock == "unix"
    device = trace.device.sort("ts_ns")
    assert device["kind"].cast(pl.String).to_list() == ["kernel", "memcpy"] * 3
    assert device["name"].cast(pl.String).to_list()[0] == "gemm"
    assert device["dur_ns"].to_list() == [30_000, 5_000] * 3
    assert (device["ts_ns"] - EPOCH).to_list()[:2] == [20_000, 60_000]
    kernel = device.row(0, named=True)
    assert (kernel["grid_x"], kernel["grid_y"], kernel["block_x"]) == (64, 2, 128)
    assert kernel["registers_per_thread"] == 40
    assert kernel["correlation"] == 1
    assert (kernel["device"], kernel["stream"]) == (0, "7")
    assert device.row(1, named=True)["bytes"] == 4096
    host = trace.host.sort("ts_ns")
    assert host["kind"].cast(pl.String).to_list() == ["operator", "runtime"] * 3
    assert host["dur_ns"].to_list()[:2] == [50_000, 6_000]
    flows = trace.flows.sort("flow_id", "ts_ns")
    assert flows["kind"].cast(pl.String).unique().to_list() == ["launch"]
    assert flows["phase"].cast(pl.String).to_list() == ["start", "end"] * 3


def test_counters_of_gpus(tmp_path):
    counters = read(tmp_path, torch_stages(3)).counters
    assert counters["counter"].cast(pl.String).to_list() == ["SM Active (%)"] * 3
    assert counters["device"].cast(pl.String).to_list() == ["GPU 0"] * 3
    assert counters["value"].to_list() == [12.5, 13.5, 14.5]


def test_clocks_of_sequences_in_steps(tmp_path):
    trace = read(tmp_path, sdk_trace())
    host = trace.host.filter(pl.col("kind") != "instant").sort("tid")
    assert host["tid"].cast(pl.String).to_list() == ["771", "772"]
    assert (host["ts_ns"] - EPOCH).to_list() == [10_000, 10_000]
    assert host["dur_ns"].to_list() == [30_000, 30_000]
    marks = trace.host.filter(pl.col("kind") == "instant")
    assert (marks["ts_ns"] - EPOCH).to_list() == [15_000, 15_000]
    samples = trace.counters
    assert samples["counter"].cast(pl.String).to_list() == ["queue length"] * 3
    assert samples["value"].to_list() == [0.0, 2.0, 4.0]
    names = trace.tracks.filter(pl.col("tid").is_not_null())["name"].cast(pl.String).to_list()
    assert names == ["worker 771", "worker 772"]


def test_equal_to_what_the_bindings_read(tmp_path):
    """Every slice of the bindings, by a stack over all events in the order of time."""
    from perfetto_files import pb

    content = torch_stages(20)
    events = []
    for place, packet in enumerate(pb.Trace.FromString(content).packet):
        if packet.HasField("track_event"):
            event = packet.track_event
            events.append((packet.timestamp, event.type == 1, place, event))
    events.sort(key=lambda event: event[:3])
    stack, spans = [], []
    for ts, is_begin, _, _ in events:
        if is_begin:
            stack.append(ts)
        else:
            spans.append((stack.pop(), ts))
    trace = read(tmp_path, content)
    ours = trace.host.select("ts_ns", end=pl.col("ts_ns") + pl.col("dur_ns")).sort("ts_ns", "end")
    assert ours.rows() == sorted(spans)


def test_packed_packets_and_gzip(tmp_path):
    import zlib

    from timesink.formats.wire import Message

    content = torch_stages(3)
    packed = Message().message(1, Message().raw(50, zlib.compress(content))).encode()
    plain = read(tmp_path, content)
    for other in (
        read(tmp_path, packed, "packed.pftrace"),
        read(tmp_path, gzip.compress(content), "t.pftrace.gz"),
    ):
        assert other.host.equals(plain.host)
        assert other.device.equals(plain.device)


def test_arguments_of_any_depth(tmp_path):
    file = TraceFile()
    file.process(1, 5, "p")
    file.thread(2, 1, 5, 5, "t")
    file.intern(["aten::add"], ["cpu_op"])
    file.begin(EPOCH, 2, "aten::add", "cpu_op", Input__Dims=[[2, 3], [4]], flops=7)
    file.end(EPOCH + 10, 2)
    row = read(tmp_path, file.encode()).host.row(0, named=True)
    assert row["input_dims"] == "[[2, 3], [4]]"
    assert row["flop"] == 7


def test_what_is_cut_is_counted(tmp_path):
    content = torch_stages(20)
    trace = read(tmp_path, content[:-7])
    assert codes(trace)["cut_messages"] == 1
    assert trace.host.height == 40


def test_what_is_not_read_is_counted(tmp_path):
    file = TraceFile()
    file.packet(flags=NEEDS).ftrace_events.cpu = 3
    file.process(1, 5, "p")
    file.thread(2, 1, 5, 5, "t")
    file.intern(["f"], ["cpu_op"])
    file.begin(EPOCH, 2, "f", "cpu_op")
    entry = next(e for e in read(tmp_path, file.encode()).health if e.code == "unknown_phase")
    assert entry.example == "events of the kernel (ftrace)"


@pytest.mark.parametrize("seed", range(MUTANTS))
@pytest.mark.parametrize("content", [torch_slices, torch_stages, sdk_trace])
def test_damaged_traces_are_read_or_refused(tmp_path, seed, content):
    path = tmp_path / "trace.pftrace"
    path.write_bytes(damage(content(), f"{content.__name__} {seed}"))
    trace = read_or_refused(path)
    clean = read(tmp_path, content(), "clean.pftrace")
    assert trace is None or trace.metadata.events >= clean.metadata.events or trace.health


def test_slices_are_paired_like_a_stack():
    rng = np.random.default_rng(3)
    for _ in range(30):
        track, times, begins, expected = [], [], [], {}
        for number in range(3):
            stack, now = [], 0
            for _ in range(int(rng.integers(0, 30))):
                now += int(rng.integers(0, 3))
                is_begin = not stack or rng.random() < 0.5
                row = len(track)
                track.append(number)
                times.append(now)
                begins.append(is_begin)
                if is_begin:
                    stack.append(row)
                else:
                    expected[stack.pop()] = row
        paired = pair_slices(np.array(track), np.array(times), np.array(begins, dtype=bool))
        assert dict(zip(paired.begin.tolist(), paired.end.tolist(), strict=True)) == expected
