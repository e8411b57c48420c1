"""Tables of kernels as blocks: groups of launches, single launches, and whole runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import msgspec
import polars as pl

from timesink.analyses.kernels.roofline import Roofline
from timesink.analyses.kernels.usage import CLASSES, Axis, DeviceUse, of_device
from timesink.answers.kernels.report import KernelReport
from timesink.answers.kernels.rows import (
    SORTS,
    TITLES,
    KernelChoice,
    KernelExcerpt,
    choose,
    choose_of_runs,
    chosen_calls,
    group_label,
    plural,
    rest_line,
    runs_frame,
)
from timesink.answers.kernels.words import (
    MEANINGS,
    METRICS,
    axis_of_all,
    class_title,
    has_utilisation,
    peak_share,
    three_digits,
)
from timesink.answers.views import Columns, ColumnSpec, columns_of
from timesink.output.blocks import CellLink, Column, Kind, Sort, Table
from timesink.output.numbers import column, joined, kind_of, table

MOST_ROWS = 500
"""Rows of a table unless others were asked for."""
_COLUMNS: Columns = {
    **columns_of("kernel-use"),
    **{f"{one}_share_pct": ColumnSpec(f"Part of the time: {of}.") for one, of in MEANINGS.items()},
}
MAIN = (
    *("share_pct", "total_ns", "tensor_pct", "dram_pct", "sm_pct", "class"),
    *("headroom_ns", "nearest"),
)
"""Columns of groups that are seen at once; the others come when asked for."""
SUMMARY = (
    *("share_pct", "total_ns", "mean_ns", "tensor_pct", "dram_pct", "sm_pct", "occupancy_pct"),
    "class",
)
"""The same in text, where the headroom has a table of its own ..."""
LEFT_ON = ("headroom_ns", "headroom_share_pct", "total_ns", "nearest")
"""... with these columns."""
WHOLE = (*SUMMARY, "headroom_ns", "variants")
"""Columns of a table on its own."""
ROOFLINE = (
    *("share_pct", "intensity", "achieved_flop_per_s", "achieved_bytes_per_s", "roof_share_pct"),
    *("bound", "precision"),
)
"""Columns of the table of kernels against their roofs."""
LINKS: Mapping[str, CellLink] = {
    "name": "kernel", "short_name": "kernel", "full-name": "kernel",
    "operator": "operator", "module": "module",
}  # fmt: skip
_PEAKS = ("tensor_pct", "dram_pct", "sm_pct", "occupancy_pct")
_SHORT: Mapping[str, Callable[[float], str]] = {
    **dict.fromkeys((*_PEAKS, "roof_share_pct"), peak_share),
    "intensity": three_digits,
    "achieved_flop_per_s": lambda value: three_digits(value / 1e12),
}
"""As precise as such measurements are: text has little room."""
_BARS = ("share_pct", "roof_share_pct", "dur_ns")
_GLYPHS = {"both_low": "█", "low_sm": "▓", "low_dram": "▒", "neither_low": "░", "unknown": "·"}
_BAR = 24
_LEFT_OUT = ("host", "device", "group", "label", "calls", "launches")


def meaning(name: str) -> str:
    """What the numbers of a column mean."""
    return _COLUMNS[name].meaning


def groups_table(
    report: KernelReport,
    groups: pl.DataFrame,
    by: str,
    choice: KernelChoice,
    id_: str,
    *,
    main: Sequence[str] = MAIN,
    left_of: str = "time",
) -> Table:
    """Kernels, families, operators or modules with how well they use the device.

    `left_of` says what the rows that are not shown have a part of: `time` or `headroom`.
    """
    excerpt = choose(with_nearest(groups), replace(choice, top=choice.top or MOST_ROWS), left_of)
    brief = main is not MAIN
    return _excerpt_table([report], excerpt, by, choice.sort, id_=id_, main=main, brief=brief)


def groups_of_runs_table(reports: Sequence[KernelReport], by: str, choice: KernelChoice) -> Table:
    """The groups of one run or of several, in one table."""
    excerpt = choose_of_runs(reports, by, choice)
    return _excerpt_table(reports, excerpt, by, choice.sort, id_=by, main=WHOLE, brief=True)


def roofline_table(
    report: KernelReport, roofs: Roofline, use: DeviceUse, choice: KernelChoice, *, brief: bool
) -> Table:
    """Kernels of a device against its roofs, the longest first."""
    groups = of_device(roofs.groups(report.calls, "short_name"), use).with_columns(
        pl.col("group").alias("label"),
        share_pct=100 * pl.col("total_ns") / pl.col("total_ns").sum(),
    )
    excerpt = choose(groups, replace(choice, sort="time", top=choice.top or MOST_ROWS))
    id_ = f"roofs-{report.devices.index(use) + 1}"
    return _excerpt_table([report], excerpt, "name", "time", id_=id_, main=ROOFLINE, brief=brief)


def with_nearest(groups: pl.DataFrame) -> pl.DataFrame:
    """The groups with the limit each is nearest to, and how near."""
    values = groups.select(f"{metric}_pct" for metric in METRICS).rows()
    nearest = [
        max(((value, metric) for value, metric in zip(row, METRICS, strict=True)
             if value is not None), default=None)
        for row in values
    ]  # fmt: skip
    told = [one and f"{METRICS[one[1]]} {peak_share(one[0])}" for one in nearest]
    return groups.with_columns(pl.Series("nearest", told, dtype=pl.String))


def _excerpt_table(
    reports: Sequence[KernelReport],
    excerpt: KernelExcerpt,
    by: str,
    sort: str,
    *,
    id_: str,
    main: Sequence[str],
    brief: bool,
) -> Table:
    """Where a row belongs, its name and main numbers; then, but for text, all other numbers."""
    rows, word, order = excerpt.rows, TITLES.get(by, by), SORTS[sort]
    axis = axis_of_all(reports)
    sampled = any(report.sampling is not None for report in reports)
    labels = [group_label(name, by) for name in rows["label"]]
    cut: Literal["start", "end"] = "start" if word.startswith("module") else "end"
    columns = [
        *(column(place, place, "text", rows[place].cast(pl.String)) for place in excerpt.places),
        column("label", word, "text", labels, link=LINKS.get(by, ""), cut=cut),
    ]
    counts = ("calls", "launches") if sampled else ("calls",)
    first = [name for name in (*counts, *main) if name in rows.columns]
    if brief:
        first = [name for name in first if _tells(rows, name)]
    titles = {"calls": "seen"} if sampled else {}
    titles |= {} if word == "kernel" else {"variants": "kernels"}
    spares = {"total_ns": 2, "nearest": 1, "headroom_ns": 0} if main is LEFT_ON else {}
    for name in first:
        spec = _COLUMNS[name]
        title, spare = titles.get(name, spec.title), spares.get(name, spec.spare)
        if brief and name in _SHORT:
            told = [None if value is None else _SHORT[name](value) for value in rows[name]]
            columns.append(column(name, title, "text", told, spare=spare, right=True))
        else:
            columns.append(_column(rows, name, title, axis=axis, spare=spare))
    known = {*first, *excerpt.places, *_LEFT_OUT}
    for name in () if brief else rows.columns:
        if name not in known:
            spelled = name.removesuffix("_ns").removesuffix("_pct").replace("_", " ")
            columns.append(_column(rows, name, spelled, axis=axis, main=False))
    note = rest_line(excerpt, word)
    by_order = Sort("label" if order == "group" else order, order != "group")
    return table(id_, plural(by), columns, total_rows=excerpt.height, note=note, sort=by_order)


def _tells(rows: pl.DataFrame, name: str) -> bool:
    """Whether a column is worth a place in text."""
    if name == "variants":
        return bool((rows[name] > 1).any())
    return name != "class" or bool((rows[name].cast(pl.String) != "unknown").any())


def _column(
    rows: pl.DataFrame,
    name: str,
    title: str = "",
    *,
    axis: Axis = "sm",
    main: bool = True,
    bar: bool = False,
    link: CellLink = "",
    spare: int = 0,
) -> Column:
    """A column of a table as its specification says, under another title where one is given."""
    spec = _COLUMNS.get(name, ColumnSpec("", name))
    values = rows[name]
    kind: Kind = kind_of(name, values.dtype)
    if name == "class":
        words = {one: class_title(one, axis) for one in CLASSES}
        values = values.cast(pl.String).replace(words)
    elif kind == "text":
        values = values.cast(pl.String)
    elif name == "achieved_flop_per_s":
        values = values / 1e12  # its title tells the unit
    return column(
        name, title or spec.title, kind, values, help=spec.meaning, main=main,
        bar=bar or name in _BARS, link=link, spare=spare, cut="nothing",
    )  # fmt: skip


def launches_block(report: KernelReport, choice: KernelChoice, id_: str) -> Table:
    """Launches in launch order, or the first ones of another order that was asked for."""
    sort = None if choice.sort in {"time", "calls"} else choice.sort
    calls = chosen_calls(report.calls, sort, replace(choice, top=None))
    rows = calls.head(choice.top or MOST_ROWS)
    axis = axis_of_all([report])
    sizes = [(what, [rows[f"{what}_{side}"] for side in "xyz"]) for what in ("grid", "block")]
    rows = rows.with_columns(
        pl.col("stream").cast(pl.String),
        *(pl.Series(name, joined(of), pl.String) for name, of in sizes),
    )
    places = ["device"] if rows.select("host", "device").n_unique() > 1 else []
    origins = [name for name in ("operator", "module") if name in rows.columns]
    first = ["index", "short_name", *places, "dur_ns", *_PEAKS, "class", *origins]
    return table(
        id_,
        "Launches",
        [
            *(_column(rows, name, axis=axis, link=LINKS.get(name, "")) for name in first),
            *(
                _column(rows, name, main=False)
                for name in ("grid", "block", "stream", "family", "name")
            ),
        ],
        total_rows=calls.height,
    )


def runs_block(reports: Sequence[KernelReport]) -> Table:
    """One row per run and device: how much ran, how well it used the device, and its classes."""
    rows, axis = runs_frame(reports), axis_of_all(reports)
    left = 100 * pl.col("headroom_ns").cast(pl.Float64) / pl.col("measured_ns")
    named = pl.col("device_name").replace("", None)
    rows = rows.with_columns(named, left.alias("headroom_part_pct"))
    places = ["device"] if any(len(report.devices) > 1 for report in reports) else []
    counts = ["calls", "launches"] if any(report.sampling for report in reports) else ["calls"]
    use = ("total_ns", "tensor_pct", "dram_pct", "sm_pct", "headroom_ns", "headroom_part_pct")
    columns = [
        column("run", "run", "text", rows["run"]),
        *(_column(rows, name, bar=name == "total_ns") for name in (*places, *counts, *use)),
    ]
    classes = [
        _column(rows, f"{name}_share_pct", class_title(name, axis))
        for name in CLASSES
        if rows[f"{name}_share_pct"].sum()
    ]
    return table("runs", "Runs", [*columns, *classes, _column(rows, "device_name")])


def runs_tables(reports: Sequence[KernelReport]) -> tuple[Table, ...]:
    """The same as two tables, which fit a line of text: how much ran and how well, then classes."""
    whole = runs_block(reports)
    named = [one for one in whole.columns if one.key in {"run", "device"}]
    shares = [one for one in whole.columns if one.key.removesuffix("_share_pct") in CLASSES]
    use = [one for one in whole.columns if one not in shares and one.key != "device_name"]
    uses = [use for report in reports for use in report.devices]
    if not any(map(has_utilisation, uses)):
        return (table("runs", whole.title, use),)
    glyphs = [_GLYPHS[one.key.removesuffix("_share_pct")] for one in shares]
    marked = [
        msgspec.structs.replace(one, title=f"{glyph} {one.title}")
        for one, glyph in zip(shares, glyphs, strict=True)
    ]
    bars = []
    for one in uses:
        # Classes one after the other; each ends where its share of all before it does.
        bar, reached = "", 0.0
        for key in CLASSES:
            reached += one.class_share[key]
            bar += _GLYPHS[key] * (round(_BAR * reached) - len(bar))
        bars.append(bar)
    return (
        table("runs", whole.title, use),
        table(
            "classes",
            "Share of time by class",
            [*named, *marked, column("bar", "", "text", bars, cut="nothing", spare=1)],
        ),
    )
