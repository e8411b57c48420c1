"""Tables of a document in text: which columns fit, how names are cut, where numbers stand."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from timesink.model import units
from timesink.model.units import interval_ns
from timesink.output import blocks
from timesink.output.names import cut_apart, end_of_path, in_cell, printable
from timesink.output.numbers import cells, change_of, column, signed, worded

GAP = 2
"""Blanks between columns."""
NARROWEST = 12
"""Names are not cut shorter than this."""
_READABLE, _COMFORTABLE = 22, 40
"""Columns are left out rather than cutting names shorter than this: any column, a minor one."""
_MINOR = 4
"""From here on a column is a minor one."""
_MOST_BARS = 16
"""More bars side by side are left to pages."""


ROLES = {"cause": "Causes", "anomaly": "Anomalies: what is different around it"}
"""Headings above cards of a role."""


class Lines(NamedTuple):
    """Cells of text under their titles, and which columns stand to the right."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]


def _of_text(table: blocks.Table) -> list[blocks.Column]:
    return [one for one in table.columns if (one.main or one.spare) and one.medium != "page"]


def lines_of(table: blocks.Table) -> Lines:
    """The columns of a table that text has, as cells."""
    columns = _of_text(table)
    return Lines(
        tuple(one.title for one in columns),
        tuple(zip(*map(cells, columns), strict=True)),
        tuple(map(_is_right, columns)),
    )


def text_table(table: blocks.Table, width: int) -> RenderableType:
    """The columns for which there is room, with names that are told apart.

    A table too wide for that is shown row by row, one column per line.
    """
    kept = _with_room(table, width)
    by_column = [cells(one) for one in kept]
    if kept and kept[0].cut == "nothing" and not _fits_whole(kept, by_column, width):
        return _under_names([one.title for one in kept], by_column)
    sizes = _fit(_sizes(kept, sys.maxsize), [_is_whole(one) for one in kept], width)
    if sum(sizes) + GAP * (len(sizes) - 1) <= width:
        for place, (one, size) in enumerate(zip(kept, sizes, strict=True)):
            values = by_column[place]
            if size < natural_width(one.title, values):
                # Names that fit, and of which no two look the same.
                if one.cut == "start":
                    values = [end_of_path(value, size) for value in values]
                # The ends of kernels' names tell as much as their beginnings.
                cut = cut_apart(values, size, middle=one.link == "kernel")
                by_column[place] = [cut[value] for value in values]
    names = [printable(one.title) for one in kept]
    right = [_is_right(one) for one in kept]
    sizes = [natural_width(*column) for column in zip(names, by_column, strict=True)]
    sizes = _fit(sizes, right, width)
    rows = [[printable(value) for value in row] for row in zip(*by_column, strict=True)]
    if sum(sizes) + GAP * (len(sizes) - 1) > width:
        return Group(*(_record(names, row) for row in rows))
    made = RichTable(box=None, header_style="bold", pad_edge=False, padding=(0, GAP, 0, 0))
    for name, size, to_right in zip(names, sizes, right, strict=True):
        made.add_column(
            Text(name),
            justify="right" if to_right else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=size,
        )
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def _with_room(table: blocks.Table, width: int) -> list[blocks.Column]:
    """The columns that are not spared at this width."""
    kept = _of_text(table)
    while kept:
        place = max(range(len(kept)), key=lambda place: (kept[place].spare, place))
        least = _COMFORTABLE if kept[place].spare >= _MINOR else _READABLE
        if not kept[place].spare or sum(_sizes(kept, least)) + GAP * (len(kept) - 1) <= width:
            break
        del kept[place]
    return kept


def _fits_whole(
    columns: Sequence[blocks.Column], by_column: Sequence[Sequence[str]], width: int
) -> bool:
    """Whether there is room for the first column as it is, beside the others cut short."""
    first, *others = (
        natural_width(one.title, values) for one, values in zip(columns, by_column, strict=True)
    )
    shorter = (
        size if _is_whole(one) else min(size, NARROWEST)
        for one, size in zip(columns[1:], others, strict=True)
    )
    return first + sum(shorter) + GAP * len(others) <= width


