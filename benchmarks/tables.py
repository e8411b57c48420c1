"""Tables of the pages that benchmarks write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(above: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with numbers to the right, below a line of text.

    >>> print(markdown_table("Seconds:", ["read"], [["1.5"]]).splitlines()[-1])
    | 1.5 |
    """
    lines = [
        above,
        "",
        "| " + " | ".join(header) + " |",
        "|" + "---:|" * len(header),
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]
    return "\n".join(lines)
