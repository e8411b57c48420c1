"""Tables of groups of launches as blocks: by kernel, family, operator or module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from timesink.analyses.kernel_calls.classes import CLASSES, Axis
from timesink.output.blocks import CellLink, Column, Kind, Sort, Table
from timesink.output.columns import column, table
from timesink.output.numbers import kind_of
from timesink.render.kernels import columns as shown
from timesink.render.kernels.classes import class_title
from timesink.render.kernels.groups import (
    SORTS,
    TITLES,
    Choice,
    Excerpt,
    choose,
    group_label,
    nothing_line,
    plural,
    rest_line,
)
from timesink.render.kernels.sections import axis_of_all, with_nearest
from timesink.reports.kernels import KernelReport

MOST_ROWS = 500
"""Rows of a table unless others were asked for."""
_MAIN = (
    *(shown.SHARE, shown.TOTAL, shown.TENSOR, shown.DRAM, shown.SM, shown.CLASS),
    *(shown.HEADROOM, shown.NEAREST),
)
"""Columns of groups that are seen at once; the others come when asked for."""
LINKS: Mapping[str, CellLink] = {
    "name": "kernel", "full-name": "kernel", "operator": "operator", "module": "module",
}  # fmt: skip
HELP = {
    "calls": "Number of launches.",
    "launches": "Number of launches of the whole run; some were measured.",
    "total_ns": "Length of all launches, added up.",
    "mean_ns": "Mean length of a launch.",
    "share_pct": "Part of the kernel time of the device.",
    "tensor_pct": "Use of the tensor cores, of peak; weighted by time.",
    "dram_pct": "Throughput of the memory, of peak; weighted by time.",
    "sm_pct": "Throughput of the multiprocessors, of peak; weighted by time.",
    "occupancy_pct": "Warps that ran, of those that fit.",
    "class": "Which of SM and DRAM are used little in more than two thirds of the time.",
    "headroom_ns": "What would be saved if every launch ran at its nearest roof.",
    "headroom_share_pct": "Part of the headroom of the device.",
    "nearest": "The limit it is nearest to.",
    "index": "Place in the order of launches.",
    "dur_ns": "Length of the launch.",
    "grid": "Blocks of the launch along x, y and z.",
    "block": "Threads of a block along x, y and z.",
    "family": "What kind of kernel it is, by its name.",
    "name": "Name as recorded.",
    "variants": "Kernels of different full names.",
    "intensity": "Floating point operations per byte of memory traffic.",
    "roof_share_pct": "Of what the roof allows.",
    "min_ns": "Shortest launch.",
    "median_ns": "Half of the launches are shorter.",
    "max_ns": "Longest launch.",
    **{
        f"{metric}_{statistic}_pct": f"{word} use of {unit} by a launch, of peak."
        for metric, unit in (("tensor", "tensor cores"), ("dram", "memory"), ("sm", "SMs"))
        for statistic, word in (("min", "Least"), ("median", "Median"), ("max", "Most"))
    },
}
"""What columns mean."""
_FACTORS = {"achieved_flop_per_s": 1e12}
"""What a number is divided by, so that its title tells the unit."""
_BARS = frozenset({"share_pct", "roof_share_pct"})


# -- groups ----------------------------------------------------------------------------------------


def groups_table(
    report: KernelReport, groups: pl.DataFrame, by: str, choice: Choice, id_: str
) -> Table:
    """Kernels, families, operators or modules with how well they use the device."""
    return _excerpt_table(report, with_nearest(groups), by, choice, id_=id_, main=_MAIN)


def roofline_table(report: KernelReport, groups: pl.DataFrame, choice: Choice, id_: str) -> Table:
    """Kernels against the roofs of their device."""
    by_time = replace(choice, sort="time")
    return _excerpt_table(report, groups, "name", by_time, id_=id_, main=shown.ROOFLINE)


def _excerpt_table(
    report: KernelReport,
    groups: pl.DataFrame,
    by: str,
    choice: Choice,
    *,
    id_: str,
    main: Sequence[shown.Column],
) -> Table:
    excerpt = choose(groups, replace(choice, top=choice.top or MOST_ROWS))
    word = TITLES.get(by, by)
    order = SORTS[choice.sort]
    return table(
        id_,
        plural(by),
        _columns(report, excerpt, by, main),
        total_rows=excerpt.height,
        note=nothing_line(excerpt, word) or rest_line(excerpt, word),
        sort=Sort("label" if order == "group" else order, order != "group"),
    )


def _columns(
    report: KernelReport, excerpt: Excerpt, by: str, main: Sequence[shown.Column]
) -> Iterator[Column]:
    rows, word = excerpt.rows, TITLES.get(by, by)
    for place in excerpt.places:
        yield column(place, place, "text", rows[place].cast(pl.String))
    labels = [group_label(name, by) for name in rows["label"]]
    yield column("label", word, "text", labels, link=LINKS.get(by, ""))
    calls = (shown.SEEN, shown.LAUNCHES) if report.sampling is not None else (shown.CALLS,)
    first = [one for one in (*calls, *main) if one.source in rows.columns]
    for one in first:
        yield _group_column(rows, one.source, _title(one), report)
    told = {*(one.source for one in first), *excerpt.places, *_LEFT_OUT}
    for name in rows.columns:
        if name not in told:
            yield _group_column(rows, name, _spelled(name), report, main=False)


_LEFT_OUT = ("host", "device", "group", "label", "calls", "launches")


def _group_column(
    rows: pl.DataFrame, name: str, title: str, report: KernelReport, *, main: bool = True
) -> Column:
    values = rows[name]
    kind: Kind = kind_of(name, values.dtype)
    if name == "class":
        values = classes_in_words(values, axis_of_all([report]))
    elif kind == "text":
        values = values.cast(pl.String)
    elif name in _FACTORS:
        values = values / _FACTORS[name]
    return column(name, title, kind, values, help=HELP.get(name, ""), main=main, bar=name in _BARS)


def _title(one: shown.Column) -> str:
    """Bytes come with their unit; of a number the title tells it."""
    return "bandwidth" if one is shown.BANDWIDTH else one.title


def classes_in_words(values: pl.Series, axis: Axis) -> pl.Series:
    """Classes as people read them.

    >>> classes_in_words(pl.Series(["both_low", "low_sm"]), "sm").to_list()
    ['both low', 'low SM']
    """
    words = {name: class_title(name, axis) for name in CLASSES}
    return values.cast(pl.String).replace(words)


def _spelled(name: str) -> str:
    return name.removesuffix("_ns").removesuffix("_pct").replace("_", " ")
