"""Names as a compiler wrote them: the little of the Itanium scheme that naming a kernel takes."""

from __future__ import annotations

import re
from collections.abc import Iterator

_START = re.compile(r"_+Z+(?:N[rVKRO]*|L)?(?=L?\d|St\d)")
_LENGTH = re.compile(r"\d+")
_NUMBER = re.compile(r"L[a-z](\d+)E")
_NO_WORD = re.compile(r"[ST][0-9A-Z]*_|E\d+(?=E[ELNS])")
"""What came before is referred to by number; enumerators are numbers without a type."""


def is_mangled(name: str) -> bool:
    """Whether a name is as the compiler wrote it."""
    return _START.match(name) is not None


def qualified_name(name: str) -> str:
    """The function's own name with its namespaces, up to the first template arguments."""
    start = _START.match(name)
    if start is None:
        return name
    place, parts = start.end(), []
    if name.startswith("St", place):
        place, parts = place + 2, ["std"]
    while True:
        # `L` marks a name that is known in its file only.
        word, place = _word_at(name, place + name.startswith("L", place))
        if not word:
            return "::".join(parts) or name
        parts.append(word)


def mangled_words(name: str) -> Iterator[str]:
    """Names and numbers in a mangled name, in order."""
    place = 0
    while place < len(name):
        number = _NUMBER.match(name, place)
        skipped = _NO_WORD.match(name, place)
        word, behind = _word_at(name, place)
        if number is not None:
            yield number[1]
            place = number.end()
        elif word:
            yield word
            place = behind
        else:
            place = place + 1 if skipped is None else skipped.end()


def _word_at(name: str, place: int) -> tuple[str, int]:
    """The word behind its length, and where it ends; empty where there is none."""
    length = _LENGTH.match(name, place)
    if length is None:
        return "", place
    end = length.end() + int(length[0])
    word = name[length.end() : end]
    return (word, end) if end <= len(name) and not word[:1].isdigit() else ("", place)
