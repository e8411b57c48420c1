"""Roles with something changed in their behaviour tables."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from timesink.comparison.results import Process
from timesink.model.schema import BEHAVIOUR


def change_role(
    role: Process,
    *,
    label: str | None = None,
    behaviour: pl.DataFrame | None = None,
    **columns: pl.Expr,
) -> Process:
    """The role with another label, another table, or other columns in it."""
    table = role.behaviour if behaviour is None else behaviour
    table = table.with_columns(**columns)
    table = table.select(pl.col(name).cast(kind) for name, kind in BEHAVIOUR.schema.items())
    return replace(role, label=label or role.label, behaviour=table)
