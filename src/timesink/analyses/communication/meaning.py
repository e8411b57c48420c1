"""What a collective call is about, put together from names, arguments, inputs and kernels."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from timesink.analyses.communication import kinds as collectives
from timesink.analyses.communication.calls import collective_calls, collective_work
from timesink.analyses.forest import call_forest
from timesink.model.trace import Trace

_ARGUMENTS = (
    "collective",
    "dtype",
    "in_elements",
    "out_elements",
    "group_name",
    "group_ranks",
    "group_size",
    "sequence",
    "src_rank",
    "dst_rank",
)
_BETWEEN = "\0"
"""Stands in no JSON text."""


def with_meaning(found: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Add kind, library, group, peers and sizes to calls given by number and name.

    Names of calls that only carry arguments become that of the collective in them.

    >>> import timesink
    >>> call = {"call": 0, "name": "nccl:all_reduce", "carries_arguments": False}
    >>> inputs = {"input_dims": "[[256]]", "input_types": '["c10::Half"]'}
    >>> meant = with_meaning(pl.DataFrame([call | inputs]), timesink.open(timesink.sample()))
    >>> meant.select("collective", "library", "size_bytes").row(0)
    ('all_reduce', 'nccl', 512)
    """
    carries = pl.col("carries_arguments").fill_null(value=False)
    given = pl.col("collective_given")
    recorded = (
        found.join(_arguments(trace), on="call", how="left", maintain_order="left")
        .join(_libraries(collective_work(trace)), on="call", how="left", maintain_order="left")
        .with_columns(name=pl.when(carries).then(pl.coalesce(given, "name")).otherwise("name"))
    )
    backend = trace.metadata.distributed.backend or ""
    only_one = pl.lit(backend if backend.isalpha() else None, pl.String)
    kinds = [_told(recorded[text], collectives.collective_kind, pl.String())
             for text in ("name", "collective_given")]  # fmt: skip
    library = _told(recorded["name"], collectives.library_of, pl.String())
    size = pl.when(pl.col("collective") == "barrier").then(0).otherwise("size_bytes")
    return recorded.with_columns(
        collective=pl.coalesce(*map(pl.lit, kinds)),
        library=pl.coalesce(pl.lit(library), "kernel_library", pl.when(carries).then(only_one)),
        group_size=pl.coalesce("group_size", pl.lit(_only_group_size(trace), pl.Int64)),
        **_sizes(recorded),
    ).with_columns(size_bytes=size, **_peers(recorded, trace))


def _arguments(trace: Trace) -> pl.DataFrame:
    """Arguments of each call: those recorded on the host, and for the rest those of kernels."""
    calls, work = collective_calls(trace), collective_work(trace)
    host = trace.lazy("host").select("index").collect()["index"]
    device = trace.lazy("device").select("index").collect()["index"]
    carriers = pl.concat(
        [
            pl.DataFrame(
                {
                    "call": calls.call,
                    "index": host.gather(call_forest(trace).row[calls.node]),
                }
            ),
            pl.DataFrame({"call": work["call"], "index": device.gather(work["row"])}),
        ]
    )
    given = trace.lazy("collectives").select("index", *_ARGUMENTS).collect()
    text = pl.selectors.categorical()
    return (
        carriers.join(given, on="index", maintain_order="left")
        .with_columns(text.cast(pl.String))
        .group_by("call", maintain_order=True)
        .agg(pl.col(name).drop_nulls().first() for name in _ARGUMENTS)
        .rename({"collective": "collective_given", "group_name": "group"})
    )


def _libraries(work: pl.DataFrame) -> pl.DataFrame:
    """The library the kernels of a call belong to."""
    library = _told(work["name"], collectives.library_of, pl.String())
    return (
        work.select("call", kernel_library=library)
        .group_by("call")
        .agg(pl.col("kernel_library").drop_nulls().first())
    )


def _only_group_size(trace: Trace) -> int | None:
    groups = trace.metadata.distributed.groups
    size = groups[0].get("pg_size") if len(groups) == 1 else None
    return size if isinstance(size, int) else None


def _sizes(recorded: pl.DataFrame) -> dict[str, pl.Expr]:
    element = pl.lit(_told(recorded["dtype"], collectives.element_bytes, pl.Int64()))
    inputs = pl.concat_str("input_dims", "input_types", separator=_BETWEEN)
    input_bytes = _told(
        recorded.select(inputs).to_series(),
        lambda text: collectives.input_bytes(*text.split(_BETWEEN)),
        pl.Int64(),
    )
    return {
        "size_bytes": pl.coalesce(pl.col("in_elements") * element, pl.lit(input_bytes)),
        "out_bytes": pl.col("out_elements") * element,
    }


def _peers(recorded: pl.DataFrame, trace: Trace) -> dict[str, pl.Expr]:
    """Sender and receiver: as recorded, as named, or the rank itself at its own end."""
    own = pl.lit(trace.metadata.distributed.rank, pl.Int64)
    ends = (("src_rank", "send"), ("dst_rank", "recv"))
    # Column by column: a series of lists takes longer to build than all the rest.
    named = [_told(recorded["name"], _peer(end), pl.Int64()) for end in range(len(ends))]
    return {
        rank: pl.coalesce(rank, pl.lit(said), pl.when(pl.col("collective") == kind).then(own))
        for (rank, kind), said in zip(ends, named, strict=True)
    }


def _peer(end: int) -> Callable[[str], int | None]:
    return lambda name: collectives.peers_of(name)[end]


def _told(texts: pl.Series, meaning: Callable[[str], object], dtype: pl.DataType) -> pl.Series:
    """What texts mean, asked once per distinct text."""
    given = texts.to_list()
    meant = {text: None if text is None else meaning(text) for text in set(given)}
    return pl.Series(texts.name, [meant[text] for text in given], dtype=dtype)
