"""The chain of host code, launches, device work and waits that decides how long a run takes.

From the last moment back: what a node came right after decided when it came.  Whatever is not on
that chain has slack: so much later it could come without anybody noticing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses import names
from timesink.analyses.columns import device_kinds, device_names, host_kinds, host_names
from timesink.analyses.forest import within
from timesink.analyses.replay.simulation import Played
from timesink.analyses.steps import is_communication
from timesink.model.arrays import Flags, Floats, Ints
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.trace import Trace

KINDS = (
    *("kernel", "memcpy", "memset", "communication"),
    *("host", "runtime_call", "data_loading"),
    *("launch", "queue", "wake_up", "hand_over"),
)
"""What a piece of the path is: work of a device, of a thread, or the time from one to the other."""
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
    parts = [_host_pieces(trace, played, path), *_node_pieces(trace, played, path)]
    table = pl.concat(parts).sort("start_ns", "dur_ns")
    if window is not None:
        low, high = window
        end = (pl.col("start_ns") + pl.col("dur_ns")).clip(upper_bound=round(high))
        start = pl.col("start_ns").clip(lower_bound=round(low))
        table = table.with_columns(start_ns=start, dur_ns=end - start)
    return table.filter(pl.col("dur_ns") > 0)


def _rows(
    kind: Ints, name: pl.Series, start: Floats, length: Floats, host: Ints, device: Ints
) -> pl.DataFrame:
    begin = np.rint(start)
    return pl.DataFrame(
        {
            "kind": pl.Series([KINDS[each] for each in kind.tolist()], dtype=SCHEMA["kind"]),
            "name": name,
            "start_ns": begin.astype(np.int64),
            "dur_ns": (np.rint(start + length) - begin).astype(np.int64),
            "host_row": host,
            "device_row": device,
        },
        schema=SCHEMA,
    )


def _host_pieces(trace: Trace, played: Played, path: Path) -> pl.DataFrame:
    """Stretches of threads on the path, cut where another call begins or ends."""
    graph, points = played.graph, played.graph.points
    high = graph.point[path.node]
    plain = ~path.by_need & (high >= 0) & (graph.point[graph.before[path.node]] >= 0)
    high = high[plain]
    low = graph.point[graph.before[path.node[plain]]]
    inside = np.zeros(len(points.time) + 1, dtype=np.int64)
    np.add.at(inside, low, 1)
    np.add.at(inside, high, -1)
    place = np.flatnonzero(np.cumsum(inside)[:-1] > 0)
    come = played.point
    # Neighbours inside of one call are one piece.
    owner = points.owner[place]
    first = np.ones(len(place), dtype=np.bool_)
    first[1:] = (owner[1:] != owner[:-1]) | (place[1:] != place[:-1] + 1)
    begins = np.flatnonzero(first)
    ends = np.append(begins[1:], len(place)) - 1
    owner, start, end = (
        owner[begins],
        come[place[begins]],
        come[place[ends] + 1] if len(place) else come[:0],
    )
    calls = points.calls
    row = np.where(owner >= 0, calls.row[owner], _UNKNOWN) if len(calls) else owner
    runtime = host_kinds(trace).among(*LAUNCH_KINDS)
    loads = within(np.flatnonzero(calls.named(names.is_data_loader)), calls.size)
    kind = np.full(len(owner), KINDS.index("host"))
    kind[(owner >= 0) & runtime[row]] = KINDS.index("runtime_call")
    kind[(owner >= 0) & loads[owner]] = KINDS.index("data_loading")
    texts = host_names(trace)
    name = pl.Series(
        [texts.texts[texts.codes[one]] if one >= 0 else "" for one in row.tolist()], dtype=pl.String
    )
    return _rows(kind, name, start, end - start, row, np.full(len(row), _UNKNOWN))


def _node_pieces(trace: Trace, played: Played, path: Path) -> list[pl.DataFrame]:
    """Activities on the path, and the time from a launch, an activity or a thread to the next."""
    graph, node, work = played.graph, path.node, played.graph.work
    source = np.where(path.by_need, graph.needs[node], graph.before[node])
    doing = graph.activity[node] >= 0
    activity = graph.activity[node]
    length = np.where(doing, played.length[activity] if len(work) else 0.0, 0.0)
    begin = played.node[node] - length
    device_row = np.where(doing, work.row[activity] if len(work) else 0, _UNKNOWN)
    # What passes before: a launch on its way, a stream that goes on, a thread that wakes up.
    passed = begin - played.node[source]
    is_host = graph.point[node] >= 0
    from_host = graph.point[source] >= 0
    kind = np.select(
        [is_host & from_host, is_host, from_host],
        [KINDS.index("hand_over"), KINDS.index("wake_up"), KINDS.index("launch")],
        KINDS.index("queue"),
    )
    between = ((~is_host) | path.by_need) & (source > 0)
    call = np.where(
        is_host, graph.points.call[graph.point[node]] if len(graph.points.call) else 0, 0
    )
    row = np.where(
        is_host & (graph.point[node] >= 0),
        graph.points.calls.row[call] if len(graph.points.calls) else 0,
        _UNKNOWN,
    )
    named, host_texts = device_names(trace), host_names(trace)
    texts = [
        named.texts[named.codes[one]]
        if one >= 0
        else (host_texts.texts[host_texts.codes[two]] if two >= 0 else "")
        for one, two in zip(device_row.tolist(), row.tolist(), strict=True)
    ]
    name = pl.Series(texts, dtype=pl.String)
    gaps = _rows(kind, name, played.node[source], passed, row, device_row).filter(
        pl.Series(between)
    )
    kinds = device_kinds(trace)
    talks = is_communication(trace)
    of_work = [
        "communication" if talks[one] else kinds.texts[kinds.codes[one]]
        for one in device_row[doing].tolist()
    ]
    number = np.array([KINDS.index(one) if one in KINDS else 0 for one in of_work], dtype=np.int64)
    nothing = np.full(int(doing.sum()), _UNKNOWN)
    worked = _rows(
        number,
        name.filter(pl.Series(doing)),
        begin[doing],
        length[doing],
        nothing,
        device_row[doing],
    )
    return [gaps, worked]
