"""A document on a terminal, and as plain text in files and pipes, where colours are in the way."""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import StringIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from timesink.output import blocks, tables
from timesink.output.blocks import Document, Section, Tone
from timesink.output.lines import GAP, Item, LabelGrid, TextLine
from timesink.output.names import cell_len, printable
from timesink.output.numbers import change_of, change_text, cost_of, number_text
from timesink.patterns import regex

if TYPE_CHECKING:
    from rich.console import RenderableType

FILE_WIDTH = 100
"""Characters of a line of text in a file."""
WIDEST = 140
"""Characters of a line on a screen, however wide that is."""
_NARROWEST = 60
_INDENT = 2
_CARD = 7
"""Blanks before what is said of a finding, so that severities stand out."""
_BAR = 40
_SHORT_BAR, _SHORTEST_BAR = 12, 8
"""As short as bars are made for what parts mean, and for the interval of a change."""
_VISIBLE = 0.0005
"""From this share on a part reads as more than 0.0 %."""
_PART = 28
"""Characters of the name of a part."""
_TONES: Mapping[Tone, str] = {
    "plain": "",
    "good": "green",
    "notice": "yellow",
    "warning": "yellow",
    "bad": "red",
}
_SEVERITIES = {
    "high": "bold red",
    "medium": "yellow",
    "low": "dim",
    "error": "red",
    "warning": "yellow",
    "info": "dim",
}
_PARTS = {
    "kernel": "green",
    "communication": "magenta",
    "data_loader": "red",
    "other": "dim",
    "both_low": "red",
    "low_sm": "cyan",
    "low_dram": "blue",
    "neither_low": "green",
    "unknown": "dim",
}
_LEVELS = "▁▂▃▄▅▆▇█"
_STRIP = 60
_SHADES = "·░▒▓█"
"""From nothing to the largest value of a heat map."""
_SHADE_COLOURS = ("dim", "yellow", "yellow", "red", "bold red")
_WIDEST_SHADE, _MAX_SHADED = 4, 16
_MAX_NODES = 16
_TOGETHER = regex(
    r"(?<=\d) (?=%|[mun]?s\b|[kMGT]?B\b|[KMG]iB|MHz|m?W\b|C\b|\d{3}\b)|(?<=→) | (?=→)"
    r"|(?<=[GNXHM][PL]U) (?=\d)|(?<=%) (?=of a core)|(?<=% of) (?=a core)|(?<=% of a) (?=core)"
    r"|(?<=p) (?=[=<])|(?<=p [=<]) "
)
"""Blanks inside an amount or the name of a device, at which no line ends."""
_GLUE = "\N{NO-BREAK SPACE}"


def to_text(document: Document, width: int = FILE_WIDTH) -> str:
    """The document as plain text, in lines of at most this width."""
    return to_plain(content(document, width), width)


def print_text(document: Document, widest: int = WIDEST) -> None:
    """Print the document: in colour on a terminal, plain elsewhere."""
    width = min(max(shutil.get_terminal_size((100, 24)).columns, _NARROWEST), widest)
    if not sys.stdout.isatty():
        sys.stdout.write(to_text(document, width) + "\n")
        return
    from rich.console import Console, Group  # noqa: PLC0415 - only a terminal needs it

    Console(width=width).print(Group(*map(_to_rich, content(document, width))), crop=False)


def text(value: str, style: str = "") -> TextLine:
    """Text from a trace, with nothing in it that steers a terminal."""
    return TextLine(printable(value), style)


def to_plain(items: Iterable[Item], width: int) -> str:
    """Lines without escapes and without trailing spaces."""
    lines: list[str] = []
    for item in items:
        plain = item.to_plain(width)
        lines += _folded(item, width) if plain is None else plain
    return "\n".join(part.rstrip() for line in lines for part in line.splitlines() or [""])


def _folded(item: Item, width: int) -> list[str]:
    """The lines of what is too long for one, or has letters that are wide."""
    from rich.console import Console, Group  # noqa: PLC0415 - most lines fit

    out = StringIO()
    # Neither numbers to be coloured nor names of pictures are looked for in the text.
    console = Console(
        file=out, width=width, color_system=None, force_terminal=False, highlight=False, emoji=False
    )
    console.print(Group(_to_rich(item)), crop=False)
    return out.getvalue().splitlines()


