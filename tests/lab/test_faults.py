"""Faults and workloads are data that the rest of the lab can rely on."""

from __future__ import annotations

import importlib.util
from dataclasses import fields
from pathlib import Path

import pytest

from timesink.analyses.diagnosis.diagnosis import CAUSES
from timesink.lab import faults
from timesink.lab.faults.fault import CODE, LOAD, Fault
from timesink.lab.faults.registry import FAULTS
from timesink.lab.workloads.registry import USUAL, WORKLOADS
from timesink.lab.workloads.switches import Switches


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)
def test_a_fault_asks_for_names_that_a_diagnosis_can_give(fault: Fault):
    assert fault.expected
    assert {*fault.anomaly, *fault.cause} <= set(CAUSES)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)
def test_a_fault_is_a_load_or_a_switch_that_exists(fault: Fault):
    if fault.kind == LOAD:
        assert importlib.util.find_spec(f"timesink.lab.loads.{fault.load[0]}")
        assert not fault.switches
    else:
        assert fault.kind == CODE
        assert fault.switches.keys() <= {one.name for one in fields(Switches)}
        assert not fault.load


def test_every_file_of_a_fault_is_registered_under_its_name():
    files = {path.stem for path in Path(faults.__file__).parent.glob("*.py")}
    assert files - {"__init__", "fault", "registry"} == {one.name for one in FAULTS}


def test_workloads_are_programs():
    assert all(importlib.util.find_spec(one.module) for one in WORKLOADS)
    assert set(USUAL) <= {one.name for one in WORKLOADS}
