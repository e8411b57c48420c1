"""Mends of a whole piece at once: what can be told without knowing where its events end.

Some profilers write `N/A` into every kernel, or raw control characters into every name; mending
such a trace event by event would take minutes.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from timesink.readers.chrome.columns import Tally

Positions = npt.NDArray[np.int64]

_QUOTE, _BACKSLASH, _FIRST_PRINTABLE = ord('"'), ord("\\"), 0x20
_NOT_NUMBERS = (b"NaN", b"nan", b"NAN", b"Infinity", b"infinity", b"inf", b"Inf", b"INF")
_NOT_VALUES = (b"N/A", b"n/a", b"None", b"undefined")
# One pattern per word: a literal start is found many times faster than an alternation.
_WORDS = {
    code: tuple(re.compile(re.escape(word) + rb"(?![\w.])") for word in words)
    for code, words in (("nan_value", _NOT_NUMBERS), ("bare_word", _NOT_VALUES))
}
_BEFORE_VALUE = re.compile(rb"[:,\[]\s{0,64}[-+]?\Z")


def mend_text(text: bytes, tally: Tally) -> bytes:
    """The text with bare words as null and control characters in strings escaped.

    Strings are told from the rest by their quotes alone, so the result is right only if it decodes.
    """
    quotes = _quotes(text)
    mends = [*_bare_words(text, quotes, tally), *_control_characters(text, quotes, tally)]
    parts = []
    done = 0
    for start, end, replacement in sorted(mends):
        parts += [text[done:start], replacement]
        done = end
    return b"".join([*parts, text[done:]])


def _quotes(text: bytes) -> Positions:
    """Where strings start and end, in turn."""
    characters = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(characters == _QUOTE)
    behind_backslash = quotes[characters[quotes - 1] == _BACKSLASH]
    escaped = [at for at in behind_backslash.tolist() if _is_escaped(text, at)]
    return np.setdiff1d(quotes, escaped, assume_unique=True)


def _is_escaped(text: bytes, at: int) -> bool:
    before = text[max(0, at - 64) : at]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1


def _is_inside(quotes: Positions, places: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    inside: npt.NDArray[np.bool_] = np.searchsorted(quotes, places) % 2 == 1
    return inside


Mend = tuple[int, int, bytes]
"""Start, end and replacement of a stretch of text."""


def _bare_words(text: bytes, quotes: Positions, tally: Tally) -> list[Mend]:
    mends: list[Mend] = []
    for code, patterns in _WORDS.items():
        found = [match.span() for pattern in patterns for match in pattern.finditer(text)]
        inside = _is_inside(quotes, [start for start, _ in found])
        for (start, end), in_string in zip(found, inside.tolist(), strict=True):
            before = _BEFORE_VALUE.search(text, max(0, start - 80), start)
            if not in_string and before is not None:
                tally.add(code, 1, text[max(0, start - 40) : end])
                signed = text[start - 1 : start] in (b"-", b"+")
                mends.append((start - signed, end, b"null"))
    return mends


def _control_characters(text: bytes, quotes: Positions, tally: Tally) -> list[Mend]:
    places = np.flatnonzero(np.frombuffer(text, np.uint8) < _FIRST_PRINTABLE)
    places = places[_is_inside(quotes, places)]
    # One string counts once, however many such characters it holds.
    strings = np.unique(np.searchsorted(quotes, places))
    if len(strings):
        first = int(places[0])
        tally.add("control_characters", len(strings), repr(text[max(0, first - 40) : first + 40]))
    return [(at, at + 1, b"\\u%04x" % text[at]) for at in places.tolist()]
