"""Comparisons and diagnoses as plain values, for JSON.

Times of a diagnosis and of ranks are in microseconds, and every number is finite or null.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass
from io import StringIO
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from timesink.analyses.behaviour.summary import distinct_texts
from timesink.analyses.ranks.tables import rank_groups
from timesink.answers.comparison.program import program_values
from timesink.answers.comparison.sentences import pair_headline
from timesink.comparison.causes.diagnosis import diagnose
from timesink.comparison.results import (
    ComparedRuns,
    CycleTimes,
    Exploration,
    Pair,
    Process,
    RankChanges,
)
from timesink.comparison.steps.verdict import judge_pair
from timesink.model.data_files import csv_rows
from timesink.model.diagnosis import Diagnosis
from timesink.model.findings import Evidence
from timesink.output.json import cell_csv
from timesink.output.names import in_published_cell
from timesink.recorder.processes import safe_text

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


def _values_of(record: object, *names: str) -> dict[str, Any]:
    """Some attributes as JSON has them: times in microseconds, numbers finite."""
    return {_KEYS.get(name) or _key(name): _value(name, getattr(record, name)) for name in names}


def _key(name: str) -> str:
    return f"{name.removesuffix('_ns')}_us" if name.endswith("_ns") else name


def _value(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return [_value(name, item) for item in value]
    if name.endswith("_ns"):
        return _us(value)
    return _finite(value) if name in _NUMBERS else value


def _us(time_ns: float | None) -> float | None:
    return None if time_ns is None else _finite(time_ns / _NS_PER_US)


def _finite(value: float | None) -> float | None:
    """A number JSON can hold."""
    return float(value) if value is not None and isfinite(value) else None


def _plain(value: Any) -> Any:
    """Records as dictionaries, and all that is in them; tuples as lists."""
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return _plain(msgspec.to_builtins(value)) if _is_record(value) else value


def _is_record(value: object) -> bool:
    return isinstance(value, msgspec.Struct) or is_dataclass(value)


def diagnosis(diagnosis: Diagnosis | None) -> dict[str, Any]:
    """The verdict and all behind it; `docs/comparison_json.md` describes every key.

    The same keys where nothing was diagnosed, as of many roles that were only distinguished.
    """
    if diagnosis is None:
        lists = (
            *("attribution", "anomalies", "causes", "unexplained"),
            *("symptoms", "paces", "diagnosis_notes"),
        )
        single = ("verdict", "reason", "cycle_time", "unexplained_us")
        return {
            **dict.fromkeys(single),
            **{name: [] for name in lists},
            **program_values(diagnosis),
        }
    steady, corrected = diagnosis.cycle_time.steady, diagnosis.corrected
    text_names = ("process", "sentence", "advice")
    return {
        "verdict": diagnosis.verdict,
        "reason": diagnosis.reason,
        "cycle_time": {
            **_values_of(
                diagnosis.cycle_time, *_CYCLE_TIME, "p_value", "by", "runs", "outcome", "more_runs"
            ),
            "recorded_us": [ns / 1000 for ns in diagnosis.cycle_time.recorded_ns or ()] or None,
            "steady": None if steady is None else _values_of(steady, *_CYCLE_TIME),
            "corrected": None
            if corrected is None
            else {**_values_of(corrected, *_CYCLE_TIME), "decides": diagnosis.is_without_overhead},
        },
        "attribution": [
            {
                "component": component.name,
                **_values_of(
                    component, "part", "family", "base_ns", "new_ns", "delta_ns", "interval_ns"
                ),
                **_values_of(component, "p_value", "same_launches_ns"),
            }
            for component in diagnosis.attribution
        ],
        "anomalies": [
            {
                "rank": rank,
                **_values_of(anomaly, "id", *_COUNTER, "share", "q_value", "cost_ns", *text_names),
                "evidence": [_evidence(proof) for proof in anomaly.evidence],
            }
            for rank, anomaly in enumerate(diagnosis.anomalies, 1)
        ],
        "causes": [
            {
                "rank": rank,
                **_values_of(cause, "id", "cost_ns", "interval_ns", *text_names),
                "components": [
                    {"component": name, "explained_us": _us(ns)} for name, ns in cause.claims
                ],
                "evidence": [_evidence(proof) for proof in cause.evidence],
            }
            for rank, cause in enumerate(diagnosis.causes, 1)
        ],
        "unexplained_us": _us(diagnosis.unexplained_ns),
        "unexplained": [
            {"component": name, "delta_us": _us(ns)} for name, ns in diagnosis.unexplained
        ],
        "symptoms": [
            _values_of(symptom, *_COUNTER, "process", "sentence") for symptom in diagnosis.symptoms
        ],
        "paces": [
            _values_of(pace, "device", "factor", "sentence", "advice") for pace in diagnosis.paces
        ],
        "diagnosis_notes": list(diagnosis.notes),
        **program_values(diagnosis),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    """What is known of it; times of the recording and amounts of time in microseconds."""
    values: dict[str, Any] = {}
    for name in evidence.__struct_fields__:
        value = getattr(evidence, name)
        if isinstance(value, float) and not name.endswith("_ns"):
            value = _us(value) if evidence.unit == "ns" else _finite(value)
        values |= {_key(name): _us(value) if name.endswith("_ns") else value}
    del values["numbers"]
    values["unit"] = "us" if evidence.unit == "ns" else evidence.unit
    return {name: value for name, value in values.items() if value is not None}


def role(role: Process) -> dict[str, Any]:
    """A role without its rows; see `docs/comparison_json.md`."""
    distinct = {
        name: list(distinct_texts(role.behaviour[name]))
        for name in ("cycle_type", "anchor", "device", "metric")
    }
    return {
        "label": role.label,
        "source": safe_text(role.source),
        "pid": role.pid,
        "host": role.host,
        "rank": role.rank,
        "cycles": role.behaviour["cycle"].n_unique(),
        **{f"{name}s": values for name, values in distinct.items()},
        "method": role.method,
        "confidence": role.confidence,
        "notes": [safe_text(note) for note in role.notes],
    }


def pair(compared_pair: Pair, diagnosis: Diagnosis | None = None) -> dict[str, Any]:
    """A pair with all its tables, and what was found of it.

    Numbers of `changes` and `findings` are places in its `times` and `rows`.
    """
    lengths = _plain(compared_pair.cycle_times)
    return {
        "kind": compared_pair.kind,
        "headline": pair_headline(compared_pair, diagnosis),
        "base": role(compared_pair.base),
        "new": role(compared_pair.new),
        "workload": _plain(compared_pair.workload),
        "cycle_times": {
            "warm_up_cycles" if name == "warm_up" else name: value
            for name, value in lengths.items()
            if name != "steady"
        },
        # Only where cycles without the profiler were timed: everything else has no such key.
        **({} if compared_pair.plain is None else {"plain": _plain_times(compared_pair.plain)}),
        "changes": _plain(judge_pair(compared_pair)),
        "findings": _plain(compared_pair.findings),
        "rows": rows(compared_pair.rows),
        "times": rows(compared_pair.times),
        "families": rows(compared_pair.families),
        "equal_work": None if compared_pair.equal_work is None else pair(compared_pair.equal_work),
    }


def _plain_times(plain: ComparedRuns) -> dict[str, Any]:
    """Every run in the order in which they ran, and what all of them say."""
    decision = plain.decision
    ordered = sorted(plain.runs, key=lambda run: run.started_us)
    run_fields = (
        "side",
        "name",
        "started_us",
        "by",
        "typical_ns",
        "fast_ns",
        "mean_ns",
        "probe_ns",
    )
    return {
        "decision": None
        if decision is None
        else {
            **_values_of(decision, "outcome", "pairs", "more_runs", "detect_pct"),
            **{
                change.statistic: {
                    **_values_of(change, "base_ns", "new_ns", "change_pct"),
                    "ci99_pct": _plain(change.interval_pct),
                }
                for change in (decision.typical, decision.fast, decision.mean)
            },
        },
        "runs": [{**_values_of(run, *run_fields), "cycles": len(run.cycles_ns)} for run in ordered],
    }


def rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table; text as text, and null where a number is not defined."""
    return table.with_columns(
        pl.col(pl.Float64()).fill_nan(None), pl.col(pl.Categorical(), pl.Enum).cast(pl.String())
    ).to_dicts()


