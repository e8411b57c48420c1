"""Which events are one and the same collective call, and what each call of a worker moved.

A call may be recorded up to three times: as an annotation (`nccl:all_reduce`), as the call that
carries its arguments, and as kernels and copies on the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import (
    device_columns,
    device_kinds,
    device_names,
    host_columns,
    memoize_per_trace,
    numbers,
    union_length_by_group,
    values_at,
)
from timesink.analyses.forest import call_forest
from timesink.analyses.links import first_with_id, link_launches
from timesink.analyses.steps import find_steps, is_communication
from timesink.model import vendors
from timesink.model.arrays import narrow
from timesink.model.element_types import type_by_spelling
from timesink.model.intervals import Flags, Ints
from timesink.model.nested_calls import Nodes, enclosing_calls
from timesink.model.trace import Trace
from timesink.model.vendors import library_in
from timesink.patterns import regex

# What collectives are called, how large their elements are, what they move.  Data.

ARGUMENTS_CALL = "record_param_comms"
"""The host call that carries the arguments of the collective around or inside it."""

HOST_LIBRARIES = ("gloo", "mpi")
"""Libraries whose calls do the transfer themselves; others launch kernels and return."""

ONE_SIDED = ("send", "recv")
"""A call of one rank is met by the other call of another rank."""

PAIRS = (*ONE_SIDED, "send_recv")
"""Between two ranks, as from one stage of a pipeline to the next."""

SYNCHRONISING = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
"""Nobody can be done before everybody has come, so all ranks are done at the same time."""

UNEVEN = ("all_to_all", "gather", "scatter", *PAIRS)
"""Ranks may move different amounts in one and the same call."""

_KINDS = (
    # Longer spellings first: "all_reduce" holds "reduce".
    ("all_to_all", regex(r"alltoall")),
    ("reduce_scatter", regex(r"reducescatter")),
    ("all_gather", regex(r"allgather|gatherall")),
    ("barrier", regex(r"barrier")),
    ("all_reduce", regex(r"allreduce|crossdevicereduce")),
    ("broadcast", regex(r"broadcast|bcast")),
    ("send_recv", regex(r"sendrecv")),
    ("send", regex(r"send")),
    ("recv", regex(r"recv|receive")),
    ("gather", regex(r"gather")),
    ("scatter", regex(r"scatter")),
    ("reduce", regex(r"reduce")),
)
_MORE_THAN_ANY_MEMORY = 2**60
_PREFIX = regex(r"^([a-z]+):")
_PEERS = {
    "src_rank": (r"send (\d+)->\d+", r"recv \d+<-(\d+)"),
    "dst_rank": (r"send \d+->(\d+)", r"recv (\d+)<-\d+"),
}
_DIMENSIONS = msgspec.json.Decoder(list[Any])


def collective_kind(name: str) -> str | None:
    """Which collective a call, an argument or a kernel names; None where it does not tell."""
    plain = name.lower().replace("_", "")
    return next((kind for kind, spelling in _KINDS if spelling.search(plain)), None)


def library_of(name: str) -> str | None:
    """The library that a call or a kernel belongs to."""
    prefix = _PREFIX.match(name)
    return prefix[1] if prefix else library_in(name)


def peers_of(name: pl.Expr) -> dict[str, pl.Expr]:
    """Sender and receiver, where the name of a call tells them."""
    return {
        rank: pl.coalesce(*(name.str.extract(spelling).cast(pl.Int64) for spelling in spellings))
        for rank, spellings in _PEERS.items()
    }


def element_bytes(dtype: str) -> int | None:
    """Size of one element, in the spelling of operators or of collectives."""
    element_type = type_by_spelling(dtype)
    return int(element_type.bytes) if element_type else None


def bytes_of_inputs(dims: str | None, types: str | None) -> int | None:
    """Size of the tensors among the inputs of an operator; None where it cannot be told."""
    shapes, kinds = decode_list(dims), decode_list(types)
    total = None
    for shape, kind in zip(shapes, kinds, strict=False):
        if not shape and kind in {"", "Scalar", "ScalarList"}:
            continue
        size = element_bytes(kind) if isinstance(kind, str) else None
        is_shape = isinstance(shape, list) and all(isinstance(extent, int) for extent in shape)
        if size is None or not is_shape:
            return None
        total = (total or 0) + size * math.prod(shape)
    return total if total is None or 0 <= total < _MORE_THAN_ANY_MEMORY else None


def decode_list(text: str | None) -> list[Any]:
    """Shapes or types of inputs as recorded; none where the text is not JSON."""
    try:
        return _DIMENSIONS.decode(text or "[]")
    except msgspec.MsgspecError:
        return []


_NONE = -1


class CollectiveCalls(msgspec.Struct, frozen=True, eq=False):
    """Host calls named as collectives, in the order of the forest."""

    node: Nodes
    carries_arguments: Flags
    call: Nodes
    """For each: the one of them that stands for the same collective."""
    place: Nodes
    """For each node of the forest: its place in `node`, -1 for other calls."""


@memoize_per_trace
def collective_calls(trace: Trace) -> CollectiveCalls:
    """Host calls named as collectives, and which of them are the same."""
    forest = call_forest(trace)
    node = np.flatnonzero(forest.named(vendors.is_collective_call))
    place = narrow(np.full(len(forest), _NONE), len(forest))
    place[node] = np.arange(len(node))
    carries = forest.named(lambda name: name == ARGUMENTS_CALL)[node]
    outer = enclosing_calls(forest.parent[node], forest.parent, place != _NONE)
    around = np.where(outer != _NONE, place[outer], _NONE) if len(node) else outer
    # Calls that carry arguments are one with the collective they lie in, or the first in them.
    call = np.arange(len(carries))
    inside = np.flatnonzero(around != _NONE)
    first_inside = np.full(len(carries), _NONE, dtype=np.int64)
    first_inside[around[inside][::-1]] = inside[::-1]
    wraps = carries & (first_inside != _NONE)
    call[wraps] = first_inside[wraps]
    lies_in = carries & (around != _NONE) & ~carries[around]
    call[lies_in] = around[lies_in]
    while not np.array_equal(call[call], call):
        call = call[call]
    return CollectiveCalls(node, carries, call, place)


@memoize_per_trace
def collective_work(trace: Trace) -> pl.DataFrame:
    """Communication on the device: its row in `trace.device`, times, and the call it belongs to.

    Calls are numbered as in :func:`collective_calls`.  Work that none of them made is a call of
    its own, with a number beyond theirs.
    """
    calls, device = collective_calls(trace), device_columns(trace)
    rows = np.flatnonzero(is_communication(trace))
    named = device_names(trace).matching(vendors.is_collective_kernel)[rows]
    named |= device_kinds(trace).among("collective")[rows]
    launched_in = link_launches(trace).node[rows]
    node = enclosing_calls(launched_in, call_forest(trace).parent, calls.place != _NONE)
    place = np.where(node != _NONE, calls.place[node], _NONE) if len(calls.node) else node
    # External ids may be anything: they count where nothing speaks against them.
    doubtful = np.flatnonzero((place == _NONE) & (named | (launched_in == _NONE)))
    if len(doubtful) and len(calls.node):
        wanted = numbers(device["external_id"])[rows[doubtful]]
        external_ids = numbers(host_columns(trace)["external_id"])[
            call_forest(trace).row[calls.node]
        ]
        place[doubtful] = np.where(wanted != 0, first_with_id(wanted, external_ids), _NONE)
    call = np.arange(len(rows)) + len(calls.node)
    has_call = place != _NONE
    call[has_call] = calls.call[place[has_call]]
    rows, call = rows[named | has_call], call[named | has_call]
    start = device["ts_ns"].to_numpy()[rows]
    return pl.DataFrame(
        {
            "name": device["name"].gather(rows).cast(pl.String),
            "row": rows,
            "call": call,
            "start_ns": start,
            "end_ns": start + device["dur_ns"].to_numpy()[rows],
        }
    )


@memoize_per_trace
def recorded_arguments(trace: Trace) -> pl.DataFrame:
    """What the host events of :func:`collective_calls` carry: `index`, and their inputs."""
    rows = call_forest(trace).row[collective_calls(trace).node]
    carried = trace.lazy("host").select("index", "input_dims", "input_types")
    return carried.collect()[rows]


# What the recording says about the arguments of each collective call.

_TEXTS = ("collective", "dtype", "group_name", "group_ranks", "group_description")
_NUMBERS = ("in_elements", "out_elements", "group_size", "sequence", "src_rank", "dst_rank")


@memoize_per_trace
def collective_arguments(trace: Trace) -> pl.DataFrame:
    """Arguments of collectives, and the `index` of the event that carries them."""
    return trace.lazy("collectives").select("index", *_TEXTS, *_NUMBERS).collect()


def arguments_of(call: Ints, trace: Trace) -> pl.DataFrame:
    """Arguments of each of these calls: those recorded on the host, for the rest of its kernels."""
    arguments = collective_arguments(trace)
    calls, work = collective_calls(trace), collective_work(trace)
    # Events that carry arguments, the most trustworthy ones first, and the row where these are.
    on_host = recorded_arguments(trace)["index"].to_numpy()
    on_device = trace.lazy("device").select("index").collect()["index"].to_numpy()
    carrier = np.concatenate([calls.call, work["call"].to_numpy()])
    index = np.concatenate([on_host, on_device[work["row"].to_numpy()]])
    indices = arguments["index"].to_numpy()
    row = first_with_id(index, indices) if len(indices) else np.full(len(index), _NONE)
    has_arguments = row != _NONE
    # For each call the value of the first event that tells one.
    first_values = (
        arguments[row[has_arguments]]
        .with_columns(call=pl.Series(carrier[has_arguments]))
        .group_by("call")
        .agg(
            (pl.col(name).drop_nulls() if arguments[name].null_count() else pl.col(name)).first()
            for name in (*_NUMBERS, *_TEXTS)
        )
    )
    return (
        pl.DataFrame({"call": call})
        .join(first_values, on="call", how="left", maintain_order="left")
        .select(*_NUMBERS, pl.col(_TEXTS).cast(pl.String))
    )


# What a collective call is about, put together from names, arguments, inputs and kernels.


def with_meaning(calls: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Add kind, library, group, peers and sizes to calls given by number and name.

    Names of calls that only carry arguments become that of the collective in them.
    """
    arguments = arguments_of(calls["call"].to_numpy(), trace)
    argument_name, carries = (
        arguments["collective"],
        calls["carries_arguments"].fill_null(value=False),
    )
    name = calls["name"].zip_with(argument_name.is_null() | ~carries, argument_name)
    kind = pl.select(
        pl.coalesce(_meanings(name, collective_kind), _meanings(argument_name, collective_kind))
    )
    collective = kind.to_series()
    # The library is told by the name, else by the kernels of the call.
    work = collective_work(trace)
    of_kernels = work.select("call", library=_meanings(work["name"], library_of)).drop_nulls()
    first = of_kernels.unique("call", keep="first")
    of_call = calls["call"].replace_strict(
        first["call"], first["library"], default=None, return_dtype=pl.String
    )
    backend = trace.metadata.distributed.backend or ""
    only_one = pl.lit(backend if backend.isalpha() else None, pl.String)
    groups = trace.metadata.distributed.groups
    size = groups[0].get("pg_size") if len(groups) == 1 else None
    only_size = pl.lit(size if isinstance(size, int) else None, pl.Int64)
    element = _meanings(arguments["dtype"], element_bytes, pl.Int64())
    inputs = [*calls.select("input_dims", "input_types").iter_rows()]
    bytes_by_input = {signature: bytes_of_inputs(*signature) for signature in set(inputs)}
    input_bytes = pl.Series([bytes_by_input[signature] for signature in inputs], dtype=pl.Int64)
    return calls.drop("name", "input_dims", "input_types").hstack(
        arguments.select(
            name=name,
            collective=collective,
            library=pl.coalesce(
                _meanings(name, library_of), of_call, pl.when(carries).then(only_one)
            ),
            dtype="dtype",
            group_ranks="group_ranks",
            sequence="sequence",
            group="group_name",
            group_size=pl.coalesce("group_size", only_size),
            size_bytes=pl.coalesce(
                pl.when(collective == "barrier").then(0),
                pl.col("in_elements") * element,
                input_bytes,
            ),
            out_bytes=pl.col("out_elements") * element,
            **_peers(name, collective, trace.metadata.distributed.rank),
        )
    )


