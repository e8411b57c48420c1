"""Parts of a plot: scales from values to pixels, axes with their marks, and text that fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from string import ascii_letters, digits
from unicodedata import combining, east_asian_width

from timesink.output.drawing import FAINT, QUIET, Label, Line, Rect, Shape
from timesink.output.names import printable


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` spread evenly from pixel `start` to pixel `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        width = self.high - self.low or 1.0
        return self.start + (self.end - self.start) * (value - self.low) / width


class LogScale(Scale):
    """Positive values, every decade as long as the next."""

    __slots__ = ()

    def __call__(self, value: float) -> float:
        decades = math.log10(self.high / self.low) or 1.0
        return self.start + (self.end - self.start) * math.log10(value / self.low) / decades


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values in a range: two or more, at most `most`, which is at least three."""
    if high <= low:
        return [low]
    rough = (high - low) / max(most - 1, 1)
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(
        step
        for step in (size * factor for factor in (1, 2, 5, 10, 20))
        # A hair of tolerance: a range may end just short of its last mark.
        if math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) < most
    )
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    # Rounded away: 3 * 0.1 is not 0.3.
    decimals = max(0, 1 - math.floor(math.log10(step)))
    return [round(number * step, decimals) for number in range(first, last + 1)]


def decades(low: float, high: float) -> list[float]:
    """The powers of ten in a range."""
    first = math.ceil(math.log10(low) - 1e-9)
    last = math.floor(math.log10(high) + 1e-9)
    return [float(f"1e{power}") for power in range(first, last + 1)]


# -- axes ------------------------------------------------------------------------------------------


_LABEL, _TITLE, _MARK = 11, 12, 4
"""Sizes of letters, and the length of a mark."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a plot lies on the sheet."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def outline(self) -> Rect:
        return Rect(self.left, self.top, self.width, self.height, stroke=QUIET)

    def across(self, low: float = 0, high: float = 100) -> Scale:
        return Scale(low, high, self.left, self.right)

    def upwards(self, low: float = 0, high: float = 100) -> Scale:
        return Scale(low, high, self.bottom, self.top)


def tick_label(value: float) -> str:
    """A mark's value, with no more digits than it has."""
    return f"{value:,.10g}".replace(",", " ")


def x_axis(
    frame: Frame,
    scale: Scale,
    ticks: Iterable[float],
    title: str,
    label: Callable[[float], str] = tick_label,
) -> list[Shape]:
    """Marks and labels under a plot, its title under them."""
    shapes: list[Shape] = []
    for value in ticks:
        x = scale(value)
        shapes.append(Line(x, frame.bottom, x, frame.bottom + _MARK, QUIET))
        shapes.append(Label(x, frame.bottom + 17, label(value), _LABEL, "middle", QUIET))
    middle = frame.left + frame.width / 2
    shapes.append(Label(middle, frame.bottom + 36, title, _TITLE, "middle"))
    return shapes


def y_axis(
    frame: Frame,
    scale: Scale,
    ticks: Iterable[float],
    title: str = "",
    *,
    label: Callable[[float], str] = tick_label,
    room: float = 34,
) -> list[Shape]:
    """Marks and labels to the left of a plot; its title, turned, `room` pixels further."""
    shapes: list[Shape] = []
    for value in ticks:
        y = scale(value)
        shapes.append(Line(frame.left - _MARK, y, frame.left, y, QUIET))
        shapes.append(Label(frame.left - 7, y + 4, label(value), _LABEL, "end", QUIET))
    if title:
        middle = frame.top + frame.height / 2
        shapes.append(Label(frame.left - room, middle, title, _TITLE, "middle", upright=True))
    return shapes


def grid(
    frame: Frame,
    across: Iterable[float] = (),
    upwards: Iterable[float] = (),
) -> list[Shape]:
    """Faint lines at pixels `across` (upright ones) and `upwards` (level ones)."""
    upright: list[Shape] = [Line(x, frame.top, x, frame.bottom, FAINT) for x in across]
    return upright + [Line(frame.left, y, frame.right, y, FAINT) for y in upwards]


# -- text ------------------------------------------------------------------------------------------


_NARROW = frozenset("iljtfrI.,:;|!'`()[]{}/\\ -")
_WIDE = frozenset("mwMW%@")
_CUT = "..."
_FEW = 8
_WORD = f"{ascii_letters}{digits}"


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About as many pixels as the text takes in a wide font, so that it fits in most."""
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
    """The text on one line, its end left out where it would take more room."""
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
    """As `cut_text`, but the middle goes: names of runs often differ at their end."""
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
    """The names, without what all begin or end with where one is too long for the room."""
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
