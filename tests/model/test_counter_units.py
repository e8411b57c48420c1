"""In which unit counters are."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.model import units
from timesink.model.units import published_unit, quantity, unit_of

RECORDED = [
    ("gpu_sm_frequency", "MHz"),
    ("gpu_power_mw", "mW"),
    ("gpu_pcie_receive_kbps", "kB/s"),
    ("gpu_mem_used", "B"),
    ("gpu_mem_util", "%"),
    ("gpu_temp", "C"),
    ("host_cpu_usage", "%"),
    ("host_mem_available", "KiB"),
    ("process_cpu_usage", "% of a core"),
    ("process_mem_rss", "B"),
    ("process_runq_wait_pct", "%"),
    ("net_rx_rate", "B/s"),
    ("host_cpu_steal", "%"),
    ("host_swap_in_per_s", "per s"),
    ("net_rx_mib_per_s", None),
    ("SM Active [Throughput %]", "%"),
    ("queue_length", None),
]


def test_recorded() -> None:
    assert [(counter, unit_of(counter)) for counter, _ in RECORDED] == RECORDED


@pytest.mark.parametrize(
    ("counter", "largest", "unit"),
    [
        ("gpu_sm_util", 0.8, "100 %"),
        ("gpu_sm_util", 80.0, "%"),
        ("gpu_mem_used", 85.7, "%"),
        ("gpu_mem_used", 3.6e9, "B"),
    ],
)
def test_the_largest_value_tells_apart(counter: str, largest: float, unit: str) -> None:
    assert unit_of(counter, largest) == unit


PUBLISHED = [
    ("gpu_frequency", 118687.5, "0.01 MHz"),
    ("gpu_mem_frequency", 159300.0, "0.01 MHz"),
    ("cpu_frequency", 87.5, "%"),
    ("cpu_frequency", 350000.0, "0.01 MHz"),
    ("gpu_link_transmit", 0.0, "0.01 B/s"),
    ("gpu_pcie_transmit", 2.3e8, "0.01 B/s"),
    ("gpu_sm_occupancy", 0.08, "100 %"),
    ("gpu_mem_used", 85.7, "%"),
    ("gpu_mem_used", 8.5e12, "0.01 B"),
    ("gpu_usage", 6.0, "%"),
    ("process_cpu_usage", 1.75, "%"),
    ("disk_usage", 48.0, "%"),
    ("net_rx_rate", 120.0, "B/s"),
    ("queue_length", 5.0, None),
]


def test_published() -> None:
    rows = [(metric, most, published_unit(metric, most)) for metric, most, _ in PUBLISHED]
    assert rows == PUBLISHED


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_hundredth_is_exact(value: float) -> None:
    assert quantity(value, "0.01 MHz") == (value / 100, "MHz")
    assert quantity(value, "MHz") == (value, "MHz")
    assert quantity(value, "% of a core") == (value, "% of a core")
    assert quantity(value, None) == (value, "")


def test_the_lines_are_whole() -> None:
    with Path(units.__file__).with_name("counter_units.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert {line["form"] for line in lines} == {"recorded", "published"}
    assert all(None not in line and None not in line.values() for line in lines)
    assert all(line["pattern"] == line["pattern"].lower() for line in lines)
    assert all(float(line["at_most"] or 1) > 0 for line in lines)


@pytest.mark.parametrize(
    ("value", "unit", "same"),
    [
        (650_000, "mW", (650.0, "W")),
        (3, "kB/s", (3e3, "B/s")),
        (2, "GiB", (2 * 1024**3, "B")),
        (1.41e9, "Hz", (1410.0, "MHz")),
        (250, "us", (250_000.0, "ns")),
        (2, "0.01 MB/s", (20_000.0, "B/s")),
    ],
)
def test_units_of_one_quantity_meet(value: float, unit: str, same: tuple[float, str]):
    result = quantity(value, unit)
    assert (result[0], result[1]) == (pytest.approx(same[0]), same[1])
