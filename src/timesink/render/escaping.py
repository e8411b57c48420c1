"""Names from recordings in Markdown and HTML, where they must not be taken for markup."""

from __future__ import annotations

import re
from html import escape

from timesink.render.terminal import printable

_TYPES = re.compile(
    r"auto|bool|char|const|double|false|float|half|u?int(?:8_t|16_t|32_t|64_t)?|long|short|signed"
    r"|size_t|true|unsigned|void"
)
"""Template arguments that look like tags and are none."""
_TAG = re.compile(r"<(?=[/!?]|([A-Za-z][A-Za-z0-9+.-]*)(?:(?=[\s/>]|$)|:(?!:))([^<>]*))")
"""What may be a tag, a comment, or an address that browsers follow."""
_SPAN = re.compile(r"((?<!`)`(?!`)[^`]+(?<!`)`(?!`))")


def in_html(value: str) -> str:
    r"""Text of a page: nothing in it is markup, and every character can be seen.

    >>> print(in_html("a<b\x1b\u202e"))
    a&lt;b\x1b\u202e
    """
    return escape(printable(value))


def in_cell(value: str) -> str:
    r"""Text of a table cell that ends neither the cell nor the line, and opens no tag.

    >>> print(in_cell("a|b<float>"), in_cell("`x`"))
    a\|b&lt;float> \`x\`
    """
    return _without_markup(printable(value).replace("<", "&lt;")).replace("|", "\\|")


def in_published_cell(value: str) -> str:
    """The same with template arguments as they are: others compare these cells with theirs.

    >>> print(in_published_cell("f<float, g<at::h>>"), in_published_cell("<script>"))
    f<float, g<at::h>> &lt;script>
    """
    return _without_markup(_TAG.sub(_opened, printable(value))).replace("|", "\\|")


def in_line(value: str) -> str:
    """A sentence in which names may be in code spans, which stay.

    >>> print(in_line("cycles of `<module>`, <img src=x>"))
    cycles of `<module>`, &lt;img src=x>
    """
    parts = _SPAN.split(printable(value))
    return "".join(
        part if odd % 2 else _without_markup(part.replace("<", "&lt;"))
        for odd, part in enumerate(parts)
    )


def as_code(name: str) -> str:
    """A name as a code span, whatever it holds.

    >>> print(as_code("f<int>"), as_code("a`b"))
    `f<int>` `` a`b ``
    """
    shown = printable(name)
    if "`" not in shown:
        return f"`{shown}`"
    fence = "`" * (max(map(len, re.findall("`+", shown))) + 1)
    return f"{fence} {shown} {fence}"


def _without_markup(value: str) -> str:
    return value.replace("`", "\\`").replace("](", "]\\(")


def _opened(found: re.Match[str]) -> str:
    name, rest = found[1], found[2] or ""
    return "<" if name and _TYPES.fullmatch(name) and "=" not in rest else "&lt;"
