"""Tables of an analysis as blocks: every column that says something, the main ones marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from msgspec.structs import replace

from timesink.analyses.kernels.families import distinguish_names
from timesink.analyses.modules import PREFIX
from timesink.analyses.names import short_kernel_name
from timesink.analyses.ranks.own_time import ranges_of
from timesink.answers.views import Absent, ColumnSpec, View, find_view
from timesink.output import blocks
from timesink.output.names import told_apart
from timesink.output.numbers import column, join_cells, kind_of, numbers, texts_of, words

_COLUMN = re.compile(r"`([a-z_]+)_us`")
_SHORT: Mapping[str, Callable[[str], str]] = {
    "kernel_name": short_kernel_name,
    "before": short_kernel_name,
    "after": short_kernel_name,
    "module": lambda name: name.removeprefix(PREFIX),
}
"""Columns whose names are shown as other tables call them."""
_IN_WORDS = ("cause", "category", "kind")
"""Columns whose values programs compare and people read."""
_LINKS: Mapping[str, blocks.CellLink] = {
    "operator": "operator",
    "operator_name": "operator",
    "short_name": "kernel",
    "kernel_name": "kernel",
    "module": "module",
    "worker": "worker",
}
_OF_VIEW: Mapping[tuple[str, str], blocks.CellLink] = {
    ("operators", "name"): "operator",
    ("memory", "name"): "operator",
    ("modules", "name"): "module",
}


_NEEDED = 3
"""Columns of a table that was asked for may be spared as late as this says."""


def table_block(
    frame: pl.DataFrame,
    view: str,
    *,
    start_ns: int = 0,
    rows: int | None = None,
    full_total: float | None = None,
    of: pl.DataFrame | None = None,
    ordered: bool = True,
) -> blocks.Table:
    """A table of `timesink.answers.views.VIEWS` with its columns explained.

    Points in time are counted from `start_ns`; of a long table the first `rows` are shown, and
    shares are of all rows, of the table `of` where these are some of it, or of a `full_total` of
    more than the table.  What people look at first comes first, unless not `ordered`.
    """
    about = find_view(view)
    # The column of which each row is a part.
    names = (name for name in about.share_of if name in frame.columns)
    every = frame if of is None else of
    measure = next((name for name in names if (every[name].sum() or 0) > 0), None)
    order: str | None = None
    if ordered and about.largest in frame.columns:
        order = about.largest
        frame = frame.sort(order, descending=True, nulls_last=True, maintain_order=True)
    elif ordered and measure is not None and frame[measure].is_sorted(descending=True):
        order = measure
    top_rows = frame if rows is None else frame.head(rows)
    by_title = _by_title(frame, about)
    columns: list[blocks.Column] = []
    for group in by_title:
        if group[0] == measure:
            total = float(every[measure].sum()) if full_total is None else full_total
            parts = tuple(round((value or 0) / total, 6) for value in top_rows[measure])
            is_all = of is None and full_total is None
            basis = "all rows" if is_all else "everything, including what is not in this table"
            help_text = f"share of the {_column_words(measure)} time of {basis}"
            columns.append(
                blocks.Column("share", "share", "share", blocks.Numbers(parts), help_text, bar=True)
            )
        new_column = _column(view, top_rows, group, about.columns[group[0]], start_ns)
        # Text that is too wide loses what stands last.
        columns.append(
            replace(new_column, spare=max(len(columns) - 1, 0) if new_column.main else 0)
        )
    return blocks.Table(
        id=view,
        title=about.title,
        columns=tuple(columns),
        rows=top_rows.height,
        total_rows=frame.height,
        note="" if frame.height else sentence(about.absent),
        sort=None if order is None else blocks.Sort(order),
    )


def frame_document(frame: pl.DataFrame) -> blocks.Document:
    """Any table of values with every column, as it is: an answer to a query."""
    columns = []
    for name, dtype in frame.schema.items():
        values: Iterable[Any] = frame[name]
        kind: blocks.Kind = "text"
        if dtype.is_integer():
            # Times and identifiers that people copy: no blanks between their digits.
            values = [None if value is None else str(value) for value in frame[name]]
        elif dtype.is_numeric():
            kind = "number"
        elif dtype.is_nested():
            values = [None if value is None else str(list(value)) for value in frame[name]]
        else:
            values = texts_of(frame[name])
        columns.append(column(name, name, kind, values, right=dtype.is_integer()))
    return table_document(blocks.Table("query", "", tuple(columns), frame.height, frame.height))


def table_document(table: blocks.Table, lead: str = "") -> blocks.Document:
    """One table alone, with no more around it than a line: names are cut before a column goes."""
    columns = tuple(replace(column, spare=min(column.spare, _NEEDED)) for column in table.columns)
    section = blocks.Section("table", "", (replace(table, title="", columns=columns),), lead)
    return blocks.Document("table", table.title, "", "", sections=(section,))


def sentence(absent: Absent) -> str:
    """Why something is not there, and what to record to have it."""
    text = f"{absent.reason[0].upper()}{absent.reason[1:]}"
    return f"{text}: {absent.hint}." if absent.hint else f"{text}."


def _by_title(frame: pl.DataFrame, view: View) -> Iterator[list[str]]:
    """Columns that say something, those that share a heading together; main ones come first."""
    telling = [
        name for name in view.columns if name in frame.columns and tells_something(frame[name])
    ]
    headed: dict[str, list[str]] = {}
    for name in telling:
        headed.setdefault(view.columns[name].title, []).append(name)
    plain = headed.pop("", [])
    yield from headed.values()
    yield from ([name] for name in plain)


def tells_something(column: pl.Series) -> bool:
    """Whether a column is worth a look: not all zero, not unknown in every row."""
    if column.name == "complete":
        return not column.all()
    if column.name == "device" or not column.dtype.is_numeric():
        return column.null_count() < len(column)
    return bool((column != 0).any())


def _column(
    view: str, frame: pl.DataFrame, group: Sequence[str], spec: ColumnSpec, start_ns: int
) -> blocks.Column:
    name = group[0]
    title = spec.title or _column_words(name)
    # Columns its meaning speaks of are called as they are headed.
    about = _COLUMN.sub(lambda match: _column_words(match[1]), spec.meaning).replace("`", "")
    main = bool(spec.title) and spec.main
    if len(group) > 1:
        cells = words(join_cells([frame[column_name] for column_name in group]))
        return blocks.Column(title, title, "text", cells, about, main=main, cut="nothing")
    kind = "count" if name == "calls" else kind_of(name, frame[name].dtype)
    link = _OF_VIEW.get((view, name), _LINKS.get(name, ""))
    if name in _IN_WORDS:
        about = about.replace("_", " ")
    if kind == "text":
        texts = _texts(frame[name])
        if (view, name) == ("kernels", "short_name") and frame[name].is_duplicated().any():
            # Namesakes with what tells them apart: a table in which rows look alike is of no use.
            labels = short_labels(frame["name"].cast(pl.String).fill_null(""))
            texts = [labels[function or ""] for function in frame["name"].cast(pl.String)]
        data: blocks.Numbers | blocks.Words = words(texts)
    else:
        data = numbers(frame[name], kind, start_ns=start_ns)
        link = "moment" if kind == "moment_ns" else link
    return blocks.Column(name, title, kind, data, about, main=main, link=link)


def _texts(column: pl.Series) -> list[str | None]:
    if column.dtype == pl.List(pl.Int64):
        return [None if ranks is None else ranges_of(ranks) for ranks in column.to_list()]
    texts = texts_of(column)
    if column.name in _IN_WORDS:
        return [text and text.replace("_", " ") for text in texts]
    shorten = _SHORT.get(column.name)
    return texts if shorten is None else [text and shorten(text) for text in texts]


def _column_words(name: str) -> str:
    """The name of a column in words; its unit is told by its values."""
    for ending in ("_ns", "_bytes", "_pct"):
        name = name.removesuffix(ending)
    return name.replace("_", " ")


# What functions are called: short, and no two the same.

_NO_NAME = "(no name)"


def short_labels(functions: Iterable[str], as_they_are: Iterable[str] = ()) -> dict[str, str]:
    """Short names of functions, with what tells namesakes apart."""
    verbatim = frozenset(as_they_are)
    names = list(dict.fromkeys(functions))
    short = {name: name if name in verbatim else short_kernel_name(name) for name in names}
    often = Counter(short.values())
    marks = distinguish_names(name for name in names if often[short[name]] > 1)
    labels = []
    for name in names:
        label, mark = short[name] or _NO_NAME, marks.get(name, "")
        # What tells it apart, unless it says that already.
        labels.append(label if not mark or mark in label else f"{label} ({mark})")
    return dict(zip(names, told_apart(labels), strict=True))
