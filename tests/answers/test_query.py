"""SQL sees the tables of the recording and nothing else, within limits."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import builders
import timesink
from timesink.answers.query import VIEW_NAMES, QueryLimits, run_query
from timesink.answers.views import VIEWS
from timesink.errors import QueryError, QueryLimitError, TimesinkError
from timesink.model.schema import TABLES
from timesink.model.trace import Trace


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    file = tmp_path_factory.mktemp("query") / "a.json"
    return timesink.open(builders.write(file, builders.cuda_trace()), cache=False)


@pytest.mark.parametrize(
    "source",
    [
        "read_csv('{}')",
        "READ_CSV ('{}')",
        "\"read_csv\"('{}')",
        "read_parquet('{}')",
        "read_csv/**/('{}')",
        "'{}'",
        '"{}"',
    ],
)
def test_files_are_not_read(trace: Trace, tmp_path: Path, source: str):
    secret = tmp_path / "secret.csv"
    secret.write_text("password\nhunter2\n")
    with pytest.raises(QueryError) as refused:
        run_query(trace, f"select * from {source}".format(secret))  # noqa: S608
    assert "hunter2" not in str(refused.value)


def test_nor_are_addresses_asked(trace: Trace):
    with pytest.raises(QueryError, match="tables of the recording only, not read_csv"):
        run_query(trace, "select * from read_csv('http://127.0.0.1:9/x.csv')")


def test_a_name_of_such_a_function_is_only_a_text(trace: Trace):
    answer = run_query(trace, "select 'read_csv(x) -- ' as told from steps limit 1")
    assert answer["told"].to_list() == ["read_csv(x) -- "]


def test_an_endless_query_is_refused(trace: Trace):
    endless = "with recursive r as (select 1 n union all select n + 1 from r) select * from r"
    with pytest.raises(QueryError, match="recursive"):
        run_query(trace, endless)


def test_a_sum_of_many_terms_does_not_end_the_process(trace: Trace):
    with pytest.raises(QueryError, match="500 operators"):
        run_query(trace, "select dur_ns" + " + dur_ns" * 20_000 + " from device")


def test_limits_of_rows_and_time_are_told(trace: Trace):
    with pytest.raises(QueryLimitError, match="more than 1 rows"):
        run_query(trace, "select * from host", QueryLimits(rows=1))
    with pytest.raises(QueryLimitError, match=r"takes .* more than a quarter"):
        run_query(trace, "select * from host", QueryLimits(memory_bytes=100))
    many = "select count(*) from host a" + " cross join host {}" * 7
    many = many.format(*"bcdefgh")
    with pytest.raises(QueryLimitError, match="took longer"):
        run_query(trace, many, QueryLimits(seconds=-1.0))


def test_views_have_the_names_of_analyze_and_its_rows():
    trace = timesink.open(timesink.sample())
    analysis = timesink.analyze(trace)
    names = ("kernels", "kernel-launches", "operators", "steps")
    sources = ("kernels", '"kernel-launches"', "operators", "view_steps")
    for name, source in zip(names, sources, strict=True):
        rows = run_query(trace, f"select * from {source}")  # noqa: S608
        assert rows.equals(
            analysis.table(name).with_columns(pl.col(pl.Categorical).cast(pl.String))
        )
    joined = "select count(*) as n from device join Kernel_Launches on true where 1 = 0"
    assert run_query(trace, "select count(*) as n from kernel_launches")["n"][0]
    assert run_query(trace, joined.lower())["n"].to_list() == [0]


def test_tables_and_names_of_the_query_hide_views(trace: Trace):
    assert "ts_ns" in run_query(trace, "select * from steps").columns
    named = "with kernels as (select name as n from device) select * from kernels"
    assert run_query(trace, named).columns == ["n"]


def test_every_view_can_be_asked():
    assert set(VIEW_NAMES.values()) == set(VIEWS)
    assert not VIEW_NAMES.keys() & TABLES.keys()


def test_a_view_that_cannot_be_made_says_why():
    trace = timesink.open(timesink.sample(counters=True))
    assert run_query(trace, "select count(*) as kernels from kernel_calls").height == 1
    with pytest.raises(TimesinkError, match="timeline"):
        run_query(trace, "select * from kernels")


def test_tables_of_kernels_have_the_names_of_the_command():
    trace = timesink.open(timesink.sample())
    answer = run_query(trace, "select * from kernels_by_family")
    assert answer.drop("label").equals(timesink.kernels(trace).view("family").frame.drop("label"))
    quoted = run_query(trace, 'select sum(calls) as calls from "kernels-by-full-name"')
    assert quoted["calls"].item() == answer["calls"].sum()
