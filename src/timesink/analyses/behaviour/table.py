"""The behaviour of a run: per cycle, function, device and metric, how much and how loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.behaviour.behaviour import Behaviour
from timesink.analyses.behaviour.calls import device_work, host_work, joined
from timesink.analyses.behaviour.classes import FUNCTION_CLASSES, WAITING, Classes, load_classes
from timesink.analyses.behaviour.counter_devices import Devices, match_devices
from timesink.analyses.behaviour.groups import Alike, Groups, alike, grouped
from timesink.analyses.behaviour.notes import CounterUse, notes_of
from timesink.analyses.behaviour.places import CounterBook, counter_book
from timesink.analyses.behaviour.samples import NONE, Levels, levels
from timesink.analyses.behaviour.untraced import with_untraced
from timesink.analyses.behaviour.waits import classes_with_waits
from timesink.analyses.behaviour.windows import windows_by_process
from timesink.analyses.cycles.cycles import Cycles
from timesink.analyses.kernel_names.display import short_kernel_name
from timesink.analyses.texts import encode
from timesink.model.arrays import Floats, Ints
from timesink.model.processes import host_and_pid
from timesink.model.schema import BEHAVIOUR, HOST_DEVICE, INTERPOLATED
from timesink.model.trace import Trace

NOTHING_RECORDED = "(nothing recorded)"
"""Function of a cycle in which nothing ran, so that every cycle has a row."""


def behaviour_table(trace: Trace, cycles: Cycles, classes: Classes | None = None) -> Behaviour:
    """What each function cost in each cycle, and what its counters read meanwhile."""
    windows = windows_by_process(cycles)
    device = device_work(trace, windows, by_launch=not cycles.on_device)
    marks = frozenset(cycles.table["name"].drop_nulls().unique())
    classes_of = classes_with_waits(trace, cycles)
    host = with_untraced(trace, cycles, windows, host_work(trace, windows, classes_of, marks))
    # Calls of both, with functions of the device after those of the host.
    shifted = replace(device.calls, function=device.calls.function + len(host.functions))
    calls = joined([host.calls, shifted])
    numbers = np.unique(device.calls.device).tolist()
    book = counter_book(trace, list(windows), numbers)
    devices = match_devices(trace, book, numbers, list(windows))
    groups = grouped(calls)
    sources = _Sources(book, devices, classes or load_classes())
    # Who waits for other threads works on nothing: counters tell about those.
    unread = host.functions.index(WAITING)
    measured = list(_measured(groups, cycles, sources, unread))
    rows = _rows(groups, measured)
    named = _Names(cycles, devices, book, host.functions, device.functions)
    table = _table(rows, groups, named)
    read = frozenset(counter for counter, _ in measured)
    # Counters that matter to some function of the run.
    present = [FUNCTION_CLASSES[each] for each in np.unique(groups.function_class)]
    counters = (sources.classes.counters_of(each, sources.book.counters) for each in present)
    use = CounterUse(frozenset(chain.from_iterable(counters)), read, _of_recorder(trace))
    return Behaviour(table, (*notes_of(device, host, book, use), *devices.notes))


# -- counters of functions -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Sources:
    """Where counters come from, and which matter to whom."""

    book: CounterBook
    devices: Devices
    classes: Classes


def _of_recorder(trace: Trace) -> frozenset[str]:
    run = trace.metadata.run
    return frozenset() if run is None else frozenset(run.counters.recorded)


def _measured(
    groups: Groups, cycles: Cycles, sources: _Sources, unread: int
) -> Iterator[tuple[str, Levels]]:
    process_of_row, processes = _process_of_row(cycles)
    for part in alike(groups, process_of_row, unread):
        yield from _measured_alike(part, processes[part.process], sources)


def _process_of_row(cycles: Cycles) -> tuple[Ints, list[str]]:
    """A number per cycle for its process, and what each number stands for."""
    codes, pids = encode(cycles.table["pid"])
    return codes, [pid or "" for pid in pids]


def _measured_alike(part: Alike, process: str, sources: _Sources) -> Iterator[tuple[str, Levels]]:
    book = sources.book
    wanted = sources.classes.counters_of(FUNCTION_CLASSES[part.function_class], book.counters)
    places = sources.devices.places(process, part.device)
    found = (book.find(counter, places) for counter in wanted)
    series = [each for each in found if each is not None]
    for each, level in levels(series, part.spans):
        yield each.counter, replace(level, group=part.groups[level.group])


# -- rows ------------------------------------------------------------------------------------------

_NO_METRIC = -1


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """One row per group and counter, and one per group without any."""

    group: Ints
    counter: Ints
    """Place in `counters`, or `_NO_METRIC`."""
    mean: Floats
    spread: Floats
    interpolated: NDArray[np.int8]
    counters: Sequence[str]


def _rows(groups: Groups, measured: Sequence[tuple[str, Levels]]) -> _Rows:
    counters = sorted({counter for counter, _ in measured})
    place = {counter: number for number, counter in enumerate(counters)}
    known = np.zeros(len(groups), dtype=np.bool_)
    found = [level for _, level in measured]
    for each in found:
        known[each.group] = True
    bare = np.flatnonzero(~known)
    nothing = np.full(len(bare), np.nan)
    sizes = [len(each.group) for each in found]
    return _Rows(
        group=np.concatenate([*(each.group for each in found), bare]),
        counter=np.repeat(
            [*(place[counter] for counter, _ in measured), _NO_METRIC], [*sizes, len(bare)]
        ),
        mean=np.concatenate([*(each.mean for each in found), nothing]),
        spread=np.concatenate([*(each.spread for each in found), nothing]),
        interpolated=np.concatenate(
            [*(each.interpolated for each in found), np.full(len(bare), NONE, dtype=np.int8)]
        ),
        counters=counters,
    )


# -- the table -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Names:
    """What numbers in rows stand for."""

    cycles: Cycles
    devices: Devices
    book: CounterBook
    host_functions: Sequence[str]
    device_functions: Sequence[str]

    @property
    def functions(self) -> list[str]:
        return [*self.host_functions, *self.device_functions]

    @property
    def short_names(self) -> list[str]:
        """Names of kernels shortened; what stands in brackets on the host is no argument."""
        return [*self.host_functions, *map(short_kernel_name, self.device_functions)]


def _table(rows: _Rows, groups: Groups, named: _Names) -> pl.DataFrame:
    group = rows.group
    function = groups.function[group]
    # What the device of each group is called.
    number, processes = _process_of_row(named.cycles)
    keys = np.stack([number[groups.row], groups.device])
    kinds, kind = np.unique(keys, axis=1, return_inverse=True)
    labels = [
        named.devices.label(processes[process], device) for process, device in kinds.T.tolist()
    ]
    frame = pl.DataFrame(
        {
            "row": groups.row[group],
            "function": _texts(named.functions, function),
            "short_name": _texts(named.short_names, function),
            "metric": _texts(rows.counters, rows.counter),
            "unit": _texts([named.book.units[each] for each in rows.counters], rows.counter),
            "device": _texts(labels, kind.reshape(-1))[group],
            "function_class": _texts(FUNCTION_CLASSES, groups.function_class[group]),
            "mu": rows.mean,
            "sigma": rows.spread,
            "dur_ns": groups.time[group],
            "calls": groups.calls[group],
            "interpolated": _enum(rows.interpolated),
        },
        nan_to_null=True,
    )
    return _with_cycles(frame, named.cycles)


def _with_cycles(frame: pl.DataFrame, cycles: Cycles) -> pl.DataFrame:
    """Rows with the columns of their cycle, in order; cycles without work get a row."""
    table = cycles.table.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    length = pl.col("cycle_dur_ns")
    share = pl.when(length > 0).then(100 * pl.col("dur_ns") / length).otherwise(0.0)
    # Process and machine of each cycle.
    pid = table["pid"]
    texts = pid.fill_null("").unique().to_list()
    split = {text: host_and_pid(text) for text in texts}
    filled = pid.fill_null("")
    process = filled.replace_strict(
        {text: split[text][1] for text in texts}, return_dtype=pl.String
    )
    host = filled.replace_strict({text: split[text][0] for text in texts}, return_dtype=pl.String)
    both = table.select(
        "row",
        "cycle",
        pl.col("type").alias("cycle_type"),
        *(process.alias("pid"), host.alias("host")),
        pl.col("name").cast(pl.String).alias("anchor"),
        pl.col("start_ns").alias("cycle_ts_ns"),
        (pl.col("end_ns") - pl.col("start_ns")).alias("cycle_dur_ns"),
    ).join(frame, on="row", how="left")
    complete = both.with_columns(
        pl.col("function", "short_name").fill_null(NOTHING_RECORDED),
        pl.col("device").fill_null(HOST_DEVICE),
        pl.col("function_class").fill_null("cpu_other"),
        pl.col("dur_ns", "calls").fill_null(0),
        pl.col("interpolated").fill_null(INTERPOLATED[NONE]),
    ).with_columns(share.alias("beta_pct"))
    keys = ("cycle", "host", "pid", "beta_pct", "function", "device", "metric")
    ordered = complete.sort(
        "cycle", "host", pl.col("pid").cast(pl.Int64, strict=False), *keys[2:],
        descending=[False, False, False, False, True, False, False, False],
    )  # fmt: skip
    return ordered.select(pl.col(name).cast(dtype) for name, dtype in BEHAVIOUR.schema.items())


def _texts(texts: Sequence[str | None], place: NDArray[np.integer[Any]]) -> pl.Series:
    """A text per place; none for places below zero."""
    every = pl.Series([*texts, None], dtype=pl.String).cast(pl.Categorical)
    return every.gather(np.where(place < 0, len(texts), place))


def _enum(interpolated: NDArray[np.int8]) -> pl.Series:
    return pl.Series(INTERPOLATED, dtype=pl.Enum(INTERPOLATED)).gather(interpolated)
