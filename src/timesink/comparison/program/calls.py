"""The program of a run: what each of its cycles calls, exactly, whatever it took.

A *site* is a chain of names from a thread down to a call or to the device work it launched:
``aten::linear > aten::addmm > gemm``.  Names that vary without meaning are made equal by the rules
of ``name_rules.csv``.  Sites have no times of day, threads or addresses, so those of two runs meet;
how often each comes in a cycle is equal between equal programs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace
from numpy.typing import NDArray

from timesink.analyses import names
from timesink.analyses.columns import (
    Codes,
    device_columns,
    device_kinds,
    encode,
    host_columns,
    host_kinds,
    host_lanes,
    host_names,
    numbers,
    start_and_end,
    values_at,
)
from timesink.analyses.cycles.kernel_sequence import launching_process
from timesink.analyses.cycles.spans import Cycles, host_spans
from timesink.analyses.forest import captured_nesting, nest_calls
from timesink.analyses.graphs import captured_rows
from timesink.analyses.links import captured_call_rows, launching_calls
from timesink.analyses.names import Hashes, hash_texts, mix_hashes, plain_name
from timesink.model import vendors
from timesink.model.arrays import places_among
from timesink.model.intervals import Flags, Ints
from timesink.model.nested_calls import Nodes, levels, pre_order
from timesink.model.schema import BUSY_KINDS, CAPTURED_KINDS, LINE_PREFIX, MODULE_PREFIX
from timesink.model.trace import Trace
from timesink.patterns import regex

SORTS = ("operator", "annotation", "module", "runtime", "wait", "allocator", "kernel", "copy")
"""What a call is.  Waits and allocator calls are calls of the runtime with a meaning of their own;
memsets count as copies."""
OPERATOR, ANNOTATION, MODULE, RUNTIME, WAIT, ALLOCATOR, KERNEL, COPY = range(len(SORTS))
_CALLS = ("operator", "annotation", "module", "collective", "runtime", "driver", *CAPTURED_KINDS)
_SORT_OF_KIND = {
    "annotation": ANNOTATION,
    "module": MODULE,
    "captured_module": MODULE,
    "captured_annotation": ANNOTATION,
    "runtime": RUNTIME,
    "driver": RUNTIME,
}
ON_DEVICE = (KERNEL, COPY)
_PREFIX = regex(rf"^(?:{vendors.CALL_PREFIXES})(?=[A-Z_])")
"""What calls of the runtime begin with, by which the same call of two makers differs."""
_ROOT = np.uint64(0x9E3779B97F4A7C15)

SITES = {
    "site": pl.UInt64(),
    "parent": pl.UInt64(),
    "name": pl.String(),
    "recorded": pl.String(),
    "sort": pl.UInt8(),
    "shapes": pl.String(),
    "types": pl.String(),
}
"""One row per site: its name made equal, and as recorded first; shapes and types of its first call
where they were recorded."""

COUNTS = {
    "site": pl.UInt64(),
    "cycle": pl.Int64(),
    "calls": pl.Int64(),
    "replayed": pl.Int64(),
    "host_ns": pl.Int64(),
    "device_ns": pl.Int64(),
    "bytes": pl.Int64(),
    "blocks": pl.Int64(),
    "shape": pl.UInt64(),
    "variant": pl.UInt64(),
    "exact": pl.UInt64(),
    "first_ns": pl.Int64(),
}
"""One row per site and cycle: calls, and how many of them a graph replayed; time of the host in
the calls themselves, time of the device, bytes copied, blocks launched; `shape` is equal where
shapes, types and scalar arguments are, `variant` where names as recorded are, `exact` where
geometry is as well; `first_ns` is when the first of the calls began, since the start of the
recording."""


NODES = {
    "cycle": pl.Int64(),
    "site": pl.UInt64(),
    "parent": pl.Int64(),
    "thread": pl.Int64(),
    "module": pl.Categorical(),
    "line": pl.Categorical(),
}
"""One row per call or device work, in pre-order, thread after thread; `parent` is a row, -1 for
none.  `module` and `line` say where it comes from, where ranges were recorded that do; those are no
calls themselves, so that programs recorded with and without them are equal."""


@dataclass(frozen=True, eq=False)
class Program:
    """What the cycles of one process call."""

    sites: pl.DataFrame
    counts: pl.DataFrame
    nodes: pl.DataFrame
    host: bool
    """Whether calls of the host are known, and not only the work of the device."""
    typed: bool
    """Whether shapes were recorded."""
    vendor: str = ""
    """Who made the device."""
    captured: bool = False
    """Whether calls of captured graphs are among these: only those that launched something."""

    @cached_property
    def cycles(self) -> list[int]:
        """Numbers of the cycles that call anything, in order."""
        return self.nodes["cycle"].unique().sort().to_list()

    def without(self, pattern: re.Pattern[str]) -> Program:
        """The program less the calls whose name holds a pattern, and all that is below them."""
        dropped = set(self.sites.filter(_holds(pattern))["site"])
        if not dropped:
            return self
        below = self.sites.filter(pl.col("parent").is_in(dropped))
        while below.height and not dropped.issuperset(below["site"]):
            dropped.update(below["site"])
            below = self.sites.filter(pl.col("parent").is_in(dropped))
        return self._less(dropped)

    def launching(self) -> Program:
        """The program less the operators, ranges and modules in which nothing is launched."""
        sites = self.sites.select("site", "parent", "sort")
        remains = set(sites.filter(pl.col("sort") >= RUNTIME)["site"])
        above = remains
        while above:
            around = sites.filter(pl.col("site").is_in(above))["parent"]
            above = set(around) - remains
            remains = remains | above
        return self._less(set(sites["site"]) - remains)

    def _less(self, dropped: set[int]) -> Program:
        """The program without some sites; all below these are among them."""
        remains = ~pl.col("site").is_in(dropped)
        rows = self.nodes.select(remains).to_series().to_numpy()
        place = np.append(places_among(rows), -1)
        nodes = self.nodes.with_columns(parent=pl.Series(place[self.nodes["parent"].to_numpy()]))
        sites, counts = self.sites.filter(remains), self.counts.filter(remains)
        return replace_fields(self, sites=sites, counts=counts, nodes=nodes.filter(remains))

    def tree(self, cycle: int) -> pl.DataFrame:
        """The calls of one cycle; parents are rows of it."""
        mine = self.nodes.with_row_index("row").filter(pl.col("cycle") == cycle)
        place = np.full(self.nodes.height + 1, -1, dtype=np.int64)
        place[mine["row"].to_numpy()] = np.arange(mine.height)
        return mine.with_columns(parent=pl.Series(place[mine["parent"].to_numpy()])).drop("row")


def _holds(pattern: re.Pattern[str]) -> pl.Expr:
    """Whether the name of a site, plain or as recorded, holds a pattern."""
    both = (pl.col(name).map_elements(lambda text: bool(pattern.search(text)), pl.Boolean)
            for name in ("name", "recorded"))  # fmt: skip
    return pl.any_horizontal(*both)


class _Nodes(msgspec.Struct, frozen=True, eq=False):
    """Calls and device work before they are nested; arrays have one entry per node."""

    lane: Codes
    start: Ints
    by_start: Ints
    by_end: Ints
    """Times to nest them by: those of captured calls only say how they lie in one another."""
    replayed: Ints
    """1 for device work that a graph replays, 0 for all else."""
    sort: NDArray[np.uint8]
    name: Codes
    """Place in the names."""
    recorded: Sequence[str]
    """Names as recorded first."""
    variant: Hashes
    exact: Hashes
    shape: Hashes
    host_ns: Ints
    device_ns: Ints
    bytes: Ints
    blocks: Ints
    texts: Ints
    """Row of `trace.host` for operators, -1 for others."""
    origin: Codes
    """Place in the names of those that only say where others come from, -1 for others."""
    told_names: Sequence[str] = ()
    names: Sequence[str] = ()
    """The same made plain."""


_ARRAYS = (
    *("lane", "start", "by_start", "by_end", "replayed", "sort", "variant", "exact", "shape"),
    *("host_ns", "device_ns", "bytes", "blocks", "texts", "origin"),
)


def programs(trace: Trace, cycles: Cycles, start_ns: int = 0) -> dict[str, Program]:
    """What the cycles of each process call; none for a process of which nothing was recorded.

    Moments are counted from `start_ns`.
    """
    by_process = {}
    spans = host_spans(cycles)
    tables = {str(pid): spans for pid in spans["pid"].head(1)}
    if spans["pid"].n_unique() > 1:
        tables = {str(pid): table for (pid,), table in spans.group_by(["pid"], maintain_order=True)}
    for pid, table in tables.items():
        program = _program(trace, pid, table, start_ns, on_device=cycles.on_device)
        if program is not None:
            by_process[pid] = program
    return by_process


def _program(
    trace: Trace, pid: str, table: pl.DataFrame, start_ns: int, *, on_device: bool
) -> Program | None:
    table = table.sort("start_ns")
    marks = {str(name) for name in table["name"].drop_nulls().unique()}
    nodes = _device_alone(trace, pid) if on_device else _calls(trace, pid, marks)
    if not len(nodes.start):
        return None
    order = pre_order(nodes.lane, nodes.by_start, nodes.by_end)
    lane, start = nodes.lane[order], nodes.start[order]
    nest = nest_calls(lane, nodes.by_start[order], nodes.by_end[order])
    depth, origin = nest.depth, nodes.origin[order]
    parent, places = _told_places(nest.parent, depth, origin, nodes.told_names)
    cycle = _cycle_of(start, parent, depth, table)
    site = np.zeros(len(start), dtype=np.uint64)
    name_hash = mix_hashes(hash_texts([_PREFIX.sub("", name) for name in nodes.names]))[
        nodes.name[order]
    ] + nodes.sort[order].astype(np.uint64)
    with np.errstate(over="ignore"):
        for level in levels(depth):
            above = np.where(parent[level] >= 0, site[parent[level]], _ROOT)
            site[level] = mix_hashes(above * np.uint64(3) + name_hash[level])
    inside = np.flatnonzero((cycle >= 0) & (origin < 0))
    if not len(inside):
        return None
    place = np.full(len(start), -1, dtype=np.int64)
    place[inside] = np.arange(len(inside))
    above = parent[inside]
    # Whose caller began before the cycles stands for itself.
    caller = np.where(above >= 0, place[np.maximum(above, 0)], -1)
    order = order[inside]
    host_ns = nodes.host_ns[order].copy()
    timed = np.flatnonzero((caller >= 0) & (nodes.sort[order] < KERNEL))
    np.subtract.at(host_ns, caller[timed], nodes.host_ns[order][timed])
    number = table["cycle"].to_numpy()[cycle[inside]]
    site, lane = site[inside], lane[inside]
    parents = np.where(caller >= 0, site[np.maximum(caller, 0)], _ROOT)
    return Program(
        _site_rows(trace, nodes, order, site, parents),
        _count_rows(nodes, order, site, number, np.maximum(host_ns, 0), start_ns=start_ns),
        pl.DataFrame(
            {"cycle": number, "site": site, "parent": caller, "thread": lane}
            | {name: texts[codes[inside]] for name, (codes, texts) in places.items()},
            schema=NODES,
        ),
        host=bool((nodes.sort[order] < KERNEL).any()),
        typed=bool(nodes.shape[order].any()),
        vendor=trace.metadata.vendor,
        captured=bool(captured_rows(trace).any()),
    )


def _told_places(
    parent: Nodes, depth: Ints, origin: Codes, names: Sequence[str]
) -> tuple[Nodes, Mapping[str, tuple[Ints, pl.Series]]]:
    """Callers without what only says where calls come from; and the module and line of each node.

    Both are places in a series of names, of which the last stands for none.
    """
    if not len(names):
        nowhere = np.zeros(len(parent), dtype=np.int64), pl.Series([None], dtype=pl.Categorical)
        return parent, {"module": nowhere, "line": nowhere}
    is_line = np.array([name.startswith(LINE_PREFIX) for name in names])[origin]
    caller, places = parent.copy(), {}
    for level in list(levels(depth))[1:]:
        above = parent[level]
        caller[level] = np.where(origin[above] >= 0, caller[above], above)
    for name, prefix, has_prefix in (
        ("module", MODULE_PREFIX, (origin >= 0) & ~is_line),
        ("line", LINE_PREFIX, (origin >= 0) & is_line),
    ):
        code = np.where(has_prefix, origin, -1)
        for level in list(levels(depth))[1:]:
            code[level] = np.where(has_prefix[level], code[level], code[parent[level]])
        texts = pl.Series(
            [*(text.removeprefix(prefix) for text in names), None], dtype=pl.Categorical
        )
        places[name] = (np.where(code < 0, len(names), code), texts)
    return caller, places


def _cycle_of(start: Ints, parent: Nodes, depth: Ints, table: pl.DataFrame) -> Ints:
    """The place of each node's cycle in the table, that of its outermost caller; -1 outside."""
    first, last = table["start_ns"].to_numpy(), table["end_ns"].to_numpy()
    cycle = np.searchsorted(first, start, side="right") - 1
    cycle = np.where((cycle >= 0) & (start < last[np.maximum(cycle, 0)]), cycle, -1)
    for level in list(levels(depth))[1:]:
        above = np.where(parent[level] >= 0, cycle[parent[level]], -1)
        cycle[level] = np.where(above >= 0, above, cycle[level])
    return cycle


