"""Pairs of made-up processes, and the report around them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from inspect import unwrap
from typing import Any

import polars as pl

from many_roles import FAULTS, one_role
from timesink.analyses import columns
from timesink.answers.comparison.report import ComparisonAnswer, PairAnswer
from timesink.comparison.causes.diagnosis import diagnose
from timesink.comparison.results import (
    FAMILIES,
    ROWS,
    TIMES,
    CycleTimes,
    Exploration,
    Pair,
    Process,
    Workload,
)
from timesink.comparison.steps.verdict import compare_roles
from timesink.model.diagnosis import Diagnosis
from timesink.model.schema import BEHAVIOUR

HEALTHY, SLOW_CLOCK, BUSY_HOST, BUSY_LINK, SLOW_CPU = FAULTS


def two_runs(
    fault: Mapping[str, float] = SLOW_CLOCK,
    *,
    kind: str = "strict",
    cycles: int = 12,
    labels: tuple[str, str] = ("base", "new"),
) -> Pair:
    """A healthy process and the same one with a fault."""
    return _two_runs(tuple(fault.items()), kind, cycles, labels)


@cache
def _two_runs(
    fault: tuple[tuple[str, float], ...], kind: str, cycles: int, labels: tuple[str, str]
) -> Pair:
    base = one_role(7, seed=1, cycles=cycles)
    new = one_role(7, dict(fault), seed=2, cycles=cycles)
    return compare_roles(_label_role(base, labels[0]), _label_role(new, labels[1]), kind)


def _label_role(role: Process, label: str) -> Process:
    return Process(label, f"{label}.csv", role.pid, role.behaviour)


def named(pair: Pair, identifier: str) -> PairAnswer:
    """A pair as answers hold it, under a name."""
    values = {field.name: getattr(pair, field.name) for field in fields(pair)}
    return PairAnswer(**{**values, "identifier": identifier, "file_stem": identifier})


def diagnosed(pair: Pair, diagnosis: Diagnosis) -> PairAnswer:
    """The same pair, about which somebody found this before."""
    answer = named(pair, pair.identifier)
    _, answers = columns._note_of(answer, (unwrap(diagnose), (), ()))
    answers.append(diagnosis)
    return answer


def pair_of(**parts: Any) -> Pair:
    """A pair with some parts given; the others say that nothing was there."""
    empty = pl.DataFrame(schema=BEHAVIOUR.schema)
    usual: dict[str, Any] = {
        "kind": "strict",
        "base": Process("base", "base.csv", "7", empty),
        "new": Process("new", "new.csv", "7", empty),
        "cycle_times": CycleTimes((1000,) * 5, (1000,) * 5, 1000.0, 1000.0, 0.0, (-5.0, 5.0), 1.0),
        "workload": Workload(comparable=True, reasons=(), work_ratio=1.0),
        "rows": pl.DataFrame(schema=ROWS),
        "times": pl.DataFrame(schema=TIMES),
        "families": pl.DataFrame(schema=FAMILIES),
        "findings": (),
    }
    return Pair(**{**usual, **parts})


def frame(schema: Mapping[str, Any], *rows: Mapping[str, Any]) -> pl.DataFrame:
    """Rows of a table; what they do not say is zero, empty or true."""
    usual = {name: _empty_value(dtype) for name, dtype in schema.items()}
    return pl.DataFrame([{**usual, **row} for row in rows], schema=schema)


def _empty_value(dtype: pl.DataType) -> Any:
    if isinstance(dtype, pl.Enum):
        return "both"
    if isinstance(dtype, pl.List):
        return []
    if dtype == pl.Boolean:
        return True
    return "" if dtype == pl.String else 0


def comparison(
    *pairs: Pair, exploration: Exploration | None = None, notes: Sequence[str] = ()
) -> ComparisonAnswer:
    """The report on pairs, all of one case."""
    compared = tuple(named(pair, "case") for pair in pairs)
    return ComparisonAnswer(("case",), compared, (), exploration, tuple(notes))


def markdown_tables(report: str) -> list[list[list[str]]]:
    """The cells of every table, stripped; without the lines that align them."""
    tables: list[list[list[str]]] = [[]]
    for line in report.splitlines():
        if not line.startswith("|"):
            tables += [[]] if tables[-1] else []
        elif not re.fullmatch(r"[|:\s-]+", line):
            tables[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return [table for table in tables if table]
