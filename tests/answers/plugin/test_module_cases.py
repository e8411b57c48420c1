"""Small recordings whose modules can be worked out on paper."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Event
from cases import MODULE, O, read
from timesink.answers.plugin.operators import module_view, tree_view
from timesink.answers.plugin.query import Query
from timesink.errors import NotFoundError


def layers() -> list[Event]:
    """Three calls of a module that holds a linear layer, and one call of another module."""
    events = []
    for number, (start, product) in enumerate([(1000, 31), (2000, 32), (3000, 33)]):
        first = 10 * number
        events += [
            MODULE("nn.Module: MyModule", start, 211, python_id=first + 1, parent=None, module=1),
            MODULE(
                "model.py(9): forward",
                start + 5,
                200,
                python_id=first + 2,
                parent=first + 1,
                module=None,
            ),
            MODULE(
                "nn.Module: Linear", start + 50, 62, python_id=first + 3, parent=first + 2, module=2
            ),
            O("aten::addmm", start + 60, product, x=first + 4),
        ]
    return [*events, MODULE("nn.Module: Conv2", 4000, 211, python_id=99, parent=None, module=3)]


def facts(entry: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(
        entry[key]
        for key in (
            "name",
            "occurences",
            "operators",
            "host_duration",
            "self_host_duration",
            "avg_duration",
        )
    )


def test_modules_by_name():
    conv, mine = module_view(read(*layers()), Query())["data"]
    assert facts(conv) == ("Conv2", 1, 0, 211, 211, 211.0)
    assert facts(mine) == ("MyModule", 3, 0, 633, 447, 211.0)
    assert conv["children"] == []


def test_modules_inside_modules():
    _, mine = module_view(read(*layers()), Query())["data"]
    (linear,) = mine["children"]
    assert facts(linear) == ("Linear", 3, 3, 186, 90, 62.0)


def test_two_modules_of_one_class_stay_apart():
    trace = read(
        MODULE("nn.Module: Linear", 100, 50, python_id=1, parent=None, module=1),
        MODULE("nn.Module: Linear", 200, 70, python_id=2, parent=None, module=2),
    )
    modules = module_view(trace, Query())["data"]
    assert [(entry["id"], entry["host_duration"]) for entry in modules] == [(1, 50), (2, 70)]


def test_recording_without_modules():
    with pytest.raises(NotFoundError):
        module_view(read(O("aten::mm", 100, 50)), Query())


def test_tree_of_calls():
    tree = tree_view(read(O("aten::linear", 100, 50), O("aten::addmm", 110, 30)), Query())
    assert list(tree)[:6] == ["name", "start_time", "end_time", "type", "tid", "children"]
    (linear,) = tree["children"]
    (addmm,) = linear["children"]
    assert (linear["name"], addmm["name"], addmm["type"]) == (
        "aten::linear",
        "aten::addmm",
        "Operator",
    )
    assert addmm["end_time"] - addmm["start_time"] == 30
