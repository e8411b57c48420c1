"""Functions of tables that do not name devices are compared where they ran."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from many_roles import one_role
from timesink.comparison.results import Process
from timesink.comparison.steps.verdict import compare_roles


def without(side: Process, *columns: str) -> Process:
    """The role as a file without these columns has it."""
    gone = {"device": "N/A", "function_class": None}
    schema = side.behaviour.schema
    cells = (pl.lit(gone[name], pl.String).cast(schema[name]).alias(name) for name in columns)
    return replace(side, behaviour=side.behaviour.with_columns(cells))


BASE = replace(one_role(7), label="base")
NEW = replace(one_role(7), label="new")


@pytest.mark.parametrize("columns", [("device",), ("device", "function_class")])
def test_functions_meet_those_of_a_table_with_devices(columns):
    pair = compare_roles(BASE, without(NEW, *columns), "strict")
    assert pair.workload.comparable
    assert pair.workload.work_ratio == 1.0
    assert set(pair.times["runs_on"]) == {"both"}
    text = " ".join(pair.workload.reasons)
    assert "recorded no" not in text
    assert "new does not name its device: it is taken as GPU 7 of base." in text


def test_rows_keep_the_device_of_the_file():
    pair = compare_roles(without(BASE, "device"), without(NEW, "device"), "strict")
    assert set(pair.rows["device"]) == {"N/A"}
    assert set(pair.times["device"]) == {"Host", "N/A"}
    assert pair.workload.reasons == ()


def test_tables_with_devices_stay_as_they_are():
    pair = compare_roles(BASE, NEW, "strict")
    assert pair.base.behaviour.equals(BASE.behaviour)
    assert pair.new.behaviour.equals(NEW.behaviour)
