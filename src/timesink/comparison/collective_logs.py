"""Logs of collectives of two runs beside each other: what takes longer, and who is late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.collective_log import collective_log, log_by_rank, logged_calls
from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.statistics.moments import Moments, moments
from timesink.analyses.statistics.rank_tests import rank_test
from timesink.analyses.statistics.significance import false_discovery
from timesink.analyses.statistics.student_t import welch_interval
from timesink.comparison.thresholds import LogChangeLimits
from timesink.model.intervals import Floats
from timesink.model.trace import Trace
from timesink.rules.collective_log import disagreeing_ranks, hanging_collective, never_entered
from timesink.sources.untimed import LOG

OPERATION = ("collective", "bytes", "members")
"""What has one length: an operation, the size of its message and of its group."""
_COLLECTIVES: dict[str, Any] = {
    "group": pl.String,
    "sequence": pl.Int64,
    "collective": pl.String,
    "bytes": pl.Int64,
    "members": pl.Int64,
    "transfer_ns": pl.Int64,
    "wait_ns": pl.Int64,
    "bus_bytes_per_s": pl.Float64,
    "first_ts_ns": pl.Int64,
}
_RANKS: dict[str, Any] = {
    "group": pl.String,
    "rank": pl.Int64,
    "calls": pl.Int64,
    "late_ns": pl.Float64,
    "bus_bytes_per_s": pl.Float64,
}


class LogSide(msgspec.Struct, frozen=True, eq=False):
    """What a comparison needs of the logs of a run."""

    kind: ClassVar[str] = LOG

    collectives: pl.DataFrame
    """A row for each collective of each group. Its transfer is as long as the rank has it that
    enters last; the others wait for that rank as well."""
    ranks: pl.DataFrame
    """A row for each rank and group: how much later than the others it comes (median)."""
    problems: tuple[str, ...] = ()
    """Why collectives do not complete, in sentences."""

    @classmethod
    def of(cls, trace: Trace) -> LogSide:
        """The side that the logs of a run are."""
        log = collective_log(trace).select(
            *("group", "sequence", "collective", "bytes", "members"),
            pl.col("least_ns").alias("transfer_ns"),
            (pl.col("dur_ns") - pl.col("least_ns")).alias("wait_ns"),
            *("bus_bytes_per_s", "first_ts_ns"),
        )
        findings = (*never_entered(trace), *hanging_collective(trace), *disagreeing_ranks(trace))
        return cls(
            _with_types(log, _COLLECTIVES).sort("group", "sequence"),
            _with_types(_lateness(trace), _RANKS),
            tuple(finding.sentence for finding in findings),
        )

    def stored(self) -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
        """Plain data and tables, of which `restored` makes the side again."""
        tables = {"collectives": self.collectives, "ranks": self.ranks}
        return {"problems": list(self.problems)}, tables

    @classmethod
    def restored(cls, facts: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> LogSide:
        """The side that was stored."""
        return cls(
            _with_types(tables["collectives"], _COLLECTIVES),
            _with_types(tables["ranks"], _RANKS),
            tuple(msgspec.convert(facts["problems"], list[str])),
        )


def _with_types(rows: pl.DataFrame, types: Mapping[str, Any]) -> pl.DataFrame:
    return rows.select(pl.col(name).cast(dtype) for name, dtype in types.items())


def _lateness(trace: Trace) -> pl.DataFrame:
    """How late each rank is: by when it enters, else by how much longer the others wait."""
    calls = logged_calls(trace).filter(~pl.col("is_p2p") & pl.col("sequence").is_not_null())
    keys = ("group", "sequence")
    several = pl.col("dur_ns").count().over(*keys) > 1
    shorter = pl.col("dur_ns").max().over(*keys) - pl.col("dur_ns")
    awaited = (
        calls.with_columns(pl.when(several).then(shorter).alias("awaited_ns"))
        .group_by("group", pl.col("who").alias("rank"))
        .agg(pl.col("awaited_ns").median())
    )
    ranks = log_by_rank(trace).join(awaited, on=("group", "rank"), how="left", nulls_equal=True)
    return ranks.select(
        *("group", "rank", "calls"),
        pl.coalesce("awaited_ns", "late_ns").alias("late_ns"),
        "bus_bytes_per_s",
    ).sort("group", "rank", nulls_last=True)


class PaceChange(NamedTuple):
    """How long it is from one collective of a group to the next (mean)."""

    group: str
    base_ns: float
    new_ns: float
    interval_pct: tuple[float, float] | None
    """95 % interval of the change; None where too few are logged."""

    @property
    def change_pct(self) -> float:
        """How much longer it is in new."""
        return 100 * (self.new_ns / self.base_ns - 1)

    @property
    def is_change(self) -> bool:
        """Whether it is more than noise, and enough to matter."""
        low, high = self.interval_pct or (0.0, 0.0)
        return low * high > 0 and abs(self.change_pct) >= 100 * LogChangeLimits.min_share


class LogPair(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """The logs of two runs."""

    base: LogSide
    new: LogSide
    paths: tuple[str, str]

    @memoize_per_trace
    def operations(self) -> pl.DataFrame:
        """Time and bandwidth by operation and size, what lost most time first."""
        sides = [
            side.collectives.group_by(*OPERATION).agg(
                pl.len().cast(pl.Int64).alias(f"{name}_calls"),
                pl.col("transfer_ns").median().alias(f"{name}_ns"),
                pl.col("wait_ns").median().alias(f"{name}_wait_ns"),
                pl.col("bus_bytes_per_s").median().alias(f"{name}_bus_bytes_per_s"),
                pl.col("transfer_ns").drop_nulls().alias(f"{name}_times"),
            )
            for name, side in (("base", self.base), ("new", self.new))
        ]
        both = sides[0].join(sides[1], on=OPERATION, how="full", coalesce=True, nulls_equal=True)
        p = [_rank_p(base, new) for base, new in both.select("base_times", "new_times").iter_rows()]
        change = pl.col("new_ns") - pl.col("base_ns")
        enough = pl.max_horizontal(
            LogChangeLimits.min_share * pl.col("base_ns"), pl.lit(LogChangeLimits.min_ns)
        )
        adjusted = pl.Series("p", false_discovery(np.array(p, dtype=np.float64))).fill_nan(None)
        return (
            both.with_columns(adjusted, change_ns=change)
            .with_columns(
                pl.col("base_calls", "new_calls").fill_null(0),
                total_ns=(pl.col("change_ns") * pl.col("base_calls")),
                is_change=(pl.col("p") < LogChangeLimits.alpha).fill_null(False)
                & (pl.col("change_ns").abs() >= enough).fill_null(False),
            )
            .select(
                *OPERATION,
                *("base_calls", "new_calls", "base_ns", "new_ns", "change_ns"),
                *("base_wait_ns", "new_wait_ns", "base_bus_bytes_per_s", "new_bus_bytes_per_s"),
                *("p", "is_change", "total_ns"),
            )
            .sort(
                "is_change", "total_ns", *OPERATION,
                descending=[True, True, False, False, False], nulls_last=True,
            )
        )  # fmt: skip

    @memoize_per_trace
    def ranks(self) -> pl.DataFrame:
        """How late each rank is in both, who became later first."""
        keys = ("group", "rank")
        base, new = (
            side.ranks.select(
                *keys,
                pl.col("calls").alias(f"{name}_calls"),
                pl.col("late_ns").alias(f"{name}_late_ns"),
                pl.col("bus_bytes_per_s").alias(f"{name}_bus_bytes_per_s"),
            )
            for name, side in (("base", self.base), ("new", self.new))
        )
        both = base.join(new, on=keys, how="full", coalesce=True, nulls_equal=True)
        least = max(LogChangeLimits.min_late_ns, LogChangeLimits.min_share * self.usual_ns)
        change = pl.col("new_late_ns") - pl.col("base_late_ns")
        return (
            both.with_columns(pl.col("base_calls", "new_calls").fill_null(0), change_ns=change)
            .with_columns(is_change=(pl.col("change_ns").abs() >= least).fill_null(False))
            .select(
                *(*keys, "base_calls", "new_calls", "base_late_ns", "new_late_ns", "change_ns"),
                *("base_bus_bytes_per_s", "new_bus_bytes_per_s", "is_change"),
            )
            .sort("change_ns", *keys, descending=[True, False, False], nulls_last=True)
        )

    @property
    def usual_ns(self) -> float:
        """How long a collective takes in base (median), or else one is from the next; 0 unknown."""
        median = self.base.collectives["transfer_ns"].median()
        if isinstance(median, int | float):
            return float(median)
        return min((change.base_ns for change in self.paces), default=0.0)

    @property
    def paces(self) -> list[PaceChange]:
        """How far apart collectives are, of each group of both."""
        base, new = (_gaps(side.collectives) for side in (self.base, self.new))
        return [
            PaceChange(
                group,
                float(base[group].mean()),
                float(new[group].mean()),
                _change_interval(base[group], new[group]),
            )
            for group in base
            if group in new
        ]

    @property
    def time_change_pct(self) -> float | None:
        """How much longer the collectives of base take with the times of new, where they changed.

        None where no operation has times in both.
        """
        timed = self.operations().drop_nulls(["base_ns", "new_ns"])
        total = (timed["base_ns"] * timed["base_calls"]).sum()
        if not total:
            return None
        return 100 * float(timed.filter("is_change")["total_ns"].sum()) / float(total)

    @property
    def new_problems(self) -> tuple[str, ...]:
        """Why collectives of new do not complete; of base that is known."""
        return self.new.problems


def _rank_p(base: list[int] | None, new: list[int] | None) -> float:
    if not base or not new:
        return float("nan")
    p = rank_test(np.array(base, dtype=np.float64), np.array(new, dtype=np.float64))
    return float("nan") if p is None else p


def _gaps(collectives: pl.DataFrame) -> dict[str, Floats]:
    """Times from one collective to the next, by group; groups of one collective have none."""
    timed = collectives.drop_nulls("first_ts_ns").sort("group", "sequence")
    gaps = timed.select(
        "group",
        pl.col("first_ts_ns").diff().over("group").alias("gap"),
        pl.col("sequence").diff().over("group").alias("steps"),
    ).filter((pl.col("gap") > 0) & (pl.col("steps") == 1))
    return {
        str(group): rows["gap"].to_numpy().astype(np.float64)
        for (group,), rows in gaps.group_by("group", maintain_order=True)
    }


def _change_interval(base: Floats, new: Floats) -> tuple[float, float] | None:
    """95 % interval of the change of a mean in percent, by means of stretches.

    Neighbouring gaps belong to one step, so they are no independent measurements.
    """
    stretches = LogChangeLimits.stretches
    if min(len(base), len(new)) < LogChangeLimits.min_per_stretch * stretches:
        return None
    interval = welch_interval(_stretch_moments(base), _stretch_moments(new))
    level = float(base.mean())
    if interval is None or level <= 0:
        return None
    return 100 * interval[0] / level, 100 * interval[1] / level


def _stretch_moments(gaps: Floats) -> Moments:
    means = np.array([part.mean() for part in np.array_split(gaps, LogChangeLimits.stretches)])
    return moments(np.zeros(len(means), dtype=np.int64), means, 1)
