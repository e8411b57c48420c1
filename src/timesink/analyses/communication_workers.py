"""Workers side by side: who waits for whom, and what each spends on which collective.

Only lengths are compared between workers, so their clocks need not agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import (
    dense_codes,
    device_kinds,
    memoize_per_trace,
    stack_tables,
    union_length_by_group,
)
from timesink.analyses.communication_calls import (
    ONE_SIDED,
    UNEVEN,
    bus_share,
    communication_ranges,
    communication_records,
    moving_ranges,
    per_second,
    sum_if_known,
    volume,
)
from timesink.analyses.steps import bounds_of, find_steps, role_ranges
from timesink.formats.small_files import DamagedError, decode_small_json
from timesink.model import intervals
from timesink.model.arrays import Groups, combine_codes
from timesink.model.intervals import Flags, Ints
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace

# Which collective calls of different workers are the same call.
#
# Process group and sequence number tell, together with what is done to how many bytes.  Where they
# were not recorded, the first call of a name is the first one on every worker, and so on; if some
# workers lack calls, counting starts anew with every step, so that one missing call does not shift
# all that follow.

MISMATCH_SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("name", "collective", "group"), pl.String()),
    **dict.fromkeys(("sequence", "size_bytes"), pl.Int64()),
    "step": pl.String(),
    **dict.fromkeys(("present", "missing"), pl.List(pl.String())),
}
_GROUP = ["what", "group", "group_ranks"]


def match_calls(workers: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The records of all workers, with a number in `match` that equal calls share.

    `what` is the name of the call, or the pair of ranks for sending and receiving.
    """
    calls = stack_tables(workers, "worker", pl.Enum(list(workers)))
    calls = calls.with_columns(what=_what(calls))
    party = combine_codes(*(dense_codes(calls[name]) for name in _GROUP))
    worker = calls["worker"].to_physical().to_numpy().astype(np.int64)
    sequence = _if_all_know(calls["sequence"], party)
    uneven = calls["collective"].is_in(UNEVEN).fill_null(value=False).to_numpy()
    size = _if_all_know(calls["size_bytes"], party, unless=uneven)
    key = combine_codes(party, size, sequence)
    mine = Groups.of(combine_codes(key, worker))
    # Whether all workers that have calls with the same key have equally many of them.
    of, many = key[mine.order[mine.first]], np.diff(mine.first, append=len(key))
    most = np.zeros(int(key.max(initial=-1)) + 1, np.int64)
    fewest = np.full(len(most), len(key))
    np.maximum.at(most, of, many)
    np.minimum.at(fewest, of, many)
    even = (most == fewest)[key]
    step = np.where((sequence > 0) | even, 0, 1 + dense_codes(calls["step"]))
    place = mine.places if not step.any() else Groups.of(combine_codes(key, step, worker)).places
    return calls.with_columns(
        pl.Series("match", combine_codes(key, step, place), dtype=pl.UInt32),
        pl.Series("party", party, dtype=pl.UInt32),
    )


def find_mismatches(matched: pl.DataFrame, ranks: Mapping[str, int | None]) -> pl.DataFrame:
    """Calls that workers of the group lack: what they are, who has them and who does not.

    `ranks` gives the rank of every worker, those without any call included.
    """
    columns = [name for name in MISMATCH_SCHEMA if name not in {"present", "missing"}]
    # The workers each group of calls is expected on, by its number.
    group_columns = ["group_ranks", "group_size", "collective", "src_rank", "dst_rank"]
    parties = (
        matched.lazy()
        .select("party", "worker", *group_columns)
        .unique(["party", "worker"], keep="first", maintain_order=True)
        .with_columns(pl.col("worker").cast(pl.String))
        .group_by("party", maintain_order=True)
        .agg(pl.col(group_columns).first(), seen="worker")
        .sort("party")
        .collect()
    )
    participants = [_expected_workers(party, ranks) for party in parties.iter_rows(named=True)]
    # Who has a call is among those it is expected on: only where some lack it lists are made.
    match, party = matched["match"].to_numpy(), matched["party"].to_numpy()
    wanted = np.array([len(expected) for expected in participants], dtype=np.int64)
    incomplete = np.flatnonzero(np.bincount(match)[match] < wanted[party]) if len(match) else match
    mismatches = (
        matched[incomplete]
        .with_columns(pl.col("worker").cast(pl.String))
        .group_by("match", "party", maintain_order=True)
        .agg(*(pl.col(name).first() for name in columns), present="worker")
        .sort("match")
    )
    expected = [participants[party] for party in mismatches["party"].to_list()]
    return (
        mismatches.with_columns(expected=pl.Series(expected, dtype=pl.List(pl.String())))
        .with_columns(missing=pl.col("expected").list.set_difference("present"))
        .with_columns(pl.col("present", "missing").list.sort())
        .select(pl.col(name).cast(dtype) for name, dtype in MISMATCH_SCHEMA.items())
    )


