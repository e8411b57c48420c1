"""Behaviour tables below a folder."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import polars as pl
import pytest

from behaviour_files import ROW, csv_file
from timesink.errors import UnreadableError
from timesink.sources.discovery import find_recordings
from timesink.sources.run_facts import find_behaviour_tables
from timesink.sources.sidecars import find_beside


@pytest.fixture
def case(tmp_path: Path) -> Path:
    for side in ("normal", "abnormal"):
        folder = tmp_path / f"{side}_perf_data"
        folder.mkdir()
        (folder / "result_perf_data.csv.gz").write_bytes(gzip.compress(csv_file(ROW)))
        (folder / "result_counters_data.csv.gz").write_bytes(
            gzip.compress(b"counter_name,timestamp,value,hostname\nc,1.5,2,\n")
        )
    return tmp_path


def test_tables_are_told_by_name_and_content(case: Path) -> None:
    (case / "my_behaviour.csv").write_bytes(csv_file(ROW))
    (case / "behaviour of others.csv").write_text("a,b\n1,2\n")
    (case / "notes.csv").write_bytes(csv_file(ROW))
    buffer = io.BytesIO()
    pl.read_csv(csv_file(ROW)).write_parquet(buffer)
    (case / "Behaviour.parquet").write_bytes(buffer.getvalue())
    assert [str(path.relative_to(case)) for path in find_behaviour_tables(case)] == [
        "Behaviour.parquet",
        "abnormal_perf_data/result_perf_data.csv.gz",
        "my_behaviour.csv",
        "normal_perf_data/result_perf_data.csv.gz",
    ]


def test_links_that_lead_back_are_followed_once(case: Path) -> None:
    (case / "again").symlink_to(case, target_is_directory=True)
    (case / "elsewhere").symlink_to(case / "normal_perf_data", target_is_directory=True)
    assert len(find_behaviour_tables(case)) == 2


def test_a_folder_without_traces_holds_its_tables(case: Path) -> None:
    recordings = find_recordings(case)
    assert [recording.worker for recording in recordings] == ["result_perf_data"] * 2
    (case / "trace.json").write_text('{"traceEvents": [{"ph": "X"}]}')
    assert [recording.path.name for recording in find_recordings(case)] == ["trace.json"]


def test_an_empty_folder_says_what_it_might_hold(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="no trace in this folder") as caught:
        find_recordings(tmp_path)
    assert "_perf_data.csv" in caught.value.hint


@pytest.mark.parametrize(
    ("table", "counters", "belongs"),
    [
        ("result_perf_data.csv.gz", "result_counters_data.csv.gz", True),
        ("result_perf_data.csv", "result_counters_data.csv.gz", True),
        ("a_perf_data.csv", "b_counters_data.csv", False),
        ("micro_event.csv", "macro_counter.csv", True),
        ("run_micro_event.csv.gz", "run_macro_counter.csv", True),
        ("dynamic_event.csv", "macro_counter.csv", False),
    ],
)
def test_counters_beside(tmp_path: Path, table: str, counters: str, *, belongs: bool) -> None:
    (tmp_path / table).touch()
    (tmp_path / counters).touch()
    assert find_beside(tmp_path / table) == (tmp_path / counters if belongs else None)
