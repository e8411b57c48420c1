"""A document as Markdown, for comments and files: names in it are never taken for markup."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, TypeAlias

import msgspec

from timesink.output import blocks, tables
from timesink.output.blocks import Document, Section
from timesink.output.names import cut_middle, in_line
from timesink.output.numbers import cost_of
from timesink.patterns import regex

Words: TypeAlias = Callable[[str], str]
"""What makes a sentence harmless."""

_LONGEST_SENTENCE, _LONGEST_CELL = 600, 80
_CODE = regex(r"((?<!`)`(?!`)[^`]+(?<!`)`(?!`))")
_WIDE = regex(" {2,}")
"""Around commands, where there are no marks to set them off."""
_REFERS = regex(r"(?<!\w)@(?=\w)|#(?=\d)")
"""What a forge takes for a person to call, or for another issue to link."""
_MARKS = regex(r"\*|~|(?<![^\W_])_|_(?![^\W_])")
"""What begins or ends bold, slanted or struck out words: patterns and names hold these as well."""


def to_markdown(document: Document) -> str:
    """What was read, the answer, notes, then section by section."""
    parts = [f"# {in_line(document.subject)}"] if document.subject else []
    parts += [f"**{in_line(document.headline)}**"] if document.headline else []
    parts += [f"> {in_line(note)}" for note in document.notes]
    parts += [section_markdown(section) for section in document.in_text()]
    return "\n\n".join(filter(None, parts))


def section_markdown(section: Section, level: str = "##") -> str:
    """A section under a heading of a level."""
    return "\n\n".join(filter(None, _section(section, level, in_line)))


def bullets(lines: Iterable[str]) -> str:
    """Lines as a list."""
    return "\n".join(f"- {line}" for line in lines)


# -- comments --------------------------------------------------------------------------------------


def to_comment(document: Document, most_lines: int, needed: Collection[str] = ()) -> str:
    """A document as a comment on a pull request: of bounded height, its tables folded.

    Where there is no room, sections go, the last ones first, but for those that are `needed`.
    """
    first, dot, rest = document.headline.partition(". ")
    headline = f"**{harmless(first)}{dot.strip()}** {harmless(rest)}".strip() if first else ""
    head = [f"## {document.title}", headline]
    parts = [(section.id, _fold_section(section)) for section in document.sections]
    parts = [(name, part) for name, part in parts if part]

    def lines() -> list[str]:
        every = filter(None, (*head, *(part for _, part in parts)))
        return "\n\n".join(every).splitlines()

    while len(lines()) > most_lines:
        spare = [place for place, (name, _) in enumerate(parts) if name not in needed]
        if len(spare) < 2:
            break
        del parts[spare[-1]]
    comment_lines = lines()
    return "\n".join(
        comment_lines
        if len(comment_lines) <= most_lines
        else [*comment_lines[: most_lines - 1], "..."]
    )


def _fold_section(section: Section) -> str:
    """A section of a comment; one that begins with a table shows when its title is opened."""
    first, untitled = next(iter(section.blocks), None), msgspec.structs.replace(section, title="")
    if not isinstance(first, blocks.Table | blocks.Attribution):
        named = f"**{harmless(section.title)}**" if section.title else ""
        return "\n\n".join(filter(None, (named, *_section(untitled, "", harmless))))
    title = tables.heading(section.title, section.blocks)
    body = "\n\n".join(filter(None, _section(untitled, "", harmless)))
    return f"<details><summary>{harmless(title)}</summary>\n\n{body}\n\n</details>"


def harmless(sentence: str) -> str:
    r"""A sentence that calls nobody, links nothing and has no markup, whatever names it holds."""
    if len(sentence) > _LONGEST_SENTENCE:
        sentence = f"{sentence[: _LONGEST_SENTENCE - 4].rstrip()} ..."
    parts = _CODE.split(in_line(sentence))
    return "".join(
        part if odd % 2 else _WIDE.sub(" ", _plain(part)) for odd, part in enumerate(parts)
    )


def _plain(text: str) -> str:
    return _REFERS.sub(r"\g<0><!-- -->", _MARKS.sub(r"\\\g<0>", text))


# -- sections and blocks ---------------------------------------------------------------------------


def _section(section: Section, level: str, escape: Words) -> Iterator[str]:
    every = (
        tables.tree_table(block) if isinstance(block, blocks.Tree) else block
        for block in section.blocks
    )
    writable = [block for block in every if type(block) in _WRITERS]
    if not writable and not section.lead:
        return
    is_single = len(writable) == 1
    if section.title:
        yield f"{level} {escape(tables.heading(section.title, writable))}"
    yield escape(section.lead)
    for kind, group in groupby(writable, type):
        together = list(group)
        if kind is blocks.Text:
            lines = [escape(block.text) for block in together if isinstance(block, blocks.Text)]
            yield bullets(lines) if len(lines) > 1 else lines[0]
            continue
        for block in together:
            hidden = kind is blocks.Causes or (is_single and (section.title or not level))
            title = "" if hidden else tables.title_of(block, section.title)
            yield f"**{escape(title)}**" if title else ""
            yield _WRITERS[kind](block, escape)


def _label_bullets(rows: Iterable[tuple[str, str]], escape: Words) -> str:
    return bullets(f"{escape(label)}: {escape(value)}" for label, value in rows)


def _table(block: blocks.Table | None, escape: Words) -> str:
    if block is None:
        return ""
    titles, rows, right = tables.lines_of(block)
    if escape is harmless:
        rows = tuple(tuple(cut_middle(cell, _LONGEST_CELL) for cell in row) for row in rows)
    table = tables.markdown_table(titles, rows, right) if block.rows or not block.note else ""
    table = _plain(table) if escape is harmless else table
    return "\n\n".join(filter(None, (table, escape(block.rest), escape(block.note))))


def _findings(block: blocks.Findings, escape: Words) -> str:
    items = []
    for card in block.items:
        gain = f"It {card.gain}." if card.gain else ""
        text = escape(" ".join(filter(None, (card.sentence, card.advice, gain))))
        items.append(f"**{escape(card.title)}** (`{card.rule}`, {card.severity}): {text}")
    return bullets(items) or escape(block.empty)


def _causes(block: blocks.Causes, escape: Words) -> str:
    """Causes under their numbers, each with what it rests on; then what is different around it."""
    is_anomaly_only = all(card.role == "anomaly" for card in block.items)
    parts = [escape(block.empty) if is_anomaly_only else ""]
    cards = enumerate(block.items, 1)
    for place, (role, group) in enumerate(
        groupby(cards, lambda numbered_card: numbered_card[1].role)
    ):
        parts.append(f"**{tables.ROLES.get(role, role)}**" if place else "")
        items = []
        for number, card in group:
            cost = cost_of(card)
            title = f"**{escape(card.title)}**{f' ({escape(cost)})' if cost else ''}"
            line = escape(" ".join(filter(None, (card.sentence, card.advice))))
            line = f"{number}. {': '.join(filter(None, (title, line)))}"
            items.append("\n   - ".join([line, *map(escape, card.evidence)]))
        parts.append("\n".join(items))
    return "\n\n".join(filter(None, parts))


def _verdict(block: blocks.Verdict, escape: Words) -> str:
    values = ", ".join(tables.verdict_words(block))
    text = f"{block.sentence} {values}." if values else block.sentence
    return "\n\n".join([escape(text), bullets(map(escape, block.notes))]).rstrip()


def _health(block: blocks.Health, escape: Words) -> str:
    return bullets(
        f"{item.severity}: {item.count} x {escape(item.title)}"
        f"{escape(f': {item.told}') if item.told else ''}; {escape(item.consequence)}"
        for item in block.items
    )


_WRITERS: Mapping[type, Callable[[Any, Words], str]] = {
    blocks.Text: lambda block, escape: escape(block.text),
    blocks.Facts: lambda block, escape: _label_bullets(block.rows, escape),
    blocks.Tiles: lambda block, escape: _label_bullets(tables.known_tiles(block), escape),
    blocks.Parts: lambda block, escape: _table(tables.parts_table(block), escape),
    blocks.Stacks: lambda block, escape: _table(tables.stacks_table(block), escape),
    blocks.Findings: _findings,
    blocks.Verdict: _verdict,
    blocks.Attribution: lambda block, escape: _table(tables.attribution_table(block), escape),
    blocks.Causes: _causes,
    blocks.Table: _table,
    blocks.Health: _health,
}
"""Curves, trees, maps and code are for the screen and for pages."""