def _to_rich(item: Item) -> RenderableType:
    """A line or a table as Rich has it."""
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    if isinstance(item, TextLine):
        (first, style), *parts = item.parts
        line = Text(first, style)
        if not item.is_folded:
            line = Text(first, style, no_wrap=True, overflow="ignore")
        for part, more_style in parts:
            line.append(part, more_style or None)
        return line
    if isinstance(item, LabelGrid):
        # Blanks that belong to labels are dim as they are.
        padding = (0, GAP, 0, 0) if item.is_record else (0, 1)
        grid = Table(box=None, show_header=False, pad_edge=False, padding=padding)
        labels = max((cell_len(label) for label, _ in item.rows), default=0)
        grid.add_column(
            style="dim",
            no_wrap=not item.is_record,
            min_width=labels if item.is_record else None,
        )
        grid.add_column(overflow="fold")
        for label, value in item.rows:
            grid.add_row(Text(label), Text(value))
        if item.is_record:
            grid.add_row()
        return grid
    grid = Table(box=None, header_style="bold", pad_edge=False, padding=(0, GAP, 0, 0))
    for name, size, to_right in zip(item.titles, item.widths, item.right, strict=True):
        grid.add_column(
            Text(name),
            justify="right" if to_right else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=size,
        )
    for row in item.rows:
        grid.add_row(*map(Text, row))
    return grid


def wrap_line(line: str, width: int, style: str = "", indent: int = 0) -> Iterator[TextLine]:
    """A line that goes on under where it began, with no amount torn from its unit."""
    glued, before = _TOGETHER.sub(_GLUE, printable(line)), " " * indent
    for break_long in (False, True):
        parts = textwrap.wrap(
            glued,
            width,
            initial_indent=before,
            subsequent_indent=before,
            break_on_hyphens=False,
            break_long_words=break_long,
        )
        if max(map(cell_len, parts), default=0) <= width:
            break
    for part in parts:
        yield TextLine(part.replace(_GLUE, " "), style)


# -- the document and its sections -----------------------------------------------------------------


def content(document: Document, width: int) -> list[Item]:
    """The answer, what was read, notes, then section by section."""
    lines: list[Item] = []
    if document.headline:
        lines += wrap_line(document.headline, width, f"bold {_TONES[document.tone]}".rstrip())
    if not document.headline.startswith(document.subject):
        lines += wrap_line(document.subject, width, "dim")
    for note in document.notes:
        lines += wrap_line(f"note: {note}", width, "dim")
    for section in document.in_text():
        section_lines = list(_section(section, width))
        lines += [TextLine(), *section_lines] if lines and section_lines else section_lines
    return lines


def _section(section: Section, width: int) -> Iterator[Item]:
    members = [
        tables.tree_table(block) if isinstance(block, blocks.Tree) else block
        for block in section.blocks
        if not isinstance(block, blocks.Picture | blocks.Scatter | blocks.Code)
    ]
    if not members and not section.lead:
        return
    is_single = len(members) == 1
    if section.title:
        yield text(tables.heading(section.title, members), "bold")
    if section.lead:
        yield from wrap_line(section.lead, width, "dim")
    for place, block in enumerate(members):
        title = "" if is_single and section.title else tables.title_of(block, section.title)
        if title:
            if place:
                yield TextLine()
            yield text(title, "bold" if is_single else "")
        yield from _WRITERS[type(block)](block, width)


# -- words -----------------------------------------------------------------------------------------


def _label_table(rows: Iterable[tuple[str, str]]) -> LabelGrid:
    return LabelGrid([(printable(label), printable(value)) for label, value in rows])


def _findings(block: blocks.Findings, width: int) -> Iterator[Item]:
    if not block.items:
        yield text(block.empty, "green")
    for card in block.items:
        line = TextLine(f"{card.severity:<{_CARD}}", _SEVERITIES.get(card.severity, ""))
        yield line.append(printable(f"{card.title} [{card.rule}]"), "default")
        yield from _card(card, width, card.gain)


def _causes(block: blocks.Causes, width: int) -> Iterator[Item]:
    """Causes under their numbers, then what else is different around it."""
    if block.empty and all(card.role == "anomaly" for card in block.items):
        yield from wrap_line(block.empty, width, "", _INDENT)
    role = block.items[0].role if block.items else ""
    for number, card in enumerate(block.items, 1):
        if card.role != role:
            yield from (TextLine(), text(tables.ROLES.get(card.role, "")))
            role = card.role
        title = f"{number}. {card.title}" if len(block.items) > 1 else card.title
        cost = cost_of(card)
        yield text(title, "bold red").append(printable(f"  {cost}" if cost else ""), "default")
        yield from _card(card, width)


