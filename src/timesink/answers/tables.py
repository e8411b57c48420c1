"""A table once: the frame of a view and its columns, and every form in which it leaves.

Programs get JSON, CSV and frames with every column; people get a block with those that say
something, the main ones marked.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from io import StringIO
from typing import Any

import msgspec
import polars as pl
from msgspec import structs
from msgspec.structs import replace

from timesink.analyses.kernels.families import distinguish_names
from timesink.analyses.modules import PREFIX
from timesink.analyses.names import short_kernel_name
from timesink.answers.views import Absent, ColumnSpec, View, find_view, listed_table
from timesink.errors import TimesinkError, UsageError
from timesink.model import units
from timesink.model.units import ranges_of
from timesink.output import blocks
from timesink.output.json import cell_csv, frame_csv
from timesink.output.names import told_apart
from timesink.output.numbers import (
    column,
    is_length,
    is_ratio,
    join_cells,
    kind_of,
    numbers,
    texts_of,
    words,
)
from timesink.patterns import regex

_COLUMN = regex(r"`([a-z_]+)_us`")
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


class Listing(msgspec.Struct, frozen=True, eq=False):
    """The rows of a table as people read them, where programs get others."""

    rows: pl.DataFrame
    values: Callable[[pl.DataFrame], Mapping[str, Any]]
    """What its first rows show in columns that they do not have; None for those to leave out."""
    title: str = ""
    """Instead of that of the view."""
    titles: Mapping[str, str] = {}
    """Headings of columns instead of those of the layout."""
    meanings: Mapping[str, str] = {}
    """What columns mean, instead of what `columns.csv` says."""
    looks: Mapping[str, Any] = {}
    """Fields of the block: notes, and what is left out."""


class ViewTable(msgspec.Struct, frozen=True, eq=False):
    """The rows of a view, and each form of them.  Columns and their order are those of the view."""

    view: View
    frame: pl.DataFrame
    """As the analysis makes it: every column, lengths of time in nanoseconds."""
    total_ns: float | None = None
    """What shares are of, where that is more than all rows."""
    absent: Absent | None = None
    """Why it is empty, where the view does not say."""
    of: pl.DataFrame | None = None
    """All rows, where these are some of them: shares are still of all."""
    listing: Callable[[], Listing] | None = None
    """How people read it where its view has a layout; worked out when it is asked for."""
    published: Mapping[str, str] = {}
    """Columns of the CSV and their names there, where these are not all of them."""

    def pick(self, sort: str | None, fits: str | None) -> ViewTable:
        """Rows that hold a text in a column, ordered by a column: `host_self` or its full name.

        Numbers come with the largest first, texts in their order.
        """
        picked = _sorted_by(_fitting(self.frame, fits), sort)
        return replace(self, frame=picked, of=self.frame if fits else None)

    @property
    def why_empty(self) -> str:
        """Why it has no rows, and what to try; nothing where it has some."""
        absent = self.absent or self.view.absent
        return "; ".join(filter(None, (absent.reason, absent.hint))) * self.frame.is_empty()

    def rows(self, top: int | None = None) -> pl.DataFrame:
        """Every column as programs get it: text as text, numbers without the noise of dividing."""
        frame = self.frame if top is None else self.frame.head(top)
        if self.view.exact:
            return as_computed(frame)
        return without_noise(frame) if self.view.in_ns else in_microseconds(frame)

    def to_text(self, form: str, top: int | None = None) -> str:
        """Every column as JSON or CSV, for programs; CSV has no lists."""
        if form == "csv" and self.view.exact:
            frame = self.frame.select(list(self.published)) if self.published else self.frame
            return exact_csv(frame[:top], list(self.published.values()) or frame.columns)
        rows = self.rows(top)
        return rows.write_json() if form == "json" else frame_csv(lists_as_text(rows))

    def block(
        self, *, start_ns: int = 0, rows: int | None = None, ordered: bool = True, id_: str = ""
    ) -> blocks.Table:
        """What people see of it, with its columns explained.

        Points in time are counted from `start_ns`; of a long table the first `rows` are shown.
        What people look at first comes first, unless not `ordered`.  Its id is the name of the
        view where there is no other.
        """
        if self.listing is not None:
            return self._listed(self.listing(), rows, id_)
        view, frame = self.view, _for_people(self.frame, self.view.name)
        # The column of which each row is a part.
        names = (name for name in view.share_of if name in frame.columns)
        every = frame if self.of is None else self.of
        measure = next((name for name in names if (every[name].sum() or 0) > 0), None)
        # Those of operators are of all device work, where any of it is theirs.
        total_ns = self.total_ns if measure in view.share_of[:1] else None
        order: str | None = None
        if ordered and view.largest in frame.columns:
            order = view.largest
            frame = frame.sort(order, descending=True, nulls_last=True, maintain_order=True)
        elif ordered and measure is not None and frame[measure].is_sorted(descending=True):
            order = measure
        top_rows = frame if rows is None else frame.head(rows)
        by_title = _by_title(frame, view)
        columns: list[blocks.Column] = []
        for group in by_title:
            if group[0] == measure:
                total = float(every[measure].sum()) if total_ns is None else total_ns
                parts = tuple(round((value or 0) / total, 6) for value in top_rows[measure])
                is_all = self.of is None and total_ns is None
                basis = "all rows" if is_all else "everything, including what is not in this table"
                help_text = f"share of the {_column_words(measure)} time of {basis}"
                columns.append(
                    blocks.Column(
                        "share", "share", "share", blocks.Numbers(parts), help_text, bar=True
                    )
                )
            new_column = _column(view.name, top_rows, group, view.columns[group[0]], start_ns)
            # Text that is too wide loses what stands last.
            columns.append(
                structs.replace(
                    new_column, spare=max(len(columns) - 1, 0) if new_column.main else 0
                )
            )
        return blocks.Table(
            id=id_ or view.name,
            title=view.title,
            columns=tuple(columns),
            rows=top_rows.height,
            total_rows=frame.height,
            note="" if frame.height else sentence(self.absent or view.absent),
            sort=None if order is None else blocks.Sort(order),
        )

    def _listed(self, listing: Listing, most: int | None, id_: str) -> blocks.Table:
        """The columns of the layout, each explained by the layout or by `columns.csv`."""
        view, rows = self.view, listing.rows if most is None else listing.rows.head(most)
        meanings = {name: column.meaning for name, column in view.columns.items()}
        return listed_table(
            view.layout,
            id_ or view.name,
            listing.title or view.title,
            rows,
            listing.values(rows),
            titles=listing.titles,
            total_rows=listing.rows.height,
            meanings={**meanings, **listing.meanings},
            **listing.looks,
        )


# Tables as rows of plain values, times in microseconds.

_UNIT = regex("_(ns|bytes|pct)$")
_DIGITS = 6
"""Decimals of numbers that were divided: beyond them is only noise."""


def to_rows(frame: pl.DataFrame, top: int | None = None) -> list[dict[str, Any]]:
    """Rows with the unit of each number in its key."""
    rows = frame if top is None else frame.head(top)
    return in_microseconds(rows).to_dicts()


def view_rows(view: str, subject: object, top: int | None = None) -> list[dict[str, Any]]:
    """Rows of a view, of what its analysis takes: a trace, a run played again, a set of ranks."""
    return to_rows(find_view(view).analysis(subject), top)


def without_noise(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with times as they are: text as text, numbers without the noise of dividing."""
    return frame.with_columns(
        pl.col(pl.Float64()).round(_DIGITS), pl.col(pl.Categorical(), pl.Enum).cast(pl.String())
    )


