"""A pair with what is worth saying of it: functions and counters that changed, and its tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import msgspec
import polars as pl

from timesink.analyses.behaviour.functions import STEP_MARK, STEP_MARK_TOLD
from timesink.analyses.thresholds import SignificanceLimits
from timesink.answers.comparison.causes import told_counters
from timesink.answers.comparison.naming import pair_title
from timesink.answers.tables import Listing, ViewTable, short_labels
from timesink.answers.views import compared_view, listed_table, meanings_of
from timesink.comparison.results import Pair, Process
from timesink.comparison.steps.verdict import PairChanges, either_p, judge_pair
from timesink.comparison.thresholds import StepsVerdictLimits
from timesink.model import units
from timesink.model.diagnosis import SIDES, Diagnosis
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import amount, digits, from_to, per_cycle, shares, times
from timesink.model.units import change as worded_change
from timesink.output.blocks import Table
from timesink.output.names import cut_middle

_BOTH = "both"
_AMOUNTS = ("device", "base_ns", "new_ns", "calls_base", "calls_new", "p")


class Change(msgspec.Struct, frozen=True):
    """A function, or a family of them under unlike names, and its time per step on both sides."""

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
        has_counter = (pl.col(f"cycles_{side}") > 0) & value.is_finite()
        means = here.filter(pl.col("function").is_in(names), has_counter).group_by("metric")
        sides.append(
            means.agg(
                pl.when(same).then(value.first()).otherwise(mean).alias(f"mu_{side}"),
                *([pl.col("unit").first()] if side == "base" else []),
            )
        )
    both = {row["metric"]: row for row in sides[0].join(sides[1], "metric").to_dicts()}
    return [{**both[name], "device": change.device} for name in counters if name in both]


@dataclass(frozen=True)
class PairView:
    """A pair with what is to be said of it."""

    full_pair: Pair
    as_recorded: bool = False

    @property
    def pair(self) -> Pair:
        """The pair whose numbers are told: of equal work where cycles do not hold the same."""
        equal = self.full_pair.equal_work
        return self.full_pair if equal is None or self.as_recorded else equal

    @cached_property
    def verdict(self) -> PairChanges:
        """What differs by more than noise."""
        return judge_pair(self.pair)

    @cached_property
    def changed_counters(self) -> pl.DataFrame:
        """Counters that changed beyond noise, strongest change first."""
        rows = self.pair.loads[list(self.verdict.counters)]
        return rows.with_columns(p=either_p("mu_welch_p", "mu_rank_p"))

    @cached_property
    def counters(self) -> list[dict[str, Any]]:
        """The same, a dictionary each."""
        return self.changed_counters.to_dicts()

    @cached_property
    def changes(self) -> list[Change]:
        """Functions whose time per step changed beyond noise, largest change first.

        A function that one side lacks has not gone where the other side has the same work under
        other names: such functions are told as one family, with all that belongs to it.
        """
        p, pair = either_p("welch_p", "rank_p"), self.pair
        rows = pair.times[list(self.verdict.functions)].with_columns(p=p).to_dicts()
        single_sided = {(row["function"], row["device"]) for row in rows if row["runs_on"] != _BOTH}
        shared = (pl.col("names_base").list.len() > 0) & (pl.col("names_new").list.len() > 0)
        every: list[Change] = []
        for row in pair.families.filter(shared).with_columns(p=p).iter_rows(named=True):
            sides = tuple(row["names_base"]), tuple(row["names_new"])
            if single_sided & {(name, row["device"]) for side in sides for name in side}:
                level = "family" if row["name"] is None else "normalised"
                name = row["family"] if row["name"] is None else row["name"]
                amounts = {key: row[key] for key in _AMOUNTS}
                every.append(Change(name, _BOTH, *sides, level=level, **amounts))
        family_functions = {
            (name, change.device)
            for change in every
            for name in (*change.names_base, *change.names_new)
        }
        every += (
            Change(name, row["runs_on"], (name,), (name,), **{key: row[key] for key in _AMOUNTS})
            for row in rows
            if ((name := row["function"]), row["device"]) not in family_functions
        )
        return sorted(every, key=lambda change: (-abs(change.delta_ns), change.name, change.device))

    @property
    def comparable(self) -> bool:
        """Whether the numbers that are told are of the same work, or of one run."""
        full_pair = self.full_pair
        return (
            full_pair.workload.comparable
            or full_pair.equal_work is not None
            or full_pair.cycle_times.one_run
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
        unrecorded = self.verdict.unrecorded
        is_single_sided = pl.col("runs_on").cast(pl.String) != _BOTH
        return self.pair.times.filter(
            ~(unrecorded.of_these() | (unrecorded.call_these() & is_single_sided))
        )

    @cached_property
    def families(self) -> pl.DataFrame:
        """`Pair.families` without those that hold nothing else than such functions."""
        table, functions = self.pair.families, self.times.select("function", "device")
        if functions.height == self.pair.times.height:
            return table
        names = pl.concat_list("names_base", "names_new").alias("function")
        listed = table.with_row_index("place").select("place", "device", names)
        single = listed.explode("function", empty_as_null=True, keep_nulls=True)
        family_rows = single.join(functions, ["function", "device"], "semi")
        return table[family_rows["place"].unique().sort()]

    @property
    def unrecorded(self) -> str:
        """Why functions are left out of these; empty where none are."""
        unrecorded, count = self.verdict.unrecorded, self.pair.times.height - self.times.height
        if not count:
            return ""
        phrases = []
        for side, sorts in (("base", unrecorded.base), ("new", unrecorded.new)):
            if sorts:
                which = " and ".join(filter(None, (", ".join(sorts[:-1]), sorts[-1])))
                phrases.append(f"{self.side_name(side)} did not record {which}")
        why = "; ".join(phrases) or "only one side tells what threads did outside of recorded calls"
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
    row, load = (table.row(place, named=True) for table in (pair.rows, pair.loads))
    counter = {name: load[name] for name in load if "mu_" in name}
    for side, other in (("base", "new"), ("new", "base")):
        if other in (load["runs_on"], row["runs_on"]):
            counter[f"mu_{side}"] = None
    return {**row, **counter}


# -- the tables of pairs and of roles as blocks: numbers stay numbers ------------------------------

MAX_ROWS = 500
"""Rows of a table; few readers look at more, and a file holds them all."""
_MAX_ROWS_WITHOUT_METRICS = 5
"""Rows of functions without metrics."""
NO_FAMILIES = "All function names match: none is in one run only."
"""Why the table of families has no rows."""
_ABSENT = "-"
_VERDICTS = {
    "longer": "longer",
    "shorter": "shorter",
    "doubtful": "may be noise",
    "none": "within noise",
    "cannot tell": "cannot tell",
    "unknown": "too few steps",
}
_CHANGED = (
    "yes: beyond noise; little: beyond noise, by less than "
    f"{StepsVerdictLimits.min_share:.0%} of a step; noise: not more than noise."
)
_COMPARED = meanings_of("compared")
ROLES = meanings_of("roles")
CYCLES = meanings_of("roles", "cycles")


def pair_blocks(
    report: PairView,
    rows: int,
    id_: str = "",
    *,
    brief: Diagnosis | None = None,
    scores: bool = True,
) -> Iterator[Table]:
    """The tables of a pair; of a `brief` answer without counters that its diagnosis names."""
    measured = report.pair.rows.height > 0
    yield times_block(report, rows, f"{id_}functions")
    if brief and measured and not report.times["measured"].all():
        few = min(rows, _MAX_ROWS_WITHOUT_METRICS)
        yield times_block(report, few, f"{id_}functions-without-metrics", unmeasured=True)
    if not report.families.is_empty():
        yield families_block(report, rows, f"{id_}families")
    counters = counters_block(report, rows, f"{id_}counters", told_counters(brief))
    if counters.rows:
        yield counters
    if measured and scores:
        yield scores_block(report, rows, f"{id_}scores")


def times_block(
    report: PairView, most: int, id_: str = "functions", *, unmeasured: bool = False
) -> Table:
    """Time per step of every function, or those without a metric; the largest change first."""
    listing = partial(_times_listing, report, unmeasured=unmeasured)
    return _compared("times", report.pair.times, listing).block(rows=most, id_=id_)


def _compared(name: str, frame: pl.DataFrame, listing: Callable[[], Listing]) -> ViewTable:
    return ViewTable(compared_view(name), frame, listing=listing)


def _times_listing(report: PairView, *, unmeasured: bool = False) -> Listing:
    every = report.times.filter(~pl.col("measured")) if unmeasured else report.times

    def values(rows: pl.DataFrame) -> dict[str, Any]:
        both_calls = zip(*(map(per_cycle, rows[f"calls_{side}"]) for side in SIDES), strict=True)
        return {
            "function": map(report.label, rows["function"]),
            "verdict": _outcomes(report, rows),
            "calls": [" → ".join(dict.fromkeys(both)) for both in both_calls],
            "class": rows["function_class"],
            # Names as they were recorded, which a search finds as well.
            "name": rows["function"],
            **_of_sides(report, rows),
        }

    return Listing(
        every,
        values,
        "Functions without metrics, largest changes" if unmeasured else "",
        titles=_side_titles(report),
        meanings={"verdict": _CHANGED},
        looks={"note": "" if unmeasured else report.unrecorded},
    )


def _outcomes(report: PairView, rows: pl.DataFrame) -> Iterator[str | None]:
    """Whether a function changed, and by how much of a cycle, or runs on one side only."""
    moved = report.pair.times[list(report.verdict.functions)].select("function", "device")
    changed, cycles = set(moved.iter_rows()), report.pair.cycle_times
    least = StepsVerdictLimits.min_share * min(cycles.base_mean_ns, cycles.new_mean_ns)
    for row, p in zip(rows.iter_rows(named=True), _chances(rows), strict=True):
        if row["runs_on"] != "both":
            yield f"only in {report.side_name(row['runs_on'])}"
        elif (row["function"], row["device"]) in changed:
            yield "yes"
        elif not report.tested or p is None:
            yield None
        else:
            yield (
                "little"
                if p < SignificanceLimits.alpha and abs(row["delta_ns"]) < least
                else "noise"
            )


def families_block(report: PairView, most: int, id_: str = "families") -> Table:
    """Functions whose exact names are on one side only, brought together by what they are."""
    listing = partial(_families_listing, report)
    return _compared("families", report.pair.families, listing).block(rows=most, id_=id_)


def _families_listing(report: PairView, *, is_only_table: bool = False) -> Listing:
    """Where this `is_only_table`, it says itself what is left out."""

    def values(rows: pl.DataFrame) -> dict[str, Any]:
        return {
            "function": family_names(rows),
            **{name: rows[name].list.len() for name in ("names_base", "names_new")},
            **_of_sides(report, rows),
        }

    return Listing(
        report.families,
        values,
        titles=_side_titles(report),
        looks={
            "note": "" if report.families.height else NO_FAMILIES,
            "rest": report.unrecorded if is_only_table else "",
        },
    )


def counters_block(
    report: PairView, most: int, id_: str = "counters", before: Collection[tuple[str, str]] = ()
) -> Table:
    """Counters that changed beyond noise, each once; not those of a device told `before`."""
    listing = partial(_counters_listing, report, before)
    return _compared("counters", report.changed_counters, listing).block(rows=most, id_=id_)


def _counters_listing(report: PairView, before: Collection[tuple[str, str]] = ()) -> Listing:
    frame = report.changed_counters
    named = zip(frame["metric"], frame["device"], strict=True)
    every = frame.filter(pl.Series([name not in before for name in named], dtype=pl.Boolean))

    def values(rows: pl.DataFrame) -> dict[str, Any]:
        counters = rows.to_dicts()
        return {
            "counter": rows["metric"],
            "value": [counter_values(report, row) for row in counters],
            "change": [worded_change(row["mu_base"], row["mu_new"]) for row in counters],
            "function": map(report.label, rows["function"]),
        }

    is_all = every.height == frame.height
    return Listing(every, values, "" if is_all else "Other counters that changed beyond noise")


def scores_block(report: PairView, most: int, id_: str = "scores") -> Table:
    """Functions with their counters, the highest score first."""
    listing = partial(_scores_listing, report)
    return _compared("rows", report.pair.rows, listing).block(rows=most, id_=id_)


def _scores_listing(report: PairView) -> Listing:
    def values(frame: pl.DataFrame) -> dict[str, Any]:
        rows = [known_load(report.pair, place) for place in range(frame.height)]
        tested = [report.is_tested(row) for row in rows]

        def chances(key: str) -> list[float | None]:
            return [
                row[key] if is_tested else None for row, is_tested in zip(rows, tested, strict=True)
            ]

        return {
            "function": [report.label(row["function"]) for row in rows],
            "counter": [counter_values(report, row) for row in rows],
            **{f"beta_{side}": [row[f"beta_{side}_pct"] for row in rows] for side in SIDES},
            "share": [shares(row["beta_base_pct"], row["beta_new_pct"]) for row in rows],
            "digits": [digits(row["score"]) for row in rows],
            "p_share": chances("beta_rank_p"),
            "p_counter": chances("mu_rank_p"),
            "name": [row["function"] for row in rows],
        }

    return Listing(report.pair.rows, values, meanings={"score": _COMPARED["digits"]})


LISTINGS: Mapping[str, Callable[[PairView], Listing]] = {
    "rows": _scores_listing,
    "times": _times_listing,
    "families": partial(_families_listing, is_only_table=True),
    "counters": _counters_listing,
}
"""How people read the tables of a pair that can be asked for alone."""


def pairs_block(
    pairs: Sequence[tuple[Pair, PairView]], names: Sequence[str], most: int | None = None
) -> Table:
    """One row per pair: how cycle time changed, and what changed most."""
    every, pairs, names = len(pairs), pairs[:most], names[:most]
    cycles = [report.pair.cycle_times for _, report in pairs]
    values = {
        "pair": names,
        "base_ns": [cycle_times.base_mean_ns for cycle_times in cycles],
        "new_ns": [cycle_times.new_mean_ns for cycle_times in cycles],
        "delta_ns": [cycle_times.new_mean_ns - cycle_times.base_mean_ns for cycle_times in cycles],
        "verdict": [
            _VERDICTS[report.verdict.cycles] if report.comparable else "unequal work"
            for _, report in pairs
        ],
        "most": [_most_changed(report) for _, report in pairs],
    }
    return listed_table(
        "pairs", "pairs", "Cycle time", cycles, values, total_rows=every, meanings=_COMPARED
    )


def sides_block(pairs: Sequence[tuple[Pair, PairView]]) -> Table:
    """One row per side and pair: file, process, cycles and how these were found."""
    roles = [
        (pair_title(pair), role)
        for pair, report in pairs
        for role in (report.full_pair.base, report.full_pair.new)
    ]
    return roles_block(roles, several=len({title for title, _ in roles}) > 1)


def roles_block(roles: Sequence[tuple[str, Process]], *, several: bool = False) -> Table:
    """One row per process; with what it belongs to where there are `several` such."""
    every = [role for _, role in roles]
    values = {
        "case": [title for title, _ in roles] if several else None,
        "side": [role.label for role in every],
        "mean_ns": [role.mean_cycle_ns or None for role in every],
    }
    note = units.count_noun(len(every), "processes") if len(every) > 2 else ""
    return listed_table(
        "compared-processes", "roles", "Processes", every, values, note=note, meanings=ROLES
    )


def _side_titles(report: PairView) -> dict[str, str]:
    """What columns of times of both sides are called."""
    return {f"{side}_ns": report.side_name(side) for side in SIDES}


def _of_sides(report: PairView, rows: pl.DataFrame) -> dict[str, Any]:
    """Shares of both sides, and chances: of one cycle on a side there is no test."""
    chances = _chances(rows) if report.tested else [None] * rows.height
    return {**{f"beta_{side}": rows[f"beta_{side}_pct"] for side in SIDES}, "p": chances}


def _chances(rows: pl.DataFrame) -> list[float | None]:
    """Probabilities that times differ as much by chance."""
    return rows.select(either_p("welch_p", "rank_p").alias("p"))["p"].to_list()


def _most_changed(report: PairView) -> str:
    """The function whose time changed most, or else the counter."""
    for change in report.changes[:1]:
        return f"{cut_middle(report.name(change))} {times(change.base_ns, change.new_ns)}"
    for row in report.counters[:1]:
        return f"{row['metric']} {counter_values(report, row)}"
    return _ABSENT


def counter_values(report: PairView, row: Mapping[str, Any]) -> str:
    """The counter on both sides; a side on which the function did not run has none."""
    if row["runs_on"] == "both":
        return known_amounts(row)
    return f"only in {report.side_name(row['runs_on'])}"


def known_amounts(row: Mapping[str, Any]) -> str:
    """A counter on both sides, a dash for one that does not know it."""
    sides = (row["mu_base"], row["mu_new"])
    if sides == (None, None):
        return _ABSENT
    return from_to(*(_ABSENT if level is None else amount(level, row["unit"]) for level in sides))


def family_names(families: pl.DataFrame) -> list[str]:
    """The normalised name, or the family where names did not meet even so."""
    short = short_labels(families["name"].drop_nulls())
    return [
        f"{family} (family)" if name is None else short[name]
        for family, name in families.select("family", "name").iter_rows()
    ]
