"""Snapshots of PyTorch's allocator: small ones of an allocator that is played, and a real one."""

from __future__ import annotations

import os
import pickle
import random
from pathlib import Path

import polars as pl
import pytest

import timesink
from memory_snapshots import (
    LOGGING,
    START_US,
    Allocator,
    answer_of,
    mutants,
    train,
    write_snapshot,
)
from timesink.errors import UnreadableError
from timesink.formats import plain_pickle
from timesink.formats.memory_snapshot.compiled import compiled_parts
from timesink.formats.memory_snapshot.reader import sniff
from timesink.formats.source_file import open_source, read_trace
from timesink.model.schema import TABLES
from timesink.runtime.native import NATIVE_VARIABLE, native_module


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_snapshot(tmp_path_factory.mktemp("memory") / "a.pickle", train(5).snapshot())


def test_blocks_have_their_whole_life(trained: Path):
    trace = read_trace(trained)
    allocs = trace.metadata.phases["alloc"]
    assert trace.memory_blocks.height == allocs
    freed = trace.memory_blocks["released_ts_ns"].drop_nulls()
    assert len(freed) == trace.metadata.phases["free_requested"]
    late = pl.col("released_ts_ns") > pl.col("allocated_ts_ns")
    assert trace.memory_blocks.drop_nulls("released_ts_ns").select(late.all()).item()
    assert trace.memory_blocks["reusable_ts_ns"].null_count() == allocs - len(freed)
    assert trace.memory_blocks["allocated_ts_ns"].min() > START_US * 1000
    for name in ("memory", "memory_blocks", "memory_segments"):
        assert dict(trace.lazy(name).collect_schema()) == TABLES[name].schema
    assert not trace.health


def test_totals_are_those_of_the_allocator(trained: Path):
    made, trace = train(5), read_trace(trained)
    assert trace.memory["total_allocated_bytes"].max() == made.peak
    assert trace.memory["total_allocated_bytes"][-1] == made.allocated
    assert trace.memory["total_reserved_bytes"][-1] == made.reserved
    assert trace.memory_segments["bytes"].sum() == made.reserved
    assert trace.memory_segments["allocated_bytes"].sum() == made.allocated


def test_a_short_history_gives_the_same_totals(tmp_path: Path):
    made = train(5)
    file = write_snapshot(tmp_path / "a.pickle", made.snapshot(keep=40))
    trace = read_trace(file)
    assert trace.memory["total_allocated_bytes"][-1] == made.allocated
    before = trace.memory_blocks.filter(pl.col("allocated_ts_ns").is_null())
    assert before.height > 0
    live = trace.memory_blocks.filter(pl.col("released_ts_ns").is_null())
    assert live["bytes"].sum() == made.allocated


def test_chunks_say_the_same(trained: Path, monkeypatch: pytest.MonkeyPatch):
    whole = read_trace(trained).memory_blocks
    monkeypatch.setattr(plain_pickle, "CHUNK_BYTES", 3000)
    assert read_trace(trained).memory_blocks.equals(whole)


def test_old_snapshots_have_blocks_alone(tmp_path: Path):
    made = train(2)
    trace = read_trace(write_snapshot(tmp_path / "a.pickle", made.snapshot(old=True)))
    assert trace.memory.is_empty()
    assert trace.memory_blocks["bytes"].sum() == made.allocated
    assert trace.memory_blocks["call_stack"].null_count() == 0
    assert trace.memory_blocks["requested_bytes"].sum() < made.allocated


def test_failures_and_marks_are_kept(tmp_path: Path):
    snapshot = train(2, fails=True).snapshot()
    snapshot["external_annotations"] = [
        {"stage": stage, "name": "ProfilerStep#3", "device": 0, "time_us": START_US + place}
        for place, stage in enumerate(("START", "END"))
    ]
    trace = timesink.open(write_snapshot(tmp_path / "a.pickle", snapshot))
    (failure,) = trace.metadata.extra["out_of_memory"]
    assert failure["bytes"] == 80 << 30
    assert failure["device_free_bytes"] == 1 << 20
    (mark,) = trace.metadata.extra["annotations"]
    assert mark["name"] == "ProfilerStep#3"


def test_what_cannot_be_used_is_counted(tmp_path: Path):
    snapshot = train(2).snapshot()
    events = snapshot["device_traces"][0]
    events[3:3] = [7, {"action": "dance"}, {"action": "alloc", "addr": "x", "size": 1}]
    snapshot["segments"].append("no segment")
    trace = read_trace(write_snapshot(tmp_path / "a.pickle", snapshot))
    counts = {entry.code: entry.count for entry in trace.health}
    assert counts["not_an_event"] == 1
    assert counts["unknown_action"] == 1
    assert counts["bad_value"] == 2


def test_contradictions_are_counted(tmp_path: Path):
    made = Allocator()
    made.alloc(1000, LOGGING)
    snapshot = made.snapshot()
    snapshot["segments"][0]["allocated_size"] = 5
    snapshot["device_traces"][0].append({**snapshot["device_traces"][0][-1], "addr": 17})
    trace = read_trace(write_snapshot(tmp_path / "a.pickle", snapshot))
    assert "memory_contradiction" in {entry.code for entry in trace.health}


