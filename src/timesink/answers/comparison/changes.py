"""Two roles beside each other, and the functions whose time changed between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.verdict import PairVerdict, either_p

if TYPE_CHECKING:
    from timesink.model.diagnosis import Diagnosis

SORTS_OF_CYCLES = {"_prefill": "prefill cycles", "_decode": "decode cycles", "_layer": "layers"}
"""What cycles are called that a suffix names."""


@dataclass(frozen=True, eq=False)
class Compared:
    """Two roles beside each other, and what their comparison is called."""

    identifier: str
    """What was compared: `SGLang/gpu_instability`, `normal vs gpu_clock`."""
    suffix: str
    """Which cycles: `_prefill`, `_decode`, `_layer`, or empty."""
    pair: Pair
    file_stem: str
    """Name of its files, without an ending."""
    whole: Pair | None = None
    """The pair of all devices, where `pair` holds the tables of one."""

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Whether cycles changed, where the time went, and why."""
        # Tables of numbers do not wait for this.
        from timesink.rules.diagnosis import diagnose  # noqa: PLC0415

        return diagnose(self.whole or self.pair)

    @property
    def cycles(self) -> str:
        """Which cycles, in words: `decode cycles`; empty where there are no others."""
        return SORTS_OF_CYCLES.get(self.suffix, "")

    @property
    def title(self) -> str:
        """What was compared, and which cycles of it, in words."""
        return f"{self.identifier}, {self.cycles}" if self.cycles else self.identifier


# Functions whose time changed, those of other names put together by what they are.

_BOTH = "both"


@dataclass(frozen=True, slots=True)
class Change:
    """A function, or a family of them under unlike names, and its time per cycle on both sides."""

    name: str
    """The function, the normalised name, or the family."""
    device: str
    runs_on: str
    base_ns: float
    new_ns: float
    calls_base: float
    calls_new: float
    p: float
    names_base: tuple[str, ...]
    """The functions it is made of."""
    names_new: tuple[str, ...]
    level: str = "exact"
    """How both sides meet: `exact`, `normalised` or `family`."""

    @property
    def delta_ns(self) -> float:
        """How much more time a cycle spends in it."""
        return self.new_ns - self.base_ns


def changes(pair: Pair, found: PairVerdict) -> list[Change]:
    """What the functions of a verdict come to, largest change of time first.

    A function that one side lacks has not gone where the other side has the same work under other
    names: such functions are told as one family, with all that belongs to it.
    """
    moved = pair.times[list(found.functions)].with_columns(p=either_p("welch_p", "rank_p"))
    rows = moved.to_dicts()
    alone = {(row["function"], row["device"]) for row in rows if row["runs_on"] != _BOTH}
    families = list(_families(pair.families, alone))
    told = {(name, one.device) for one in families for name in (*one.names_base, *one.names_new)}
    others = [_function(row) for row in rows if (row["function"], row["device"]) not in told]
    every = [*families, *others]
    return sorted(every, key=lambda one: (-abs(one.delta_ns), one.name, one.device))


def _families(table: pl.DataFrame, alone: set[tuple[str, str]]) -> Iterator[Change]:
    """Families that both sides have and that hold one of the functions of one side."""
    shared = (pl.col("names_base").list.len() > 0) & (pl.col("names_new").list.len() > 0)
    rows = table.filter(shared).with_columns(p=either_p("welch_p", "rank_p"))
    for row in rows.iter_rows(named=True):
        names = (*row["names_base"], *row["names_new"])
        if any((name, row["device"]) in alone for name in names):
            yield _family(row)


def _family(row: dict[str, Any]) -> Change:
    name = row["name"]
    return Change(
        name=row["family"] if name is None else name,
        runs_on=_BOTH,
        names_base=tuple(row["names_base"]),
        names_new=tuple(row["names_new"]),
        level="family" if name is None else "normalised",
        **_amounts(row),
    )


def _function(row: dict[str, Any]) -> Change:
    name = row["function"]
    return Change(
        name=name, runs_on=row["runs_on"], names_base=(name,), names_new=(name,), **_amounts(row)
    )


def _amounts(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: row[key] for key in ("device", "base_ns", "new_ns", "calls_base", "calls_new", "p")
    }


def counters_meanwhile(
    rows: pl.DataFrame, change: Change, counters: Sequence[str]
) -> list[dict[str, Any]]:
    """What counters of its device were while the functions of a change ran, on both sides.

    Several functions count by their share of the cycle.
    """
    here = rows.filter(pl.col("device") == change.device, pl.col("metric").is_in(list(counters)))
    sides = [
        _mean(here.filter(pl.col("function").is_in(names), _has(side)), side)
        for side, names in (("base", change.names_base), ("new", change.names_new))
    ]
    both = {row["metric"]: row for row in sides[0].join(sides[1], "metric").to_dicts()}
    return [{**both[name], "device": change.device} for name in counters if name in both]


def _has(side: str) -> pl.Expr:
    """Whether the counter is known on a side; the other has zeros there."""
    return (pl.col(f"cycles_{side}") > 0) & pl.col(f"mu_{side}").is_finite()


def _mean(rows: pl.DataFrame, side: str) -> pl.DataFrame:
    weight, value = pl.col(f"beta_{side}_pct"), pl.col(f"mu_{side}")
    weighted = (weight * value).sum() / weight.sum()
    mean = pl.when(weight.sum() > 0).then(weighted).otherwise(value.mean())
    same = value.n_unique() == 1
    return rows.group_by("metric").agg(
        pl.when(same).then(value.first()).otherwise(mean).alias(f"mu_{side}"),
        *([pl.col("unit").first()] if side == "base" else []),
    )
