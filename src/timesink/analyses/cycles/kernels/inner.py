"""The shorter period inside of each cycle of a kernel sequence."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

import numpy as np

from timesink.analyses.cycles.cycles import Candidate
from timesink.analyses.cycles.kernels.periodic import periodic
from timesink.analyses.cycles.kernels.sequence import KernelSequence
from timesink.analyses.cycles.reading import MIN_REPEATS, Reading, period_ns
from timesink.analyses.kernel_names.display import short_kernel_name


def inner_period(sequence: KernelSequence, whole: Reading) -> Candidate | None:
    """What repeats inside of one cycle, in the middle of the run, and marks a part of it.

    Passes of a request look like this, and layers of a pass: kernels do not tell which.
    """
    # The kernels of one cycle.
    number = whole.count // 2
    start, end = whole.spans["start_ns"][number], whole.spans["end_ns"][number]
    inside = slice(*np.searchsorted(sequence.start, [start, end]).tolist())
    cycle = KernelSequence(
        sequence.pid,
        sequence.symbol[inside],
        sequence.start[inside],
        sequence.end[inside],
        sequence.names,
    )
    found = periodic(cycle)
    if found is None or found.count < MIN_REPEATS:
        return None
    mark = _mark(cycle, found)
    if mark is None:
        return None
    each = int((cycle.symbol == mark).sum())
    name = sequence.names[mark]
    return Candidate(
        "kernels",
        name,
        int((sequence.symbol == mark).sum()),
        period_ns(found.spans),
        f"the kernels repeat {each} times inside of a cycle: passes of a request, or layers",
        _pattern(name, sequence.names),
    )


def _mark(cycle: KernelSequence, found: Reading) -> int | None:
    """The first kernel that comes just once in each part, so that its name alone marks them."""
    starts = np.append(found.spans["start_ns"].to_numpy(), found.spans["end_ns"][-1])
    first, *_, last = np.searchsorted(cycle.start, starts).tolist()
    counts = np.bincount(cycle.symbol[first:last])
    for symbol in cycle.symbol[first:last].tolist():
        if counts[symbol] == found.count:
            return int(symbol)
    return None


def _pattern(name: str, names: Sequence[str]) -> str:
    """What to ask for to get this kernel: a shorter pattern that fits no other, else its name."""
    others = [other for other in names if other != name]
    begins = name[: 1 + max((_common(name, other) for other in others), default=0)]
    for pattern in (f"*{short_kernel_name(name)}*", f"{begins}*"):
        fits_others = any(fnmatch.fnmatchcase(other, pattern) for other in others)
        shorter = len(pattern) < len(name)
        if shorter and not fits_others and fnmatch.fnmatchcase(name, pattern):
            return pattern
    return name


def _common(one: str, other: str) -> int:
    """How many characters two names have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
