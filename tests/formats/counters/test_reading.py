"""Counters sampled beside a trace."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from timesink.errors import UnreadableError
from timesink.formats import counters
from timesink.formats.counters import read_counters
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import open_source
from timesink.model.schema import COUNTERS
from timesink.sources.sidecars import find_beside

HEADER = "timestamp_us,counter,device,value"
TRACE = b'{"traceEvents": [{"ph": "X"}]}'


@pytest.fixture
def csv(tmp_path: Path):
    def write(*lines: str, end: str = "\n") -> Path:
        path = tmp_path / "counters.csv"
        path.write_bytes(end.join((*lines, "")).encode())
        return path

    return write


def samples(path: Path) -> list[tuple[object, ...]]:
    frame, health = read_counters(path)
    assert frame.schema == COUNTERS.schema
    assert health == []
    return frame.select("ts_ns", "counter", "device", "value").rows()


def test_samples(csv) -> None:
    path = csv(HEADER, "1794701744761752,gpu_power_mw,GPU 0,142098", "5,host_cpu_usage,Host,6.5")
    frame, health = read_counters(path)
    assert frame.rows() == [
        (1_794_701_744_761_752_000, "gpu_power_mw", "GPU 0", 142098.0, "counters.csv", None),
        (5_000, "host_cpu_usage", "Host", 6.5, "counters.csv", None),
    ]
    assert health == []


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1794701744761752.123", 1_794_701_744_761_752_123),
        ("1794701744761752.1", 1_794_701_744_761_752_100),
        ("1794701744761752.123999", 1_794_701_744_761_752_124),
        ("1.794701744761752123e15", 1_794_701_744_761_752_123),
        (" 7 ", 7_000),
        ('"7"', 7_000),
        ("-0.5", -500),
    ],
)
def test_timestamps_are_exact(csv, text: str, nanoseconds: int) -> None:
    assert samples(csv(HEADER, f"{text},c,GPU 0,1")) == [(nanoseconds, "c", "GPU 0", 1.0)]


@pytest.mark.parametrize(
    "lines",
    [
        ("value,host,device,counter,timestamp_us", "1,x,GPU 0,c,5"),
        ('"timestamp_us", "counter" ,device,value,"note"', '5,"c","GPU 0",1,"a, b"'),
        ("\ufeff" + HEADER, "5,c,GPU 0,1"),
        ("", HEADER, "", "5,c,GPU 0,1", "", ""),
        ("timestamp_us,counter,device,value,value", "5,c,GPU 0,1,2"),
        (HEADER, "5,c,GPU 0,1,surplus"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_layouts(csv, lines: tuple[str, ...], end: str) -> None:
    assert samples(csv(*lines, end=end)) == [(5_000, "c", "GPU 0", 1.0)]


EXPORTED = "counter_name,timestamp,value,hostname"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("gpu_usage,5.000000,6.000000,", (5_000, "gpu_usage", None, 6.0)),
        ("process_cpu_usage_944615,5,107,", (5_000, "process_cpu_usage", "pid 944615", 107.0)),
        ("process_mem_rss_17,5,1,node1", (5_000, "process_mem_rss", "pid 17", 1.0)),
        ("host_cpu_usage,5,1,node1", (5_000, "host_cpu_usage", "node1", 1.0)),
        (
            "container_cpu_usage,1762935811022609.250000,249.269000,",
            (1_762_935_811_022_609_250, "container_cpu_usage", None, 249.269),
        ),
    ],
)
def test_exports_beside_behaviour_tables(csv, row: str, expected: tuple[object, ...]) -> None:
    assert samples(csv(EXPORTED, row)) == [expected]


def test_exports_may_lack_the_host(csv) -> None:
    assert samples(csv("counter_name,timestamp,value", "c,5,1")) == [(5_000, "c", None, 1.0)]


def test_a_sample_may_name_no_device(csv) -> None:
    assert samples(csv(HEADER, "5,c,,1")) == [(5_000, "c", None, 1.0)]


@pytest.mark.parametrize(
    "bad",
    [
        *("soon,c,GPU 0,1", ",c,GPU 0,1", "nan,c,GPU 0,1", "1e99,c,GPU 0,1"),
        *("5,c,GPU 0,N/A", "5,c,GPU 0,", "5,c,GPU 0,nan", "5,c,GPU 0,inf"),
        *("5,,GPU 0,1", "5,c", "5"),
    ],
)
def test_bad_rows_are_counted(csv, bad: str) -> None:
    frame, health = read_counters(csv(HEADER, "1,c,GPU 0,1", bad, "2,c,GPU 0,2"))
    assert frame["ts_ns"].to_list() == [1_000, 2_000]
    (entry,) = health
    assert (entry.code, entry.count) == ("bad_counter_row", 1)
    assert entry.example.rstrip(",") == f"counters.csv: {bad}".rstrip(",")


def test_an_open_quote_costs_no_other_row(csv) -> None:
    path = csv(HEADER, "1,c,GPU 0,1", '2,c,"GPU 0,2', "3,c,GPU 0,3")
    assert [row[0] for row in samples(path)] == [1_000, 2_000, 3_000]


def test_a_header_alone_gives_no_samples(csv) -> None:
    assert samples(csv(HEADER)) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("5,c,GPU 0,1", "no header line"),
        ("\x00\x01\x02", "no header line"),
        ("timestamp_us,value", "no column counter nor device"),
        ("timestamp_us,counter,device,val", "no column value"),
        ("", "the file is empty"),
    ],
)
def test_what_is_no_table_of_counters_is_an_error(csv, line: str, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason) as caught:
        read_counters(csv(line))
    assert "timestamp_us,counter,device,value" in caught.value.hint


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators(csv, separator: str) -> None:
    lines = [HEADER.replace(",", separator), f"5{separator}c{separator}GPU 0{separator}1,5"]
    assert samples(csv(*lines)) == [(5_000, "c", "GPU 0", 1.5)]


def test_packed_files(tmp_path: Path, csv) -> None:
    lines = [f"{n},c,GPU 0,{n}" for n in range(2000)]
    plain = csv(HEADER, *lines)
    packed = tmp_path / "counters.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert samples(packed) == samples(plain)
    packed.write_bytes(packed.read_bytes()[:-2000])
    frame, health = read_counters(packed)
    assert 0 < frame.height < len(lines)
    assert "truncated_archive" in {entry.code for entry in health}


def test_a_csv_by_itself_is_a_trace_of_counters(csv) -> None:
    source = open_source(csv(HEADER, "5,c,GPU 0,1", "6,c,GPU 0,oops"))
    assert counters.sniff(source.head(), "unknown")
    trace = counters.read(source, ReadOptions())
    assert (trace.metadata.format, trace.metadata.vendor) == ("counters", "cpu")
    assert trace.metadata.events == 1
    assert trace.counters["ts_ns"].to_list() == [5_000]
    assert "bad_counter_row" in {entry.code for entry in trace.health}


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (HEADER.encode(), True),
        (b"value,device,counter,timestamp_us\r\n1", True),
        (b"a,b,c\n" + HEADER.encode(), False),
        (TRACE, False),
        (b"", False),
    ],
)
def test_sniff(head: bytes, *, expected: bool) -> None:
    assert counters.sniff(head, "any") is expected


def write_files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(HEADER.encode() if ".csv" in name else TRACE)


@pytest.mark.parametrize(
    ("trace", "neighbours", "expected"),
    [
        ("trace.json", ["counters.csv"], "counters.csv"),
        ("trace.json.gz", ["counters.csv.gz"], "counters.csv.gz"),
        ("run.sqlite", ["counters.csv"], "counters.csv"),
        ("trace.json", ["counters.csv", "notes.txt"], "counters.csv"),
        ("rank0.json", ["counters.csv", "rank1.json"], None),
        ("rank0.json", ["rank0.counters.csv", "rank1.json"], "rank0.counters.csv"),
        ("rank0.json", ["counters.csv", "rank0.counters.csv"], "rank0.counters.csv"),
        ("w.pt.trace.json.gz", ["w.pt.trace.counters.csv"], "w.pt.trace.counters.csv"),
        ("w.pt.trace.json.gz", ["w.counters.csv.gz"], "w.counters.csv.gz"),
        ("rank0.json", ["rank1.counters.csv"], None),
        ("trace.json", [], None),
    ],
)
def test_find_beside(
    tmp_path: Path, trace: str, neighbours: list[str], expected: str | None
) -> None:
    write_files(tmp_path, trace, *neighbours)
    counters_file = find_beside(tmp_path / trace)
    assert (counters_file and counters_file.name) == expected


def test_a_small_json_that_is_no_trace_does_not_count(tmp_path: Path) -> None:
    write_files(tmp_path, "trace.json", "counters.csv")
    (tmp_path / "fault.json").write_text('{"fault": "normal"}')
    (tmp_path / "empty.json").touch()
    assert find_beside(tmp_path / "trace.json") == tmp_path / "counters.csv"


def test_shared_counters(shared_root: Path) -> None:
    folder = shared_root / "data" / "h200" / "faults" / "normal"
    path = find_beside(folder / "trace.json.gz")
    assert path == folder / "counters.csv"
    frame, health = read_counters(path)
    assert health == []
    assert frame.height == 390
    assert frame.row(0) == (
        *(1_794_701_744_761_752_000, "gpu_sm_frequency", "GPU 0", 1980.0),
        *("counters.csv", None),
    )
