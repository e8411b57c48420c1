"""The behaviour of a run: per cycle, function, device and metric, how much and how loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.arrays import sums_by
from timesink.analyses.behaviour.calls import (
    Calls,
    CycleWork,
    device_work,
    host_work,
    joined,
    windows_by_process,
)
from timesink.analyses.behaviour.counters import CounterBook, Devices, counter_book, match_devices
from timesink.analyses.behaviour.functions import (
    FUNCTION_CLASSES,
    ON_CPU,
    WAITING,
    Classes,
    load_classes,
)
from timesink.analyses.behaviour.samples import (
    NONE,
    REACH_IN_INTERVALS,
    CounterLevels,
    Spans,
    levels,
)
from timesink.analyses.behaviour.untraced import classes_with_waits, with_untraced
from timesink.analyses.columns import encode
from timesink.analyses.cycles.cycles import Cycles
from timesink.analyses.names import short_kernel_name
from timesink.model import units
from timesink.model.arrays import Floats, Ints
from timesink.model.schema import BEHAVIOUR, HOST_DEVICE, INTERPOLATED, host_and_pid
from timesink.model.trace import Trace

# Calls put together: one group per cycle, function and device.


@dataclass(frozen=True, slots=True, eq=False)
class CallGroups:
    """Cycle, function, class and device of each group, and what its calls come to."""

    row: Ints
    """Row in the table of cycles."""
    function: Ints
    function_class: NDArray[np.int8]
    device: Ints
    time: Ints
    calls: Ints
    members: Calls
    group_of: Ints
    """For each of `members`: its group."""

    def __len__(self) -> int:
        return len(self.row)


def grouped(calls: Calls) -> CallGroups:
    """Group calls by cycle, function, class and device."""
    device, device_code = np.unique(calls.device, return_inverse=True)
    functions = int(calls.function.max(initial=0)) + 1
    key = (calls.row * functions + calls.function) * len(FUNCTION_CLASSES) + calls.function_class
    key = key * max(len(device), 1) + device_code
    _, example, group = np.unique(key, return_index=True, return_inverse=True)
    return CallGroups(
        row=calls.row[example],
        function=calls.function[example],
        function_class=calls.function_class[example],
        device=calls.device[example],
        time=sums_by(group, calls.time, len(example)),
        calls=sums_by(group, calls.calls, len(example)),
        members=calls,
        group_of=group,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Groups that read the same counters: of one process, class and device."""

    process: int
    function_class: int
    device: int
    groups: Ints
    """Places in `CallGroups`."""
    spans: Spans
    """Of their calls; groups are places in `groups`."""


def alike(groups: CallGroups, process_of_row: Ints, unread: int) -> Iterator[Alike]:
    """Groups by process, class and device; those of the function `unread` read no counters."""
    keys = np.stack([process_of_row[groups.row], groups.function_class, groups.device])
    kinds, kind = np.unique(keys, axis=1, return_inverse=True)
    kind = kind.reshape(-1)
    kind_of_call = kind[groups.group_of]
    reads = groups.members.function != unread
    local = np.zeros(len(groups), dtype=np.int64)
    for number, (process, function_class, device) in enumerate(kinds.T.tolist()):
        mine = np.flatnonzero(kind == number)
        local[mine] = np.arange(len(mine))
        rows = np.flatnonzero((kind_of_call == number) & reads)
        group = local[groups.group_of[rows]]
        calls = groups.members.take(rows)
        spans = Spans(group, calls.start, calls.end, calls.time, len(mine))
        if function_class == ON_CPU:
            spans = merged(spans)
        yield Alike(process, function_class, device, mine, spans)


