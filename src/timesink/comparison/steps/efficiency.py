"""What two sides compute and move in a cycle, how near both come to their roofs, and who changed.

Operations and bytes are exact: equal programs have equal ones.  Times are measured.
"""

from __future__ import annotations

import msgspec
import polars as pl

from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.work.cycle_work import CycleEfficiency, cycle_efficiency
from timesink.analyses.work.efficiency import MIN_MODELLED
from timesink.comparison.results import Pair, Process
from timesink.comparison.thresholds import EfficiencyChangeLimits

PRECISION, ADDED, REMOVED, MORE, LESS, SLOWER, FASTER = CHANGES = (
    *("precision", "added", "removed", "more work", "less work", "slower", "faster"),
)
"""What may become of an operator of some shape; the first that fits.  `slower` and `faster` do the
same work."""
NO_SHAPES, TOO_LITTLE = "no shapes", "too little is modelled"
"""Why work is not compared."""
_KEY = ("operator", "shape")
_AMOUNTS = ("calls", "gflop", "mib", "tflops", "roof_pct", "time_ns")
SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys((*_KEY, "change", "base_precision", "new_precision"), pl.String()),
    **{f"{side}_{name}": pl.Float64() for name in _AMOUNTS for side in ("base", "new")},
}
"""Operators that changed, amounts per cycle, largest change of time first."""
_MIN_TIME, _MIN_PART = 0.1, 0.01
"""The same work takes another time beyond this part of it, and of all that is modelled."""
_GIGA, _MEBI = 1e9, float(2**20)


class EfficiencyChange(msgspec.Struct, frozen=True, eq=False):
    """Both sides against the roofs of their devices."""

    base: CycleEfficiency | None
    """None without shapes."""
    new: CycleEfficiency | None
    reason: str = ""
    """Why work is not compared; empty where it is."""
    operators: pl.DataFrame = msgspec.field(default_factory=lambda: pl.DataFrame(schema=SCHEMA))

    @property
    def same_work(self) -> bool | None:
        """Whether all operators compute and move the same; None where that is not known."""
        return None if self.reason else self.operators["change"].is_in([SLOWER, FASTER]).all()

    @property
    def same_device(self) -> bool:
        """Whether shares of both sides are of the same peaks."""
        sides = [efficiency.peaks for efficiency in (self.base, self.new) if efficiency is not None]
        return len({peaks.device if peaks else "" for peaks in sides}) <= 1


@memoize_per_trace
def efficiency_change(pair: Pair) -> EfficiencyChange | None:
    """What two processes compute and move, worked out on demand; None where neither has shapes.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> efficiency_change(same.pair).same_work
    True
    """
    sides = pair.whole.base, pair.whole.new
    base, new = (_efficiency(role, pair.peaks) for role in sides)
    if base is None and new is None:
        return None
    if base is None or new is None:
        return EfficiencyChange(base, new, NO_SHAPES)
    if min(base.modelled_share, new.modelled_share) < MIN_MODELLED:
        return EfficiencyChange(base, new, TOO_LITTLE)
    return EfficiencyChange(base, new, operators=_changed_operators(base, new))


def _efficiency(role: Process, peaks: str | None) -> CycleEfficiency | None:
    if role.work is None:
        return None
    cycles = role.behaviour["cycle"].unique()
    return cycle_efficiency(role.work, cycles, role.mean_cycle_ns, peaks)


