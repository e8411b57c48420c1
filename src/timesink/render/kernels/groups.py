"""Tables of kernels, families, operators or modules: which rows, and how people see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from rich.cells import cell_len

from timesink.analyses.kernel_calls.classes import CLASSES, Axis
from timesink.model import units
from timesink.render.kernels.classes import class_title
from timesink.render.kernels.words import peak_share
from timesink.render.table import GAP, NO_NAME, cell, natural_width
from timesink.render.told_apart import cut_apart

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
_PATHS = ("module", "module class")
_NAMED = ("kernel", "function", "role")
"""Columns of names that may only differ in the middle or at the end."""
_AMOUNTS = {"time": "total_ns", "headroom": "headroom_ns"}
_READABLE, _COMFORTABLE = 22, 32
"""Columns are left out rather than cutting names shorter than this: any column, a minor one."""
_SHORTEST = 12
"""Names are never cut shorter than this."""
_MINOR = 4
"""From here on a column is a minor one."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which rows of a table are shown, and in which order."""

    sort: str = "time"
    top: int | None = None
    min_share_pct: float = 0.0


@dataclass(frozen=True, eq=False)
class Excerpt:
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


@dataclass(frozen=True, slots=True)
class Column:
    """A column for people: where it comes from, how it reads, how easily it is spared."""

    title: str
    source: str
    form: Callable[[Any], str]
    spare: int = 0
    """Columns with the highest number go first where there is no room; those with 0 stay."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A table of cells: names first, then numbers and the class."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    rest: str = ""
    """What the rows that are not shown come to."""
    spare: tuple[int, ...] = ()
    """How easily each column is spared, see `Column`; without, all stay."""
    nothing: str = ""
    """What to say where there are no rows."""


def choose(groups: pl.DataFrame, choice: Choice, left_of: str = "time") -> Excerpt:
    """The rows of a table of groups that were asked for, and what the others come to.

    >>> groups = pl.DataFrame(
    ...     {"group": ["a", "b", "c"], "total_ns": [60, 30, 10], "share_pct": [60.0, 30.0, 10.0]}
    ... )
    >>> chosen = choose(groups, Choice(sort="name", top=1, min_share_pct=20))
    >>> chosen.rows["group"].to_list(), chosen.left, chosen.left_pct
    (['a'], 2, 40.0)
    """
    by = SORTS[choice.sort]
    falling = by != "group"
    large = groups.filter(pl.col("share_pct").fill_null(0) >= choice.min_share_pct)
    rows = large.sort(by, descending=falling, nulls_last=True, maintain_order=True)
    if choice.top is not None:
        rows = rows.head(choice.top)
    places = _places(groups)
    left_pct = None if places else _left_pct(groups, rows, _AMOUNTS[left_of])
    left = groups.height - rows.height
    return Excerpt(rows, left, left_pct, places, left_of, choice.min_share_pct)


def _left_pct(groups: pl.DataFrame, shown: pl.DataFrame, amount: str) -> float | None:
    whole = float(groups[amount].sum() or 0)
    return 100 * (whole - float(shown[amount].sum() or 0)) / whole if whole else None


def _places(groups: pl.DataFrame) -> tuple[str, ...]:
    """Where rows belong, as far as they differ in it."""
    return tuple(
        name
        for name in ("host", "device")
        if name in groups.columns and groups[name].n_unique() > 1
    )


def choose_of_runs(tables: Mapping[str, pl.DataFrame], choice: Choice) -> Excerpt:
    """The rows that were asked for of each run, one run after the other."""
    chosen = {run: choose(table, choice) for run, table in tables.items()}
    rows = pl.concat(
        excerpt.rows.select(pl.lit(run).alias("run"), pl.all()) for run, excerpt in chosen.items()
    )
    places = dict.fromkeys(place for excerpt in chosen.values() for place in excerpt.places)
    left = sum(excerpt.left for excerpt in chosen.values())
    return Excerpt(rows, left, None, ("run", *places), min_share_pct=choice.min_share_pct)


# -- columns people see ----------------------------------------------------------------------------


def _whole(value: float) -> str:
    return units.count(round(value))


def _percent(value: float) -> str:
    return units.share(value, 100)


def _short(value: float, unit: float) -> str:
    """Three digits or all before the point: rates and intensities span many magnitudes."""
    shown = value / unit
    return f"{shown:.0f}" if shown >= 100 else f"{shown:.3g}"


CALLS = Column("calls", "calls", _whole, 3)
SEEN = Column("seen", "calls", _whole, 3)
LAUNCHES = Column("launches", "launches", _whole, 4)
SHARE = Column("share", "share_pct", _percent)
TOTAL = Column("total", "total_ns", units.duration_ns)
MEAN = Column("mean", "mean_ns", units.duration_ns, 6)
TENSOR = Column("tensor", "tensor_pct", peak_share)
DRAM = Column("DRAM", "dram_pct", peak_share)
SM = Column("SM", "sm_pct", peak_share)
OCCUPANCY = Column("occup.", "occupancy_pct", peak_share, 4)
CLASS = Column("class", "class", str, 2)
VARIANTS = Column("variants", "variants", _whole, 5)
KERNELS = Column("kernels", "variants", _whole, 5)
HEADROOM = Column("headroom", "headroom_ns", units.duration_ns, 3)
HEADROOM_SHARE = Column("of all", "headroom_share_pct", _percent)
NEAREST = Column("nearest roof", "nearest", str)
INTENSITY = Column("FLOP/byte", "intensity", lambda value: _short(value, 1), 2)
RATE = Column("TFLOP/s", "achieved_flop_per_s", lambda value: _short(value, 1e12))
BANDWIDTH = Column("GB/s", "achieved_bytes_per_s", lambda value: f"{value / 1e9:.0f}")
OF_ROOF = Column("of roof", "roof_share_pct", peak_share)
BOUND = Column("bound by", "bound", str)
PRECISION = Column("mostly", "precision", lambda value: value.replace("_", " "), 3)
_WORDS = (CLASS, BOUND, PRECISION)
"""Columns of words that are never cut."""

MAIN = (SHARE, TOTAL, MEAN, TENSOR, DRAM, SM, OCCUPANCY, CLASS)
"""Columns of the tables of a summary, behind the name and the number of calls."""
WHOLE = (SHARE, TOTAL, MEAN, TENSOR, DRAM, SM, OCCUPANCY, CLASS, HEADROOM, VARIANTS)
"""Columns of a table on its own."""
ROOFLINE = (SHARE, INTENSITY, RATE, BANDWIDTH, OF_ROOF, BOUND, PRECISION)
"""Columns of the table of kernels against their roofs."""
LEFT_ON = (
    replace(HEADROOM, spare=0),
    HEADROOM_SHARE,
    replace(TOTAL, spare=2),
    replace(NEAREST, spare=1),
)
"""Columns of the table of what is left to gain."""


def shown_table(
    excerpt: Excerpt,
    by: str,
    columns: Sequence[Column],
    *,
    sampled: bool = False,
    axis: Axis = "sm",
) -> Shown:
    """A table of groups for people; columns of which nothing is known are left out.

    Of a sample both the calls seen and the launches they stand for are shown; `axis` is what stands
    for the multiprocessors in the names of classes.
    """
    counts = (SEEN, LAUNCHES) if sampled else (CALLS,)
    word = TITLES.get(by, by)
    if word != "kernel":
        columns = [KERNELS if column is VARIANTS else column for column in columns]
    known = [column for column in (*counts, *columns) if _tells_something(excerpt.rows, column)]
    rows = _in_words(excerpt.rows, axis)
    leading = _leading(excerpt, by)
    cells = [column for _, column in leading]
    cells += [[_shown(column, value) for value in rows[column.source]] for column in known]
    return Shown(
        table_title(by, excerpt.height, rows.height),
        (*(name for name, _ in leading), *(column.title for column in known)),
        tuple(zip(*cells, strict=True)),
        (*(False for _ in leading), *(column not in _WORDS for column in known)),
        rest_line(excerpt, word),
        (*(0 for _ in leading), *(column.spare for column in known)),
        nothing_line(excerpt, word),
    )


def _in_words(rows: pl.DataFrame, axis: Axis) -> pl.DataFrame:
    words = {name: class_title(name, axis) for name in CLASSES}
    if "class" not in rows.columns:
        return rows
    return rows.with_columns(pl.col("class").cast(pl.String).replace(words))


def table_title(by: str, height: int, shown: int) -> str:
    """What the rows are and how many of them are shown.

    >>> table_title("name", 20, 10), table_title("family", 3, 3)
    ('Kernels (10 of 20)', 'Families (3)')
    """
    things = _PLURALS[TITLES.get(by, by)].capitalize()
    count = units.count(height)
    return f"{things} ({count if shown == height else f'{units.count(shown)} of {count}'})"


def rest_line(excerpt: Excerpt, word: str) -> str:
    """What the rows that are not shown come to; empty when all are.

    >>> rest_line(Excerpt(pl.DataFrame(), 34, 1.21), "kernel")
    '... 34 more kernels: 1.2 % of the time'
    """
    if not excerpt.left:
        return ""
    count = units.counted(excerpt.left, f"more {_PLURALS[word]}")
    if excerpt.left_pct is None:
        return f"... {count}"
    return f"... {count}: {units.share(excerpt.left_pct, 100)} of the {excerpt.left_of}"


def nothing_line(excerpt: Excerpt, word: str) -> str:
    """Why there is no row; empty where there are some.

    >>> nothing_line(Excerpt(pl.DataFrame(), 3, None, min_share_pct=12.5), "kernel")
    'no kernel has 12.5 % of the time or more'
    """
    if excerpt.rows.height or not excerpt.left:
        return ""
    return f"no {word} has {excerpt.min_share_pct:g} % of the time or more"


def _tells_something(rows: pl.DataFrame, column: Column) -> bool:
    if column.source not in rows.columns:
        return False
    values = rows[column.source]
    if column.source == "variants":
        return bool((values > 1).any())
    if column is CLASS:
        return bool((values.cast(pl.String) != "unknown").any())
    return values.null_count() < len(values)


def _shown(column: Column, value: Any) -> str:
    return "-" if value is None else column.form(value)


def _leading(excerpt: Excerpt, by: str) -> list[tuple[str, Sequence[str]]]:
    """What a row is about: where it belongs, and its name."""
    rows = excerpt.rows
    places = [(name, [cell(value) for value in rows[name]]) for name in excerpt.places]
    names = [_label(name, by) for name in rows["label"]]
    return [*places, (TITLES.get(by, by), names)]


def _label(name: str | None, by: str) -> str:
    word = TITLES.get(by, by)
    if name is None and word in {"operator", *_PATHS}:
        return f"({word} not known)"
    return name if name and name.strip() else NO_NAME


# -- fitting a width -------------------------------------------------------------------------------


def fitting(table: Shown, width: int) -> Shown:
    """The table without the columns for which the width leaves no room."""
    kept = list(range(len(table.columns)))
    while table.spare:
        place = max(kept, key=lambda place: (table.spare[place], place))
        least = _COMFORTABLE if table.spare[place] >= _MINOR else _READABLE
        if not table.spare[place] or _needed(table, kept, least) <= width:
            break
        kept.remove(place)
    return _with_told_apart(_with_ends_of_paths(with_columns(table, kept), width), width)


def _with_ends_of_paths(table: Shown, width: int) -> Shown:
    """Modules by the end of their path, where they differ, as much of it as fits."""
    place = next((place for place, name in enumerate(table.columns) if name in _PATHS), None)
    if place is None:
        return table
    others = [other for other in range(len(table.columns)) if other != place]
    room = width - GAP - _needed(table, others)
    rows = ((*row[:place], end_of_path(row[place], room), *row[place + 1 :]) for row in table.rows)
    return replace(table, rows=tuple(rows))


def _with_told_apart(table: Shown, width: int) -> Shown:
    """Kernels whose names would be cut to the same, with the middle left out instead of the end."""
    place = next((place for place, name in enumerate(table.columns) if name in _NAMED), None)
    if place is None:
        return table
    others = [other for other in range(len(table.columns)) if other != place]
    room = max(width - GAP - _needed(table, others), _SHORTEST)
    shown = cut_apart([row[place] for row in table.rows], room)
    rows = ((*row[:place], shown[row[place]], *row[place + 1 :]) for row in table.rows)
    return replace(table, rows=tuple(rows))


def end_of_path(path: str, room: int) -> str:
    """A dotted path without as many of its first parts as it takes to fit.

    >>> end_of_path("Model_0.Layer_3.Attention_3", 20)
    '….Attention_3'
    """
    end, cut = path, False
    while cell_len(end) + 2 * cut > room and "." in end:
        end, cut = end.partition(".")[2], True
    return f"….{end}" if cut else end


def with_columns(table: Shown, kept: Sequence[int]) -> Shown:
    """The table with some of its columns only."""
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
        numeric=tuple(table.numeric[place] for place in kept),
        spare=tuple(table.spare[place] for place in kept if table.spare),
    )


def _needed(table: Shown, kept: Sequence[int], least: int = _READABLE) -> int:
    """Blanks and all: numbers and classes whole, names as short as they may be cut."""
    needed = GAP * (len(kept) - 1)
    for place in kept:
        size = natural_width(table.columns[place], [row[place] for row in table.rows])
        whole = table.numeric[place] or table.columns[place] in {one.title for one in _WORDS}
        needed += size if whole else min(size, least)
    return needed
