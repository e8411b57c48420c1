"""Tables of kernels, families, operators or modules: which rows are shown, as blocks and lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec
import polars as pl
from msgspec.structs import replace

from timesink.analyses.columns import encode
from timesink.analyses.kernels.roofline import Roofline
from timesink.analyses.kernels.usage import CLASSES, Axis, DeviceUse, headroom, of_device
from timesink.analyses.names import cut_name
from timesink.answers.kernels.kernel_labels import (
    MEANINGS,
    METRICS,
    axis_of_all,
    class_title,
    has_utilisation,
    peak_share,
    run_names,
    three_digits,
)
from timesink.answers.kernels.report import KernelReport
from timesink.answers.tables import ViewTable, without_noise
from timesink.answers.views import Columns, ColumnSpec, kernel_view
from timesink.model import units
from timesink.output.blocks import CellLink, Column, Kind, Sort, Table
from timesink.output.names import NO_NAME, printable
from timesink.output.numbers import column, join_cells, kind_of, table

SORTS = {
    "time": "total_ns",
    "calls": "calls",
    "mean": "mean_ns",
    "headroom": "headroom_ns",
    "tensor": "tensor_pct",
    "dram": "dram_pct",
    "sm": "sm_pct",
    "name": "group",
}
"""Names of orders and the column each is by; the largest first, names from A to Z."""
TITLES = {"name": "kernel", "full-name": "kernel", "module-class": "module class"}
"""Titles of groups that are not called as they are chosen."""
_PLURALS = {
    "kernel": "kernels",
    "family": "families",
    "operator": "operators",
    "module": "modules",
    "module class": "module classes",
}
_AMOUNTS = {"time": "total_ns", "headroom": "headroom_ns"}


class KernelChoice(msgspec.Struct, frozen=True):
    """Which rows of a table are shown, and in which order."""

    sort: str = "time"
    top: int | None = None
    min_share_pct: float = 0.0


class KernelExcerpt(msgspec.Struct, frozen=True, eq=False):
    """The rows of a table that are shown, and how many are not."""

    rows: pl.DataFrame
    left: int
    left_pct: float | None
    """Share of the time, or of what `left_of` says, that is in rows not shown; None where it is of
    several devices, whose times are not added."""
    places: tuple[str, ...] = ()
    """Columns that say where a row belongs, beside its name: run, host, device."""
    left_of: str = "time"
    min_share_pct: float = 0.0
    """Groups with less of the time are not shown."""

    @property
    def height(self) -> int:
        """Rows of the whole table."""
        return self.rows.height + self.left


def choose(groups: pl.DataFrame, choice: KernelChoice, left_of: str = "time") -> KernelExcerpt:
    """The rows of a table of groups that were asked for, and what the others come to."""
    by = SORTS[choice.sort]
    large = groups.filter(pl.col("share_pct").fill_null(0) >= choice.min_share_pct)
    rows = large.sort(by, descending=by != "group", nulls_last=True, maintain_order=True)
    if choice.top is not None:
        rows = rows.head(choice.top)
    # Where rows belong, as far as they differ in it.
    names = [name for name in ("host", "device") if name in groups.columns]
    places = tuple(name for name in names if groups[name].n_unique() > 1)
    total, rows_total = (float(part[_AMOUNTS[left_of]].sum() or 0) for part in (groups, rows))
    left_pct = 100 * (total - rows_total) / total if total and not places else None
    left = groups.height - rows.height
    return KernelExcerpt(rows, left, left_pct, places, left_of, choice.min_share_pct)


def choose_of_runs(reports: Sequence[KernelReport], by: str, choice: KernelChoice) -> KernelExcerpt:
    """The groups that were asked for of each run, one run after the other."""
    if len(reports) == 1:
        return choose(reports[0].groups(by), choice)
    chosen = [choose(report.groups(by), choice) for report in reports]
    rows = _with_runs(reports, [excerpt.rows for excerpt in chosen])
    places = dict.fromkeys(place for excerpt in chosen for place in excerpt.places)
    left = sum(excerpt.left for excerpt in chosen)
    return KernelExcerpt(rows, left, None, ("run", *places), min_share_pct=choice.min_share_pct)


def groups_view(reports: Sequence[KernelReport], by: str, choice: KernelChoice) -> ViewTable:
    """The same as a view: rows and their columns for programs."""
    return ViewTable(kernel_view(by), choose_of_runs(reports, by, choice).rows)


def runs_frame(reports: Sequence[KernelReport]) -> pl.DataFrame:
    """One row per run and device, every number."""
    rows = [
        {
            "run": name,
            "host": use.host,
            "device": use.device,
            "device_name": use.name,
            **{key: getattr(use, key) for key in _PLAIN},
            **({} if use.timed else {"total_ns": None}),
            **{f"{name}_share_pct": 100 * use.class_share[name] for name in CLASSES},
        }
        for name, report in zip(run_names(reports), reports, strict=True)
        for use in report.devices
    ]
    texts = dict.fromkeys(("run", "host", "device_name"), pl.String)
    return pl.DataFrame(rows, schema_overrides=texts, infer_schema_length=None)


_PLAIN = (
    *("calls", "launches", "names", "total_ns", "min_ns", "max_ns"),
    *("tensor_pct", "dram_pct", "sm_pct", "headroom_ns", "measured_ns", "untimed"),
)


def plural(by: str) -> str:
    """What groups are called as a title."""
    return _PLURALS[TITLES.get(by, by)].capitalize()


def rest_line(excerpt: KernelExcerpt, word: str) -> str:
    """What the rows that are not shown come to, or why there is no row; empty when all are."""
    if not excerpt.left:
        return ""
    if excerpt.rows.is_empty():
        return f"no {word} has {excerpt.min_share_pct:g} % of the time or more"
    count = units.count_noun(excerpt.left, f"more {_PLURALS[word]}")
    if excerpt.left_pct is None:
        return f"... {count}"
    return f"... {count}: {units.share(excerpt.left_pct, 100)} of the {excerpt.left_of}"


def group_label(name: str | None, by: str) -> str:
    """What a group is called; something even where it has no name."""
    word = TITLES.get(by, by)
    if name is None and word in {"operator", "module", "module class"}:
        return f"({word} not known)"
    return name if name and name.strip() else NO_NAME


# Every launch: lines of fixed width with name, latency and two utilisations, or all columns.

_NAME, _LATENCY, _SHARE = 50, 10, 6
_HEADER = f"{'Kernel':<{_NAME}}  {'Latency':>{_LATENCY}} {'Tensor':>{_SHARE}} {'DRAM':>{_SHARE}}"
_MISSING = "-"


def to_lines(calls: pl.DataFrame) -> str:
    """The table, each line with its line feed: latency in ns, utilisation as fractions."""
    codes, texts = encode(calls["short_name"])
    padded_names = [cut_name(printable(text or NO_NAME), _NAME).ljust(_NAME) for text in texts]
    cells = (
        (pl.col("dur_ns").cast(pl.String), _LATENCY),
        (_fraction("tensor_pct"), _SHARE),
        (_fraction("dram_pct"), _SHARE),
    )
    right = (cell.fill_null(_MISSING).str.pad_start(width) for cell, width in cells)
    names = pl.Series("name", padded_names, dtype=pl.String).gather(codes)
    lines = calls.select(pl.concat_str(names + "|", *right, separator=" ")).to_series()
    return "\n".join([_HEADER, *lines.to_list(), ""])


def _fraction(column: str) -> pl.Expr:
    """A percentage as a fraction with two decimals."""
    hundredths = pl.col(column).round(mode="half_away_from_zero").cast(pl.Int64)
    size = hundredths.abs()
    return pl.concat_str(
        pl.when(hundredths < 0).then(pl.lit("-")).otherwise(pl.lit("")),
        (size // 100).cast(pl.String),
        pl.lit("."),
        (size % 100).cast(pl.String).str.zfill(2),
    )


def chosen_calls(calls: pl.DataFrame, sort: str | None, choice: KernelChoice) -> pl.DataFrame:
    """The calls that were asked for, in launch order unless another one was."""
    if choice.min_share_pct:
        time = pl.col("dur_ns").fill_null(0) * pl.col("weight")
        calls = calls.filter(100 * time >= choice.min_share_pct * time.sum())
    by = _SORTS.get(sort or "")
    if by is not None:
        falling = sort != "name"
        calls = calls.sort(by, descending=falling, nulls_last=True, maintain_order=True)
    return calls if choice.top is None else calls.head(choice.top)


_SORTS = {
    "time": pl.col("dur_ns"),
    "mean": pl.col("dur_ns"),
    "headroom": headroom(),
    "tensor": pl.col("tensor_pct"),
    "dram": pl.col("dram_pct"),
    "sm": pl.col("sm_pct"),
    "name": pl.col("short_name").cast(pl.String),
}


def all_columns(
    reports: Sequence[KernelReport], sort: str | None, choice: KernelChoice
) -> pl.DataFrame:
    """Every column of the calls that were asked for; of several runs, with the run of each."""
    tables = [without_noise(chosen_calls(report.calls, sort, choice)) for report in reports]
    return tables[0] if len(tables) == 1 else _with_runs(reports, tables)


def _with_runs(reports: Sequence[KernelReport], tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Tables of several runs as one, with the run of each row."""
    named = zip(run_names(reports), tables, strict=True)
    rows = (table.select(pl.lit(name).alias("run"), pl.all()) for name, table in named)
    return pl.concat(rows, how="diagonal_relaxed")


