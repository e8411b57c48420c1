"""The tables of pairs and of roles as blocks, for pages and for text: numbers stay numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from timesink.analyses.comparison.pair import Role
from timesink.analyses.comparison.verdict import LEAST_SHARE, either_p
from timesink.analyses.statistics.means import ALPHA
from timesink.answers.causes import told_counters
from timesink.answers.comparison.changes import Told, known_load
from timesink.answers.comparison.pairing import Compared
from timesink.answers.tables import short_labels
from timesink.answers.views import listed_table, meanings_of
from timesink.model import units
from timesink.model.diagnosis import SIDES, Diagnosis
from timesink.model.units import amount, digits, from_to, per_cycle, shares, times
from timesink.model.units import change as worded_change
from timesink.output.blocks import Table
from timesink.output.names import cut_middle

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
