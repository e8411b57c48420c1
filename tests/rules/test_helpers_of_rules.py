"""Small cases of what the helpers of rules give."""

from __future__ import annotations

import polars as pl

import timesink
from timesink.rules.communication import advice_on, why_late
from timesink.rules.kernel_use import advise
from timesink.rules.register import make_finding, rules_for
from timesink.rules.run_findings import find_all
from timesink.rules.steps import longest_by_name


def test_why_late() -> None:
    assert (why_late("gpu_clock"), why_late("gpu_clock", several=True)) == (
        "its device runs slower",
        "their devices run slower",
    )


def test_advice_on() -> None:
    assert (
        advice_on("slow_link", "rank 3")
        == "Check the links of rank 3: NIC, cable, PCIe width, NVLink state."
    )
    assert (
        advice_on("data_loading", "ranks 8-15", several=True)
        == "Look at the input of ranks 8-15: their files, their workers for loading, their disks."
    )


def test_advise() -> None:
    report = timesink.kernels(timesink.sample())
    assert [advice.id for advice in advise(report.calls, report.devices)] == ["layout-conversions"]


def test_rules_for() -> None:
    assert [rule.__name__ for rule in rules_for("other work")] == [
        "workload_change",
        "more_operators",
    ]


def test_finding() -> None:
    assert make_finding("data-loading", "It waits.", share=0.1, cost_ns=5.0).title == "Data loading"


def test_find_all() -> None:
    findings = find_all(timesink.open(timesink.sample()))
    assert all(finding.evidence for finding in findings)


def test_most_by_name() -> None:
    events = pl.DataFrame({"name": ["a", "b", "a"], "dur_ns": [1000, 5000, 2000]})
    assert [item.name for item in longest_by_name("kernel", events)] == ["b", "a"]
