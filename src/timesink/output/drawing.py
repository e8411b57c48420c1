"""What a picture is made of: colours for light and dark paper, shapes, axes and text that fits.

Colours are told from each other by their brightness alone.  Lengths are in pixels; y grows
downwards, text sits on its y.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from string import ascii_letters, digits
from typing import Literal, TypeAlias
from unicodedata import combining, east_asian_width

import msgspec
from msgspec.structs import replace

from timesink.output.names import printable

Rgb: TypeAlias = tuple[int, int, int]


class Colour(msgspec.Struct, frozen=True):
    """What to paint with on light paper, and on dark paper; as `#rrggbb`."""

    light: str
    dark: str


PAPER = Colour("#ffffff", "#16181d")
INK = Colour("#1d2129", "#e9ecf1")
QUIET = Colour("#5c6370", "#a3abb8")
FAINT = Colour("#dde1e7", "#383d47")
"""Grid lines and frames."""
WASH = Colour("#f4f6f9", "#1f232a")
"""Ground of a plot in which empty places should be seen."""
WHITE = Colour("#ffffff", "#ffffff")
BLACK = Colour("#1d2129", "#1d2129")

_BLUES = ("#dbe7f5", "#a6c8e6", "#5f9fd0", "#2a6fae", "#0b3c75", "#06214a")
_BLUES_ON_DARK = ("#22303f", "#27517a", "#2f77b0", "#5b9fd6", "#a5cdf0", "#eef6ff")
RAMP_STEPS = 24
"""Shades of a ramp: more would not be distinguished."""


def ramp(part: float) -> Colour:
    """A shade for a part of the most: deeper for more, on dark paper brighter."""
    step = round(min(max(part, 0.0), 1.0) * (RAMP_STEPS - 1)) / (RAMP_STEPS - 1)
    return Colour(_between(_BLUES, step), _between(_BLUES_ON_DARK, step))


AREA = Colour("#3f7fbd", "#5b9fd6")
"""One series on its own."""


def on_top_of(fill: Colour) -> Colour:
    """What to write with on a fill that is the same on any paper."""
    return BLACK if luminance(fill.light) > 0.36 else WHITE


def luminance(colour: str) -> float:
    """How bright a colour is to the eye, from 0 (black) to 1 (white)."""
    red, green, blue = (_linear(part / 255) for part in rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def rgb(colour: str) -> Rgb:
    """Red, green and blue of `#rrggbb`."""
    return (int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16))


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def _between(stops: Sequence[str], part: float) -> str:
    place = part * (len(stops) - 1)
    first = min(int(place), len(stops) - 2)
    weight = place - first
    mixed = (
        round(low + (high - low) * weight)
        for low, high in zip(rgb(stops[first]), rgb(stops[first + 1]), strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


# -- shapes ----------------------------------------------------------------------------------------


Anchor: TypeAlias = Literal["start", "middle", "end"]
Point: TypeAlias = tuple[float, float]
Segment: TypeAlias = tuple[float, float, float, float]


class Hatch(msgspec.Struct, frozen=True):
    """Slanted lines over a fill, so that it is known without its colour."""

    stroke: Colour
    gap: float = 6
    width: float = 1


class Rect(msgspec.Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float
    fill: Colour | None = None
    stroke: Colour | None = None
    hatch: Hatch | None = None
    tip: str = ""
    """Shown under the pointer, where a format can."""


class Line(msgspec.Struct, frozen=True):
    x1: float
    y1: float
    x2: float
    y2: float
    stroke: Colour = INK
    width: float = 1
    dash: tuple[float, float] | None = None


class Polygon(msgspec.Struct, frozen=True):
    points: tuple[Point, ...]
    fill: Colour


class Circle(msgspec.Struct, frozen=True):
    x: float
    y: float
    radius: float
    fill: Colour
    stroke: Colour | None = None
    opacity: float = 1
    tip: str = ""


class Label(msgspec.Struct, frozen=True):
    x: float
    y: float
    text: str
    size: float = 12
    anchor: Anchor = "start"
    fill: Colour = INK
    bold: bool = False
    upright: bool = False
    """Turned to be read from below."""
    halo: Colour | None = None
    """Drawn around the letters, so that they are read on any ground."""


Shape: TypeAlias = Rect | Line | Polygon | Circle | Label


class Drawing(msgspec.Struct, frozen=True):
    """Shapes on a sheet, the first at the bottom, and what they show in words."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    title: str
    description: str = ""


def side_by_side(drawings: Sequence[Drawing]) -> Drawing:
    """Drawings on one sheet, from left to right."""
    starts = [0.0, *accumulate(drawing.width for drawing in drawings)]
    return _together(drawings, [(start, 0) for start in starts])


def stack_drawings(drawings: Sequence[Drawing]) -> Drawing:
    """Drawings on one sheet, from top to bottom."""
    starts = [0.0, *accumulate(drawing.height for drawing in drawings)]
    return _together(drawings, [(0, start) for start in starts])


def _together(drawings: Sequence[Drawing], places: Sequence[Point]) -> Drawing:
    """Each drawing at its place; the last place is where the next one would be."""
    return Drawing(
        width=places[-1][0] or max(drawing.width for drawing in drawings),
        height=places[-1][1] or max(drawing.height for drawing in drawings),
        shapes=tuple(
            _move_shape(shape, *place)
            for drawing, place in zip(drawings, places, strict=False)
            for shape in drawing.shapes
        ),
        title="; ".join(drawing.title for drawing in drawings),
        description=" ".join(d.description for d in drawings if d.description),
    )