def _what(calls: pl.DataFrame) -> pl.Series:
    one_sided = pl.col("collective").is_in(ONE_SIDED).fill_null(value=False)
    by_itself = (pl.col("group_size") == 1).fill_null(value=False)
    special = calls.select(one_sided | by_itself).to_series()
    if not special.any():
        return calls["name"]
    pair = pl.format("{} {}->{}", pl.col("library").fill_null(""), "src_rank", "dst_rank")
    # Nobody else takes part, or nobody can tell who does.
    single = pl.format("{} of {}", "name", "worker")
    what = pl.when(one_sided).then(pl.coalesce(pair, single)).otherwise(single)
    # Texts are put together for these alone: there may be a million others.
    names = calls.filter(special).select(what).to_series()
    return calls["name"].scatter(special.arg_true(), names)


def _if_all_know(values: pl.Series, party: Ints, *, unless: Flags | None = None) -> Ints:
    """A number for each value, from 1 on, as far as every worker states one; else 0."""
    unknown = values.is_null().to_numpy()
    unknown = unknown if unless is None else unknown | unless
    some_lack = np.bincount(party[unknown], minlength=int(party.max(initial=0)) + 1) > 0
    return np.where(some_lack[party], 0, 1 + dense_codes(values))


def _expected_workers(group: Mapping[str, Any], ranks: Mapping[str, int | None]) -> list[str]:
    seen, size = set(group["seen"]), group["group_size"]
    if group["collective"] in ONE_SIDED:
        members = {group["src_rank"], group["dst_rank"]}
    elif group["group_ranks"] is not None:
        try:
            members = set(decode_small_json(group["group_ranks"].encode(), "ranks", "", list))
        except (DamagedError, TypeError):  # long lists are cut
            members = set()
    else:
        # Nobody says who is in the group: everybody, if it is large enough for that.
        return sorted(seen if size is not None and size < len(ranks) else ranks)
    named = {worker for worker, rank in ranks.items() if rank is not None and rank in members}
    # Ranks may be counted inside the group: then they name the wrong workers.
    return sorted(named if size != 1 and seen <= named else seen)


class WorkerSummary(msgspec.Struct, frozen=True, eq=False):
    """What of one worker the comparison needs."""

    rank: int | None
    steps: pl.DataFrame
    """As `step_communication` gives them."""
    records: pl.DataFrame
    ranges: pl.DataFrame


class WorkerComparison(msgspec.Struct, frozen=True, eq=False):
    """Workers of one span, compared call by call.

    Of a single worker nobody can tell how long it waited: then `transfer_ns` and `waiting_ns`
    are null throughout.
    """

    by_step: pl.DataFrame
    """Per worker and step in which it communicates: `communication_ns`, which divides into
    `transfer_ns` and `waiting_ns`."""
    by_name: pl.DataFrame
    """Per worker and name of a call: `calls`, `size_bytes`, `latency_ns`, `duration_ns` of what
    moves the data, `transfer_ns`, and how many bytes per second the collective and the busiest
    link moved while it transferred."""
    mismatches: pl.DataFrame
    """Calls that not all workers of their group have."""


def compare_workers(workers: Mapping[str, WorkerSummary]) -> WorkerComparison:
    """Divide the communication of every worker into waiting and transfer, and find odd calls.

    A collective ends on all ranks together and starts when the last one has come.  Of the same
    range on all workers the shortest is therefore all transfer; on the others as much of its
    end is, and what comes before was waiting.
    """
    calls = match_calls({worker: summary.records for worker, summary in workers.items()})
    names = pl.Enum(list(workers))
    times = stack_tables(
        {name: worker_summary.ranges for name, worker_summary in workers.items()}, "worker", names
    )
    ranges = _with_transfer(times, calls)
    by_step, by_name = _by_step(workers, calls, ranges), _by_name(calls, ranges)
    if len(workers) < 2:
        unknown = pl.lit(None, pl.Int64)
        by_step = by_step.with_columns(transfer_ns=unknown, waiting_ns=unknown)
        by_name = by_name.with_columns(transfer_ns=unknown)
    ranks = {worker: summary.rank for worker, summary in workers.items()}
    return WorkerComparison(by_step, by_name, find_mismatches(calls, ranks))


