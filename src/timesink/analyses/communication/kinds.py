"""What collectives are called, how large their elements are, what they move.  Data."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from timesink.model.vendors import library_in

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


def input_bytes(dims: str | None, types: str | None) -> int | None:
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
