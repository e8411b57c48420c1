"""Collectives that ranks logged without a profiler: who entered which, who is missing or late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import polars as pl

from timesink.analyses.columns import memoize_per_trace
from timesink.model.trace import Trace

COMPLETED = "completed"
_KEYS = ("group", "sequence")
_EQUAL_SIZES = r"(?i)^_?(?:all_?reduce|broadcast|reduce)(?:_|$)"
"""Operations whose messages have one size on all ranks."""
NO_GROUP = "(no name)"


@memoize_per_trace
def logged_calls(trace: Trace) -> pl.DataFrame:
    """Calls of a log with the place of each rank (`who`), and how its group is called (`group`).

    A rank has its number in the run where the log says it, else its place in its group.
    """
    calls = trace.lazy("collective_calls").collect()
    texts = ("collective", "group_name", "group_description", "group_ranks", "process", "state")
    name = pl.coalesce("group_description", "group_name", pl.lit(NO_GROUP))
    named = calls.with_columns(pl.col(column).cast(pl.String) for column in texts)
    # Groups of one description are told apart by their names.
    several = pl.col("group_name").n_unique().over("group_description") > 1
    label = pl.when(several & pl.col("group_description").is_not_null())
    full = pl.format("{} {}", "group_description", "group_name")
    return named.with_columns(
        pl.coalesce("rank", "member").alias("who"),
        label.then(full).otherwise(name).alias("group"),
    )


def _members(calls: pl.DataFrame) -> pl.DataFrame:
    """The ranks of each group, as far as the log says: of a size alone they are counted from 0."""
    groups = calls.group_by("group", maintain_order=True).agg(
        pl.col("group_ranks").drop_nulls().first(),
        pl.col("group_size").max(),
        pl.col("who").drop_nulls().unique().sort().alias("seen"),
    )
    rows = []
    for group, ranks, size, seen in groups.iter_rows():
        expected = [int(rank) for rank in ranks.split()] if ranks else list(range(size or 0))
        rows.append((group, expected or seen, seen))
    types = pl.List(pl.Int64)
    schema: dict[str, Any] = {"group": pl.String, "expected": types, "seen": types}
    return pl.DataFrame(rows, schema=schema, orient="row")


@memoize_per_trace
def collective_log(trace: Trace) -> pl.DataFrame:
    """A row for each collective of each group: who entered it, how far it is, how long it took.

    Those that are not complete come first, then all by group and number.

    >>> import timesink
    >>> collective_log(timesink.open(timesink.sample())).height
    0
    """
    calls = logged_calls(trace).filter(~pl.col("is_p2p") & pl.col("sequence").is_not_null())
    by_time = pl.col("created_ts_ns")
    rows = (
        calls.group_by(*_KEYS)
        .agg(
            pl.col("collective").mode().sort().first(),
            operations=pl.col("collective").n_unique().cast(pl.Int64),
            bytes=pl.col("bytes").max(),
            sizes=pl.col("bytes").n_unique().cast(pl.Int64),
            present=pl.col("who").drop_nulls().unique().sort(),
            started=(pl.col("state") != "scheduled").sum().cast(pl.Int64),
            completed=(pl.col("state") == COMPLETED).sum().cast(pl.Int64),
            first_ts_ns=by_time.min(),
            spread_ns=by_time.max() - by_time.min(),
            last_rank=pl.col("who").get(by_time.arg_max().fill_null(0)),
            least_ns=pl.col("dur_ns").min(),
            dur_ns=pl.col("dur_ns").max(),
            least_rank=pl.col("who").get(pl.col("dur_ns").arg_min().fill_null(0)),
            bus_bytes_per_s=pl.col("bus_bytes_per_s").median(),
        )
        .join(_members(calls), on="group", how="left")
        .with_columns(is_whole=pl.col("completed") >= pl.col("expected").list.len())
        .sort("is_whole", *_KEYS)
    )
    missing = pl.col("expected").list.set_difference("present").list.sort()
    return rows.with_columns(
        missing.alias("missing"),
        members=pl.col("expected").list.len().cast(pl.Int64),
        entered=pl.col("present").list.len().cast(pl.Int64),
        last_rank=pl.when(pl.col("spread_ns") > 0).then("last_rank"),
    ).select(
        *("group", "sequence", "collective", "bytes", "members", "entered", "started"),
        *("completed", "missing", "present", "spread_ns", "last_rank", "least_ns", "dur_ns"),
        *("least_rank", "bus_bytes_per_s", "operations", "sizes", "first_ts_ns"),
    )


def log_by_rank(trace: Trace) -> pl.DataFrame:
    """A row for each rank and group: how far it came, and how late it enters collectives."""
    calls = logged_calls(trace)
    grouped = calls.filter(~pl.col("is_p2p") & pl.col("sequence").is_not_null())
    entered = pl.col("created_ts_ns")
    late = (entered - entered.min().over(*_KEYS)).alias("late_ns")
    waited = (pl.col("dur_ns") - pl.col("dur_ns").min().over(*_KEYS)).alias("waited_ns")
    several = pl.len().over(*_KEYS) > 1
    timed = grouped.with_columns(pl.when(several).then(late), pl.when(several).then(waited))
    return (
        timed.group_by("group", pl.col("who").alias("rank"))
        .agg(
            pl.col("process").drop_nulls().first(),
            calls=pl.len().cast(pl.Int64),
            last_sequence=pl.col("sequence").max(),
            last_collective=pl.col("collective").get(pl.col("sequence").arg_max()),
            last_state=pl.col("state").get(pl.col("sequence").arg_max()),
            late_ns=pl.col("late_ns").median(),
            waited_ns=pl.col("waited_ns").median(),
            dur_ns=pl.col("dur_ns").median(),
            bytes=pl.col("bytes").sum(),
            bus_bytes_per_s=pl.col("bus_bytes_per_s").median(),
        )
        .sort("group", "rank", nulls_last=True)
        .select(
            *("group", "rank", "calls", "last_sequence", "last_collective", "last_state"),
            *("late_ns", "waited_ns", "dur_ns", "bytes", "bus_bytes_per_s", "process"),
        )
    )


def log_by_size(trace: Trace) -> pl.DataFrame:
    """Time and bandwidth by operation, size of the message and size of the group."""
    calls = logged_calls(trace)
    return (
        calls.group_by("collective", "bytes", "group_size")
        .agg(
            calls=pl.len().cast(pl.Int64),
            groups=pl.col("group").n_unique().cast(pl.Int64),
            dur_ns=pl.col("dur_ns").median(),
            largest_ns=pl.col("dur_ns").max(),
            total_ns=pl.col("dur_ns").sum(),
            bus_bytes_per_s=pl.col("bus_bytes_per_s").median(),
            least_bus_bytes_per_s=pl.col("bus_bytes_per_s").min(),
            algorithm_bytes_per_s=pl.col("algorithm_bytes_per_s").median(),
        )
        .sort("total_ns", "calls", "collective", "bytes", descending=[True, True, False, True])
    )


# -- what went wrong -------------------------------------------------------------------------------


class StuckCollective(msgspec.Struct, frozen=True):
    """The first collective of a group that did not complete."""

    group: str
    sequence: int
    collective: str
    missing: tuple[int, ...]
    """Ranks of which there is a log, and that never entered it."""
    without_log: tuple[int, ...]
    """Ranks of the group of which there is no log."""
    waiting: tuple[int, ...]
    """Ranks that entered it, and have not left it."""
    not_started: tuple[int, ...]
    """Ranks that enqueued it, on whose device it has not begun."""
    place: str
    """Where the program called it, on a rank that waits."""


@memoize_per_trace
def stuck_collectives(trace: Trace) -> tuple[StuckCollective, ...]:
    """The first collective of each group that some ranks wait in, what others wait for first."""
    return tuple(sorted(_stuck(trace), key=lambda one: (not one.missing, one.group)))


def _stuck(trace: Trace) -> Iterator[StuckCollective]:
    calls = logged_calls(trace).filter(~pl.col("is_p2p") & pl.col("sequence").is_not_null())
    open_calls = calls.filter(pl.col("state") != COMPLETED)
    if open_calls.is_empty():
        return
    logged = set(calls["who"].drop_nulls().to_list())
    last_of = {
        (group, who): sequence
        for group, who, sequence in calls.group_by("group", "who")
        .agg(pl.col("sequence").max())
        .iter_rows()
    }
    for group, expected, _ in _members(calls).iter_rows():
        mine = open_calls.filter(pl.col("group") == group)
        if mine.is_empty():
            continue
        first = int(mine["sequence"].min())  # type: ignore[arg-type]
        here = mine.filter(pl.col("sequence") == first)
        # A rank whose last collective there is an earlier one has not come to it.
        missing = [
            rank for rank in expected if rank in logged and last_of.get((group, rank), -1) < first
        ]
        waiting = here["who"].drop_nulls().unique().sort().to_list()
        frames = here["call_stack"].cast(pl.String).drop_nulls().to_list()
        yield StuckCollective(
            group=group,
            sequence=first,
            collective=str(here["collective"].mode().sort()[0]),
            missing=tuple(missing),
            without_log=tuple(rank for rank in expected if rank not in logged),
            waiting=tuple(waiting),
            not_started=tuple(
                here.filter(pl.col("state") == "scheduled")["who"].drop_nulls().sort().to_list()
            ),
            place=_program_line(frames[0]) if frames else "",
        )


def _program_line(stack: str) -> str:
    """The innermost line that is not of PyTorch."""
    frames = stack.split(";")
    return next((frame for frame in frames if not frame.startswith("torch/")), frames[0])


class Disagreement(msgspec.Struct, frozen=True):
    """A collective that ranks call with different operations or sizes."""

    group: str
    sequence: int
    calls: tuple[tuple[str, tuple[int, ...]], ...]
    """What is called, and by which ranks; what most call comes first."""


@memoize_per_trace
def disagreements(trace: Trace) -> tuple[Disagreement, ...]:
    """The first disagreement of each group: all that follow it may be its consequence."""
    calls = logged_calls(trace).filter(~pl.col("is_p2p") & pl.col("sequence").is_not_null())
    has_one_size = pl.col("collective").str.contains(_EQUAL_SIZES)
    what = pl.when(has_one_size & pl.col("bytes").is_not_null()).then(
        pl.format("{} of {} bytes", "collective", "bytes")
    )
    named = calls.with_columns(what.otherwise("collective").alias("what"))
    odd = named.filter(pl.col("what").n_unique().over(*_KEYS) > 1)
    found = []
    for (group,), rows in odd.group_by("group", maintain_order=True):
        first = rows.filter(pl.col("sequence") == rows["sequence"].min())
        sides = (
            first.group_by("what")
            .agg(pl.col("who").drop_nulls().unique().sort())
            .with_columns(many=pl.col("who").list.len())
            .sort("many", "what", descending=[True, False])
        )
        parts = tuple((text, tuple(ranks)) for text, ranks, _ in sides.iter_rows())
        found.append(Disagreement(str(group), int(first["sequence"][0]), parts))
    return tuple(sorted(found, key=lambda one: one.group))
