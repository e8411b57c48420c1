"""The lines of a hatched rectangle; drawn one by one, they look alike in every format."""

from __future__ import annotations

import math
from typing import TypeAlias

from timesink.render.drawing.shapes import Hatch, Rect

Segment: TypeAlias = tuple[float, float, float, float]


def hatch_lines(rect: Rect, hatch: Hatch) -> list[Segment]:
    """Slanted segments inside a rectangle.

    Their places do not depend on where it begins, so the lines of neighbours meet.

    >>> from timesink.render.drawing.colours import INK
    >>> hatch_lines(Rect(0, 0, 4, 4), Hatch(INK, gap=4))
    [(0, 4, 4, 0)]
    """
    left, right = rect.x, rect.x + rect.width
    top, bottom = rect.y, rect.y + rect.height
    # Rising lines have x + y = place, falling ones x - y = place.
    low, high = (left - bottom, right - top) if hatch.falling else (left + top, right + bottom)
    segments = []
    for number in range(math.floor(low / hatch.gap) + 1, math.ceil(high / hatch.gap)):
        place = number * hatch.gap
        if hatch.falling:
            x1, x2 = max(left, place + top), min(right, place + bottom)
            segments.append((x1, x1 - place, x2, x2 - place))
        else:
            x1, x2 = max(left, place - bottom), min(right, place - top)
            segments.append((x1, place - x1, x2, place - x2))
    return segments
