"""The table of a selected range."""

from __future__ import annotations

import timesink
from timesink.answers.plugin.query import Query
from timesink.answers.timeline.opening import open_timeline
from timesink.answers.timeline.routes import ROUTES, aggregate_block


def test_the_table_of_a_range_says_how_long_it_is_and_what_took_most() -> None:
    timeline = open_timeline(timesink.open(timesink.sample()))
    range_totals = ROUTES["aggregate"](
        timeline, Query({"from": "0", "to": "5000000", "tracks": "2"})
    )
    block = aggregate_block(range_totals)
    assert block.title == "Selected: 5.00 ms"
    assert [column.title for column in block.columns] == [
        "Name", "Kind", "Calls", "Self", "Share", "Total", "Mean", "Longest",
    ]  # fmt: skip
    totals = block.columns[3].data.values
    assert list(totals) == sorted(totals, reverse=True)
    assert block.rows == block.total_rows == range_totals.names


def test_a_range_without_anything_is_a_table_without_rows() -> None:
    timeline = open_timeline(timesink.open(timesink.sample()))
    block = aggregate_block(ROUTES["aggregate"](timeline, Query({"tracks": ""})))
    assert block.rows == block.total_rows == 0
    assert len(block.columns) == 8