def _count_rows(
    nodes: _Nodes, order: Ints, site: Hashes, cycle: Ints, host_ns: Ints, *, start_ns: int
) -> pl.DataFrame:
    rows = pl.DataFrame(
        {
            "site": site,
            "cycle": cycle,
            "replayed": nodes.replayed[order],
            "host_ns": np.where(nodes.sort[order] < KERNEL, host_ns, 0),
            "device_ns": nodes.device_ns[order],
            "bytes": nodes.bytes[order],
            "blocks": nodes.blocks[order],
            "shape": nodes.shape[order],
            "variant": nodes.variant[order],
            "exact": nodes.exact[order],
            "first_ns": nodes.start[order] - start_ns,
        }
    )
    amounts = ("replayed", "host_ns", "device_ns", "bytes", "blocks")
    # Sums of unsigned numbers wrap, which is as good for telling collections apart.
    return (
        rows.lazy()
        .group_by("site", "cycle")
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            *(pl.col(name).sum() for name in amounts),
            *(pl.col(name).sum() for name in ("shape", "variant", "exact")),
            pl.col("first_ns").min(),
        )
        .select(*COUNTS)
        .collect()
    )


def _site_rows(
    trace: Trace, nodes: _Nodes, order: Ints, site: Hashes, parents: Hashes
) -> pl.DataFrame:
    sites, first = np.unique(site, return_index=True)
    rows = order[first]
    name = nodes.name[rows]
    texts = trace.lazy("host").select("input_dims", "input_types").collect(engine="in-memory")
    row = nodes.texts[rows]
    return pl.DataFrame(
        {
            "site": sites,
            "parent": parents[first],
            "name": [nodes.names[code] for code in name],
            "recorded": [nodes.recorded[code] for code in name],
            "sort": nodes.sort[rows],
            "shapes": values_at(texts["input_dims"], row).cast(pl.String),
            "types": values_at(texts["input_types"], row).cast(pl.String),
        },
        schema=SITES,
    )


