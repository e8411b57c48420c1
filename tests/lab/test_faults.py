"""Faults and workloads are data that the rest of the lab can rely on."""

from __future__ import annotations

import importlib.util
from dataclasses import fields

import pytest

from timesink.model.findings import CAUSES
from timesink_lab.faults import FAULTS, Fault
from timesink_lab.loads import LOADS
from timesink_lab.workloads.switches import WORKLOADS, Switches


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_asks_for_names_that_a_diagnosis_can_give(fault: Fault):
    assert fault.expected
    assert {*fault.anomaly, *fault.cause} <= set(CAUSES)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_a_load_or_a_switch_that_exists(fault: Fault):
    assert bool(fault.load) != bool(fault.switches)
    assert fault.load[:1] == () or fault.load[0] in LOADS
    assert fault.switches.keys() <= {switch.name for switch in fields(Switches)}


def test_workloads_are_programs():
    assert all(importlib.util.find_spec(workload.module) for workload in WORKLOADS)
