"""How classes of utilisation are called."""

from __future__ import annotations

from timesink.analyses.kernel_calls.classes import Axis

UNIT = {"sm": "SM", "tensor": "tensor"}


def class_title(name: str, axis: Axis) -> str:
    """A class in words; `axis` is what stands for the multiprocessors.

    >>> class_title("low_sm", "tensor"), class_title("both_low", "sm")
    ('low tensor', 'both low')
    """
    if name == "unknown":
        return "no counters"
    return name.replace("_", " ").replace("sm", UNIT[axis]).replace("dram", "DRAM")
