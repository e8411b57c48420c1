"""Trees that are deeper than readers of JSON can follow."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from cases import MODULE, STEP, O, read
from timesink.answers.plugin.operators import MAX_LEVELS, module_view, nest_rows, tree_view
from timesink.answers.plugin.query import Query
from timesink.model.trace import Trace

DEPTH = 1500


@pytest.fixture(scope="module")
def deep() -> Trace:
    """Modules that call one another, the innermost one an operator."""
    calls = [
        MODULE(
            f"nn.Module: M_{place}",
            place,
            20_000 - 2 * place,
            python_id=place,
            parent=None,
            module=1,
        )
        for place in range(DEPTH)
    ]
    return read(STEP(1, 0, 50_000), *calls, O("aten::mm", DEPTH, 5))


def levels(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first row of each level."""
    first_rows = []
    while rows:
        first_rows.append(rows[0])
        rows = rows[0]["children"]
    return first_rows


def test_as_deep_as_can_be_read_and_how_much_is_left_out():
    chain = nest_rows(
        ((place, place - 1 if place else None) for place in range(DEPTH)), _number_entry
    )
    assert len(levels(chain)) == MAX_LEVELS
    assert [row["number"] for row in levels(chain)][-1] == MAX_LEVELS - 1
    assert levels(chain)[-1]["truncated"] == DEPTH - MAX_LEVELS
    assert "truncated" not in levels(chain)[-2]


def _number_entry(number: int) -> dict[str, Any]:
    return {"number": number}


def test_brothers_below_the_deepest_level_are_counted_where_they_belong():
    chain = [(place, place - 1 if place else None) for place in range(MAX_LEVELS)]
    bottom, above = MAX_LEVELS - 1, MAX_LEVELS - 2
    rows = nest_rows(
        [*chain, (-1, bottom), (-2, MAX_LEVELS), (-3, above), (-4, bottom)], _number_entry
    )
    (left, right) = levels(rows)[above]["children"]
    assert (left["truncated"], right["number"], "truncated" in right) == (3, -3, False)


@pytest.mark.parametrize("answer", [module_view, tree_view])
def test_deep_recording(deep: Trace, answer: Any):
    payload = answer(deep, Query())
    text = msgspec.json.encode(payload)
    assert json.loads(text) == payload
    assert b'"truncated"' in text
