"""Captures in a trace: of the time in which graphs were captured, or of the program run eagerly.

A profile of a capture has the calls of the host and hardly any work of a device: what is launched
between the begin and the end of a capture does not run.  Launches that have work ran, so they are
no part of the graph (warm-up, and what prepares inputs).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from timesink.captures.thresholds import CaptureTraceLimits
from timesink.model.captures import (
    CALL_NUMBERS,
    CALL_TEXTS,
    CALLS,
    GEOMETRY,
    NODES,
    Capture,
)
from timesink.model.intervals import Flags, Ints
from timesink.model.launches import LAUNCH_KINDS, match_launches
from timesink.model.nested_calls import nest_in_order, pre_order
from timesink.model.schema import BUSY_KINDS, CAPTURED_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import (
    begins_capture,
    ends_capture,
    launches_graphs,
    launches_work,
)

_NAMED = ("operator", "module", "annotation", *CAPTURED_KINDS)
_FRAMES = ("python_function", "module")
_NESTED = (*_NAMED, "python_function")
_COPIES = {"memcpy": "memcpy", "copy": "memcpy", "memset": "memset"}


class _Stretch(NamedTuple):
    """Where a graph was captured: from a moment to another, in a process."""

    pid: str | None
    start_ns: int
    end_ns: int
    label: str


def captures_in(trace: Trace, source: str, label: str = "") -> list[Capture]:
    """The graphs that were captured while a trace was recorded, in the order of their captures.

    Without any begin of a capture all launches that no work followed are one graph.

    >>> import timesink
    >>> captures_in(timesink.open(timesink.sample()), "unet_train.json.gz")
    []
    """
    host, launches, has_work = _launches(trace)
    dead = launches[~has_work]
    start = host["ts_ns"].to_numpy()[dead]
    pids = host["pid"].cast(pl.String).to_numpy()[dead]
    tree = None
    captures = []
    for stretch in _stretches(host, label):
        inside = (start >= stretch.start_ns) & (start <= stretch.end_ns)
        if stretch.pid is not None:
            inside &= pids == stretch.pid
        if not inside.any():
            continue
        tree = tree or _NestedHost(host)
        rows = dead[inside]
        calls, node_call = tree.calls_around(rows, stretch.start_ns)
        nodes = _nodes(host[rows], node_call)
        size = _only_number(stretch.label)
        captures.append(Capture(source, stretch.label, calls, nodes, batch_size=size))
    return captures


def _only_number(label: str) -> int | None:
    """The batch size that a label says: `capture_32_FULL`; None where it has several numbers."""
    numbers = re.findall(r"\d{1,9}", label)
    return int(numbers[0]) if len(numbers) == 1 else None


def eager_capture(trace: Trace, source: str) -> Capture | None:
    """All work of an eager recording with the calls that launched it; None where none is known.

    >>> import timesink
    >>> capture = eager_capture(timesink.open(timesink.sample()), "unet_train.json.gz")
    >>> capture.is_eager, capture.nodes.height > 100
    (True, True)
    """
    host, launches, has_work = _launches(trace)
    device = trace.lazy("device").collect(engine="in-memory")
    columns = ("name", "pid", "ts_ns", "dur_ns", "correlation", "external_id")
    place = match_launches(host[launches].select(columns), device, trace.lazy("tracks"))
    busy = device["kind"].cast(pl.String).is_in(BUSY_KINDS).to_numpy()
    work = np.flatnonzero(busy & (place >= 0))
    if not len(work) or not has_work.any():
        return None
    launch = launches[place[work]]
    order = np.lexsort((work, host["ts_ns"].to_numpy()[launch]))
    work, launch = work[order], launch[order]
    calls, node_call = _NestedHost(host).calls_around(launch)
    rows = device[work]
    kinds = rows["kind"].cast(pl.String).replace("collective", "kernel")
    nodes = pl.DataFrame(
        {
            "call": node_call,
            "kind": kinds,
            "kernel": rows["name"].cast(pl.String),
            **{name: rows[name] for name in GEOMETRY},
            "stream": rows["stream"].cast(pl.String),
            "node_id": [None] * rows.height,
        },
        schema=NODES,
    )
    return Capture(source, "", calls, nodes, is_eager=True)


def _launches(trace: Trace) -> tuple[pl.DataFrame, Ints, Flags]:
    """Host calls, the rows of those that launch work in their order, and which of these had any.

    A runtime call encloses the driver call it makes: the outer one launches.  Graphs that are
    replayed meanwhile are no part of another.
    """
    host = trace.lazy("host").collect(engine="in-memory")
    names = host["name"].unique().cast(pl.String).drop_nulls()
    launching = [name for name in names if launches_work(name) and not launches_graphs(name)]
    is_call = host["kind"].cast(pl.String).is_in(LAUNCH_KINDS)
    is_launch = (is_call & host["name"].cast(pl.String).is_in(launching)).fill_null(value=False)
    rows = np.flatnonzero(is_launch.to_numpy())
    start = host["ts_ns"].to_numpy()[rows]
    end = start + host["dur_ns"].to_numpy()[rows]
    lane = host[rows].select(pl.struct("pid", "tid").rank("dense")).to_series().to_numpy()
    order = np.lexsort((-end, start, lane))
    rows, start, end, lane = rows[order], start[order], end[order], lane[order]
    latest = np.zeros(len(rows), dtype=np.int64)
    for number in np.unique(lane):
        mine = np.flatnonzero(lane == number)
        latest[mine[1:]] = np.maximum.accumulate(end[mine])[:-1]
    rows = rows[end > latest]
    rows = rows[np.argsort(host["ts_ns"].to_numpy()[rows], kind="stable")]
    ran = trace.lazy("device").select("correlation").collect(engine="in-memory")["correlation"]
    has_work = host["correlation"][rows].is_in(ran.drop_nulls().unique().implode())
    return host, rows, has_work.fill_null(value=False).to_numpy()


def _stretches(host: pl.DataFrame, label: str) -> Iterator[_Stretch]:
    """Captures by their begins and ends, in order; without any begin all of the recording."""
    calls = host.lazy().filter(pl.col("kind").cast(pl.String).is_in(LAUNCH_KINDS))
    marks = calls.select("name", "pid", "tid", "ts_ns", "dur_ns").cast(
        {"name": pl.String, "pid": pl.String, "tid": pl.String}
    )
    names = marks.select(pl.col("name").unique()).collect().to_series().drop_nulls().to_list()
    begins = [name for name in names if begins_capture(name)]
    ends = [name for name in names if ends_capture(name)]
    if not begins:
        yield _Stretch(None, np.iinfo(np.int64).min, np.iinfo(np.int64).max, label)
        return
    opened: dict[tuple[str, str], int] = {}
    borders = marks.filter(pl.col("name").is_in([*begins, *ends])).sort("ts_ns").collect()
    ranges = _annotations(host)
    for name, pid, tid, start, length in borders.iter_rows():
        if name in begins:
            opened[pid, tid] = start
        elif (pid, tid) in opened:
            first = opened.pop((pid, tid))
            yield _Stretch(pid, first, start + length, label or _label_at(ranges, pid, first))
    for (pid, _), first in opened.items():
        yield _Stretch(pid, first, np.iinfo(np.int64).max, label or _label_at(ranges, pid, first))


def _annotations(host: pl.DataFrame) -> pl.DataFrame:
    is_range = host["kind"].cast(pl.String) == "annotation"
    ranges = host.filter(is_range).select("name", "pid", "ts_ns", "dur_ns")
    return ranges.cast({"name": pl.String, "pid": pl.String})


def _label_at(ranges: pl.DataFrame, pid: str, moment: int) -> str:
    """The innermost annotation around a moment: programs say there what they capture."""
    around = ranges.filter(
        (pl.col("pid") == pid)
        & (pl.col("ts_ns") <= moment)
        & (pl.col("ts_ns") + pl.col("dur_ns") >= moment)
    )
    return "" if around.is_empty() else str(around.sort("dur_ns")["name"][0])


def _nodes(launches: pl.DataFrame, call: Ints) -> pl.DataFrame:
    names = launches["name"].cast(pl.String)
    kinds = {name: _kind_of(name) for name in names.unique()}
    empty: list[None] = [None] * launches.height
    return pl.DataFrame(
        {
            "call": call,
            "kind": names.replace_strict(kinds, return_dtype=pl.String),
            "kernel": launches["launched_kernel"].cast(pl.String),
            **dict.fromkeys(GEOMETRY, empty),
            "stream": empty,
            "node_id": empty,
        },
        schema=NODES,
    )


def _kind_of(name: str) -> str:
    """What a call launches, by its name."""
    lower = name.lower()
    kind = next((kind for word, kind in _COPIES.items() if word in lower), "kernel")
    return "other" if "hostfunc" in lower else kind


class _NestedHost:
    """Host calls nested by their threads, to look up what is around a launch."""

    def __init__(self, host: pl.DataFrame) -> None:
        kinds = host["kind"].cast(pl.String)
        rows = np.flatnonzero(kinds.is_in(_NESTED).to_numpy())
        lane = host.select(pl.struct("pid", "tid").rank("dense")).to_series()
        self._lane = lane.cast(pl.Int64).to_numpy()
        self._start = host["ts_ns"].to_numpy()
        self._end = self._start + host["dur_ns"].to_numpy()
        self._host = host
        is_module = (kinds == "module").to_numpy()
        frames = is_module[rows]
        order = pre_order(self._lane[rows], self._start[rows], self._end[rows], frames)
        self._row = rows[order]
        self._thread = self._lane[self._row]
        nest = nest_in_order(
            self._thread, self._start[self._row], self._end[self._row], frames[order]
        )
        self._parent = nest.parent
        names = kinds.gather(self._row)
        self._is_named = names.is_in(_NAMED).to_numpy()
        self._is_annotation = names.str.ends_with("annotation").to_numpy()
        self._is_frame = names.is_in(_FRAMES).to_numpy()
        self._is_operator = names.str.ends_with("operator").to_numpy()

    def calls_around(
        self, launches: Ints, begin_ns: int | None = None
    ) -> tuple[pl.DataFrame, Ints]:
        """Operators and modules around launches, and for each launch the innermost; -1 for none.

        Ranges that the program marks count where they begin after `begin_ns`: others frame the
        capture, or a step of an eager run.
        """
        begun = self._start[self._row]
        is_outer = np.ones(len(begun), np.bool_) if begin_ns is None else begun < begin_ns
        is_named = self._is_named & ~(self._is_annotation & is_outer)
        innermost = self._innermost(launches)
        wanted = np.zeros(len(self._row), dtype=np.bool_)
        climbing = innermost[innermost >= 0]
        while len(climbing):
            climbing = np.unique(climbing[~wanted[climbing]])
            wanted[climbing] = True
            climbing = self._parent[climbing]
            climbing = climbing[climbing >= 0]
        chosen = np.flatnonzero(wanted & is_named)
        place = np.full(len(self._row) + 1, -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        rows = self._row[chosen]
        parent = place[self._caller_among(is_named, self._parent[chosen])]
        calls = self._host[rows].select(
            pl.Series("parent", parent),
            pl.Series("kind", self._kinds_of(chosen)),
            pl.col("name").cast(pl.String).fill_null(""),
            *(pl.col(name).cast(pl.String) for name in CALL_TEXTS if name != "call_stack"),
            pl.Series("call_stack", self._stacks(chosen), dtype=pl.String),
            *CALL_NUMBERS,
        )
        return calls.select(*CALLS), place[self._caller_among(is_named, innermost)]

    def _kinds_of(self, chosen: Ints) -> list[str]:
        kinds = self._host["kind"].cast(pl.String).gather(self._row[chosen])
        return kinds.str.strip_prefix("captured_").to_list()

    def _innermost(self, launches: Ints) -> Ints:
        """The innermost call around each launch, a place in the tree; -1 for none."""
        innermost = np.full(len(launches), -1, dtype=np.int64)
        start, end = self._start[launches], self._end[launches]
        for number in np.unique(self._lane[launches]):
            mine = np.flatnonzero(self._lane[launches] == number)
            first, last = np.searchsorted(self._thread, [number, number + 1])
            begun = np.searchsorted(self._start[self._row[first:last]], start[mine], "right") - 1
            innermost[mine] = np.where(begun >= 0, begun + first, -1)
        climbing = np.flatnonzero(innermost >= 0)
        while len(climbing):
            climbing = climbing[self._end[self._row[innermost[climbing]]] < end[climbing]]
            innermost[climbing] = self._parent[innermost[climbing]]
            climbing = climbing[innermost[climbing] >= 0]
        return innermost

    def _caller_among(self, wanted: Flags, places: Ints) -> Ints:
        """Each place itself or its nearest caller that is wanted; else -1."""
        callers = places.copy()
        climbing = np.flatnonzero(callers >= 0)
        while len(climbing):
            climbing = climbing[~wanted[callers[climbing]]]
            callers[climbing] = self._parent[callers[climbing]]
            climbing = climbing[callers[climbing] >= 0]
        return callers

    def _stacks(self, chosen: Ints) -> list[str | None]:
        """Call stacks of operators: as recorded, else the Python functions around them."""
        names = self._host["name"].cast(pl.String).gather(self._row).to_list()
        recorded = self._host["call_stack"].cast(pl.String).gather(self._row[chosen]).to_list()
        stacks: list[str | None] = []
        for place, stack in zip(chosen.tolist(), recorded, strict=True):
            if stack or not self._is_operator[place]:
                stacks.append(stack)
                continue
            stacks.append(";".join(self._frames_around(place, names)) or None)
        return stacks

    def _frames_around(self, place: int, names: Sequence[str | None]) -> list[str]:
        frames: list[str] = []
        place = int(self._parent[place])
        while place >= 0 and len(frames) < CaptureTraceLimits.max_frames:
            if self._is_frame[place]:
                frames.append(names[place] or "")
            place = int(self._parent[place])
        return frames
