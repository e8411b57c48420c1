"""Names that look the same, told apart."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from rich.cells import cell_len

_HEAD = 7
"""Characters of the beginning that stay where names are told apart by what follows."""
_WORD_START = re.compile(r"[A-Za-z0-9.]+$")


def told_apart(names: Sequence[str]) -> list[str]:
    """Names of different things, numbered where two would look the same.

    >>> told_apart(["gemm", "relu", "gemm"])
    ['gemm', 'relu', 'gemm #2']
    """
    seen: Counter[str] = Counter()
    told = []
    for name in names:
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return told


def cut_apart(names: Sequence[str], room: int) -> dict[str, str]:
    """Names cut to the room, so that no two of them look the same.

    The end goes where that is enough, else the middle, else what several names have in common.

    >>> cut_apart(["a_long_name_of_x", "a_long_name_of_y", "relu"], 9)
    {'a_long_name_of_x': 'a_lo…of_x', 'a_long_name_of_y': 'a_lo…of_y', 'relu': 'relu'}
    >>> list(cut_apart(["gemm_64x64_sliced_f2_tn", "gemm_64x64_ldg8_f2_tn"], 12).values())
    ['gem…sliced_…', 'gem…ldg8_f2…']
    """
    cut = {name: cut_end(name, room) for name in dict.fromkeys(names)}
    for shortened in (_without_middle, _without_common, _numbered):
        for alike in _alike(cut):
            cut.update(shortened(alike, room))
    return cut


def cut_end(name: str, room: int) -> str:
    """A name without its end, where it is too long.

    >>> cut_end("nvjet_sm90_tst_128x128_64x6_TNT", 12)
    'nvjet_sm90_…'
    """
    return name if cell_len(name) <= room else f"{name[: room - 1]}…"


def cut_middle(name: str, room: int) -> str:
    """A name without its middle, where it is too long.

    >>> cut_middle("nvjet_sm90_tst_128x128_64x6_TNT", 16)
    'nvjet_s…64x6_TNT'
    """
    if cell_len(name) <= room:
        return name
    tail = room // 2
    return f"{name[: room - 1 - tail]}…{name[-tail:]}"


def _alike(cut: Mapping[str, str]) -> list[list[str]]:
    """Different names that look the same."""
    looks: defaultdict[str, list[str]] = defaultdict(list)
    for name, look in cut.items():
        looks[look].append(name)
    return [names for names in looks.values() if len(names) > 1]


def _without_middle(names: Sequence[str], room: int) -> dict[str, str]:
    return {name: cut_middle(name, room) for name in names}


def _without_common(names: Sequence[str], room: int) -> dict[str, str]:
    """The beginning, and then from the word on in which the names begin to differ."""
    common = _WORD_START.sub("", _common_start(names))
    head = min(_HEAD, room // 3)
    if len(common) <= head:
        return {name: cut_end(name, room) for name in names}
    return {name: cut_end(f"{name[: head - 1]}…{name[len(common) :]}", room) for name in names}


def _common_start(names: Sequence[str]) -> str:
    """Of the first and last name by alphabet, which differ the earliest."""
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((place for place, (a, b) in pairs if a != b), len(first))]


def _numbered(names: Sequence[str], room: int) -> dict[str, str]:
    marks = [f" #{number}" for number in range(1, len(names) + 1)]
    return {
        name: cut_end(name, room - len(mark)) + mark
        for name, mark in zip(names, marks, strict=True)
    }
