"""Which events are one and the same collective call.

A call may be recorded up to three times: as an annotation (`nccl:all_reduce`), as the call that
carries its arguments, and as kernels and copies on the device.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import (
    device_columns,
    device_kinds,
    device_names,
    host_columns,
    numbers,
    once_per_trace,
)
from timesink.analyses.forest import Nodes, call_forest
from timesink.analyses.links import first_with_id, link_launches
from timesink.analyses.roles import is_communication
from timesink.model import vendors
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace
from timesink.model.vendors import library_in

# What collectives are called, how large their elements are, what they move.  Data.

ARGUMENTS_CALL = "record_param_comms"
"""The host call that carries the arguments of the collective around or inside it."""

HOST_LIBRARIES = ("gloo", "mpi")
"""Libraries whose calls do the transfer themselves; others launch kernels and return."""

ONE_SIDED = ("send", "recv")
"""A call of one rank is met by the other call of another rank."""

UNEVEN = ("all_to_all", "gather", "scatter", "send", "recv", "send_recv")
"""Ranks may move different amounts in one and the same call."""

_KINDS = (
    # Longer spellings first: "all_reduce" holds "reduce".
    ("all_to_all", re.compile(r"alltoall")),
    ("reduce_scatter", re.compile(r"reducescatter")),
    ("all_gather", re.compile(r"allgather|gatherall")),
    ("barrier", re.compile(r"barrier")),
    ("all_reduce", re.compile(r"allreduce|crossdevicereduce")),
    ("broadcast", re.compile(r"broadcast|bcast")),
    ("send_recv", re.compile(r"sendrecv")),
    ("send", re.compile(r"send")),
    ("recv", re.compile(r"recv|receive")),
    ("gather", re.compile(r"gather")),
    ("scatter", re.compile(r"scatter")),
    ("reduce", re.compile(r"reduce")),
)
_MORE_THAN_ANY_MEMORY = 2**60
_PREFIX = re.compile(r"^([a-z]+):")
_SEND = re.compile(r"send (\d+)->(\d+)")
_RECEIVE = re.compile(r"recv (\d+)<-(\d+)")
_DIMENSIONS = msgspec.json.Decoder(list[Any])

_ELEMENT_BYTES = {
    1: "bool char byte signed_char unsigned_char int8 uint8 int8_t uint8_t qint8 quint8",
    2: "half bfloat16 short short_int unsigned_short int16 uint16 float16",
    4: "float int unsigned_int int32 uint32 float32 qint32 complexhalf complex<half>",
    8: "double long long_int unsigned_long int64 uint64 float64 complexfloat complex<float>",
    16: "complexdouble complex<double>",
}
_BYTES_OF = {name: size for size, names in _ELEMENT_BYTES.items() for name in names.split()}


def collective_kind(name: str) -> str | None:
    """Which collective a call, an argument or a kernel names; None where it does not tell."""
    plain = name.lower().replace("_", "")
    return next((kind for kind, spelling in _KINDS if spelling.search(plain)), None)


def library_of(name: str) -> str | None:
    """The library that a call or a kernel belongs to."""
    prefix = _PREFIX.match(name)
    return prefix[1] if prefix else library_in(name)


def peers_of(name: str) -> list[int | None]:
    """Sender and receiver, where the name of a call tells them."""
    if sent := _SEND.search(name):
        return [int(sent[1]), int(sent[2])]
    if received := _RECEIVE.search(name):
        return [int(received[2]), int(received[1])]
    return [None, None]


def element_bytes(dtype: str) -> int | None:
    """Size of one element, in the spelling of operators or of collectives."""
    plain = dtype.lower().replace("c10::", "").replace(" ", "_")
    if plain.startswith(("float8", "float4")):  # of the latter, an element is a pair
        return 1
    return _BYTES_OF.get(plain)


def bytes_of_inputs(dims: str | None, types: str | None) -> int | None:
    """Size of the tensors among the inputs of an operator; None where it cannot be told."""
    shapes, kinds = _decoded(dims), _decoded(types)
    sizes = [
        _tensor_bytes(shape, kind)
        for shape, kind in zip(shapes, kinds, strict=False)
        if shape or kind not in {"", "Scalar", "ScalarList"}
    ]
    known = [size for size in sizes if size is not None]
    total = sum(known) if known and len(known) == len(sizes) else None
    return total if total is None or 0 <= total < _MORE_THAN_ANY_MEMORY else None


def _decoded(text: str | None) -> list[Any]:
    try:
        return _DIMENSIONS.decode(text or "[]")
    except msgspec.MsgspecError:
        return []


def _tensor_bytes(shape: Any, kind: Any) -> int | None:
    size = element_bytes(kind) if isinstance(kind, str) else None
    if size is None or not isinstance(shape, list):
        return None
    if not all(isinstance(extent, int) for extent in shape):
        return None
    return size * math.prod(shape)


_NONE = -1


# -- calls on the host -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CollectiveCalls:
    """Host calls named as collectives, in the order of the forest."""

    node: Nodes
    carries_arguments: Flags
    call: Nodes
    """For each: the one of them that stands for the same collective."""
    place: Nodes
    """For each node of the forest: its place in `node`, -1 for other calls."""

    @property
    def is_alone(self) -> Flags:
        """Those that stand for themselves."""
        return np.asarray(self.call == np.arange(len(self.node)))


@once_per_trace
def collective_calls(trace: Trace) -> CollectiveCalls:
    """Host calls named as collectives, and which of them are the same."""
    forest = call_forest(trace)
    node = np.flatnonzero(forest.named(vendors.is_collective_call))
    place = np.full(len(forest), _NONE, dtype=np.int64)
    place[node] = np.arange(len(node))
    carries = forest.named(lambda name: name == ARGUMENTS_CALL)[node]
    around = _nearest(forest.parent[node], place, forest.parent)
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


def _nearest(node: Nodes, place: Nodes, parent: Nodes) -> Nodes:
    """The collective call that each node is or lies in, as its place; -1 for none."""
    found = np.full(len(node), _NONE, dtype=np.int64)
    pending = np.flatnonzero(node != _NONE)
    at = node[pending]
    while len(pending):
        found[pending] = place[at]
        onward = (place[at] == _NONE) & (parent[at] != _NONE)
        pending, at = pending[onward], parent[at[onward]]
    return found


# -- work on the device ----------------------------------------------------------------------------


@once_per_trace
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
    place = _nearest(launched_in, calls.place, call_forest(trace).parent)
    # External ids may be anything: they count where nothing speaks against them.
    doubtful = np.flatnonzero((place == _NONE) & (named | (launched_in == _NONE)))
    if len(doubtful) and len(calls.node):
        wanted = numbers(device["external_id"])[rows[doubtful]]
        given = numbers(host_columns(trace)["external_id"])[call_forest(trace).row[calls.node]]
        place[doubtful] = np.where(wanted != 0, first_with_id(wanted, given), _NONE)
    call = np.arange(len(rows)) + len(calls.node)
    known = place != _NONE
    call[known] = calls.call[place[known]]
    rows, call = rows[named | known], call[named | known]
    start = device["ts_ns"].to_numpy()[rows]
    return pl.DataFrame(
        {
            "name": device["name"].gather(rows).cast(pl.String),
            "row": rows,
            "call": call,
            "start_ns": start,
            "end_ns": start + device["dur_ns"].to_numpy()[rows],
        },
    )


@once_per_trace
def recorded_arguments(trace: Trace) -> pl.DataFrame:
    """What the host events of :func:`collective_calls` carry: `index`, and their inputs."""
    rows = call_forest(trace).row[collective_calls(trace).node]
    carried = trace.lazy("host").select("index", "input_dims", "input_types")
    return carried.collect()[rows]


# What the recording says about the arguments of each collective call.

_TEXTS = ("collective", "dtype", "group_name", "group_ranks", "group_description")
_NUMBERS = ("in_elements", "out_elements", "group_size", "sequence", "src_rank", "dst_rank")


@once_per_trace
def collective_arguments(trace: Trace) -> pl.DataFrame:
    """Arguments of collectives, and the `index` of the event that carries them."""
    return trace.lazy("collectives").select("index", *_TEXTS, *_NUMBERS).collect()


def arguments_of(call: Ints, trace: Trace) -> pl.DataFrame:
    """Arguments of each of these calls: those recorded on the host, for the rest of its kernels."""
    given = collective_arguments(trace)
    carriers = _carriers(given, trace)
    # All columns at once: a query of their own for each would take longer than the rest.
    found = {name: _taken(given[name], carriers.first(given[name], call)) for name in _NUMBERS}
    texts = {name: _taken(given[name], carriers.first(given[name], call)) for name in _TEXTS}
    return given.select(**found, **{name: text.cast(pl.String) for name, text in texts.items()})


def _taken(column: pl.Series, rows: Ints) -> pl.Expr:
    known = rows != _NONE
    if not known.any():
        return pl.lit(pl.Series([None], dtype=column.dtype).new_from_index(0, len(rows)))
    taken = pl.col(column.name).gather(np.maximum(rows, 0))
    return taken if known.all() else pl.when(pl.lit(pl.Series(known))).then(taken)


@dataclass(frozen=True, slots=True, eq=False)
class _Carriers:
    """Events that carry arguments, the most trustworthy ones first."""

    call: Ints
    row: Ints
    """Where their arguments are."""

    def first(self, column: pl.Series, call: Ints) -> Ints:
        """For each call the row of the first event that tells a value; -1 where none does."""
        row_of = np.full(1 + max(call.max(initial=0), self.call.max(initial=0)), _NONE)
        call_of, row = self.call, self.row
        if column.null_count():
            told = column.is_not_null().to_numpy()[row]
            call_of, row = call_of[told], row[told]
        # Of several entries for a call the last one stays.
        row_of[call_of[::-1]] = row[::-1]
        return np.asarray(row_of[call])


def _carriers(given: pl.DataFrame, trace: Trace) -> _Carriers:
    calls, work = collective_calls(trace), collective_work(trace)
    on_host = recorded_arguments(trace)["index"].to_numpy()
    on_device = trace.lazy("device").select("index").collect()["index"].to_numpy()
    call = np.concatenate([calls.call, work["call"].to_numpy()])
    index = np.concatenate([on_host, on_device[work["row"].to_numpy()]])
    known = given["index"].to_numpy()
    if not len(known):
        return _Carriers(call[:0], call[:0])
    order = np.argsort(known, kind="stable")
    row = order[np.minimum(np.searchsorted(known[order], index), len(known) - 1)]
    carries = known[row] == index
    return _Carriers(call[carries], row[carries])


# What a collective call is about, put together from names, arguments, inputs and kernels.

Told = TypeVar("Told", bound=Hashable)
Meaning = TypeVar("Meaning")


def with_meaning(found: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Add kind, library, group, peers and sizes to calls given by number and name.

    Names of calls that only carry arguments become that of the collective in them.
    """
    given = arguments_of(found["call"].to_numpy(), trace)
    told = given["collective"].to_list()
    carries = [bool(each) for each in found["carries_arguments"].to_list()]
    names = [
        other if only and other is not None else name
        for name, other, only in zip(found["name"].to_list(), told, carries, strict=True)
    ]
    kinds = _either(_told(names, collective_kind), _told(told, collective_kind))
    backend = trace.metadata.distributed.backend or ""
    only_one = backend if backend.isalpha() else None
    of_kernels = _libraries(found["call"].to_list(), collective_work(trace))
    libraries = _either(
        _either(_told(names, library_of), of_kernels),
        [only_one if only else None for only in carries],
    )
    texts = {"name": names, "collective": kinds, "library": libraries}
    return found.drop("name", "input_dims", "input_types").hstack(
        given.select(
            *(pl.Series(name, values, dtype=pl.String) for name, values in texts.items()),
            "dtype",
            "group_ranks",
            "sequence",
            group="group_name",
            group_size=pl.coalesce("group_size", pl.lit(_only_group_size(trace), pl.Int64)),
            **_sizes(found, given["dtype"], kinds),
            **_peers(names, kinds, trace),
        )
    )


