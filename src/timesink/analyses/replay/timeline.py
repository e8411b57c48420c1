"""A recording with other times: the same events where a replay puts them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from timesink.analyses.columns import lane_codes
from timesink.analyses.replay.simulation import Played
from timesink.model.arrays import Floats, Ints
from timesink.model.trace import Trace

_MOVED = ("steps", "memory", "flows", "counters", "host", "device")


def moved_timeline(trace: Trace, played: Played) -> Trace:
    """The trace with every event where the replay has it.

    What the replay knows nothing of, marks and counters, moves with its thread or stream, or else
    with the thread that has most calls.
    """
    clocks = _LaneClocks(trace, played)
    frames = {name: clocks.moved(trace.lazy(name).collect()) for name in _MOVED}
    return replace(trace, frames={**trace.frames, **{n: f.lazy() for n, f in frames.items()}})


class _LaneClocks:
    """For each thread and stream: when its recorded moments come."""

    def __init__(self, trace: Trace, played: Played) -> None:
        graph, points, work = played.graph, played.graph.points, played.graph.work
        self._origin = int(graph.time[0])
        self._clocks: dict[tuple[str, str], tuple[Ints, Floats]] = {}
        come = played.point
        for thread, lane in enumerate(points.calls.threads):
            part = slice(points.first[thread], points.first[thread + 1])
            self._clocks[lane] = points.time[part], come[part]
        most = int(np.diff(points.first).argmax()) if len(points.first) > 1 else -1
        self._usual = self._clocks[points.calls.threads[most]] if most >= 0 else None
        events = trace.lazy("device").select("pid", "tid").collect()
        lane_of, lanes = lane_codes(events) if events.height else (work.row, [])
        for number, lane in enumerate(lanes):
            mine = np.flatnonzero(lane_of[work.row] == number)
            if len(mine):
                ends = played.ends[mine]
                starts = ends - played.length[mine]
                time = np.concatenate([work.start[mine], work.end[mine]])
                order = np.argsort(time, kind="stable")
                moved = np.maximum.accumulate(np.concatenate([starts, ends])[order])
                self._clocks.setdefault(lane, (time[order], moved))
        self._exact = _exact_times(played, come)

    def moved(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of a table at their new times."""
        if not rows.height or "ts_ns" not in rows.columns:
            return rows
        start = rows["ts_ns"].to_numpy()
        end = start + rows["dur_ns"].to_numpy() if "dur_ns" in rows.columns else start
        begin, finish = np.empty(len(start)), np.empty(len(start))
        code, lanes = lane_codes(rows) if "tid" in rows.columns else (start * 0, [("", "")])
        for number, lane in enumerate(lanes):
            mine = np.flatnonzero(code == number)
            clock = self._clocks.get(lane, self._usual)
            begin[mine], finish[mine] = self._at(start[mine], clock), self._at(end[mine], clock)
        if "dur_ns" in rows.columns and "kind" in rows.columns:
            place, known_start, known_end = self._exact[
                "device" if "stream" in rows.columns else "host"
            ]
            begin[place], finish[place] = known_start, known_end
        first = np.rint(begin).astype(np.int64) + self._origin
        columns = [pl.Series("ts_ns", first)]
        if "dur_ns" in rows.columns:
            last = np.rint(finish).astype(np.int64) + self._origin
            columns.append(pl.Series("dur_ns", np.maximum(last - first, 0)))
        return rows.with_columns(columns)

    def _at(self, moment: Ints, clock: tuple[Ints, Floats] | None) -> Floats:
        """When moments come: between two that are known, in proportion; beyond them, as far off."""
        if clock is None:
            return moment - self._origin * 1.0
        time, come = clock
        inside = np.interp(moment - self._origin, time - self._origin, come)
        outside = np.minimum(moment - time[0], 0) + np.maximum(moment - time[-1], 0)
        return np.asarray(inside + outside)


def _exact_times(played: Played, come: Floats) -> dict[str, tuple[Ints, Floats, Floats]]:
    points, work = played.graph.points, played.graph.work
    ends = played.ends
    return {
        "host": (points.calls.row, come[points.start], come[points.end]),
        "device": (work.row, ends - played.length, ends),
    }
