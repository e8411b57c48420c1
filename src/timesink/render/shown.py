"""Tables of cells that fit a width, and notes, for any answer on the screen or as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rich.console import RenderableType
from rich.padding import Padding

from timesink.output.markdown import bullets
from timesink.output.names import cut_apart, end_of_path
from timesink.output.tables import GAP, markdown_table, natural_width, text_table
from timesink.output.terminal import text, to_plain

PATHS = ("module", "module class")
"""Columns of dotted paths, which are told by their ends."""
_NAMED = ("kernel", "function", "role")
"""Columns of names that may only differ in the middle or at the end."""
_READABLE, _COMFORTABLE = 22, 32
"""Columns are left out rather than cutting names shorter than this: any column, a minor one."""
_SHORTEST = 12
"""Names are never cut shorter than this."""
_MINOR = 4
"""From here on a column is a minor one."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A table of cells: names first, then numbers and words."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    rest: str = ""
    """What the rows that are not shown come to."""
    spare: tuple[int, ...] = ()
    """Columns with the highest number go first where there is no room; those with 0 stay.  Without,
    all stay."""
    nothing: str = ""
    """What to say where there are no rows."""
    whole: tuple[str, ...] = ()
    """Columns of words that are never cut."""


def with_columns(table: Shown, kept: Sequence[int]) -> Shown:
    """The table with some of its columns only.

    >>> table = Shown("Kernels", ("kernel", "calls"), (("gemm", "3"),), (False, True))
    >>> with_columns(table, [0]).rows
    (('gemm',),)
    """
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
        numeric=tuple(table.numeric[place] for place in kept),
        spare=tuple(table.spare[place] for place in kept if table.spare),
    )


# -- fitting a width -------------------------------------------------------------------------------


def fitting(table: Shown, width: int) -> Shown:
    """The table without the columns for which the width leaves no room.

    >>> table = Shown("", ("kernel", "p"), (("g" * 40, "0.5"),), (False, True), spare=(0, 1))
    >>> fitting(table, 24).columns
    ('kernel',)
    """
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
    place = next((place for place, name in enumerate(table.columns) if name in PATHS), None)
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


def _needed(table: Shown, kept: Sequence[int], least: int = _READABLE) -> int:
    """Blanks and all: numbers and some words whole, names as short as they may be cut."""
    needed = GAP * (len(kept) - 1)
    for place in kept:
        size = natural_width(table.columns[place], [row[place] for row in table.rows])
        whole = table.numeric[place] or table.columns[place] in table.whole
        needed += size if whole else min(size, least)
    return needed


# -- on the screen ---------------------------------------------------------------------------------


def shown_lines(table: Shown, width: int) -> Iterable[RenderableType]:
    """The columns of a table that fit the width, and what its other rows come to."""
    shown = fitting(table, width)
    if not shown.rows and shown.nothing:
        yield text(shown.nothing, "dim")
        return
    yield text_table(shown.columns, shown.rows, shown.numeric, width)
    if shown.rest:
        yield text(shown.rest, "dim")


def titled_lines(table: Shown, width: int) -> Iterable[RenderableType]:
    """A table under its title, apart from what comes before."""
    yield ""
    yield text(table.title, "bold")
    yield from shown_lines(table, width)


def note_lines(notes: Sequence[str]) -> Iterable[RenderableType]:
    """What to know of the numbers, under a heading; nothing without any."""
    if notes:
        yield ""
        yield text("Notes", "bold")
    for note in notes:
        yield Padding(text(note, "dim"), (0, 0, 0, 2))


def plain_table(table: Shown) -> str:
    """Only the table, as wide as it is: nothing is cut and nothing is said.

    >>> print(plain_table(Shown("", ("kernel", "calls"), (("gemm", "3"),), (False, True))))
    kernel  calls
    gemm        3
    """
    sizes = (
        natural_width(title, [row[place] for row in table.rows])
        for place, title in enumerate(table.columns)
    )
    width = sum(sizes) + GAP * len(table.columns)
    return to_plain(text_table(table.columns, table.rows, table.numeric, width), width)


# -- Markdown --------------------------------------------------------------------------------------


def table_blocks(table: Shown | None) -> list[str]:
    """A table of a document, and what its other rows come to.

    >>> print(table_blocks(Shown("", ("kernel", "calls"), (("gemm", "3"),), (False, True)))[0])
    | kernel | calls |
    | --- | ---: |
    | gemm | 3 |
    """
    if table is None:
        return []
    if not table.rows and table.nothing:
        return [table.nothing]
    return [markdown_table(table.columns, table.rows, table.numeric), table.rest]


def note_blocks(notes: Sequence[str]) -> list[str]:
    """What to know of the numbers, under a heading of a document; nothing without any.

    >>> note_blocks(["short"]), note_blocks([])
    (['## Notes', '- short'], [])
    """
    return ["## Notes", bullets(notes)] if notes else []
