"""A pair with what is worth saying of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from timesink.analyses.behaviour.classes import STEP_MARK, STEP_MARK_TOLD
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.verdict import Verdict, either_p, verdict
from timesink.model.schema import HOST_DEVICE
from timesink.reports.comparison.changes import Change, changes
from timesink.reports.comparison.naming import processes
from timesink.reports.function_names import short_labels


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
    def verdict(self) -> Verdict:
        """What differs by more than noise."""
        return verdict(self.pair)

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Short names of the functions; no two have the same."""
        functions = self.pair.times.select("function", "device").unique(maintain_order=True)
        host = set(functions.filter(functions["device"] == HOST_DEVICE)["function"])
        return short_labels(functions["function"].unique(maintain_order=True), host)

    @cached_property
    def counters(self) -> list[dict[str, Any]]:
        """Counters that changed beyond noise, strongest change first."""
        rows = self.pair.loads[list(self.verdict.counters)]
        return rows.with_columns(p=either_p("mu_welch_p", "mu_rank_p")).to_dicts()

    @cached_property
    def changes(self) -> list[Change]:
        """Functions whose time per cycle changed beyond noise, largest change first.

        By family where names do not meet.
        """
        return changes(self.pair, self.verdict)

    def known_load(self, place: int) -> dict[str, Any]:
        """A row with its counter as far as it is known: None on a side that knows nothing of it."""
        return known_load(self.pair, place)

    @property
    def tested(self) -> bool:
        """Whether there is a test: one cycle on a side has no spread."""
        cycles = self.pair.cycle_times
        return min(len(cycles.base_ns), len(cycles.new_ns)) > 1

    def is_tested(self, row: Mapping[str, Any]) -> bool:
        """Whether there is a test of a row, which may be in fewer cycles than there are."""
        in_one = 1 in (row["cycles_base"], row["cycles_new"])
        return self.tested and row["runs_on"] == "both" and not in_one

    # -- tables ------------------------------------------------------------------------------------

    @cached_property
    def times(self) -> pl.DataFrame:
        """`Pair.times` without functions of a sort that one side did not record.

        Nor callers of such functions that one side lacks: their own time is what was not recorded.
        """
        lacking = self.verdict.unrecorded
        alone = pl.col("runs_on").cast(pl.String) != "both"
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
        said = [
            f"{self.side_name(side)} did not record {_and(sorts)}"
            for side, sorts in (("base", lacking.base), ("new", lacking.new))
            if sorts
        ]
        why = "; ".join(said) or "only one side tells what threads did outside of recorded calls"
        return f"left out here: {count} {'functions' if count > 1 else 'function'}, as {why}"

    # -- names -------------------------------------------------------------------------------------

    @property
    def comparable(self) -> bool:
        """Whether the numbers that are told are of the same work, or of one run."""
        whole = self.whole
        return (
            whole.workload.comparable or whole.equal_work is not None or whole.cycle_times.one_run
        )

    @property
    def processes(self) -> str:
        """Which processes are compared: `rank 3`, `pid 7`, `pid 7 → 9`."""
        return processes(self.whole)

    def side_name(self, which: str) -> str:
        """What `base` or `new` is called: `normal`, `abnormal`; names of peers are too long."""
        if self.pair.kind == "peers":
            return "the first" if which == "base" else "the second"
        role = self.pair.base if which == "base" else self.pair.new
        return role.label.partition("_pid_")[0]

    def label(self, function: str) -> str:
        """The short name of a function."""
        return self.labels.get(function, function)

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


def known_load(pair: Pair, place: int) -> dict[str, Any]:
    """A row of a pair, the counter None on a side that does not know it."""
    row, known = (table.row(place, named=True) for table in (pair.rows, pair.loads))
    counter = {name: known[name] for name in known if "mu_" in name}
    for side, other in (("base", "new"), ("new", "base")):
        if other in (known["runs_on"], row["runs_on"]):
            counter[f"mu_{side}"] = None
    return {**row, **counter}


def _and(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