def _move_shape(shape: Shape, right: float, down: float) -> Shape:
    if isinstance(shape, Polygon):
        return replace(shape, points=tuple((x + right, y + down) for x, y in shape.points))
    if isinstance(shape, Line):
        (x1, x2), (y1, y2) = (shape.x1, shape.x2), (shape.y1, shape.y2)
        return replace(shape, x1=x1 + right, y1=y1 + down, x2=x2 + right, y2=y2 + down)
    return replace(shape, x=shape.x + right, y=shape.y + down)


def hatch_lines(rect: Rect, hatch: Hatch) -> list[Segment]:
    """Slanted segments inside a rectangle; drawn one by one, they look alike in every format.

    Their places do not depend on where it begins, so the lines of neighbours meet.
    """
    left, right = rect.x, rect.x + rect.width
    top, bottom = rect.y, rect.y + rect.height
    segments = []
    # Rising lines have x + y = place.
    first, last = (left + top) / hatch.gap, (right + bottom) / hatch.gap
    for number in range(math.floor(first) + 1, math.ceil(last)):
        place = number * hatch.gap
        x1, x2 = max(left, place - bottom), min(right, place - top)
        segments.append((x1, place - x1, x2, place - x2))
    return segments


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


def whole_ticks(count: int, most: int) -> list[float]:
    """Round numbers among the first `count`, which begin with 1; at least one.

    >>> whole_ticks(20, 5), whole_ticks(1, 5)
    ([5.0, 10.0, 15.0, 20.0], [1])
    """
    return [tick for tick in nice_ticks(1, count, most) if tick == round(tick) and tick] or [1]


def decades(low: float, high: float) -> list[float]:
    """The powers of ten in a range."""
    first = math.ceil(math.log10(low) - 1e-9)
    last = math.floor(math.log10(high) + 1e-9)
    return [float(f"1e{power}") for power in range(first, last + 1)]


# -- axes ------------------------------------------------------------------------------------------


_LABEL, _TITLE, _MARK = 11, 12, 4
"""Sizes of letters, and the length of a mark."""


class Frame(msgspec.Struct, frozen=True):
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


def x_axis(frame: Frame, scale: Scale, ticks: Iterable[float], title: str) -> list[Shape]:
    """Marks and labels under a plot, its title under them."""
    shapes: list[Shape] = []
    for value in ticks:
        x = scale(value)
        shapes.append(Line(x, frame.bottom, x, frame.bottom + _MARK, QUIET))
        shapes.append(Label(x, frame.bottom + 17, tick_label(value), _LABEL, "middle", QUIET))
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


def grid(frame: Frame, across: Iterable[float] = (), upwards: Iterable[float] = ()) -> list[Shape]:
    """Faint lines at pixels `across` (upright ones) and `upwards` (level ones)."""
    upright: list[Shape] = [Line(x, frame.top, x, frame.bottom, FAINT) for x in across]
    return upright + [Line(frame.left, y, frame.right, y, FAINT) for y in upwards]


# -- text ------------------------------------------------------------------------------------------


_NARROW = frozenset("iljtfrI.,:;|!'`()[]{}/\\ -")
_WIDE = frozenset("mwMW%@")
_CUT = "..."
_MAX_LABELS = 8
_WORD = f"{ascii_letters}{digits}"


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About as many pixels as the text takes in a wide font, so that it fits in most."""
    return (1.08 if bold else 1.0) * size * sum(map(_advance, text)) / 100


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
    lengths = range(1, len(text))
    length = bisect(
        lengths, room, key=lambda count: text_width(text[:count] + _CUT, size, bold=bold)
    )
    return text[:length] + _CUT


def cut_middle(text: str, size: float, room: float) -> str:
    """As `cut_text`, but the middle goes: names of runs often differ at their end."""
    text = printable(text)
    if text_width(text, size) <= room:
        return text
    # A hair less than half: what is left of rounding must not make both halves too wide.
    half = (room - text_width(_CUT, size)) / 2 * (1 - 1e-9)
    return f"{_fit_start(text, size, half)}{_CUT}{_fit_start(text[::-1], size, half)[::-1]}"


def _fit_start(text: str, size: float, room: float) -> str:
    """As many of the first letters as fit."""
    return cut_text(text, size, room + text_width(_CUT, size)).removesuffix(_CUT)


def telling_parts(names: Sequence[str], size: float, room: float) -> list[str]:
    """The names, without what all begin or end with where one is too long for the room."""
    long = any(text_width(printable(name), size) > room for name in names)
    if len(names) < 2 or not long:
        return [cut_middle(name, size, room) for name in names]
    start = _shared_words(names)
    end = _shared_words([name[start:][::-1] for name in names])
    parts = []
    for name in names:
        # A few letters are clearer than the dots in their place.
        head = _CUT if start > _MAX_LABELS else name[:start]
        tail = _CUT if end > _MAX_LABELS else name[len(name) - end :]
        parts.append(cut_middle(f"{head}{name[start : len(name) - end]}{tail}", size, room))
    return parts


def _shared_words(names: Sequence[str]) -> int:
    """How many first letters all names share, up to the end of a word."""
    shared = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return len("".join(letters[0] for letters in shared).rstrip(_WORD))
