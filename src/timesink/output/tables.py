"""Tables of a document in text: which columns fit, how names are cut, where numbers stand."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from timesink.model import units
from timesink.model.units import interval_ns
from timesink.output import blocks
from timesink.output.lines import GAP, Grid, Item, LabelGrid, TextLine
from timesink.output.names import cell_len, cut_apart, end_of_path, in_cell, printable
from timesink.output.numbers import cells, change_of, change_text, column, number_text

NARROWEST = 12
"""Names are not cut shorter than this."""
_READABLE, _COMFORTABLE = 22, 40
"""Columns are left out rather than cutting names shorter than this: any column, a minor one."""
_MINOR = 4
"""From here on a column is a minor one."""
_MAX_BARS = 16
"""More bars side by side are left to pages."""


ROLES = {"cause": "Causes", "anomaly": "Anomalies: what is different around it"}
"""Headings above cards of a role."""


class Lines(NamedTuple):
    """Cells of text under their titles, and which columns stand to the right."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]


def _of_text(table: blocks.Table) -> list[blocks.Column]:
    return [
        column
        for column in table.columns
        if (column.main or column.spare) and column.medium != "page"
    ]


def lines_of(table: blocks.Table) -> Lines:
    """The columns of a table that text has, as cells."""
    columns = _of_text(table)
    return Lines(
        tuple(column.title for column in columns),
        tuple(zip(*map(cells, columns), strict=True)),
        tuple(map(_is_right, columns)),
    )


def text_table(table: blocks.Table, width: int) -> list[Item]:
    """The columns for which there is room, with names that are distinguished.

    A table too wide for that is shown row by row, one column per line.
    """
    columns = _with_room(table, width)
    by_column = [cells(table_column) for table_column in columns]
    if columns and columns[0].cut == "nothing" and not _fits_whole(columns, by_column, width):
        return _under_names([table_column.title for table_column in columns], by_column)
    sizes = _fit(
        _sizes(columns, sys.maxsize), [_is_whole(table_column) for table_column in columns], width
    )
    if sum(sizes) + GAP * (len(sizes) - 1) <= width:
        for place, (table_column, size) in enumerate(zip(columns, sizes, strict=True)):
            values = by_column[place]
            if size < natural_width(table_column.title, values):
                # Names that fit, and of which no two look the same.
                if table_column.cut == "start":
                    values = [end_of_path(value, size) for value in values]
                # The ends of kernels' names tell as much as their beginnings.
                cut = cut_apart(values, size, middle=table_column.link == "kernel")
                by_column[place] = [cut[value] for value in values]
    names = [printable(table_column.title) for table_column in columns]
    right = [_is_right(table_column) for table_column in columns]
    sizes = [natural_width(*column) for column in zip(names, by_column, strict=True)]
    sizes = _fit(sizes, right, width)
    rows = [[printable(value) for value in row] for row in zip(*by_column, strict=True)]
    if sum(sizes) + GAP * (len(sizes) - 1) > width:
        return [LabelGrid(list(zip(names, row, strict=True)), is_record=True) for row in rows]
    return [Grid(names, rows, right, sizes)]


def _with_room(table: blocks.Table, width: int) -> list[blocks.Column]:
    """The columns that are not spared at this width."""
    columns = _of_text(table)
    while columns:
        place = max(range(len(columns)), key=lambda place: (columns[place].spare, place))
        least = _COMFORTABLE if columns[place].spare >= _MINOR else _READABLE
        if (
            not columns[place].spare
            or sum(_sizes(columns, least)) + GAP * (len(columns) - 1) <= width
        ):
            break
        del columns[place]
    return columns


def _fits_whole(
    columns: Sequence[blocks.Column], by_column: Sequence[Sequence[str]], width: int
) -> bool:
    """Whether there is room for the first column as it is, beside the others cut short."""
    first, *rest = (
        natural_width(column.title, values)
        for column, values in zip(columns, by_column, strict=True)
    )
    shorter = (
        size if _is_whole(column) else min(size, NARROWEST)
        for column, size in zip(columns[1:], rest, strict=True)
    )
    return first + sum(shorter) + GAP * len(rest) <= width


def _under_names(titles: Sequence[str], by_column: Sequence[Sequence[str]]) -> list[Item]:
    """What each row is about whole, on a line however long, to be copied; the rest below it."""
    lines: list[Item] = []
    for name, *values in zip(*by_column, strict=True):
        lines.append(TextLine(printable(name), is_folded=False))
        pairs = (f"{title} {value}" for title, value in zip(titles[1:], values, strict=True))
        lines += [TextLine(f"  {', '.join(map(printable, pairs))}")] if values else []
    return lines


def _is_right(column: blocks.Column) -> bool:
    """Whether it stands to the right, as numbers do."""
    return column.right or column.kind != "text"


def _is_whole(column: blocks.Column) -> bool:
    """Whether nothing of it is cut."""
    return _is_right(column) or column.cut == "nothing"


def _sizes(columns: Sequence[blocks.Column], least: int) -> list[int]:
    """How wide columns are: numbers and some words whole, others as short as they may be cut."""
    wide = [natural_width(column.title, cells(column)) for column in columns]
    return [
        size if _is_whole(column) else min(size, least)
        for column, size in zip(columns, wide, strict=True)
    ]


def heading(title: str, members: Sequence[blocks.Block]) -> str:
    """The title of a section; where it is that of a table, with how much of it is shown."""
    first = members[0] if members else None
    is_its = isinstance(first, blocks.Table) and (len(members) == 1 or first.title == title)
    return f"{title}{_extent(first)}" if is_its and isinstance(first, blocks.Table) else title


