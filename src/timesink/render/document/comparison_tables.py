"""The tables of a pair as blocks: numbers stay numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from timesink.analyses.comparison.verdict import LEAST_SHARE, either_p
from timesink.analyses.statistics.discovery import ALPHA
from timesink.model.amounts import change as worded_change
from timesink.output.blocks import Column, Table
from timesink.output.columns import column, table
from timesink.render.comparison.tables import (
    NO_FAMILIES,
    counter_values,
    family_names,
    most_changed,
    verdict_word,
)
from timesink.render.document.meanings import COMPARED
from timesink.reports.comparison.report import Compared
from timesink.reports.comparison.told import Told

MOST_ROWS = 500
"""Rows of a table; few readers look at more, and a file holds them all."""
_P = "Chance of a difference this large by noise alone."
_SHARE = "Share of the cycle."
_CHANGED = (
    f"yes: beyond noise; little: beyond noise, by less than {LEAST_SHARE:.0%} of a cycle; noise: "
    "by no more than noise may do."
)


def times_block(told: Told, most: int, id_: str = "functions") -> Table:
    """Time per cycle of every function, the largest change first."""
    rows = told.times.head(most).with_columns(p=either_p("welch_p", "rank_p"))
    return table(
        id_,
        "Time per cycle, largest changes",
        [
            _functions(told, rows["function"]),
            column("device", "device", "text", rows["device"]),
            *_both_times(told, rows),
            column("change_pct", "change %", "percent", rows["change_pct"]),
            column("verdict", "changed", "text", _outcomes(told, rows), help=_CHANGED),
            column("p", "p", "p_value", _chances(told, rows["p"]), help=_P, main=False),
            column("calls_base", "calls base", "number", rows["calls_base"], main=False),
            column("calls_new", "calls new", "number", rows["calls_new"], main=False),
            *_shares(rows),
            column("class", "class", "text", rows["function_class"], main=False),
            _full_names(rows["function"]),
        ],
        total_rows=told.times.height,
        note=told.unrecorded,
        meanings=COMPARED,
    )


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


def families_block(told: Told, most: int, id_: str = "families") -> Table:
    """Functions whose exact names are on one side only, brought together by what they are."""
    rows = told.families.head(most).with_columns(p=either_p("welch_p", "rank_p"))
    return table(
        id_,
        "Names that do not meet, by what they are",
        [
            column("function", "function", "text", family_names(rows)),
            column("device", "device", "text", rows["device"]),
            *_both_times(told, rows),
            column("names_base", "names base", "count", rows["names_base"].list.len()),
            column("names_new", "names new", "count", rows["names_new"].list.len()),
            column("p", "p", "p_value", _chances(told, rows["p"]), help=_P, main=False),
            column("calls_base", "calls base", "number", rows["calls_base"], main=False),
            column("calls_new", "calls new", "number", rows["calls_new"], main=False),
            *_shares(rows),
        ],
        total_rows=told.families.height,
        note="" if rows.height else NO_FAMILIES,
        meanings=COMPARED,
    )


def counters_block(told: Told, most: int, id_: str = "counters") -> Table:
    """Counters that changed beyond noise, each once."""
    rows = told.counters[:most]
    return table(
        id_,
        "Counters that changed beyond noise",
        [
            column("counter", "counter", "text", _texts(rows, "metric")),
            column("device", "device", "text", _texts(rows, "device")),
            column("value", "value", "text", [counter_values(told, row) for row in rows]),
            column("change", "change", "text", [_change(row) for row in rows]),
            column("p", "p", "p_value", [row["p"] for row in rows], help=_P, main=False),
            column("function", "function", "text", [told.label(row["function"]) for row in rows]),
        ],
        total_rows=len(told.counters),
        meanings=COMPARED,
    )


def scores_block(told: Told, most: int, id_: str = "scores") -> Table:
    """Functions with their counters, the highest score first."""
    rows = [told.known_load(place) for place in range(min(most, told.pair.rows.height))]
    return table(
        id_,
        "Highest scores",
        [
            column("function", "function", "text", [told.label(row["function"]) for row in rows]),
            column("metric", "metric", "text", _texts(rows, "metric")),
            column("device", "device", "text", _texts(rows, "device")),
            column("counter", "counter", "text", [counter_values(told, row) for row in rows]),
            *(
                column(f"beta_{side}", f"share {side}", "percent",
                       _texts(rows, f"beta_{side}_pct"), help=_SHARE)
                for side in ("base", "new")
            ),
            column(
                "score", "score", "number", _texts(rows, "score"), bar=True,
                help="Change of share and counter in spreads of the base, put together.",
            ),
            column("p_share", "p share", "p_value", _tested(told, rows, "beta_rank_p"), help=_P,
                   main=False),
            column("p_counter", "p counter", "p_value", _tested(told, rows, "mu_rank_p"), help=_P,
                   main=False),
            _full_names(_texts(rows, "function")),
        ],
        total_rows=told.pair.rows.height,
        meanings=COMPARED,
    )  # fmt: skip


def pairs_block(pairs: Sequence[tuple[Compared, Told]], names: Sequence[str]) -> Table:
    """One row per pair: how cycle time changed, and what changed most."""
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
                [one.new_mean_ns - one.base_mean_ns for one in cycles], bar=True,
            ),
            column("change_pct", "change %", "percent", [one.change_pct for one in cycles]),
            column("verdict", "verdict", "text", [verdict_word(told) for _, told in pairs]),
            column("most", "changed most", "text", [most_changed(told) for _, told in pairs]),
        ],
        meanings=COMPARED,
    )  # fmt: skip


# -- columns ---------------------------------------------------------------------------------------


def _functions(told: Told, functions: Iterable[str]) -> Column:
    return column("function", "function", "text", [told.label(name) for name in functions])


def _full_names(functions: Iterable[str]) -> Column:
    """Names as they were recorded, which a search finds as well."""
    return column("name", "full name", "text", functions, main=False)


def _both_times(told: Told, rows: pl.DataFrame) -> list[Column]:
    return [
        *(
            column(f"{side}_ns", told.side_name(side), "time_ns", rows[f"{side}_ns"])
            for side in ("base", "new")
        ),
        column("delta_ns", "change", "time_ns", rows["delta_ns"], bar=True),
    ]


def _shares(rows: pl.DataFrame) -> list[Column]:
    return [
        column(
            "beta_base", "share base", "percent", rows["beta_base_pct"], help=_SHARE, main=False
        ),
        column("beta_new", "share new", "percent", rows["beta_new_pct"], help=_SHARE, main=False),
    ]


def _texts(rows: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    return [row[key] for row in rows]


def _chances(told: Told, values: pl.Series) -> list[float | None]:
    """Of one cycle on a side there is no test."""
    return values.to_list() if told.tested else [None] * len(values)


def _tested(told: Told, rows: Sequence[Mapping[str, Any]], key: str) -> list[float | None]:
    return [row[key] if told.is_tested(row) else None for row in rows]


def _change(row: Mapping[str, Any]) -> str:
    return worded_change(row["mu_base"], row["mu_new"])
