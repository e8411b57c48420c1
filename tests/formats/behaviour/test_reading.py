"""Behaviour tables others have written."""

from __future__ import annotations

import gzip
import io
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from behaviour_files import COLUMNS, ROW, SYNC, change_cells, csv_file
from timesink.errors import UnreadableError
from timesink.formats import behaviour
from timesink.formats.csv_text import microseconds_as_ns
from timesink.formats.source_file import read_trace
from timesink.model.schema import BEHAVIOUR
from timesink.model.trace import Trace


@pytest.fixture
def read(tmp_path: Path):
    def read_content(content: bytes, name: str = "result_perf_data.csv") -> Trace:
        (tmp_path / name).write_bytes(content)
        return read_trace(tmp_path / name)

    return read_content


def health_counts(trace: Trace) -> dict[str, int]:
    return {entry.code: entry.count for entry in trace.health}


def test_every_cell(read) -> None:
    trace = read(csv_file(ROW, SYNC))
    assert trace.behaviour.schema == BEHAVIOUR.schema
    assert trace.behaviour.rows(named=True) == [
        {
            "cycle": 1,
            "cycle_type": "generic",
            "pid": "944615",
            "host": None,
            "function": "oncpu",
            "metric": "cpu_frequency",
            "device": "Host",
            "function_class": "oncpu",
            "beta_pct": 156.8058,
            "mu": 87.5001,
            "sigma": 0.034,
            "unit": "%",
            "dur_ns": 1_156_340_721,
            "calls": 125_820,
            "interpolated": "some",
            "anchor": "Scheduler.run_batch",
            "cycle_ts_ns": 1_762_935_807_026_558_750,
            "cycle_dur_ns": 737_434_750,
            "short_name": "oncpu",
        },
        {
            "cycle": 2,
            "cycle_type": "generic",
            "pid": "944615",
            "host": None,
            "function": "gemm<1, 2>(int)",
            "metric": None,
            "device": "GPU 7",
            "function_class": "gpu_compute",
            "beta_pct": 0.05,
            "mu": None,
            "sigma": None,
            "unit": None,
            "dur_ns": 5_344,
            "calls": 1,
            "interpolated": "none",
            "anchor": "Scheduler.run_batch",
            "cycle_ts_ns": 1_762_935_807_764_034_000,
            "cycle_dur_ns": 753_556_250,
            "short_name": "gemm",
        },
    ]
    assert trace.health == ()
    assert (trace.metadata.format, trace.metadata.events) == ("behaviour", 2)
    assert (trace.metadata.clock, trace.metadata.vendor) == ("unix", "unknown")
    assert not trace.has_timeline
    assert trace.has_behaviour


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\n\n"])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_layouts(read, end: str, start: str, name: str) -> None:
    content = csv_file(ROW, ("",), SYNC, end=end, start=start)
    trace = read(gzip.compress(content) if name.endswith(".gz") else content, name)
    assert trace.behaviour["dur_ns"].to_list() == [1_156_340_721, 5_344]
    assert trace.health == ()


@pytest.mark.parametrize("left_out", [("simple_name",), ("hostname", "anchor_name"), ("pid",)])
def test_columns_that_may_be_absent(read, left_out: tuple[str, ...]) -> None:
    names = [name for name in COLUMNS if name not in left_out]
    cells = dict(zip(COLUMNS, ROW, strict=True))
    trace = read(csv_file([cells[name] for name in names], columns=names))
    assert trace.behaviour["beta_pct"].to_list() == [156.8058]
    assert trace.health == ()


@pytest.mark.parametrize(
    ("left_out", "example"),
    [
        ("anchor_dur_us", "anchor_dur_us (the recorded length of cycles)"),
        ("instances_count", "instances_count (how often functions ran)"),
        ("mu_pct", "mu_pct (how high counters were)"),
        ("device", "device (on which device functions ran)"),
        ("func_type", "func_type (of what sort functions are)"),
    ],
)
def test_what_is_not_known_without_a_column_is_told(read, left_out: str, example: str) -> None:
    names = [name for name in COLUMNS if name != left_out]
    cells = dict(zip(COLUMNS, ROW, strict=True))
    trace = read(csv_file([cells[name] for name in names], columns=names))
    assert trace.behaviour.height == 1
    (entry,) = trace.health
    assert (entry.code, entry.count, entry.example) == ("missing_column", 1, example)