def merged(spans: Spans) -> Spans:
    """Spans of a group that overlap as one; those that only touch stay apart.

    Threads of a process run at the same time: what counters read then counts once.
    """
    if not len(spans):
        return spans
    order = np.lexsort((spans.start, spans.group))
    group, start, end = spans.group[order], spans.start[order], spans.end[order]
    # Groups side by side on one line, so that one running maximum serves them all.
    earliest = start.min()
    length = int(end.max() - earliest) + 1
    offset = group * length - earliest
    reached = np.maximum.accumulate(end + offset)
    opens = np.concatenate([[True], (start + offset)[1:] >= reached[:-1]])
    first = np.flatnonzero(opens)
    last_end = reached[np.append(first[1:], len(start)) - 1] - offset[first]
    return Spans(group[first], start[first], last_end, last_end - start[first], spans.groups)


# What a run did cycle by cycle, as plain data.


@dataclass(frozen=True, slots=True, eq=False)
class Behaviour:
    """What every function cost in every cycle, and how loaded its resources were meanwhile."""

    table: pl.DataFrame
    """Rows of `model.schema.BEHAVIOUR`, by cycle, process and share, largest share first."""
    notes: tuple[str, ...] = ()
    """What a reader must know: work outside of all cycles, counters that fit nothing, ..."""


# What a reader of a behaviour table must know, in sentences.

NO_SAMPLES = "no counter samples in or beside the recording: functions have times only"
_MOST_NAMES = 5
_FEW_CALLS, _LITTLE_TIME = 0.001, 0.01
"""Parts of all calls and of their time that no number changes by: a profiler that stops waits for
the device once or twice, outside of all cycles."""


def notes_of(
    device: CycleWork, host: CycleWork, book: CounterBook, reading: CounterUse
) -> tuple[str, ...]:
    """What was left out, and how far counters were taken from."""
    return (*_work_notes(device, host), *_counter_notes(book, reading))


@dataclass(frozen=True, slots=True)
class CounterUse:
    """Which counters matter to functions of a run, and which of these were read."""

    wanted: frozenset[str]
    read: frozenset[str]
    of_recorder: frozenset[str] = frozenset()
    """What `timesink record` sampled: more than functions read, as diagnoses look at the rest."""


def _work_notes(device: CycleWork, host: CycleWork) -> Iterator[str]:
    for work, what in ((device, "device activities"), (host, "host calls")):
        share = work.outside_ns / work.total_ns if work.total_ns else 0.0
        many = work.outside > _FEW_CALLS * work.total
        if many or share > _LITTLE_TIME:
            yield (
                f"outside of all cycles, not counted: {units.count(work.outside)} of "
                f"{units.counted(work.total, what)} ({100 * share:.1f} % of their time)"
            )
    if device.by_time:
        yield (
            "without a launching call in the recording, counted in the cycle of their start: "
            f"{units.counted(device.by_time, 'device activities')}"
        )
    if host.without_cycles:
        yield f"without cycles, not counted: {_listed('process', host.without_cycles)}"


def _counter_notes(book: CounterBook, use: CounterUse) -> Iterator[str]:
    if not book.counters:
        yield NO_SAMPLES
        return
    known = use.wanted | use.of_recorder
    unread = [counter for counter in book.counters if counter not in known]
    if unread:
        yield f"no function here reads {_listed('counter', unread)}; --map FILE can change that"
    far = sorted(use.wanted - use.read)
    if far:
        yield (
            f"no sample near the calls it matters to: {_listed('counter', far)}, recorded at other "
            "times, on another clock or of another device"
        )
    if use.read:
        reach = max(s.reach_ns for (counter, _), s in book.series.items() if counter in use.read)
        yield (
            "between samples counters are interpolated, from samples at most "
            f"{units.duration_ns(reach)} away ({REACH_IN_INTERVALS} sampling intervals)"
        )


