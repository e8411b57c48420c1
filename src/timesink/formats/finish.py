"""What readers share, and their last step: schema, derived tables, checks, one frozen trace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from operator import or_

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.model import units
from timesink.model.health import MAX_TIMES_FULL, HealthEntry, merge_entries
from timesink.model.intervals import IntervalSet, partially_overlapping, union_starts
from timesink.model.launches import (
    LAUNCH_KINDS,
    has_external_id_only,
    match_launches,
    with_launches_by_external_id,
)
from timesink.model.schema import BUSY_KINDS, EMPTY_TABLES, STEPS, TABLES, TraceTable
from timesink.model.trace import SNAPSHOT, Metadata, Trace
from timesink.model.vendors import is_waiting_work
from timesink.runtime.native import array_view, is_native, native_module

# Health checks on the finished tables: what looks wrong in the trace as a whole.
#
# One function per code of :mod:`timesink.model.health`.  All of them run on every trace, so they
# work on whole columns and fetch text only for the one example they show.

NESTED_KINDS = ("operator", "annotation", "python_function", "module", *LAUNCH_KINDS)
"""Host kinds that are calls, and so lie inside one another on a thread."""

CLOCK_DISAGREEMENT_NS = 1_000
"""Device work may seem to start this much before its launch: the clocks are matched, not one."""
CLOCK_FAULT_NS = 3_600 * 10**9
WINDOW_SLACK_NS = 60 * 10**9
CLOCK_FAULT_SPANS = 100
MIN_TO_JUDGE_CLOCK = 10
LONGEST_NAME = 60
LARGEST_CODE_TABLE = 1 << 24


def find_oddities(tables: Mapping[str, pl.DataFrame], metadata: Metadata) -> list[HealthEntry]:
    """What looks wrong in a trace whose tables are complete and conform to the schema."""
    host, device = tables["host"], tables["device"]
    # Counters of kernels and behaviour have no timeline, and no rank; nothing of it is missing.
    untimed = (
        *("kernel_calls", "behaviour", "memory_blocks", "memory_segments"),
        "collective_calls",
    )
    is_snapshot = metadata.format == SNAPSHOT
    needs_timeline = not is_snapshot and all(tables[name].is_empty() for name in untimed)
    if host.is_empty() and device.is_empty() and not needs_timeline:
        return []
    if host.is_empty() and device.is_empty() and not tables["counters"].is_empty():
        return [HealthEntry("counters_only", 1)]
    # Runtime and driver calls that carry a correlation; zero and below mean there is none.
    launches = _some(
        host,
        ("kind", "name", "pid", "ts_ns", "dur_ns", "correlation"),
        of_kind(host["kind"], LAUNCH_KINDS) & (host["correlation"] > 0),
    )
    # Device work with the start of its launch, null where the trace has no launch for it.
    # The earliest of several calls: a runtime call encloses the driver call it makes.
    first_launch = launches.group_by("correlation").agg(launch_ts_ns=pl.col("ts_ns").min())
    busy = _some(
        device,
        (
            "kind",
            "name",
            "pid",
            "device",
            "stream",
            "ts_ns",
            "dur_ns",
            "correlation",
            "external_id",
        ),
        of_kind(device["kind"], BUSY_KINDS),
    ).join(first_launch, on="correlation", how="left", maintain_order="left")
    if launches["pid"].n_unique() > 1:
        # Several processes repeat ids: then only the rule that analyses follow tells.
        launch_rows = match_launches(launches, busy, tables["tracks"].lazy())
        places = pl.Series(launch_rows, dtype=pl.Int64).replace(-1, None)
        busy = busy.with_columns(
            launch_ts_ns=launches["ts_ns"].gather(places),
            launch_pid=launches["pid"].gather(places),
        )
    if has_external_id_only(busy).any():
        busy = with_launches_by_external_id(busy, host)
    entries = [
        _overlapping_slices(busy),
        _overlapping_host(host),
        _unlinked_kernels(busy),
        _duplicate_correlation(launches),
        _unclear_process(busy, launches),
        _clock_fault(host, device),
        _window_end_fault(host, device),
        _device_before_launch(busy),
        _impossible_memory(tables["memory"], metadata),
    ]
    if needs_timeline:
        entries += [
            HealthEntry("rank_assumed", int(metadata.distributed.rank is None)),
            HealthEntry("no_device_activity", int(busy.is_empty())),
            HealthEntry("no_host_activity", int(not of_kind(host["kind"], ("operator",)).any())),
        ]
    return [entry for entry in entries if entry.count]


def of_kind(kinds: pl.Series, wanted: tuple[str, ...]) -> pl.Series:
    """Which rows are of one of these kinds; not known of those without one."""
    return reduce(or_, (kinds == kind for kind in wanted))


def _some(frame: pl.DataFrame, columns: Sequence[str], rows: pl.Series) -> pl.DataFrame:
    """These columns of some rows; a query takes longer than that for a small trace."""
    return pl.DataFrame([frame[column].filter(rows) for column in columns])


def _name(frame: pl.DataFrame, row: int) -> str:
    name = str(frame["name"][row])
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."


def _on_one_line(frame: pl.DataFrame, lane_columns: Sequence[str]) -> IntervalSet:
    """The rows as intervals, lane after lane on one axis: a single pass then serves all lanes."""
    starts, durations = frame["ts_ns"].to_numpy(), frame["dur_ns"].to_numpy()
    lane, lanes = _lanes(frame, lane_columns)
    first, last = int(starts.min()), int(starts.max()) + int(durations.max())
    if (last - first + 1) * lanes >= 2**63:
        # A clock fault makes the axis too long; the order of the times is all that matters.
        # Starts and durations counted in distinct times instead of nanoseconds.
        # A corrupt timestamp may overflow; such an event then has no length.
        ends = np.maximum(starts, starts + durations)
        ranks = np.unique(np.concatenate([starts, ends]), return_inverse=True)[1]
        starts, durations = ranks[: len(starts)], ranks[len(starts) :] - ranks[: len(starts)]
        first, last = 0, 2 * len(starts)
    line = lane * (last - first + 1) + (starts - first)
    return np.stack([line, line + durations]).T


def _lanes(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[NDArray[np.int64], int]:
    """A number for each row, the same where all the columns are, and a bound on the numbers."""
    lane, lanes = np.zeros(frame.height, dtype=np.int64), 1
    for column in columns:
        codes, distinct = _dense_codes(frame[column])
        if distinct > 1:
            lane, lanes = lane * distinct + codes, lanes * distinct
    return lane, lanes


def _dense_codes(column: pl.Series) -> tuple[NDArray[np.int64], int]:
    """The values numbered from 0 without holes, null being a value, and how many there are."""
    physical = column.to_physical()
    lowest, highest = physical.min(), physical.max()
    if not isinstance(lowest, int) or not isinstance(highest, int):
        return np.zeros(len(column), dtype=np.int64), 1
    if lowest == highest and not column.null_count():
        return np.zeros(len(column), dtype=np.int64), 1
    wide = physical.cast(pl.Int64)
    codes = (wide.fill_null(highest + 1) if wide.null_count() else wide).to_numpy() - lowest
    if highest - lowest >= LARGEST_CODE_TABLE:
        values, numbers = np.unique(codes, return_inverse=True)
        return numbers, len(values)
    # As numpy.unique numbers them, by a table instead of a sort: far faster.
    number_of = np.zeros(highest - lowest + 2, dtype=np.int64)
    number_of[codes] = 1
    values = np.flatnonzero(number_of)
    number_of[values] = np.arange(len(values))
    return number_of.take(codes), len(values)


def _entry(code: str, rows: NDArray[np.intp], example: Callable[[int], str]) -> HealthEntry:
    """So many rows are odd in one way; the first of them is the example."""
    return HealthEntry(code, len(rows), example(int(rows[0])) if len(rows) else "")


def _overlapping_slices(busy: pl.DataFrame) -> HealthEntry:
    """Device work that starts before an earlier one on its stream has ended."""
    timed = busy["dur_ns"] > 0
    is_usable = timed & busy["stream"].is_not_null() if busy["stream"].null_count() else timed
    rows = _some(busy, ("name", "pid", "device", "stream", "ts_ns", "dur_ns"), is_usable)
    if rows.is_empty():
        return HealthEntry("overlapping_slices", 0)
    line = _on_one_line(rows, ["pid", "device", "stream"])
    order = np.argsort(line[:, 0])
    starts, ends = line[order, 0], line[order, 1]

    def example(early: int) -> str:
        later, earlier = int(order[early]), int(order[np.argmax(ends[:early])])
        return f"{_name(rows, earlier)} and {_name(rows, later)}, stream {rows['stream'][later]}"

    early = np.flatnonzero(~union_starts(starts, ends))
    return _entry("overlapping_slices", early, example)


def _overlapping_host(host: pl.DataFrame) -> HealthEntry:
    """Host calls during which another begins that ends later, so that neither holds the other."""
    calls = of_kind(host["kind"], NESTED_KINDS) & (host["dur_ns"] > 0)
    rows = _some(host, ("pid", "tid", "ts_ns", "dur_ns"), calls)
    if rows.is_empty():
        return HealthEntry("overlapping_host", 0)

    def example(first: int) -> str:
        line = _on_one_line(rows, ["pid", "tid"])
        start, end = line[first]
        inside, beyond = (line[:, 0] > start) & (line[:, 0] < end), line[:, 1] > end
        other = int(np.argmax(inside & beyond))
        places = calls.arg_true()
        names = f"{_name(host, places[first])} and {_name(host, places[other])}"
        return f"{names}, thread {rows['tid'][first]}"

    return _entry("overlapping_host", np.flatnonzero(_crossed(rows)), example)


def _crossed(calls: pl.DataFrame) -> NDArray[np.bool_]:
    """Which calls have another one of their thread begin inside them and end after them."""
    if not is_native():
        return partially_overlapping(_on_one_line(calls, ["pid", "tid"]))
    lane, _ = _lanes(calls, ["pid", "tid"])
    starts, durations = calls["ts_ns"].to_numpy(), calls["dur_ns"].to_numpy()
    columns = [np.ascontiguousarray(column) for column in (lane, starts, starts + durations)]
    flags = np.empty(len(lane), np.bool_)
    views = [array_view(column, np.int64) for column in columns]
    native_module().crossed(*views, array_view(flags, np.bool_))
    return flags


def _unlinked_kernels(busy: pl.DataFrame) -> HealthEntry:
    """Device work without its launch, as many as tables of launches count."""

    def example(row: int) -> str:
        correlation = busy["correlation"][row]
        label = "no correlation" if correlation is None else f"correlation {correlation}"
        return f"{_name(busy, row)}, {label}"

    launches = busy["launch_ts_ns"]
    unlinked = launches.is_null().to_numpy() if launches.null_count() else ()
    return _entry("unlinked_kernels", np.flatnonzero(unlinked), example)


def _duplicate_correlation(launches: pl.DataFrame) -> HealthEntry:
    """Calls of one kind and process that share a correlation.

    A runtime call and the driver call inside it share theirs by right.
    """
    keys = ["kind", "pid", "correlation"]
    if launches["correlation"].n_unique() == launches.height:
        return HealthEntry("duplicate_correlation", 0)
    shared = launches.group_by(keys).len().filter(pl.col("len") > 1)
    if shared.is_empty():
        return HealthEntry("duplicate_correlation", 0)
    # Groups come in no fixed order; the example must not change from run to run.
    lowest = shared.filter(pl.col("correlation") == pl.col("correlation").min()).sort(keys)
    first = launches.join(lowest.head(1), on=keys, how="semi", nulls_equal=True)
    example = f"{first.height} calls with correlation {first['correlation'][0]}: {_name(first, 0)}"
    return HealthEntry("duplicate_correlation", int(shared["len"].sum()), example)


def _unclear_process(busy: pl.DataFrame, launches: pl.DataFrame) -> HealthEntry:
    """Device work that does not say its process, where several use its number at one time."""
    if launches["pid"].n_unique() <= 1:
        return HealthEntry("unclear_process", 0)
    spans = launches.group_by("pid").agg(first=pl.col("ts_ns").min(), last=pl.col("ts_ns").max())
    spans = spans.sort("first")
    if not (spans["first"].shift(-1) <= spans["last"].cum_max()).any():
        return HealthEntry("unclear_process", 0)
    several = launches.group_by("kind", "correlation").agg(pl.col("pid").n_unique())
    ids = several.filter(pl.col("pid") > 1)["correlation"].unique().implode()
    same_process = (
        pl.col("pid").cast(pl.String) == pl.col("launch_pid").cast(pl.String)
    ).fill_null(value=False)
    unclear = busy.select((pl.col("correlation").is_in(ids) & ~same_process).fill_null(value=False))
    return _entry(
        "unclear_process",
        unclear.to_series().arg_true().to_numpy(),
        lambda row: f"{_name(busy, row)}, correlation {busy['correlation'][row]}",
    )


def _clock_fault(host: pl.DataFrame, device: pl.DataFrame) -> HealthEntry:
    """Events far outside the span of nearly all others.

    Marks without a length are left out: the one that ends the recording has a code of its own.
    """
    together = pl.concat([host["ts_ns"], device["ts_ns"]]).to_numpy()
    if not len(together) or int(together.max()) - int(together.min()) <= CLOCK_FAULT_NS:
        return HealthEntry("clock_fault", 0)
    timed = host.select("kind", "name", "ts_ns").filter(pl.col("kind") != "instant")
    events = pl.concat([timed.drop("kind"), device.select("name", "ts_ns")])
    times = events["ts_ns"].to_numpy()
    if len(times) < MIN_TO_JUDGE_CLOCK or int(times.max()) - int(times.min()) <= CLOCK_FAULT_NS:
        return HealthEntry("clock_fault", 0)
    # Bounds around all but the outermost percent of the times, with a wide margin; at least one on
    # either side may be wrong, however few there are.
    tail = max(1, len(times) // 100)
    ordered = np.partition(times, [tail, -1 - tail])
    low, high = int(ordered[tail]), int(ordered[-1 - tail])
    margin = max(CLOCK_FAULT_NS, CLOCK_FAULT_SPANS * (high - low))
    limits = np.iinfo(np.int64)
    too_early = times < max(low - margin, limits.min)
    astray = np.flatnonzero(too_early | (times > min(high + margin, limits.max)))
    return _entry("clock_fault", astray, lambda row: f"{_name(events, row)} at {times[row]} ns")


def _window_end_fault(host: pl.DataFrame, device: pl.DataFrame) -> HealthEntry:
    """The mark that ends the recording, further behind the last event than the trace is long."""
    is_mark = host["kind"] == "instant"
    if not is_mark.any():
        return HealthEntry("window_end_fault", 0)
    instants = _some(host, ("name", "ts_ns"), is_mark)
    marks = instants["ts_ns"].filter(instants["name"].cast(pl.String) == "Record Window End")
    if marks.is_empty():
        return HealthEntry("window_end_fault", 0)
    work = [
        times.to_numpy()
        for times in (host["ts_ns"].filter(~is_mark), device["ts_ns"])
        if len(times)
    ]
    if not work:
        return HealthEntry("window_end_fault", 0)
    first, last = min(int(times.min()) for times in work), max(int(times.max()) for times in work)
    late = marks.filter(marks - last > max(last - first, WINDOW_SLACK_NS))
    return HealthEntry("window_end_fault", len(late), f"Record Window End at {marks[0]} ns")


def _device_before_launch(busy: pl.DataFrame) -> HealthEntry:
    """Device work that starts before the host asked for it."""
    lead = busy["launch_ts_ns"] - busy["ts_ns"]
    # Null is NaN as a float, which is not early.
    return _entry(
        "device_before_launch",
        np.flatnonzero(lead.to_numpy() > CLOCK_DISAGREEMENT_NS),
        lambda row: f"{_name(busy, row)} starts {lead[row]} ns before its launch",
    )


def _impossible_memory(memory: pl.DataFrame, metadata: Metadata) -> HealthEntry:
    """Records of many times the memory that their device has."""
    listed = {device.id: device.memory_bytes for device in metadata.devices if device.memory_bytes}
    if memory.is_empty() or not listed:
        return HealthEntry("impossible_memory", 0)
    rows = memory.filter((pl.col("device_type") > 0) & pl.col("device").is_in([*listed]))
    if rows.is_empty():
        return HealthEntry("impossible_memory", 0)
    most = rows.select(
        pl.col("device").replace_strict(listed, return_dtype=pl.Float64),
        held=pl.max_horizontal("total_allocated_bytes", "total_reserved_bytes").cast(pl.Float64),
    )
    beyond = (most["held"] > MAX_TIMES_FULL * most["device"]).fill_null(value=False)

    def example(row: int) -> str:
        used_bytes, has = most["held"][row], most["device"][row]
        return f"{units.brief_bytes(used_bytes)} on a device of {units.brief_bytes(has)}"

    return _entry("impossible_memory", beyond.arg_true().to_numpy(), example)


def close_spans(
    frame: pl.DataFrame, origin: str, *, open_code: str = "missing_duration"
) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """Replace `start` and `end` by `ts_ns` and `dur_ns`, and a missing name by an empty one.

    Samples have no column `end`.  Rows without a start are left out.  `origin` names the rows in
    the examples; `open_code` is the health code of rows without an end.
    """
    if "end" not in frame.columns:
        placed = frame.drop_nulls("start").rename({"start": "ts_ns"})
        return placed, [HealthEntry("missing_ts", frame.height - placed.height, origin)]
    start, end = pl.col("start"), pl.col("end")
    conditions = {
        "missing_ts": start.is_null(),
        open_code: start.is_not_null() & end.is_null(),
        "negative_duration": end < start,
        "missing_name": pl.col("name").is_null(),
    }
    health = []
    for code, condition in conditions.items():
        rows = frame.filter(condition)
        for first in rows.select("name", "start", "end").head(1).iter_rows(named=True):
            example = ", ".join(
                f"{key} {value}" for key, value in first.items() if value is not None
            )
            health.append(HealthEntry(code, rows.height, f"{origin}: {example}"))
    closed = frame.filter(start.is_not_null()).with_columns(
        ts_ns=start,
        dur_ns=(end - start).clip(lower_bound=0).fill_null(0),
        name=pl.col("name").fill_null(""),
    )
    return closed.drop("start", "end"), health


def lane(device: pl.Expr, stream: pl.Expr) -> pl.Expr:
    """`tid` of a device's stream, distinct from any thread's; of the device without a stream."""
    on_stream = pl.format("GPU {} stream {}", device, stream)
    return pl.coalesce(on_stream, pl.format("GPU {}", device))


def list_lanes(device: pl.DataFrame) -> pl.DataFrame:
    """Rows of `tracks` for the lanes of the `device` table."""
    lanes = device.select("pid", "tid", "device").unique().sort("pid", "device", "tid")
    return lanes.select("pid", "tid", name="tid", labels=pl.format("GPU {}", "device"))


def address_of(recorded: str | int, base: int = 0) -> int | None:
    """An address as a number; None where it is none."""
    try:
        number = int(recorded, base) if isinstance(recorded, str) else recorded
    except ValueError:
        return None
    return number if 0 <= number < 2**64 else None


_EARLIEST_NS, _LATEST_NS = -(2**60), 2**62
"""Times since 1970 that a clock may show, wrong by decades: 1933 to 2116."""
_LONGEST_NS = 2**53
"""A hundred days: hundreds of such events, and what lies between them, still fit 64 bits."""
STEP_PATTERN = r"^ProfilerStep#(\d+)"


def finish_trace(
    metadata: Metadata, tables: Mapping[str, pl.DataFrame], health: Iterable[HealthEntry] = ()
) -> Trace:
    """Bring the tables to the schema, find steps and oddities, and freeze the result.

    Readers may leave out tables and columns they know nothing of; these become empty or null.
    """
    complete = {name: conform(frame, TABLES[name]) for name, frame in tables.items()}
    complete |= {name: frame for name, frame in EMPTY_TABLES.items() if name not in complete}
    odd_values = []
    for name, before in tables.items():
        after = complete[name]
        # Values that were lost on the way to the schema.
        schema = after.schema
        lost = sum(
            after[column].null_count() - before[column].null_count()
            for column, dtype in before.schema.items()
            if before.height and column in schema and schema[column] != dtype
        )
        odd_values.append(HealthEntry("bad_value", lost, f"a number in {name}"))
    for name, frame in complete.items():
        complete[name], impossible = _without_impossible_times(frame, name)
        odd_values.append(impossible)
    complete["device"] = _with_waits_apart(complete["device"])
    if complete["steps"].is_empty() and not complete["host"].is_empty():
        complete["steps"] = find_steps(complete["host"])
    oddities = find_oddities(complete, metadata)
    frames = {name: frame.lazy() for name, frame in complete.items()}
    return Trace(metadata, merge_entries([*health, *odd_values, *oddities]), frames)


def _with_waits_apart(device: pl.DataFrame) -> pl.DataFrame:
    """Waits that a profiler lists among kernels are none; what has a grid runs, whatever its name.

    Nothing is computed while a stream waits for an event.
    """
    if not device["grid_x"].null_count():
        return device
    maybe = (device["kind"] == "kernel") & device["grid_x"].is_null()
    names = device["name"].filter(maybe).unique().cast(pl.String)
    waits = [name for name in names if name is not None and is_waiting_work(name)]
    if not waits:
        return device
    waiting = maybe & device["name"].cast(pl.String).is_in(waits)
    kind = pl.when(waiting).then(pl.lit("sync", device["kind"].dtype)).otherwise("kind")
    return device.with_columns(kind=kind)


def _without_impossible_times(frame: pl.DataFrame, name: str) -> tuple[pl.DataFrame, HealthEntry]:
    """The rows that a clock can have shown; lengths that none can have are none.

    What stays can be added and subtracted in 64 bits.
    """
    bounds = {"ts_ns": (_EARLIEST_NS, _LATEST_NS), "dur_ns": (0, _LONGEST_NS)}
    if "ts_ns" not in frame.columns or all(
        _lie_within(frame[column], *bounds[column]) for column in bounds if column in frame.columns
    ):
        return frame, HealthEntry("impossible_time", 0)
    possible = pl.col("ts_ns").is_between(_EARLIEST_NS, _LATEST_NS) | pl.col("ts_ns").is_null()
    endless = pl.col("dur_ns") > _LONGEST_NS if "dur_ns" in frame.columns else pl.lit(value=False)
    odd = frame.lazy().filter(~possible | endless).select(pl.col("ts_ns"), pl.len().alias("n"))
    first = odd.head(1).collect()
    if first.is_empty():
        return frame, HealthEntry("impossible_time", 0)
    ts_ns, count = first.row(0)
    frame = frame.filter(possible)
    if "dur_ns" in frame.columns:
        frame = frame.with_columns(dur_ns=pl.when(~endless).then("dur_ns").otherwise(0))
    return frame, HealthEntry("impossible_time", count, f"a row of {name} at {ts_ns} ns")


def _lie_within(values: pl.Series, lowest: int, highest: int) -> bool:
    """Whether all that is known is between the two."""
    least, most = values.min(), values.max()
    if not isinstance(least, int) or not isinstance(most, int):
        return True
    return lowest <= least and most <= highest


def conform(frame: pl.DataFrame, table: TraceTable) -> pl.DataFrame:
    """The frame with exactly the columns of the table, in order; absent ones become null.

    A value the column cannot hold becomes null as well.
    """
    if frame.is_empty():
        return table.empty()
    if dict(frame.schema) == table.schema and frame.columns == list(table.schema):
        return frame
    columns = frame.to_dict()
    # Column by column: a small trace has many, and asking for all at once takes longer.
    return pl.DataFrame(
        [
            columns[name].cast(dtype, strict=False)
            if name in columns
            else _absent(name, dtype).new_from_index(0, frame.height)
            for name, dtype in table.schema.items()
        ]
    )


@cache
def _absent(name: str, dtype: pl.DataType) -> pl.Series:
    """One row of nothing."""
    return pl.Series(name, [None], dtype=dtype)


def find_steps(host: pl.DataFrame) -> pl.DataFrame:
    """Steps the profiler marked on the host; device-side copies of the marks are not steps."""
    names = host["name"].unique().cast(pl.String)
    step_names = [name for name in names if name is not None and re.match(STEP_PATTERN, name)]
    if not step_names:
        return STEPS.empty()
    named = host["name"].is_in(pl.Series(step_names, dtype=pl.Categorical).implode())
    is_mark = of_kind(host["kind"], ("operator", "annotation")) & named
    marks = host.filter(is_mark).sort("ts_ns", "index")
    return conform(
        marks.with_columns(
            step=pl.col("name")
            .cast(pl.String)
            .str.extract(STEP_PATTERN)
            .cast(pl.Int64, strict=False)
        ),
        STEPS,
    )