@pytest.mark.parametrize("missing", ["cycle", "beta_pct", "function_name", "duration"])
def test_a_column_that_is_needed_is_named(read, missing: str) -> None:
    names = [name for name in COLUMNS if name != missing]
    cells = dict(zip(COLUMNS, ROW, strict=True))
    with pytest.raises(UnreadableError, match=f"without the column {missing}$"):
        read(csv_file([cells[name] for name in names], columns=names))


@pytest.mark.parametrize("missing", ["cycle", "beta_pct", "function", "dur_ns"])
def test_a_column_that_parquet_needs_is_named(read, missing: str) -> None:
    buffer = io.BytesIO()
    rows = {"cycle": [1], "function": ["f"], "beta_pct": [2.0], "dur_ns": [5]}
    pl.DataFrame(rows).drop(missing).write_parquet(buffer)
    with pytest.raises(UnreadableError, match=f"without the column {missing}$"):
        read(buffer.getvalue(), "a.parquet")


def test_a_device_that_is_not_named(read) -> None:
    assert read(csv_file(ROW, change_cells(device=""))).behaviour["device"].to_list() == [
        "Host",
        "N/A",
    ]


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("point", [".", ","])
def test_other_separators(read, separator: str, point: str) -> None:
    row = [separator.join(cell.replace(".", point) for cell in ROW)]
    trace = read(csv_file(row, columns=[separator.join(COLUMNS)]))
    assert trace.behaviour.equals(read(csv_file(ROW)).behaviour.with_columns(anchor=_anchor(point)))
    assert trace.health == ()


def _anchor(point: str) -> pl.Expr:
    return pl.lit(f"Scheduler{point}run_batch", pl.Categorical)


def test_names_that_are_not_utf8_are_counted(read) -> None:
    trace = read(csv_file(ROW, change_cells(function_name="café")).decode().encode("latin-1"))
    assert trace.behaviour["function"].to_list() == ["oncpu", "caf\ufffd"]
    assert health_counts(trace) == {"invalid_utf8": 1}


def test_a_table_without_a_usable_row_names_the_cell(read) -> None:
    rows = [change_cells(cycle=f"c{number}") for number in (1, 2)]
    with pytest.raises(UnreadableError, match=r"none of its 2 rows .*row 1: cycle 'c1'"):
        read(csv_file(*rows))


@pytest.mark.parametrize("mu", ["inf", "-inf", "nan", "high", "", "1e300"])
def test_counters_without_a_number_are_counted(read, mu: str) -> None:
    trace = read(csv_file(ROW, change_cells(mu_pct=mu)))
    assert trace.behaviour["mu"].to_list() == [87.5001, None]
    assert health_counts(trace) == {"missing_level": 1}
    assert "cpu_frequency" in trace.health[0].example


def test_lengths_are_not_negative(read) -> None:
    trace = read(csv_file(ROW, change_cells(duration="-5"), change_cells(anchor_dur_us="-1")))
    assert trace.behaviour["cycle_dur_ns"].to_list() == [737_434_750, None]
    assert health_counts(trace) == {"bad_behaviour_row": 1, "bad_value": 1}


def test_numbers_of_parquet_are_checked_alike(read) -> None:
    buffer = io.BytesIO()
    rows = {"cycle": ["1", "2"], "function": ["f", "g"], "beta_pct": [2.0, 3.0]}
    more = {"dur_ns": [5.0, -6.0], "metric": ["m", "m"], "mu": [float("nan"), 1.0]}
    pl.DataFrame({**rows, **more}).write_parquet(buffer)
    trace = read(buffer.getvalue(), "a.parquet")
    row = trace.behaviour.row(0, named=True)
    assert (row["dur_ns"], row["mu"], row["device"], row["unit"]) == (5, None, "N/A", None)
    assert health_counts(trace) == {"bad_behaviour_row": 1, "missing_level": 1, "missing_column": 4}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("result_perf_data.csv", "generic"),
        ("result_prefill_perf_data.csv", "prefill"),
        ("a_decode_b_prefill_perf_data.csv", "prefill"),
        ("behaviour_decode.csv", "decode"),
        ("decoder_perf_data.csv", "generic"),
        ("result_decoder_perf_data.csv", "generic"),
    ],
)
def test_the_name_says_the_sort_of_cycles(read, name: str, expected: str) -> None:
    assert read(csv_file(ROW), name).behaviour["cycle_type"].to_list() == [expected]


