"""`timesink query`."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import pytest

import timesink
from builders import kernel, kineto, write

STEPS = "select name, dur_ns from steps order by name"


@pytest.fixture
def query(run):
    return lambda *arguments: run("query", timesink.sample(), *arguments)


def test_text(query):
    assert query(STEPS).out == (
        "name              dur_ns\n"
        "ProfilerStep#3  27368803\n"
        "ProfilerStep#4  26998774\n"
    )  # fmt: skip


def test_json(query):
    assert query(STEPS, "--format", "json").json == [
        {"name": "ProfilerStep#3", "dur_ns": 27368803},
        {"name": "ProfilerStep#4", "dur_ns": 26998774},
    ]


def test_csv(query):
    out = query(STEPS, "--format", "csv").out
    assert out == "name,dur_ns\nProfilerStep#3,27368803\nProfilerStep#4,26998774\n"


def test_shares_have_three_decimals_in_text_and_are_numbers_in_json(query):
    sql = "select 100.0 * count(*) / 3 as share_pct from steps"
    assert query(sql).out == "share_pct\n   66.667\n"
    assert query(sql, "--format", "json").json == [{"share_pct": pytest.approx(200 / 3)}]


def test_nothing_found(query):
    assert query("select name from steps where step > 99").out == "name\n"


def test_too_many_rows_for_a_terminal(query):
    outcome = query("select name from host")
    assert len(outcome.out.splitlines()) == 61
    assert "more rows" in outcome.err
    assert len(query("select name from host", "--format", "csv").out.splitlines()) > 3000


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.txt"])
def test_output_file_holds_the_whole_result(query, tmp_path: Path, name: str):
    # A terminal gets 60 rows.
    assert query("select name from host limit 300", "-o", tmp_path / name).out == ""
    text = (tmp_path / name).read_text()
    rows = json.loads(text) if name == "a.json" else list(csv.reader(StringIO(text)))
    assert len(rows) == (300 if name == "a.json" else 301)


def test_wide_table_is_shown_row_by_row(query):
    out = query("select * from device limit 2").out
    assert out.count("registers_per_thread  ") == 2
    assert "…" not in out


@pytest.mark.parametrize(
    "name", ["void f<[red]>(x[/])", "at::native:smile:", "\x1b[31mred\nrow", "核函数 été", "a\\"]
)
def test_kernel_names_are_shown_as_they_are(run, tmp_path: Path, name: str):
    file = write(tmp_path / "trace.json", kineto([kernel(name, 1, 2, 3)]))
    expected = name.replace("\x1b", "\\x1b").replace("\n", "\\n")
    assert run("query", file, "select name from device").out == f"name\n{expected}\n"
    exact = run("query", file, "select name from device", "--format", "json").json
    assert exact == [{"name": name}]


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        ("selec 1", "Expected: an SQL statement", "tables are host"),
        ("", "statement", "tables are host"),
        ("select * from hosts", "'hosts' was not found", "tables are host, device"),
        ("select nam from host", 'unable to find column "nam"', "columns of host: index, kind"),
        ("select h.nam from host h", "nam", "columns of host: index, kind"),
        ("select sum(name) from steps", "sum", "tables are host"),
        ("select foo(1) from steps", "foo", "tables are host"),
        (
            "select * from read_csv('nowhere.csv')",
            "tables of the recording only",
            "tables are host",
        ),
    ],
)
def test_query_that_cannot_be_answered(decline, sql: str, message: str, hint: str):
    error, advice = decline("query", timesink.sample(), sql)
    assert message in error
    assert hint in advice


def test_lists_do_not_fit_csv(decline):
    sql = "select array_agg(name) as names from steps"
    message, hint = decline("query", timesink.sample(), sql, "--format", "csv")
    assert "'names'" in message
    assert "--format json" in hint


def test_folder_with_several_traces_asks_which(run, decline, tmp_path: Path):
    for name in ("a.json", "b.json"):
        write(tmp_path / name, kineto([kernel(name, 1, 2, 3)]))
    message, hint = decline("query", tmp_path, "select name from device")
    assert "2 traces (a, b)" in message
    assert "--worker" in hint
    assert (
        run("query", tmp_path, "select name from device", "--worker", "b").out == "name\nb.json\n"
    )


def test_a_query_that_would_change_the_trace_is_declined(query):
    answer = query("drop table host")
    assert answer.code == 1
    assert "queries cannot change a trace" in answer.err


def test_an_output_of_an_unknown_format_is_wrong_usage(query, tmp_path):
    output = tmp_path / "steps.parquet"
    answer = query(STEPS, "-o", output)
    assert answer.code == 2
    assert ".parquet is not a format" in answer.err
    assert not output.exists()


def test_whole_numbers_can_be_copied(run):
    """No blanks between digits, as text and as Markdown."""
    sql = "select 1794703861110197903 as ts_ns, 12345.0 as x from steps limit 1"
    assert "1794703861110197903" in run("query", timesink.sample(), sql).out


def test_what_changed_between_two_runs(run):
    base, new = timesink.sample_runs()
    sql = "select short_name, delta_ns from times order by abs(delta_ns) desc limit 1"
    (row,) = run("query", base, sql, "--against", new, "--format", "json").json
    assert row["short_name"] == "aten::_cudnn_attention_forward"
    times = timesink.compare(base, new).table("times")
    assert row["delta_ns"] == pytest.approx(times["delta_ns"].max())


def test_a_column_that_a_table_of_a_comparison_lacks(run):
    base, new = timesink.sample_runs()
    result = run("query", base, "select nothing from times", "--against", new)
    assert (result.code, "columns of times: function, short_name" in result.err) == (1, True)
    result = run("query", base, "select * from edits", "--against", new)
    assert (result.code, "compare recordings with a timeline" in result.err) == (1, True)
