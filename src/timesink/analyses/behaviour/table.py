"""The behaviour of a run: per cycle, function, device and metric, how much and how loaded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec import structs
from numpy.typing import NDArray

from timesink.analyses.behaviour.calls import (
    Calls,
    CycleWork,
    concat_calls,
    device_work,
    host_work,
    windows_by_process,
)
from timesink.analyses.behaviour.classes import FUNCTION_CLASSES, Classes, load_classes
from timesink.analyses.behaviour.counters import (
    NONE,
    REACH_IN_INTERVALS,
    CounterBook,
    CounterLevels,
    Spans,
    counter_book,
    levels,
    match_devices,
)
from timesink.analyses.behaviour.functions import ON_CPU, WAITING
from timesink.analyses.behaviour.summary import NOTHING_RECORDED
from timesink.analyses.behaviour.untraced import classes_with_waits, with_untraced
from timesink.analyses.columns import encode
from timesink.analyses.cycles.spans import Cycles
from timesink.analyses.names import short_kernel_name
from timesink.model import units
from timesink.model.arrays import grouped_cummax, is_run_start, run_starts, sums_by
from timesink.model.intervals import Ints
from timesink.model.schema import BEHAVIOUR, HOST_DEVICE, INTERPOLATED, host_and_pid
from timesink.model.trace import Trace


def group_calls(calls: Calls) -> tuple[Calls, Ints]:
    """One of the calls of each cycle, function, class and device, with the time and calls of all.

    Also the place of each call's group among these.
    """
    device, device_code = np.unique(calls.device, return_inverse=True)
    functions = int(calls.function.max(initial=0)) + 1
    key = (calls.row * functions + calls.function) * len(FUNCTION_CLASSES) + calls.function_class
    key = key * max(len(device), 1) + device_code
    _, example, group = np.unique(key, return_index=True, return_inverse=True)
    many = len(example)
    time, count = (sums_by(group, amounts, many) for amounts in (calls.time, calls.calls))
    return replace(calls.take(example), time=time, calls=count), group


def same_behaviour(
    calls: Calls, groups: Calls, group_of: Ints, process_of_row: Ints, unread: int
) -> Iterator[tuple[list[int], Ints, Spans]]:
    """Groups that read the same counters: of one process, class and device.

    These three as numbers, places in `groups`, and spans of their calls, whose groups are places
    in these.  Groups of the function `unread` read no counters.
    """
    keys = np.stack([process_of_row[groups.row], groups.function_class, groups.device])
    kinds, kind = np.unique(keys, axis=1, return_inverse=True)
    kind = kind.reshape(-1)
    kind_of_call = kind[group_of]
    reads = calls.function != unread
    local = np.zeros(len(groups), dtype=np.int64)
    for number, key in enumerate(kinds.T.tolist()):
        mine = np.flatnonzero(kind == number)
        local[mine] = np.arange(len(mine))
        rows = np.flatnonzero((kind_of_call == number) & reads)
        read = calls.take(rows)
        spans = Spans(local[group_of[rows]], read.start, read.end, read.time, len(mine))
        yield key, mine, merge_spans(spans) if key[1] == ON_CPU else spans


def merge_spans(spans: Spans) -> Spans:
    """Spans of a group that overlap as one; those that only touch stay apart.

    Threads of a process run at the same time: what counters read then counts once.
    """
    if not len(spans):
        return spans
    order = np.lexsort((spans.start, spans.group))
    group, start, end = spans.group[order], spans.start[order], spans.end[order]
    reached = grouped_cummax(end, run_starts(group))
    apart = is_run_start(group)
    apart[1:] |= start[1:] >= reached[:-1]
    first = np.flatnonzero(apart)
    last_end = reached[np.append(first[1:], len(start)) - 1]
    return Spans(group[first], start[first], last_end, last_end - start[first], spans.groups)


class Behaviour(msgspec.Struct, frozen=True, eq=False):
    """What every function cost in every cycle, and how loaded its resources were meanwhile."""

    table: pl.DataFrame
    """Rows of `model.schema.BEHAVIOUR`, by cycle, process and share, largest share first."""
    notes: tuple[str, ...] = ()
    """What a reader must know: work outside of all cycles, counters that fit nothing, ..."""


NO_SAMPLES = "no counter samples in or beside the recording: functions have times only"
_MAX_NAMES = 5
_FEW_CALLS, _LITTLE_TIME = 0.001, 0.01
"""Parts of all calls and of their time that no number changes by: a profiler that stops waits for
the device once or twice, outside of all cycles."""


def notes_of(
    device: CycleWork,
    host: CycleWork,
    book: CounterBook,
    *,
    wanted: Collection[str],
    read: Collection[str],
    of_recorder: Collection[str],
) -> Iterator[str]:
    """What was left out, and how far counters were taken from.

    Functions of the run want some counters, and some of these were read; `timesink record` samples
    more, as diagnoses look at the rest.
    """
    for work, what in ((device, "device activities"), (host, "host calls")):
        share = work.outside_ns / work.total_ns if work.total_ns else 0.0
        many = work.outside > _FEW_CALLS * work.total
        if many or share > _LITTLE_TIME:
            yield (
                f"outside of all steps, not counted: {units.count(work.outside)} of "
                f"{units.count_noun(work.total, what)} ({units.share(share, 1)} of their time)"
            )
    if device.by_time:
        yield (
            "without a launching call in the recording, counted in the step of their start: "
            f"{units.count_noun(device.by_time, 'device activities')}"
        )
    if host.without_cycles:
        yield f"without steps, not counted: {_list_names('process', host.without_cycles)}"
    if not book.counters:
        yield NO_SAMPLES
        return
    expected = {*wanted, *of_recorder}
    unread = [counter for counter in book.counters if counter not in expected]
    if unread:
        yield f"no function here reads {_list_names('counter', unread)}; --map FILE can change that"
    far = sorted(set(wanted) - set(read))
    if far:
        yield (
            f"no sample near the calls it matters to: {_list_names('counter', far)}, recorded "
            "at other "
            "times, on another clock or of another device"
        )
    if read:
        reach = max(s.reach_ns for (counter, _), s in book.series.items() if counter in read)
        yield (
            "between samples counters are interpolated, from samples at most "
            f"{units.brief_ns(reach)} away ({REACH_IN_INTERVALS} sampling intervals)"
        )


def _list_names(thing: str, names: Sequence[str]) -> str:
    plural = thing if len(names) == 1 else thing + ("es" if thing.endswith("s") else "s")
    return f"{plural} {units.join_names(names, _MAX_NAMES)}"


def behaviour_table(trace: Trace, cycles: Cycles, classes: Classes | None = None) -> Behaviour:
    """What each function cost in each cycle, and what its counters read meanwhile."""
    windows = windows_by_process(cycles)
    device = device_work(trace, cycles)
    marks = frozenset(cycles.table["name"].drop_nulls().unique())
    classes_of = classes_with_waits(trace, cycles)
    host = with_untraced(trace, cycles, windows, host_work(trace, windows, classes_of, marks))
    # Calls of both, with functions of the device after those of the host.
    shifted = replace(device.calls, function=device.calls.function + len(host.functions))
    calls = concat_calls([host.calls, shifted])
    groups, group_of = group_calls(calls)
    numbers = np.unique(device.calls.device).tolist()
    book = counter_book(trace, list(windows), numbers)
    devices = match_devices(trace, book, numbers, list(windows))
    # Counters that matter to each class of functions of the run.
    class_map = classes or load_classes()
    wanted = {
        code: class_map.counters_of(FUNCTION_CLASSES[code], book.counters)
        for code in np.unique(groups.function_class).tolist()
    }
    # Who waits for other threads works on nothing: counters tell about those.
    unread = host.functions.index(WAITING)
    measured: list[tuple[str, CounterLevels]] = []
    # A number per cycle for its process, and what each number stands for.
    process_of_row, pids = encode(cycles.table["pid"])
    processes = [pid or "" for pid in pids]
    together = (
        same_behaviour(calls, groups, group_of, process_of_row, unread) if book.counters else ()
    )
    for (process, function_class, number), mine, spans in together:
        places = devices.places(processes[process], number)
        candidates = (book.find(counter, places) for counter in wanted[function_class])
        series = [item for item in candidates if item is not None]
        measured += (
            (item.counter, structs.replace(level, group=mine[level.group]))
            for item, level in levels(series, spans)
        )
    # Names of kernels are shortened; what stands in brackets on the host is no argument.
    names = [*host.functions, *device.functions]
    short_names = [*host.functions, *map(short_kernel_name, device.functions)]
    function = groups.function
    # What the device of each group is called.
    keys = np.stack([process_of_row[groups.row], groups.device])
    kinds, kind = np.unique(keys, axis=1, return_inverse=True)
    labels = [
        devices.label(processes[process], device_number)
        for process, device_number in kinds.T.tolist()
    ]
    by_group = pl.DataFrame(
        {
            "row": groups.row,
            "function": _texts(names, function),
            "short_name": _texts(short_names, function),
            "device": _texts(labels, kind.reshape(-1)),
            "function_class": _texts(FUNCTION_CLASSES, groups.function_class),
            "dur_ns": groups.time,
            "calls": groups.calls,
        }
    )
    group, by_counter = _counter_rows(len(groups), measured, book)
    table = _with_cycles(by_group[group].hstack(by_counter), cycles)
    run = trace.metadata.run
    notes = notes_of(
        device,
        host,
        book,
        wanted=frozenset(chain.from_iterable(wanted.values())),
        read=frozenset(counter for counter, _ in measured),
        of_recorder=frozenset() if run is None else frozenset(run.counters.recorded),
    )
    return Behaviour(table, (*notes, *devices.notes))


def _counter_rows(
    groups: int, measured: Sequence[tuple[str, CounterLevels]], book: CounterBook
) -> tuple[Ints, pl.DataFrame]:
    """One row per group and counter, and one per group without any; and the group of each row."""
    counters = [counter for counter, _ in measured]
    counter_levels = [level for _, level in measured]
    has_counter = np.zeros(groups, dtype=np.bool_)
    for reading in counter_levels:
        has_counter[reading.group] = True
    bare = np.flatnonzero(~has_counter)
    nothing = np.full(len(bare), np.nan)
    sizes = [*(len(reading.group) for reading in counter_levels), len(bare)]
    place = np.repeat([*range(len(counter_levels)), -1], sizes)
    none = np.full(len(bare), NONE, dtype=np.int8)
    interpolated = np.concatenate([*(reading.interpolated for reading in counter_levels), none])
    rows = pl.DataFrame(
        {
            "metric": _texts(counters, place),
            "unit": _texts([book.units[counter_name] for counter_name in counters], place),
            "mu": np.concatenate([*(reading.mean for reading in counter_levels), nothing]),
            "sigma": np.concatenate([*(reading.spread for reading in counter_levels), nothing]),
            "interpolated": pl.Series(INTERPOLATED, dtype=pl.Enum(INTERPOLATED))[interpolated],
        },
        nan_to_null=True,
    )
    return np.concatenate([*(reading.group for reading in counter_levels), bare]), rows


def _with_cycles(frame: pl.DataFrame, cycles: Cycles) -> pl.DataFrame:
    """Rows with the columns of their cycle, in order; cycles without work get a row."""
    table = cycles.table
    length = pl.col("cycle_dur_ns")
    share = pl.when(length > 0).then(100 * pl.col("dur_ns") / length).otherwise(0.0)
    # Process and machine of each cycle.
    code, pids = encode(table["pid"])
    split = [host_and_pid(pid or "") for pid in pids]
    host, process = (pl.Series([both[n] for both in split], dtype=pl.String)[code] for n in (0, 1))
    every = pl.DataFrame(
        {
            "row": np.arange(table.height),
            "cycle": table["cycle"],
            "cycle_type": table["type"],
            "pid": process,
            "host": host,
            "anchor": table["name"].cast(pl.String),
            "cycle_ts_ns": table["start_ns"],
            "cycle_dur_ns": table["end_ns"] - table["start_ns"],
        }
    )
    complete = every.join(frame, on="row", how="left")
    if complete["function"].null_count():
        complete = complete.with_columns(
            pl.col("function", "short_name").fill_null(NOTHING_RECORDED),
            pl.col("device").fill_null(HOST_DEVICE),
            pl.col("function_class").fill_null("cpu_other"),
            pl.col("dur_ns", "calls").fill_null(0),
            pl.col("interpolated").fill_null(INTERPOLATED[NONE]),
        )
    complete = complete.with_columns(share.alias("beta_pct"))
    keys = ("cycle", "host", "pid", "beta_pct", "function", "device", "metric")
    ordered = complete.sort(
        "cycle", "host", pl.col("pid").cast(pl.Int64, strict=False), *keys[2:],
        descending=[False, False, False, False, True, False, False, False],
    )  # fmt: skip
    return pl.DataFrame(
        {name: ordered[name].cast(dtype) for name, dtype in BEHAVIOUR.schema.items()}
    )


def _texts(texts: Sequence[str | None], place: NDArray[np.integer[Any]]) -> pl.Series:
    """A text per place; none for places below zero."""
    every = pl.Series([*texts, None], dtype=pl.String).cast(pl.Categorical)
    return every[np.where(place < 0, len(texts), place)]