def _peers(name: pl.Series, collective: pl.Series, this_rank: int | None) -> dict[str, pl.Expr]:
    """Sender and receiver: as recorded, as named, or the rank itself at its own end."""
    if not collective.is_in(ONE_SIDED).any():
        # What the names of others say about peers is nothing.
        return {rank: pl.col(rank) for rank in _PEERS}
    itself = pl.lit(this_rank, pl.Int64)
    return {
        rank: pl.coalesce(rank, named, pl.when(collective == own_end).then(itself))
        for (rank, named), own_end in zip(peers_of(pl.lit(name)).items(), ONE_SIDED, strict=True)
    }


def _meanings(
    column: pl.Series, meaning: Callable[[str], str | int | None], dtype: pl.DataType | None = None
) -> pl.Series:
    """What texts mean, asked once per distinct text."""
    wanted = dtype or pl.String()
    if column.null_count() == len(column):
        return pl.Series(column.name, [None] * len(column), dtype=wanted)
    texts = column.drop_nulls().unique()
    meanings = pl.Series([meaning(text) for text in texts], dtype=wanted)
    return column.replace_strict(texts, meanings, default=None, return_dtype=wanted)


# -- records of collectives ------------------------------------------------------------------------


RECORD_SCHEMA: dict[str, pl.DataType] = {
    "record": pl.Int64(),
    **dict.fromkeys(("name", "collective", "library", "group", "group_ranks"), pl.String()),
    **dict.fromkeys(("group_size", "sequence", "src_rank", "dst_rank"), pl.Int64()),
    "dtype": pl.String(),
    **dict.fromkeys(("size_bytes", "out_bytes", "host_start_ns", "host_end_ns"), pl.Int64()),
    "step": pl.String(),
    **dict.fromkeys(("start_ns", "end_ns", "latency_ns", "dur_ns"), pl.Int64()),
}
RANGE_SCHEMA = {
    "record": pl.Int64(),
    "on_device": pl.Boolean(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
}


def communication_records(trace: Trace) -> pl.DataFrame:
    """One row per collective call, in order of start.

    `name` is as recorded, `collective` what it means.  `size_bytes` is what the rank puts in and
    null where the source does not tell; host times are null for work known from the device only.
    `step` is the step the call lies in, null if in none.  `dur_ns` is how long the collective took:
    its kernels, or the host call of a library that moves data itself; null where such kernels are
    not recorded.  `latency_ns` is the time covered by the call and its kernels together.
    """
    return _communication(trace)[0]


def communication_ranges(trace: Trace) -> pl.DataFrame:
    """When each record was active: the range of its host call and one of each kernel and copy."""
    return _communication(trace)[1]


@memoize_per_trace
def _communication(trace: Trace) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Records and ranges."""
    calls, work = collective_calls(trace), collective_work(trace)
    if not len(calls.node) and work.is_empty():
        return pl.DataFrame(schema=RECORD_SCHEMA), pl.DataFrame(schema=RANGE_SCHEMA)
    described = _describe_calls(trace, calls, work)
    on_host = described["call"].to_numpy() < len(calls.node)
    ranges = _ranges(described, on_host, work)
    # The step each call was made in; for work of the device alone, the step it lies in.
    steps = find_steps(trace)
    start, end = described["start_ns"].to_numpy(), described["end_ns"].to_numpy()
    made_in = _inside(start, start, steps["host_start_ns"], steps["host_end_ns"])
    # A step starts when the device is done with the one before; the host may be ahead of that.
    lies_in = _inside(start, end, steps["start_ns"], steps["end_ns"])
    step = values_at(steps["name"], np.where(on_host & (made_in >= 0), made_in, lies_in))
    records = (
        described.lazy()
        .with_columns(step=step, **_spans(described, ranges))
        .select(pl.col(name).cast(dtype) for name, dtype in RECORD_SCHEMA.items())
    )
    return records.collect(), ranges


def _describe_calls(trace: Trace, calls: CollectiveCalls, work: pl.DataFrame) -> pl.DataFrame:
    """One row per call, numbered in order of start: names, arguments and host times."""
    forest, carried = call_forest(trace), recorded_arguments(trace)
    # Those that stand for themselves.
    independent = np.flatnonzero(calls.call == np.arange(len(calls.node)))
    node = calls.node[independent]
    times = {"start_ns": forest.start[node], "end_ns": forest.end[node]}
    rows = pl.DataFrame(
        {
            "call": independent,
            "name": forest.names_of(node),
            "carries_arguments": calls.carries_arguments[independent],
            **times,
            **{name: carried[name].gather(independent) for name in ("input_dims", "input_types")},
            **{f"host_{name}": values for name, values in times.items()},
        },
        schema_overrides={"name": pl.String, "input_dims": pl.String, "input_types": pl.String},
    )
    own_work = work["call"].to_numpy() >= len(calls.node)
    if own_work.any():
        work_rows = work.select("call", "name", "start_ns", "end_ns").filter(own_work)
        rows = pl.concat([rows, work_rows], how="diagonal_relaxed")
    described = with_meaning(rows, trace)
    # A call that only carries arguments may also wait or set up: nothing is moved then.
    moves = ~rows["carries_arguments"].fill_null(value=False).to_numpy()
    moves |= described["collective"].is_not_null().to_numpy()
    moves |= np.isin(described["call"].to_numpy(), work["call"].to_numpy())
    order = np.lexsort((-described["end_ns"].to_numpy(), described["start_ns"].to_numpy()))
    chosen: pl.DataFrame = described[order[moves[order]]]
    return chosen.with_row_index("record")


def _ranges(described: pl.DataFrame, on_host: Flags, work: pl.DataFrame) -> pl.DataFrame:
    """The host call of each record and, where the library works on the device, its kernels."""
    call, work_call = described["call"].to_numpy(), work["call"].to_numpy()
    record_of = np.full(1 + max(call.max(initial=0), work_call.max(initial=0)), -1)
    record_of[call] = np.arange(len(call))
    works_on_host = [library in HOST_LIBRARIES for library in described["library"].to_list()]
    record_of[call[works_on_host]] = -1
    of_work = record_of[work_call]
    has_record = of_work >= 0
    record = np.concatenate([np.flatnonzero(on_host), of_work[has_record]])
    start, end = (
        np.concatenate([described[time].to_numpy()[on_host], work[time].to_numpy()[has_record]])
        for time in ("start_ns", "end_ns")
    )
    order = np.lexsort((-end, start, record))
    return pl.DataFrame(
        {
            "record": record[order],
            "on_device": order >= np.count_nonzero(on_host),
            "start_ns": start[order],
            "end_ns": end[order],
        },
        schema=RANGE_SCHEMA,
    )


def _spans(described: pl.DataFrame, ranges: pl.DataFrame) -> dict[str, pl.Series]:
    """From the first start to the last end of each record, and what of it its ranges cover."""
    ends = ranges.group_by("record").agg(pl.col("start_ns").min(), pl.col("end_ns").max())
    every = described.select(pl.col("record").cast(pl.Int64))
    spans = every.join(ends, on="record", how="left", maintain_order="left")
    record, start, end = (ranges[name].to_numpy() for name in ("record", "start_ns", "end_ns"))
    latency = union_length_by_group(record, start, end, described.height)
    moves = moving_ranges(described["library"], record, ranges["on_device"].to_numpy())
    took = union_length_by_group(record[moves], start[moves], end[moves], described.height)
    has_moved = np.bincount(record[moves], minlength=described.height) > 0
    return {
        "start_ns": spans["start_ns"],
        "end_ns": spans["end_ns"],
        "latency_ns": latency,
        "dur_ns": pl.select(pl.when(pl.Series(has_moved)).then(took)).to_series(),
    }


def moving_ranges(library: pl.Series, record: Ints, on_device: Flags) -> Flags:
    """Which ranges of records move data: kernels, and host calls that do without any.

    `library` is that of each record, `record` the row of each range.  The host call of a library
    that launches kernels only announces them: without kernels nobody knows how long it took.
    """
    has_kernels = np.bincount(record[on_device], minlength=len(library)) > 0
    launches = (library.is_not_null() & ~library.is_in(HOST_LIBRARIES)).to_numpy()
    return np.asarray(on_device | ~(has_kernels | launches)[record])


def _inside(start: Ints, end: Ints, first: pl.Series, last: pl.Series) -> Ints:
    """The first step that ends after each start, if the whole range lies in it; else -1."""
    if first.is_empty():
        return np.full(len(start), -1, dtype=np.int64)
    begins, ends = first.to_numpy(), np.maximum.accumulate(last.to_numpy())
    step = np.minimum(np.searchsorted(ends, start, side="right"), len(ends) - 1)
    return np.where((start >= begins[step]) & (end <= ends[step]), step, -1)


def volume() -> pl.Expr:
    """The bytes a collective is about: of those that gather, what all ranks give together."""
    gathered = pl.coalesce("out_bytes", pl.col("size_bytes") * pl.col("group_size"))
    gathers = pl.col("collective").is_in(["all_gather", "gather"])
    return pl.when(gathers).then(gathered).otherwise("size_bytes")


def bus_share() -> pl.Expr:
    """What the busiest link carries for each byte, at best; null where the group is not known."""
    kind, ranks = pl.col("collective"), pl.col("group_size")
    to_others = (ranks - 1) / ranks
    return (
        pl.when(kind == "all_reduce")
        .then(2 * to_others)
        .when(kind.is_in(["all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"]))
        .then(to_others)
        .when(kind.is_in(["broadcast", "reduce", "send", "recv", "send_recv"]))
        .then(1.0)
    )


def sum_if_known(column: str) -> pl.Expr:
    """The sum of a column, null where any of it is not known."""
    return pl.when(pl.col(column).is_not_null().all()).then(pl.col(column).sum())


def per_second(volumes: str, times_ns: str) -> pl.Expr:
    """Bytes over the time they took; null where either is not known."""
    seconds = pl.col(times_ns).sum() / 1e9
    return pl.when(seconds > 0).then(sum_if_known(volumes) / seconds)