def exploration(exploration: Exploration) -> dict[str, Any]:
    """Clusters, the distances they come from, and the pairs of representatives."""
    pairs = [(compared_pair, diagnose(compared_pair)) for compared_pair in exploration.pairs]
    return {
        "roles": [role(member) for member in exploration.roles],
        "distances": exploration.distances.tolist(),
        "threshold": exploration.threshold,
        "threshold_reason": exploration.threshold_reason,
        "clusters": _plain(exploration.clusters),
        "pairs": [
            {**diagnosis(verdict), **pair(compared_pair, verdict)}
            for compared_pair, verdict in pairs
        ],
        "pairs_left_out": exploration.pairs_left_out,
    }


def ranks(changes: RankChanges) -> dict[str, Any]:
    """What changed between two runs of many ranks; see `docs/comparison_json.md`."""
    sides = zip(("base", "new"), (changes.base, changes.new), changes.layouts, strict=True)
    times = ("base_ns", "new_ns")
    return {
        "verdict": changes.verdict,
        "reason": changes.reason,
        "step_time": _values_of(changes.step_time, *_CYCLE_TIME, "p_value"),
        "attribution": [
            _values_of(component, "part", *times, "delta_ns", "interval_ns", "p_value")
            for component in changes.attribution
        ],
        "stragglers": [
            {
                **_values_of(straggler, "state", "rank", "cause", *times, "base_rank"),
                "steps": len(straggler.steps),
                "step_names": list(straggler.steps),
                "evidence": list(straggler.evidence),
            }
            for straggler in changes.stragglers
        ],
        "collectives": _in_us(changes.collectives),
        "changes": _in_us(changes.ranks),
        "sides": {
            name: {
                "ranks": len(run.ranks),
                "world_size": layout.world,
                "layout": [{"kind": kind, "size": size} for kind, size in layout.groups],
                "steps": len(run.analysis.panel.steps),
                "missing_ranks": list(run.missing),
                "damaged": [
                    {
                        "worker": recording.worker,
                        "source": safe_text(recording.source),
                        "reason": safe_text(recording.reason),
                    }
                    for recording in run.damaged
                ],
                "groups": rank_groups(run).to_dicts(),
            }
            for name, run, layout in sides
        },
        "notes": [safe_text(note) for note in changes.notes],
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