def _changed_operators(base: CycleEfficiency, new: CycleEfficiency) -> pl.DataFrame:
    """Operators whose work, precision or time is another one."""
    sides = [_by_shape(efficiency.operators) for efficiency in (base, new)]
    exact = sides[0].join(sides[1], on=_KEY, suffix="_new", how="full", coalesce=True)
    unmatched = exact.filter(pl.col("calls").is_null() | pl.col("calls_new").is_null())
    # Operators that only have other shapes are one row, not one that went and one that came.
    met = exact.filter(pl.col("calls").is_not_null() & pl.col("calls_new").is_not_null())
    parts = [
        side.join(unmatched, on=_KEY, how="semi").group_by("operator").agg(_join_shapes())
        for side in sides
    ]
    other = parts[0].join(parts[1], on="operator", suffix="_new", how="full", coalesce=True)
    rows = pl.concat(
        [met.with_columns(shape_new=pl.col("shape")), other.select(*met.columns, "shape_new")]
    )
    least = _MIN_PART * float(base.operators["time_ns"].sum())
    return (
        rows.with_columns(change=_change(least))
        .filter(pl.col("change").is_not_null())
        .select(
            "operator",
            pl.when(pl.col("shape") != pl.col("shape_new"))
            .then(pl.concat_str("shape", pl.lit(" → "), "shape_new"))
            .otherwise(pl.coalesce("shape", "shape_new"))
            .alias("shape"),
            "change",
            pl.col("precision").alias("base_precision"),
            pl.col("precision_new").alias("new_precision"),
            *_figures("base", ""),
            *_figures("new", "_new"),
        )
        .sort((pl.col("new_time_ns").fill_null(0) - pl.col("base_time_ns").fill_null(0)).abs(),
              *_KEY, descending=[True, False, False])
        .select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    )  # fmt: skip


def _by_shape(operators: pl.DataFrame) -> pl.DataFrame:
    """One row per operator and shape, with all its precisions, longest first."""
    return operators.group_by(_KEY, maintain_order=True).agg(*_sums())


def _sums() -> list[pl.Expr]:
    precisions = pl.col("precision").filter(pl.col("precision") != "")
    return [
        precisions.unique(maintain_order=True).str.join(", ").alias("precision"),
        *(pl.col(name).sum() for name in ("calls", "time_ns", "flop", "bytes")),
        pl.when(pl.col("roof_ns").null_count() == 0).then(pl.col("roof_ns").sum()).alias("roof_ns"),
        pl.col("often").all(),
    ]


def _join_shapes() -> list[pl.Expr]:
    many = pl.format("{} shapes", pl.len())
    return [pl.when(pl.len() == 1).then(pl.col("shape").first()).otherwise(many).alias("shape"),
            *_sums()]  # fmt: skip


def _figures(side: str, suffix: str) -> list[pl.Expr]:
    flop, moved, roof, time = (
        pl.col(f"{name}{suffix}") for name in ("flop", "bytes", "roof_ns", "time_ns")
    )
    took = pl.when(time > 0).then(time)
    return [
        pl.col(f"calls{suffix}").alias(f"{side}_calls"),
        (flop / _GIGA).alias(f"{side}_gflop"),
        (moved / _MEBI).alias(f"{side}_mib"),
        (1e-3 * flop / took).alias(f"{side}_tflops"),
        (100 * roof / took).alias(f"{side}_roof_pct"),
        time.alias(f"{side}_time_ns"),
    ]


def _change(least_ns: float) -> pl.Expr:
    """Which of `CHANGES` it is; null where nothing of a row changed."""
    steady = pl.col("often") & pl.col("often_new")
    allowed = (
        pl.when(steady).then(EfficiencyChangeLimits.exact).otherwise(EfficiencyChangeLimits.seldom)
    )
    unlike = pl.lit(value=False)
    grew = pl.lit(value=False)
    for name in ("flop", "bytes"):
        before, now = pl.col(name), pl.col(f"{name}_new")
        apart = (now - before).abs() > allowed * pl.max_horizontal(before, now)
        unlike |= apart
        grew |= apart & (now > before)
    before, now = pl.col("time_ns"), pl.col("time_ns_new")
    other_time = ((now - before).abs() > _MIN_TIME * before) & ((now - before).abs() > least_ns)
    # What is in few cycles of one side only may not have come yet in the other.
    is_regular = pl.coalesce("often", "often_new")
    return (
        pl.when(pl.col("calls").is_null())
        .then(pl.when(is_regular).then(pl.lit(ADDED)))
        .when(pl.col("calls_new").is_null())
        .then(pl.when(is_regular).then(pl.lit(REMOVED)))
        .when(pl.col("precision") != pl.col("precision_new"))
        .then(pl.lit(PRECISION))
        .when(unlike & grew)
        .then(pl.lit(MORE))
        .when(unlike)
        .then(pl.lit(LESS))
        .when(other_time)
        .then(pl.when(now > before).then(pl.lit(SLOWER)).otherwise(pl.lit(FASTER)))
    )
