"""Tables of kernels: which rows, which columns."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timesink
from measured_kernels import Launch, launch, measured, use
from timesink.render.kernels.columns import WHOLE
from timesink.render.kernels.groups import SORTS, Choice, choose, choose_of_runs, shown_table
from timesink.render.shown import fitting, with_columns

NOTHING = {"tensor_pct": None, "dram_pct": None, "sm_pct": None}


def groups(*launches: Launch, by: str = "name") -> pl.DataFrame:
    return timesink.kernels(measured(*launches)).groups(by)


THREE = (
    use("a", 500, tensor=10.0, dram=20.0, sm=30.0),
    use("c", 100, tensor=30.0, dram=10.0, sm=90.0),
    use("c", 100, tensor=30.0, dram=10.0, sm=90.0),
    use("b", 300, tensor=20.0, dram=60.0, sm=20.0),
)


class TestChoice:
    @pytest.mark.parametrize(
        ("sort", "order"),
        [
            ("time", "abc"),
            ("calls", "cab"),
            ("mean", "abc"),
            ("headroom", "abc"),
            ("tensor", "cba"),
            ("dram", "bac"),
            ("sm", "cab"),
            ("name", "abc"),
        ],
    )
    def test_orders(self, sort: str, order: str):
        assert "".join(choose(groups(*THREE), Choice(sort)).rows["group"]) == order

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
        shown = shown_table(chosen, "name", WHOLE)
        assert shown.rest == "... 2 more kernels: 28.6 % of the headroom"

    def test_small_rows_are_left_out(self):
        chosen = choose(groups(*THREE), Choice(min_share_pct=30))
        assert chosen.rows["group"].to_list() == ["a", "b"]
        assert chosen.left_pct == pytest.approx(20)

    @given(st.sampled_from(sorted(SORTS)), st.integers(1, 5), st.floats(0, 100))
    def test_shown_and_left_are_all(self, sort: str, top: int, least: float):
        table = groups(*THREE)
        chosen = choose(table, Choice(sort, top, least))
        assert chosen.height == table.height
        shown = chosen.rows["share_pct"].sum()
        assert shown + (chosen.left_pct or 0) == pytest.approx(100)

    def test_each_run_has_its_own_rows(self):
        chosen = choose_of_runs({"x": groups(*THREE), "y": groups(*THREE[:1])}, Choice(top=1))
        assert chosen.rows.select("run", "group").rows() == [("x", "a"), ("y", "a")]
        assert (chosen.left, chosen.places) == (2, ("run",))


class TestColumns:
    def shown(self, *launches: Launch, by: str = "name", **options: Any):
        return shown_table(choose(groups(*launches, by=by), Choice()), by, WHOLE, **options)

    def test_what_is_not_known_has_no_column(self):
        table = self.shown(launch(100, {}, name="a"))
        assert table.columns == ("kernel", "calls", "share", "total", "mean")
        assert table.rows == (("a", "1", "100.0 %", "100 ns", "100 ns"),)

    def test_a_gap_in_a_column_is_a_dash(self):
        table = self.shown(use("a", 900), use("b", 100, sm=None, tensor=None))
        assert table.rows[1][table.columns.index("SM")] == "-"

    def test_classes_are_named_after_what_was_measured(self):
        table = self.shown(use("a", 900, dram=50.0))
        assert table.rows[0][table.columns.index("class")] == "low SM"
        table = self.shown(use("a", 900, dram=50.0, sm=None), axis="tensor")
        assert table.rows[0][table.columns.index("class")] == "low tensor"

    def test_namesakes_are_counted(self):
        launches = (use("void f<A>(int)", 900), use("void f<B>(int)", 100))
        assert self.shown(*launches).columns[-1] == "variants"
        assert self.shown(*launches, by="family").columns[-1] == "kernels"
        assert self.shown(launches[0]).columns[-1] == "headroom"

    def test_of_a_sample_both_counts_are_shown(self):
        table = self.shown(use("a", 900), sampled=True)
        assert table.columns[:3] == ("kernel", "seen", "launches")

    def test_devices_have_a_column_where_there_are_several(self):
        table = self.shown(use("a", 900), use("a", 100, device=1))
        assert table.columns[:2] == ("device", "kernel")
        assert [row[:2] for row in table.rows] == [("0", "a"), ("1", "a")]

    @pytest.mark.parametrize(
        ("by", "label"),
        [
            ("operator", "(operator not known)"),
            ("module-class", "(module class not known)"),
            ("name", "(no name)"),
        ],
    )
    def test_groups_without_a_name(self, by: str, label: str):
        table = groups(use("a", 900)).with_columns(label=pl.lit(None, pl.String))
        shown = shown_table(choose(table, Choice()), by, WHOLE)
        assert shown.rows[0][0] == label

    def test_rest_of_the_rows(self):
        shown = shown_table(choose(groups(*THREE), Choice(top=2)), "name", WHOLE)
        assert (shown.title, shown.rest) == (
            "Kernels (2 of 3)",
            "... 1 more kernel: 20.0 % of the time",
        )


class TestWidth:
    def test_what_is_easily_spared_goes_first(self):
        table = shown_table(choose(groups(*THREE), Choice()), "name", WHOLE)
        assert fitting(table, 500) == table
        narrow = fitting(table, 60)
        assert [title for title in table.columns if title not in narrow.columns] == [
            "mean",
            "headroom",
        ]

    def test_names_and_main_numbers_stay(self):
        table = shown_table(choose(groups(*THREE), Choice()), "name", WHOLE)
        assert fitting(table, 1).columns == ("kernel", "share", "total", "tensor", "DRAM", "SM")

    def test_some_columns(self):
        table = shown_table(choose(groups(*THREE), Choice()), "name", WHOLE)
        first = with_columns(table, [0])
        assert (first.columns, first.rows) == (("kernel",), (("a",), ("b",), ("c",)))
