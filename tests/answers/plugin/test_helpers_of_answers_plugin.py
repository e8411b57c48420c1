"""Small cases of what the helpers of answers.plugin give."""

from __future__ import annotations

from timesink.answers.plugin.operators import nest_rows


def test_nested() -> None:
    assert nest_rows([("net", None), ("conv", 0), ("relu", 0)], lambda name: {"name": name}) == [
        {
            "name": "net",
            "children": [{"name": "conv", "children": []}, {"name": "relu", "children": []}],
        }
    ]
