"""Comparisons and diagnoses as plain values, for JSON.

Times of a diagnosis and of ranks are in microseconds, and every number is finite or null.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, is_dataclass
from io import StringIO
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from timesink.analyses.behaviour import distinct_texts
from timesink.analyses.comparison import ComparedRuns, CycleTimes, Pair, Role
from timesink.analyses.comparison.role_groups import Exploration
from timesink.analyses.comparison.verdict import verdict
from timesink.analyses.ranks import rank_groups
from timesink.analyses.ranks.changes import RankChanges
from timesink.answers.comparison.program import program_values
from timesink.answers.comparison.sentences import of_pair
from timesink.model import csv_rows
from timesink.model.diagnosis import Diagnosis
from timesink.model.findings import Evidence
from timesink.output.json import cell_csv
from timesink.output.names import in_published_cell
from timesink.recorder.processes import sayable
from timesink.rules.diagnosis import diagnose

_NS_PER_US = 1000.0
_KEYS = {
    "id": "cause",
    "cost_ns": "explained_us",
    "share": "effect",
    "interval_ns": "ci95_us",
    "interval_pct": "ci95_pct",
}
"""What JSON calls some attributes."""
_NUMBERS = frozenset({"base", "new", "change_pct", "interval_pct", "p_value", "q_value", "share"})
_CYCLE_TIME = ("base_ns", "new_ns", "change_pct", "interval_pct")
_COUNTER = ("device", "metric", "unit", "base", "new")


def _told(one: object, *names: str) -> dict[str, Any]:
    """Some attributes as JSON has them: times in microseconds, numbers finite."""
    return {_KEYS.get(name) or _key(name): _value(name, getattr(one, name)) for name in names}


def _key(name: str) -> str:
    return f"{name.removesuffix('_ns')}_us" if name.endswith("_ns") else name


def _value(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return [_value(name, each) for each in value]
    if name.endswith("_ns"):
        return _us(value)
    return _finite(value) if name in _NUMBERS else value


def _us(time_ns: float | None) -> float | None:
    return None if time_ns is None else _finite(time_ns / _NS_PER_US)


def _finite(value: float | None) -> float | None:
    """A number JSON can hold."""
    return float(value) if value is not None and isfinite(value) else None


def _plain(value: Any) -> Any:
    """Data classes as dictionaries, and all that is in them; tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


def diagnosis(one: Diagnosis | None) -> dict[str, Any]:
    """The verdict and all behind it; `docs/comparison_json.md` describes every key.

    The same keys where nothing was diagnosed, as of many roles that were only told apart.
    """
    if one is None:
        lists = (
            *("attribution", "anomalies", "causes", "unexplained"),
            *("symptoms", "paces", "diagnosis_notes"),
        )
        single = ("verdict", "reason", "cycle_time", "unexplained_us")
        return {**dict.fromkeys(single), **{name: [] for name in lists}, **program_values(one)}
    steady, corrected = one.cycle_time.steady, one.corrected
    told = ("process", "sentence", "advice")
    return {
        "verdict": one.verdict,
        "reason": one.reason,
        "cycle_time": {
            **_told(one.cycle_time, *_CYCLE_TIME, "p_value", "by", "runs", "outcome", "more_runs"),
            "recorded_us": [ns / 1000 for ns in one.cycle_time.recorded_ns or ()] or None,
            "steady": None if steady is None else _told(steady, *_CYCLE_TIME),
            "corrected": None
            if corrected is None
            else {**_told(corrected, *_CYCLE_TIME), "decides": one.is_without_overhead},
        },
        "attribution": [
            {
                "component": each.name,
                **_told(each, "part", "family", "base_ns", "new_ns", "delta_ns", "interval_ns"),
                **_told(each, "p_value", "same_launches_ns"),
            }
            for each in one.attribution
        ],
        "anomalies": [
            {
                "rank": rank,
                **_told(each, "id", *_COUNTER, "share", "q_value", "cost_ns", *told),
                "evidence": [_evidence(proof) for proof in each.evidence],
            }
            for rank, each in enumerate(one.anomalies, 1)
        ],
        "causes": [
            {
                "rank": rank,
                **_told(each, "id", "cost_ns", "interval_ns", *told),
                "components": [
                    {"component": name, "explained_us": _us(ns)} for name, ns in each.claims
                ],
                "evidence": [_evidence(proof) for proof in each.evidence],
            }
            for rank, each in enumerate(one.causes, 1)
        ],
        "unexplained_us": _us(one.unexplained_ns),
        "unexplained": [{"component": name, "delta_us": _us(ns)} for name, ns in one.unexplained],
        "symptoms": [_told(each, *_COUNTER, "process", "sentence") for each in one.symptoms],
        "paces": [_told(pace, "device", "factor", "sentence", "advice") for pace in one.paces],
        "diagnosis_notes": list(one.notes),
        **program_values(one),
    }


