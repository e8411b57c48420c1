"""Where entries stand in a TOML file, which its parser does not tell."""

from __future__ import annotations

import re

_HEADER = re.compile(
    r"\s*\[\s*(?P<table>[^\[\]\"'.\s]+)\s*(?:\.\s*(?P<entry>.+?))?\s*\]\s*(?:#.*)?"
)
_KEY = re.compile(r"""\s*(?P<key>"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)""")


def line_of(text: str, table: str, entry: str | None = None) -> int | None:
    r"""The line of a table, or of an entry of it, from 1; None where it is written otherwise.

    >>> text = '[cycle]\nmax = "1 s"\n[operators]\n"aten::mm" = { max = "1 ms" }'
    >>> line_of(text, "cycle"), line_of(text, "operators", "aten::mm"), line_of(text, "modules")
    (1, 4, None)
    """
    of_itself = entry is None or entry == table
    inside = None
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.fullmatch(line)
        if header is not None:
            inside = header["table"] if header["entry"] is None else None
            own = header["entry"] is None if of_itself else _plain(header["entry"] or "") == entry
            if header["table"] == table and own:
                return number
        elif inside == table and not of_itself:
            key = _KEY.match(line)
            if key is not None and _plain(key["key"]) == entry:
                return number
    return None


def _plain(key: str) -> str:
    """A key without its quotes."""
    key = key.strip()
    quoted = len(key) > 1 and key[0] == key[-1] and key[0] in "\"'"
    return key[1:-1].replace('\\"', '"').replace("\\\\", "\\") if quoted else key
