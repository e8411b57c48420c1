"""Modules along their hierarchy, as nested bars and as a table."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from timesink.output.blocks import Detail, Icicle, Kind, Section
from timesink.output.columns import numbers, words
from timesink.render.document.analysed import Analysed, Empty, Made
from timesink.reports.absent import NO_MODULES

MOST_NODES = 1000
_DETAILS: Mapping[str, tuple[str, Kind]] = {
    "occurrences": ("calls", "count"),
    "host_total_ns": ("host total", "time_ns"),
    "device_total_ns": ("device total", "time_ns"),
    "backward_device_ns": ("backward device", "time_ns"),
}


def modules_section(run: Analysed) -> Made:
    """Nested bars by device time, by host time where no device worked; then the table."""
    frame = run.frame("modules")
    if frame.is_empty():
        return Empty("modules", "Modules", NO_MODULES)
    tree = icicle(frame)
    left_out = frame.height - len(tree.parent)
    lead = f"The smallest {left_out} modules are not in the picture." if left_out else ""
    return Section("modules", "Modules", (tree, run.table("modules")), lead)


def icicle(frame: pl.DataFrame) -> Icicle:
    """Modules as a tree, parents before children; of very many the largest.

    >>> frame = pl.DataFrame(
    ...     {"id": [7, 9], "parent_id": [None, 7], "name": ["UNet", "Conv2d"],
    ...      "host_total_ns": [9, 5], "device_total_ns": [8, 4]}
    ... )
    >>> icicle(frame).parent
    (-1, 0)
    """
    measure = "device_total_ns" if frame["device_total_ns"].sum() else "host_total_ns"
    said = "device" if measure == "device_total_ns" else "host"
    tree = _in_order(_largest(frame, measure))
    place = {number: row for row, number in enumerate(tree["id"].to_list())}
    named = words(tree["name"].to_list())
    return Icicle(
        "modules-tree",
        f"Modules by time on the {said}",
        "time_ns",
        tuple(-1 if parent is None else place[parent] for parent in tree["parent_id"].to_list()),
        named.codes,
        named.texts,
        tuple(tree[measure].to_list()),
        tuple(
            Detail(title, kind, numbers(tree[name], kind).values)
            for name, (title, kind) in _DETAILS.items()
            if name in tree.columns and tree[name].sum()
        ),
    )


def _largest(frame: pl.DataFrame, measure: str) -> pl.DataFrame:
    if frame.height <= MOST_NODES:
        return frame
    return frame.sort(measure, descending=True, maintain_order=True).head(MOST_NODES)


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in pre-order; what hangs below a row that was left out goes with it."""
    children: dict[int | None, list[int]] = {}
    ids, parents = frame["id"].to_list(), frame["parent_id"].to_list()
    for row, parent in enumerate(parents):
        children.setdefault(parent, []).append(row)
    order: list[int] = []
    waiting = children.get(None, [])[::-1]
    while waiting:
        row = waiting.pop()
        order.append(row)
        waiting += children.get(ids[row], [])[::-1]
    return frame[order]
