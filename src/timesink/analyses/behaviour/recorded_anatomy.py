"""The anatomy of the cycles of a recording: parts, places between calls, levels of counters.

Places say where the thread that marks a cycle spends its time: in which call, between which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeAlias

import numpy as np
import polars as pl

from timesink.analyses.behaviour.anatomy import (
    CALL_TIMES,
    MIN_PLACE,
    PART_TIMES,
    PLACE_TIMES,
    Anatomy,
    Crew,
    crews,
    cycle_spans,
    device_times,
    host_ranges,
    launch_rows,
    part_rows,
)
from timesink.analyses.behaviour.calls import (
    OUTSIDE,
    Windows,
    process_of_host,
    step_windows_by_process,
    windows_by_process,
)
from timesink.analyses.behaviour.counters import (
    LEVELS,
    CounterBook,
    Series,
    counter_book,
    level_rows,
    match_devices,
    run_queue_share,
    series_by_device,
)
from timesink.analyses.behaviour.functions import functions_of
from timesink.analyses.behaviour.untraced import is_mark
from timesink.analyses.columns import device_columns, event_ranges, host_columns, host_names
from timesink.analyses.cycles.spans import Cycles, has_host_spans
from timesink.analyses.forest import CallForest, call_forest, nest_calls, outermost
from timesink.analyses.links import link_launches
from timesink.analyses.modules import find_modules, is_module_call, link_backward
from timesink.analyses.names import without_address
from timesink.analyses.operators import node_times
from timesink.model import intervals
from timesink.model.arrays import run_places, run_starts, wide
from timesink.model.intervals import Flags, Ints
from timesink.model.nested_calls import Nodes, enclosing_calls, pre_order
from timesink.model.trace import Trace

_NONE = -1


def place_rows(trace: Trace, crew: Crew, marks: Flags, cycle: Ints) -> pl.DataFrame:
    """Rows of `PLACE_TIMES` for the cycles of a crew that has a thread of its own.

    Threads that work in its stead count as part of it: what they do is no gap.  `cycle` is the
    number of each row of the table of cycles.
    """
    if not len(crew.marker_calls) or not len(crew.windows.row):
        return pl.DataFrame(schema=PLACE_TIMES)
    # The same functions, whichever object they are methods of.
    functions = functions_of(host_names(trace)).renamed(without_address)
    # Calls in pre-order, without those that begin in another one and outlast it.
    rows = np.concatenate([crew.marker_calls[~marks[crew.marker_calls]], crew.instead])
    spans = event_ranges(host_columns(trace), rows)
    some = spans[:, 1] > spans[:, 0]
    rows, spans = rows[some], spans[some]
    crossed = intervals.partially_overlapping(spans)
    rows, spans = rows[~crossed], spans[~crossed]
    thread = np.zeros(len(rows), dtype=np.int64)
    order = pre_order(thread, spans[:, 0], spans[:, 1])
    start, end = spans[order, 0], spans[order, 1]
    parent = nest_calls(thread, start, end).parent
    stretches = _stretches(start, end, parent, crew.windows)
    return _rows(stretches, functions.codes[rows[order]], functions.texts, crew.windows, cycle)


def _stretches(start: Ints, end: Ints, parent: Nodes, windows: Windows) -> pl.DataFrame:
    """Time of cycles in which no call begins or ends: `inside`, `after` and `before` which calls.

    Calls are places in the lists given, in pre-order, or `_NONE`.  Beyond the borders of a cycle
    nothing comes before or after, and being inside of a call that holds the whole cycle is being
    inside of none.  `row` is that of the cycle.
    """
    many = len(start)
    # At one moment inner calls end before outer ones, then others start, outer ones first: both
    # lists have this order already, and the sort keeps it.
    call = np.concatenate([np.arange(many)[::-1], np.arange(many)])
    times = np.concatenate([end[::-1], start])
    order = np.argsort(times, kind="stable")
    call, times, is_end = call[order], times[order], order < many
    outer = np.where(is_end, parent[call], call) if many else call
    borders = np.concatenate([[np.iinfo(np.int64).min], times, [np.iinfo(np.int64).max]])
    pieces = windows.cut(borders[:-1], borders[1:])
    some = pieces.end > pieces.start
    place, window = pieces.call[some], pieces.window[some]
    begin, finish = windows.start[window], windows.end[window]
    inside = np.append(_NONE, outer)[place]
    if many:
        inside = np.where((start[inside] <= begin) & (end[inside] >= finish), _NONE, inside)
    after = np.append(_NONE, np.where(is_end, call, _NONE))[place]
    before = np.append(np.where(is_end, _NONE, call), _NONE)[place]
    return pl.DataFrame(
        {
            "row": pieces.row[some],
            "start": pieces.start[some],
            "end": pieces.end[some],
            "inside": inside,
            # A call that ended, or starts, exactly at the border is in the cycle beside.
            "after": np.where(borders[:-1][place] <= begin, _NONE, after),
            "before": np.where(borders[1:][place] >= finish, _NONE, before),
        }
    )


def _rows(
    stretches: pl.DataFrame, function: Ints, texts: Sequence[str], windows: Windows, cycle: Ints
) -> pl.DataFrame:
    """One row per place and cycle, of the places that matter; `texts` by `function` of a call."""
    # A number per call, 0 for none: its place in the names.
    code_of = np.append(function + 1, 0)
    names = pl.Series([None, *texts], dtype=pl.String)
    least = MIN_PLACE * float(np.median(windows.end - windows.start))
    row, start, end, *calls = (column.to_numpy() for column in stretches)
    inside, after, before = (code_of[call] for call in calls)
    # Stretches inside of functions and after functions that have one of the least length.
    chosen = np.ones(len(start), dtype=np.bool_)
    for code in (inside, after):
        some = np.zeros(len(names), dtype=np.bool_)
        some[code[end - start >= least]] = True
        chosen &= some[code]
    row, start, end = row[chosen], start[chosen], end[chosen]
    inside, after, before = inside[chosen], after[chosen], before[chosen]
    many = len(names)
    sort = (wide(inside) * many + after) * many + before
    worth = np.flatnonzero(np.isin(sort, np.unique(sort[end - start >= least])))
    order = worth[np.lexsort((start[worth], sort[worth], row[worth]))]
    turn = _turns(row[order], sort[order])
    place = np.unique(sort[order] * (int(turn.max(initial=0)) + 1) + turn, return_inverse=True)[1]
    longest = np.zeros(len(order), dtype=np.int64)
    np.maximum.at(longest, place, (end - start)[order])
    kept = longest[place] >= least
    order, turn = order[kept], turn[kept]
    by_cycle = np.lexsort((start[order], cycle[row[order]]))
    order, turn = order[by_cycle], turn[by_cycle]
    return pl.DataFrame(
        {
            "cycle": cycle[row[order]],
            "inside": names[inside[order]],
            "after": names[after[order]],
            "before": names[before[order]],
            "occurrence": turn,
            "ts_ns": start[order],
            "dur_ns": (end - start)[order],
        },
        schema=PLACE_TIMES,
    )


def _turns(row: Ints, sort: Ints) -> Ints:
    """The how many-th of its sort in its cycle each is, from 1; each sort is one stretch."""
    return run_places(run_starts(row, sort), len(row)) + 1


_LATEST = np.iinfo(np.int64).max


def call_rows(
    trace: Trace, spans: Mapping[str, pl.DataFrame], *, on_device: bool = False
) -> dict[str, pl.DataFrame]:
    """Rows of `CALL_TIMES` for each process, whose cycles are rows of `CYCLE_SPANS`.

    A call counts for the cycle in which it begins, with all device work it launches; where cycles
    are times of the device (`on_device`), for the one in which its device work begins.
    """
    forest, costs = call_forest(trace), list(_costs(trace))
    moment = _first_device_work(trace, forest) if on_device else forest.start
    process = process_of_host(trace, list(spans))[0][forest.row]
    tables = {}
    for number, (pid, table) in enumerate(spans.items()):
        cycles = table.sort("ts_ns")
        start = cycles["ts_ns"].to_numpy()
        # Cycles that go by their number.
        windows = Windows(cycles["cycle"].to_numpy(), start, start + cycles["dur_ns"].to_numpy())
        cycle = np.where(process == number, windows.holding(moment), OUTSIDE)
        tables[pid] = _table(trace, cycle, costs)
    return tables


def _first_device_work(trace: Trace, forest: CallForest) -> Ints:
    """When the device begins with what each call launched; without any, when the call begins."""
    links = link_launches(trace)
    is_linked = links.node >= 0
    first = np.full(len(forest), _LATEST, dtype=np.int64)
    np.minimum.at(
        first, links.node[is_linked], device_columns(trace)["ts_ns"].to_numpy()[is_linked]
    )
    for depth in range(int(forest.depth.max(initial=0)), 0, -1):
        inner = np.flatnonzero((forest.depth == depth) & (forest.parent >= 0))
        np.minimum.at(first, forest.parent[inner], first[inner])
    return np.where(first == _LATEST, forest.start, first)


_Costs: TypeAlias = tuple[str, Nodes, Ints, list[str], bool]
"""A kind, the calls that take the time and whose cycle counts, for each the place of the name it
counts for, the names, and False for time that belongs to a call made elsewhere."""


def _costs(trace: Trace) -> Iterator[_Costs]:
    """Operators, forward passes of modules, and backward passes for modules around an operator."""
    forest, is_module = call_forest(trace), is_module_call(trace)
    node = np.flatnonzero(forest.is_operator & ~is_module)
    # Those that are not inside of another one of their name, in pre-order.
    node = node[np.sort(outermost(node, forest.name[node], forest.size))]
    yield "operator", node, forest.name[node], list(forest.names), True
    modules = find_modules(trace)
    if not len(modules.node):
        return
    yield "module", modules.node, modules.row, modules.paths, True
    links = link_backward(trace)
    around = enclosing_calls(links.forward, forest.parent, is_module)
    node = links.node
    while len(node := node[around >= 0]):
        around = around[around >= 0]
        row = modules.row[np.searchsorted(modules.node, around)]
        yield "module", node, row, modules.paths, False
        around = enclosing_calls(forest.parent[around], forest.parent, is_module)


def _table(trace: Trace, cycle: Ints, costs: list[_Costs]) -> pl.DataFrame:
    """Calls of one process in their cycles; `OUTSIDE` for those of others and in none."""
    times = node_times(trace)
    parts = [pl.DataFrame(schema=CALL_TIMES)]
    for kind, nodes, name, names, is_call in costs:
        mine = cycle[nodes] != OUTSIDE
        node = nodes[mine]
        rows = pl.DataFrame(
            {
                "code": name[mine],
                "cycle": cycle[node],
                "calls": np.full(len(node), int(is_call), dtype=np.int64),
                "device_ns": times.device_total[node],
                "host_ns": times.host_total[node],
            }
        )
        summed = rows.group_by("code", "cycle").sum()
        named = summed.with_columns(
            pl.Series("name", names, dtype=pl.String).gather(summed["code"]),
            pl.lit(kind).cast(CALL_TIMES["kind"]).alias("kind"),
        )
        parts.append(named.select(pl.col(column).cast(of) for column, of in CALL_TIMES.items()))
    key = ("kind", "name", "cycle")
    return pl.concat(parts).group_by(key).sum().sort(key)


def with_calls(trace: Trace, anatomies: Mapping[str, Anatomy]) -> dict[str, Anatomy]:
    """The anatomies of a trace, which look for their calls there once somebody asks for them."""
    # A fresh one: what other questions have loaded of it need not be kept until then.
    fresh_trace = replace(trace)
    spans = {
        pid: anatomy.cycles if anatomy.host_spans is None else anatomy.host_spans
        for pid, anatomy in anatomies.items()
    }
    on_device = any(anatomy.on_device for anatomy in anatomies.values())

    @cache
    def rows() -> dict[str, pl.DataFrame]:
        return call_rows(fresh_trace, spans, on_device=on_device)

    def of(pid: str) -> Anatomy:
        return replace(anatomies[pid], find_calls=lambda: rows()[pid])

    return {pid: of(pid) for pid in anatomies}


# -- of every process ------------------------------------------------------------------------------

_CORES = ("cpu_count", "cpu_cores", "num_cpus", "logical_cpus", "cores")
"""Fields in which recorders write how many processor cores there are."""
_AROUND = ("topology", "host", "system", "cpu", "machine")
"""Fields these may be in."""


def cores_of(trace: Trace) -> int | None:
    """Processor cores of the host; None where the recording does not say.

    All of the machine, as counters of the whole host do not know what a program may use.
    """
    host = None if trace.metadata.run is None else trace.metadata.run.host
    cores = None if host is None else host.machine_cores or host.cores
    if cores is not None and cores >= 1:
        return round(cores)
    extra = trace.metadata.extra
    texts = (
        str(fields.get(name))
        for fields in (extra, *(extra.get(name) for name in _AROUND))
        if isinstance(fields, dict)
        for name in _CORES
    )
    return next((int(text) for text in texts if text.isdigit() and int(text) > 0), None)


def anatomies(trace: Trace, cycles: Cycles) -> dict[str, Anatomy]:
    """What the cycles of each process are made of."""
    every = step_windows_by_process(cycles)
    windows = {
        pid: cycle_windows.take(cycle_windows.end > cycle_windows.start)
        for pid, cycle_windows in every.items()
    }
    calls_of = windows_by_process(cycles)
    device = device_times(trace, list(windows))
    numbers = sorted({number for device_time in device.values() for number in device_time.devices})
    book = counter_book(trace, list(windows), numbers)
    devices = match_devices(trace, book, numbers, list(windows))
    marks, cycle = is_mark(trace, cycles), cycles.table["cycle"].to_numpy()
    mine: dict[str, list[Crew]] = {pid: [] for pid in windows}
    for crew in crews(trace, cycles, windows, calls_of):
        mine[crew.process].append(crew)
    device_names = {device.id: device.name for device in trace.metadata.devices if device.name}
    by_process = {}
    for pid, window in windows.items():
        used = device[pid].devices
        of_devices = list(series_by_device(book, devices, pid, used))
        levels = level_rows(book, of_devices, window, cycle)
        parts = []
        for crew in mine[pid]:
            numbers_of = cycle[crew.windows.row]
            queued, host = run_queue_share(levels, numbers_of), host_ranges(trace, crew, marks)
            parts.append(part_rows(crew, device[pid], host, queued, numbers_of))
        places = [place_rows(trace, crew, marks, cycle) for crew in mine[pid]]
        by_process[pid] = Anatomy(
            parts=_joined(parts, PART_TIMES).sort("cycle", "part", "family"),
            places=_joined(places, PLACE_TIMES).sort("cycle", "ts_ns"),
            levels=levels,
            hardware={
                devices.label(pid, device_id): device_names[device_id]
                for device_id in used or device_names
                if device_id in device_names
            },
            cores=cores_of(trace),
            cycles=cycle_spans(window, cycle),
            host_spans=cycle_spans(calls_of[pid], cycle) if has_host_spans(cycles) else None,
            plain_levels=_plain_levels(trace, book, of_devices),
            launches=launch_rows(trace, device[pid].rows, window, cycle),
            on_device=cycles.on_device,
        )
    return with_calls(trace, by_process)


def _joined(tables: Sequence[pl.DataFrame], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    if len(tables) == 1:
        return tables[0]
    return pl.concat([pl.DataFrame(schema=schema), *tables])


def _plain_levels(
    trace: Trace, book: CounterBook, of_devices: Iterable[tuple[str, list[Series]]]
) -> pl.DataFrame:
    """Counters of the cycles before the profiler: a few recorded ones see slow samplers seldom."""
    run = trace.metadata.run
    if run is None or not run.own_plain_ns or run.overhead.plain_started_us is None:
        return pl.DataFrame(schema=LEVELS)
    end = 1000 * run.overhead.plain_started_us + np.cumsum(run.own_plain_ns)
    start = end - np.array(run.own_plain_ns)
    number = np.arange(-len(end), 0)
    return level_rows(book, of_devices, Windows(np.arange(len(end)), start, end), number)
