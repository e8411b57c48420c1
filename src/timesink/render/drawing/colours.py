"""Colours for light and for dark paper, each told from the others by its brightness alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Rgb: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Colour:
    """What to paint with on light paper, and on dark paper; as `#rrggbb`."""

    light: str
    dark: str

    @property
    def fixed(self) -> bool:
        """Whether it is the same on any paper."""
        return self.light == self.dark


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
"""Shades of a ramp: more would not be told apart."""


def ramp(part: float) -> Colour:
    """A shade for a part of the most: deeper for more, on dark paper brighter.

    >>> ramp(0.0).light, ramp(1.0).light, ramp(0.5) == ramp(0.501)
    ('#dbe7f5', '#06214a', True)
    """
    step = round(min(max(part, 0.0), 1.0) * (RAMP_STEPS - 1)) / (RAMP_STEPS - 1)
    return Colour(_between(_BLUES, step), _between(_BLUES_ON_DARK, step))


AREA = Colour("#3f7fbd", "#5b9fd6")
"""One series on its own."""


def on_top_of(fill: Colour) -> Colour:
    """What to write with on a fill that is the same on any paper.

    >>> on_top_of(Colour("#f6e39a", "#f6e39a")) == BLACK
    True
    """
    return BLACK if luminance(fill.light) > 0.36 else WHITE


def luminance(colour: str) -> float:
    """How bright a colour is to the eye, from 0 (black) to 1 (white).

    >>> round(luminance("#808080"), 2)
    0.22
    """
    red, green, blue = (_linear(part / 255) for part in rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def rgb(colour: str) -> Rgb:
    """Red, green and blue of `#rrggbb`.

    >>> rgb("#0080ff")
    (0, 128, 255)
    """
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
