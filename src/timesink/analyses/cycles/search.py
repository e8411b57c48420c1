"""The repeating unit of a run: methods asked in the order of trust, the first that holds taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from msgspec.structs import replace

from timesink.analyses.columns import encode, host_columns, memoize_per_trace
from timesink.analyses.cycles.annotations import (
    is_own,
    lone_annotation,
    named_mark,
    profiler_steps,
    recorded_processes,
    repeated_annotation,
    told_by_passes,
    with_device_work,
    work_in,
)
from timesink.analyses.cycles.kernel_period import kernel_period
from timesink.analyses.cycles.python_calls import layers, lone_pass, python_anchor
from timesink.analyses.cycles.spans import METHODS, Candidate, Cycles, host_spans, period_ns
from timesink.analyses.cycles.spans import SCHEMA as CYCLE_SCHEMA
from timesink.analyses.damage import without_order
from timesink.analyses.fitness import NOTHING, recording_fitness
from timesink.analyses.names import short_kernel_name
from timesink.analyses.thresholds import SearchLimits, SpansLimits
from timesink.errors import (
    NoCyclesError,
    NotFoundError,
    TimesinkError,
    UnreadableError,
    UsageError,
)
from timesink.model import units
from timesink.model.intervals import Floats, Ints
from timesink.model.schema import CYCLE_TYPES, host_and_pid
from timesink.model.trace import Trace, why_no_calls


def judge_steps(trace: Trace, reading: Cycles, pid: str | None) -> Cycles:
    """Weigh cycles against everything the recording holds, or one process of it does.

    The confidence is the product of likeness, coverage, how well the method knows what it found
    and, for n cycles, n / (n + 1): two are a coincidence more easily than thirty.
    """
    reading = with_device_work(trace, told_by_passes(trace, reading))
    cycles = reading.table
    events, coverage, elsewhere = work_in(trace, host_spans(reading), on_device=reading.on_device)
    amounts = events if events.any() else (cycles["end_ns"] - cycles["start_ns"]).to_numpy()
    count = int(np.bincount(encode(cycles["pid"])[0]).min()) if cycles.height else 0
    # How equal the amounts of work in the cycles of one process and type are: 1 less the mean
    # distance from the median, relative to it; over all cycles.
    usual = _medians_of_kind(cycles, amounts)
    off = np.abs(amounts - usual) / np.maximum(usual, 1)
    mean = pl.Series(np.minimum(off, 1), dtype=pl.Float64).mean()
    likeness = 1.0 - float(mean or 0.0)  # type: ignore[arg-type]
    judged = replace(
        reading,
        confidence=reading.confidence * (count / (count + 1)) * likeness * coverage,
        coverage=coverage,
        likeness=likeness,
    )
    # Processes with work but without cycles do not count against a reading, and who asks for one
    # process does not miss the others.
    missed = elsewhere if pid is None else ()
    return replace(judged, notes=(*reading.notes, *_notes(judged, missed)))


def recorded_cycles(trace: Trace) -> Cycles | None:
    """The cycles a behaviour table names, with their numbers; None for a timeline."""
    rows = trace.lazy("behaviour").select(
        "cycle",
        pl.col("cycle_type").alias("type"),
        *(pl.col(name).cast(pl.String).fill_null("") for name in ("pid", "anchor")),
        pl.col("cycle_ts_ns").alias("start_ns"),
        (pl.col("cycle_ts_ns") + pl.col("cycle_dur_ns")).alias("end_ns"),
    )
    cycles = rows.unique().sort("pid", "cycle", "start_ns").collect()
    if cycles.is_empty():
        return None
    table = cycles.rename({"anchor": "name"}).select(list(CYCLE_SCHEMA)).cast(CYCLE_SCHEMA)  # type: ignore[arg-type]
    anchor = table["name"].mode().sort()[0]
    return Cycles(table, "table", anchor, 1.0, "the behaviour table names its steps")


_MARKS, _LONGEST = 3, 60
"""How many marks are proposed, and how long a name may be that somebody is to write."""
_PROCESSES = 8


def no_such_process(trace: Trace, pid: str, processes: Sequence[str]) -> NotFoundError:
    """The recording has no such process; it says which it has."""
    named = [process or "one without a number" for process in processes]
    listing = ", ".join(named[:_PROCESSES]) + (", ..." if len(named) > _PROCESSES else "")
    return NotFoundError(
        f"{trace.metadata.source}: no process {pid}",
        f"the recording has {listing}" if named else "the recording has no process",
    )


def nothing_repeats(
    trace: Trace, methods: Sequence[str], considered: Sequence[Cycles], where: str
) -> NoCyclesError:
    """Nothing was seen to repeat well enough; it says what came nearest."""
    reasons = recording_fitness(trace).reasons
    has_no_timeline = trace.has_only_memory or trace.has_only_collectives
    if has_no_timeline or any(reason.code == NOTHING for reason in reasons):
        # Damage comes first: what was recorded may have been lost with it.
        first = reasons[0]
        return NoCyclesError(
            f"{trace.metadata.source}: {first.sentence.rstrip('.')}", otherwise=first.record
        )
    names = [
        short_kernel_name(candidate.anchor) if candidate.on_device else candidate.anchor
        for candidate in considered
    ]
    near = "; ".join(
        f"{name!r} occurs {units.count_noun(candidate.count, 'times')}"
        for name, candidate in zip(names, considered, strict=True)
    )
    by_method = f" by {methods[0]}" if len(methods) == 1 else ""
    message = (
        f"{trace.metadata.source}: no steps found{by_method}{where}: nothing repeats "
        f"{SpansLimits.min_repeats} times or more" + (f" well enough ({near})" if near else "")
    )
    cut = next((entry.rule for entry in trace.health if entry.code.startswith("truncated")), None)
    if cut is not None:
        return NoCyclesError(f"{message}, and {cut.title}", _marks(trace), cut.advice)
    damage = without_order(trace)
    if damage is not None:
        return NoCyclesError(f"{message}. {damage.sentence}", _marks(trace), damage.record)
    return NoCyclesError.nothing_repeats(message, _marks(trace))


def _marks(trace: Trace) -> list[str]:
    """The program's own annotations that last longest."""
    annotations = host_columns(trace).lazy().filter(pl.col("kind") == "annotation")
    longest = (
        annotations.group_by(pl.col("name").cast(pl.String))
        .agg(pl.col("dur_ns").sum())
        .sort("dur_ns", "name", descending=[True, False])
        .collect()["name"]
    )
    return [name for name in longest if is_own(name) and len(name) <= _LONGEST][:_MARKS]


