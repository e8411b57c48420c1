"""Text that must fit: blocks in their order, of which the least important go first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_ENDS = " ..."


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that stay together."""

    lines: tuple[str, ...]
    rank: int = 0
    """Those with the highest number go first where there is no room; those with 0 stay."""


def fitted(blocks: Iterable[Block], most_lines: int) -> list[str]:
    """The lines of all blocks for which there is room, with an empty one between two blocks.

    >>> fitted([Block(("a", "b")), Block(("c",), rank=1), Block(("d",), rank=2)], 5)
    ['a', 'b', '', 'c']
    """
    kept = [block for block in blocks if block.lines]
    while _height(kept) > most_lines:
        least = max(range(len(kept)), key=lambda place: (kept[place].rank, place))
        if not kept[least].rank:
            break
        del kept[least]
    lines = [line for block in kept for line in ("", *block.lines)][1:]
    return clipped(lines, most_lines)


def _height(blocks: Sequence[Block]) -> int:
    return sum(len(block.lines) + 1 for block in blocks) - 1


def clipped(lines: Sequence[str], most: int) -> list[str]:
    """The first lines, the last of which says that there are more.

    >>> clipped(["a", "  b", "  c"], 2)
    ['a', '  ...']
    """
    if len(lines) <= most:
        return list(lines)
    cut = lines[most - 1]
    indent = cut[: len(cut) - len(cut.lstrip())]
    return [*lines[: most - 1], f"{indent}{_ENDS.strip()}"]


def shortened(text: str, most: int) -> str:
    """Text that is not longer than some characters.

    >>> shortened("a long sentence", 10), shortened("short", 10)
    ('a long ...', 'short')
    """
    return text if len(text) <= most else f"{text[: most - len(_ENDS)].rstrip()}{_ENDS}"
