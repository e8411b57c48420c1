"""What links carry and devices draw."""

from __future__ import annotations

import re

import pytest

from timesink.analyses.kernels.peaks import find_peaks
from timesink.model.data_files import csv_rows
from timesink.rules import counter_names
from timesink.rules.counter_names import capacity_of, hardware_of

DRIVERS = [
    ("NVIDIA H200", "H200"),
    ("NVIDIA H200 NVL", "H200 NVL"),
    ("NVIDIA H100 80GB HBM3", "H100 SXM"),
    ("NVIDIA H100 PCIe", "H100 PCIe"),
    ("NVIDIA A100-SXM4-80GB", "A100 80GB SXM"),
    ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe"),
    ("Tesla V100-SXM2-32GB", "V100 SXM2"),
    ("NVIDIA A100-SXM4-40GB", "A100 40GB SXM"),
    ("NVIDIA A10", "A10"),
    ("NVIDIA L4", "L4"),
    ("NVIDIA L40S", "L40S"),
    ("AMD Instinct MI300X", "MI300X"),
    ("AMD Instinct MI250X", "MI250X GCD"),
    ("AMD Instinct MI250", "MI250 GCD"),
]


def test_devices_by_the_names_drivers_give_them():
    hardware_by_name = [(name, hardware_of(name)) for name, _ in DRIVERS]
    assert [(name, hardware and hardware.device) for name, hardware in hardware_by_name] == DRIVERS


def test_unknown_devices_are_unknown():
    assert hardware_of("Bow IPU") is None
    assert hardware_of(None) is None


def test_the_slowest_link_that_could_be_it():
    assert capacity_of("pcie", None, 1e9) == 15.75e9
    assert capacity_of("pcie", None, 25e9) == 31.5e9
    assert capacity_of("pcie", None, 1e15) == 1e15
    assert capacity_of("network", None, 1e9) == 12.5e9


def test_what_was_seen_is_believed_more_than_the_table():
    assert capacity_of("pcie", hardware_of("Tesla V100-SXM2-32GB"), 25e9) == 31.5e9


@pytest.mark.parametrize(
    ("kind", "steady", "capacity"),
    [
        ("network", 0.118e9, 0.125e9),
        ("network", 0.6e9, 12.5e9),
        ("pcie", 3.8e9, 3.94e9),
        ("pcie", 6e9, 15.75e9),
        ("link", 54e9, 56.25e9),
        ("disk", 0.27e9, 0.28e9),
    ],
)
def test_steady_traffic_close_below_a_slower_rate_fills_it(
    kind: str, steady: float, capacity: float
):
    assert capacity_of(kind, None, steady, steady) == capacity
    assert capacity_of(kind, None, steady) > steady / 0.9


def test_a_known_link_is_not_taken_for_a_slower_one():
    assert capacity_of("pcie", hardware_of("NVIDIA H200"), 30e9, 30e9) == 63e9


def test_every_kind_has_usual_rates_and_slower_ones():
    for rates in counter_names._rates().values():
        usual, slower = (
            [most for most, is_usual_rate in rates if is_usual_rate is is_usual]
            for is_usual in (True, False)
        )
        assert max(slower) < min(usual)


def test_every_line_has_a_source_and_a_name_that_can_be_found():
    for row in csv_rows(counter_names._HARDWARE):
        assert re.search(r"\((19|20)\d\d\)", row["source"])
        assert any(row[name] for name in row if name.endswith(("_s", "_w")))
        re.compile(row["match"])


@pytest.mark.parametrize("name", ["NVIDIA H200", "NVIDIA GB200", "AMD Instinct MI300X"])
def test_memory_is_as_fast_as_in_the_table_of_peaks(name: str):
    hardware, peaks = hardware_of(name), find_peaks(name).peaks
    assert hardware is not None
    assert peaks is not None
    assert hardware.memory_bandwidth == peaks.dram_bytes_per_s
