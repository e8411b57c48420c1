"""The length of every cycle as a picture: sides beside each other, on one scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from statistics import fmean

from timesink.model import units
from timesink.output import drawing as draw

WIDTH = 1008
_HEIGHT = 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 20, 46, 46
_BETWEEN = 28
_LEAST_BAR = 3.0
"""Pixels of a bar; of more cycles than fit, some share one."""
_SCALES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
USUAL, OTHER = draw.Colour("#5f9fd0", "#5f9fd0"), draw.Colour("#d55e00", "#d55e00")
_WARM_UP = draw.Hatch(draw.Colour("#ffffff", "#ffffff"), gap=4, width=1.4)


@dataclass(frozen=True, slots=True)
class CycleBars:
    """Cycles in order, and how they are painted."""

    name: str
    lengths_ns: tuple[float, ...]
    colours: tuple[draw.Colour, ...]
    """One per cycle."""
    warm_up: int = 0
    """How many of the first ones are hatched."""

    @property
    def mean_ns(self) -> float:
        """Mean length."""
        return fmean(self.lengths_ns)


def scale_of(longest_ns: float) -> tuple[float, str]:
    """The unit that suits times up to this one, and its nanoseconds."""
    return next((found for found in _SCALES if longest_ns >= found[0]), _SCALES[-1])


def side(
    name: str, lengths_ns: Sequence[float], colour: draw.Colour, warm_up: int = 0
) -> CycleBars:
    """Cycles of one colour."""
    return CycleBars(name, tuple(lengths_ns), (colour,) * len(lengths_ns), warm_up)


def cycle_picture(sides: Sequence[CycleBars]) -> draw.Drawing:
    """A bar for every cycle; each side is as wide as it has cycles."""
    longest = max(length for one in sides for length in one.lengths_ns)
    scale, unit = scale_of(longest)
    ticks = draw.nice_ticks(0, 1.08 * longest / scale, 5)
    # Sides from left to right; none is too narrow for its name.
    room = WIDTH - _LEFT - _RIGHT - _BETWEEN * (len(sides) - 1)
    least = sum(len(one.lengths_ns) for one in sides) / 3
    shares = [max(len(one.lengths_ns), least) for one in sides]
    wide = [room * share / sum(shares) for share in shares]
    starts = accumulate((w + _BETWEEN for w in wide[:-1]), initial=float(_LEFT))
    frames = [
        draw.Frame(left, _TOP, size, _HEIGHT) for left, size in zip(starts, wide, strict=True)
    ]
    upwards = frames[0].upwards(0, 1.08 * longest / scale)
    shapes: list[draw.Shape] = [
        *draw.y_axis(frames[0], upwards, ticks, f"cycle time, {unit}", room=44)
    ]
    said = []
    for frame, one in zip(frames, sides, strict=True):
        count = len(one.lengths_ns)
        # From numbers of cycles, which begin with 1, to the middles of bars.
        across = frame.across(0.5, count + 0.5)
        numbers = [
            tick for tick in draw.nice_ticks(1, count, 7) if tick == round(tick) and tick >= 1
        ]
        shapes += draw.grid(frame, upwards=[upwards(tick) for tick in ticks])
        shapes += _bars(frame, one, scale, upwards, across)
        shapes += _heading(frame, one)
        shapes += draw.x_axis(frame, across, numbers or [1], "cycle")
        mean = units.brief_ns(one.mean_ns)
        said.append(f"{one.name} ({units.counted(count, 'cycles')}, {mean} on average)")
    about = f"Length of every cycle: {'; '.join(said)}."
    height = _TOP + _HEIGHT + _BOTTOM
    return draw.Drawing(WIDTH, height, tuple(shapes), "Length of every cycle", about)


def _bars(
    frame: draw.Frame, one: CycleBars, scale: float, upwards: draw.Scale, across: draw.Scale
) -> Iterator[draw.Shape]:
    together = ceil(len(one.lengths_ns) * _LEAST_BAR / frame.width)
    for first in range(0, len(one.lengths_ns), together):
        lengths = one.lengths_ns[first : first + together]
        left, right = across(first + 0.5), across(first + len(lengths) + 0.5)
        top = upwards(fmean(lengths) / scale)
        gap = min(1.5, (right - left) / 5)
        yield draw.Rect(
            left + gap, top, right - left - 2 * gap, frame.bottom - top,
            fill=one.colours[first], hatch=_WARM_UP if first < one.warm_up else None,
        )  # fmt: skip
    mean = upwards(one.mean_ns / scale)
    yield draw.Line(frame.left, mean, frame.right, mean, draw.INK, dash=(5, 4))
    yield draw.Line(frame.left, frame.bottom, frame.right, frame.bottom, draw.QUIET)


def _heading(frame: draw.Frame, one: CycleBars) -> Iterator[draw.Shape]:
    """The name of a side, its mean, and what is hatched."""
    warm = f", {units.counted(one.warm_up, 'cycles')} of warm-up hatched" if one.warm_up else ""
    more = f"mean {units.brief_ns(one.mean_ns)}{warm}"
    name = draw.cut_text(one.name, 13, frame.width / 2, bold=True)
    yield draw.Label(frame.left, _TOP - 16, name, 13, bold=True)
    start = draw.text_width(name, 13, bold=True) + 10
    told = draw.cut_text(more, 12, frame.width - start)
    yield draw.Label(frame.left + start, _TOP - 16, told, 12, fill=draw.QUIET)
