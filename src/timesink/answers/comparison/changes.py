"""A pair with what is worth saying of it: functions and counters that changed, and its tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from timesink.analyses.behaviour import STEP_MARK, STEP_MARK_TOLD
from timesink.analyses.comparison import Pair, Role
from timesink.analyses.comparison.verdict import LEAST_SHARE, PairVerdict, either_p, verdict
from timesink.analyses.statistics import ALPHA
from timesink.answers.causes import told_counters
from timesink.answers.comparison.pairing import Compared
from timesink.answers.tables import short_labels
from timesink.answers.views import listed_table, meanings_of
from timesink.model import units
from timesink.model.diagnosis import SIDES, Diagnosis
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import amount, digits, from_to, per_cycle, shares, times
from timesink.model.units import change as worded_change
from timesink.output.blocks import Table
from timesink.output.names import cut_middle

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


# -- the tables of pairs and of roles as blocks: numbers stay numbers ------------------------------

MOST_ROWS = 500
"""Rows of a table; few readers look at more, and a file holds them all."""
_FEW = 5
"""Rows of functions without metrics."""
NO_FAMILIES = "All names meet: no function is on one side only."
"""Why the table of families has no rows."""
_ABSENT = "-"
_VERDICTS = {
    "longer": "longer",
    "shorter": "shorter",
    "doubtful": "may be noise",
    "none": "within noise",
    "cannot tell": "cannot tell",
    "unknown": "too few cycles",
}
_CHANGED = (
    f"yes: beyond noise; little: beyond noise, by less than {LEAST_SHARE:.0%} of a cycle; noise: "
    "by no more than noise may do."
)
_COMPARED = meanings_of("compared")
ROLES = meanings_of("roles")
CYCLES = meanings_of("roles", "cycles")


def pair_blocks(
    told: Told, rows: int, id_: str = "", *, brief: Diagnosis | None = None, scores: bool = True
) -> Iterator[Table]:
    """The tables of a pair; of a `brief` answer without counters that its diagnosis names."""
    measured = told.pair.rows.height > 0
    yield times_block(told, rows, f"{id_}functions")
    if brief and measured and not told.times["measured"].all():
        few = min(rows, _FEW)
        yield times_block(told, few, f"{id_}functions-without-metrics", unmeasured=True)
    if not told.families.is_empty():
        yield families_block(told, rows, f"{id_}families")
    counters = counters_block(told, rows, f"{id_}counters", told_counters(brief))
    if counters.rows:
        yield counters
    if measured and scores:
        yield scores_block(told, rows, f"{id_}scores")


def times_block(
    told: Told, most: int, id_: str = "functions", *, unmeasured: bool = False
) -> Table:
    """Time per cycle of every function, or those without a metric; the largest change first."""
    every = told.times.filter(~pl.col("measured")) if unmeasured else told.times
    rows = every.head(most).with_columns(p=either_p("welch_p", "rank_p"))
    calls = zip(map(per_cycle, rows["calls_base"]), map(per_cycle, rows["calls_new"]), strict=True)
    what = "Functions without metrics" if unmeasured else "Time per cycle"
    values = {
        "function": map(told.label, rows["function"]),
        "verdict": _outcomes(told, rows),
        "calls": [" → ".join(dict.fromkeys(both)) for both in calls],
        "class": rows["function_class"],
        # Names as they were recorded, which a search finds as well.
        "name": rows["function"],
        **_of_sides(told, rows),
    }
    return listed_table(
        "function-times", id_, f"{what}, largest changes", rows, values,
        titles=_side_titles(told), total_rows=every.height,
        note="" if unmeasured else told.unrecorded, meanings={**_COMPARED, "verdict": _CHANGED},
    )  # fmt: skip


def _outcomes(told: Told, rows: pl.DataFrame) -> Iterator[str | None]:
    """Whether a function changed, and by how much of a cycle, or runs on one side only."""
    moved = told.pair.times[list(told.verdict.functions)].select("function", "device")
    changed, cycles = set(moved.iter_rows()), told.pair.cycle_times
    least = LEAST_SHARE * min(cycles.base_mean_ns, cycles.new_mean_ns)
    for row in rows.iter_rows(named=True):
        if row["runs_on"] != "both":
            yield f"only in {told.side_name(row['runs_on'])}"
        elif (row["function"], row["device"]) in changed:
            yield "yes"
        elif not told.tested or row["p"] is None:
            yield None
        else:
            yield "little" if row["p"] < ALPHA and abs(row["delta_ns"]) < least else "noise"


def families_block(told: Told, most: int, id_: str = "families", *, alone: bool = False) -> Table:
    """Functions whose exact names are on one side only, brought together by what they are.

    Where this table is `alone`, it says itself what is left out.
    """
    rows = told.families.head(most).with_columns(p=either_p("welch_p", "rank_p"))
    values = {
        "function": family_names(rows),
        **{name: rows[name].list.len() for name in ("names_base", "names_new")},
        **_of_sides(told, rows),
    }
    return listed_table(
        "name-families", id_, "Names that do not meet, by what they are", rows, values,
        titles=_side_titles(told), total_rows=told.families.height,
        note="" if rows.height else NO_FAMILIES, meanings=_COMPARED,
        rest=told.unrecorded if alone else "",
    )  # fmt: skip


def counters_block(
    told: Told, most: int, id_: str = "counters", before: Collection[tuple[str, str]] = ()
) -> Table:
    """Counters that changed beyond noise, each once; not those of a device told `before`."""
    every = [row for row in told.counters if (row["metric"], row["device"]) not in before]
    which, rows = "Counters" if len(every) == len(told.counters) else "Other counters", every[:most]
    values = {
        "counter": [row["metric"] for row in rows],
        "value": [counter_values(told, row) for row in rows],
        "change": [worded_change(row["mu_base"], row["mu_new"]) for row in rows],
        "function": [told.label(row["function"]) for row in rows],
    }
    return listed_table(
        "counter-changes",
        id_,
        f"{which} that changed beyond noise",
        rows,
        values,
        total_rows=len(every),
        meanings=_COMPARED,
    )


def scores_block(told: Told, most: int, id_: str = "scores") -> Table:
    """Functions with their counters, the highest score first."""
    rows = [known_load(told.pair, place) for place in range(min(most, told.pair.rows.height))]
    tested = [told.is_tested(row) for row in rows]

    def chances(key: str) -> list[float | None]:
        return [row[key] if known else None for row, known in zip(rows, tested, strict=True)]

    values = {
        "function": [told.label(row["function"]) for row in rows],
        "counter": [counter_values(told, row) for row in rows],
        **{f"beta_{side}": [row[f"beta_{side}_pct"] for row in rows] for side in SIDES},
        "share": [shares(row["beta_base_pct"], row["beta_new_pct"]) for row in rows],
        "digits": [digits(row["score"]) for row in rows],
        "p_share": chances("beta_rank_p"),
        "p_counter": chances("mu_rank_p"),
        "name": [row["function"] for row in rows],
    }
    title = "Functions whose share and counter changed most (score: in spreads of the base)"
    return listed_table(
        "function-scores", id_, title, rows, values, total_rows=told.pair.rows.height,
        meanings={**_COMPARED, "score": _COMPARED["digits"]},
    )  # fmt: skip


def pairs_block(
    pairs: Sequence[tuple[Compared, Told]], names: Sequence[str], most: int | None = None
) -> Table:
    """One row per pair: how cycle time changed, and what changed most."""
    every, pairs, names = len(pairs), pairs[:most], names[:most]
    cycles = [told.pair.cycle_times for _, told in pairs]
    values = {
        "pair": names,
        "base_ns": [one.base_mean_ns for one in cycles],
        "new_ns": [one.new_mean_ns for one in cycles],
        "delta_ns": [one.new_mean_ns - one.base_mean_ns for one in cycles],
        "verdict": [
            _VERDICTS[told.verdict.cycles] if told.comparable else "unequal work"
            for _, told in pairs
        ],
        "most": [_most_changed(told) for _, told in pairs],
    }
    return listed_table(
        "pairs", "pairs", "Cycle time", cycles, values, total_rows=every, meanings=_COMPARED
    )


def sides_block(pairs: Sequence[tuple[Compared, Told]]) -> Table:
    """One row per side and pair: file, process, cycles and how these were found."""
    roles = [(one.title, role) for one, told in pairs for role in (told.whole.base, told.whole.new)]
    return roles_block(roles, several=len({title for title, _ in roles}) > 1)


def roles_block(roles: Sequence[tuple[str, Role]], *, several: bool = False) -> Table:
    """One row per process; with what it belongs to where there are `several` such."""
    every = [role for _, role in roles]
    values = {
        "case": [title for title, _ in roles] if several else None,
        "side": [role.label for role in every],
        "mean_ns": [role.mean_cycle_ns or None for role in every],
    }
    note = units.counted(len(every), "processes") if len(every) > 2 else ""
    return listed_table(
        "compared-processes", "roles", "Processes", every, values, note=note, meanings=ROLES
    )


def _side_titles(told: Told) -> dict[str, str]:
    """What columns of times of both sides are called."""
    return {f"{side}_ns": told.side_name(side) for side in SIDES}


def _of_sides(told: Told, rows: pl.DataFrame) -> dict[str, Any]:
    """Shares of both sides, and chances: of one cycle on a side there is no test."""
    chances = rows["p"].to_list() if told.tested else [None] * rows.height
    return {**{f"beta_{side}": rows[f"beta_{side}_pct"] for side in SIDES}, "p": chances}


def _most_changed(told: Told) -> str:
    """The function whose time changed most, or else the counter."""
    for one in told.changes[:1]:
        return f"{cut_middle(told.name(one))} {times(one.base_ns, one.new_ns)}"
    for row in told.counters[:1]:
        return f"{row['metric']} {counter_values(told, row)}"
    return _ABSENT


def counter_values(told: Told, row: Mapping[str, Any]) -> str:
    """The counter on both sides; a side on which the function did not run has none."""
    if row["runs_on"] == "both":
        return known_amounts(row)
    return f"only in {told.side_name(row['runs_on'])}"


def known_amounts(row: Mapping[str, Any]) -> str:
    """A counter on both sides, a dash for one that does not know it."""
    sides = (row["mu_base"], row["mu_new"])
    if sides == (None, None):
        return _ABSENT
    return from_to(*(_ABSENT if one is None else amount(one, row["unit"]) for one in sides))


def family_names(families: pl.DataFrame) -> list[str]:
    """The normalised name, or the family where names did not meet even so."""
    short = short_labels(families["name"].drop_nulls())
    return [
        f"{family} (family)" if name is None else short[name]
        for family, name in families.select("family", "name").iter_rows()
    ]