@pytest.mark.parametrize(
    "cells",
    [
        {"cycle": "one"},
        {"cycle": "1.5"},
        {"cycle": ""},
        {"function_name": ""},
        {"beta_pct": "nan"},
        {"beta_pct": ""},
        {"duration": "soon"},
        {"duration": ""},
    ],
)
def test_broken_rows_are_counted(read, cells: dict[str, str]) -> None:
    trace = read(csv_file(ROW, change_cells(**cells), SYNC))
    assert trace.behaviour["cycle"].to_list() == [1, 2]
    assert health_counts(trace) == {"bad_behaviour_row": 1}
    ((column, text),) = cells.items()
    assert trace.health[0].example == f"row 2: {f'{column} {text!r}' if text else f'no {column}'}"


@pytest.mark.parametrize(
    ("cells", "example"),
    [
        ({"sigma_pct": "high"}, "sigma_pct 'high'"),
        ({"cycle_start_ts": "now"}, "cycle_start_ts 'now'"),
        ({"instances_count": "2.5"}, "instances_count '2.5'"),
        ({"interpolation_status": "?"}, "interpolation_status '?'"),
    ],
)
def test_values_that_cannot_be_read_are_counted(read, cells: dict[str, str], example: str) -> None:
    trace = read(csv_file(ROW, change_cells(**cells)))
    assert trace.behaviour.height == 2
    assert health_counts(trace) == {"bad_value": 1}
    assert trace.health[0].example == example


def test_cut_rows_and_open_quotes_cost_no_other_row(read) -> None:
    opened = change_cells(SYNC, function_name='"gemm<1, 2>(int)')
    content = csv_file(ROW, opened, ROW[:9], SYNC)
    trace = read(content)
    assert trace.behaviour["cycle"].to_list() == [1, 2]
    assert trace.behaviour["function"].to_list() == ["oncpu", "gemm<1, 2>(int)"]
    assert health_counts(trace) == {"bad_behaviour_row": 2}