# -- calls and the device work they launch --------------------------------------------------------


def _calls(trace: Trace, pid: str, marks: set[str]) -> _Nodes:
    """Calls of a process; device work stands where the call was that launched it."""
    host, kinds, named = host_columns(trace), host_kinds(trace), host_names(trace)
    lane, lanes = host_lanes(trace)
    mine = np.array([process == pid for process, _ in lanes] or [False], dtype=np.bool_)[lane]
    launched_by = launching_calls(trace)
    launches = np.zeros(len(lane), dtype=np.bool_)
    launches[launched_by[launched_by >= 0]] = True
    launches &= ~named.matching(vendors.launches_graphs)
    is_mark = named.matching(lambda name: name in marks or names.is_profiler_step(name))
    rows = np.flatnonzero(mine & kinds.among(*_CALLS) & ~launches & ~is_mark)
    sort = _host_sorts(kinds.codes[rows], kinds.texts, named.codes[rows], named.texts)
    # Which attributes a library asks for goes with its choice of kernels.
    is_graph = named.matching(vendors.launches_graphs)
    counts = (sort != RUNTIME) | is_graph[rows]
    rows, sort = rows[counts], sort[counts]
    start, end = start_and_end(host, rows)
    by_start, by_end = _nesting(trace, rows, graphs=is_graph[rows])
    origin, told_names = _origin_codes(trace, rows, named.codes[rows], named.texts)
    work = np.flatnonzero(device_kinds(trace).among(*BUSY_KINDS))
    work = work[mine[launched_by[work]] & (launched_by[work] >= 0)] if len(lane) else work[:0]
    at = host["ts_ns"].to_numpy()[launched_by[work]]
    device = _device_nodes(trace, work, lane[launched_by[work]], at)
    device = replace(
        device,
        by_start=_work_moments(trace, work, launched_by[work]),
        replayed=is_graph[launched_by[work]].astype(np.int64),
    )
    device = replace(device, by_end=device.by_start)
    shape, none = _shape_hashes(trace, rows), np.zeros(len(rows), dtype=np.int64)
    calls = _Nodes(
        lane=lane[rows], start=start, by_start=by_start, by_end=by_end, replayed=none,
        sort=sort, name=named.codes[rows],
        recorded=named.texts, variant=none.astype(np.uint64), exact=shape, shape=shape,
        host_ns=end - start, device_ns=none, bytes=none, blocks=none, texts=rows, origin=origin,
    )  # fmt: skip
    return _name_nodes(calls, device, told_names=told_names)


