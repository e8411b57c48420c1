"""Replays of graphs in a recording: the work that one call launched, in the order of its graph."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from timesink.model.arrays import run_slices
from timesink.model.captures import GEOMETRY
from timesink.model.intervals import Ints
from timesink.model.launches import LAUNCH_KINDS, match_launches
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import COPYING_KERNELS, launches_graphs
from timesink.patterns import regex


class Replays(msgspec.Struct, frozen=True, eq=False):
    """The work of all replays, replay after replay; arrays have one entry per piece of work."""

    call: Ints
    """For each replay, in the order of their calls: the row in `trace.host` of the call."""
    first: Ints
    """For each replay: where its work begins; one entry more at the end."""
    row: Ints
    """The row in `trace.device`."""
    work: pl.DataFrame
    """The same rows: `kind`, `kernel`, geometry, `stream`, as nodes of captures have them."""

    def __len__(self) -> int:
        return len(self.call)

    def places(self, replay: int) -> slice:
        """Where the work of a replay stands among all."""
        return slice(int(self.first[replay]), int(self.first[replay + 1]))


def find_replays(trace: Trace) -> Replays:
    """The replays of a recording; work whose launch is not in it belongs to none.

    Where a recording numbers the nodes of its graphs, work is in the order of these numbers: that
    of the capture.  Else it is in the order in which it began.

    >>> import timesink
    >>> len(find_replays(timesink.open(timesink.sample())))
    0
    """
    host = trace.lazy("host").select(
        "kind", "name", "pid", "ts_ns", "dur_ns", "correlation", "external_id"
    )
    calls = host.with_row_index("row").filter(pl.col("kind").cast(pl.String).is_in(LAUNCH_KINDS))
    launches = calls.collect(engine="in-memory")
    names = launches["name"].unique().cast(pl.String).drop_nulls()
    graphs = [name for name in names if launches_graphs(name)]
    if not graphs:
        return _NO_REPLAYS
    device = trace.lazy("device").collect(engine="in-memory")
    place = match_launches(launches.drop("row"), device, trace.lazy("tracks"))
    is_graph = launches["name"].cast(pl.String).is_in(graphs).fill_null(value=False).to_numpy()
    is_busy = device["kind"].cast(pl.String).is_in(BUSY_KINDS).to_numpy()
    row = np.flatnonzero((place >= 0) & is_busy)
    row = row[is_graph[place[row]]]
    if not len(row):
        return _NO_REPLAYS
    # Calls by their starts, so that replays are in the order in which they were asked for.
    start = launches["ts_ns"].to_numpy()
    order = np.lexsort((row, *_order_in_graph(device[row]), place[row], start[place[row]]))
    row = row[order]
    launch = place[row]
    first = np.array([stretch.start for stretch in run_slices(launch)], dtype=np.int64)
    work = device[row].select(
        kind=_kind_of_node(),
        kernel=pl.col("name").cast(pl.String),
        **{name: pl.col(name) for name in GEOMETRY},
        stream=pl.col("stream").cast(pl.String),
        node_id=pl.col("graph_node_id"),
    )
    call = launches["row"].cast(pl.Int64).to_numpy()[launch[first]]
    return Replays(call, np.append(first, len(row)), row, work)


def _kind_of_node() -> pl.Expr:
    """What a piece of work is as a node: a copy may run as a kernel of the driver."""
    name = pl.col("name").cast(pl.String)
    kind = pl.col("kind").cast(pl.String).replace("collective", "kernel")
    for node, pattern in COPYING_KERNELS.items():
        kind = (
            pl.when((kind == "kernel") & name.str.contains(pattern))
            .then(pl.lit(node))
            .otherwise(kind)
        )
    return kind


_DIGITS = regex(r"\d{1,9}")
_STEP = "ProfilerStep#"


def numbers_around(host: pl.DataFrame, replays: Replays) -> list[frozenset[int]]:
    """For each replay the numbers in the names of the ranges that the program marks around it.

    Servers say there which batch size they run: `decode bs=32`.
    """
    is_range = host["kind"].cast(pl.String) == "annotation"
    ranges = host.filter(is_range).select("name", "pid", "ts_ns", "dur_ns")
    ranges = ranges.filter(pl.col("name").cast(pl.String).str.contains(r"\d"))
    numbers = [
        frozenset(map(int, _DIGITS.findall(name))) for name in ranges["name"].cast(pl.String)
    ]
    first = ranges["ts_ns"].to_numpy()
    last = first + ranges["dur_ns"].to_numpy()
    pid = ranges["pid"].cast(pl.String).to_numpy()
    calls = host[replays.call].select("pid", "ts_ns").cast({"pid": pl.String}).rows()
    by_replay = []
    for process, moment in calls:
        around = np.flatnonzero((first <= moment) & (last >= moment) & (pid == process))
        by_replay.append(frozenset().union(*(numbers[place] for place in around.tolist())))
    return by_replay


_NO_REPLAYS = Replays(
    np.zeros(0, dtype=np.int64),
    np.zeros(1, dtype=np.int64),
    np.zeros(0, dtype=np.int64),
    pl.DataFrame(),
)


def _order_in_graph(work: pl.DataFrame) -> tuple[Ints, Ints]:
    """Keys of sorting, the last counts most: numbers of nodes where all work has one, then time."""
    moment = work["ts_ns"].to_numpy()
    node = work["graph_node_id"]
    number = np.zeros(work.height, np.int64) if node.null_count() else node.to_numpy()
    return moment, number