def _card(
    card: blocks.FindingCard | blocks.CauseCard, width: int, gain: str = ""
) -> Iterator[Item]:
    """What is said under a title: the sentence, what to try, what it rests on."""
    advice = f"try: {card.advice}" if card.advice else ""
    for sentence in filter(None, (card.sentence, advice, gain)):
        yield from wrap_line(sentence, width, "", _CARD)
    for seen in card.evidence:
        yield from wrap_line(f"seen: {seen}", width, "dim", _CARD)


def _verdict(block: blocks.Verdict, width: int) -> Iterator[Item]:
    yield from wrap_line(block.sentence, width, "bold")
    parts = tables.verdict_words(block)
    if parts and block.low is not None and block.high is not None:
        parts.append(f"({change_text(block.low, 'share')} to {change_text(block.high, 'share')})")
    if parts:
        yield text("  ".join(parts), "dim")
    for note in block.notes:
        yield from wrap_line(note, width, "dim", _INDENT)


def _health(block: blocks.Health, width: int) -> Iterator[Item]:
    for item in block.items:
        times = f"{item.count} x " if item.count > 1 else ""
        line = TextLine(f"{item.severity:<9}", _SEVERITIES.get(item.severity, ""))
        yield line.append(printable(f"{times}{item.title}"), "default")
        advice = f"advice: {item.advice}" if item.advice else ""
        detail, example = ("", f"example: {item.told}") if item.is_example else (item.told, "")
        for sentence in filter(None, (detail, item.consequence, advice, example)):
            yield from wrap_line(sentence, width, "dim", 9)


# -- tables and bars -------------------------------------------------------------------------------


def _table(block: blocks.Table | None, width: int) -> Iterator[Item]:
    if block is None:
        return
    if block.rows or not block.note:
        yield from tables.text_table(block, width)
    for sentence in filter(None, (block.rest, block.note)):
        yield from wrap_line(sentence, width, "dim")


def _parts(block: blocks.Parts, width: int) -> Iterator[Item]:
    """A bar for each part; what parts mean stands in a column, where there is room for all."""
    label = max((cell_len(part.name) for part in block.parts), default=0) + _INDENT
    shares = [part.value / block.total if block.total else 0.0 for part in block.parts]
    help_width = max((cell_len(part.help) for part in block.parts), default=0) + GAP
    room = width - label - 23 - help_width
    most = min(_BAR, room) if room >= _SHORT_BAR else _BAR
    bars = ["█" * round(most * share) or "▏" * (share >= _VISIBLE) for share in shares]
    longest = max(map(len, bars), default=0)
    for part, share, bar in zip(block.parts, shares, bars, strict=True):
        length, share_said = number_text(part.value, block.kind), number_text(share, "share")
        line = text(f"  {part.name:<{label}}{length:>10}{share_said:>9}  ")
        line.append(bar, _PARTS.get(part.id, "yellow"))
        if room >= _SHORT_BAR:
            line.append(f"{'':{longest - len(bar) + GAP}}{printable(part.help)}", "dim")
        line.rstrip()
        yield line


def attribution_lines(block: blocks.Attribution, width: int) -> Iterator[TextLine]:
    """A row and a bar for each part of a change; the interval goes where there is no room."""
    largest = max((abs(row.change) for row in block.rows), default=0.0)
    names = [printable(row.name) for row in block.rows]
    cut = [f"{name[: _PART - 1]}…" if len(name) > _PART else name for name in names]
    changes = [change_of(row.change, block.kind) for row in block.rows]
    intervals = [tables.interval_of(row) for row in block.rows]
    wide = [max(map(cell_len, column), default=0) for column in (cut, changes, intervals)]
    room = width - sum(wide) - 8
    for row, name, change, interval in zip(block.rows, cut, changes, intervals, strict=True):
        line = TextLine(f"  {name:<{wide[0]}}  {change:>{wide[1]}}  ")
        if room >= _SHORTEST_BAR:
            line.append(f"{interval:<{wide[2]}}  ", "dim")
        most = min(max(room if room >= _SHORTEST_BAR else room + wide[2] + 2, 1), _BAR)
        length = max(round(most * abs(row.change) / largest), 1) if largest else 0
        line.append(*(("█" * length, "red") if row.change > 0 else ("░" * length, "green")))
        if row.help and cell_len(line.plain) + 2 + cell_len(row.help) <= width:
            line.append(f"  {printable(row.help)}", "dim")
        line.rstrip()
        yield line