def _nesting(trace: Trace, rows: Ints, *, graphs: Flags) -> tuple[Ints, Ints]:
    """Times to nest host calls by.

    Captured calls lie beside the call that replays them, not in it: in an eager run of the program
    there is none.
    """
    by = captured_nesting(trace)
    if by is None:
        return start_and_end(host_columns(trace), rows)
    start, end = by.start[rows], by.end[rows].copy()
    callers = np.unique(launching_calls(trace)[captured_rows(trace)])
    has_names = np.isin(rows, callers) & graphs
    end[has_names] = start[has_names]
    return start, end


def _work_moments(trace: Trace, work: Ints, launch: Ints) -> Ints:
    """When device work was launched, on the clock by which calls are nested."""
    by = captured_nesting(trace)
    if by is None:
        return np.asarray(host_columns(trace)["ts_ns"].to_numpy()[launch])
    call = captured_call_rows(trace)[work]
    return np.asarray(by.start[np.where(call >= 0, call, launch)])


def _origin_codes(
    trace: Trace, rows: Ints, name: Codes, texts: Sequence[str]
) -> tuple[Codes, list[str]]:
    """Ranges that say where calls come from, by their place in these names; -1 for other calls.

    A module that the profiler itself saw has a number.
    """
    ids = trace.lazy("host").select("python_module_id").collect()["python_module_id"]
    kind = host_kinds(trace)
    by_us = kind.among("module")[rows] & ids.is_null().to_numpy()[rows]
    lines = np.array([text.startswith(LINE_PREFIX) for text in texts] or [False], dtype=np.bool_)
    by_us |= kind.among("annotation")[rows] & lines[name]
    used, place = np.unique(name[by_us], return_inverse=True)
    origin = np.full(len(rows), -1, dtype=np.int64)
    origin[by_us] = place
    return origin, [texts[code] for code in used.tolist()]


