"""The chain of host code, launches, device work and waits that decides how long a run takes.

From the last moment back: what a node came right after decided when it came.  Whatever is not on
that chain has slack: so much later it could come without anybody noticing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses import names
from timesink.analyses.arrays import values_at
from timesink.analyses.columns import device_kinds, device_names, host_kinds, host_names
from timesink.analyses.forest import within
from timesink.analyses.replay.simulation import Played
from timesink.analyses.steps import is_communication
from timesink.model import vendors
from timesink.model.arrays import Flags, Floats, Ints
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.schema import DEVICE_KINDS
from timesink.model.trace import Trace

KINDS = (
    *("kernel", "memcpy", "memset", "communication"),
    *("host", "runtime_call", "data_loading"),
    *("launch", "queue", "wake_up", "hand_over"),
)
"""What a piece of the path is: work of a device, of a thread, or the time from one to the other."""
_COMMUNICATION, _HOST, _RUNTIME_CALL, _DATA_LOADING = range(3, 7)
_LAUNCH, _QUEUE, _WAKE_UP, _HAND_OVER = range(7, 11)
_UNKNOWN = -1

SCHEMA = {
    "kind": pl.Enum(KINDS),
    "name": pl.String(),
    "start_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "host_row": pl.Int64(),
    "device_row": pl.Int64(),
}
"""A row per piece, in the order of time from the beginning of the recording: the row in
`trace.host` or `trace.device` it belongs to; -1 for neither."""


@dataclass(frozen=True, eq=False)
class Path:
    """Which dependencies decided, one after the other, from the first to the last."""

    node: Ints
    by_need: Flags
    """Whether it was the one it needs that decided, not the one before it."""


def decisive_path(played: Played, last: int | None = None) -> Path:
    """From a node, the last to come unless given, back to the beginning."""
    graph = played.graph
    by_need = _by_need(played)
    source = np.where(by_need, graph.needs, graph.before).tolist()
    place = int(played.node.argmax()) if last is None else last
    found = []
    while place > 0:
        found.append(place)
        place = source[place]
    nodes = np.array(found[::-1], dtype=np.int64)
    return Path(nodes, by_need[nodes])


def _by_need(played: Played) -> Flags:
    graph = played.graph
    come = np.append(played.node, -np.inf)
    return np.asarray(come[graph.needs] + played.lag > come[graph.before] + played.gap)


def slack(played: Played) -> Floats:
    """By node: how much later it could come without the last one being later."""
    graph = played.graph
    late = np.full(len(graph), played.node.max(initial=0.0)).tolist()
    late.append(0.0)
    rows = zip(
        range(len(graph) - 1, 0, -1),
        graph.before[:0:-1].tolist(),
        played.gap[:0:-1].tolist(),
        graph.needs[:0:-1].tolist(),
        played.lag[:0:-1].tolist(),
        strict=True,
    )
    for number, one, passes, other, more in rows:
        moment = late[number]
        late[one] = min(late[one], moment - passes)
        late[other] = min(late[other], moment - more)
    return np.array(late[:-1]) - played.node


def critical_path(
    trace: Trace, played: Played, window: tuple[float, float] | None = None
) -> pl.DataFrame:
    """The pieces of the path, rows of `SCHEMA`; of those in a window of the played time only."""
    path = decisive_path(played)
    table = pl.concat([_host_pieces(trace, played, path), *_node_pieces(trace, played, path)])
    if window is not None:
        low, high = window
        end = (pl.col("start_ns") + pl.col("dur_ns")).clip(upper_bound=round(high))
        start = pl.col("start_ns").clip(lower_bound=round(low))
        table = table.with_columns(start_ns=start, dur_ns=end - start)
    return table.filter(pl.col("dur_ns") > 0).sort("start_ns", "dur_ns")


def _pieces(
    trace: Trace, kind: Ints, span: tuple[Floats, Floats], host: Ints, device: Ints
) -> pl.DataFrame:
    """Rows with the name of what they belong to: that of a device first."""
    start, end = (np.rint(each).astype(np.int64) for each in span)
    known = zip((host_names(trace), device_names(trace)), (host, device), strict=True)
    by_host, by_device = (
        values_at(
            pl.Series(texts.texts, dtype=pl.String),
            np.where(row >= 0, texts.codes[row], _UNKNOWN) if len(texts.codes) else row,
        )
        for texts, row in known
    )
    return pl.DataFrame(
        {
            "kind": pl.Series(KINDS, dtype=SCHEMA["kind"]).gather(kind),
            "name": by_device.zip_with(pl.Series(device >= 0), by_host.fill_null("")),
            "start_ns": start,
            "dur_ns": end - start,
            "host_row": host,
            "device_row": device,
        },
        schema=SCHEMA,
    )


def _host_pieces(trace: Trace, played: Played, path: Path) -> pl.DataFrame:
    """Stretches of threads on the path, cut where another call begins or ends."""
    graph, points, calls = played.graph, played.graph.points, played.graph.points.calls
    node = path.node[~path.by_need]
    high, low = graph.point[node], graph.point[graph.before[node]]
    inside = np.zeros(len(points.time) + 1, dtype=np.int64)
    mine = (high >= 0) & (low >= 0)
    np.add.at(inside, low[mine], 1)
    np.add.at(inside, high[mine], -1)
    place = np.flatnonzero(np.cumsum(inside)[:-1] > 0)
    # Neighbours inside of one call are one piece.
    owner = points.owner[place]
    first = np.ones(len(place), dtype=np.bool_)
    first[1:] = (owner[1:] != owner[:-1]) | (place[1:] != place[:-1] + 1)
    owner, begins = owner[first], place[first]
    ends = place[np.append(np.flatnonzero(first)[1:], len(place)) - 1] + 1 if len(place) else place
    row = np.where(owner >= 0, calls.row[owner], _UNKNOWN) if len(calls) else owner
    kind = np.full(len(owner), _HOST)
    if len(calls):
        runtime = host_kinds(trace).among(*LAUNCH_KINDS)[calls.row]
        loads = within(np.flatnonzero(calls.named(names.is_data_loader)), calls.size)
        kind[(owner >= 0) & runtime[owner]] = _RUNTIME_CALL
        kind[(owner >= 0) & loads[owner]] = _DATA_LOADING
        talks = within(np.flatnonzero(calls.named(vendors.is_collective_call)), calls.size)
        kind[(owner >= 0) & talks[owner]] = _COMMUNICATION
    span = (played.point[begins], played.point[ends])
    return _pieces(trace, kind, span, row, np.full(len(row), _UNKNOWN))


def _node_pieces(trace: Trace, played: Played, path: Path) -> list[pl.DataFrame]:
    """Activities on the path, and the time from a launch, an activity or a thread to the next."""
    graph, node, work = played.graph, path.node, played.graph.work
    source = np.where(path.by_need, graph.needs[node], graph.before[node])
    activity, point = graph.activity[node], graph.point[node]
    doing, on_host = activity >= 0, point >= 0
    end = played.node[node]
    begin, device_row, host_row = end.copy(), np.full(len(node), -1), np.full(len(node), -1)
    begin[doing] -= played.length[activity[doing]]
    begin = np.maximum(begin, played.node[source])  # kernels of one stream may overlap a little
    device_row[doing] = work.row[activity[doing]]
    host_row[on_host] = graph.points.calls.row[graph.points.call[point[on_host]]]
    # What passes before: a launch on its way, a stream that goes on, a thread that wakes up.
    from_host = graph.point[source] >= 0
    kind = np.select(
        [on_host & from_host, on_host, from_host], [_HAND_OVER, _WAKE_UP, _LAUNCH], _QUEUE
    )
    passing = (~on_host | path.by_need) & (source > 0)
    between = (played.node[source[passing]], begin[passing])
    number = np.array([KINDS.index(one) if one in KINDS else 0 for one in DEVICE_KINDS])
    works = number[device_kinds(trace).codes[device_row[doing]]]
    works[is_communication(trace)[device_row[doing]]] = _COMMUNICATION
    nowhere = np.full(int(doing.sum()), _UNKNOWN)
    return [
        _pieces(trace, kind[passing], between, host_row[passing], device_row[passing]),
        _pieces(trace, works, (begin[doing], end[doing]), nowhere, device_row[doing]),
    ]