def mean_over_steps(steps: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Mean per worker over its complete steps; over all steps where none is complete."""
    counted = pl.col("complete") | ~pl.col("complete").any().over("worker")
    return steps.filter(counted).group_by("worker", maintain_order=True).agg(pl.col(columns).mean())


class _Ranges(msgspec.Struct, frozen=True, eq=False):
    """The ranges of all workers, those of a call together, in the order of the calls."""

    call: Ints
    """Row of the call of each."""
    on_device: Flags
    moves: Flags
    """Whether data is moved, or waited for: by the kernels of a call where it has some."""
    start: Ints
    tail: Ints
    """Where the transfer begins; what comes before was waiting."""
    end: Ints


def _with_transfer(ranges: pl.DataFrame, calls: pl.DataFrame) -> _Ranges:
    """The ranges of all workers, and how much of the end of each is transfer."""
    many = 1 + max(int(table["record"].max() or 0) for table in (ranges, calls))  # type: ignore[arg-type]
    wanted, call_keys = (
        table["worker"].to_physical().to_numpy().astype(np.int64) * many
        + table["record"].to_numpy()
        for table in (ranges, calls)
    )
    call = np.searchsorted(call_keys, wanted)
    rows = np.flatnonzero(np.append(call_keys, -1)[call] == wanted)
    call, on_device = call[rows], ranges["on_device"].to_numpy()[rows]
    start, end = (ranges[time].to_numpy()[rows] for time in ("start_ns", "end_ns"))
    has_kernels = np.bincount(call[on_device], minlength=calls.height) > 0
    moves, length = on_device | ~has_kernels[call], end - start
    # The first kernel of a call is the first one on every worker, and so on.
    nth = Groups.of(2 * call + on_device).places
    match = calls["match"].to_numpy().astype(np.int64)[call]
    same = Groups.of((2 * match + on_device) * (int(nth.max(initial=0)) + 1) + nth)
    transfer = same.least(length)
    uneven = (calls["collective"] == "all_to_all").fill_null(value=False).to_numpy()
    if uneven.any():
        # Where ranks move different amounts, the fastest one tells what a byte takes.
        sizes = calls.select(pl.max_horizontal("size_bytes", "out_bytes").fill_null(0)).to_series()
        moved = sizes.to_numpy().astype(np.float64)[call]
        pace = np.divide(length, moved, out=np.full(len(moved), np.inf), where=moved > 0)
        is_comparable = uneven[call] & moves & (same.least((moved > 0).astype(np.float64)) > 0)
        share = np.round(
            np.where(is_comparable, same.least(np.where(is_comparable, pace, np.inf)), 0) * moved
        )
        transfer = np.where(is_comparable, np.minimum(share.astype(np.int64), length), transfer)
    return _Ranges(call, on_device, moves, start, end - transfer, end)


def _by_step(
    workers: Mapping[str, WorkerSummary], calls: pl.DataFrame, ranges: _Ranges
) -> pl.DataFrame:
    """Communication of every step in which there is some; the rows of a worker lie together."""
    times = np.stack([ranges.start, ranges.end], axis=1)
    tails = np.stack([ranges.tail, ranges.end], axis=1)
    number = calls["worker"].to_physical().to_numpy()[ranges.call]
    ends = np.searchsorted(number, np.arange(len(workers)), side="right").tolist()
    rows: list[pl.DataFrame] = []
    shares: list[Ints] = [np.zeros((0, 2), dtype=np.int64)]
    for summary, start, end in zip(workers.values(), [0, *ends], ends, strict=False):
        if start < end and not summary.steps.is_empty():
            mine = times[start:end]
            # Without marks the recording is one step, and all communication belongs to it.
            all_of_it = np.array([[mine[:, 0].min(), mine[:, 1].max()]])
            windows = bounds_of(summary.steps) if summary.steps["marked"].any() else all_of_it
            parts = (intervals.coverage_within(of[start:end], windows) for of in (times, tails))
            shares.append(np.stack([*parts], axis=1))
            rows.append(summary.steps)
        else:
            rows.append(summary.steps.clear())
    steps = stack_tables(dict(zip(workers, rows, strict=True)), "worker", pl.String())
    all_ns, transfer_ns = np.concatenate(shares).T
    return steps.select(
        "worker",
        pl.col("name").alias("step"),
        "complete",
        pl.Series("communication_ns", all_ns),
        pl.Series("transfer_ns", transfer_ns),
        pl.Series("waiting_ns", all_ns - transfer_ns),
    ).filter(pl.col("communication_ns") > 0)


def _by_name(calls: pl.DataFrame, ranges: _Ranges) -> pl.DataFrame:
    """In order of the first call of each name; moments of overlapping calls count once."""
    # Numbers instead of texts: there may be a million calls.
    key = combine_codes(dense_codes(calls["worker"]), dense_codes(calls["name"]))
    # Of calls whose kernels were not recorded nobody knows how fast they moved their data.
    library = calls["library"].cast(pl.String)
    takes = moving_ranges(library, ranges.call, ranges.on_device)
    is_timed = np.bincount(ranges.call[takes], minlength=calls.height) > 0
    moving = np.where(takes, ranges.end - ranges.tail, 0)
    moving_ns = np.bincount(ranges.call, moving, minlength=calls.height).astype(np.int64)
    totals = (
        calls.lazy()
        .with_columns(
            pl.Series("key", key),
            pl.Series("moving_ns", moving_ns),
            is_timed=pl.Series(is_timed),
            volume=pl.when(pl.Series(is_timed)).then(volume()).otherwise(0),
        )
        .with_columns(bus_volume=pl.col("volume") * bus_share())
        .group_by("key")
        .agg(
            pl.col("worker", "name", "collective").first(),
            calls=pl.len().cast(pl.Int64),
            size_bytes=sum_if_known("size_bytes"),
            algorithm_bytes_per_s=per_second("volume", "moving_ns"),
            bus_bytes_per_s=per_second("bus_volume", "moving_ns"),
            is_timed=pl.col("is_timed").any(),
        )
        .sort("key")
        .with_columns(pl.col("worker").cast(pl.String))
        .collect()
    )
    of_range, many = key[ranges.call], totals.height
    took = union_length_by_group(of_range[takes], ranges.start[takes], ranges.end[takes], many)
    return totals.drop("key", "is_timed").with_columns(
        latency_ns=union_length_by_group(of_range, ranges.start, ranges.end, many),
        duration_ns=pl.when(totals["is_timed"]).then(took),
        transfer_ns=union_length_by_group(of_range, ranges.tail, ranges.end, many),
    )


@memoize_per_trace
def step_communication(trace: Trace) -> pl.DataFrame:
    """How much of each step is computation, communication, both or neither.

    Computation is what kernels do; where no kernel was recorded at all, what operators do.
    """
    steps, roles = find_steps(trace), role_ranges(trace)
    has_kernels = bool(device_kinds(trace).among(*KERNEL_KINDS).any())
    computing = roles["kernel" if has_kernels else "cpu_exec"]
    talking = roles["communication"]
    bounds = bounds_of(steps)
    parts = {
        "computation_ns": computing,
        "communication_ns": talking,
        "overlap_ns": intervals.intersect(computing, talking),
    }
    covered = {name: intervals.coverage_within(ranges, bounds) for name, ranges in parts.items()}
    either = covered["computation_ns"] + covered["communication_ns"] - covered["overlap_ns"]
    covered["other_ns"] = bounds[:, 1] - bounds[:, 0] - either
    columns = [steps[name] for name in ("name", "start_ns", "end_ns", "complete", "marked")]
    return pl.DataFrame([*columns, *(pl.Series(name, values) for name, values in covered.items())])


@memoize_per_trace
def summarise_worker(trace: Trace) -> WorkerSummary:
    """Reduce a trace to what comparing it with other workers needs."""
    return WorkerSummary(
        rank=trace.metadata.distributed.rank,
        steps=step_communication(trace),
        records=communication_records(trace),
        ranges=communication_ranges(trace),
    )