def _listed(thing: str, names: Sequence[str]) -> str:
    plural = thing if len(names) == 1 else thing + ("es" if thing.endswith("s") else "s")
    return f"{plural} {units.listed(names, _MOST_NAMES)}"


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
    # Counters that matter to each class of functions of the run.
    known = classes or load_classes()
    wanted = {
        each: known.counters_of(FUNCTION_CLASSES[each], book.counters)
        for each in np.unique(groups.function_class).tolist()
    }
    # Who waits for other threads works on nothing: counters tell about those.
    unread = host.functions.index(WAITING)
    measured: list[tuple[str, CounterLevels]] = []
    process_of_row, processes = _process_of_row(cycles)
    for part in alike(groups, process_of_row, unread):
        places = devices.places(processes[part.process], part.device)
        found = (book.find(counter, places) for counter in wanted[part.function_class])
        series = [each for each in found if each is not None]
        measured += (
            (each.counter, replace(level, group=part.groups[level.group]))
            for each, level in levels(series, part.spans)
        )
    names = host.functions, device.functions
    table = _table(_rows(groups, measured), groups, cycles, devices, book, names=names)
    run = trace.metadata.run
    use = CounterUse(
        wanted=frozenset(chain.from_iterable(wanted.values())),
        read=frozenset(counter for counter, _ in measured),
        of_recorder=frozenset() if run is None else frozenset(run.counters.recorded),
    )
    return Behaviour(table, (*notes_of(device, host, book, use), *devices.notes))


def _process_of_row(cycles: Cycles) -> tuple[Ints, list[str]]:
    """A number per cycle for its process, and what each number stands for."""
    codes, pids = encode(cycles.table["pid"])
    return codes, [pid or "" for pid in pids]


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


def _rows(groups: CallGroups, measured: Sequence[tuple[str, CounterLevels]]) -> _Rows:
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


def _table(
    rows: _Rows,
    groups: CallGroups,
    cycles: Cycles,
    devices: Devices,
    book: CounterBook,
    *,
    names: tuple[Sequence[str], Sequence[str]],
) -> pl.DataFrame:
    """The rows in words; `names` are those of the functions of the host and of devices."""
    group = rows.group
    function = groups.function[group]
    # Names of kernels are shortened; what stands in brackets on the host is no argument.
    shortened = [*names[0], *map(short_kernel_name, names[1])]
    # What the device of each group is called.
    number, processes = _process_of_row(cycles)
    keys = np.stack([number[groups.row], groups.device])
    kinds, kind = np.unique(keys, axis=1, return_inverse=True)
    labels = [devices.label(processes[process], device) for process, device in kinds.T.tolist()]
    frame = pl.DataFrame(
        {
            "row": groups.row[group],
            "function": _texts([*names[0], *names[1]], function),
            "short_name": _texts(shortened, function),
            "metric": _texts(rows.counters, rows.counter),
            "unit": _texts([book.units[each] for each in rows.counters], rows.counter),
            "device": _texts(labels, kind.reshape(-1))[group],
            "function_class": _texts(FUNCTION_CLASSES, groups.function_class[group]),
            "mu": rows.mean,
            "sigma": rows.spread,
            "dur_ns": groups.time[group],
            "calls": groups.calls[group],
            "interpolated": pl.Series(INTERPOLATED, dtype=pl.Enum(INTERPOLATED)).gather(
                rows.interpolated
            ),
        },
        nan_to_null=True,
    )
    return _with_cycles(frame, cycles)


def _with_cycles(frame: pl.DataFrame, cycles: Cycles) -> pl.DataFrame:
    """Rows with the columns of their cycle, in order; cycles without work get a row."""
    table = cycles.table.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    length = pl.col("cycle_dur_ns")
    share = pl.when(length > 0).then(100 * pl.col("dur_ns") / length).otherwise(0.0)
    # Process and machine of each cycle.
    filled = table["pid"].fill_null("")
    split = {text: host_and_pid(text) for text in filled.unique()}
    host, process = (
        filled.replace_strict(
            {text: both[n] for text, both in split.items()}, return_dtype=pl.String
        )
        for n in (0, 1)
    )
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
