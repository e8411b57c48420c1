"""One rank reduced to what all ranks together need; its size does not grow with the events."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np
import polars as pl
from msgspec import structs
from polars import selectors as cs

from timesink.analyses.columns import device_columns, device_kinds, memoize_per_trace
from timesink.analyses.communication_calls import RECORD_SCHEMA, collective_arguments
from timesink.analyses.communication_workers import WorkerSummary, summarise_worker
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.names import device_word
from timesink.analyses.ranks.own_time import (
    FUNCTION_SCHEMA,
    GAP_COLUMNS,
    OWN_PARTS,
    OwnTime,
    function_times,
    longest_gaps,
    own_time,
    own_time_before,
    step_unions,
    waited_for,
)
from timesink.analyses.steps import bounds_of, role_ranges
from timesink.formats.small_files import encode_json
from timesink.model import intervals
from timesink.model.arrays import run_starts
from timesink.model.fitness import Reason
from timesink.model.health import HealthEntry
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Device, Trace

STEP_SCHEMA: dict[str, pl.DataType] = {
    "step": pl.String(),
    **dict.fromkeys(("start_ns", "end_ns"), pl.Int64()),
    "complete": pl.Boolean(),
    **dict.fromkeys(("compute_ns", "communication_ns"), pl.Int64()),
    **dict.fromkeys(
        ("exposed_communication_ns", "overlap_ns", "idle_ns", "blocked_ns"), pl.Int64()
    ),
    **{f"own_{part}_ns": pl.Int64() for part in OWN_PARTS},
    **GAP_COLUMNS,
}
"""Communication is here what moves data: kernels, or host calls where these do the transfer.  It
is exposed where nothing computes; `idle_ns` has neither device work nor communication.
`blocked_ns` is how long the device waited until a collective was over: with the parts of own time
it adds up to the step."""

COLLECTIVE_SCHEMA = {
    name: dtype
    for name, dtype in RECORD_SCHEMA.items()
    if name not in {"host_start_ns", "host_end_ns", "latency_ns", "dur_ns"}
} | {
    "group": pl.Categorical(),
    "group_ranks": pl.Categorical(),
    "launch_ns": pl.Int64(),
    "own_ns": pl.Int64(),
    "exposed_ns": pl.Int64(),
}
"""`own_ns` is what the rank took by itself since it started the collective before: the time in
between, less what it could do nothing but wait in.  `exposed_ns` is how long it waited for just
this collective to end."""


GROUP_SCHEMA = {
    "group": pl.String(),
    "group_ranks": pl.String(),
    "group_size": pl.Int64(),
    "description": pl.String(),
}
"""Process groups of a rank; `group_ranks` is the text of its calls, in which long lists are cut."""


_NEVER = np.iinfo(np.int64).max
MAX_RANKS = 1_000_000
"""No run has as many; who states more is damaged, and nobody counts so many missing ranks."""


class AboutRank(msgspec.Struct, frozen=True):
    """Which rank it is, and where it ran; None where the trace does not say."""

    rank: int | None
    world_size: int | None
    host: str | None
    device: str | None
    source: str
    health: tuple[HealthEntry, ...] = ()
    """What was repaired, lost or looks wrong in its trace."""
    devices: tuple[Device, ...] = ()
    """Those that did something, as the trace describes them."""
    device_word: str = "GPU"
    """What users call such a device."""
    unfit: tuple[Reason, ...] = ()
    """What its recording cannot tell."""


class Thinning(msgspec.Struct, frozen=True):
    """What of a long recording the summary is about."""

    every: int = 1
    """Steps whose number this divides; 1 for all of them."""
    of_steps: int = 0
    """How many steps the recording has, where not all are kept."""
    cut: int = 0
    """Collectives left out at the end of those steps, and functions summed as one."""


class RankSummary(msgspec.Struct, frozen=True, eq=False):
    """What of one rank is needed to judge all of them."""

    about: AboutRank
    steps: pl.DataFrame
    """Rows of `STEP_SCHEMA`."""
    collectives: pl.DataFrame
    """Rows of `COLLECTIVE_SCHEMA`, in the order in which they were launched."""
    functions: pl.DataFrame
    """Rows of `FUNCTION_SCHEMA`, over the complete steps."""
    worker: WorkerSummary
    """For dividing communication into waiting and transfer."""
    thinning: Thinning = Thinning()
    groups: pl.DataFrame = msgspec.field(default_factory=lambda: pl.DataFrame(schema=GROUP_SCHEMA))
    """Rows of `GROUP_SCHEMA`, in the order of their first calls."""


@memoize_per_trace
def summarise_rank(trace: Trace) -> RankSummary:
    """Reduce the trace of a rank to a few small tables."""
    worker = summarise_worker(trace)
    # When the data of each record was moved or waited for: its kernels where it has some.
    record, on_device = (worker.ranges[name].to_numpy() for name in ("record", "on_device"))
    has_kernels = np.bincount(record[on_device], minlength=record.max(initial=0) + 1) > 0
    moving = worker.ranges.filter(on_device | ~has_kernels[record])
    bounds, talking = bounds_of(worker.steps), bounds_of(moving)
    # Beside a device, host calls of which no kernel is recorded moved nothing that is known of.
    is_timed = worker.records["dur_ns"].is_not_null() | (device_columns(trace).height == 0)
    timed = talking[is_timed.gather(moving["record"]).to_numpy().astype(bool)]
    complete = worker.steps["complete"].to_numpy().astype(bool)
    on_host = talking[~moving["on_device"].to_numpy()]
    self_time = own_time(role_ranges(trace), talking, bounds, on_host=on_host)
    steps = worker.steps.lazy().select(
        pl.col("name").alias("step"),
        "start_ns",
        "end_ns",
        "complete",
        *(pl.Series(name, times) for name, times in step_unions(trace, timed, bounds).items()),
        pl.Series("blocked_ns", intervals.coverage_within(self_time.exposed, bounds)),
        *(pl.Series(f"own_{part}_ns", self_time.parts[part]) for part in OWN_PARTS),
        *longest_gaps(trace, self_time.busy, bounds),
    )
    # What calls say of the groups they are made in; some only have a number.
    descriptions = {
        str(group.get("pg_name")): str(group["pg_desc"])
        for group in trace.metadata.distributed.groups
        if group.get("pg_desc")
    }
    names = ["group_name", "group_ranks", "group_size", "group_description"]
    group_rows = collective_arguments(trace).select(names).unique(maintain_order=True)
    groups: dict[tuple[str, str | None], tuple[int | None, str | None]] = {}
    for name, ranks, size, description in group_rows.iter_rows():
        if name:
            groups.setdefault((name, ranks), (size, description or descriptions.get(name)))
    rows = [(*group, *details) for group, details in groups.items()]
    return RankSummary(
        about=_about(trace),
        steps=steps.select(pl.col(name).cast(as_) for name, as_ in STEP_SCHEMA.items()).collect(),
        collectives=_collectives(worker, moving, self_time),
        functions=function_times(trace, bounds[complete]),
        worker=worker,
        groups=pl.DataFrame(rows, schema=GROUP_SCHEMA, orient="row"),
    )


def _about(trace: Trace) -> AboutRank:
    distributed, extra = trace.metadata.distributed, trace.metadata.extra
    host = next((extra[key] for key in ("hostname", "host_name", "host") if key in extra), None)
    devices = trace.metadata.devices
    busy = device_kinds(trace).among(*BUSY_KINDS)
    used = set(np.unique(device_columns(trace)["device"].to_numpy()[busy]).tolist())
    return AboutRank(
        rank=_believable(distributed.rank),
        world_size=_believable(distributed.world_size),
        host=host if isinstance(host, str) else None,
        device=devices[0].name if devices else None,
        source=trace.metadata.source,
        health=tuple(trace.health),
        devices=tuple(
            replace(device, properties={}) for device in trace.metadata.devices if device.id in used
        ),
        device_word=device_word(trace),
        unfit=recording_fitness(trace).reasons,
    )


def _believable(number: int | None) -> int | None:
    """A rank or a number of ranks as the trace states it; None where no run has as many."""
    return number if number is not None and 0 <= number < MAX_RANKS else None


def _collectives(worker: WorkerSummary, moving: pl.DataFrame, self_time: OwnTime) -> pl.DataFrame:
    record = moving["record"].to_numpy()
    first = run_starts(record)
    start, end = bounds_of(moving).T
    start = np.minimum.reduceat(start, first) if len(first) else start
    end = np.maximum.reduceat(end, first) if len(first) else end
    # From the collective before, in the order of their starts, or from the first step.
    order = np.argsort(start, kind="stable")
    begin = np.concatenate([start, worker.steps["start_ns"].to_numpy()]).min(initial=_NEVER)
    own_ns = np.empty(len(start), dtype=np.int64)
    own_ns[order] = own_time_before(np.concatenate([[begin], start[order]]), self_time.exposed)
    # Records are numbered from 0 on; those without a time of their own move nothing.
    return (
        worker.records[record[first]]
        .lazy()
        .with_columns(
            start_ns=pl.Series(start),
            end_ns=pl.Series(end),
            launch_ns=pl.coalesce("host_start_ns", pl.Series(start)),
            own_ns=pl.Series(own_ns),
            exposed_ns=pl.Series(waited_for(end, self_time.exposed)),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in COLLECTIVE_SCHEMA.items())
        .collect()
    )


# A long recording cut down to some of its steps, the same ones on every rank.
#
# The size of a summary must not grow with the events.  Of a recording with too many collectives
# every second step is kept, or every fourth, and so on, by the number of the step: so ranks agree
# without knowing each other, and who keeps more is cut down to what all have.

MAX_COLLECTIVES = 8_192
MAX_STEPS = 2_048
MAX_FUNCTIONS = 2_000
REMAINDER = "(others)"
"""What stands for the functions that are left out: those that take least."""


def within_limits(summary: RankSummary, trace: Trace) -> RankSummary:
    """The summary of a trace, of as many steps and functions as a set can afford."""
    summary = thinned_to(summary, MAX_COLLECTIVES)
    if summary.thinning.every > 1:
        # What functions did is told per step, so it must be about the same steps.
        step_bounds = bounds_of(summary.steps.filter("complete"))
        summary = structs.replace(summary, functions=function_times(trace, step_bounds))
    surplus = summary.worker.records.height - MAX_COLLECTIVES
    if surplus > 0:
        # A single step has too many collectives, or none is marked: the first ones stay.
        summary = _with_records(summary, summary.worker.records.head(MAX_COLLECTIVES))
        summary = structs.replace(summary, thinning=structs.replace(summary.thinning, cut=surplus))
    return _few_functions(summary)


def thinned_to(summary: RankSummary, most: int) -> RankSummary:
    """The summary with at most so many collectives, where that leaves a whole step."""
    return of_every(summary, _every(summary, most))


def thinned_alike(ranks: Mapping[int, RankSummary]) -> dict[int, RankSummary]:
    """Summaries of one run, all of the same steps: those that every rank has kept."""
    every = max((summary.thinning.every for summary in ranks.values()), default=1)
    return {rank: of_every(summary, every) for rank, summary in ranks.items()}


def of_every(summary: RankSummary, every: int) -> RankSummary:
    """The summary of the steps whose number is divided by `every`.

    Functions are told per step; what they did in all of them is scaled to those that stay.
    """
    if every == summary.thinning.every:
        return summary
    chosen = _number("step") % every == 0
    steps, worker = summary.steps, summary.worker
    kept_steps = steps.filter(chosen)
    before, after = (int(table["complete"].sum()) for table in (steps, kept_steps))
    part = after / max(before, 1)
    functions = summary.functions.with_columns(
        (pl.col("calls", "dur_ns") * part).round().cast(pl.Int64), pl.col("work") * part
    )
    worker = structs.replace(worker, steps=worker.steps.filter(_number("name") % every == 0))
    thinning = structs.replace(
        summary.thinning, every=every, of_steps=summary.thinning.of_steps or steps.height
    )
    thinner = structs.replace(
        summary, steps=kept_steps, functions=functions, worker=worker, thinning=thinning
    )
    return _with_records(thinner, worker.records.filter(chosen))


def _with_records(summary: RankSummary, records: pl.DataFrame) -> RankSummary:
    """The summary with some of its records, and what belongs to them."""
    ranges, collectives = (
        table.join(records, on="record", how="semi", maintain_order="left")
        for table in (summary.worker.ranges, summary.collectives)
    )
    worker = structs.replace(summary.worker, records=records, ranges=ranges)
    return structs.replace(summary, collectives=collectives, worker=worker)


def _number(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.Int64, strict=False)


def _every(summary: RankSummary, most: int) -> int:
    """How far apart the steps are that can be kept; as they are where nothing has to go."""
    every = summary.thinning.every
    if summary.worker.records.height <= most and summary.steps.height <= MAX_STEPS:
        return every
    steps, calls = (
        table.select(_number("step")).to_series().drop_nulls()
        for table in (summary.steps, summary.worker.records)
    )

    def many(numbers: pl.Series, apart: int) -> int:
        return int((numbers % apart == 0).sum())

    while many(calls, every) > most or many(steps, every) > MAX_STEPS:
        # The last step stays, however long it is.
        if not 0 < many(steps, 2 * every) < many(steps, every):
            break
        every *= 2
    return every


def _few_functions(summary: RankSummary) -> RankSummary:
    functions = summary.functions
    if functions.height <= MAX_FUNCTIONS:
        return summary
    ranked = functions.with_columns(
        function=pl.when(pl.col("dur_ns").rank("ordinal", descending=True) < MAX_FUNCTIONS - 8)
        .then("function")
        .otherwise(pl.lit(REMAINDER))
    )
    merged = (
        ranked.group_by("place", "function")
        .agg(
            pl.col("calls", "dur_ns", "work").sum(),
            typical_ns=pl.col("dur_ns").sum() / pl.col("calls").sum(),
            only=pl.col("typical_ns").first(),
            many=pl.len(),
        )
        .with_columns(typical_ns=pl.when(pl.col("many") == 1).then("only").otherwise("typical_ns"))
        .sort("place", "function")
        .select(pl.col(name).cast(dtype) for name, dtype in FUNCTION_SCHEMA.items())
    )
    return structs.replace(summary, functions=merged)


# The summary of a rank as one row of Parquet: columns about it, and its tables as nested ones.
#
# Files of several ranks are therefore one dataset.  The collectives and the records they were made
# from share a table, so that the many of them are not written twice.

FORMAT = "timesink/rank/3"
_OF_CALL = "call_"
_ONLY_OF_CALLS = [
    name
    for name in COLLECTIVE_SCHEMA
    # The collective is when data was moved, the record the call around it as well.
    if name not in RECORD_SCHEMA or name in {"start_ns", "end_ns"}
]


def to_parquet(summary: RankSummary) -> bytes:
    """The summary as the bytes of a Parquet file."""
    tables = {
        "steps": summary.steps,
        "worker_steps": summary.worker.steps,
        "collectives": _records(summary),
        "ranges": summary.worker.ranges,
        "functions": summary.functions,
        "groups": summary.groups,
    }
    as_text = (cs.categorical() | cs.enum()).cast(pl.String)
    row = pl.DataFrame(
        [
            pl.Series("format", [FORMAT]),
            pl.Series("about", [encode_json(summary.about).decode()]),
            pl.Series("kept", [encode_json(summary.thinning).decode()]),
            pl.Series("worker_rank", [summary.worker.rank], dtype=pl.Int64),
            *(
                table.with_columns(as_text).to_struct(name).implode()
                for name, table in tables.items()
            ),
        ]
    )
    written = io.BytesIO()
    row.write_parquet(written, compression="zstd", statistics=False)
    return written.getvalue()


def from_parquet(written: bytes) -> RankSummary:
    """The summary that these bytes were made from; ValueError where they are none."""
    return from_parquets([written])[0]


def from_parquets(written: Sequence[bytes]) -> list[RankSummary]:
    """Several summaries at once, which takes far less than one by one: they share their tables."""
    try:
        rows = pl.read_parquet([*written], use_statistics=False)
        if (rows["format"] != FORMAT).any():
            raise ValueError(rows["format"].unique().to_list())
        both, ends = _explode_tables(rows, "collectives")
        of_calls = both.select(
            pl.col(_OF_CALL + name if name in _ONLY_OF_CALLS else name).cast(dtype).alias(name)
            for name, dtype in COLLECTIVE_SCHEMA.items()
        )
        calls = _split_table(of_calls, ends)
        if of_calls["start_ns"].null_count():
            calls = [table.filter(pl.col("start_ns").is_not_null()) for table in calls]
        functions, ends_of_functions = _explode_tables(rows, "functions")
        tables = {
            "records": _split_table(both.select(RECORD_SCHEMA.keys()), ends),
            "collectives": calls,
            "functions": _split_table(
                functions.cast(pl.Schema(FUNCTION_SCHEMA)), ends_of_functions
            ),
            **{
                name: _split_table(*_explode_tables(rows, name))
                for name in ("steps", "worker_steps", "ranges", "groups")
            },
        }
        summaries = []
        headers = rows.select("about", "kept", "worker_rank").iter_rows()
        for place, (about, thinning, rank) in enumerate(headers):
            tables_of_rank = {name: table[place] for name, table in tables.items()}
            worker = WorkerSummary(
                rank, *map(tables_of_rank.pop, ("worker_steps", "records", "ranges"))
            )
            of_rank = msgspec.json.decode(about, type=AboutRank)
            of_steps = msgspec.json.decode(thinning, type=Thinning)
            summaries.append(
                RankSummary(of_rank, worker=worker, thinning=of_steps, **tables_of_rank)
            )
    except (pl.exceptions.PolarsError, msgspec.MsgspecError, OSError, KeyError, TypeError) as error:
        msg = f"not the summary of a rank: {type(error).__name__}"
        raise ValueError(msg) from error
    return summaries


def _records(summary: RankSummary) -> pl.DataFrame:
    """Every record, and beside it what only the collective has; null where it is none."""
    records, calls = summary.worker.records, summary.collectives
    only = [calls[name].alias(_OF_CALL + name) for name in _ONLY_OF_CALLS]
    if calls["record"].equals(records["record"]):
        return records.hstack(only)
    calls = pl.DataFrame([calls["record"], *only])
    return records.join(calls, on="record", how="left", maintain_order="left")


def _explode_tables(rows: pl.DataFrame, name: str) -> tuple[pl.DataFrame, list[int]]:
    """The nested tables of several rows, in order, and where each of them ends."""
    nested = rows[name]
    lengths = nested.list.len()
    if not lengths.sum():
        empty = pl.DataFrame(schema=nested.dtype.inner.to_schema())  # type: ignore[attr-defined]
        return empty, [0] * len(lengths)
    # An empty list would become a row of its own.
    table = nested.filter(lengths > 0).list.explode().struct.unnest()
    return table, lengths.cum_sum().to_list()


def _split_table(table: pl.DataFrame, ends: Sequence[int]) -> list[pl.DataFrame]:
    return [table[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