def test_a_cut_archive_keeps_what_came_before(read) -> None:
    rows = [change_cells(cycle=str(n), duration=f"{n * 7919}.5000") for n in range(2000)]
    packed = gzip.compress(csv_file(*rows))
    trace = read(packed[: len(packed) // 2], "result_perf_data.csv.gz")
    assert 0 < trace.behaviour.height < 2000
    assert health_counts(trace)["truncated_archive"] == 1


def test_units_of_tables_without_a_column_for_them(read) -> None:
    metrics = {
        "gpu_frequency": ("118687.5", "0.01 MHz"),
        "gpu_link_receive": ("2646092765", "0.01 B/s"),
        "gpu_sm_util": ("0.26", "100 %"),
        "gpu_mem_used": ("85.7", "%"),
        "process_cpu_usage": ("1.75", "%"),
        "own": ("5", None),
    }
    rows = [change_cells(metric_name=name, mu_pct=mu) for name, (mu, _) in metrics.items()]
    table = read(csv_file(*rows)).behaviour
    assert table["unit"].to_list() == [unit for _, unit in metrics.values()]
    assert table["mu"].to_list() == [float(mu) for mu, _ in metrics.values()]


def test_a_column_for_units_is_believed(read) -> None:
    content = csv_file((*ROW, "MHz"), (*ROW, ""), columns=(*COLUMNS, "unit"))
    assert read(content).behaviour["unit"].to_list() == ["MHz", None]


def test_numbers_in_parquet_under_the_names_of_the_csv(read) -> None:
    texts = pl.read_csv(csv_file(ROW), infer_schema_length=None)
    buffer = io.BytesIO()
    texts.write_parquet(buffer)
    trace = read(buffer.getvalue(), "table.parquet")
    assert trace.behaviour.select("cycle", "dur_ns", "cycle_ts_ns", "unit").row(0) == (
        *(1, 1_156_340_721, 1_762_935_807_026_558_750, "%"),
    )
    assert trace.health == ()


def test_other_parquet_is_declined(read) -> None:
    buffer = io.BytesIO()
    pl.DataFrame({"a": [1]}).write_parquet(buffer)
    with pytest.raises(UnreadableError, match="no behaviour table"):
        read(buffer.getvalue(), "a.parquet")
    with pytest.raises(UnreadableError, match="damaged"):
        read(buffer.getvalue()[:-9], "b.parquet")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"cycle,pid,hostname,beta_pct\n1,2,a,3\n", "without the columns function_name, duration"),
        (b"Function Name,Metric Name,Device,Suspicion Score\n", "a finished comparison"),
    ],
)
def test_what_only_looks_like_one_is_declined(read, content: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        read(content)


def test_sniff() -> None:
    assert behaviour.sniff(csv_file(ROW), "any")
    assert behaviour.sniff(b'\xef\xbb\xbfduration, Cycle ,beta_pct,"function_name"\r\n', "any")
    assert not behaviour.sniff(b"timestamp_us,counter,device,value\n", "any")
    assert not behaviour.sniff(b'{"traceEvents": []}', "any")


@given(st.integers(-(2**62), 2**62))
def test_every_nanosecond_survives(nanoseconds: int) -> None:
    text = str(Decimal(nanoseconds).scaleb(-3))
    plain = f"{Decimal(nanoseconds).scaleb(-3):f}"
    assert microseconds_as_ns(pl.Series([text, plain])).to_list() == [nanoseconds] * 2


@given(st.integers(-(2**50), 2**50).map(lambda quarters: quarters / 4))
def test_floats_are_split_before_they_are_scaled(microseconds: float) -> None:
    exact = int(Decimal(microseconds) * 1000)
    assert microseconds_as_ns(pl.Series([microseconds])).to_list() == [exact]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["", "x", None, "nan", "inf", "1e30", "9999999999999999"], [None] * 7),
        (["9223372036854775.807", "+5", "007"], [2**63 - 1, 5_000, 7_000]),
        (["0.0004", "0.0005", "-0.0005", ".5", "5."], [0, 1, -1, 500, 5000]),
        ([float("nan"), float("inf"), 1e300, None], [None] * 4),
        ([1, None], [1000, None]),
    ],
)
def test_other_texts_and_numbers(values: list[object], expected: list[int | None]) -> None:
    assert microseconds_as_ns(pl.Series(values, strict=False)).to_list() == expected


def test_shared_tables(shared_root: Path) -> None:
    folder = shared_root / "data/latencyprism/SGLang/gpu_instability/normal_perf_data"
    trace = read_trace(folder / "result_perf_data.csv.gz")
    assert trace.health == ()
    assert trace.metadata.vendor == "nvidia"
    table = trace.behaviour
    assert (table.height, table["cycle"].n_unique(), table["function"].n_unique()) == (2153, 12, 37)
    assert table["cycle_ts_ns"][0] == 1_762_935_807_026_558_750
    assert set(table["unit"].drop_nulls()) == {"%", "100 %", "0.01 MHz", "0.01 B/s"}


def test_own_columns_of_other_types(read) -> None:
    buffer = io.BytesIO()
    rows = {"cycle": [1, 2], "function": ["f", None], "beta_pct": [2, 3], "dur_ns": [5, 6]}
    pl.DataFrame({**rows, "pid": [7, 8]}).write_parquet(buffer)
    trace = read(buffer.getvalue(), "behaviour_decode.parquet")
    assert trace.behaviour.select("cycle", "function", "beta_pct", "pid", "cycle_type").rows() == [
        (1, "f", 2.0, "7", "decode")
    ]
    assert health_counts(trace)["bad_behaviour_row"] == 1
