"""Whether two sides of a comparison are parts of one run."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.comparison.role import Role
from timesink.model.arrays import Floats

_CLOSE = 5.0
"""Parts follow each other within this many cycles."""
_OFTEN_GIVEN = 1000
"""Processes up to this number are those of a machine that has just started: every container begins
with 1 again."""
_AS_BETWEEN_CYCLES = 2.0
"""Parts of one run are no farther apart than this many times the longest pause within them ..."""
_LEAST_PAUSE = 0.1
"""... or this part of a cycle."""
_MOST_OVERLAP = 0.01
"""Part of the time of one side that cycles of the other may share: a process runs one at a time."""

_SAME_FUNCTIONS = 0.5


def are_parts_of_one_run(base: Role, new: Role) -> bool:
    """Whether one process did the cycles of both without a pause.

    They touch, interleave or are the same ones.  Files may differ, as a recording can be cut in
    two.  Clocks that start anew with every run make cycles of different runs overlap, which those
    of one run do not.  Where one side follows the other, the number of the process may be one that
    every run is given: then its cycles go on counting, or there is no pause between the sides.
    """
    if not base.pid or base.pid != new.pid or (base.host and new.host and base.host != new.host):
        return False
    if not _run_the_same(base.behaviour, new.behaviour):
        return False
    before, after = cycle_spans(base.behaviour), cycle_spans(new.behaviour)
    if before.is_empty() or after.is_empty():
        return base.source == new.source
    only_new = after.join(before, ["start_ns", "end_ns"], "anti")
    if only_new.is_empty() or before.join(after, ["start_ns", "end_ns"], "anti").is_empty():
        return True
    origin = min(_first(before), _first(after))
    base_times, new_times = _from(before, origin), _from(only_new, origin)
    if not _follow(base_times, new_times):
        return False
    return _says_who(base) or _go_on(before, only_new) or _touch(base_times, new_times)


def cycle_spans(behaviour: pl.DataFrame) -> pl.DataFrame:
    """When every cycle began and ended, in order; none where that is not recorded."""
    start, length = pl.col("cycle_ts_ns"), pl.col("cycle_dur_ns")
    return (
        behaviour.lazy()
        .select("cycle", start_ns=start, end_ns=start + length)
        .filter(pl.col("end_ns") > pl.col("start_ns"))
        .unique("cycle", keep="first")
        .sort("start_ns", "cycle")
        .collect()
    )


def _run_the_same(base: pl.DataFrame, new: pl.DataFrame) -> bool:
    """Whether they have functions in common: half of those of the side with fewer."""
    if "function" not in base.columns or "function" not in new.columns:
        return True
    before, after = (set(rows["function"].unique().cast(pl.String)) for rows in (base, new))
    return len(before & after) >= _SAME_FUNCTIONS * min(len(before), len(after))


def _first(spans: pl.DataFrame) -> int:
    return int(spans["start_ns"][0])


def _from(spans: pl.DataFrame, origin: int) -> Floats:
    """Starts and ends since `origin`, which floating-point numbers hold exactly."""
    return (spans.select("start_ns", "end_ns") - origin).to_numpy().astype(np.float64)


def _follow(base: Floats, new: Floats) -> bool:
    lengths = new[:, 1] - new[:, 0]
    covered = _covered(base, new[:, 1]) - _covered(base, new[:, 0])
    if covered.sum() > _MOST_OVERLAP * lengths.sum():
        return False
    usual = max(float(lengths.mean()), float((base[:, 1] - base[:, 0]).mean()))
    return _nearest(base, new) <= _CLOSE * usual


def _says_who(role: Role) -> bool:
    """Whether the number of a process tells it from those of other runs."""
    return not (role.pid.isdigit() and int(role.pid) <= _OFTEN_GIVEN)


def _go_on(base: pl.DataFrame, new: pl.DataFrame) -> bool:
    """Whether no number of a cycle comes twice, and later cycles have higher ones."""
    both = pl.concat([base, new]).sort("start_ns", maintain_order=True)["cycle"]
    return bool((both.diff().drop_nulls() > 0).all())


def _touch(base: Floats, new: Floats) -> bool:
    """Whether the pause between two sides is one as between the cycles of a side."""
    pauses = np.concatenate([side[1:, 0] - side[:-1, 1] for side in (base, new)])
    usual = max(float((side[:, 1] - side[:, 0]).mean()) for side in (base, new))
    longest = max(_AS_BETWEEN_CYCLES * float(pauses.max(initial=0.0)), _LEAST_PAUSE * usual)
    return _nearest(base, new) <= longest


def _covered(spans: Floats, moments: Floats) -> Floats:
    """How much of the time before each moment the spans take."""
    ends = np.maximum.accumulate(spans[:, 1])
    starts = np.maximum(spans[:, 0], np.concatenate([[0.0], ends[:-1]]))
    starts = np.minimum(starts, ends)
    known = np.concatenate([[0.0], np.cumsum(ends - starts)])
    place = np.searchsorted(starts, moments, side="right")
    inside = np.where(place > 0, moments - starts[place - 1], 0.0)
    last = np.where(place > 0, (ends - starts)[place - 1], 0.0)
    return np.asarray(known[np.maximum(place - 1, 0)] + np.clip(inside, 0.0, last))


def _nearest(base: Floats, new: Floats) -> float:
    """Shortest pause between a cycle of one side and one of the other."""
    starts = np.concatenate([base[:, 0], new[:, 0]])
    ends = np.concatenate([base[:, 1], new[:, 1]])
    is_new = np.arange(len(starts)) >= len(base)
    order = np.argsort(starts, kind="stable")
    switch = np.flatnonzero(is_new[order][1:] != is_new[order][:-1])
    pauses = starts[order][switch + 1] - ends[order][switch]
    return float(pauses.min())
