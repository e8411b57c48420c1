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
from timesink.answers.views import meanings_of
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.model.units import amount, digits, from_to, per_cycle, shares, times
from timesink.model.units import change as worded_change
from timesink.output.blocks import Column, Table
from timesink.output.names import cut_middle
from timesink.output.numbers import column, table

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
_P = "Chance of a difference this large by noise alone."
_SHARE = "Share of the cycle."
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
    return table(
        id_,
        f"{what}, largest changes",
        [
            column("function", "function", "text", map(told.label, rows["function"])),
            column("device", "device", "text", rows["device"], spare=2),
            *_both_times(told, rows, spare=5),
            column("change_pct", "change %", "percent", rows["change_pct"], spare=1, signed=True),
            column("verdict", "changed", "text", _outcomes(told, rows), help=_CHANGED,
                   spare=1, cut="nothing"),
            _chances(told, rows, spare=3),
            column("calls", "calls", "text", [" → ".join(dict.fromkeys(both)) for both in calls],
                   right=True, spare=3, medium="text"),
            *_calls_and_shares(rows),
            column("class", "class", "text", rows["function_class"], main=False),
            # Names as they were recorded, which a search finds as well.
            column("name", "full name", "text", rows["function"], main=False),
        ],
        total_rows=every.height,
        note="" if unmeasured else told.unrecorded,
        meanings=_COMPARED,
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
    return table(
        id_,
        "Names that do not meet, by what they are",
        [
            column("function", "function", "text", family_names(rows)),
            column("device", "device", "text", rows["device"], spare=2),
            *_both_times(told, rows),
            column("names_base", "names base", "count", rows["names_base"].list.len(),
                   spare=3),
            column("names_new", "names new", "count", rows["names_new"].list.len(), spare=3),
            _chances(told, rows, spare=4),
            *_calls_and_shares(rows),
        ],
        total_rows=told.families.height,
        note="" if rows.height else NO_FAMILIES,
        meanings=_COMPARED,
        rest=told.unrecorded if alone else "",
    )  # fmt: skip


def counters_block(
    told: Told, most: int, id_: str = "counters", before: Collection[tuple[str, str]] = ()
) -> Table:
    """Counters that changed beyond noise, each once; not those of a device told `before`."""
    every = [row for row in told.counters if (row["metric"], row["device"]) not in before]
    which, rows = "Counters" if len(every) == len(told.counters) else "Other counters", every[:most]
    return table(
        id_,
        f"{which} that changed beyond noise",
        [
            column("counter", "counter", "text", _texts(rows, "metric")),
            column("device", "device", "text", _texts(rows, "device")),
            column("value", "value", "text", [counter_values(told, row) for row in rows],
                   right=True),
            column("change", "change", "text",
                   [worded_change(row["mu_base"], row["mu_new"]) for row in rows], right=True),
            column("p", "p", "p_value", [row["p"] for row in rows], help=_P, main=False, spare=1),
            column("function", "function", "text", [told.label(row["function"]) for row in rows],
                   spare=2),
        ],
        total_rows=len(every),
        meanings=_COMPARED,
    )  # fmt: skip


def scores_block(told: Told, most: int, id_: str = "scores") -> Table:
    """Functions with their counters, the highest score first."""
    rows = [known_load(told.pair, place) for place in range(min(most, told.pair.rows.height))]
    tested = [told.is_tested(row) for row in rows]

    def chances(key: str) -> list[float | None]:
        return [row[key] if known else None for row, known in zip(rows, tested, strict=True)]

    return table(
        id_,
        "Functions whose share and counter changed most (score: in spreads of the base)",
        [
            column("function", "function", "text", [told.label(row["function"]) for row in rows]),
            column("metric", "metric", "text", _texts(rows, "metric")),
            column("device", "device", "text", _texts(rows, "device"), spare=1),
            column("counter", "counter", "text", [counter_values(told, row) for row in rows],
                   right=True),
            *(
                column(f"beta_{side}", f"share {side}", "percent",
                       _texts(rows, f"beta_{side}_pct"), help=_SHARE, medium="page")
                for side in ("base", "new")
            ),
            column("share", "share of cycle", "text",
                   [shares(row["beta_base_pct"], row["beta_new_pct"]) for row in rows],
                   right=True, spare=2, medium="text"),
            column("score", "score", "number", _texts(rows, "score"), bar=True, medium="page",
                   help=_COMPARED["digits"]),
            column("digits", "score", "text", [digits(row["score"]) for row in rows],
                   right=True, medium="text"),
            column("p_share", "p share", "p_value", chances("beta_rank_p"), help=_P,
                   main=False, spare=5),
            column("p_counter", "p counter", "p_value", chances("mu_rank_p"), help=_P,
                   main=False, spare=5),
            column("name", "full name", "text", _texts(rows, "function"), main=False),
        ],
        total_rows=told.pair.rows.height,
        meanings=_COMPARED,
    )  # fmt: skip


def pairs_block(
    pairs: Sequence[tuple[Compared, Told]], names: Sequence[str], most: int | None = None
) -> Table:
    """One row per pair: how cycle time changed, and what changed most."""
    every, pairs, names = len(pairs), pairs[:most], names[:most]
    cycles = [told.pair.cycle_times for _, told in pairs]
    return table(
        "pairs",
        "Cycle time",
        [
            column("pair", "role", "text", names, link="worker"),
            column("base_ns", "base", "time_ns", [one.base_mean_ns for one in cycles]),
            column("new_ns", "new", "time_ns", [one.new_mean_ns for one in cycles]),
            column(
                "delta_ns", "change", "time_ns",
                [one.new_mean_ns - one.base_mean_ns for one in cycles], bar=True, signed=True,
                medium="page",
            ),
            column("change_pct", "change %", "percent", [one.change_pct for one in cycles],
                   signed=True),
            column("verdict", "verdict", "text",
                   [_VERDICTS[told.verdict.cycles] if told.comparable else "unequal work"
                    for _, told in pairs], cut="nothing"),
            column("most", "changed most", "text", [_most_changed(told) for _, told in pairs],
                   spare=1),
        ],
        total_rows=every,
        meanings=_COMPARED,
    )  # fmt: skip


def sides_block(pairs: Sequence[tuple[Compared, Told]]) -> Table:
    """One row per side and pair: file, process, cycles and how these were found."""
    roles = [(one.title, role) for one, told in pairs for role in (told.whole.base, told.whole.new)]
    return roles_block(roles, several=len({title for title, _ in roles}) > 1)


def roles_block(roles: Sequence[tuple[str, Role]], *, several: bool = False) -> Table:
    """One row per process; with what it belongs to where there are `several` such."""
    titles, every = [title for title, _ in roles], [role for _, role in roles]
    return table(
        "roles",
        "Processes",
        [
            *([column("case", "case", "text", titles)] if several else []),
            column("side", "side", "text", [role.label for role in every]),
            column("pid", "pid", "text", [role.pid for role in every]),
            column("rank", "rank", "count", [role.rank for role in every]),
            column("host", "host", "text", [role.host for role in every]),
            column("cycles", "cycles", "count", [role.cycles for role in every]),
            column("mean_ns", "cycle time", "time_ns",
                   [role.mean_cycle_ns or None for role in every]),
            column("anchor", "marked by", "text", [role.anchor for role in every]),
            column("method", "cycles found by", "text", [role.method for role in every]),
            column("confidence", "confidence", "share", [role.confidence for role in every]),
            column("source", "file", "text", [role.source for role in every]),
        ],
        note=units.counted(len(every), "processes") if len(every) > 2 else "",
        meanings=ROLES,
    )  # fmt: skip


def _both_times(told: Told, rows: pl.DataFrame, spare: int = 0) -> list[Column]:
    base, new = (
        column(f"{side}_ns", told.side_name(side), "time_ns", rows[f"{side}_ns"])
        for side in ("base", "new")
    )
    delta = rows["delta_ns"]
    return [
        base,
        new,
        column("delta_ns", "change", "time_ns", delta, bar=True, spare=spare, signed=True),
    ]


def _calls_and_shares(rows: pl.DataFrame) -> list[Column]:
    """Calls and shares of both sides, for pages."""
    sides = ("base", "new")
    return [
        *(
            column(f"calls_{side}", f"calls {side}", "number", rows[f"calls_{side}"], main=False)
            for side in sides
        ),
        *(
            column(f"beta_{side}", f"share {side}", "percent", rows[f"beta_{side}_pct"],
                   help=_SHARE, main=False)
            for side in sides
        ),
    ]  # fmt: skip


def _chances(told: Told, rows: pl.DataFrame, spare: int) -> Column:
    """Of one cycle on a side there is no test."""
    chances = rows["p"].to_list() if told.tested else [None] * rows.height
    return column("p", "p", "p_value", chances, help=_P, main=False, spare=spare)


def _texts(rows: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    return [row[key] for row in rows]


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
