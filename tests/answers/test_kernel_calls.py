"""Every launch on a line of fixed width."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timesink
from measured_kernels import launch, trace_of_launches
from ncu_files import Call, kernel_table
from timesink.answers.kernels.tables import KernelChoice as Choice
from timesink.answers.kernels.tables import all_columns, chosen_calls, to_lines

HEADER = "Kernel                                                 Latency Tensor   DRAM"


def calls(*rows: tuple) -> pl.DataFrame:
    schema = {
        "short_name": pl.String,
        "dur_ns": pl.Int64,
        "tensor_pct": pl.Float64,
        "dram_pct": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def line(*row: object) -> str:
    header, only = to_lines(calls(row)).splitlines()
    assert header == HEADER
    return only


def test_columns_stand_where_they_belong():
    printed = line("Kernel", 4224, 33.4, 0.0)
    assert (printed[:50].rstrip(), printed[50:52]) == ("Kernel", "| ")
    assert (printed[52:62], printed[63:69], printed[70:]) == ("      4224", "  0.33", "  0.00")


@pytest.mark.parametrize(
    ("name", "expected"),
    [(50 * "n", 50 * "n"), (51 * "n", 47 * "n" + "..."), ("a\nb", "a\\nb"), ("", "(no name)")],
)
def test_names_are_cut_only_beyond_fifty_characters(name: str, expected: str):
    assert line(name, 1, 0.0, 0.0)[:50].rstrip() == expected


@pytest.mark.parametrize(
    ("pct", "expected"),
    [(0.4, "0.00"), (0.5, "0.01"), (33.0, "0.33"), (99.6, "1.00"), (104.2, "1.04"), (None, "-")],
)
def test_utilisations_are_fractions(pct: float | None, expected: str):
    assert line("k", 1, pct, pct)[62:] == f" {expected:>6} {expected:>6}"


def test_a_missing_latency_is_a_dash():
    assert line("k", None, 1.0, 1.0)[50:62] == "|          -"


def test_one_line_feed_at_the_end():
    assert to_lines(calls()) == HEADER + "\n"
    assert to_lines(calls(("k", 1, 0.0, 0.0))).endswith("0.00\n")


@given(
    st.lists(
        st.builds(
            Call,
            st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60),
            st.integers(0, 10**9),
            st.integers(0, 100),
            st.integers(0, 100),
        ),
        max_size=20,
    )
)
def test_a_table_is_written_as_it_was_read(rows: list[Call]):
    frame = calls(*((c.name, c.dur_ns, float(c.tensor_pct), float(c.dram_pct)) for c in rows))
    assert to_lines(frame) == kernel_table(rows)


# -- which calls -----------------------------------------------------------------------------------


@pytest.fixture
def report():
    utilisations = [(300, "b", 10.0), (100, "c", 90.0), (600, "a", 50.0)]
    return timesink.kernels(
        trace_of_launches(
            *(launch(ns, {}, name=name, sm_pct=sm, dram_pct=1.0) for ns, name, sm in utilisations)
        )
    )


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (None, "bca"),
        ("calls", "bca"),
        ("time", "abc"),
        ("mean", "abc"),
        ("name", "abc"),
        ("sm", "cab"),
        ("headroom", "abc"),
        ("tensor", "bca"),
    ],
)
def test_launch_order_unless_another_is_asked_for(report, sort: str | None, order: str):
    assert "".join(chosen_calls(report.calls, sort, Choice())["name"]) == order


def test_only_the_first_and_only_the_long(report):
    assert chosen_calls(report.calls, None, Choice(top=1))["name"].to_list() == ["b"]
    assert chosen_calls(report.calls, None, Choice(min_share_pct=30))["name"].to_list() == [
        "b",
        "a",
    ]


def test_all_columns_name_the_run_where_there_are_several(report):
    assert "run" not in all_columns([report], None, Choice()).columns
    both = all_columns([report, report], None, Choice(top=2))
    assert both["run"].to_list() == ["k.csv", "k.csv", "k.csv #2", "k.csv #2"]
    assert both["name"].dtype == pl.String


def test_negative_percents():
    calls = pl.DataFrame(
        {
            "short_name": ["f", "f"],
            "dur_ns": [1, 1],
            "tensor_pct": [-3.0, -0.2],
            "dram_pct": [-120.0, 5.0],
        }
    )
    assert [line.split()[-2:] for line in to_lines(calls).splitlines()[1:]] == [
        ["-0.03", "-1.20"],
        ["0.00", "0.05"],
    ]
