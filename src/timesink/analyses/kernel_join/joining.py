"""Counters of single kernels joined with a timeline of the same program, launch by launch.

A kernel profiler knows how well a kernel used the hardware, a timeline knows why it ran.  Both list
launches in order, but they spell names differently, hold more or fewer steps, kernels are replaced
from run to run, and only some of the launches may have been measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.kernel_calls.sampling import Sampling
from timesink.analyses.kernel_join.finding import Found, find_launches
from timesink.analyses.kernel_join.kinds import numbered_launches
from timesink.analyses.kernel_join.windows import Window, windows_of
from timesink.model.arrays import Flags, Ints
from timesink.model.units import count, counted, share

MIN_ALIGNED = 0.8
"""Share of the measured launches that must be found in the timeline."""
HOW = pl.Enum(["exact", "name"])
_WARM_UP = 16
"""Launches before the first that was found, from which on they are a reason of their own."""


@dataclass(frozen=True, eq=False)
class Join:
    """Which launch of the timeline each measured launch is."""

    rows: pl.Series
    """For each measured launch its row among the timeline's calls; null where none was found."""
    how: pl.Series
    """`exact` by name, grid and block, `name` without these or by family; null where not found."""
    calls: int
    aligned: int
    aligned_share: float
    exact_share: float
    aligned_time_share: float | None
    """The same by measured time; None where no time was measured."""
    timeline_calls: int
    timeline_covered_share: float
    """Launches of the steps used that were found, of all launches of these steps."""
    steps: tuple[str, ...]
    """Steps of the timeline that were used; empty where none are marked."""
    min_aligned: float
    reason: str
    """Why the recordings are taken for different programs; empty where they are not."""

    @property
    def refused(self) -> bool:
        """Whether too little was found for the recordings to be of one program."""
        return bool(self.reason)

    def to_dict(self) -> dict[str, Any]:
        """All but the rows, ready for JSON."""
        return {
            "calls": self.calls,
            "aligned": self.aligned,
            "aligned_share": self.aligned_share,
            "exact_share": self.exact_share,
            "aligned_time_share": self.aligned_time_share,
            "min_aligned": self.min_aligned,
            "timeline_calls": self.timeline_calls,
            "timeline_covered_share": self.timeline_covered_share,
            "steps": list(self.steps),
            "refused": self.refused,
            "reason": self.reason,
        }


def join_calls(
    calls: pl.DataFrame,
    timeline: pl.DataFrame,
    *,
    steps: pl.Series | None = None,
    sampling: Sampling | None = None,
    min_aligned: float = MIN_ALIGNED,
) -> Join:
    """Find the launches of a kernel profiler in a timeline of the same program.

    Both are tables of `kernel_calls`; `steps` is the step of each row of the timeline, as
    `launch_origins` says.  Where it has steps, launches are looked for in one of them, so that
    equal layers are told apart; several measured steps find their places in the same one.
    """
    counters, timed = numbered_launches(calls, timeline)
    sampling = sampling if sampling is not None and sampling.every > 1 else None
    lanes = _lanes(timeline, ("pid", "device"))
    found = Found.nothing(calls.height)
    for rows in _lanes(calls, ("host", "pid", "device")):
        known = [int(np.isin(counters.kind[rows], timed.kind[lane]).sum()) for lane in lanes]
        lane = lanes[_best_lane(known, _devices(timeline, lanes), *_devices(calls, [rows]))]
        windows = windows_of(timed.function, lane, steps)
        inside = np.concatenate([window.rows for window in windows])
        rest = Window(np.setdiff1d(lane, inside))
        part = find_launches(counters[rows], timed, windows, rest, sampling)
        found.row[rows], found.exact[rows] = part.row, part.exact
        found.windows.extend(part.windows)
    return _summed_up(calls, timeline, found, min_aligned)


# -- processes and devices -------------------------------------------------------------------------


def _lanes(calls: pl.DataFrame, names: Sequence[str]) -> list[Ints]:
    """Rows by process and device, in order; these launch independently of one another."""
    own = [name for name in names if name in calls.columns]
    if not own or calls.is_empty():
        return [np.arange(calls.height)]
    numbered = calls.select(own).with_row_index("row")
    parts = numbered.group_by(own, maintain_order=True).agg(pl.col("row").cast(pl.Int64))
    return [part.to_numpy() for part in parts["row"]]


def _devices(calls: pl.DataFrame, lanes: Sequence[Ints]) -> list[int | None]:
    if "device" not in calls.columns or calls.is_empty():
        return [None] * len(lanes)
    return [calls["device"][int(lane[0])] for lane in lanes]


def _best_lane(known: Sequence[int], devices: Sequence[int | None], device: int | None) -> int:
    """The lane that knows most of the launches; of equal ones that of the same device."""
    return max(range(len(known)), key=lambda lane: (known[lane], devices[lane] == device))


# -- what it comes to ------------------------------------------------------------------------------


def _summed_up(
    calls: pl.DataFrame, timeline: pl.DataFrame, found: Found, min_aligned: float
) -> Join:
    aligned = found.row >= 0
    total = max(calls.height, 1)
    aligned_share = float(aligned.sum() / total)
    offered = np.unique(np.concatenate([found.row[:0], *(w.rows for w in found.windows)]))
    known = pl.Series(aligned)
    how = pl.Series(np.where(found.exact, "exact", "name"), dtype=pl.String).cast(HOW)
    return Join(
        rows=pl.select(pl.when(known).then(pl.Series(found.row)).alias("row")).to_series(),
        how=pl.select(pl.when(known).then(how).alias("how")).to_series(),
        calls=calls.height,
        aligned=int(aligned.sum()),
        aligned_share=aligned_share,
        exact_share=float((aligned & found.exact).sum() / total),
        aligned_time_share=_time_share(calls, aligned),
        timeline_calls=timeline.height,
        timeline_covered_share=float(np.isin(offered, found.row).sum() / max(len(offered), 1)),
        steps=tuple(dict.fromkeys(w.step for w in found.windows if w.step is not None)),
        min_aligned=min_aligned,
        reason="" if aligned_share >= min_aligned else _reason(aligned, timeline.height),
    )


def _time_share(calls: pl.DataFrame, aligned: Flags) -> float | None:
    if "dur_ns" not in calls.columns:
        return None
    spent = calls["dur_ns"].fill_null(0).to_numpy()
    total = int(spent.sum())
    return float(spent[aligned].sum() / total) if total else None


def _reason(aligned: Flags, timeline: int) -> str:
    if not len(aligned) or not timeline:
        return "one of the recordings holds no kernel"
    reason = (
        f"only {share(int(aligned.sum()), len(aligned))} of the {counted(len(aligned), 'kernels')}"
        " were found in the timeline"
    )
    first = int(aligned.argmax()) if aligned.any() else 0
    if first >= _WARM_UP and 2 * first > (~aligned).sum():
        return f"{reason}: the first {count(first)} are not in it; initialisation and warm-up?"
    return f"{reason}: another program, batch size or software version?"
