"""Trees that are deeper than readers of JSON can follow."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from cases import MODULE, STEP, O, read
from timesink.answers.plugin import Query
from timesink.answers.plugin.distributed import diff, diff_node
from timesink.answers.plugin.operators import MOST_LEVELS, module_view, nested, tree_view
from timesink.model.trace import Trace

DEPTH = 1500


@pytest.fixture(scope="module")
def deep() -> Trace:
    """Modules that call one another, the innermost one an operator."""
    calls = [
        MODULE(f"nn.Module: M_{place}", place, 20_000 - 2 * place, own=place, parent=None, module=1)
        for place in range(DEPTH)
    ]
    return read(STEP(1, 0, 50_000), *calls, O("aten::mm", DEPTH, 5))


def levels(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first row of each level."""
    found = []
    while rows:
        found.append(rows[0])
        rows = rows[0]["children"]
    return found


def test_as_deep_as_can_be_read_and_how_much_is_left_out():
    chain = nested(((place, place - 1 if place else None) for place in range(DEPTH)), _numbered)
    assert len(levels(chain)) == MOST_LEVELS
    assert [row["number"] for row in levels(chain)][-1] == MOST_LEVELS - 1
    assert levels(chain)[-1]["truncated"] == DEPTH - MOST_LEVELS
    assert "truncated" not in levels(chain)[-2]


def _numbered(number: int) -> dict[str, Any]:
    return {"number": number}


def test_brothers_below_the_deepest_level_are_counted_where_they_belong():
    chain = [(place, place - 1 if place else None) for place in range(MOST_LEVELS)]
    bottom, above = MOST_LEVELS - 1, MOST_LEVELS - 2
    rows = nested([*chain, (-1, bottom), (-2, MOST_LEVELS), (-3, above), (-4, bottom)], _numbered)
    (left, right) = levels(rows)[above]["children"]
    assert (left["truncated"], right["number"], "truncated" in right) == (3, -3, False)


@pytest.mark.parametrize("answer", [module_view, tree_view])
def test_deep_recording(deep: Trace, answer: Any):
    told = answer(deep, Query())
    text = msgspec.json.encode(told)
    assert json.loads(text) == told
    assert b'"truncated"' in text


def test_deep_comparison(deep: Trace):
    told = diff(deep, deep, Query())
    text = msgspec.json.encode(told)
    assert b'"truncated"' in text
    assert len(levels(json.loads(text)["children"])) == MOST_LEVELS - 1
    assert len(diff_node(deep, deep, Query({"path": "0" + "-0" * 1000}))["children"]) == 1
