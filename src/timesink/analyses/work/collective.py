"""Collectives: what one device sends at least, by the best known way of each.

All-reduce sends 2 (n - 1) / n of its size, gathering and scattering (n - 1) / n of what all devices
hold together, a broadcast or a message its size: the shares that bus bandwidths are measured by.
Sums on the way are not counted.
"""

from __future__ import annotations

import re
from functools import cache

import polars as pl

from timesink.analyses.communication.calls import collective_kind, element_bytes
from timesink.analyses.communication.records import bus_share
from timesink.analyses.work.arguments import CallArguments, Tensor
from timesink.analyses.work.work import Work

_MANY = 10**9
_GATHERED, _SCATTERED = ("all_gather", "gather"), ("reduce_scatter", "scatter")
_KERNEL_TYPE = re.compile(r"_(?:Sum|Min|Max|Prod|PreMulSum|SumPostDiv)_(\w+?)(?:_[A-Z]|\W|$)")
_SHORT_TYPE = re.compile(r"(bf|f|i|u)(\d+)")
_LETTERS = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint"}


@cache
def sent_share(kind: str, devices: int) -> float | None:
    """What a device sends of a collective's size; None for what moves nothing.

    >>> sent_share("all_reduce", 8)
    1.75
    """
    asked = pl.DataFrame({"collective": [kind], "group_size": [devices]})
    share = asked.select(bus_share()).item()
    return None if share is None else float(share)


def _kind(call: CallArguments) -> str | None:
    """Which collective it is: by what it says, by its name, by what it launched."""
    told = call.extra.get("collective", "")
    names = (told, call.name.rpartition(":")[2], *(one.kernel for one in call.launches))
    return next((kind for kind in map(collective_kind, names) if kind), None)


def _devices(call: CallArguments) -> int | None:
    told = call.extra.get("group_size", "")
    if told.isdigit():
        return int(told)
    return call.integer("devices") or call.facts.world_size


def _list_width(call: CallArguments) -> tuple[float, str]:
    """Bytes of an element of a list: kernels say it in their names."""
    for launch in call.launches:
        if found := _KERNEL_TYPE.search(launch.kernel):
            short = _SHORT_TYPE.match(found[1])
            spelled = _LETTERS[short[1]] + short[2] if short else found[1]
            if width := element_bytes(spelled):
                return float(width), ""
    return Tensor((), call.facts.usual_type).element_bytes, "type: the usual one"


def _size(call: CallArguments, name: str) -> tuple[float, str]:
    """Bytes of a tensor, or of a list of them, and what was taken for granted."""
    if given := call.tensor(name):
        return given.elements * given.element_bytes, ""
    members = call.tensor_list(name)
    if all(one.element_bytes for one in members):
        return sum(one.elements * one.element_bytes for one in members), ""
    width, assumed = _list_width(call)
    return sum(one.elements for one in members) * width, assumed


def _recorded(call: CallArguments) -> tuple[float, float]:
    """Bytes put in and taken out, from the numbers that go with a call."""
    told = call.extra
    width = element_bytes(told.get("dtype", "")) or 0
    counts = (told.get(column, "") for column in ("in_elements", "out_elements"))
    given, taken = (int(text) * width if text.isdigit() else 0 for text in counts)
    return given, taken


def collective(call: CallArguments) -> Work | None:
    """What is put in is read, what comes out is written, and a share of it is sent."""
    kind, devices = _kind(call), _devices(call)
    share = sent_share(kind, devices or _MANY) if kind else None
    if kind is None or share is None:
        return None
    given, taken = _recorded(call)
    notes = [] if devices else ["devices not recorded: taken as many"]
    if not given and not taken:
        given, assumed = _size(call, "given")
        taken, also = _size(call, "output")
        notes += [note for note in (assumed or also,) if note]
    # With one of the two sizes the other follows.
    count = devices or 1
    if kind in _GATHERED:
        taken = taken or given * count
        given, volume = given or taken / count, taken
    elif kind in _SCATTERED:
        given = given or taken * count
        taken, volume = taken or given / count, given
    else:
        given = volume = given or taken
        taken = taken or given
    if not volume:
        return None
    return Work(
        read_bytes=given,
        written_bytes=taken,
        wire_bytes=volume * share,
        assumed="; ".join(notes),
    )
