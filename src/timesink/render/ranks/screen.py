"""What is said about a set of ranks on a terminal and in Markdown: the answer first."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from timesink.analyses.ranks.rank_set import RankSet
from timesink.model import units
from timesink.output.markdown import bullets
from timesink.output.tables import markdown_table, text_table
from timesink.output.terminal import text
from timesink.render.cells import Cells, fitting
from timesink.render.diagnosis.words import cause_name
from timesink.render.ranks import words
from timesink.render.ranks.cells import collective_cells, rank_cells, rank_group_lines
from timesink.render.ranks.shades import shaded

_HEAT_TITLE = "Wait caused, by rank and step"
_MOST_HELD = 4
_INDENT = 2


def answer_lines(ranks: RankSet) -> Iterator[RenderableType]:
    """Who holds the others up, why and what to try; or that nobody does."""
    held = words.held_up(ranks.analysis.stragglers, ranks.analysis.panel)
    if not held:
        yield text(words.nobody_sentence(ranks), "green" if words.is_judged(ranks) else "yellow")
        return
    for one in held[:_MOST_HELD]:
        yield text(words.held_sentence(one, ranks.analysis.panel), "bold red")
        for said in (
            f"{cause_name(one.cause)}: {' '.join(one.evidence)}",
            f"try: {words.advice(one)}",
        ):
            yield Padding(text(said), (0, 0, 0, _INDENT))
    if len(held) > _MOST_HELD:
        yield text(f"and {units.counted(len(held) - _MOST_HELD, 'more')} that cost less", "dim")


def set_blocks(ranks: RankSet, top: int, width: int) -> Iterator[RenderableType]:
    """The map, the tables and the lines about all ranks."""
    yield from _heat(ranks, width)
    for cells in _tables(ranks, top):
        yield ""
        yield text(cells.title, "bold")
        shown = fitting(cells, width)
        yield text_table(shown.columns, shown.rows, shown.numeric, width)
    groups = rank_group_lines(ranks)
    if groups:
        yield ""
        yield text("Ranks that behave alike", "bold")
        yield from (Padding(text(line), (0, 0, 0, _INDENT)) for line in groups)


def _tables(ranks: RankSet, top: int) -> list[Cells]:
    made = [rank_cells(ranks, top), collective_cells(ranks, top)]
    return [cells for cells in made if cells.rows]


def _heat(ranks: RankSet, width: int) -> Iterator[RenderableType]:
    panel = ranks.analysis.panel
    if not words.is_judged(ranks):
        return
    made = shaded(panel, {one.rank for one in ranks.analysis.stragglers}, width)
    yield ""
    yield text(_HEAT_TITLE, "bold").append(f" ({made.columns})", "not bold")
    label = max(len(row.name) for row in made.rows)
    for row in made.rows:
        mark = ">" if row.marked else " "
        line = Text(f"{mark} {row.name:>{label}}  ", "bold red" if row.marked else "")
        for cell, colour in row.cells:
            line.append(cell, colour)
        yield line
    yield text(f"{'':{label + 4}}{made.legend}", "dim")
    if made.note:
        yield text(made.note, "dim")


# -- Markdown --------------------------------------------------------------------------------------


def markdown_blocks(ranks: RankSet, top: int) -> Iterator[str]:
    """The same as Markdown."""
    held = words.held_up(ranks.analysis.stragglers, ranks.analysis.panel)
    yield "## Who holds the others up"
    yield bullets(
        f"**{words.held_sentence(one, ranks.analysis.panel)}** {cause_name(one.cause)}: "
        f"{' '.join(one.evidence)} {words.advice(one)}"
        for one in held
    ) or words.nobody_sentence(ranks)
    for cells in _tables(ranks, top):
        yield f"## {cells.title}"
        yield markdown_table(cells.columns, cells.rows, cells.numeric)
    groups = rank_group_lines(ranks)
    if groups:
        yield "## Ranks that behave alike"
        yield bullets(groups)