def _under_names(titles: Sequence[str], by_column: Sequence[Sequence[str]]) -> RenderableType:
    """What each row is about whole, on a line however long, to be copied; the rest below it."""
    lines = []
    for name, *values in zip(*by_column, strict=True):
        lines.append(Text(printable(name), no_wrap=True, overflow="ignore"))
        said = (f"{title} {value}" for title, value in zip(titles[1:], values, strict=True))
        lines += [Text(f"  {', '.join(map(printable, said))}")] if values else []
    return Group(*lines)


def _is_right(one: blocks.Column) -> bool:
    """Whether it stands to the right, as numbers do."""
    return one.right or one.kind != "text"


def _is_whole(one: blocks.Column) -> bool:
    """Whether nothing of it is cut."""
    return _is_right(one) or one.cut == "nothing"


def _sizes(columns: Sequence[blocks.Column], least: int) -> list[int]:
    """How wide columns are: numbers and some words whole, others as short as they may be cut."""
    wide = [natural_width(one.title, cells(one)) for one in columns]
    return [
        size if _is_whole(one) else min(size, least)
        for one, size in zip(columns, wide, strict=True)
    ]


def heading(title: str, shown: Sequence[blocks.Block]) -> str:
    """The title of a section; where it is that of a table, with how much of it is shown."""
    first = shown[0] if shown else None
    is_its = isinstance(first, blocks.Table) and (len(shown) == 1 or first.title == title)
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
    known = [tile for tile in block.tiles if tile.value is not None]
    return [(tile.label, worded(tile.value, tile.kind)) for tile in known]


def verdict_words(block: blocks.Verdict) -> list[str]:
    """From what to what something changed, and by how much; empty where neither is known."""
    if block.base.value is None and block.new.value is None:
        return []
    values = [f"{one.label} {worded(one.value, block.kind)}" for one in (block.base, block.new)]
    change = [] if block.change is None else [signed(block.change, "share")]
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
    if len(block.labels) > _MOST_BARS:
        return None
    parts = (column(one.id, one.name, block.kind, one.values, spare=1) for one in block.parts)
    return _table(block.title, column("label", "", "text", block.labels), *parts)


def attribution_table(block: blocks.Attribution) -> blocks.Table:
    """Parts of a change, row by row."""
    rows, kind = block.rows, block.kind
    changes, intervals = [change_of(one.change, kind) for one in rows], [*map(interval_of, rows)]
    about = column("about", "", "text", [one.help for one in rows], spare=4)
    return _table(
        block.title,
        column("part", "part", "text", [one.name for one in rows]),
        column("base", "base", kind, [one.base for one in rows], spare=2),
        column("new", "new", kind, [one.new for one in rows], spare=2),
        column("change", "change", "text", changes, right=True),
        column("interval", "interval", "text", intervals, cut="nothing", spare=3),
        *([about] if any(one.help for one in rows) else []),
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
            f"{side}_{one.title}",
            f"{one.title} {side}",
            one.kind,
            [one.values[at] for at in rows],
            spare=2 * place,
        )
        for place, pair in enumerate(zip(block.base.details, block.new.details, strict=True))
        for side, one in zip(("base", "new"), pair, strict=True)
    )
    shown = column("node", "call", "text", names), column("state", "state", "text", state)
    return blocks.Table(block.id, block.title, (*shown, *figures), len(rows), block.total)


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
    head, *others = ([in_cell(value) for value in row] for row in [titles, *rows])
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *others])


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


def _record(names: Sequence[str], row: Sequence[str]) -> RichTable:
    table = RichTable(box=None, show_header=False, pad_edge=False, padding=(0, GAP, 0, 0))
    table.add_column(style="dim", min_width=max(map(cell_len, names)))
    table.add_column(overflow="fold")
    for name, value in zip(names, row, strict=True):
        table.add_row(Text(name), Text(value))
    table.add_row()
    return table