def _libraries(calls: Sequence[int], work: pl.DataFrame) -> list[str | None]:
    """The library the kernels of each call belong to."""
    of_kernel = _told(work["name"].to_list(), library_of)
    of_call: dict[int, str] = {}
    for call, library in zip(work["call"].to_list(), of_kernel, strict=True):
        if library is not None:
            of_call.setdefault(call, library)
    return [of_call.get(call) for call in calls]


def _only_group_size(trace: Trace) -> int | None:
    groups = trace.metadata.distributed.groups
    size = groups[0].get("pg_size") if len(groups) == 1 else None
    return size if isinstance(size, int) else None


def _sizes(
    found: pl.DataFrame, dtypes: pl.Series, kinds: Sequence[str | None]
) -> dict[str, pl.Expr]:
    element = _integers(_told(dtypes.to_list(), element_bytes))
    inputs = zip(*(found[name].to_list() for name in ("input_dims", "input_types")), strict=True)
    input_bytes = _told([*inputs], lambda given: bytes_of_inputs(*given))
    nothing = [0 if kind == "barrier" else None for kind in kinds]
    return {
        "size_bytes": pl.coalesce(
            _integers(nothing), pl.col("in_elements") * element, _integers(input_bytes)
        ),
        "out_bytes": pl.col("out_elements") * element,
    }


