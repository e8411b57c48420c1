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
from timesink.analyses.row_groups import Groups, joint, numbered, stacked
from timesink.model.arrays import Flags, Ints

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


def match_calls(workers: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The records of all workers, with a number in `match` that equal calls share.

    `what` is the name of the call, or the pair of ranks for sending and receiving.
    """
    calls = stacked(workers, "worker", pl.Enum(list(workers)))
    calls = calls.with_columns(what=_what(calls))
    party = joint(*(numbered(calls[name]) for name in _GROUP))
    worker = calls["worker"].to_physical().to_numpy().astype(np.int64)
    sequence = _if_all_know(calls["sequence"], party)
    uneven = calls["collective"].is_in(UNEVEN).fill_null(value=False).to_numpy()
    size = _if_all_know(calls["size_bytes"], party, unless=uneven)
    key = joint(party, size, sequence)
    mine = Groups.of(joint(key, worker))
    told = sequence > 0
    step = np.where(told | _is_even(key, mine), 0, 1 + numbered(calls["step"]))
    place = mine.places if not step.any() else Groups.of(joint(key, step, worker)).places
    return calls.with_columns(
        pl.Series("match", joint(key, step, place), dtype=pl.UInt32),
        pl.Series("party", party, dtype=pl.UInt32),
    )


def find_mismatches(matched: pl.DataFrame, ranks: Mapping[str, int | None]) -> pl.DataFrame:
    """Calls that workers of the group lack: what they are, who has them and who does not.

    `ranks` gives the rank of every worker, those without any call included.
    """
    columns = [name for name in MISMATCH_SCHEMA if name not in {"present", "missing"}]
    # The workers each group of calls is expected on, by its number.
    asked = ["group_ranks", "group_size", "collective", "src_rank", "dst_rank"]
    parties = (
        matched.lazy()
        .select("party", "worker", *asked)
        .unique(["party", "worker"], keep="first", maintain_order=True)
        .with_columns(pl.col("worker").cast(pl.String))
        .group_by("party", maintain_order=True)
        .agg(pl.col(asked).first(), seen="worker")
        .sort("party")
        .collect()
    )
    participants = [_expected(party, ranks) for party in parties.iter_rows(named=True)]
    # Who has a call is among those it is expected on: only where some lack it lists are made.
    match, party = matched["match"].to_numpy(), matched["party"].to_numpy()
    wanted = np.array([len(expected) for expected in participants], dtype=np.int64)
    lacking = np.flatnonzero(np.bincount(match)[match] < wanted[party]) if len(match) else match
    found = (
        matched[lacking]
        .with_columns(pl.col("worker").cast(pl.String))
        .group_by("match", "party", maintain_order=True)
        .agg(*(pl.col(name).first() for name in columns), present="worker")
        .sort("match")
    )
    expected = [participants[party] for party in found["party"].to_list()]
    return (
        found.with_columns(expected=pl.Series(expected, dtype=pl.List(pl.String())))
        .with_columns(missing=pl.col("expected").list.set_difference("present"))
        .with_columns(pl.col("present", "missing").list.sort())
        .select(pl.col(name).cast(dtype) for name, dtype in MISMATCH_SCHEMA.items())
    )


# -- keys ------------------------------------------------------------------------------------------


def _what(calls: pl.DataFrame) -> pl.Series:
    one_sided = pl.col("collective").is_in(ONE_SIDED).fill_null(value=False)
    by_itself = (pl.col("group_size") == 1).fill_null(value=False)
    special = calls.select(one_sided | by_itself).to_series()
    if not special.any():
        return calls["name"]
    pair = pl.format("{} {}->{}", pl.col("library").fill_null(""), "src_rank", "dst_rank")
    # Nobody else takes part, or nobody can tell who does.
    alone = pl.format("{} of {}", "name", "worker")
    what = pl.when(one_sided).then(pl.coalesce(pair, alone)).otherwise(alone)
    # Texts are put together for these alone: there may be a million others.
    found = calls.filter(special).select(what).to_series()
    return calls["name"].scatter(special.arg_true(), found)


def _if_all_know(values: pl.Series, party: Ints, *, unless: Flags | None = None) -> Ints:
    """A number for each value, from 1 on, as far as every worker states one; else 0."""
    unknown = values.is_null().to_numpy()
    unknown = unknown if unless is None else unknown | unless
    some_lack = np.bincount(party[unknown], minlength=int(party.max(initial=0)) + 1) > 0
    return np.where(some_lack[party], 0, 1 + numbered(values))


def _is_even(key: Ints, mine: Groups) -> Flags:
    """Whether all workers that have calls with the same key have equally many of them."""
    if not len(key):
        return np.zeros(0, dtype=np.bool_)
    many = np.diff(mine.first, append=len(key))
    of = key[mine.order[mine.first]]
    most, fewest = np.zeros(key.max() + 1, np.int64), np.full(key.max() + 1, len(key))
    np.maximum.at(most, of, many)
    np.minimum.at(fewest, of, many)
    return np.asarray((most == fewest)[key])


# -- who takes part --------------------------------------------------------------------------------


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
