"""A stream of bytes as stretches of whole lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

STRETCH = 16 * 1024 * 1024
"""Bytes parsed at once: enough to keep both the parser and a small machine busy."""
_Item = TypeVar("_Item")
_LINE_END = ord("\n")
_PART = 128 * 1024
_BOM = b"\xef\xbb\xbf"


def stretches(blocks: Iterable[bytes], size: int = STRETCH) -> Iterator[bytes]:
    r"""Whole lines of about `size` bytes in all, ended by `\n`; only the last line may lack it."""
    held: list[bytes] = []
    length = 0
    for block in _without_mark(blocks):
        held.append(block)
        length += len(block)
        if length < size:
            continue
        text = b"".join(held)
        end = text.rfind(b"\n") + 1
        if end:
            yield _plain_ends(text[:end])
        held = [text[end:]] if end < len(text) else []
        length = len(text) - end
    if held:
        yield _plain_ends(b"".join(held))


def ahead(items: Iterator[_Item]) -> Iterator[_Item]:
    """The same items; each is made while the one before is worked on."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item


def _without_mark(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for place, block in enumerate(blocks):
        yield block if place else block.removeprefix(_BOM)


def _plain_ends(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text


def count_lines(text: bytes) -> int:
    r"""How many lines there are; the last need not end."""
    letters = np.frombuffer(text, np.uint8)
    ends = sum(int(np.count_nonzero(part == _LINE_END)) for _, part in _parts(letters))
    return ends + (not text.endswith(b"\n"))


def _parts(letters: NDArray[np.uint8]) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Parts so small that what is computed of them stays in the cache of a core."""
    for begin in range(0, len(letters), _PART):
        yield begin, letters[begin : begin + _PART]


def all_quoted_rows(text: bytes) -> bool:
    r"""Whether every line ends, and begins with a quoted number."""
    if not text.endswith(b"\n"):
        return False
    letters = np.frombuffer(text, np.uint8)
    starts = np.concatenate(
        [np.flatnonzero(part == _LINE_END) + begin + 1 for begin, part in _parts(letters)]
    )
    starts[-1] = 0
    digits = letters[np.minimum(starts + 1, len(text) - 1)] - ord("0")
    return bool((letters[starts] == ord('"')).all() and (digits < 10).all())
