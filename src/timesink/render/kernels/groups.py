"""Tables of kernels, families, operators or modules: which rows, and how people see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from timesink.analyses.kernel_calls.classes import CLASSES, Axis
from timesink.model import units
from timesink.output.names import NO_NAME
from timesink.render.kernels.classes import class_title
from timesink.render.kernels.columns import (
    CALLS,
    CLASS,
    KERNELS,
    LAUNCHES,
    SEEN,
    VARIANTS,
    WORDS,
    Column,
)
from timesink.render.shown import PATHS, Shown
from timesink.render.table import cell

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


# -- what people see -------------------------------------------------------------------------------


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
        (*(False for _ in leading), *(column not in WORDS for column in known)),
        rest_line(excerpt, word),
        (*(0 for _ in leading), *(column.spare for column in known)),
        nothing_line(excerpt, word),
        tuple(column.title for column in known if column in WORDS),
    )


def _in_words(rows: pl.DataFrame, axis: Axis) -> pl.DataFrame:
    words = {name: class_title(name, axis) for name in CLASSES}
    if "class" not in rows.columns:
        return rows
    return rows.with_columns(pl.col("class").cast(pl.String).replace(words))


def plural(by: str) -> str:
    """What groups are called as a title.

    >>> plural("full-name"), plural("module-class")
    ('Kernels', 'Module classes')
    """
    return _PLURALS[TITLES.get(by, by)].capitalize()


def table_title(by: str, height: int, shown: int) -> str:
    """What the rows are and how many of them are shown.

    >>> table_title("name", 20, 10), table_title("family", 3, 3)
    ('Kernels (10 of 20)', 'Families (3)')
    """
    things = plural(by)
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
    names = [group_label(name, by) for name in rows["label"]]
    return [*places, (TITLES.get(by, by), names)]


def group_label(name: str | None, by: str) -> str:
    """What a group is called; something even where it has no name.

    >>> group_label("gemm", "family"), group_label(None, "operator")
    ('gemm', '(operator not known)')
    """
    word = TITLES.get(by, by)
    if name is None and word in {"operator", *PATHS}:
        return f"({word} not known)"
    return name if name and name.strip() else NO_NAME
