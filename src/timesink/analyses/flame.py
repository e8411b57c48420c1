"""Time and memory by call stack or module, as flame graphs draw them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns, device_kinds, device_names
from timesink.analyses.forest import call_forest, chains
from timesink.analyses.links import link_launches
from timesink.analyses.modules import find_modules, is_module_call, link_backward
from timesink.analyses.names import short_kernel_name
from timesink.analyses.operators import node_times
from timesink.analyses.snapshot.blocks import blocks_at_peak
from timesink.errors import NotFoundError
from timesink.model.arrays import sums_by
from timesink.model.intervals import Ints
from timesink.model.nested_calls import enclosing_calls
from timesink.model.schema import BUSY_KINDS, MODULE_PREFIX
from timesink.model.trace import Trace
from timesink.patterns import regex

HOST, DEVICE, MEMORY = "host", "device", "memory"
MEASURES = (DEVICE, HOST, MEMORY)
"""What a flame graph may show: device time, host time, or live memory at its peak."""
STACK, MODULE = "stack", "module"
GROUPS = (STACK, MODULE)
UNITS = {HOST: "nanoseconds", DEVICE: "nanoseconds", MEMORY: "bytes"}
TITLES = {HOST: "host time", DEVICE: "device time", MEMORY: "live memory at the peak"}
RUNTIME, NOT_LINKED, OUTSIDE = "[runtime calls]", "[no recorded launch]", "[outside of modules]"
NOT_RECORDED = "[stack not recorded]"
MAX_DEPTH = 2000
"""Frames of a stack: what is called deeper counts for the last of them."""

_STEP = regex(r"ProfilerStep#\d+$")
"""Steps are drawn as one."""

StackFrames: TypeAlias = tuple[str, ...]
"""Names of calls, the outermost first."""


class FlameGraph(msgspec.Struct, frozen=True):
    """What each stack takes by itself."""

    measure: str
    """One of `MEASURES`."""
    weights: Mapping[StackFrames, int]

    @property
    def unit(self) -> str:
        """`nanoseconds` or `bytes`."""
        return UNITS[self.measure]

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self.weights.values())


def measures_of(trace: Trace) -> tuple[str, ...]:
    """What a recording holds of the measures, device time first.

    >>> import timesink
    >>> measures_of(timesink.open(timesink.sample()))
    ('device', 'host')
    """
    has = {
        DEVICE: bool(device_kinds(trace).among(*BUSY_KINDS).any()),
        HOST: len(call_forest(trace)) > 0,
        MEMORY: trace.has_snapshot,
    }
    return tuple(measure for measure in MEASURES if has[measure])


def flame_graph(trace: Trace, measure: str, by: str = STACK) -> FlameGraph:
    """Where time or memory goes, by call stack or by module; weights add up to all of it.

    >>> import timesink
    >>> graph = flame_graph(timesink.open(timesink.sample()), "device")
    >>> graph.unit, graph.total > 0
    ('nanoseconds', True)
    """
    if measure not in measures_of(trace):
        raise NotFoundError(
            f"this recording has no {TITLES[measure]}",
            f"it has {', '.join(TITLES[name] for name in measures_of(trace)) or 'no time at all'}",
        )
    if measure == MEMORY:
        return FlameGraph(measure, _memory(trace, by))
    stack_of_node = _module_stacks(trace) if by == MODULE else _call_stacks(trace)
    make = _host if measure == HOST else _device
    return FlameGraph(measure, make(trace, stack_of_node))


class _Stacks(msgspec.Struct, frozen=True):
    """A number of a stack for each call of the forest; -1 stands for no stack."""

    number: Ints
    frames: list[StackFrames]
    has_calls: bool
    """Whether the call itself is the last frame."""


def _call_stacks(trace: Trace) -> _Stacks:
    """Chains of names down to each call."""
    forest = call_forest(trace)
    if not len(forest):
        return _Stacks(np.zeros(0, dtype=np.int64), [], has_calls=True)
    row, first = chains(forest.parent, forest.depth, forest.name)
    names = [_label(name) for name in forest.names]
    frames: list[StackFrames] = []
    caller = np.where(forest.parent[first] >= 0, row[forest.parent[first]], -1).tolist()
    for above, code in zip(caller, forest.name[first].tolist(), strict=True):
        path = frames[above] if above >= 0 else ()
        frames.append((*path, names[code]) if len(path) < MAX_DEPTH else path)
    return _Stacks(row, frames, has_calls=True)


def _label(name: str) -> str:
    name = "ProfilerStep" if _STEP.match(name) else name
    return name.removeprefix(MODULE_PREFIX).replace(";", ",").replace("\n", " ") or "?"


def _module_stacks(trace: Trace) -> _Stacks:
    """Chains of modules around each call; of a backward call, around its forward call."""
    forest, is_module = call_forest(trace), is_module_call(trace)
    if not is_module.any():
        return _Stacks(np.full(len(forest), -1), [], has_calls=False)
    links, modules = link_backward(trace), find_modules(trace)
    forward = np.full(len(forest) + 1, -1, dtype=np.int64)
    forward[links.node] = links.forward
    is_backward = np.zeros(len(forest), dtype=np.bool_)
    is_backward[links.node] = True
    around = enclosing_calls(np.arange(len(forest)), forest.parent, is_backward | is_module)
    origin = np.where(np.append(is_backward, False)[around], forward[around], around)
    call = enclosing_calls(origin, forest.parent, is_module)
    row = np.append(modules.row, -1)[np.searchsorted(modules.node, call)]
    frames: list[StackFrames] = []
    for number in range(len(modules.name)):
        path: list[str] = []
        above = number
        while above >= 0:
            path.append(_label(modules.name[above]))
            above = int(modules.outer[above])
        frames.append(tuple(reversed(path)))
    return _Stacks(np.where(call >= 0, row, -1), frames, has_calls=False)


def _host(trace: Trace, stacks: _Stacks) -> dict[StackFrames, int]:
    """Time of each call by itself, and of the runtime calls it makes as frames of their own."""
    forest, times = call_forest(trace), node_times(trace)
    below = np.zeros(len(forest), dtype=np.int64)
    shown = forest.stands_for == np.arange(len(forest))
    inner = np.flatnonzero(shown & (forest.parent >= 0))
    np.add.at(below, forest.stands_for[forest.parent[inner]], times.host_total[inner])
    runtime = np.where(shown, np.maximum(times.host_total - times.host_self - below, 0), 0)
    weights: defaultdict[StackFrames, int] = defaultdict(int)
    if stacks.has_calls:
        many = len(stacks.frames)
        for values, leaf in ((times.host_self, ()), (runtime, (RUNTIME,))):
            sums = sums_by(stacks.number, np.where(shown, values, 0), many)
            for number in np.flatnonzero(sums > 0).tolist():
                weights[(*stacks.frames[number], *leaf)] += int(sums[number])
        return dict(weights)
    operator = np.where(forest.is_operator, forest.name, len(forest.names))
    names = [*map(_label, forest.names), "[other calls]"]
    of_runtime = [RUNTIME] * len(names)
    for values, labels in ((times.host_self, names), (runtime, of_runtime)):
        own = np.where(shown, values, 0)
        _add_pairs(weights, stacks, code=operator, values=own, names=labels)
    return dict(weights)


def _add_pairs(
    weights: defaultdict[StackFrames, int],
    stacks: _Stacks,
    *,
    code: Ints,
    values: Ints,
    names: Sequence[str],
) -> None:
    """Add values by stack and name."""
    frame = (
        pl.DataFrame({"stack": stacks.number, "name": code, "value": values})
        .filter(pl.col("value") > 0)
        .group_by("stack", "name")
        .agg(pl.col("value").sum())
    )
    for stack, name, value in frame.iter_rows():
        path = stacks.frames[stack] if stack >= 0 else (OUTSIDE,)
        weights[(*path, names[name])] += int(value)


def _device(trace: Trace, stacks: _Stacks) -> dict[StackFrames, int]:
    """Time of device work below the call that launched it, by the name of the kernel or copy."""
    forest, links = call_forest(trace), link_launches(trace)
    busy = device_kinds(trace).among(*BUSY_KINDS)
    node = links.node if len(links.node) else np.full(len(busy), -1)
    owner = np.where(node >= 0, forest.stands_for[node] if len(forest) else -1, -1)
    number = np.where(owner >= 0, stacks.number[owner] if len(stacks.number) else -1, -2)
    names = device_names(trace)
    frame = (
        pl.DataFrame(
            {
                "stack": number,
                "name": names.codes,
                "value": device_columns(trace)["dur_ns"].to_numpy(),
            }
        )
        .filter(pl.Series(busy))
        .group_by("stack", "name")
        .agg(pl.col("value").sum())
        .filter(pl.col("value") > 0)
    )
    without = {-1: (OUTSIDE,), -2: (NOT_LINKED,)}
    labels = [_label(short_kernel_name(text or "?")) for text in names.texts]
    weights: defaultdict[StackFrames, int] = defaultdict(int)
    for stack, name, value in frame.iter_rows():
        path = stacks.frames[stack] if stack >= 0 else without[stack]
        weights[(*path, labels[name])] += int(value)
    return dict(weights)


def _memory(trace: Trace, by: str) -> dict[StackFrames, int]:
    """Live bytes at the peak by the stack that took them, below their device."""
    live = blocks_at_peak(trace)
    weights: defaultdict[StackFrames, int] = defaultdict(int)
    if by == MODULE:
        columns = live.select("device", "module", "category", "bytes")
        for device, module, category, size in columns.iter_rows():
            path = tuple(module.split(" > ")) if module else (OUTSIDE,)
            weights[(device, *path, category.replace("_", " "))] += size
        return dict(weights)
    sums = live.group_by("device", pl.col("call_stack").cast(pl.String)).agg(pl.col("bytes").sum())
    for device, stack, size in sums.iter_rows():
        frames = tuple(reversed(stack.split(";"))) if stack else (NOT_RECORDED,)
        weights[(device, *frames)] += size
    return dict(weights)
