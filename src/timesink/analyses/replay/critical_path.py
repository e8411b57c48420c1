"""The chain of host code, launches, device work and waits that decides how long a run takes.

From the last moment back: what a node came right after decided when it came.  Whatever is not on
that chain has slack: so much later it could come without anybody noticing.  Tables are of the
complete cycles of a run as it was played: by itself, or as recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses import names
from timesink.analyses.columns import (
    Rows,
    Texts,
    device_kinds,
    device_names,
    host_columns,
    host_kinds,
    host_names,
    memoize_per_trace,
)
from timesink.analyses.forest import call_forest, descendant_mask, interval_mask
from timesink.analyses.graphs import captured_rows
from timesink.analyses.links import link_launches
from timesink.analyses.modules import find_modules, is_module_call, link_backward
from timesink.analyses.names import short_kernel_name
from timesink.analyses.replay.own_clock import moved_timeline, own_clock, own_timeline
from timesink.analyses.replay.play import Played, is_compiled, path_natively, recorded_play
from timesink.analyses.replay.points import CollectiveWaits, waits_for_collectives
from timesink.analyses.steps import bounds_of, find_steps, is_communication
from timesink.analyses.thresholds import CriticalPathLimits
from timesink.model import intervals, vendors
from timesink.model.arrays import Places, is_among, is_run_start, narrow, sums_by, wide
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.nested_calls import enclosing_calls
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
_AT_ONCE = 1 << 16
"""So many pieces are made at a time."""

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


class Path(msgspec.Struct, frozen=True, eq=False):
    """Which dependencies decided, in order, from the first to the last."""

    node: Ints
    by_need: Flags
    """Whether it was the one it needs that decided, not the one before it."""


def decisive_path(played: Played, last: int | None = None) -> Path:
    """From a node, the last to come unless given, back to the beginning."""
    graph = played.graph
    if len(graph) and is_compiled(graph):
        return Path(*path_natively(played, int(played.node.argmax()) if last is None else last))
    by_need = _by_need(played)
    source = np.where(by_need, graph.needs, graph.before).tolist()
    place = int(played.node.argmax()) if last is None else last
    places = []
    while place > 0:
        places.append(place)
        place = source[place]
    nodes = np.array(places[::-1], dtype=np.int64)
    return Path(nodes, by_need[nodes])


def _by_need(played: Played) -> Flags:
    graph = played.graph
    come, (gap, lag) = np.append(played.node, -np.inf), played.passes
    return np.asarray(come[graph.needs] + lag > come[graph.before] + gap)


def slack(played: Played) -> Floats:
    """By node: how much later it could come without the last one being later."""
    graph = played.graph
    late = np.full(len(graph), played.node.max(initial=0.0)).tolist()
    late.append(0.0)
    gap, lag = played.passes
    rows = zip(
        range(len(graph) - 1, 0, -1),
        graph.before[:0:-1].tolist(),
        gap[:0:-1].tolist(),
        graph.needs[:0:-1].tolist(),
        lag[:0:-1].tolist(),
        strict=True,
    )
    for number, before, passes, other, more in rows:
        moment = late[number]
        late[before] = min(late[before], moment - passes)
        late[other] = min(late[other], moment - more)
    return np.array(late[:-1]) - played.node


class _Pieces(msgspec.Struct, frozen=True, eq=False):
    """Pieces of the path as arrays, in any order: a long path has nearly a million."""

    kind: NDArray[np.int8]
    """Place in `KINDS`."""
    start: Ints
    end: Ints
    host: NDArray[np.int32]
    """Row in `trace.host`; -1 for none."""
    device: NDArray[np.int32]
    """Row in `trace.device`; -1 for none."""

    @classmethod
    def of(cls, kind: Places, span: tuple[Floats, Floats], host: Places, device: Places) -> _Pieces:
        """Pieces between two moments each, which are rounded."""
        start, end = (np.rint(moments).astype(np.int64) for moments in span)
        rows = (row.astype(np.int32, copy=False) for row in (host, device))
        return cls(kind.astype(np.int8, copy=False), start, end, *rows)

    @classmethod
    def joined(cls, parts: Sequence[_Pieces]) -> _Pieces:
        """All pieces of several paths or parts of one."""
        return cls(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in cls.__struct_fields__
            )
        )

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, chosen: Ints) -> _Pieces:
        return _Pieces(*(getattr(self, name)[chosen] for name in self.__struct_fields__))

    def names(self, trace: Trace, place_of: tuple[Ints, Ints]) -> Ints:
        """The name of what each belongs to, as `_joint_names` numbers them; 0 for nothing."""
        code = np.zeros(len(self), dtype=np.int64)
        sides = (host_names(trace), self.host), (device_names(trace), self.device)
        for place, (named, row) in zip(place_of, sides, strict=True):
            mine = np.flatnonzero(row >= 0)
            code[mine] = place[named.codes[row[mine]]]
        return code

    def kinds(self) -> pl.Series:
        """What each is."""
        return pl.Series(KINDS, dtype=SCHEMA["kind"]).gather(pl.Series(self.kind).cast(pl.UInt32))


def _joint_names(trace: Trace) -> tuple[tuple[Ints, Ints], list[str]]:
    """For names of the host and of devices: the place of each among all; an empty one is first."""
    texts = {"": 0}
    host, device = (
        np.array([texts.setdefault(text, len(texts)) for text in named.texts] or [0])
        for named in (host_names(trace), device_names(trace))
    )
    return (host, device), list(texts)


def critical_path(
    trace: Trace, played: Played, window: tuple[float, float] | None = None
) -> pl.DataFrame:
    """The pieces of the path, rows of `SCHEMA`; of those in a window of the played time only."""
    pieces = _Pieces.joined(list(_path_pieces(trace, played)))
    start, end = pieces.start, pieces.end
    if window is not None:
        low, high = window
        start, end = np.maximum(start, round(low)), np.minimum(end, round(high))
    lasting = np.flatnonzero(end > start)
    lasting = lasting[np.lexsort((end[lasting] - start[lasting], start[lasting]))]
    pieces, start, end = pieces[lasting], start[lasting], end[lasting]
    place_of, texts = _joint_names(trace)
    named = Texts(pieces.names(trace, place_of), texts)
    return pl.DataFrame(
        {
            "kind": pieces.kinds(),
            "name": _gather_texts(named, slice(None)),
            "start_ns": start,
            "dur_ns": end - start,
            "host_row": pieces.host,
            "device_row": pieces.device,
        },
        schema=SCHEMA,
    )


def _path_pieces(trace: Trace, played: Played) -> Iterator[_Pieces]:
    """All pieces of the path, those that take no time as well, in several parts."""
    path, begins = decisive_path(played), []
    for find in (_host_pieces, _node_pieces):
        for pieces in find(trace, played, path):
            begins += [int(pieces.start.min())] if len(pieces) else []
            yield pieces
    yield _before_the_path(trace, min(begins, default=0))


def _before_the_path(trace: Trace, begin: int) -> _Pieces:
    """What passes until the path begins, where others were recorded earlier than its thread."""
    begins = np.array([begin], dtype=np.float64)
    kind = np.array([_QUEUE if host_columns(trace).is_empty() else _HOST])
    nowhere = np.array([_UNKNOWN])
    return _Pieces.of(kind, (np.zeros(1), begins), nowhere, nowhere)


def _host_pieces(trace: Trace, played: Played, path: Path) -> Iterator[_Pieces]:
    """Stretches of threads on the path, cut where another call begins or ends.

    Of one that waits for a collective of another thread, the wait is that collective's.
    """
    points, calls, waits = (
        played.graph.points,
        played.graph.points.calls,
        waits_for_collectives(played.graph.points),
    )
    begins, ends = _stretches_on_path(played, path, waits)
    is_runtime, inside = np.zeros(0, dtype=np.bool_), []
    if len(calls):
        is_runtime = host_kinds(trace).among(*LAUNCH_KINDS)[calls.row]
        for test, kind in (
            (names.is_data_loader, _DATA_LOADING),
            (vendors.is_collective_call, _COMMUNICATION),
        ):
            roots = np.flatnonzero(calls.named(test))
            inside += [(descendant_mask(roots, calls.size), kind)] if len(roots) else []
    come = played.point
    # Some at a time: what is needed for a while stays small.
    for first in range(0, len(begins), _AT_ONCE):
        begin, end = (border[first : first + _AT_ONCE] for border in (begins, ends))
        owner = points.owner[begin]
        owned = owner >= 0
        kinds = np.full(len(owner), _HOST, dtype=np.int8)
        row = owner
        if len(calls):
            row = np.where(owned, calls.row[owner], _UNKNOWN)
            kinds[owned & is_runtime[owner]] = _RUNTIME_CALL
            for called, kind in inside:
                kinds[owned & called[owner]] = kind
        start, finish = come[begin], come[end]
        nowhere = np.full(len(row), _UNKNOWN, dtype=np.int32)
        awaiting = np.flatnonzero(is_among(begin, waits.point))
        if len(awaiting):
            waited = np.searchsorted(waits.point, begin[awaiting])
            resumes = start.copy()
            resumes[awaiting] += (finish[awaiting] - start[awaiting]) * waits.share[waited]
            span = (start[awaiting], resumes[awaiting])
            of_wait = np.full(len(awaiting), _COMMUNICATION)
            yield _Pieces.of(of_wait, span, calls.row[waits.call[waited]], nowhere[awaiting])
            start = resumes
        yield _Pieces.of(kinds, (start, finish), row, nowhere)


def _stretches_on_path(played: Played, path: Path, waits: CollectiveWaits) -> tuple[Places, Places]:
    """From which host point to which one each piece goes: neighbours inside of one call are one."""
    graph, points = played.graph, played.graph.points
    node = path.node[~path.by_need]
    high, low = graph.point[node], graph.point[graph.before[node]]
    mine = (high >= 0) & (low >= 0)
    on_path = interval_mask(low[mine], high[mine], len(points.time))
    begins = on_path.copy()
    begins[1:] &= ~on_path[:-1] | (points.owner[1:] != points.owner[:-1])
    # What waits for a collective is a piece of its own.
    begins[waits.point] = on_path[waits.point]
    after = waits.point[waits.point + 1 < len(on_path)] + 1
    begins[after] = on_path[after]
    ends = on_path
    ends[:-1] &= ~on_path[1:] | begins[1:]
    many = len(on_path)
    return narrow(np.flatnonzero(begins), many), narrow(np.flatnonzero(ends) + 1, many)


def _node_pieces(trace: Trace, played: Played, path: Path) -> Iterator[_Pieces]:
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
    number = np.array([KINDS.index(text) if text in KINDS else 0 for text in DEVICE_KINDS])
    works = number[device_kinds(trace).codes[device_row[doing]]]
    works[is_communication(trace)[device_row[doing]]] = _COMMUNICATION
    nowhere = np.full(int(doing.sum()), _UNKNOWN)
    yield _Pieces.of(kind[passing], between, host_row[passing], device_row[passing])
    yield _Pieces.of(works, (begin[doing], end[doing]), nowhere, device_row[doing])


# -- by kind, name and module; and how much slack the rest has -------------------------------------


ON_DEVICE, ON_HOST = KINDS[:4], KINDS[4:7]
"""Kinds of pieces that are work; the others are time from one to the next."""
_OF_KERNELS = (*ON_DEVICE, "launch", "queue")
_NO_CALL, _NO_MODULE = "outside of recorded calls", "outside of every module"

PATH_SCHEMA: dict[str, pl.DataType] = {
    "kind": pl.String(),
    "name": pl.String(),
    "short_name": pl.String(),
    "calls": pl.Int64(),
    **dict.fromkeys(("time_ns", "share_pct"), pl.Float64()),
}
MODULE_SCHEMA: dict[str, pl.DataType] = {
    "module": pl.String(),
    **dict.fromkeys(("time_ns", "share_pct"), pl.Float64()),
    **dict.fromkeys(("device_ns", "host_ns", "between_ns", "captured_pct"), pl.Float64()),
}
SLACK_SCHEMA: dict[str, pl.DataType] = {
    "kind": pl.String(),
    "name": pl.String(),
    "short_name": pl.String(),
    "calls": pl.Int64(),
    **dict.fromkeys(("time_ns", "decisive_ratio"), pl.Float64()),
    **dict.fromkeys(("least_slack_ns", "median_slack_ns", "most_slack_ns"), pl.Float64()),
}


class PlayedRun(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """A recording, how it was played, and the complete cycles of that, which tables are about."""

    trace: Trace
    played: Played
    cycles: Ints
    """Their starts and ends, on the clock of the trace."""

    @property
    def origin(self) -> int:
        """What played times are counted from."""
        return int(self.played.graph.time[0])

    @property
    def count(self) -> int:
        return max(1, len(self.cycles))

    @property
    def cycle_ns(self) -> float:
        """How long a cycle takes, on average."""
        return float((self.cycles[:, 1] - self.cycles[:, 0]).sum()) / self.count


def played_run(
    trace: Trace, steps: Collection[str] | None = None, *, recorded: bool = False
) -> PlayedRun:
    """A trace as its program runs by itself, or as `recorded` where nobody knows that.

    Of all complete steps, or of those with these names.
    """
    played = None if recorded else own_clock(trace).played
    timeline = trace
    if played is None:
        played, timeline = _as_recorded(trace)
    else:
        timeline = own_timeline(trace)
    step_rows = find_steps(timeline)
    if steps is not None:
        step_rows = step_rows.filter(pl.col("name").is_in(list(steps)))
    # Cut steps count as well where no other was asked for.
    if steps is None or step_rows["complete"].any():
        step_rows = step_rows.filter("complete")
    return PlayedRun(trace, played, bounds_of(step_rows))


@memoize_per_trace
def _as_recorded(trace: Trace) -> tuple[Played, Trace]:
    played = recorded_play(trace)
    return played, moved_timeline(trace, played)


def _run(subject: Trace | PlayedRun) -> PlayedRun:
    return played_run(subject) if isinstance(subject, Trace) else subject


def cycle_pieces(run: PlayedRun) -> pl.DataFrame:
    """The pieces of the path that lie in cycles, in any order, and how long they do.

    `kind`, `host_row`, `device_row` and `inside_ns`.
    """
    parts, lengths = zip(*_pieces_in_cycles(run), strict=True)
    pieces = _Pieces.joined(parts)
    return pl.DataFrame(
        {
            "kind": pieces.kinds(),
            "host_row": pieces.host,
            "device_row": pieces.device,
            "inside_ns": np.concatenate(lengths),
        }
    )


def _pieces_in_cycles(run: PlayedRun) -> Iterator[tuple[_Pieces, Ints]]:
    """The pieces that lie in cycles, and how long they do, in several parts."""
    for part in _path_pieces(run.trace, run.played):
        spans = np.stack([part.start, np.maximum(part.start, part.end)]).T + run.origin
        inside = intervals.coverage_within(run.cycles, spans)
        chosen = np.flatnonzero(inside > 0)
        yield part[chosen], inside[chosen]


def path_kinds(run: PlayedRun) -> dict[str, float]:
    """How much of a cycle each kind of piece decides, in ns, the most first."""
    sums, _ = _path_sums(run)
    rows = sorted(zip(KINDS, sums, strict=True), key=lambda row: (-row[1], row[0]))
    return {kind: ns / run.count for kind, ns in rows if ns}


def outside_calls_ns(run: PlayedRun) -> float:
    """How much of a cycle host code outside of recorded calls decides, in ns."""
    return _path_sums(run)[1] / run.count


@memoize_per_trace
def _path_sums(run: PlayedRun) -> tuple[list[int], int]:
    """How long pieces of each kind lie in cycles, and host code outside of recorded calls."""
    sums, outside = np.zeros(len(KINDS), dtype=np.int64), 0
    for part, inside in _pieces_in_cycles(run):
        sums += sums_by(part.kind, inside, len(KINDS))
        outside += int(inside[(part.kind == _HOST) & (part.host < 0)].sum())
    return sums.tolist(), outside


def path_table(subject: Trace | PlayedRun) -> pl.DataFrame:
    """Pieces of the path by kind and name, their time per cycle; those that take most first."""
    run = _run(subject)
    rows_of_host = host_columns(run.trace).height
    place_of, texts = _joint_names(run.trace)
    groups = len(texts) * len(KINDS)
    time, named, unnamed = np.zeros(groups, dtype=np.int64), [], []
    for part, inside in _pieces_in_cycles(run):
        group = part.names(run.trace, place_of) * len(KINDS) + part.kind
        time += sums_by(group, inside, groups)
        which = np.where(part.device >= 0, wide(part.device) + rows_of_host, part.host)
        # A call may be there in several pieces; those in no call are one each.
        nobody = which < 0
        named.append(_different(group[~nobody] * _MOST_ROWS + which[~nobody]))
        unnamed.append(np.stack([group[nobody], part.start[nobody]]))
    calls = np.bincount(_different(np.concatenate(named)) // _MOST_ROWS, minlength=groups)
    calls += np.bincount(np.unique(np.concatenate(unnamed, axis=1), axis=1)[0], minlength=groups)
    found = np.flatnonzero(time)
    rows = pl.DataFrame(
        {
            "kind": [KINDS[code] for code in (found % len(KINDS)).tolist()],
            "name": [texts[code] for code in (found // len(KINDS)).tolist()],
            "calls": calls[found],
            "time_ns": time[found] / run.count,
        },
        schema_overrides={"kind": pl.String, "name": pl.String},
    ).sort("time_ns", "kind", "name", descending=[True, False, False])
    return rows.with_columns(
        _short_names(rows), share_pct=100 * pl.col("time_ns") / max(run.cycle_ns, 1.0)
    ).select(pl.col(name).cast(dtype) for name, dtype in PATH_SCHEMA.items())


_MOST_ROWS = 1 << 34
"""More than the rows of all tables together."""


def _different(keys: Ints) -> Ints:
    """Each number once, in order."""
    keys = np.sort(keys)
    return keys[is_run_start(keys)]


def _short_names(rows: pl.DataFrame) -> pl.Series:
    """Names of kernels without their arguments, and of all else as they are."""
    texts = [
        short_kernel_name(name) if kind in _OF_KERNELS else name or _NO_CALL
        for kind, name in rows.select("kind", "name").iter_rows()
    ]
    return pl.Series("short_name", texts, dtype=pl.String)


# -- by module -------------------------------------------------------------------------------------


def path_modules(subject: Trace | PlayedRun) -> pl.DataFrame:
    """Time on the path by the innermost module around it, or whose backward pass it is.

    Device work, and what passes before it, counts for the module that launched it.  Without
    modules in the recording there is no row.
    """
    run = _run(subject)
    trace = run.trace
    if not len(find_modules(trace).node):
        return pl.DataFrame(schema=MODULE_SCHEMA)
    pieces = cycle_pieces(run)
    if pieces.is_empty():
        return pl.DataFrame(schema=MODULE_SCHEMA)
    named = _module_paths(trace, _nodes(trace, pieces))
    time = pl.col("inside_ns")
    rows = (
        pieces.select("kind", "inside_ns", module=named, captured=_is_captured(trace, pieces))
        .group_by("module")
        .agg(
            time_ns=time.sum() / run.count,
            device_ns=time.filter(pl.col("kind").is_in(ON_DEVICE)).sum() / run.count,
            host_ns=time.filter(pl.col("kind").is_in(ON_HOST)).sum() / run.count,
            captured_pct=100 * time.filter("captured").sum() / time.sum(),
        )
        .with_columns(
            between_ns=pl.col("time_ns") - pl.col("device_ns") - pl.col("host_ns"),
            share_pct=100 * pl.col("time_ns") / max(run.cycle_ns, 1.0),
        )
        .sort("time_ns", "module", descending=[True, False])
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in MODULE_SCHEMA.items())


def modules_of(trace: Trace, rows: Ints) -> pl.Series | None:
    """The module whose forward or backward pass launched each of these rows of `trace.device`.

    None where the recording has no modules.
    """
    if not len(find_modules(trace).node):
        return None
    return _module_paths(trace, link_launches(trace).node[rows])


def _module_paths(trace: Trace, node: Ints) -> pl.Series:
    """The path of the module around each call, or around the call that it is the backward of."""
    modules, module = find_modules(trace), _modules_around(trace, node)
    place = np.searchsorted(modules.node, module)
    row = np.where(module >= 0, modules.row[np.minimum(place, len(modules.row) - 1)], -1)
    paths = pl.Series("module", [*modules.paths, _NO_MODULE], dtype=pl.String)
    return paths.gather(np.where(row >= 0, row, len(paths) - 1))


def _is_captured(trace: Trace, pieces: pl.DataFrame) -> pl.Series:
    """Whether the call of each piece comes from a capture."""
    row = pieces["device_row"].to_numpy()
    return pl.Series("captured", np.append(captured_rows(trace), False)[row])


def _nodes(trace: Trace, pieces: pl.DataFrame) -> Ints:
    """For each piece the innermost call of the forest it belongs to; -1 for none."""
    forest, host = call_forest(trace), host_columns(trace)
    device_row, host_row = (pieces[f"{side}_row"].to_numpy() for side in ("device", "host"))
    launched = link_launches(trace).node
    node = np.where(device_row >= 0, launched[device_row] if len(launched) else -1, -1)
    on_host = np.flatnonzero((node < 0) & (host_row >= 0))
    half = host["dur_ns"].to_numpy()[host_row[on_host]] // 2
    node[on_host] = forest.at(host[host_row[on_host]], half)
    return node


def _modules_around(trace: Trace, node: Ints) -> Ints:
    """The module call around each call, or around the forward call that it is the backward of."""
    forest, is_module, links = call_forest(trace), is_module_call(trace), link_backward(trace)
    around = enclosing_calls(node, forest.parent, is_module)
    backward = np.full(len(forest) + 1, -1, dtype=np.int64)
    backward[links.node] = links.forward
    root = enclosing_calls(node, forest.parent, backward[:-1] >= 0)
    forward = enclosing_calls(backward[root], forest.parent, is_module)
    return np.where(forward >= 0, forward, around)


# -- slack -----------------------------------------------------------------------------------------


def slack_table(subject: Trace | PlayedRun) -> pl.DataFrame:
    """How much later device work and operators could come, by name, without the run being longer.

    What has least slack comes first, and of that what takes most.  Operators count from their
    start to their end, so times of one inside another are the same time.
    """
    run = _run(subject)
    by_node = slack(run.played)
    late = pl.col("slack_ns")
    rows = (
        pl.concat([_device_slack(run, by_node), _operator_slack(run, by_node)])
        .group_by("kind", "name")
        .agg(
            calls=pl.len(),
            time_ns=pl.col("dur_ns").sum() / run.count,
            decisive_ratio=(late < CriticalPathLimits.on_path_ns).mean(),
            least_slack_ns=late.min(),
            median_slack_ns=late.median(),
            most_slack_ns=late.max(),
        )
        .sort("median_slack_ns", "time_ns", "kind", "name", descending=[False, True, False, False])
    )
    return rows.with_columns(_short_names(rows)).select(
        pl.col(name).cast(dtype) for name, dtype in SLACK_SCHEMA.items()
    )


def _device_slack(run: PlayedRun, by_node: Floats) -> pl.DataFrame:
    played, row = run.played, run.played.graph.work.row
    kind, name = device_kinds(run.trace), device_names(run.trace)
    return _in_cycles(
        run,
        played.ends - played.length,
        kind=_gather_texts(kind, row),
        name=_gather_texts(name, row),
        dur_ns=played.length,
        slack_ns=by_node[played.graph.node_of_activity],
    )


def _operator_slack(run: PlayedRun, by_node: Floats) -> pl.DataFrame:
    """Of an operator, that of the first moment after its start that others depend on."""
    graph, points = run.played.graph, run.played.graph.points
    calls, kind = points.calls, host_kinds(run.trace)
    mine = np.flatnonzero(kind.among("operator")[calls.row])
    nodes = graph.thread_nodes
    following = np.searchsorted(graph.point[nodes], points.start[mine])
    come = run.played.point
    begin = come[points.start[mine]]
    return _in_cycles(
        run,
        begin,
        kind=_gather_texts(kind, calls.row[mine]),
        name=_gather_texts(host_names(run.trace), calls.row[mine]),
        dur_ns=come[points.end[mine]] - begin,
        slack_ns=by_node[nodes[following]],
    )


def _gather_texts(texts: Texts, row: Rows) -> pl.Series:
    return pl.Series(texts.texts, dtype=pl.String).gather(texts.codes[row])


def _in_cycles(run: PlayedRun, begin: Floats, **columns: pl.Series | Floats) -> pl.DataFrame:
    """Rows of what begins in a cycle."""
    moment = np.rint(begin).astype(np.int64) + run.origin
    inside = intervals.enclosing_interval(moment, *run.cycles.T.copy()) >= 0
    return pl.DataFrame(columns).filter(pl.Series(inside))