def as_computed(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with numbers as they are: text as text, and null where one is not defined."""
    return frame.with_columns(
        pl.col(pl.Float64()).fill_nan(None), pl.col(pl.Categorical(), pl.Enum).cast(pl.String())
    )


_BETWEEN_NAMES = "; "


def exact_csv(frame: pl.DataFrame, titles: Sequence[str]) -> str:
    """The table as CSV: six decimals, and an empty cell where a number is not defined."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(cell_csv, titles))
    writer.writerows(zip(*(_csv_cells(column) for column in frame), strict=True))
    return out.getvalue().removesuffix("\n")


def _csv_cells(column: pl.Series) -> list[object]:
    """Values as a CSV holds them; a float that is no number is empty."""
    if column.dtype.is_nested():
        column = column.list.join(_BETWEEN_NAMES)
    if column.dtype == pl.Boolean:
        return ["" if value is None else str(value).lower() for value in column]
    if not column.dtype.is_float():
        return [cell_csv(value) if isinstance(value, str) else value for value in column]
    return [
        "" if value is None or value != value else f"{value:.6f}"  # noqa: PLR0124 - NaN
        for value in column
    ]


def in_microseconds(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as users get it: lengths of time in microseconds, named so; text as text.

    A device that the recording does not name is null.
    """
    return frame.select(_json_column(name, dtype) for name, dtype in frame.schema.items())


def _fitting(frame: pl.DataFrame, fits: str | None) -> pl.DataFrame:
    """Rows that hold a text, in any case."""
    if not fits:
        return frame
    texts = (pl.String, pl.Categorical, pl.Enum)
    named = [name for name, dtype in frame.schema.items() if isinstance(dtype, texts)]
    holds = (pl.col(name).cast(pl.String).str.to_lowercase() for name in named)
    wanted = pl.any_horizontal(column.str.contains(fits.lower(), literal=True) for column in holds)
    rows = frame.filter(wanted.fill_null(value=False)) if named else frame.clear()
    if rows.is_empty() and not frame.is_empty():
        raise UsageError(f"no row holds {fits!r}", "try a part of the name with --filter")
    return rows


def _sorted_by(frame: pl.DataFrame, sort: str | None) -> pl.DataFrame:
    if not sort:
        return frame
    column_of = {name: name for name in frame.columns}
    column_of |= {user_name(name): name for name in column_of} | {
        _UNIT.sub("", name): name for name in column_of
    }
    if sort not in column_of:
        column_names = ", ".join(map(user_name, frame.columns))
        raise UsageError(f"the table has no column {sort!r}", f"sort by one of {column_names}")
    largest = frame.schema[column_of[sort]].is_numeric()
    return frame.sort(column_of[sort], descending=largest, nulls_last=True, maintain_order=True)


def lists_as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with lists of names and numbers written out, for formats without lists."""
    lists = pl.col(pl.List(pl.String), pl.List(pl.Int64))
    return frame.with_columns(lists.cast(pl.List(pl.String)).list.join(" "))


def user_name(name: str) -> str:
    """The name under which users get a column."""
    return f"{name.removesuffix('_ns')}_us" if is_length(name) else name


def microseconds(ns: float | None) -> float | None:
    """A length of time in microseconds, without the noise of dividing."""
    return None if ns is None else round(ns / 1000, _DIGITS)


def percent(ratio: float | None) -> float | None:
    """A ratio in percent, without the noise of multiplying."""
    return None if ratio is None else round(100 * ratio, _DIGITS)


def _json_column(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return column.cast(pl.String)
    if is_length(name):
        # Whole nanoseconds have three decimals, and the nearest float prints them.
        decimals = 3 if dtype.is_integer() else _DIGITS
        return (column / 1000).round(decimals).alias(user_name(name))
    if dtype.is_float() and not is_ratio(name):
        return column.round(_DIGITS)
    if name == "device" and dtype.is_integer():
        return pl.when(column >= 0).then(column).alias(name)
    return column


# Tables about ranks as people read them: kinds of groups by name, many ranks as ranges.

_KINDS: Mapping[str | None, str] = {
    "dp": "data parallel",
    "tp": "tensor parallel",
    "pp": "pipeline",
    "ep": "expert parallel",
    "cp": "context parallel",
    "mp": "model parallel",
    "world": "all ranks",
    None: "-",
}
_MAX_RANGES, _MAX_NAMED = 6, 8


def _for_people(frame: pl.DataFrame, view: str) -> pl.DataFrame:
    """A table as people read it, where that is another one."""
    return frame if view not in _FOR_PEOPLE or frame.is_empty() else _FOR_PEOPLE[view](frame)


def _kinds_in_words(column_name: str) -> pl.Expr:
    """What process groups of a kind are for."""
    return pl.col(column_name).map_elements(
        lambda kind: _KINDS.get(kind, kind or "-"), return_dtype=pl.String, skip_nulls=True
    )


def _groups_in_words(frame: pl.DataFrame) -> pl.DataFrame:
    members = [ranges_of(ranks, _MAX_RANGES) for ranks in frame["ranks"].to_list()]
    return frame.with_columns(
        _kinds_in_words("kind"),
        pl.Series("ranks", members, pl.String),
        pl.col("calls").round().cast(pl.Int64, strict=False),
    )


def _once_per_clock(frame: pl.DataFrame) -> pl.DataFrame:
    """Ranks of one host have one clock."""
    if frame["clock"].n_unique() == frame.height:
        return frame
    members = frame.group_by("clock", maintain_order=True).agg(pl.col("rank"))
    ranks = [ranges_of(clock_ranks, _MAX_RANGES) for clock_ranks in members["rank"].to_list()]
    clock_rows = frame.unique("clock", keep="first", maintain_order=True)
    return clock_rows.with_columns(pl.Series("rank", ranks, pl.String)).drop("worker")


def _ranks_listed(frame: pl.DataFrame) -> pl.DataFrame:
    """Of many ranks the first are named."""
    return frame.with_columns(
        pl.Series(
            side, [units.join_names(names or [], _MAX_NAMED) for names in frame[side].to_list()]
        )
        for side in ("present", "missing")
        if side in frame.columns
    )


_FOR_PEOPLE: Mapping[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "efficiency": lambda frame: frame.with_columns(
        pl.col("shape", "types").replace("", None)  # Scalars, and lists that are not recorded.
    ),
    # Ranks by the wait they cause.
    "ranks": lambda frame: frame.sort(
        "wait_caused_ns", descending=True, nulls_last=True, maintain_order=True
    ),
    "collectives-matched": lambda frame: frame.with_columns(_kinds_in_words("group_kind")),
    "rank-groups": lambda frame: frame.with_columns(
        pl.col("apart").list.join(" ").replace("", None)
    ),
    "process-groups": _groups_in_words,
    "clocks": _once_per_clock,
    "mismatches": _ranks_listed,
}


# Blocks.


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
    columns = tuple(
        structs.replace(column, spare=min(column.spare, _NEEDED)) for column in table.columns
    )
    section = blocks.Section(
        "table", "", (structs.replace(table, title="", columns=columns),), lead
    )
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


_FOR_PANDAS = ("pandas", "pyarrow")
"""What Polars needs to make a pandas frame."""


def check_pandas(table: str) -> None:
    """Refuse a pandas frame of this table where it cannot be made."""
    absent = [name for name in _FOR_PANDAS if not _is_installed(name)]
    if absent:
        raise TimesinkError(
            f"a pandas frame needs {' and '.join(absent)}, not installed here",
            f"pip install {' '.join(_FOR_PANDAS)}, or use .table({table!r}), a Polars frame",
        )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # so the import system says that it is barred
        return False
