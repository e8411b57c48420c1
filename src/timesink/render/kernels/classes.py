"""How classes of utilisation are called and painted, alike in every picture.

Their brightness falls into steps that stay apart in grey; what has no counters is hatched.
"""

from __future__ import annotations

from timesink.analyses.kernel_calls.classes import CLASSES, Axis
from timesink.render.drawing.colours import FAINT, QUIET, Colour
from timesink.render.drawing.shapes import Hatch

_FILLS = {
    "both_low": "#7d2433",
    "low_sm": "#74bfae",
    "low_dram": "#3f78b8",
    "neither_low": "#f5e3a0",
}
CLASS_FILL = {name: Colour(fill, fill) for name, fill in _FILLS.items()} | {"unknown": FAINT}
CLASS_HATCH = dict.fromkeys(CLASSES) | {"unknown": Hatch(QUIET, gap=5, width=0.8)}
UNIT = {"sm": "SM", "tensor": "tensor"}


def class_title(name: str, axis: Axis) -> str:
    """A class in words; `axis` is what stands for the multiprocessors.

    >>> class_title("low_sm", "tensor"), class_title("both_low", "sm")
    ('low tensor', 'both low')
    """
    if name == "unknown":
        return "no counters"
    return name.replace("_", " ").replace("sm", UNIT[axis]).replace("dram", "DRAM")