# -- pictures in letters ---------------------------------------------------------------------------


def _curves(block: blocks.Curves, width: int) -> Iterator[Item]:
    """A strip per curve: of many values the largest of neighbours, the largest of all full."""
    label = max((cell_len(curve.name) for curve in block.series), default=0)
    for curve in block.series:
        numbers = [value for value in curve.values if value is not None]
        least = 0.0 if block.from_zero else min(numbers, default=0.0)
        # What nobody knows is drawn lowest, and is no level.
        values = [least if value is None else value for value in curve.values]
        top = (max(values, default=0.0) - least) or 1.0
        groups = min(_STRIP, width - label - 24, len(values))
        ends = [len(values) * place // groups for place in range(groups + 1)] if groups else []
        largest_of = (max(values[start:end]) for start, end in pairwise(ends))
        strip = "".join(
            _LEVELS[min(int((value - least) / top * len(_LEVELS)), len(_LEVELS) - 1)]
            for value in largest_of
        )
        largest = f"{number_text(max(values, default=None), block.kind)} at most"
        if not block.from_zero:
            largest = f"{number_text(least, block.kind)} to {largest.removesuffix(' at most')}"
        yield text(f"  {curve.name:<{label}}  {strip}  {largest}")


def _icicle(block: blocks.Icicle, _: int) -> Iterator[Item]:
    """The first nodes of the tree, indented."""
    depth: list[int] = []
    for parent in block.parent[:_MAX_NODES]:
        depth.append(0 if parent < 0 else depth[parent] + 1)
    for deep, code, value in zip(depth, block.codes, block.value, strict=False):
        yield text(f"  {'  ' * deep}{block.texts[code]}  {number_text(value, block.kind)}")
    if len(block.parent) > len(depth):
        yield text(f"  and {len(block.parent) - len(depth)} more", "dim")


def _heatmap(block: blocks.Heatmap, width: int) -> Iterator[Item]:
    """A line per row; roots, as in the picture of a page: one large value hides no other."""
    rows = block.rows[:_MAX_SHADED]
    label = max((cell_len(row.name) for row in rows), default=0)
    wide = max(1, min(_WIDEST_SHADE, (width - 30) // max(len(block.columns), 1)))
    most = max((value or 0.0 for row in rows for value in row.values), default=0.0)
    first, last = block.columns[0], block.columns[-1]
    along = f"{block.column_title} {first}"
    if len(block.columns) > 1:
        ends = first.partition(" to ")[0], last.rpartition(" to ")[2]
        along = f"{block.column_title}s {' to '.join(ends)}, left to right"
    yield text(along, "dim")
    for row in rows:
        named = f"{'>' if row.marked else ' '} {row.name:>{label}}  "
        line = TextLine().append(named, "bold red" if row.marked else "")
        for value in row.values:
            level = round(math.sqrt(value / most) * (len(_SHADES) - 1)) if value and most else 0
            shade = " " if value is None else _SHADES[level]
            line.append(shade * wide, _SHADE_COLOURS[level])
        yield line
    steps = (((level / (len(_SHADES) - 1)) ** 2) * most for level in range(len(_SHADES)))
    legend = "  ".join(
        f"{shade} {number_text(step, block.kind) if step else 0}"
        for shade, step in zip(_SHADES, steps, strict=True)
    )
    yield text(f"{'':{label + 4}}{legend}", "dim")
    if block.note:
        yield from wrap_line(block.note, width, "dim")


_WRITERS: Mapping[type, Callable[[Any, int], Iterator[Item]]] = {
    blocks.Text: lambda block, width: wrap_line(block.text, width, _TONES[block.tone], _INDENT),
    blocks.Facts: lambda block, _: iter([_label_table(block.rows)]),
    blocks.Tiles: lambda block, _: iter([_label_table(tables.known_tiles(block))]),
    blocks.Parts: _parts,
    blocks.Stacks: lambda block, width: _table(tables.stacks_table(block), width),
    blocks.Findings: _findings,
    blocks.Verdict: _verdict,
    blocks.Attribution: attribution_lines,
    blocks.Causes: _causes,
    blocks.Table: _table,
    blocks.Curves: _curves,
    blocks.Icicle: _icicle,
    blocks.Heatmap: _heatmap,
    blocks.Health: _health,
}
"""Pictures and code are for pages alone."""
