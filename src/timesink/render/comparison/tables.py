"""The tables of a pair for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import polars as pl

from timesink.analyses.comparison.verdict import either_p
from timesink.model import units
from timesink.model.amounts import (
    amount,
    chance,
    change,
    digits,
    from_to,
    per_cycle,
    shares,
    times,
)
from timesink.render.shown import Shown
from timesink.reports.comparison.answer import brief
from timesink.reports.comparison.report import Compared
from timesink.reports.comparison.told import Told
from timesink.reports.function_names import short_labels

_ABSENT = "-"
_PAIRS = ("role", "cycle time", "change", "verdict", "changed most")
_PAIR_SPARES = (0, 0, 0, 0, 1)
_VERDICTS = {
    "longer": "longer",
    "shorter": "shorter",
    "doubtful": "may be noise",
    "none": "within noise",
    "cannot tell": "cannot tell",
    "unknown": "too few cycles",
}
_COUNTERS = ("counter", "device", "value", "change", "p", "function")
_COUNTER_SPARES = (0, 0, 0, 0, 1, 2)
_ROWS = (
    "function",
    "metric",
    "device",
    "counter",
    "share of cycle",
    "p share",
    "p counter",
    "score",
)
_ROW_SPARES = (0, 0, 1, 0, 2, 5, 5, 0)
_TIMES = ("function", "device", "time per cycle", "change", "p", "calls")
_TIME_SPARES = (0, 2, 0, 0, 3, 4)
_FAMILIES = ("function", "device", "time per cycle", "change", "names", "p")
_FAMILY_SPARES = (0, 2, 0, 0, 3, 4)
NO_FAMILIES = "All names meet: no function is on one side only."
"""Why the table of families has no rows."""


def pairs_table(pairs: Sequence[tuple[Compared, Told]]) -> Shown:
    """One row per pair: how cycle time changed, and what changed most."""
    several = len({one.identifier for one, _ in pairs}) > 1
    types = len({one.suffix for one, _ in pairs}) > 1
    cells = []
    for one, told in pairs:
        cycles = told.pair.cycle_times
        cells.append(
            (
                _role(one.identifier * several, one.cycles * types, told.processes),
                times(cycles.base_mean_ns, cycles.new_mean_ns),
                change(cycles.base_mean_ns, cycles.new_mean_ns),
                verdict_word(told),
                most_changed(told),
            )
        )
    title = f"Cycle time ({units.counted(len(cells), 'pairs')})"
    return Shown(title, _PAIRS, tuple(cells), (False, True, True, False, False), spare=_PAIR_SPARES)


def verdict_word(told: Told) -> str:
    """What became of the cycle time of a pair, in a word or two."""
    return _VERDICTS[told.verdict.cycles] if told.comparable else "unequal work"


def _role(*words: str) -> str:
    return ", ".join(filter(None, words))


def most_changed(told: Told) -> str:
    """The function whose time changed most, or else the counter."""
    for one in told.changes[:1]:
        return f"{brief(told.name(one))} {times(one.base_ns, one.new_ns)}"
    for row in told.counters[:1]:
        return f"{row['metric']} {counter_values(told, row)}"
    return _ABSENT


def counters_table(
    told: Told, top: int | None, before: AbstractSet[tuple[str, str]] = frozenset()
) -> Shown:
    """Counters that changed beyond noise, each once and not once per function.

    Those of a device that were told `before` are left out.
    """
    rows = [row for row in told.counters if (row["metric"], row["device"]) not in before]
    which = "Counters" if len(rows) == len(told.counters) else "Other counters"
    shown = rows if top is None else rows[:top]
    cells = [
        (
            row["metric"],
            row["device"],
            counter_values(told, row),
            change(row["mu_base"], row["mu_new"]),
            chance(row["p"]),
            told.label(row["function"]),
        )
        for row in shown
    ]
    title = _title(f"{which} that changed beyond noise", len(shown), len(rows), "counters")
    return Shown(
        title, _COUNTERS, tuple(cells), (False, False, *[True] * 3, False), spare=_COUNTER_SPARES
    )


def rows_table(told: Told, top: int | None) -> Shown:
    """The rows with the highest scores, counters in the units they are in."""
    rows = told.pair.rows if top is None else told.pair.rows.head(top)
    cells = [
        (
            told.label(row["function"]),
            row["metric"],
            row["device"],
            counter_values(told, row),
            shares(row["beta_base_pct"], row["beta_new_pct"]),
            *_chances(told, row),
            digits(row["score"]),
        )
        for row in map(told.known_load, range(rows.height))
    ]
    title = _title("Highest scores", rows.height, told.pair.rows.height, "rows")
    return Shown(title, _ROWS, tuple(cells), (False, False, False, *[True] * 5), spare=_ROW_SPARES)


def _chances(told: Told, row: Mapping[str, Any]) -> tuple[str, str]:
    """Chances of share and counter; of what is known on one side only there is no test."""
    if not told.is_tested(row):
        return _ABSENT, _ABSENT
    known = row["mu_base"] is not None and row["mu_new"] is not None
    return chance(row["beta_rank_p"]), chance(row["mu_rank_p"]) if known else _ABSENT


def _chance(told: Told, p: float | None) -> str:
    return chance(p) if told.tested else _ABSENT


def counter_values(told: Told, row: Mapping[str, Any]) -> str:
    """The counter on both sides; a side on which the function did not run has none."""
    if row["runs_on"] == "both":
        return known_amounts(row)
    return f"only in {told.side_name(row['runs_on'])}"


def known_amounts(row: Mapping[str, Any]) -> str:
    """A counter on both sides, a dash for one that does not know it.

    >>> known_amounts({"mu_base": 37.1, "mu_new": None, "unit": "%"})
    '37.1 % → -'
    """
    sides = (row["mu_base"], row["mu_new"])
    if sides == (None, None):
        return _ABSENT
    return from_to(*(_ABSENT if one is None else amount(one, row["unit"]) for one in sides))


def times_table(told: Told, top: int | None, *, measured: bool | None = None) -> Shown:
    """Functions whose time per cycle changed most; with or without a metric, or all."""
    table = told.times
    if measured is not None:
        table = table.filter(pl.col("measured") == measured)
    shown = table if top is None else table.head(top)
    shown = shown.with_columns(p=either_p("welch_p", "rank_p"))
    cells = [
        (
            told.label(row["function"]),
            row["device"],
            times(row["base_ns"], row["new_ns"]),
            _change(row, row["runs_on"]),
            _chance(told, row["p"]),
            _calls(row),
        )
        for row in shown.iter_rows(named=True)
    ]
    what = "Time per cycle" if measured is None else "Functions without metrics"
    title = _title(f"{what}, largest changes", shown.height, table.height, "functions")
    return Shown(
        title,
        _TIMES,
        tuple(cells),
        (False, False, *[True] * 4),
        rest=told.unrecorded if measured is None else "",
        spare=_TIME_SPARES,
    )


def families_table(told: Told, top: int | None, *, alone: bool = False) -> Shown:
    """Functions whose exact names are on one side only, brought together by what they are.

    Where this table is `alone`, it says itself what is left out.
    """
    table = told.families
    shown = table if top is None else table.head(top)
    shown = shown.with_columns(p=either_p("welch_p", "rank_p"))
    names = family_names(shown)
    cells = [
        (
            name,
            row["device"],
            times(row["base_ns"], row["new_ns"]),
            _change(row, _family_runs_on(row)),
            from_to(_count(row["names_base"]), _count(row["names_new"])),
            _chance(told, row["p"]),
        )
        for name, row in zip(names, shown.iter_rows(named=True), strict=True)
    ]
    title = _title("Names that do not meet, by what they are", shown.height, table.height, "rows")
    return Shown(
        title,
        _FAMILIES,
        tuple(cells),
        (False, False, *[True] * 4),
        rest=told.unrecorded if alone else "",
        spare=_FAMILY_SPARES,
        nothing=NO_FAMILIES,
    )


def _change(row: Mapping[str, Any], runs_on: str) -> str:
    """How much more time it takes; what runs on one side only has gone, or is new."""
    if runs_on != "both":
        return "gone" if runs_on == "base" else "new"
    return change(row["base_ns"], row["new_ns"])


def _family_runs_on(row: Mapping[str, Any]) -> str:
    if row["names_base"] and row["names_new"]:
        return "both"
    return "base" if row["names_base"] else "new"


def family_names(families: pl.DataFrame) -> list[str]:
    """The normalised name, or the family where names did not meet even so."""
    short = short_labels(families["name"].drop_nulls())
    return [
        f"{family} (family)" if name is None else short[name]
        for family, name in families.select("family", "name").iter_rows()
    ]


def _count(names: Sequence[str] | None) -> str:
    return units.count(len(names or ()))


def _calls(row: Mapping[str, Any]) -> str:
    base, new = per_cycle(row["calls_base"]), per_cycle(row["calls_new"])
    return base if base == new else f"{base} → {new}"


def _title(what: str, shown: int, height: int, things: str) -> str:
    """What the rows are and how many of them are shown.

    >>> _title("Highest scores", 10, 264, "rows"), _title("Highest scores", 3, 3, "rows")
    ('Highest scores (10 of 264 rows)', 'Highest scores (3 rows)')
    """
    count = units.counted(height, things)
    return f"{what} ({count})" if shown == height else f"{what} ({units.count(shown)} of {count})"
