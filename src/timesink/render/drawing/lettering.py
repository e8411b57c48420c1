"""How much room text takes, known without the font that will show it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from string import ascii_letters, digits
from unicodedata import combining, east_asian_width

from timesink.output.names import printable

_NARROW = frozenset("iljtfrI.,:;|!'`()[]{}/\\ -")
_WIDE = frozenset("mwMW%@")
_CUT = "..."
_FEW = 8
_WORD = f"{ascii_letters}{digits}"


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About as many pixels as the text takes in a wide font, so that it fits in most.

    >>> text_width("ill", 10) < text_width("now", 10)
    True
    """
    return _pixels(sum(map(_advance, text)), size, bold=bold)


def _pixels(advance: int, size: float, *, bold: bool) -> float:
    return (1.08 if bold else 1.0) * size * advance / 100


def _advance(letter: str) -> int:
    """Hundredths of the font's size: whole numbers add up alike in any order."""
    if letter in _NARROW:
        return 38
    if letter in _WIDE:
        return 95
    if combining(letter):
        return 0
    if east_asian_width(letter) in "WF":
        return 100
    return 70 if letter.isupper() else 62


def cut_text(text: str, size: float, room: float, *, bold: bool = False) -> str:
    """The text on one line, its end left out where it would take more room.

    >>> cut_text("ampere_fp16_s16816gemm", 12, 80), cut_text("gemm", 12, 80)
    ('ampere_f...', 'gemm')
    """
    text = printable(text)
    if text_width(text, size, bold=bold) <= room:
        return text
    used, kept = sum(map(_advance, _CUT)), 0
    for letter in text:
        used += _advance(letter)
        if _pixels(used, size, bold=bold) > room:
            break
        kept += 1
    return text[:kept] + _CUT


def cut_middle(text: str, size: float, room: float) -> str:
    """As `cut_text`, but the middle goes: names of runs often differ at their end.

    >>> cut_middle("resnet50_train_batch_0064", 12, 110)
    'resnet5...h_0064'
    """
    text = printable(text)
    if text_width(text, size) <= room:
        return text
    # A hair less than half: what is left of rounding must not make both halves too wide.
    half = (room - text_width(_CUT, size)) / 2 * (1 - 1e-9)
    return f"{_fitting(text, size, half)}{_CUT}{_fitting(text[::-1], size, half)[::-1]}"


def _fitting(text: str, size: float, room: float) -> str:
    """As many of the first letters as fit."""
    return cut_text(text, size, room + text_width(_CUT, size)).removesuffix(_CUT)


def telling_parts(names: Sequence[str], size: float, room: float) -> list[str]:
    """The names, without what all begin or end with where one is too long for the room.

    >>> telling_parts(["run_of_monday/batch_8.csv", "run_of_monday/batch_16.csv"], 12, 100)
    ['...8.csv', '...16.csv']
    """
    long = any(text_width(printable(name), size) > room for name in names)
    if len(names) < 2 or not long:
        return [cut_middle(name, size, room) for name in names]
    start = _shared_words(names)
    end = _shared_words([name[start:][::-1] for name in names])
    parts = [name[start : len(name) - end] for name in names]
    # A few letters are clearer than the dots in their place.
    head, tail = (_CUT if left_out > _FEW else None for left_out in (start, end))
    return [
        cut_middle(
            (name[:start] if head is None else head)
            + part
            + (name[len(name) - end :] if tail is None else tail),
            size,
            room,
        )
        for name, part in zip(names, parts, strict=True)
    ]


def _shared_words(names: Sequence[str]) -> int:
    """How many first letters all names share, up to the end of a word."""
    shared = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return len("".join(letters[0] for letters in shared).rstrip(_WORD))
