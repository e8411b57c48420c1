"""Which collectives of a run move their data slower or faster than they did."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.communication.calls import ONE_SIDED
from timesink.analyses.ranks.analysis import RanksAnalysis
from timesink.analyses.ranks.features import LEAST_SHARE, far_from_usual, step_mean
from timesink.analyses.ranks.lateness import SOURCES
from timesink.analyses.ranks.matching import GROUP_KEY
from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.statistics.drift import mean_changes
from timesink.analyses.statistics.ranks import ALPHA, false_discovery
from timesink.model.arrays import Floats

COLLECTIVE_CHANGE_SCHEMA = {
    "group_kind": pl.String(),
    "collective": pl.String(),
    "dtype": pl.String(),
    "size_bytes": pl.Int64(),
    "group_size": pl.Int64(),
    "calls_base": pl.Float64(),
    "calls_new": pl.Float64(),
    "transfer_base_ns": pl.Float64(),
    "transfer_new_ns": pl.Float64(),
    "wait_base_ns": pl.Float64(),
    "wait_new_ns": pl.Float64(),
    "bus_base_bytes_per_s": pl.Float64(),
    "bus_new_bytes_per_s": pl.Float64(),
    "change_ns": pl.Float64(),
    "p_value": pl.Float64(),
    "changed": pl.Boolean(),
}
"""Times are means of a call.  `calls` are those of the whole run in a step, `change_ns` is what the
transfers of a step take longer; `p_value` is corrected for the number of rows and null where it
could not be tested."""

_KIND = ["group_kind", "collective", "dtype", "size_bytes", "group_size"]
_TESTED = _KIND[1:]
_LEAST_CHANGE = 0.05
_LEAST_OF_STEP = 0.002


def collective_changes(base: RankSet, new: RankSet) -> pl.DataFrame:
    """Rows of `COLLECTIVE_CHANGE_SCHEMA`, those that changed first, then by what they add."""
    sides = [_side(each, name) for each, name in ((base, "base"), (new, "new"))]
    both = sides[0].join(sides[1], on=_KIND, how="full", coalesce=True, nulls_equal=True)
    if both.is_empty():
        return pl.DataFrame(schema=COLLECTIVE_CHANGE_SCHEMA)
    more = pl.col("transfer_new_ns") - pl.col("transfer_base_ns")
    usual = pl.min_horizontal("calls_base", "calls_new")
    step_ns = max(base.analysis.panel.step_ns, 1.0)
    counts = (
        (pl.col("p_value") < ALPHA)
        & (more.abs() > _LEAST_CHANGE * pl.col("transfer_base_ns"))
        & (pl.col("change_ns").abs() > _LEAST_OF_STEP * step_ns * pl.col("groups"))
    )
    return (
        both.join(_tested(base, new), on=_TESTED, how="left", nulls_equal=True)
        .with_columns(change_ns=more * usual)
        .with_columns(changed=counts.fill_null(value=False))
        .sort("changed", pl.col("change_ns").abs(), *_KIND, descending=[True, True] + [False] * 5,
              nulls_last=True)
        .select(pl.col(name).cast(dtype) for name, dtype in COLLECTIVE_CHANGE_SCHEMA.items())
    )  # fmt: skip


def _side(ranks: RankSet, side: str) -> pl.DataFrame:
    found = ranks.analysis
    steps = max(found.collectives["step"].n_unique(), 1)
    table = found.matched.select(
        *_KIND,
        (pl.col("calls") / steps).alias(f"calls_{side}"),
        pl.col("transfer_mean_ns").alias(f"transfer_{side}_ns"),
        pl.col("wait_mean_ns").alias(f"wait_{side}_ns"),
        pl.col("bus_bytes_per_s").alias(f"bus_{side}_bytes_per_s"),
        "groups",
    )
    return table if side == "base" else table.drop("groups")


# -- tests -----------------------------------------------------------------------------------------


def _tested(base: RankSet, new: RankSet) -> pl.DataFrame:
    """How likely noise moves transfers as far, for kinds that both runs have, step by step."""
    before, now = _series(base), _series(new)
    common = [name for name in before.columns[1:] if name in now.columns]
    if not common:
        columns = (*_TESTED, "p_value")
        return pl.DataFrame(schema={name: COLLECTIVE_CHANGE_SCHEMA[name] for name in columns})
    values = [_filled(each.select(common).to_numpy()) for each in (before, now)]
    p = false_discovery(mean_changes(*values).p)
    known = _named(base).select("kind", *_TESTED).filter(pl.col("kind").is_in(common))
    told = pl.DataFrame({"kind": common, "p_value": p}).with_columns(
        pl.col("p_value").fill_nan(None)
    )
    return known.unique("kind").join(told, on="kind").drop("kind")


def _series(ranks: RankSet) -> pl.DataFrame:
    """One row per step, one column per kind of collective: how long moving takes."""
    calls = _named(ranks)
    return (
        calls.group_by("step", "kind")
        .agg(pl.col("transfer_ns").mean(), pl.col("start_ns").min())
        .with_columns(pl.col("start_ns").min().over("step"))
        .sort("start_ns", "kind")
        .pivot("kind", index="step", values="transfer_ns", maintain_order=True)
    )


def _named(ranks: RankSet) -> pl.DataFrame:
    paired = pl.col("collective").cast(pl.String).replace(dict.fromkeys(ONE_SIDED, "send_recv"))
    size = pl.max_horizontal(pl.col("size_bytes", "out_bytes")).max().over("match")
    return (
        ranks.analysis.collectives.filter(pl.col("step").is_not_null())
        .select("step", "start_ns", "transfer_ns", "group_size", "match",
                pl.col("dtype").cast(pl.String), collective=paired, size_bytes=size)
        .with_columns(kind=pl.concat_str(pl.col(_TESTED).cast(pl.String), separator=" ",
                                         ignore_nulls=True))
    )  # fmt: skip


def _filled(values: Floats) -> Floats:
    """A step without such a call counts as its others do."""
    known = np.isfinite(values.astype(np.float64))
    sums = np.where(known, values, 0.0).sum(axis=0)
    means = sums / np.maximum(known.sum(axis=0), 1)
    return np.asarray(np.where(known, values, means[None, :]).astype(np.float64))


# How each rank changed against the same rank before, beside how its peers did.

RANK_CHANGE_SCHEMA = {
    "rank": pl.Int64(),
    "source": pl.String(),
    "base_ns": pl.Float64(),
    "new_ns": pl.Float64(),
    "change_ns": pl.Float64(),
    "beyond_ns": pl.Float64(),
    "changed": pl.Boolean(),
}
"""Times per step.  `source` is that of its own time (`panel.SOURCES`) in which the rank differs
most from its peers, the others are of this source; `beyond_ns` is what it changed more than they
did."""


def rank_changes(
    base: RankSet, new: RankSet, numbers: Sequence[int], named: Collection[int]
) -> pl.DataFrame:
    """Rows of `RANK_CHANGE_SCHEMA`, the largest differences first.

    A rank changed if that is beyond what chance does to its peers, or if it is one of the `named`
    stragglers that came or went.
    """
    if not numbers:
        return pl.DataFrame(schema=RANK_CHANGE_SCHEMA)
    panel = new.analysis.panel
    sides = [
        {
            source: step_mean(values[np.searchsorted(each.ranks, numbers)])
            for source, values in each.own.items()
        }
        for each in (base.analysis.panel, panel)
    ]
    role = panel.alike[np.searchsorted(panel.ranks, numbers)]
    step_ns = max(base.analysis.panel.step_ns, panel.step_ns)
    beyond, odd = [], []
    for source in SOURCES:
        change = sides[1][source] - sides[0][source]
        from_usual, far = far_from_usual(change, role, step_ns)
        beyond.append(from_usual)
        odd.append(far)
    first = np.argmax(np.abs(beyond), axis=0)
    place = np.arange(len(numbers))
    before, after = (np.stack(list(each.values()))[first, place] for each in sides)
    apart = np.stack(beyond)[first, place]
    is_named = np.isin(numbers, list(named)) & (np.abs(apart) > LEAST_SHARE * step_ns)
    table = pl.DataFrame(
        {
            "rank": numbers,
            "source": [list(SOURCES)[each] for each in first],
            "base_ns": before,
            "new_ns": after,
            "change_ns": after - before,
            "beyond_ns": apart,
            "changed": np.any(odd, axis=0) | is_named,
        },
        schema=RANK_CHANGE_SCHEMA,
    )
    return table.sort("changed", pl.col("beyond_ns").abs(), "rank", descending=[True, True, False])


# What the steps of a run are made of, over its ranks: parts that add up to a whole step.

OWN = {
    "compute": ("own_kernel_ns",),
    "copies": ("own_memcpy_ns", "own_memset_ns"),
    "data_loading": ("own_data_loader_ns",),
    "host": ("own_runtime_ns", "own_cpu_exec_ns"),
    "idle": ("own_idle_ns",),
}
"""Parts of a step in which a rank waits for nobody, and the columns of summaries they are in."""
PARTS = ("compute", "copies", "transfer", "waiting", "data_loading", "host", "idle")
"""`transfer` and `waiting` are exposed communication: the device has nothing else to do."""


@dataclass(frozen=True, slots=True, eq=False)
class StepParts:
    """Means over ranks."""

    steps: tuple[str, ...]
    values: Floats
    """Steps x `PARTS`, in nanoseconds."""
    lengths: Floats
    """By step; what its parts add up to."""


def step_parts(
    ranks: Mapping[int, RankSummary], found: RanksAnalysis, numbers: Iterable[int]
) -> StepParts:
    """Divide the complete steps that most ranks have, over some of the ranks."""
    chosen = sorted(set(numbers) & ranks.keys())
    known = [
        ranks[rank]
        .steps.filter("complete", pl.col("step").is_in(found.panel.steps))
        .select(
            "step",
            "start_ns",
            pl.lit(rank, pl.Int64).alias("rank"),
            exposed=pl.col("exposed_communication_ns").cast(pl.Float64),
            length=(pl.col("end_ns") - pl.col("start_ns")).cast(pl.Float64),
            **{part: pl.sum_horizontal(*names).cast(pl.Float64) for part, names in OWN.items()},
        )
        for rank in chosen
    ]
    if not known:
        return StepParts((), np.zeros((0, len(PARTS))), np.zeros(0))
    waited = pl.coalesce("share", "share_of_rank", pl.lit(0.0))
    calls = _waiting_shares(found.collectives)
    mean = (
        pl.concat(known)
        .join(calls, on=["rank", "step"], how="left", maintain_order="left")
        .join(_of_ranks(calls), on="rank", how="left", maintain_order="left")
        .with_columns(waiting=pl.col("exposed") * waited)
        .with_columns(transfer=pl.col("exposed") - pl.col("waiting"))
        .group_by("step")
        .agg(pl.col("start_ns").median(), pl.col(*PARTS, "length").mean())
        .sort("start_ns")
    )
    return StepParts(
        tuple(mean["step"].to_list()), mean.select(PARTS).to_numpy(), mean["length"].to_numpy()
    )


def _waiting_shares(calls: pl.DataFrame) -> pl.DataFrame:
    """By rank and step, how much of what a rank could only wait in was for others to come.

    What is exposed of a collective is its end, and the transfer is its last part: what goes beyond
    it was waiting.  Where collectives of a group go on side by side they slow each other down, and
    waits that work hid take their share of what is left.
    """
    exposed = pl.min_horizontal("exposed_ns", "dur_ns")
    before = pl.col("end_ns").shift().over("rank", *GROUP_KEY, order_by="start_ns")
    hidden = pl.when("beside").then(pl.col("wait_ns") - pl.col("direct")).otherwise(0.0)
    other = hidden + pl.col("transfer_ns")
    delayed = (pl.col("exposed") - pl.col("direct")) * hidden / pl.when(other > 0).then(other)
    return (
        calls.select("rank", "step", *GROUP_KEY, "wait_ns", "transfer_ns", exposed=exposed,
                     beside=pl.col("start_ns") < before)
        .with_columns(direct=pl.col("exposed") - pl.min_horizontal("exposed", "transfer_ns"))
        .group_by("rank", "step", *GROUP_KEY)
        .agg(
            pl.col("wait_ns", "transfer_ns", "exposed", "direct").sum().cast(pl.Float64),
            pl.col("beside").any(),
        )
        .with_columns(waited=pl.col("direct") + delayed.fill_null(0.0))
        .group_by("rank", "step")
        .agg(pl.col("waited", "exposed").sum())
        .with_columns(share=pl.col("waited") / pl.when(pl.col("exposed") > 0).then("exposed"))
    )  # fmt: skip


def _of_ranks(shares: pl.DataFrame) -> pl.DataFrame:
    """The same over all steps, for those whose calls are not known."""
    exposed = pl.col("exposed").sum()
    return shares.group_by("rank").agg(
        share_of_rank=pl.col("waited").sum() / pl.when(exposed > 0).then(exposed)
    )
