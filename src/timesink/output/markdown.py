"""A document as Markdown, for comments and files: names in it are never taken for markup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from timesink.output import blocks
from timesink.output.blocks import Document, Section
from timesink.output.names import in_line
from timesink.output.numbers import signed, worded
from timesink.output.tables import (
    attribution_table,
    heading,
    lines_of,
    markdown_table,
    parts_table,
    stacks_table,
    title_of,
)


def to_markdown(document: Document) -> str:
    """What was read, the answer, notes, then section by section."""
    made = [f"# {in_line(document.subject)}"] if document.subject else []
    made += [f"**{in_line(document.headline)}**"] if document.headline else []
    made += [f"> {in_line(note)}" for note in document.notes]
    for section in document.sections:
        if section.medium != "page":
            made += _section(section)
    return "\n\n".join(filter(None, made))


def bullets(lines: Iterable[str]) -> str:
    """Lines as a list."""
    return "\n".join(f"- {line}" for line in lines)


def _section(section: Section) -> Iterator[str]:
    shown = [one for one in section.blocks if type(one) in _WRITERS]
    if not shown and not section.lead:
        return
    alone = len(shown) == 1
    if section.title:
        yield f"## {in_line(heading(section.title, shown))}"
    yield in_line(section.lead)
    for kind, group in groupby(shown, type):
        together = list(group)
        if kind is blocks.Text:
            said = [in_line(one.text) for one in together if isinstance(one, blocks.Text)]
            yield bullets(said) if len(said) > 1 else said[0]
            continue
        for block in together:
            title = "" if alone and section.title else title_of(block, section.title)
            yield f"**{in_line(title)}**" if title else ""
            yield _WRITERS[kind](block)


def _facts(block: blocks.Facts) -> str:
    return bullets(f"{in_line(label)}: {in_line(value)}" for label, value in block.rows)


def _tiles(block: blocks.Tiles) -> str:
    known = [tile for tile in block.tiles if tile.value is not None]
    return bullets(f"{tile.label}: {worded(tile.value, tile.kind)}" for tile in known)


def _table(block: blocks.Table) -> str:
    made = lines_of(block)
    table = (
        markdown_table(made.titles, made.rows, made.right) if block.rows or not block.note else ""
    )
    return "\n\n".join(filter(None, (table, in_line(block.rest), in_line(block.note))))


def _stacks(block: blocks.Stacks) -> str:
    table = stacks_table(block)
    return "" if table is None else _table(table)


def _findings(block: blocks.Findings) -> str:
    items = [
        f"**{in_line(card.title)}** (`{card.rule}`, {card.severity}): "
        f"{in_line(' '.join(filter(None, (card.sentence, card.advice, _gain(card)))))}"
        for card in block.items
    ]
    return bullets(items) or in_line(block.empty)


def _gain(card: blocks.FindingCard) -> str:
    return f"It {card.gain}." if card.gain else ""


def _causes(block: blocks.Causes) -> str:
    items = [
        f"**{in_line(card.title)}**: "
        f"{in_line(' '.join(filter(None, (card.sentence, *card.evidence, card.advice))))}"
        for card in block.items
    ]
    return bullets(items) or in_line(block.empty)


def _verdict(block: blocks.Verdict) -> str:
    values = [f"{one.label} {worded(one.value, block.kind)}" for one in (block.base, block.new)]
    change = [] if block.change is None else [signed(block.change, "percent")]
    said = [block.sentence]
    if block.base.value is not None or block.new.value is not None:
        said.append(f"{', '.join([' → '.join(values), *change])}.")
    return "\n\n".join([in_line(" ".join(said)), bullets(map(in_line, block.notes))]).rstrip()


def _health(block: blocks.Health) -> str:
    return bullets(
        f"{item.severity}: {item.count} x {in_line(item.title)}"
        f"{in_line(f': {item.told}') if item.told else ''}; {in_line(item.consequence)}"
        for item in block.items
    )


_WRITERS: Mapping[type, Callable[[Any], str]] = {
    blocks.Text: lambda block: in_line(block.text),
    blocks.Facts: _facts,
    blocks.Tiles: _tiles,
    blocks.Parts: lambda block: _table(parts_table(block)),
    blocks.Stacks: _stacks,
    blocks.Findings: _findings,
    blocks.Verdict: _verdict,
    blocks.Attribution: lambda block: _table(attribution_table(block)),
    blocks.Causes: _causes,
    blocks.Table: _table,
    blocks.Health: _health,
}
"""Curves, trees and maps are for the screen and for pages."""
