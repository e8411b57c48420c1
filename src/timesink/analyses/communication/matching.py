"""Which collective calls of different workers are the same call.

Process group and sequence number tell, together with what is done to how many bytes.  Where they
were not recorded, the first call of a name is the first one on every worker, and so on; if some
workers lack calls, counting starts anew with every step, so that one missing call does not shift
all that follow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.communication.kinds import ONE_SIDED, UNEVEN

MISMATCH_SCHEMA = {
    "name": pl.String(),
    "collective": pl.String(),
    "group": pl.String(),
    "sequence": pl.Int64(),
    "size_bytes": pl.Int64(),
    "step": pl.String(),
    "present": pl.List(pl.String()),
    "missing": pl.List(pl.String()),
}
_GROUP = ["what", "group", "group_ranks"]
_KEY = [*_GROUP, "sequence_key", "size_key"]
_CALL = [*_KEY, "step_key", "place"]


def match_calls(workers: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The records of all workers, with a number in `match` that equal calls share.

    `what` is the name of the call, or the pair of ranks for sending and receiving.

    >>> from timesink.analyses.communication.records import RECORD_SCHEMA
    >>> call = pl.DataFrame([{"name": "nccl:all_reduce"}], schema=RECORD_SCHEMA)
    >>> match_calls({"rank0": call, "rank1": call})["match"].to_list()
    [0, 0]
    """
    keyed = (
        together(workers)
        .with_columns(what=_what())
        .with_columns(**_arguments_all_know())
        .with_columns(calls=pl.len().over("worker", *_KEY))
        .with_columns(step_key=_step_unless_even())
        .with_columns(place=pl.int_range(pl.len()).over("worker", *_KEY, "step_key"))
    )
    matches = keyed.select(_CALL).unique(maintain_order=True).with_row_index("match")
    return keyed.join(matches, on=_CALL, how="left", nulls_equal=True, maintain_order="left").drop(
        "sequence_key", "size_key", "step_key", "calls", "place"
    )


def together(workers: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The rows of all workers, with the name of each in `worker`.

    >>> few, more = (pl.DataFrame({"calls": range(many)}) for many in (1, 2))
    >>> together({"a": few, "b": more})["worker"].to_list()
    ['a', 'b', 'b']
    """
    names = pl.Series("worker", list(workers), dtype=pl.Enum(list(workers)))
    heights = [frame.height for frame in workers.values()]
    worker = names.gather(np.repeat(np.arange(len(workers)), heights))
    return pl.concat(workers.values()).with_columns(worker)


def find_mismatches(matched: pl.DataFrame, ranks: Mapping[str, int | None]) -> pl.DataFrame:
    """Calls that workers of the group lack: what they are, who has them and who does not.

    `ranks` gives the rank of every worker, those without any call included.

    >>> from timesink.analyses.communication.records import RECORD_SCHEMA
    >>> call = pl.DataFrame([{"name": "nccl:all_reduce"}], schema=RECORD_SCHEMA)
    >>> matched = match_calls({"rank0": call, "rank1": call.clear()})
    >>> find_mismatches(matched, {"rank0": 0, "rank1": 1}).select("name", "missing").rows()
    [('nccl:all_reduce', ['rank1'])]
    """
    columns = [name for name in MISMATCH_SCHEMA if name not in {"present", "missing"}]
    matched = matched.with_columns(pl.col("worker").cast(pl.String))
    found = (
        matched.group_by("match", *_GROUP, maintain_order=True)
        .agg(*(pl.col(name).first() for name in columns if name not in _GROUP), present="worker")
        .join(_participants(matched, ranks), on=_GROUP, how="left", nulls_equal=True)
        .with_columns(missing=pl.col("expected").list.set_difference("present"))
        .filter(pl.col("missing").list.len() > 0)
        .sort("match")
    )
    order = pl.col("present", "missing").list.sort()
    return found.with_columns(order).select(
        pl.col(name).cast(dtype) for name, dtype in MISMATCH_SCHEMA.items()
    )


# -- keys ------------------------------------------------------------------------------------------


def _what() -> pl.Expr:
    one_sided = pl.col("collective").is_in(ONE_SIDED)
    pair = pl.format("{} {}->{}", pl.col("library").fill_null(""), "src_rank", "dst_rank")
    # Nobody else takes part, or nobody can tell who does.
    alone = pl.format("{} of {}", "name", "worker")
    return (
        pl.when(one_sided)
        .then(pl.coalesce(pair, alone))
        .when(pl.col("group_size") == 1)
        .then(alone)
        .otherwise("name")
    )


def _arguments_all_know() -> dict[str, pl.Expr]:
    """Sequence and size, as far as every worker states them for these calls."""
    sequence = pl.col("sequence")
    size = pl.when(~pl.col("collective").is_in(UNEVEN).fill_null(value=False)).then("size_bytes")
    return {
        "sequence_key": pl.when(sequence.is_not_null().all().over(_GROUP)).then(sequence),
        "size_key": pl.when(size.is_not_null().all().over(_GROUP)).then(size),
    }


def _step_unless_even() -> pl.Expr:
    even = pl.col("calls").n_unique().over(_KEY) == 1
    return pl.when(pl.col("sequence_key").is_null() & ~even).then("step")


# -- who takes part --------------------------------------------------------------------------------


def _participants(matched: pl.DataFrame, ranks: Mapping[str, int | None]) -> pl.DataFrame:
    """The workers each group of calls is expected on."""
    groups = matched.group_by(_GROUP, maintain_order=True).agg(
        pl.col("group_size", "collective", "src_rank", "dst_rank").first(), seen="worker"
    )
    expected = [_expected(group, ranks) for group in groups.iter_rows(named=True)]
    return groups.select(_GROUP).with_columns(
        expected=pl.Series(expected, dtype=pl.List(pl.String()))
    )


def _expected(group: Mapping[str, Any], ranks: Mapping[str, int | None]) -> list[str]:
    seen, size = set(group["seen"]), group["group_size"]
    if group["collective"] in ONE_SIDED:
        members = {group["src_rank"], group["dst_rank"]}
    elif group["group_ranks"] is not None:
        members = _listed(group["group_ranks"])
    else:
        # Nobody says who is in the group: everybody, if it is large enough for that.
        return sorted(seen if size is not None and size < len(ranks) else ranks)
    named = {worker for worker, rank in ranks.items() if rank is not None and rank in members}
    # Ranks may be counted inside the group: then they name the wrong workers.
    return sorted(named if size != 1 and seen <= named else seen)


def _listed(text: str) -> set[Any]:
    try:
        ranks = json.loads(text)
    except ValueError:  # long lists are cut
        return set()
    return set(ranks) if isinstance(ranks, list) else set()