def _evidence(one: Evidence) -> dict[str, Any]:
    """What is known of it; times of the recording and amounts of time in microseconds."""
    told: dict[str, Any] = {}
    for name in (field.name for field in fields(one) if field.name != "numbers"):
        value = getattr(one, name)
        if isinstance(value, float) and not name.endswith("_ns"):
            value = _us(value) if one.unit == "ns" else _finite(value)
        told |= {_key(name): _us(value) if name.endswith("_ns") else value}
    told["unit"] = "us" if one.unit == "ns" else one.unit
    return {name: value for name, value in told.items() if value is not None}


def role(one: Role) -> dict[str, Any]:
    """A role without its rows; see `docs/comparison_json.md`."""
    distinct = {
        name: list(distinct_texts(one.behaviour[name]))
        for name in ("cycle_type", "anchor", "device", "metric")
    }
    return {
        "label": one.label,
        "source": sayable(one.source),
        "pid": one.pid,
        "host": one.host,
        "rank": one.rank,
        "cycles": one.behaviour["cycle"].n_unique(),
        **{f"{name}s": values for name, values in distinct.items()},
        "method": one.method,
        "confidence": one.confidence,
        "notes": [sayable(note) for note in one.notes],
    }


def pair(one: Pair, found: Diagnosis | None = None) -> dict[str, Any]:
    """A pair with all its tables, and what was found of it.

    Numbers of `changes` and `findings` are places in its `times` and `rows`.
    """
    lengths = _plain(one.cycle_times)
    return {
        "kind": one.kind,
        "headline": of_pair(one, found),
        "base": role(one.base),
        "new": role(one.new),
        "workload": _plain(one.workload),
        "cycle_times": {
            "warm_up_cycles" if name == "warm_up" else name: value
            for name, value in lengths.items()
            if name != "steady"
        },
        # Only where cycles without the profiler were timed: everything else has no such key.
        **({} if one.plain is None else {"plain": _plain_times(one.plain)}),
        "changes": _plain(verdict(one)),
        "findings": _plain(one.findings),
        "rows": rows(one.rows),
        "times": rows(one.times),
        "families": rows(one.families),
        "equal_work": None if one.equal_work is None else pair(one.equal_work),
    }


def _plain_times(plain: ComparedRuns) -> dict[str, Any]:
    """Every run in the order in which they ran, and what all of them say."""
    found = plain.decision
    ordered = sorted(plain.runs, key=lambda run: run.started_us)
    told = ("side", "name", "started_us", "by", "typical_ns", "fast_ns", "mean_ns", "probe_ns")
    return {
        "decision": None
        if found is None
        else {
            **_told(found, "outcome", "pairs", "more_runs", "detect_pct"),
            **{
                one.statistic: {
                    **_told(one, "base_ns", "new_ns", "change_pct"),
                    "ci99_pct": _plain(one.interval_pct),
                }
                for one in (found.typical, found.fast, found.mean)
            },
        },
        "runs": [{**_told(run, *told), "cycles": len(run.cycles_ns)} for run in ordered],
    }


def rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table; text as text, and null where a number is not defined."""
    return table.with_columns(
        pl.col(pl.Float64()).fill_nan(None), pl.col(pl.Categorical(), pl.Enum).cast(pl.String())
    ).to_dicts()


def exploration(one: Exploration) -> dict[str, Any]:
    """Clusters, the distances they come from, and the pairs of representatives."""
    pairs = [(each, diagnose(each)) for each in one.pairs]
    return {
        "roles": [role(each) for each in one.roles],
        "distances": one.distances.tolist(),
        "threshold": one.threshold,
        "threshold_reason": one.threshold_reason,
        "clusters": _plain(one.clusters),
        "pairs": [{**diagnosis(found), **pair(each, found)} for each, found in pairs],
        "pairs_left_out": one.pairs_left_out,
    }


def ranks(found: RankChanges) -> dict[str, Any]:
    """What changed between two runs of many ranks; see `docs/comparison_json.md`."""
    sides = zip(("base", "new"), (found.base, found.new), found.layouts, strict=True)
    times = ("base_ns", "new_ns")
    return {
        "verdict": found.verdict,
        "reason": found.reason,
        "step_time": _told(found.step_time, *_CYCLE_TIME, "p_value"),
        "attribution": [
            _told(each, "part", *times, "delta_ns", "interval_ns", "p_value")
            for each in found.attribution
        ],
        "stragglers": [
            {
                **_told(each, "state", "rank", "cause", *times, "base_rank"),
                "steps": len(each.steps),
                "step_names": list(each.steps),
                "evidence": list(each.evidence),
            }
            for each in found.stragglers
        ],
        "collectives": _in_us(found.collectives),
        "changes": _in_us(found.ranks),
        "sides": {
            name: {
                "ranks": len(run.ranks),
                "world_size": layout.world,
                "layout": [{"kind": kind, "size": size} for kind, size in layout.groups],
                "steps": len(run.analysis.panel.steps),
                "missing_ranks": list(run.missing),
                "damaged": [
                    {
                        "worker": each.worker,
                        "source": sayable(each.source),
                        "reason": sayable(each.reason),
                    }
                    for each in run.damaged
                ],
                "groups": rank_groups(run).to_dicts(),
            }
            for name, run, layout in sides
        },
        "notes": [sayable(note) for note in found.notes],
    }


def _in_us(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows with times in microseconds, as all of the JSON has them."""
    columns = [
        (pl.col(name) / _NS_PER_US if name.endswith("_ns") else pl.col(name)).alias(_key(name))
        for name in table.columns
    ]
    return table.select(columns).to_dicts()


# -- the published tables: as CSV, and as the cells of the published report ------------------------

PUBLISHED = tuple(
    (row["column"], row["title"], row["form"])
    for row in csv_rows(Path(__file__).with_name("published.csv"))
)
"""Columns of the published table: ours, theirs with the labels of the sides, and how numbers are
written in a report."""
_BETWEEN_NAMES = "; "
_ABSENT = "-"


def table_csv(pair: Pair, table: str | None = None, top: int | None = None) -> str:
    """One table of a pair, or its first rows; see `table_of` for which.

    Six decimals, and an empty cell where a number is not defined.
    """
    name = table_of(pair, table)
    frame = published_rows(pair) if name == "rows" else getattr(pair, name)
    titles = published_titles(pair) if name == "rows" else frame.columns
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(cell_csv, titles))
    writer.writerows(zip(*(_cells(column) for column in frame[:top]), strict=True))
    return out.getvalue().removesuffix("\n")


def table_of(pair: Pair, table: str | None) -> str:
    """Which table is meant: the one asked for, else the published one; times without counters."""
    return table or ("times" if pair.rows.is_empty() else "rows")


