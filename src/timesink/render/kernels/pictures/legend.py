"""Which fill stands for which class, in as many lines as it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from timesink.render.drawing.colours import FAINT
from timesink.render.drawing.lettering import text_width
from timesink.render.drawing.shapes import Rect, Shape, Text
from timesink.render.kernels.classes import CLASS_FILL, CLASS_HATCH

_SIZE = 11.5
_LINE = 20


def class_legend(entries: Mapping[str, str], left: float, line: float, right: float) -> list[Shape]:
    """A box and words for each class, from `left` on; the first line of text sits on `line`.

    >>> [shape.y for shape in class_legend({"both_low": "both low", "low_sm": "low SM"}, 0, 20, 90)]
    [10, 20, 30, 40]
    """
    shapes: list[Shape] = []
    x = left
    for name, words in entries.items():
        width = 17 + text_width(words, _SIZE)
        if x > left and x + width > right:
            x, line = left, line + _LINE
        shapes.append(Rect(x, line - 10, 11, 11, CLASS_FILL[name], FAINT, CLASS_HATCH[name]))
        shapes.append(Text(x + 17, line, words, _SIZE))
        x += width + 16
    return shapes


def legend_bottom(legend: Sequence[Shape]) -> float:
    """Where its last line sits."""
    return max((shape.y for shape in legend if isinstance(shape, Text)), default=0.0)