def test_other_pickles_are_refused(tmp_path: Path):
    file = write_snapshot(tmp_path / "a.pickle", {"segments_of": 1, "device_traces": 3})
    read_trace(file)  # nothing in it, and nothing wrong with that
    for value in ([1, 2], {"a": 1}):
        write_snapshot(file, value)
        with pytest.raises(UnreadableError):
            read_trace(file)


def test_snapshots_are_told_by_content():
    assert sniff(pickle.dumps({"segments": []}), "")
    assert not sniff(pickle.dumps({"entries": []}), "")


def test_mutants_say_what_is_wrong(tmp_path: Path):
    clean = pickle.dumps(train(3).snapshot())
    whole = read_trace(write_snapshot(tmp_path / "a.pickle", train(3).snapshot()))
    for seed in range(int(os.environ.get("TIMESINK_MUTANTS", "20"))):
        rng = random.Random(seed)  # noqa: S311 - the same in every run
        content = bytearray(clean)
        for _ in range(rng.choice((1, 2, 10))):
            content[rng.randrange(len(content))] = rng.randrange(256)
        file = tmp_path / f"{seed}.pickle"
        file.write_bytes(content)
        try:
            trace = read_trace(file)
        except UnreadableError as error:
            assert error.hint  # noqa: PT017 - others are read
            continue
        lost = whole.metadata.events - trace.metadata.events
        said = sum(entry.count for entry in trace.health)
        assert lost <= 0 or said >= 1 or trace.metadata.events > 0
        from timesink.answers.views import find_view

        for view in ("memory-categories", "memory-stacks", "memory-steps", "memory-reserved"):
            find_view(view).table(trace)


@pytest.mark.skipif(native_module() is None, reason="nothing was compiled")
def test_compiled_code_reads_the_same(tmp_path: Path):
    compiled = 0
    for number, content in enumerate(mutants(40, seed=5)):
        file = tmp_path / f"{number}.pickle"
        file.write_bytes(content)
        assert answer_of(file, is_native=True) == answer_of(file, is_native=False), number
        compiled += compiled_parts(open_source(file)) is not None
    assert compiled >= 6  # all that are whole, but for one that is of 2022


def nested_tuples(levels: int) -> object:
    """Two of the level below, at each level: few bytes that stand for billions of values."""
    value: object = ()
    for _ in range(levels):
        value = (value, value)
    return value


@pytest.mark.parametrize("way", ["1", "0"])
def test_values_that_nest_are_no_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str):
    monkeypatch.setenv(NATIVE_VARIABLE, way)
    snapshot, endless = train(2).snapshot(), nested_tuples(60)
    for event, key in zip(snapshot["device_traces"][0], ("action", "stream", "size"), strict=False):
        event[key] = endless
    snapshot["segments"][0] |= {"segment_type": endless, "segment_pool_id": (endless, 0)}
    mark = {"name": endless, "device": [1], "time_us": 5, "stage": "START"}
    snapshot["external_annotations"] = [mark]
    trace = read_trace(write_snapshot(tmp_path / "a.pickle", snapshot))
    assert {entry.code for entry in trace.health} == {"unknown_action", "bad_value"}
    assert trace.memory_segments["segment_type"][0] == "tuple"


@pytest.mark.skipif(native_module() is None, reason="nothing was compiled")
def test_compiled_code_refuses_segments_that_are_their_own_stack(tmp_path: Path):
    circle: list[object] = []
    circle += [{"frames": circle}, *({"size": size} for size in range(1000))]
    snapshot = {"segments": circle, "device_traces": [[]]}
    assert compiled_parts(open_source(write_snapshot(tmp_path / "a.pickle", snapshot))) is None


@pytest.mark.skipif(native_module() is None, reason="nothing was compiled")
def test_compiled_code_keeps_what_is_shared(tmp_path: Path):
    file = write_snapshot(tmp_path / "a.pickle", {"entries": nested_tuples(60)})
    first, second = plain_pickle.load_plain(open_source(file))["entries"]
    assert first is second


def test_sums_are_those_of_the_viewer(trained: Path):
    pytest.importorskip("torch")
    from torch.cuda import _memory_viz

    snapshot = pickle.loads(trained.read_bytes())  # noqa: S301 - made above
    trace = read_trace(trained)
    text = _memory_viz.segsum(snapshot)
    reserved = trace.memory_segments["bytes"].sum()
    assert f"{reserved}" in text.replace("_", "") or f"{reserved / 2**20:.1f}MiB" in text


def test_a_real_snapshot(shared_root: Path):
    file = shared_root / "data/memory/mosaic_output.pickle"
    trace = read_trace(file)
    with file.open("rb") as stream:
        snapshot = pickle.load(stream)  # noqa: S301 - it is known
    events = snapshot["device_traces"][0]
    taken = [event for event in events if event["action"] == "alloc"]
    assert trace.metadata.phases == {"alloc": 520, "free_completed": 520}
    requested = trace.memory_blocks.drop_nulls("allocated_ts_ns")["requested_bytes"].sum()
    assert requested == sum(event["size"] for event in taken)
    total = sum(segment["total_size"] for segment in snapshot["segments"])
    assert trace.memory_segments["bytes"].sum() == total