def _device_alone(trace: Trace, pid: str) -> _Nodes:
    """Device work of a process as it ran, where cycles are those of the device."""
    by_us = (launching_process(trace) == pid).to_numpy()
    work = np.flatnonzero(device_kinds(trace).among(*BUSY_KINDS) & by_us)
    at = device_columns(trace)["ts_ns"].to_numpy()[work]
    stream, _ = encode(device_columns(trace)["stream"])
    return _name_nodes(_device_nodes(trace, work, stream[work], at))


def _host_sorts(kind: Codes, kinds: Any, name: Codes, texts: Any) -> NDArray[np.uint8]:
    by_kind = np.array(
        [_SORT_OF_KIND.get(kind_name, OPERATOR) for kind_name in kinds], dtype=np.uint8
    )
    sort = by_kind[kind]
    calls = np.flatnonzero(sort == RUNTIME)
    used = np.unique(name[calls])
    meaning = np.full(len(texts), RUNTIME, dtype=np.uint8)
    for code in used.tolist():
        if vendors.waits_for_device(texts[code]):
            meaning[code] = WAIT
        elif vendors.is_allocator_call(texts[code]):
            meaning[code] = ALLOCATOR
    sort[calls] = meaning[name[calls]]
    return sort


def _name_nodes(*parts: _Nodes, told_names: Sequence[str] = ()) -> _Nodes:
    """Nodes of all parts, with a number for each plain name and what it stands for."""
    place: dict[str, int] = {}
    recorded: list[str] = []
    name_codes = []
    for part in parts:
        texts = part.recorded
        keys, back = np.unique(
            part.sort.astype(np.int64) * len(texts) + part.name, return_inverse=True
        )
        codes = []
        for key in keys.tolist():
            kind, text = SORTS[key // len(texts)], texts[key % len(texts)]
            code = place.setdefault(plain_name(kind, text), len(place))
            if code == len(recorded):
                recorded.append(text)
            codes.append(code)
        name_codes.append(np.array(codes, dtype=np.int64)[back])
    arrays = {name: np.concatenate([getattr(nodes, name) for nodes in parts]) for name in _ARRAYS}
    arrays["name"] = np.concatenate(name_codes)
    return _Nodes(**arrays, names=list(place), recorded=recorded, told_names=told_names)


_GEOMETRY = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")


def _device_nodes(trace: Trace, work: Ints, lane: Codes, at: Ints) -> _Nodes:
    """Device work on a thread or stream, each of it at one moment."""
    table = (
        trace.lazy("device")
        .select("name", "dur_ns", "bytes", *_GEOMETRY)
        .collect(engine="in-memory")[work]
    )
    copies = device_kinds(trace).among("memcpy", "memset")[work]
    sort = np.where(copies, COPY, KERNEL).astype(np.uint8)
    code, texts = encode(table["name"])
    recorded = [text or "" for text in texts]
    geometry = np.stack([numbers(table[name]) for name in _GEOMETRY]).astype(np.uint64)
    variant = exact = hash_texts(recorded)[code] if recorded else np.zeros(0, dtype=np.uint64)
    copied = numbers(table["bytes"])
    with np.errstate(over="ignore"):
        for values in (*geometry, copied.astype(np.uint64)):
            exact = mix_hashes(exact * np.uint64(31) + values)
        blocks = (geometry[0] * geometry[1] * geometry[2]).astype(np.int64)
    none = np.zeros(len(work), dtype=np.int64)
    return _Nodes(
        lane=lane, start=at, by_start=at, by_end=at, replayed=none, sort=sort, name=code,
        recorded=recorded, variant=variant,
        exact=exact, shape=none.astype(np.uint64), host_ns=none,
        device_ns=numbers(table["dur_ns"]), bytes=copied, blocks=blocks,
        texts=none - 1, origin=none - 1,
    )  # fmt: skip


def _shape_hashes(trace: Trace, rows: Ints) -> Hashes:
    """Equal where shapes, types and scalar arguments are; 0 where none were recorded."""
    texts = (
        trace.lazy("host").select("input_dims", "input_types", "concrete_inputs").collect()[rows]
    )
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for column in texts.iter_columns():
        if column.null_count() == len(column):
            continue
        code, values = encode(column)
        value_hashes = np.array(
            [0 if value is None else int(hash_texts([value])[0]) for value in values],
            dtype=np.uint64,
        )
        with np.errstate(over="ignore"):
            hashes = mix_hashes(hashes * np.uint64(31) + value_hashes[code])
    return hashes
