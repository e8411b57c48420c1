"""What a collective call is about, put together from names, arguments, inputs and kernels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import polars as pl

from timesink.analyses.communication import kinds as collectives
from timesink.analyses.communication.arguments import arguments_of
from timesink.analyses.communication.calls import collective_work
from timesink.model.trace import Trace

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
    kinds = _either(
        _told(names, collectives.collective_kind), _told(told, collectives.collective_kind)
    )
    backend = trace.metadata.distributed.backend or ""
    only_one = backend if backend.isalpha() else None
    of_kernels = _libraries(found["call"].to_list(), collective_work(trace))
    libraries = _either(
        _either(_told(names, collectives.library_of), of_kernels),
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
    of_kernel = _told(work["name"].to_list(), collectives.library_of)
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
    element = _integers(_told(dtypes.to_list(), collectives.element_bytes))
    inputs = zip(*(found[name].to_list() for name in ("input_dims", "input_types")), strict=True)
    input_bytes = _told([*inputs], lambda given: collectives.input_bytes(*given))
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
    if not any(kind in collectives.ONE_SIDED for kind in set(kinds)):
        # What the names of others say about peers is nothing.
        return {rank: pl.col(rank) for rank, _ in ends}
    found: dict[str, pl.Expr] = {}
    for end, (rank, own_end) in enumerate(ends):
        said = _told(names, _peer(end))
        itself = [own if kind == own_end else None for kind in kinds]
        found[rank] = pl.coalesce(rank, _integers(_either(said, itself)))
    return found


def _peer(end: int) -> Callable[[str], int | None]:
    return lambda name: collectives.peers_of(name)[end]


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