def title_of(block: blocks.Block, above: str) -> str:
    """The title of a block, unless the section above it has the same."""
    title: str = getattr(block, "title", "")
    if isinstance(block, blocks.Causes) and (block.items or above):
        title = ROLES.get(block.items[0].role if block.items else "cause", "")
    if not title or title == above:
        return ""
    return f"{title}{_extent(block)}" if isinstance(block, blocks.Table) else title


def _extent(table: blocks.Table) -> str:
    if not table.rows or not table.id:
        return ""
    every = units.count(table.total_rows)
    first = f"the first {table.rows} of " if table.total_rows > table.rows else ""
    return f" ({first}{every})"


def known_tiles(block: blocks.Tiles) -> list[tuple[str, str]]:
    """Label and value of the figures that are known."""
    tiles = [tile for tile in block.tiles if tile.value is not None]
    return [(tile.label, number_text(tile.value, tile.kind)) for tile in tiles]


def verdict_words(block: blocks.Verdict) -> list[str]:
    """From what to what something changed, and by how much; empty where neither is known."""
    if block.base.value is None and block.new.value is None:
        return []
    values = [
        f"{side.label} {number_text(side.value, block.kind)}" for side in (block.base, block.new)
    ]
    change = [] if block.change is None else [change_text(block.change, "share")]
    return [" → ".join(values), *change]


# -- pictures as tables ----------------------------------------------------------------------------


def parts_table(block: blocks.Parts) -> blocks.Table:
    """A whole and its parts, row by row."""
    parts, meanings = block.parts, [part.help for part in block.parts]
    return _table(
        block.title,
        column("part", "part", "text", [part.name for part in parts]),
        column("mean", "time", block.kind, [part.value for part in parts]),
        column("share", "share", "share", [part.value / block.total for part in parts]),
        *([column("meaning", "meaning", "text", meanings)] if any(meanings) else ()),
    )


def stacks_table(block: blocks.Stacks) -> blocks.Table | None:
    """A row of parts per bar; None where these are too many to read."""
    if len(block.labels) > _MAX_BARS:
        return None
    parts = (column(part.id, part.name, block.kind, part.values, spare=1) for part in block.parts)
    return _table(block.title, column("label", "", "text", block.labels), *parts)


def attribution_table(block: blocks.Attribution) -> blocks.Table:
    """Parts of a change, row by row."""
    rows, kind = block.rows, block.kind
    changes, intervals = [change_of(row.change, kind) for row in rows], [*map(interval_of, rows)]
    about = column("about", "", "text", [row.help for row in rows], spare=4)
    return _table(
        block.title,
        column("part", "part", "text", [row.name for row in rows]),
        column("base", "base", kind, [row.base for row in rows], spare=2),
        column("new", "new", kind, [row.new for row in rows], spare=2),
        column("change", "change", "text", changes, right=True),
        column("interval", "interval", "text", intervals, cut="nothing", spare=3),
        *([about] if any(row.help for row in rows) else []),
    )


_MARKS = {"added": "+ ", "removed": "- ", "changed": "~ ", "varies": "? "}


def tree_table(block: blocks.Tree) -> blocks.Table:
    """The nodes that are seen at first, indented, with the figures of both sides."""
    rows = block.seen
    state = [block.states.texts[block.states.codes[row]] for row in rows]
    names = [
        f"{_MARKS.get(how, '  ')}{'  ' * block.depth[at]}{block.names.texts[block.names.codes[at]]}"
        for at, how in zip(rows, state, strict=True)
    ]
    figures = (
        column(
            f"{side}_{detail.title}",
            f"{detail.title} {side}",
            detail.kind,
            [detail.values[at] for at in rows],
            spare=2 * place,
        )
        for place, pair in enumerate(zip(block.base.details, block.new.details, strict=True))
        for side, detail in zip(("base", "new"), pair, strict=True)
    )
    labels = column("node", "call", "text", names), column("state", "state", "text", state)
    return blocks.Table(block.id, block.title, (*labels, *figures), len(rows), block.total)


def interval_of(part: blocks.AttributedPart) -> str:
    """Between which bounds a change is; empty where that is not known."""
    return "" if part.low is None or part.high is None else interval_ns(part.low, part.high)


def _table(title: str, *columns: blocks.Column) -> blocks.Table:
    rows = len(cells(columns[0]))
    return blocks.Table("", title, columns, rows, rows)


# -- as text and Markdown --------------------------------------------------------------------------


def markdown_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
) -> str:
    """Cells that are text already, as a Markdown table."""
    rule = ["---:" if to_right else "---" for to_right in right]
    head, *body = ([in_cell(value) for value in row] for row in [titles, *rows])
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *body])


def natural_width(title: str, values: Sequence[str]) -> int:
    """How wide a column is when nothing of it is cut."""
    return max([cell_len(printable(title)), *(cell_len(printable(value)) for value in values)])


def _fit(sizes: Sequence[int], right: Sequence[bool], width: int) -> list[int]:
    """Widths with the longest texts cut, none below the narrowest, until all fit."""
    texts = sorted(size for size, number in zip(sizes, right, strict=True) if not number)
    room = width - GAP * (len(sizes) - 1) - (sum(sizes) - sum(texts))
    longest = max(sizes, default=0)
    for place, size in enumerate(texts):
        if size * (len(texts) - place) > room:
            longest = max(NARROWEST, room // (len(texts) - place))
            break
        room -= size
    return [
        size if number else min(size, longest) for size, number in zip(sizes, right, strict=True)
    ]
