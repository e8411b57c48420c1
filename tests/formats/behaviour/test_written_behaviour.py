"""Behaviour tables as files: what is written can be read again."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from behaviour_files import COLUMNS, ROW, SYNC, change_cells, csv_file, tables
from behaviour_rows import table_of
from timesink.errors import OutputError
from timesink.formats.behaviour import behaviour_csv, write_behaviour
from timesink.formats.source_file import read_trace


def as_text(table: pl.DataFrame) -> pl.DataFrame:
    """Texts as texts: the numbers behind them are of no matter."""
    return table.cast({pl.Categorical: pl.String})


@given(tables, st.sampled_from([".csv", ".csv.gz", ".parquet"]))
def test_what_is_written_is_read(table: pl.DataFrame, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"behaviour{ending}"
        write_behaviour(table, path)
        trace = read_trace(path)
    assert_frame_equal(as_text(trace.behaviour), as_text(table))
    assert {entry.code for entry in trace.health} <= {"missing_level"}


@settings(max_examples=5)
@given(tables, st.permutations([*COLUMNS, "unit", "cycle_type"]), st.sampled_from(["\n", "\r\n"]))
def test_any_order_of_columns(table: pl.DataFrame, columns: list[str], end: str) -> None:
    texts = pl.read_csv(behaviour_csv(table).encode(), infer_schema=False)
    names = [name for name in columns if name in texts.columns]
    text = texts.select(names).write_csv(line_terminator=end)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "other.csv"
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
        trace = read_trace(path)
    assert_frame_equal(as_text(trace.behaviour), as_text(table))


def test_the_published_form_is_kept_to_the_letter(tmp_path: Path) -> None:
    published = csv_file(ROW, change_cells(SYNC, cycle="3"))
    (tmp_path / "result_perf_data.csv").write_bytes(published)
    table = read_trace(tmp_path / "result_perf_data.csv").behaviour
    lines = behaviour_csv(table).splitlines()
    assert [line.rpartition(",")[0] for line in lines] == published.decode().splitlines()
    assert [line.rpartition(",")[2] for line in lines] == ["unit", "%", ""]


def test_sorts_of_cycles_are_named_only_where_there_are_any() -> None:
    generic = {"cycle": 1, "cycle_type": "generic", "function": "f", "dur_ns": 1, "beta_pct": 1.0}
    assert behaviour_csv(table_of([generic])).splitlines()[0].endswith(",unit")
    decode = table_of([{**generic, "cycle_type": "decode"}])
    assert behaviour_csv(decode).splitlines()[0].endswith(",unit,cycle_type")
    assert behaviour_csv(decode).splitlines()[1].endswith(",,decode")


def test_equal_tables_are_equal_files(tmp_path: Path) -> None:
    table = table_of([{"cycle": 1, "function": "f", "beta_pct": 1.0, "dur_ns": 5}])
    write_behaviour(table, tmp_path / "a.csv.gz")
    write_behaviour(table, tmp_path / "b.csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"cycle,pid,")


def test_a_name_that_is_none_of_a_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="not a name for a behaviour table"):
        write_behaviour(table_of([]), tmp_path / "table.txt")


def test_the_folder_of_a_table_is_made(tmp_path: Path) -> None:
    write_behaviour(table_of([]), tmp_path / "no" / "table.csv")
    assert (tmp_path / "no" / "table.csv").exists()
