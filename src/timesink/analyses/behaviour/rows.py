"""Rows of a behaviour table: which say the same twice, and what can be made up for."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from timesink.model.units import counted

_PROCESS = ("host", "pid", "cycle_type", "cycle")
_FUNCTION = ("function", "function_class", "device")


def plain_texts(table: pl.DataFrame) -> pl.DataFrame:
    """The table with ordinary texts, which may be joined, searched and mixed with others."""
    return table.with_columns(pl.col(pl.Categorical).cast(pl.String))


def once_per_cycle(table: pl.DataFrame, within: Sequence[str] = ()) -> pl.DataFrame:
    """One row per cycle, function, class and device: a function has one for each of its metrics.

    A name may be of two classes, as a call that waits in one place and works in another: these are
    two functions.  `within` are columns that tell cycles of the same number apart.
    """
    return table.unique([*within, "cycle", *_FUNCTION], keep="first", maintain_order=True)


def without_repeats(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The table without rows that are in it twice, and how many there were."""
    kept = table.unique(keep="first", maintain_order=True)
    return kept, table.height - kept.height


def contradictions(table: pl.DataFrame) -> int:
    """How many rows give a function, device and metric a second value in the same cycle."""
    return table.height - table.select(*_PROCESS, *_FUNCTION, "metric").n_unique()


def with_cycle_lengths(table: pl.DataFrame) -> pl.DataFrame:
    """The table with the length of cycles that do not say it, from times and their shares.

    A time that is 20 % of the cycle tells how long the cycle is; the median over the functions.
    Where no share is known either, it stays as it is.
    """
    if table["cycle_dur_ns"].gt(0).fill_null(value=False).all():
        return table
    told = (pl.col("dur_ns") > 0) & (pl.col("beta_pct") > 0) & pl.col("beta_pct").is_finite()
    length = (100 * pl.col("dur_ns") / pl.col("beta_pct")).filter(told).median().over(_PROCESS)
    known = pl.col("cycle_dur_ns").filter(pl.col("cycle_dur_ns") > 0).max().over(_PROCESS)
    filled = pl.coalesce(known, length.round().cast(pl.Int64, strict=False), "cycle_dur_ns")
    return table.with_columns(cycle_dur_ns=filled.cast(pl.Int64))


def mended(table: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """A table as others wrote it without repeats and with cycle lengths, and what was done."""
    once, dropped = without_repeats(table)
    whole = with_cycle_lengths(once)
    notes = []
    if dropped:
        notes.append(f"{counted(dropped, 'rows')} repeated others and {_were(dropped)} left out")
    if unlike := contradictions(once):
        # The published statistics take every row; leaving some out would change them.
        notes.append(
            f"{counted(unlike, 'rows')} contradict others of the same function, cycle and metric: "
            "scores take all, times the first"
        )
    if not whole["cycle_dur_ns"].equals(once["cycle_dur_ns"]):
        notes.append("lengths of cycles are not recorded; they come from times and their shares")
    return whole, tuple(notes)


def _were(many: int) -> str:
    return "was" if many == 1 else "were"