def _cells(column: pl.Series) -> list[object]:
    """Values as a CSV holds them; a float that is no number is empty."""
    if column.dtype.is_nested():
        column = column.list.join(_BETWEEN_NAMES)
    if column.dtype == pl.Boolean:
        return ["" if value is None else str(value).lower() for value in column]
    if not column.dtype.is_float():
        return [cell_csv(value) if isinstance(value, str) else value for value in column]
    return [
        "" if value is None or value != value else f"{value:.6f}"  # noqa: PLR0124 - NaN
        for value in column
    ]


def published_rows(pair: Pair) -> pl.DataFrame:
    """The columns of the published table, under our names."""
    return pair.rows.select(column for column, _, _ in PUBLISHED)


def published_titles(pair: Pair) -> list[str]:
    """The columns of the published table under its names, with the labels of both sides."""
    return [title.format(base=pair.base.label, new=pair.new.label) for _, title, _ in PUBLISHED]


# -- cells of the report ---------------------------------------------------------------------------


def row_cells(rows: pl.DataFrame) -> tuple[list[tuple[str, ...]], list[bool]]:
    """The cells of the table of rows, and which of its columns are printed as numbers."""
    forms = {name: form for name, _, form in PUBLISHED if form}
    columns, numeric = [], []
    for values in rows:
        form = forms.get(values.name)
        if form is None:
            cells = ["" if value is None else str(value) for value in values]
        else:
            cells = [format(value, form) for value in values]
        columns.append(cells if form is None else printed_again(cells))
        numeric.append(form is not None and not any("," in cell for cell in cells))
    return list(zip(*columns, strict=True)), numeric


def printed_again(cells: Sequence[str]) -> list[str]:
    """A column of plain numbers with six digits each; one with other cells as it is."""
    if any("," in cell for cell in cells):
        return list(cells)
    return [f"{float(cell):g}" for cell in cells]


def summary_cells(times: CycleTimes) -> list[tuple[str, ...]]:
    """How many cycles there are and how long they take in the mean, in microseconds."""
    base, new = len(times.base_ns), len(times.new_ns)
    base_us, new_us = times.base_mean_ns / 1000, times.new_mean_ns / 1000
    pct = float("inf") if times.change_pct is None else times.change_pct
    lengths = (f"{length:,.2f}" for length in (base_us, new_us, new_us - base_us))
    return [
        ("Total Cycles", str(base), str(new), str(new - base), _ABSENT),
        ("Avg Cycle Time (us)", *lengths, f"{pct:+.2f}%"),
    ]


def distribution_cells(times: CycleTimes) -> list[tuple[str, ...]]:
    """Cycles of both sides side by side, longest first, in microseconds.

    Numbers are formatted, and bare where the column also holds absent cells.
    """
    sides = [sorted(side, reverse=True) for side in (times.base_ns, times.new_ns)]
    height = max(map(len, sides))
    forms = [",.2f" if len(side) == height else "" for side in sides]
    rows = []
    for rank, both in enumerate(zip_longest(*sides), 1):
        cells = [
            _ABSENT if length is None else format(length / 1000, form)
            for length, form in zip(both, forms, strict=True)
        ]
        base, new = both
        difference = (_ABSENT, _ABSENT)
        if base is not None and new is not None:
            pct = 100 * (new - base) / base if base else float("inf")
            difference = (f"{(new - base) / 1000:,.2f}", f"{pct:+.2f}%")
        rows.append((str(rank), *cells, *difference))
    return rows


def published_table(
    titles: Sequence[str], cells: Iterable[Sequence[str]], numeric: Sequence[bool]
) -> str:
    """A Markdown table without padding; names stay as they are where they can do no harm."""
    rule = ["---:" if right else ":---" for right in numeric]
    head, *rows = ([in_published_cell(cell) for cell in row] for row in [titles, *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])
