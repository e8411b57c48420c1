"""What operators and modules cost in every cycle: device time they launch, and host time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import CALL_TIMES
from timesink.analyses.behaviour.calls import process_of_host
from timesink.analyses.behaviour.windows import OUTSIDE, Windows
from timesink.analyses.call_times import node_times
from timesink.analyses.columns import device_columns
from timesink.analyses.enclosing import enclosing
from timesink.analyses.forest import CallForest, call_forest
from timesink.analyses.links import link_launches
from timesink.analyses.modules.backward import link_backward
from timesink.analyses.modules.table import find_modules, is_module_call
from timesink.analyses.nesting import Nodes
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace

_LATEST = np.iinfo(np.int64).max


def call_rows(
    trace: Trace, spans: Mapping[str, pl.DataFrame], *, on_device: bool = False
) -> dict[str, pl.DataFrame]:
    """Rows of `CALL_TIMES` for each process, whose cycles are rows of `CYCLE_SPANS`.

    A call counts for the cycle in which it begins, with all device work it launches; where cycles
    are times of the device (`on_device`), for the one in which its device work begins.
    """
    windows = {pid: _windows(table.sort("ts_ns")) for pid, table in spans.items()}
    process, cycle = _placed(trace, windows, on_device=on_device)
    costs = [*_operators(trace), *_modules(trace)]
    return {pid: _table(trace, process, cycle, number, costs) for number, pid in enumerate(windows)}


def _windows(spans: pl.DataFrame) -> Windows:
    """Cycles that go by their number."""
    start = spans["ts_ns"].to_numpy()
    return Windows(spans["cycle"].to_numpy(), start, start + spans["dur_ns"].to_numpy())


# -- when calls are --------------------------------------------------------------------------------


def _placed(trace: Trace, windows: Mapping[str, Windows], *, on_device: bool) -> tuple[Ints, Ints]:
    """Process of every call of the forest, and its cycle; `OUTSIDE` where it has none."""
    forest = call_forest(trace)
    process = process_of_host(trace, list(windows))[0][forest.row]
    moment = _first_device_work(trace, forest) if on_device else forest.start
    cycle = np.full(len(forest), OUTSIDE, dtype=np.int64)
    for number, window in enumerate(windows.values()):
        if len(window.row):
            mine = np.flatnonzero(process == number)
            cycle[mine] = window.holding(moment[mine])
    return process, cycle


def _first_device_work(trace: Trace, forest: CallForest) -> Ints:
    """When the device begins with what each call launched; without any, when the call begins."""
    links = link_launches(trace)
    known = links.node >= 0
    first = np.full(len(forest), _LATEST, dtype=np.int64)
    np.minimum.at(first, links.node[known], device_columns(trace)["ts_ns"].to_numpy()[known])
    for depth in range(int(forest.depth.max(initial=0)), 0, -1):
        inner = np.flatnonzero((forest.depth == depth) & (forest.parent >= 0))
        np.minimum.at(first, forest.parent[inner], first[inner])
    return np.where(first == _LATEST, forest.start, first)


# -- what calls cost -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Costs:
    """Calls of the forest, and the names they count for."""

    kind: str
    node: Nodes
    """The call that takes the time, and whose cycle counts."""
    name: Ints
    """Place in `names`."""
    names: list[str]
    is_call: bool = True
    """False for time that belongs to a call made elsewhere."""


def _operators(trace: Trace) -> Iterator[_Costs]:
    forest = call_forest(trace)
    node = np.flatnonzero(forest.is_operator & ~is_module_call(trace))
    node = node[_is_outermost(forest.name[node], node, forest.size[node])]
    yield _Costs("operator", node, forest.name[node], list(forest.names))


def _is_outermost(name: Ints, node: Nodes, size: Ints) -> Flags:
    """Which calls, in pre-order, are not inside of another one of their name."""
    order = np.lexsort((node, name))
    # Names one behind the other on a line: where the subtrees of a name end is then one maximum.
    offset = name[order] * (int((node + size).max(initial=0)) + 1)
    reached = np.maximum.accumulate(node[order] + size[order] + offset)
    inside = np.zeros(len(node), dtype=np.bool_)
    inside[order[1:]] = (node[order[1:]] + offset[1:]) < reached[:-1]
    return ~inside


def _modules(trace: Trace) -> Iterator[_Costs]:
    """Forward passes of modules, and backward passes for every module around their operator."""
    modules = find_modules(trace)
    if not len(modules.node):
        return
    names = modules.paths
    yield _Costs("module", modules.node, modules.row, names)
    forest, is_module, links = call_forest(trace), is_module_call(trace), link_backward(trace)
    around = enclosing(links.forward, forest.parent, is_module)
    node = links.node
    while len(node := node[around >= 0]):
        around = around[around >= 0]
        row = modules.row[np.searchsorted(modules.node, around)]
        yield _Costs("module", node, row, names, is_call=False)
        around = enclosing(forest.parent[around], forest.parent, is_module)


# -- the table -------------------------------------------------------------------------------------


def _table(
    trace: Trace, process: Ints, cycle: Ints, number: int, costs: list[_Costs]
) -> pl.DataFrame:
    times = node_times(trace)
    parts = [pl.DataFrame(schema=CALL_TIMES)]
    for one in costs:
        mine = (process[one.node] == number) & (cycle[one.node] != OUTSIDE)
        node = one.node[mine]
        rows = pl.DataFrame(
            {
                "code": one.name[mine],
                "cycle": cycle[node],
                "calls": np.full(len(node), int(one.is_call), dtype=np.int64),
                "device_ns": times.device_total[node],
                "host_ns": times.host_total[node],
            }
        )
        summed = rows.group_by("code", "cycle").sum()
        names = pl.Series("name", one.names, dtype=pl.String).gather(summed["code"])
        named = summed.with_columns(names, pl.lit(one.kind).cast(CALL_TIMES["kind"]).alias("kind"))
        parts.append(named.select(pl.col(name).cast(kind) for name, kind in CALL_TIMES.items()))
    key = ("kind", "name", "cycle")
    return pl.concat(parts).group_by(key).sum().sort(key)
