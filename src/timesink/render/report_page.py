"""A document as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from timesink.render.bundle import bundle
from timesink.render.document.blocks import (
    Block,
    CauseCard,
    Causes,
    Document,
    FindingCard,
    Findings,
    Text,
    Verdict,
)
from timesink.render.document.fitting import fitted
from timesink.render.escaping import in_html
from timesink.render.told_apart import cut_middle

MOST_BYTES = 1_000_000
"""Larger files are not sent around; tables, then names, get shorter until they fit."""
_FRAME_BYTES = 10_000
"""More than the page around all this takes."""
_LONGEST = 2000
"""Letters of a text for readers without scripts; some names have a hundred thousand."""
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
)
_SCRIPT_ENDS = re.compile("<(/script|!--)", re.IGNORECASE)
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


def report_html(document: Document) -> str:
    """The file: a document, what shows it, and its answer for readers without scripts."""
    script, style = bundle()
    plain = "".join(_plain(document))
    taken = sum(len(text.encode()) for text in (script, style, plain))
    shown = fitted(document, MOST_BYTES - _FRAME_BYTES - taken)
    return _PAGE.format(
        policy=_POLICY,
        version=in_html(document.version),
        title=_text(document.title),
        style=style.replace("</style", "<\\/style"),
        plain=plain,
        document=shown.json,
        script=_SCRIPT_ENDS.sub(r"\\x3c\1", script),
    )


# -- without scripts -------------------------------------------------------------------------------


def _plain(document: Document) -> Iterator[str]:
    """The answer and what to do, as text."""
    yield f"<p>{_text(document.subject)}</p><h1>{_text(document.headline)}</h1>"
    for section in document.sections:
        for block in section.blocks:
            yield from _plain_block(block)
    yield "<noscript><p>Pictures and tables need JavaScript.</p></noscript>"


def _plain_block(block: Block) -> Iterator[str]:
    if isinstance(block, Verdict):
        yield f"<p>{_text(block.sentence)}</p>"
    if isinstance(block, Findings | Causes):
        items = "".join(map(_plain_card, block.items))
        yield f"<ul>{items}</ul>" if items else f"<p>{_text(block.empty)}</p>"
    if isinstance(block, Text):
        yield f"<p>{_text(block.text)}</p>"


def _plain_card(card: FindingCard | CauseCard) -> str:
    said = _text(card.sentence), _text(card.advice)
    return f"<li><strong>{_text(card.title)}</strong>: {' '.join(said)}</li>"


def _text(said: str) -> str:
    return in_html(cut_middle(said, _LONGEST))