_FINDERS: Mapping[str, Callable[[Trace], Cycles | None]] = {
    "step": profiler_steps,
    "marker": repeated_annotation,
    "python": python_anchor,
    "layer": layers,
    "kernels": kernel_period,
}
_ASKED_IN_TURN = ("step", "marker", "python", "kernels")
"""Layers are parts of a unit: they are looked for only when asked for."""

_OUTLIER, _MOST_PIDS = 5, 3


@memoize_per_trace
def find_cycles(
    trace: Trace, *, marker: str | None = None, by: str | None = None, pid: str | None = None
) -> Cycles:
    """Every cycle of a run; raises `NotFoundError` where nothing is seen to repeat.

    With `marker` the named annotation, call or kernel marks cycles; with `by` only that method is
    asked (see `METHODS`); with `pid` only that process is looked at.
    """
    if by is not None and by not in METHODS:
        raise UsageError(
            f"no method to find steps is called {by!r}", f"choose from {', '.join(METHODS)}"
        )
    if not trace.has_timeline:
        cycles = recorded_cycles(trace)
        if cycles is None:
            raise UnreadableError.no_timeline(trace.metadata.source)
        if pid is None:
            return cycles
        chosen = _of_pid(cycles.table, pid)
        if chosen.is_empty():
            raise no_such_process(trace, pid, cycles.table["pid"].unique().sort().to_list())
        return replace(cycles, table=chosen)
    # Raise where there is nothing that could repeat, or not in that process.
    processes = recorded_processes(trace)
    if not processes and trace.counters.height:
        raise UnreadableError.only_counters(trace.metadata.source, why_no_calls(trace))
    if pid is not None and not any(_is_called(process, pid) for process in processes):
        raise no_such_process(trace, pid, processes)
    if marker is not None:
        marked = _of_process(named_mark(trace, marker), pid)
        if marked is None:
            raise NoCyclesError.no_such_mark(
                f"{trace.metadata.source}: no event is called {marker!r}"
                + (f" in process {pid}" if pid else ""),
                _marks(trace),
            )
        return judge_steps(trace, marked, pid)
    return _search_cycles(trace, (by,) if by else _ASKED_IN_TURN, pid)


def _search_cycles(trace: Trace, methods: tuple[str, ...], pid: str | None) -> Cycles:
    """The first reading that holds; a lone pass only where it is marked as such."""
    considered: list[Cycles] = []
    for reading in _readings(trace, methods, pid):
        judged = judge_steps(trace, reading, pid)
        # What was asked for only has to repeat.
        sure = len(methods) == 1 or judged.confidence >= SearchLimits.min
        holds = judged.count >= SpansLimits.min_repeats and sure
        if judged.count > 1 if judged.method == "step" else holds:
            return _beside(judged, considered)
        considered.append(judged)
    for judged in considered:
        if judged.method == "step":
            return _beside(judged, [other for other in considered if other is not judged])
    lone = _of_process(lone_annotation(trace), pid) if "marker" in methods else None
    if lone is not None:
        return _beside(judge_steps(trace, lone, pid), considered)
    where = f" in process {pid}" if pid else ""
    raise nothing_repeats(trace, methods, considered, where)


def _readings(trace: Trace, methods: tuple[str, ...], pid: str | None) -> Iterator[Cycles]:
    """Each method in turn; where one pass holds the recording, what repeats are its parts."""
    for method in methods:
        if (
            method == "kernels"
            and len(methods) > 1
            and (lone_annotation(trace) or lone_pass(trace))
        ):
            return
        reading = _of_process(_FINDERS[method](trace), pid)
        if reading is None:
            continue
        yield reading
        if method == "step":
            # Steps were marked: only other marks may say more than they do.
            yield from _readings(trace, tuple(m for m in methods if m == "marker"), pid)
            return


