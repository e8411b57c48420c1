"""Behaviour tables, which have no timeline, through every command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import timesink
from behaviour_files import ROW, SYNC, change_cells, csv_file
from timesink.errors import UnreadableError


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "result_perf_data.csv.gz"
    path.write_bytes(gzip.compress(csv_file(ROW, change_cells(SYNC, hostname="node1"))))
    return path


def test_info(run, table: Path) -> None:
    output = run("info", table).out
    assert " ".join(output.split()).startswith(
        "result_perf_data.csv.gz: behaviour of 2 functions in 2 steps of about 745 ms; no timeline "
    )
    for part in ("944615, node1 944615", "GPU 7, Host", "marked by Scheduler.run_batch"):
        assert part in output
    assert "rank" not in output
    assert "No problems found" in output


def test_info_as_json(run, table: Path) -> None:
    answer = run("info", table, "--format", "json").json
    assert (answer["format"], answer["behaviour_rows"], answer["cycles"]) == ("behaviour", 2, 2)


def test_info_of_a_folder(run, tmp_path: Path, table: Path) -> None:
    other = tmp_path / "later"
    other.mkdir()
    (other / table.name).write_bytes(table.read_bytes())
    output = run("info", tmp_path).out
    assert "4 steps in 2 behaviour tables" in output
    assert "later/" in output
    assert "processes" in output


def test_query(run, table: Path) -> None:
    sql = "select cycle, metric, unit, dur_ns from behaviour order by cycle"
    rows = run("query", table, sql, "--format", "json").out
    assert json.loads(rows) == [
        {"cycle": 1, "metric": "cpu_frequency", "unit": "%", "dur_ns": 1_156_340_721},
        {"cycle": 2, "metric": None, "unit": None, "dur_ns": 5_344},
    ]


def test_counters_beside_are_read_with_it(run, table: Path) -> None:
    table.with_name("result_counters_data.csv").write_text(
        "counter_name,timestamp,value,hostname\n"
        "process_cpu_usage_944615,1762935807026000.250000,107.9,\n"
        "gpu_usage,1762935807026000.250000,6.000000,\n"
    )
    sql = "select ts_ns, counter, device, value from counters"
    assert json.loads(run("query", table, sql, "--format", "json").out) == [
        {
            "ts_ns": 1_762_935_807_026_000_250,
            "counter": "process_cpu_usage",
            "device": "pid 944615",
            "value": 107.9,
        },
        {
            "ts_ns": 1_762_935_807_026_000_250,
            "counter": "gpu_usage",
            "device": None,
            "value": 6.0,
        },
    ]


@pytest.mark.parametrize("command", ["analyze", "kernels"])
def test_commands_about_timelines_say_what_to_do(decline, table: Path, command: str) -> None:
    message, hint = decline(command, table)
    assert "a behaviour table, which has no timeline" in message
    assert f"timesink compare {table} OTHER" in hint


def test_analyze_from_python(table: Path) -> None:
    with pytest.raises(UnreadableError, match="a behaviour table"):
        timesink.analyze(table)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz", ""])
def test_export(run, table: Path, tmp_path: Path, ending: str) -> None:
    output = tmp_path / f"copy{ending}"
    outcome = run("export", table, "-o", output)
    assert outcome.code == 0
    assert timesink.open(output).behaviour.rows() == timesink.open(table).behaviour.rows()


def test_export_as_a_timeline_is_declined(decline, table: Path, tmp_path: Path) -> None:
    message, _ = decline("export", table, "-o", tmp_path / "copy.json")
    assert "a behaviour table without the timeline" in message


def test_a_trace_is_no_table(decline, tmp_path: Path) -> None:
    message, hint = decline("export", timesink.sample(), "-o", tmp_path / "a.csv", code=2)
    assert "only a behaviour table" in message
    assert "timesink functions" in hint