MAX_ROWS = 500
"""Rows of a table unless others were asked for."""
_COLUMNS: Columns = {
    **kernel_view("name").columns,
    **{
        f"{name}_share_pct": ColumnSpec(f"Part of the time: {of}.") for name, of in MEANINGS.items()
    },
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
FULL_COLUMNS = (*SUMMARY, "headroom_ns", "variants")
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


def column_meaning(name: str) -> str:
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
    excerpt = choose(with_nearest(groups), replace(choice, top=choice.top or MAX_ROWS), left_of)
    brief = main is not MAIN
    return _excerpt_table([report], excerpt, by, choice.sort, id_=id_, main=main, brief=brief)


def groups_of_runs_table(reports: Sequence[KernelReport], by: str, choice: KernelChoice) -> Table:
    """The groups of one run or of several, in one table."""
    excerpt = choose_of_runs(reports, by, choice)
    return _excerpt_table(reports, excerpt, by, choice.sort, id_=by, main=FULL_COLUMNS, brief=True)


def roofline_table(
    report: KernelReport, roofs: Roofline, use: DeviceUse, choice: KernelChoice, *, brief: bool
) -> Table:
    """Kernels of a device against its roofs, the longest first."""
    groups = of_device(roofs.groups(report.calls, "short_name"), use).with_columns(
        pl.col("group").alias("label"),
        share_pct=100 * pl.col("total_ns") / pl.col("total_ns").sum(),
    )
    excerpt = choose(groups, replace(choice, sort="time", top=choice.top or MAX_ROWS))
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
    texts = [entry and f"{METRICS[entry[1]]} {peak_share(entry[0])}" for entry in nearest]
    return groups.with_columns(pl.Series("nearest", texts, dtype=pl.String))


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
            texts = [None if value is None else _SHORT[name](value) for value in rows[name]]
            columns.append(column(name, title, "text", texts, spare=spare, right=True))
        else:
            columns.append(_column(rows, name, title, axis=axis, spare=spare))
    used_names = {*first, *excerpt.places, *_LEFT_OUT}
    for name in () if brief else rows.columns:
        if name not in used_names:
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
        words = {kernel_class: class_title(kernel_class, axis) for kernel_class in CLASSES}
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
    rows = calls.head(choice.top or MAX_ROWS)
    axis = axis_of_all([report])
    sizes = [(what, [rows[f"{what}_{side}"] for side in "xyz"]) for what in ("grid", "block")]
    rows = rows.with_columns(
        pl.col("stream").cast(pl.String),
        *(pl.Series(name, join_cells(of), pl.String) for name, of in sizes),
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
    runs_table = runs_block(reports)
    named = [
        table_column for table_column in runs_table.columns if table_column.key in {"run", "device"}
    ]
    shares = [
        table_column
        for table_column in runs_table.columns
        if table_column.key.removesuffix("_share_pct") in CLASSES
    ]
    use = [
        table_column
        for table_column in runs_table.columns
        if table_column not in shares and table_column.key != "device_name"
    ]
    uses = [use for report in reports for use in report.devices]
    if not any(map(has_utilisation, uses)):
        return (table("runs", runs_table.title, use),)
    glyphs = [_GLYPHS[table_column.key.removesuffix("_share_pct")] for table_column in shares]
    marked = [
        msgspec.structs.replace(table_column, title=f"{glyph} {table_column.title}")
        for table_column, glyph in zip(shares, glyphs, strict=True)
    ]
    bars = []
    for device_use in uses:
        # Classes one after the other; each ends where its share of all before it does.
        bar, reached = "", 0.0
        for key in CLASSES:
            reached += device_use.class_share[key]
            bar += _GLYPHS[key] * (round(_BAR * reached) - len(bar))
        bars.append(bar)
    return (
        table("runs", runs_table.title, use),
        table(
            "classes",
            "Share of time by class",
            [*named, *marked, column("bar", "", "text", bars, cut="nothing", spare=1)],
        ),
    )