def _of_process(cycles: Cycles | None, pid: str | None) -> Cycles | None:
    if cycles is None or pid is None:
        return cycles
    table = _of_pid(cycles.table, pid)
    if table.is_empty():
        return None
    # What repeats inside was counted in all processes.
    return replace(
        cycles,
        table=table,
        alternatives=cycles.alternatives if table.height == cycles.count else (),
    )


def _of_pid(rows: pl.DataFrame, pid: str) -> pl.DataFrame:
    """Rows of a process, named as recorded or by its number alone."""
    fitting = [process for process in rows["pid"].unique() if _is_called(process, pid)]
    return rows.filter(pl.col("pid").is_in(fitting))


def _is_called(process: str, pid: str) -> bool:
    return pid in {process, host_and_pid(process)[1]}


def _beside(chosen: Cycles, considered: list[Cycles]) -> Cycles:
    """The chosen cycles with what else was considered, and what repeats inside of them."""
    candidates = (
        Candidate(
            other.method,
            other.anchor,
            other.count,
            period_ns(other.table),
            f"{other.reason}; confidence {other.confidence:.2f} only",
        )
        for other in considered
    )
    return replace(chosen, alternatives=(*candidates, *chosen.alternatives))


def _notes(judged: Cycles, elsewhere: Sequence[str]) -> Iterator[str]:
    if judged.count == 1:
        yield "a single step: the noise between steps is not known"
    if judged.coverage < 0.9:
        share = 100 * (1 - judged.coverage)
        yield f"{share:.0f} % of the recorded work lies outside of all steps"
    if elsewhere:
        listing = ", ".join(elsewhere[:_MOST_PIDS]) + (
            ", ..." if len(elsewhere) > _MOST_PIDS else ""
        )
        yield f"no steps in process {listing}, which did other work"
    # Far longer than others of their process and type: a start, a pause, a fault.
    length = (judged.table["end_ns"] - judged.table["start_ns"]).to_numpy()
    slow = int((length > _OUTLIER * _medians_of_kind(judged.table, length)).sum())
    if slow:
        yield f"{units.count_noun(slow, 'steps')} took over {_OUTLIER} times the median"
    if judged.likeness < 0.7:
        yield "the steps differ in their amount of work"


def _medians_of_kind(cycles: pl.DataFrame, values: Ints) -> Floats:
    """For each cycle the median value of those of its process and type."""
    process, kind = encode(cycles["pid"])[0], cycles["type"].to_physical().to_numpy()
    joint, medians = process * len(CYCLE_TYPES) + kind, np.zeros(len(values))
    for group in np.unique(joint).tolist():
        mine = joint == group
        medians[mine] = np.median(values[mine])
    return medians


@memoize_per_trace
def unmarked_repetitions(trace: Trace) -> Cycles | None:
    """What repeats in a recording without marked steps; None where steps are, or nothing does.

    Analyses take all of such a recording as one step, comparisons take what repeats.  Where most
    of it ends before the work of the one before it does, nothing is known to take that long.
    """
    if trace.lazy("steps").head(1).collect().height:
        return None
    try:
        cycles = find_cycles(trace)
    except TimesinkError:
        return None
    return cycles if cycles.median_ns > 0 else None


SCHEMA = {
    "pid": pl.String(),
    "type": pl.Enum(CYCLE_TYPES),
    "cycles": pl.Int64(),
    "period_ns": pl.Int64(),
    "length_median_ns": pl.Int64(),
    "length_mean_ns": pl.Int64(),
    "length_iqr_ns": pl.Int64(),
    "length_cv": pl.Float64(),
    "shortest_ns": pl.Int64(),
    "longest_ns": pl.Int64(),
}
"""One row per process and type.  The period is the median time from a start to the next start of
that type; null for a single cycle.  `length_cv` is the standard deviation over the mean."""


def cycle_summary(cycles: Cycles) -> pl.DataFrame:
    """How many cycles there are, how long they are and how much that varies."""
    length = pl.col("end_ns") - pl.col("start_ns")
    rows = cycles.table.sort("pid", "start_ns").with_columns(
        length.alias("length"), pl.col("start_ns").diff().over("pid", "type").alias("apart")
    )
    spread = pl.col("length").quantile(0.75, "linear") - pl.col("length").quantile(0.25, "linear")
    return (
        rows.group_by("pid", "type")
        .agg(
            pl.len().alias("cycles"),
            pl.col("apart").median().round().alias("period_ns"),
            pl.col("length").median().round().alias("length_median_ns"),
            pl.col("length").mean().round().alias("length_mean_ns"),
            spread.round().alias("length_iqr_ns"),
            (pl.col("length").std() / pl.col("length").mean()).alias("length_cv"),
            pl.col("length").min().alias("shortest_ns"),
            pl.col("length").max().alias("longest_ns"),
        )
        .sort("pid", "type")
        .select(list(SCHEMA))
        .cast(SCHEMA)  # type: ignore[arg-type]
    )
