"""A recording with other times: the same events where a replay puts them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from timesink.analyses.columns import lane_codes
from timesink.analyses.links import first_with_id
from timesink.analyses.replay.simulation import Played
from timesink.model.arrays import Floats, Ints
from timesink.model.trace import Trace

_MOVED = ("steps", "memory", "flows", "counters", "host", "device")


def moved_timeline(trace: Trace, played: Played) -> Trace:
    """The trace with every event where the replay has it.

    What the replay knows nothing of, marks and counters, moves with its thread or stream, or else
    with the thread of the steps.
    """
    clocks = _LaneClocks(trace, played)
    frames = {name: clocks.moved(name, trace.lazy(name).collect()) for name in _MOVED}
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
        marks = trace.lazy("steps").select("pid", "tid").head(1).collect()
        lane = lane_codes(marks)[1][0] if marks.height else ("", "")
        most = int(np.diff(points.first).argmax()) if len(points.first) > 1 else -1
        usual = points.calls.threads[most] if most >= 0 else lane
        self._usual = self._clocks.get(lane, self._clocks.get(usual))
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
        self._exact = _exact_times(trace, played)

    def moved(self, name: str, rows: pl.DataFrame) -> pl.DataFrame:
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
        if name in self._exact:
            place, *known = self._exact[name]
            begin[place], finish[place] = known
        first = np.rint(begin).astype(np.int64) + self._origin
        columns = [pl.Series("ts_ns", first)]
        if "dur_ns" in rows.columns:
            last = np.rint(finish).astype(np.int64) + self._origin
            columns.append(pl.Series("dur_ns", np.maximum(last - first, 0)))
        return rows.with_columns(columns)

    def _at(self, moment: Ints, clock: tuple[Ints, Floats] | None) -> Floats:
        """When moments come: between two that are known, in proportion; beyond them, as far off."""
        if clock is None:
            return np.asarray(moment - self._origin, dtype=np.float64)
        time, come = clock
        inside = np.interp(moment - self._origin, time - self._origin, come)
        outside = np.minimum(moment - time[0], 0) + np.maximum(moment - time[-1], 0)
        return np.asarray(inside + outside)


def _exact_times(trace: Trace, played: Played) -> dict[str, tuple[Ints, Floats, Floats]]:
    """By table: rows that are played themselves, when they begin and when they end."""
    points, work = played.graph.points, played.graph.work
    calls, begin, end = points.calls, played.point[points.start], played.point[points.end]
    marks = trace.lazy("steps").select("index").collect()["index"].to_numpy()
    of_mark = first_with_id(marks, trace.lazy("host").select("index").collect()["index"].to_numpy())
    mark = np.flatnonzero(of_mark >= 0)
    call = calls.place[of_mark[mark]]
    mark, call = mark[call >= 0], call[call >= 0]
    ends = played.ends
    return {
        "host": (calls.row, begin, end),
        "steps": (mark, begin[call], end[call]),
        "device": (work.row, ends - played.length, ends),
    }
