"""Every counter: asked for by name, known to the diagnosis, told on its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from timesink.errors import UsageError
from timesink.model.units import unit_of
from timesink.recorder.counter_probes import COUNTERS, GROUPS, wanted_counters
from timesink.rules.counter_names import UNKNOWN, resource_of

PAGE = Path(__file__).resolve().parents[3] / "docs/counters.md"
ROLES = {
    "gpu_others_usage": ("exogenous", "gpu_contention"),
    "process_gpu_usage": ("symptom", ""),
    "process_cpu_usage": ("symptom", ""),
    "gpu_mem_of_others_bytes": ("ignored", ""),
    "gpu_throttle_reasons": ("context", ""),
    "gpu_power_instant_mw": ("context", ""),
    "gpu_link_receive_kbps": ("exogenous", "nvlink_contention"),
    "ib_rx_bytes_per_s": ("exogenous", "network"),
    "container_cpu_throttled_pct": ("exogenous", "cpu_contention"),
    "process_major_faults_per_s": ("exogenous", "host_memory"),
    "host_swap_in_per_s": ("exogenous", "host_memory"),
    "disk_util_pct": ("exogenous", "disk_io"),
}


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda counter: counter.name)
def test_the_diagnosis_knows_its_unit_and_what_it_tells(counter):
    # Large values: some names mean a fraction where values are small.
    assert (unit_of(counter.name, 1e9) or "") == counter.unit
    assert resource_of(counter.name) is not UNKNOWN


@pytest.mark.parametrize("name", ROLES)
def test_its_part_in_the_diagnosis(name):
    resource = resource_of(name)
    assert (resource.role, resource.cause) == ROLES[name]


def test_names_are_there_once_and_in_a_group():
    names = [counter.name for counter in COUNTERS]
    assert len(names) == len(set(names))
    assert {counter.group for counter in COUNTERS} == set(GROUPS)


def test_the_page_tells_of_every_counter():
    names = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert names == [*GROUPS, *(counter.name for counter in COUNTERS)]


def test_groups_names_and_patterns_can_be_asked_for():
    assert wanted_counters("all") == {counter.name for counter in COUNTERS}
    assert wanted_counters("disk, gpu_pcie_*,gpu_temp") == {
        "disk_read_bytes_per_s",
        "disk_write_bytes_per_s",
        "disk_util_pct",
        "gpu_pcie_transmit_kbps",
        "gpu_pcie_receive_kbps",
        "gpu_temp",
    }
    assert not wanted_counters("none")


@pytest.mark.parametrize("text", ["gpus", "disk,nvlink_*", "", ","])
def test_what_there_is_not_is_refused_with_the_groups_there_are(text):
    with pytest.raises(UsageError) as raised:
        wanted_counters(text)
    assert all(group in raised.value.hint for group in GROUPS)
