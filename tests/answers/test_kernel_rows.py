"""Tables of kernels: which rows, which columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timesink
from measured_kernels import Launch, launch, trace_of_launches, use
from timesink.answers.kernels.tables import (
    SORTS,
    choose,
    choose_of_runs,
    groups_of_runs_table,
    groups_table,
    rest_line,
)
from timesink.answers.kernels.tables import KernelChoice as Choice
from timesink.output.blocks import Table
from timesink.output.lines import Grid, LabelGrid
from timesink.output.numbers import cells
from timesink.output.tables import text_table


def groups(*launches: Launch, by: str = "name") -> pl.DataFrame:
    return timesink.kernels(trace_of_launches(*launches)).groups(by)


THREE = (
    use("a", 500, tensor=10.0, dram=20.0, sm=30.0),
    use("c", 100, tensor=30.0, dram=10.0, sm=90.0),
    use("c", 100, tensor=30.0, dram=10.0, sm=90.0),
    use("b", 300, tensor=20.0, dram=60.0, sm=20.0),
)


class TestChoice:
    def test_what_is_not_known_comes_last(self):
        table = groups(use("a", 900, sm=None), use("b", 100, sm=3.0))
        assert choose(table, Choice("sm")).rows["group"].to_list() == ["b", "a"]

    def test_rows_left_out_are_summed(self):
        chosen = choose(groups(*THREE), Choice(top=1))
        assert (chosen.left, chosen.left_pct) == (2, pytest.approx(50))

    def test_rows_of_different_devices_are_not_summed(self):
        chosen = choose(groups(*THREE, use("a", 50, device=1)), Choice(top=1))
        assert (chosen.left, chosen.left_pct) == (3, None)

    def test_the_rest_may_be_of_the_headroom(self):
        chosen = choose(groups(*THREE), Choice("headroom", top=1), "headroom")
        assert chosen.left_pct == pytest.approx(100 * (20 + 120) / (350 + 20 + 120))
        assert rest_line(chosen, "kernel") == "... 2 more kernels: 28.6 % of the headroom"

    def test_small_rows_are_left_out(self):
        chosen = choose(groups(*THREE), Choice(min_share_pct=30))
        assert chosen.rows["group"].to_list() == ["a", "b"]
        assert chosen.left_pct == pytest.approx(20)

    @given(st.sampled_from(sorted(SORTS)), st.integers(1, 5), st.floats(0, 100))
    def test_shown_and_left_are_all(self, sort: str, top: int, least: float):
        table = groups(*THREE)
        chosen = choose(table, Choice(sort, top, least))
        assert chosen.height == table.height
        listed_pct = chosen.rows["share_pct"].sum()
        assert listed_pct + (chosen.left_pct or 0) == pytest.approx(100)

    def test_each_run_has_its_own_rows(self):
        runs = [
            replace(timesink.kernels(trace_of_launches(*launches)), source=name)
            for name, launches in (("x", THREE), ("y", THREE[:1]))
        ]
        chosen = choose_of_runs(runs, "name", Choice(top=1))
        assert chosen.rows.select("run", "group").rows() == [("x", "a"), ("y", "a")]
        assert (chosen.left, chosen.places) == (2, ("run",))


def titles(table: Table) -> list[str]:
    return [column.title for column in table.columns if column.main]


def values(table: Table, title: str) -> list[str]:
    return next(cells(column) for column in table.columns if column.title == title)


class TestColumns:
    def runs_table(self, *launches: Launch, by: str = "name", **options: Any) -> Table:
        report = timesink.kernels(trace_of_launches(*launches), **options)
        return groups_of_runs_table([report], by, Choice())

    def test_what_is_not_known_has_no_column(self):
        table = self.runs_table(launch(100, {}, name="a"))
        assert titles(table) == ["kernel", "calls", "share", "total", "mean"]
        assert values(table, "share") == ["100.0 %"]

    def test_a_gap_in_a_column_is_a_dash(self):
        table = self.runs_table(use("a", 900), use("b", 100, sm=None, tensor=None))
        assert values(table, "SM")[1] == "-"

    def test_classes_are_named_after_what_was_measured(self):
        assert values(self.runs_table(use("a", 900, dram=50.0)), "class") == ["low SM"]
        table = self.runs_table(use("a", 900, dram=50.0, sm=None))
        assert values(table, "class") == ["low tensor"]

    def test_namesakes_are_counted(self):
        launches = (use("void f<A>(int)", 900), use("void f<B>(int)", 100))
        assert titles(self.runs_table(*launches))[-1] == "variants"
        assert titles(self.runs_table(*launches, by="family"))[-1] == "kernels"
        assert titles(self.runs_table(launches[0]))[-1] == "headroom"

    def test_of_a_sample_both_counts_are_shown(self):
        table = self.runs_table(use("a", 900), every=2)
        assert titles(table)[:3] == ["kernel", "seen", "launches"]

    def test_devices_have_a_column_where_there_are_several(self):
        table = self.runs_table(use("a", 900), use("a", 100, device=1))
        assert titles(table)[:2] == ["device", "kernel"]
        assert (values(table, "device"), values(table, "kernel")) == (["0", "1"], ["a", "a"])

    @pytest.mark.parametrize(
        ("by", "label"),
        [
            ("operator", "(operator not known)"),
            ("module-class", "(module class not known)"),
            ("name", "(no name)"),
        ],
    )
    def test_groups_without_a_name(self, by: str, label: str):
        report = timesink.kernels(trace_of_launches(use("a", 900)))
        table = report.groups("name").with_columns(label=pl.lit(None, pl.String))
        block = groups_table(report, table, by, Choice(), "t")
        assert cells(block.columns[0]) == [label]

    def test_rest_of_the_rows(self):
        report = timesink.kernels(trace_of_launches(*THREE))
        block = groups_of_runs_table([report], "name", Choice(top=2))
        assert (block.title, block.rows, block.total_rows) == ("Kernels", 2, 3)
        assert block.note == "... 1 more kernel: 20.0 % of the time"


def shown_at(table: Table, width: int) -> list[str]:
    """The columns for which there is room; in a narrow place each row is a table of its own."""
    first = text_table(table, width)[0]
    if isinstance(first, LabelGrid):
        return [label for label, _ in first.rows]
    assert isinstance(first, Grid)
    return list(first.titles)


class TestWidth:
    @pytest.fixture
    def table(self) -> Table:
        return groups_of_runs_table([timesink.kernels(trace_of_launches(*THREE))], "name", Choice())

    def test_what_is_easily_spared_goes_first(self, table: Table):
        assert shown_at(table, 500) == titles(table)
        narrow = shown_at(table, 64)
        assert [title for title in titles(table) if title not in narrow] == ["mean", "headroom"]

    def test_names_and_main_numbers_stay(self, table: Table):
        assert shown_at(table, 1) == ["kernel", "share", "total", "tensor", "DRAM", "SM"]
