"""What a role says about itself."""

from __future__ import annotations

import polars as pl
import pytest

from timesink.comparison.results import Process


@pytest.mark.parametrize(
    ("anchors", "expected"),
    [
        (["a", "b", "b"], "b"),
        (["b", "a", None, None, None], "a"),
        ([None], None),
        ([], None),
    ],
    ids=["of most cycles", "the first of equals", "not known", "no cycle"],
)
def test_anchor(anchors: list[str | None], expected: str | None):
    cycles = {"cycle": range(len(anchors)), "anchor": pl.Series(anchors, dtype=pl.Categorical)}
    twice = pl.concat([pl.DataFrame(cycles)] * 2)
    assert Process("base", "base.csv", "7", twice).anchor == expected