def _peers(
    names: Sequence[str | None], kinds: Sequence[str | None], trace: Trace
) -> dict[str, pl.Expr]:
    """Sender and receiver: as recorded, as named, or the rank itself at its own end."""
    own = trace.metadata.distributed.rank
    ends = (("src_rank", "send"), ("dst_rank", "recv"))
    if not any(kind in ONE_SIDED for kind in set(kinds)):
        # What the names of others say about peers is nothing.
        return {rank: pl.col(rank) for rank, _ in ends}
    found: dict[str, pl.Expr] = {}
    for end, (rank, own_end) in enumerate(ends):
        said = _told(names, _peer(end))
        itself = [own if kind == own_end else None for kind in kinds]
        found[rank] = pl.coalesce(rank, _integers(_either(said, itself)))
    return found


def _peer(end: int) -> Callable[[str], int | None]:
    return lambda name: peers_of(name)[end]


def _told(
    given: Sequence[Told | None], meaning: Callable[[Told], Meaning | None]
) -> list[Meaning | None]:
    """What texts mean, asked once per distinct text."""
    meant = {text: None if text is None else meaning(text) for text in set(given)}
    return [meant[text] for text in given]


def _either(
    first: Sequence[Meaning | None], second: Sequence[Meaning | None]
) -> list[Meaning | None]:
    """The first where it is known, else the second, row for row."""
    return [b if a is None else a for a, b in zip(first, second, strict=True)]


def _integers(values: Sequence[int | None]) -> pl.Expr:
    return pl.lit(pl.Series(values, dtype=pl.Int64))
