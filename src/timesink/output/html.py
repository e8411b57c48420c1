"""A document as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from timesink.errors import TimesinkError
from timesink.output import blocks
from timesink.output.json import in_script, to_json
from timesink.output.names import cut_middle, in_html
from timesink.output.numbers import first_nodes, words_at
from timesink.patterns import regex

STATIC = Path(__file__).parent / "static"
"""Where the build of `web/` puts what shows reports."""
_BUNDLE = ("report.js", "report.css")
MAX_BYTES = 1_000_000
"""Larger files are not sent around; tables, then names, get shorter until they fit."""
_FRAME_BYTES = 10_000
"""More than the page around all this takes."""
_LONGEST = 2000
"""Letters of a text for readers without scripts; some names have a hundred thousand."""
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
)
_SCRIPT_ENDS = regex("<(/script|!--)", re.IGNORECASE)
"""What a browser takes for the end of a script, or for a comment, though it stands in quotes."""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="generator" content="timesink {version}">
<title>{title} - timesink</title>
<style>{style}</style>
</head>
<body>
<div id="timesink">{plain}</div>
<script type="application/json" id="timesink-document">{document}</script>
<script>{script}</script>
</body>
</html>"""
_ROWS = (1000, 500, 250, 120, 60, 30, 15)
"""Rows of the longest tables, tried in this order."""
_LETTERS = 2000
"""Of texts that are longer, nobody reads the middle."""
_FEW_LETTERS = (500, 100)
"""Letters of the longest texts where few rows do not help, tried in this order."""


def report_html(document: blocks.Document) -> str:
    """The file: a document, what shows it, and its answer for readers without scripts."""
    script, style = bundle()
    plain = "".join(_plain(document))
    taken = sum(len(text.encode()) for text in (script, style, plain))
    _, json = fit_document(document, MAX_BYTES - _FRAME_BYTES - taken)
    return _PAGE.format(
        policy=_POLICY,
        version=in_html(document.version),
        title=_text(document.title),
        style=style.replace("</style", "<\\/style"),
        plain=plain,
        document=json,
        script=_SCRIPT_ENDS.sub(r"\\x3c\1", script),
    )


# -- without scripts -------------------------------------------------------------------------------


def _plain(document: blocks.Document) -> Iterator[str]:
    """The answer and what to do, as text."""
    yield f"<p>{_text(document.subject)}</p><h1>{_text(document.headline)}</h1>"
    sections = [section for section in document.sections if section.clock in ("", document.clock)]
    for block in (block for section in sections for block in section.blocks):
        if isinstance(block, blocks.Verdict):
            yield f"<p>{_text(block.sentence)}</p>"
        if isinstance(block, blocks.Findings | blocks.Causes):
            items = "".join(
                f"<li><strong>{_text(card.title)}</strong>: "
                f"{_text(card.sentence)} {_text(card.advice)}</li>"
                for card in block.items
            )
            yield f"<ul>{items}</ul>" if items else f"<p>{_text(block.empty)}</p>"
        if isinstance(block, blocks.Text):
            yield f"<p>{_text(block.text)}</p>"
    yield "<noscript><p>Pictures and tables need JavaScript.</p></noscript>"


def _text(text: str) -> str:
    return in_html(cut_middle(text, _LONGEST))


def bundle() -> tuple[str, str]:
    """The program and the style of a report; a checkout in which they were not built is told so."""
    try:
        program, style = ((STATIC / name).read_text(encoding="utf-8") for name in _BUNDLE)
    except FileNotFoundError as error:
        name = Path(error.filename).name
        raise TimesinkError(
            f"{name}, which shows reports, is not built", "run make web in the source tree"
        ) from None
    return program, style


# -- what fits -------------------------------------------------------------------------------------


def fit_document(document: blocks.Document, most_bytes: int) -> tuple[blocks.Document, str]:
    """The document with as many rows per table as there is room for; few are always shown.

    Beside it is its JSON, which may stand in a script element.  Very long names lose their middle,
    which is seen in them.
    """
    for shorter in _ever_shorter(document):
        json = in_script(to_json(shorter))
        # As a file has it: escaped brackets of kernel names take room.
        if len(json.encode()) <= most_bytes:
            break
    return shorter, json


def _ever_shorter(document: blocks.Document) -> Iterator[blocks.Document]:
    yield document
    shorter: blocks.Document = _with_texts_cut(document, _LETTERS)
    for rows in _ROWS:
        sections = (
            replace(section, blocks=tuple(_first_rows(block, rows) for block in section.blocks))
            for section in shorter.sections
        )
        shorter = replace(shorter, sections=tuple(sections))
        yield shorter
    for letters in _FEW_LETTERS:
        yield _with_texts_cut(shorter, letters)


def _first_rows(block: blocks.Block, rows: int) -> blocks.Block:
    if isinstance(block, blocks.Tree) and len(block.depth) > rows:
        return first_nodes(block, rows)
    if not isinstance(block, blocks.Table) or block.rows <= rows:
        return block
    columns = []
    for column in block.columns:
        data = column.data
        first = (
            blocks.Numbers(data.values[:rows])
            if isinstance(data, blocks.Numbers)
            else words_at(data, range(rows))
        )
        columns.append(replace(column, data=first))
    return replace(block, columns=tuple(columns), rows=rows)


def _with_texts_cut(value: Any, letters: int) -> Any:
    """A block, or what it holds, in which no text is longer; drawings stay whole."""
    if isinstance(value, str):
        return cut_middle(value, letters)
    if isinstance(value, tuple):
        return tuple(_with_texts_cut(item, letters) for item in value)
    if isinstance(value, Struct) and not isinstance(value, blocks.Numbers | blocks.Picture):
        return type(value)(
            **{name: _with_texts_cut(member, letters) for name, member in asdict(value).items()}
        )
    return value
