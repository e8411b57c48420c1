"""Events as a CSV, with counters and a description of the machine beside it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import timesink
from builders import probe_trace, write
from timesink.formats import event_csv
from timesink.formats.source_file import read_trace
from timesink.model.trace import Trace

COLUMNS = ("name", "cat", "ph", "pid", "tid", "ts", "dur", "args")
TOPOLOGY = [
    ("CAT_CPU", {"macro": {"freq": "4000 MHz", "cores": 32}}),
    ("CAT_CPU", {"macro": {"freq": "3500 MHz", "cores": "32"}}),
    ("CAT_MEMORY", {"macro": {"size": "32768 MB"}}),
    ("CAT_XPU", {"macro": {"index": 0, "memory_capacity": 85_899_345_920}}),
    ("CAT_PROCESS", {"macro": {"pid": 1234, "gpu_index": "7"}}),
]


def csv_bytes(header: tuple[str, ...], rows: list[tuple[object, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    return text.getvalue().encode()


def event_row(event: dict[str, object]) -> tuple[object, ...]:
    cells = [event.get(name, "") for name in COLUMNS[:-1]]
    return (*cells, json.dumps(event.get("args", {})))


def machine(components: list[tuple[str, dict[str, object]]]) -> bytes:
    rows = [("x", category, json.dumps(inventory)) for category, inventory in components]
    return csv_bytes(("name", "category", "inventory"), rows)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    slices = [event for event in probe_trace() if event["ph"] == "X"]
    path = tmp_path / "micro_event.csv"
    path.write_bytes(csv_bytes(COLUMNS, [event_row(event) for event in slices]))
    return path


def rows(trace: Trace, table: str) -> list[tuple[object, ...]]:
    return getattr(trace, table).rows()


@pytest.mark.parametrize("table", ["host", "device", "event_args"])
def test_the_same_as_json(events: Path, tmp_path: Path, table: str) -> None:
    slices = [event for event in probe_trace() if event["ph"] == "X"]
    same = read_trace(write(tmp_path / "trace.json", slices))
    trace = read_trace(events)
    assert rows(trace, table) == rows(same, table)
    assert trace.metadata.format == "event-csv"
    assert trace.metadata.phases == {"X": len(slices)}


def test_odd_cells(tmp_path: Path) -> None:
    path = tmp_path / "micro_event.csv"
    name = 'say "x", \\n\t Ω'
    rows: list[tuple[object, ...]] = [
        (name, "python", "X", "node1(7)", "1", "1762935807026558.001", "2.5", "{}"),
        ("packed", "python", "X", 7, 1, 5, 1, "{'a': 1}"),
        ("untimed", "python", "X", 7, 1, "soon", 1, ""),
    ]
    path.write_bytes(csv_bytes(COLUMNS, rows))
    trace = read_trace(path)
    assert trace.host.select("name", "pid", "ts_ns", "dur_ns").rows() == [
        (name, "node1(7)", 1_762_935_807_026_558_001, 2_500),
        ("packed", "7", 5_000, 1_000),
    ]
    counts = {entry.code: entry.count for entry in trace.health}
    assert (counts["missing_ts"], counts["bad_value"]) == (1, 1)


def test_counters_beside_name_their_device(events: Path) -> None:
    header = ("name", "value", "timestamp", "category", "loc1", "loc1_type", "loc2", "loc2_type")
    host = ("node1", "CAT_HOST")
    samples: list[tuple[object, ...]] = [
        ("gpu_usage", 5, "1762935807026000.25", "CAT_XPU", *host, "XPU-3", "CAT_XPU"),
        ("process_cpu_usage", 105, 2, "CAT_PROCESS", *host, "1234", "CAT_PROCESS"),
        ("process_cpu_usage_77", 9, 2, "CAT_PROCESS", *host, "", ""),
        ("host_cpu_usage", 7, 2, "CAT_CPU", *host, "", ""),
    ]
    events.with_name("macro_counter.csv").write_bytes(csv_bytes(header, samples))
    trace = timesink.open(events.parent, cache=False)
    assert trace.counters.select("ts_ns", "counter", "device", "value").rows() == [
        (1_762_935_807_026_000_250, "gpu_usage", "GPU 3", 5.0),
        (2_000, "process_cpu_usage", "pid 1234", 105.0),
        (2_000, "process_cpu_usage", "pid 77", 9.0),
        (2_000, "host_cpu_usage", "Host", 7.0),
    ]


def test_the_machine_beside(events: Path) -> None:
    events.with_name("topo_component.csv").write_bytes(machine(TOPOLOGY))
    trace = timesink.open(events, cache=False)
    assert trace.metadata.extra["topology"] == {
        "cpu_max_mhz": 4000.0,
        "cpu_cores": 64,
        "host_memory_bytes": 32 * 1024**3,
        "gpus_of_process": {"1234": "7"},
    }
    assert [device.memory_bytes for device in trace.metadata.devices] == [85_899_345_920]


def test_memory_is_not_guessed(events: Path) -> None:
    unlike = [("CAT_XPU", {"index": 3, "memory_capacity": 5}), ("CAT_XPU", {"index": 4})]
    twice = [("CAT_XPU", {"index": 0, "memory_capacity": size}) for size in (5, 6)]
    for components, expected in ((unlike, 5), (twice, None)):
        events.with_name("topo_component.csv").write_bytes(machine(components))
        trace = timesink.open(events, cache=False)
        assert [device.memory_bytes for device in trace.metadata.devices] == [expected]


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"category,inventory\nCAT_CPU,{broken\n"])
def test_a_broken_description_is_counted(events: Path, content: bytes) -> None:
    events.with_name("topo_component.csv").write_bytes(content)
    trace = timesink.open(events, cache=False)
    assert "bad_metadata" in {entry.code for entry in trace.health}
    assert trace.host.height > 0


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"name,cat,ph,pid,tid,ts,dur,args\n", True),
        (b"dur,ts,pid,ph,name\r\n", True),
        (b"name,value,timestamp,category\n", False),
        (b'{"traceEvents": []}', False),
    ],
)
def test_sniff(head: bytes, *, expected: bool) -> None:
    assert event_csv.sniff(head, "any") is expected
