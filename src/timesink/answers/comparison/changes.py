"""A pair with what is worth saying of it: functions, counters and tables that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from timesink.analyses.behaviour.functions import STEP_MARK, STEP_MARK_TOLD
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.verdict import PairVerdict, either_p, verdict
from timesink.answers.tables import short_labels
from timesink.model.schema import HOST_DEVICE

_BOTH = "both"
_AMOUNTS = ("device", "base_ns", "new_ns", "calls_base", "calls_new", "p")


@dataclass(frozen=True, slots=True)
class Change:
    """A function, or a family of them under unlike names, and its time per cycle on both sides."""

    name: str
    """The function, the normalised name, or the family."""
    runs_on: str
    names_base: tuple[str, ...]
    """The functions it is made of."""
    names_new: tuple[str, ...]
    device: str
    base_ns: float
    new_ns: float
    calls_base: float
    calls_new: float
    p: float
    level: str = "exact"
    """How both sides meet: `exact`, `normalised` or `family`."""

    @property
    def delta_ns(self) -> float:
        """How much more time a cycle spends in it."""
        return self.new_ns - self.base_ns


def counters_meanwhile(
    rows: pl.DataFrame, change: Change, counters: Sequence[str]
) -> list[dict[str, Any]]:
    """What counters of its device were while the functions of a change ran, on both sides.

    Several functions count by their share of the cycle.
    """
    here = rows.filter(pl.col("device") == change.device, pl.col("metric").is_in(list(counters)))
    sides = []
    for side, names in (("base", change.names_base), ("new", change.names_new)):
        weight, value = pl.col(f"beta_{side}_pct"), pl.col(f"mu_{side}")
        weighted = (weight * value).sum() / weight.sum()
        mean = pl.when(weight.sum() > 0).then(weighted).otherwise(value.mean())
        same = value.n_unique() == 1
        # Whether the counter is known on a side; the other has zeros there.
        known = (pl.col(f"cycles_{side}") > 0) & value.is_finite()
        means = here.filter(pl.col("function").is_in(names), known).group_by("metric")
        sides.append(
            means.agg(
                pl.when(same).then(value.first()).otherwise(mean).alias(f"mu_{side}"),
                *([pl.col("unit").first()] if side == "base" else []),
            )
        )
    both = {row["metric"]: row for row in sides[0].join(sides[1], "metric").to_dicts()}
    return [{**both[name], "device": change.device} for name in counters if name in both]


@dataclass(frozen=True)
class Told:
    """A pair with what is to be said of it."""

    whole: Pair
    as_recorded: bool = False

    @property
    def pair(self) -> Pair:
        """The pair whose numbers are told: of equal work where cycles do not hold the same."""
        equal = self.whole.equal_work
        return self.whole if equal is None or self.as_recorded else equal

    @cached_property
    def verdict(self) -> PairVerdict:
        """What differs by more than noise."""
        return verdict(self.pair)

    @cached_property
    def counters(self) -> list[dict[str, Any]]:
        """Counters that changed beyond noise, strongest change first."""
        rows = self.pair.loads[list(self.verdict.counters)]
        return rows.with_columns(p=either_p("mu_welch_p", "mu_rank_p")).to_dicts()

    @cached_property
    def changes(self) -> list[Change]:
        """Functions whose time per cycle changed beyond noise, largest change first.

        A function that one side lacks has not gone where the other side has the same work under
        other names: such functions are told as one family, with all that belongs to it.
        """
        p, pair = either_p("welch_p", "rank_p"), self.pair
        rows = pair.times[list(self.verdict.functions)].with_columns(p=p).to_dicts()
        alone = {(row["function"], row["device"]) for row in rows if row["runs_on"] != _BOTH}
        shared = (pl.col("names_base").list.len() > 0) & (pl.col("names_new").list.len() > 0)
        every: list[Change] = []
        for row in pair.families.filter(shared).with_columns(p=p).iter_rows(named=True):
            sides = tuple(row["names_base"]), tuple(row["names_new"])
            if alone & {(name, row["device"]) for side in sides for name in side}:
                level = "family" if row["name"] is None else "normalised"
                name = row["family"] if row["name"] is None else row["name"]
                amounts = {key: row[key] for key in _AMOUNTS}
                every.append(Change(name, _BOTH, *sides, level=level, **amounts))
        told = {(name, one.device) for one in every for name in (*one.names_base, *one.names_new)}
        every += (
            Change(name, row["runs_on"], (name,), (name,), **{key: row[key] for key in _AMOUNTS})
            for row in rows
            if ((name := row["function"]), row["device"]) not in told
        )
        return sorted(every, key=lambda one: (-abs(one.delta_ns), one.name, one.device))

    @property
    def comparable(self) -> bool:
        """Whether the numbers that are told are of the same work, or of one run."""
        whole = self.whole
        return (
            whole.workload.comparable or whole.equal_work is not None or whole.cycle_times.one_run
        )

    @property
    def tested(self) -> bool:
        """Whether there is a test: one cycle on a side has no spread."""
        cycles = self.pair.cycle_times
        return min(len(cycles.base_ns), len(cycles.new_ns)) > 1

    def is_tested(self, row: Mapping[str, Any]) -> bool:
        """Whether there is a test of a row, which may be in fewer cycles than there are."""
        in_one = 1 in (row["cycles_base"], row["cycles_new"])
        return self.tested and row["runs_on"] == _BOTH and not in_one

    # -- tables ------------------------------------------------------------------------------------

    @cached_property
    def times(self) -> pl.DataFrame:
        """`Pair.times` without functions of a sort that one side did not record.

        Nor callers of such functions that one side lacks: their own time is what was not recorded.
        """
        lacking = self.verdict.unrecorded
        alone = pl.col("runs_on").cast(pl.String) != _BOTH
        return self.pair.times.filter(~(lacking.of_these() | (lacking.call_these() & alone)))

    @cached_property
    def families(self) -> pl.DataFrame:
        """`Pair.families` without those that hold nothing else than such functions."""
        table, known = self.pair.families, self.times.select("function", "device")
        if known.height == self.pair.times.height:
            return table
        names = pl.concat_list("names_base", "names_new").alias("function")
        listed = table.with_row_index("place").select("place", "device", names)
        single = listed.explode("function", empty_as_null=True, keep_nulls=True)
        kept = single.join(known, ["function", "device"], "semi")
        return table[kept["place"].unique().sort()]

    @property
    def unrecorded(self) -> str:
        """Why functions are left out of these; empty where none are."""
        lacking, count = self.verdict.unrecorded, self.pair.times.height - self.times.height
        if not count:
            return ""
        said = []
        for side, sorts in (("base", lacking.base), ("new", lacking.new)):
            if sorts:
                which = " and ".join(filter(None, (", ".join(sorts[:-1]), sorts[-1])))
                said.append(f"{self.side_name(side)} did not record {which}")
        why = "; ".join(said) or "only one side tells what threads did outside of recorded calls"
        return f"left out here: {count} {'functions' if count > 1 else 'function'}, as {why}"

    # -- names -------------------------------------------------------------------------------------

    @cached_property
    def _labels(self) -> Mapping[str, str]:
        functions = self.pair.times.select("function", "device").unique(maintain_order=True)
        host = set(functions.filter(functions["device"] == HOST_DEVICE)["function"])
        return short_labels(functions["function"].unique(maintain_order=True), host)

    def label(self, function: str) -> str:
        """The short name of a function; no two have the same."""
        return self._labels.get(function, function)

    def in_words(self, function: str) -> str:
        """A function in a sentence: the mark of a step is no function to a reader."""
        return STEP_MARK_TOLD if function == STEP_MARK else self.label(function)

    def name(self, change: Change) -> str:
        """What a change is called: a function by its short name, or a family."""
        if change.level == "family":
            return f"{change.name} family"
        if change.level == "normalised":
            return short_labels([change.name])[change.name]
        return self.in_words(change.name)

    def side_name(self, which: str) -> str:
        """What `base` or `new` is called: `normal`, `abnormal`; names of peers are too long."""
        if self.pair.kind == "peers":
            return "the first" if which == "base" else "the second"
        role = self.pair.base if which == "base" else self.pair.new
        return role.label.partition("_pid_")[0]


def known_load(pair: Pair, place: int) -> dict[str, Any]:
    """A row of a pair, the counter None on a side that does not know it."""
    row, known = (table.row(place, named=True) for table in (pair.rows, pair.loads))
    counter = {name: known[name] for name in known if "mu_" in name}
    for side, other in (("base", "new"), ("new", "base")):
        if other in (known["runs_on"], row["runs_on"]):
            counter[f"mu_{side}"] = None
    return {**row, **counter}
