"""`/diff` and `/diffnode`: the call trees of two runs side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from timesink.analyses.diff.call_costs import Cost
from timesink.analyses.diff.trees import Section, Stretch, compare_trees
from timesink.errors import NotFoundError, UsageError
from timesink.model.trace import Trace
from timesink.reports.plugin.nesting import nested
from timesink.reports.plugin.query import Query, microseconds

ROOT_PATH = "0"


def diff(left: Trace, right: Trace, _query: Query) -> dict[str, Any]:
    """The response to `/diff`: every section with all sections inside it."""
    (whole,) = nested(_with_all_inside(_compared(left, right)), _section)
    return whole


def diff_node(left: Trace, right: Trace, query: Query) -> dict[str, Any]:
    """The response to `/diffnode`: the section at `path`, and the sections directly inside it.

    A path gives the places to go down, separated by hyphens, and starts with `0`, the whole.
    """
    path = query.text("path", ROOT_PATH)
    section = _at(_compared(left, right), path)
    children = [
        _section(child) | {"path": f"{path}-{place}", "children": []}
        for place, child in enumerate(section.children)
    ]
    return _section(section) | {"path": path, "children": children}


def _compared(left: Trace, right: Trace) -> Section:
    whole = compare_trees(left, right)
    if not len(whole.left.calls) and not len(whole.right.calls):
        raise NotFoundError("neither run has recorded calls", "record with ProfilerActivity.CPU")
    return whole


def _at(section: Section, path: str) -> Section:
    places = path.split("-")
    if places[0] != ROOT_PATH or not all(place.isdecimal() for place in places):
        raise UsageError(f"{path!r} is not a path to a section", "give path=0-1 or similar")
    for place in map(int, places[1:]):
        if place >= len(section.children):
            raise NotFoundError(f"no section at {path!r}", "paths are those of /diffnode")
        section = section.children[place]
    return section


def _with_all_inside(whole: Section) -> Iterator[tuple[Section, int | None]]:
    """Every section with the place of the one around it, which comes before it."""
    waiting: list[tuple[Section, int | None]] = [(whole, None)]
    place = 0
    while waiting:
        section, around = waiting.pop()
        yield section, around
        waiting.extend((child, place) for child in reversed(section.children))
        place += 1


def _section(section: Section) -> dict[str, Any]:
    return {"left": _stretch(section.left), "right": _stretch(section.right)}


def _stretch(stretch: Stretch) -> dict[str, Any]:
    """Times of the main thread; what other threads did meanwhile stands apart."""
    others = stretch.cost_of_other_threads
    shown = {"name": stretch.name} | _cost(stretch.cost)
    return shown | ({"other_threads": _cost(others)} if others.host_ns else {})


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "duration": microseconds(cost.host_ns),
        "device_duration": microseconds(cost.device_ns),
        "total_duration": microseconds(cost.total_ns),
        "aggs": [
            {
                "name": one.name,
                "calls": one.calls,
                "host_duration": microseconds(one.host_ns),
                "device_duration": microseconds(one.device_ns),
                "self_host_duration": microseconds(one.host_self_ns),
                "self_device_duration": microseconds(one.device_self_ns),
            }
            for one in cost.operators
        ],
    }
