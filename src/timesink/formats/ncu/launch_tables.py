"""Launches and their metrics as the tables `kernel_calls` and `kernel_metrics`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from timesink.formats.finish import conform
from timesink.formats.ncu.launches import (
    COLUMN_RULES,
    DEVICE_ATTRIBUTE,
    SHAPE_METRICS,
    ColumnRule,
    GatheredLaunches,
    merge_pieces,
)
from timesink.model.health import HealthEntry
from timesink.model.schema import KERNEL_CALLS, KERNEL_METRICS
from timesink.model.trace import Device

_SHAPE = r"(\d+)\D+(\d+)\D+(\d+)"
_MAX_NAMED = 6


def build_tables(gathered: GatheredLaunches) -> tuple[dict[str, pl.DataFrame], list[HealthEntry]]:
    """The tables `kernel_calls` and `kernel_metrics`, and what is odd about them."""
    launches, values, health = merge_pieces(*gathered.tables())
    calls = _with_shapes(launches)
    metrics = [name for name in values["metric"].unique().to_list() if name]
    placed = []
    for rule in COLUMN_RULES:
        filled, best = _column(rule, values, metrics, calls.height)
        calls = calls.with_columns(filled)
        placed.append(best)
    null_counts = {
        rule.column: calls[rule.column].null_count()
        for rule in COLUMN_RULES
        if rule.choices(gathered.metric_names)
    }
    # Shapes from metrics, where the page does not print them beside the name.
    for column, metric in SHAPE_METRICS.items():
        if metric in metrics and calls[column].null_count():
            shape_values = values.filter(_is_any("metric", [metric]))
            sizes = _per_launch(shape_values, calls.height, one_metric=True).cast(
                pl.Int64, strict=False
            )
            calls = calls.with_columns(pl.col(column).fill_null(sizes))
    named = [f"{metric} is {text}" for metric, text in gathered.words.items()]
    health.append(HealthEntry("text_metrics", len(named), named[0] if named else ""))
    health += _missing_metrics(gathered, null_counts, calls.height)
    tables = {
        "kernel_calls": conform(
            calls.with_columns(pl.col("device").cast(pl.String).cast(pl.Int32, strict=False)),
            KERNEL_CALLS,
        ),
        "kernel_metrics": conform(values.filter(~pl.any_horizontal(placed)), KERNEL_METRICS),
    }
    return tables, health


def _column(
    rule: ColumnRule, values: pl.DataFrame, metrics: Iterable[str], launches: int
) -> tuple[pl.Series, pl.Expr]:
    """The column of a rule, and which values are in it now.

    What a less preferred metric says fills in for launches that lack the best one; it stays among
    the values.
    """
    column = pl.Series(rule.column, [None], dtype=pl.Float64).new_from_index(0, launches)
    placed = None
    for names in rule.choices(metrics):
        fits = _is_any("metric", names) & _is_any("unit", rule.units)
        rows = values.lazy().filter(fits).select("index", "value").collect()
        if rows.height:
            column = column.fill_null(_per_launch(rows, launches, one_metric=len(names) == 1))
            placed = fits if placed is None else placed
    if rule.column == "dur_ns":
        # Nothing lasts less than no time: such a value says as little as none.
        column = column.set(column < 0, None).round().cast(pl.Int64, strict=False)
    return column, pl.lit(value=False) if placed is None else placed


def _is_any(column: str, texts: Sequence[str]) -> pl.Expr:
    return pl.any_horizontal(pl.col(column) == text for text in texts)


def _per_launch(rows: pl.DataFrame, launches: int, *, one_metric: bool) -> pl.Series:
    """One value for every launch, null where there is none; the largest where there are several."""
    # Values are in the order of their launches.
    if not one_metric or (rows["index"].diff() == 0).any():
        rows = rows.group_by("index").agg(pl.col("value").max())
    column = pl.Series("value", [None], dtype=pl.Float64).new_from_index(0, launches)
    return column.scatter(rows["index"], rows["value"])


def _with_shapes(launches: pl.DataFrame) -> pl.DataFrame:
    """Grid and block as three numbers each; there are few different texts."""
    for shape in ("grid", "block"):
        texts = launches[shape].drop_nulls().unique()
        printed = texts.cast(pl.String).str.extract_groups(_SHAPE)
        sizes = pl.DataFrame(
            {shape: texts, **{
                f"{shape}_{axis}": printed.struct.field(str(place)).cast(pl.Int64, strict=False)
                for place, axis in enumerate("xyz", 1)
            }}
        )  # fmt: skip
        launches = launches.join(sizes, on=shape, how="left", maintain_order="left").drop(shape)
    return launches


def _device(
    number: int, capability: str | None, properties: Mapping[str, str], name: str
) -> Device:
    facts: dict[str, Any] = {}
    for metric, text in properties.items():
        if metric.startswith(DEVICE_ATTRIBUTE) and text:
            # Whole numbers in any grouping, or names.
            digits = "".join(letter for letter in text if letter not in ",.'\u00a0\u202f")
            fact = int(digits) if digits.isdecimal() else text
            facts[metric.removeprefix(DEVICE_ATTRIBUTE)] = fact
    numbers = {key: fact for key, fact in facts.items() if isinstance(fact, int)}
    major, minor = (facts.get(f"compute_capability_{part}") for part in ("major", "minor"))
    if capability is None and major is not None:
        capability = f"{major}.{minor or 0}"
    return Device(
        id=number,
        name=str(facts.get("display_name") or name),
        memory_bytes=numbers.get("total_memory"),
        compute_capability=capability,
        multiprocessors=numbers.get("multiprocessor_count"),
        properties=facts,
    )


def _missing_metrics(
    gathered: GatheredLaunches, null_counts: Mapping[str, int], launches: int
) -> list[HealthEntry]:
    """Metrics that were asked for and are not there for every launch, or for none."""
    of_columns = {
        name
        for rule in COLUMN_RULES
        for group in rule.choices(gathered.metric_names)
        for name in group
    }
    other_metrics = {
        name: count for name, count in gathered.missing.items() if name not in of_columns
    }
    never = [name for name, count in other_metrics.items() if count >= launches]
    counts = {
        name: count for name, count in (*null_counts.items(), *other_metrics.items()) if count
    }
    some = [f"{name}: {counts[name]} of {launches}" for name in counts if name not in never]
    most = max((count for name, count in counts.items() if name not in never), default=0)

    def listed(names: list[str]) -> str:
        return ", ".join(names[:_MAX_NAMED]) + (", ..." if len(names) > _MAX_NAMED else "")

    return [
        HealthEntry("missing_metric", most, listed(some)),
        HealthEntry("unavailable_metrics", len(never), listed(never)),
    ]
