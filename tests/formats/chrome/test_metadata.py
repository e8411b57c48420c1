"""Everything about a trace that is not an event."""

from __future__ import annotations

import pytest

from answers import damage, sizes
from builders import kernel, kineto, operator, to_bytes, training_trace, write
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import read_trace

H200 = {
    "id": 0,
    "name": "NVIDIA H200",
    "totalGlobalMem": 150_000_000_000,
    "computeMajor": 9,
    "computeMinor": 0,
    "numSms": 132,
}
GROUP = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 8, "ranks": [0, 1, 2, 3, 4, 5, 6, 7]}
FIELDS = {
    "schemaVersion": 1,
    "deviceProperties": [H200],
    "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [GROUP]},
    "cuda_driver_version": 12040,
    "trace_id": "88EC7BDF",
    "baseTimeNanoseconds": 1_790_857_026_000_000_000,
}


def events_first(fields):
    return {"traceEvents": [operator("aten::mm", 1, 2)], **fields}


def events_last(fields):
    return {**fields, "traceEvents": [operator("aten::mm", 1, 2)]}


@pytest.mark.parametrize("arrange", [events_first, events_last])
def test_fields_may_stand_before_or_after_the_events(read, arrange):
    metadata = read(arrange(FIELDS)).metadata
    assert metadata.devices[0].name == "NVIDIA H200"
    assert metadata.devices[0].memory_bytes == 150_000_000_000
    assert metadata.devices[0].compute_capability == "9.0"
    assert metadata.devices[0].multiprocessors == 132
    assert (metadata.distributed.rank, metadata.distributed.world_size) == (3, 8)
    assert metadata.distributed.backend == "nccl"
    assert metadata.distributed.groups == (GROUP,)
    assert metadata.versions == {"cuda_driver_version": "12040"}
    assert metadata.extra == {"trace_id": "88EC7BDF"}
    assert metadata.schema_version == 1
    assert metadata.clock_offset_ns == 1_790_857_026_000_000_000


def test_metadata_in_front_longer_than_any_block(read):
    notes = [{"line": "x" * 100} for _ in range(15_000)]
    trace = read(events_last({"schemaVersion": 1, "notes": notes}))
    assert len(trace.metadata.extra["notes"]) == 15_000
    assert trace.metadata.events == 1


def test_no_events_at_all(read):
    trace = read(kineto([], deviceProperties=[H200]))
    assert trace.metadata.events == 0
    assert set(sizes(trace).values()) == {0}
    assert damage(trace) == {}


def test_a_bare_list_has_no_metadata(read):
    trace = read([kernel("k", 1, 2, 3)])
    assert (trace.metadata.format, trace.metadata.devices[0].id) == ("chrome", 0)
    assert trace.metadata.extra == {}


def test_worker_and_span_come_from_the_file_name(tmp_path):
    path = write(tmp_path / "rank2.1623143089861.pt.trace.json.gz", [operator("op", 1, 2)])
    metadata = read_trace(path, ReadOptions(jobs=1)).metadata
    assert (metadata.worker, metadata.span) == ("rank2", 1623143089861)
    assert metadata.distributed.rank == 2


def test_a_field_that_cannot_be_read_costs_only_itself(read):
    text = to_bytes(events_last(FIELDS)).replace(b'"88EC7BDF"', b"N/A")
    trace = read(text)
    assert damage(trace) == {"bad_metadata": 1}
    assert trace.metadata.devices[0].name == "NVIDIA H200"
    assert trace.metadata.distributed.rank == 3
    assert trace.metadata.events == 1


def test_a_field_behind_the_events_that_cannot_be_read_costs_only_itself(read):
    text = to_bytes(events_first(FIELDS)).replace(b'"88EC7BDF"', b"@@")
    trace = read(text)
    assert damage(trace) == {"bad_metadata": 1}
    assert trace.metadata.distributed.rank == 3
    assert trace.metadata.clock_offset_ns == 1_790_857_026_000_000_000


@pytest.mark.parametrize(
    "strange",
    [
        {"deviceProperties": {"id": 0}},
        {"deviceProperties": [5, None, {"id": "x", "name": None, "totalGlobalMem": 1e300}]},
        {"deviceProperties": [{"totalGlobalMem": 1e308, "numSms": "many", "computeMajor": []}]},
        {"distributedInfo": [1, 2]},
        {"distributedInfo": {"rank": "²", "world_size": -1, "pg_config": "none"}},
        {"schemaVersion": "one", "Framework": 5},
    ],
)
def test_fields_of_unexpected_types_do_no_harm(read, strange):
    trace = read(events_last(strange))
    assert trace.metadata.events == 1
    assert sizes(trace)["host"] == 1


def test_a_second_list_of_events_is_reported(read):
    first = to_bytes(training_trace(steps=1))
    second = b',"traceEvents":[{"ph":"X","name":"a"},{"ph":"X","name":"b"}]}'
    trace = read(first.removesuffix(b"}") + second)
    assert damage(trace) == {"lost_events": 2}
    assert trace.metadata.events == len(training_trace(steps=1)["traceEvents"])
