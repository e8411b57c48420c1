"""Tables of kernels as blocks: groups of launches, single launches, and whole runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from timesink.analyses.kernel_calls.classes import CLASSES, Axis
from timesink.analyses.kernel_calls.usage import DeviceUse, of_device
from timesink.analyses.roofline.roofline import Roofline
from timesink.answers.kernel_calls import chosen_calls
from timesink.answers.kernel_rows import (
    SORTS,
    TITLES,
    KernelChoice,
    KernelExcerpt,
    choose,
    choose_of_runs,
    group_label,
    nothing_line,
    plural,
    rest_line,
    runs_frame,
)
from timesink.answers.kernel_words import (
    MEANINGS,
    METRICS,
    axis_of_all,
    classes_title,
    has_utilisation,
    nearest,
    peak_share,
)
from timesink.output.blocks import CellLink, Column, Cut, Kind, Sort, Table
from timesink.output.columns import column, joined, table
from timesink.output.numbers import kind_of
from timesink.render.kernels.classes import class_title
from timesink.reports.kernels import KernelReport

MOST_ROWS = 500
"""Rows of a table unless others were asked for."""
_COLUMNS: Mapping[str, tuple[str, int]] = {
    "calls": ("calls", 3),
    "launches": ("launches", 3),
    "share_pct": ("share", 0),
    "total_ns": ("total", 0),
    "mean_ns": ("mean", 6),
    "tensor_pct": ("tensor", 0),
    "dram_pct": ("DRAM", 0),
    "sm_pct": ("SM", 0),
    "occupancy_pct": ("occup.", 4),
    "class": ("class", 2),
    "variants": ("variants", 5),
    "headroom_ns": ("headroom", 3),
    "headroom_share_pct": ("of all", 0),
    "nearest": ("nearest roof", 4),
    "intensity": ("FLOP/byte", 2),
    "achieved_flop_per_s": ("TFLOP/s", 0),
    "achieved_bytes_per_s": ("bandwidth", 0),
    "roof_share_pct": ("of roof", 0),
    "bound": ("bound by", 0),
    "precision": ("mostly", 3),
}
"""Titles of columns, and which go first where text has no room: the highest numbers."""
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
_UTILISATIONS = {
    "tensor_pct": "tensor",
    "dram_pct": "DRAM",
    "sm_pct": "SM",
    "occupancy_pct": "occupancy",
}
_PEAKS = (*_UTILISATIONS, "roof_share_pct")
_LEFT_OUT = ("host", "device", "group", "label", "calls", "launches")


# -- groups ----------------------------------------------------------------------------------------


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
    return _excerpt_table([report], excerpt, by, choice.sort, id_=id_, main=main)


def groups_of_runs_table(reports: Sequence[KernelReport], by: str, choice: KernelChoice) -> Table:
    """The groups of one run or of several, in one table."""
    if len(reports) == 1:
        excerpt = choose(reports[0].groups(by), choice)
    else:
        excerpt = choose_of_runs(reports, by, choice)
    return _excerpt_table(reports, excerpt, by, choice.sort, id_=by, main=WHOLE)


def roofline_table(
    report: KernelReport, roofs: Roofline, use: DeviceUse, choice: KernelChoice, id_: str
) -> Table:
    """Kernels of a device against its roofs, the longest first."""
    groups = of_device(roofs.groups(report.calls, "short_name"), use).with_columns(
        pl.col("group").alias("label"),
        share_pct=100 * pl.col("total_ns") / pl.col("total_ns").sum(),
    )
    excerpt = choose(groups, replace(choice, sort="time", top=choice.top or MOST_ROWS))
    return _excerpt_table([report], excerpt, "name", "time", id_=id_, main=ROOFLINE)


def with_nearest(groups: pl.DataFrame) -> pl.DataFrame:
    """The groups with the limit each is nearest to, and how near."""
    metrics = list(METRICS)
    values = groups.select(f"{metric}_pct" for metric in metrics).rows()
    known = [[(value, metric) for value, metric in zip(row, metrics, strict=True)
              if value is not None] for row in values]  # fmt: skip
    told = [nearest(*max(row)) if row else None for row in known]
    return groups.with_columns(pl.Series("nearest", told, dtype=pl.String))


def _excerpt_table(
    reports: Sequence[KernelReport],
    excerpt: KernelExcerpt,
    by: str,
    sort: str,
    *,
    id_: str,
    main: Sequence[str],
) -> Table:
    word = TITLES.get(by, by)
    order = SORTS[sort]
    return table(
        id_,
        plural(by),
        _columns(reports, excerpt, by, main),
        total_rows=excerpt.height,
        note=nothing_line(excerpt, word) or rest_line(excerpt, word),
        sort=Sort("label" if order == "group" else order, order != "group"),
    )


def _columns(
    reports: Sequence[KernelReport], excerpt: KernelExcerpt, by: str, main: Sequence[str]
) -> Iterator[Column]:
    rows, word = excerpt.rows, TITLES.get(by, by)
    axis = axis_of_all(reports)
    sampled = any(report.sampling is not None for report in reports)
    for place in excerpt.places:
        yield column(place, place, "text", rows[place].cast(pl.String))
    labels = [group_label(name, by) for name in rows["label"]]
    cut: Cut = "start" if word.startswith("module") else "end"
    yield column("label", word, "text", labels, link=LINKS.get(by, ""), cut=cut)
    counts = ("calls", "launches") if sampled else ("calls",)
    first = [name for name in (*counts, *main) if name in rows.columns]
    if main is not MAIN:
        first = [name for name in first if _tells(rows, name)]
    for name in first:
        title, spare = _COLUMNS[name]
        if name == "calls" and sampled:
            title = "seen"
        elif name == "variants" and word != "kernel":
            title = "kernels"
        elif main is LEFT_ON:
            spare = {"total_ns": 2, "nearest": 1, "headroom_ns": 0}.get(name, spare)
        if name in _PEAKS and main is not MAIN:
            # As precise as such measurements are: text has little room.
            told = [None if value is None else peak_share(value) for value in rows[name]]
            yield column(name, title, "text", told, spare=spare, right=True)
        else:
            yield _group_column(rows, name, title, axis, spare=spare)
    known = {*first, *excerpt.places, *_LEFT_OUT}
    for name in rows.columns:
        if name not in known:
            spelled = name.removesuffix("_ns").removesuffix("_pct").replace("_", " ")
            yield _group_column(rows, name, spelled, axis, main=False)


def _tells(rows: pl.DataFrame, name: str) -> bool:
    """Whether a column is worth a place in text."""
    if name == "variants":
        return bool((rows[name] > 1).any())
    return name != "class" or bool((rows[name].cast(pl.String) != "unknown").any())


def _group_column(
    rows: pl.DataFrame, name: str, title: str, axis: Axis, *, main: bool = True, spare: int = 0
) -> Column:
    values = rows[name]
    kind: Kind = kind_of(name, values.dtype)
    if name == "class":
        values = classes_in_words(values, axis)
    elif kind == "text":
        values = values.cast(pl.String)
    elif name in _FACTORS:
        values = values / _FACTORS[name]
    bar, about = name in _BARS, HELP.get(name, "")
    return column(
        name, title, kind, values, help=about, main=main, bar=bar, spare=spare, cut="nothing"
    )


def classes_in_words(values: pl.Series, axis: Axis) -> pl.Series:
    """Classes as people read them.

    >>> classes_in_words(pl.Series(["both_low", "low_sm"]), "sm").to_list()
    ['both low', 'low SM']
    """
    words = {name: class_title(name, axis) for name in CLASSES}
    return values.cast(pl.String).replace(words)


# -- launches --------------------------------------------------------------------------------------


def launches_block(report: KernelReport, choice: KernelChoice, id_: str) -> Table:
    """Launches in launch order, or the first ones of another order that was asked for."""
    sort = None if choice.sort in {"time", "calls"} else choice.sort
    calls = chosen_calls(report.calls, sort, replace(choice, top=None))
    rows = calls.head(choice.top or MOST_ROWS)
    axis = axis_of_all([report])
    grid, block = ([rows[f"{what}_{axis}"] for axis in "xyz"] for what in ("grid", "block"))
    several = rows.select("host", "device").n_unique() > 1
    texts = {name: rows[name].cast(pl.String) for name in ("short_name", "family", "name", "class")}
    origins = [name for name in ("operator", "module") if name in rows.columns]
    return table(
        id_,
        "Launches",
        [
            column("index", "launch", "count", rows["index"]),
            column("short_name", "kernel", "text", texts["short_name"], link="kernel"),
            *([column("device", "device", "text", rows["device"].cast(pl.String))] * several),
            column("dur_ns", "duration", "time_ns", rows["dur_ns"], bar=True),
            *(
                column(name, title, "percent", rows[name], help=HELP[name])
                for name, title in _UTILISATIONS.items()
            ),
            column("class", "class", "text", classes_in_words(rows["class"], axis)),
            *(
                column(name, name, "text", rows[name].cast(pl.String), link=LINKS[name])
                for name in origins
            ),
            column("grid", "grid", "text", joined(grid), main=False),
            column("block", "block", "text", joined(block), main=False),
            column("stream", "stream", "text", rows["stream"].cast(pl.String), main=False),
            column("family", "family", "text", texts["family"], main=False),
            column("name", "full name", "text", texts["name"], main=False),
        ],
        total_rows=calls.height,
        meanings=HELP,
    )


# -- runs ------------------------------------------------------------------------------------------


def runs_block(reports: Sequence[KernelReport]) -> Table:
    """One row per run and device: how much ran, how well it used the device, and its classes."""
    rows = runs_frame(reports)
    axis = axis_of_all(reports)
    several = any(len(report.devices) > 1 for report in reports)
    return table(
        "runs",
        "Runs",
        [
            column("run", "run", "text", rows["run"]),
            *([column("device", "device", "text", rows["device"].cast(pl.String))] * several),
            column("calls", "calls", "count", rows["calls"]),
            column("total_ns", "total", "time_ns", rows["total_ns"], bar=True),
            *(
                column(name, title, "percent", rows[name], help=HELP[name])
                for name, title in _UTILISATIONS.items()
                if name in rows.columns
            ),
            column("headroom_ns", "headroom", "time_ns", rows["headroom_ns"],
                   help=HELP["headroom_ns"]),
            *(
                column(f"{name}_share_pct", class_title(name, axis), "percent",
                       rows[f"{name}_share_pct"], help=f"Part of the time: {MEANINGS[name]}.")
                for name in CLASSES
                if rows[f"{name}_share_pct"].sum()
            ),
            column("device_name", "device name", "text", rows["device_name"].replace("", None)),
        ],
        meanings=HELP,
    )  # fmt: skip


def runs_tables(reports: Sequence[KernelReport]) -> tuple[Table, ...]:
    """The same as two tables, which fit a line of text: how much ran and how well, then classes."""
    whole = runs_block(reports)
    named = [one for one in whole.columns if one.key in {"run", "device"}]
    shares = [one for one in whole.columns if one.key.endswith("_share_pct")]
    has_classes = any(has_utilisation(use) for report in reports for use in report.devices)
    rows = runs_frame(reports)
    left = 100 * rows["headroom_ns"].cast(pl.Float64) / rows["measured_ns"]
    of_time = column("headroom_part", "of time", "percent", left)
    use = [one for one in whole.columns if one not in shares and one.key != "device_name"]
    tables = (
        table("runs", "Runs", [*use, of_time]),
        table("classes", classes_title(reports[0]), [*named, *shares]),
    )
    return tables if has_classes else tables[:1]
