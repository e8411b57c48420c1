"""The tables of a pair as CSV."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import polars as pl
import pytest

import timesink
from compared import frame, pair_of, two_runs
from timesink.answers.comparison.pair_tables import pair_table, table_csv
from timesink.answers.comparison.published_tables import PUBLISHED
from timesink.answers.views import COMPARED_VIEWS
from timesink.cli.compare import VIEWS
from timesink.comparison.results import FAMILIES, ROWS, TIMES
from timesink.errors import NotFoundError, UsageError

GOLDEN = (
    ("SGLang_gpu_instability_pid944615_strict", ("normal", "abnormal")),
    ("SGLang_gpu_memory_squeeze_out_NVLink_pid923229_strict", ("normal", "abnormal")),
    (
        "SGLang_cpu_frequency_reduction_n_pid805580_vs_a_pid842126_cross",
        ("normal_pid_805580", "abnormal_pid_842126"),
    ),
)


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(StringIO(text)))


class TestRows:
    def test_columns_are_the_published_ones_with_the_labels_of_both_sides(self):
        titles = cells(table_csv(two_runs(labels=("normal_pid_1", "abnormal_pid_2")), "rows"))[0]
        assert titles[:5] == [
            "Function Name",
            "Metric Name",
            "Device",
            "Suspicion Score",
            "β_normal_pid_1(%)",
        ]
        assert titles[10:12] == ["μ_normal_pid_1", "μ_abnormal_pid_2"]

    def test_numbers_have_six_decimals_and_undefined_ones_are_empty(self):
        row = {"function": "f", "score": 1.5, "mu_welch_p": float("nan"), "mu_base": 2.5e13}
        values = cells(table_csv(pair_of(rows=frame(ROWS, row)), "rows"))[1]
        assert values[3] == "1.500000"
        assert values[10] == "25000000000000.000000"
        assert values[15] == ""

    def test_every_row_is_there_in_order(self):
        pair = two_runs()
        lines = cells(table_csv(pair, "rows"))
        assert len(lines) == pair.rows.height + 1
        assert [row[0] for row in lines[1:]] == pair.rows["function"].to_list()

    def test_no_rows_leave_the_titles(self):
        assert len(cells(table_csv(pair_of(), "rows"))) == 1

    @pytest.mark.parametrize(("name", "labels"), GOLDEN)
    def test_a_published_table_is_written_byte_for_byte(
        self, shared_root: Path, name: str, labels: tuple[str, str]
    ):
        golden = (shared_root / "data/latencyprism/golden" / f"{name}.csv").read_text(
            encoding="utf-8"
        )
        columns = [column for column, _, _ in PUBLISHED]
        rows = pl.read_csv(golden.encode(), new_columns=columns, schema_overrides=_FLOATS)
        more = [pl.lit(None, ROWS[name]).alias(name) for name in ROWS if name not in columns]
        pair = pair_of(rows=rows.with_columns(more))
        for side, label in ((pair.base, labels[0]), (pair.new, labels[1])):
            object.__setattr__(side, "label", label)
        assert table_csv(pair, "rows") + "\n" == golden


_FLOATS = {
    title.format(base=base, new=new): pl.Float64
    for column, title, _ in PUBLISHED
    for _, (base, new) in GOLDEN
    if ROWS[column] == pl.Float64
}


class TestOthers:
    def test_times_hold_every_function_with_or_without_a_metric(self):
        pair = two_runs()
        rows = list(csv.DictReader(StringIO(table_csv(pair, "times"))))
        assert list(rows[0]) == list(TIMES)
        assert {row["measured"] for row in rows} == {"true", "false"}

    def test_names_of_a_family_share_a_cell(self):
        row = {"family": "gemm", "names_base": ["a", "b"], "names_new": ["c"], "name": None}
        rows = list(
            csv.DictReader(StringIO(table_csv(pair_of(families=frame(FAMILIES, row)), "families")))
        )
        assert (rows[0]["names_base"], rows[0]["names_new"], rows[0]["name"]) == ("a; b", "c", "")


@pytest.mark.parametrize("name", ["rows", "times", "families"])
def test_text_csv_and_json_of_a_pair_come_from_one_table(name: str) -> None:
    pair = two_runs()
    table = pair_table(pair, name)
    assert table.rows().height == getattr(pair, name).height
    assert table.to_text("csv") == table_csv(pair, name)
    block = table.block(rows=1)
    assert (block.id, block.rows) == (name, min(1, table.frame.height))
    assert table.block(id_="other").id == "other"
    assert all(column.title for column in block.columns)


def test_every_table_of_a_comparison_has_a_name_and_rows_of_all_pairs() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample())
    heights = {name: same.table(name).height for name in COMPARED_VIEWS}
    assert (heights["kinds"], heights["edits"], heights["counters"]) == (1, 0, 0)
    assert heights["times"] == same.pair.times.height
    assert "place" in same.table("edits").columns
    with pytest.raises(NotFoundError, match="shapes were not recorded"):
        timesink.compare(*timesink.sample_runs()).table("operators")
    with pytest.raises(UsageError, match="no table 'nothing'"):
        same.table("nothing")
    assert set(VIEWS) == set(COMPARED_VIEWS)
