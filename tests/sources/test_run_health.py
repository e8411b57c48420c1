"""What a recorder's words mean for the numbers."""

from __future__ import annotations

from typing import Any

import pytest

from recorded_runs import run_fields
from timesink.model.recorded_run import recorded_run
from timesink.sources.run_facts import run_health


def health_of(**changed: Any) -> dict[str, str]:
    run, unused = recorded_run(run_fields(**changed))
    assert not unused
    entries = run_health(run, run.process_of("trace.json.gz"))
    return {entry.code: entry.example for entry in entries}


def of_process(**changed: Any) -> list[dict[str, Any]]:
    return [{**run_fields()["processes"][0], **changed}]


def test_nothing_odd():
    assert health_of() == {}


def test_ended_early():
    cut = {"complete": False, "why_partial": "interrupted", "processes": of_process(cycles=2)}
    assert health_of(**cut) == {"partial_recording": "interrupted (2 of 6 steps)"}


def test_no_cycle_at_all():
    cut = {"complete": False, "why_partial": "no step was seen", "processes": of_process(cycles=0)}
    assert health_of(**cut) == {"lost_recording": "no step was seen"}


def test_a_whole_program_has_no_cycles_to_miss():
    cut = {"complete": False, "why_partial": "killed", "processes": of_process(cycles=0)}
    assert health_of(cycles={"by": "whole program"}, **cut) == {"partial_recording": "killed"}


def test_one_process_of_a_run_may_be_cut():
    assert health_of(processes=of_process(complete=False, cycles=6)) == {
        "partial_recording": "the reason is not known"
    }


@pytest.mark.parametrize(
    ("ended", "why"),
    [
        ({"code": 1, "signal": ""}, "the program ended with exit code 1"),
        ({"code": None, "signal": "SIGKILL"}, "the program was ended by SIGKILL"),
    ],
)
def test_how_the_program_ended_says_why(ended: dict[str, Any], why: str):
    assert health_of(complete=False, exit=ended) == {"partial_recording": why}


@pytest.mark.parametrize(
    ("overhead", "entries"),
    [
        ({"cycle_us": 950.0}, {}),
        (
            {"cycle_us": 800.0},
            {"profiler_overhead": "25 % longer, 1.00 ms instead of 800 us"},
        ),
        (
            {"cycle_us": 400.0},
            {"heavy_profiling": "2.5 times as long, 1.00 ms instead of 400 us"},
        ),
        ({"cycle_us": None, "profiler_pct": 100.0}, {"heavy_profiling": "2.0 times as long"}),
        ({"cycle_us": None, "profiler_pct": None}, {}),
        ({"cycle_us": 0.0, "profiler_pct": None}, {}),
    ],
)
def test_overhead(overhead: dict[str, Any], entries: dict[str, str]):
    assert health_of(overhead=overhead) == entries


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        ({"offset_us": -400.0}, {}),
        ({"offset_us": None, "spread_us": None}, {}),
        (
            {"offset_us": -90_000.0},
            {"counter_clock_offset": "90.0 ms apart, give or take 1.10 us; sampled every 500 us"},
        ),
        (
            {"spread_us": 2_000.0},
            {"counter_clock_offset": "3.20 us apart, give or take 2.00 ms; sampled every 500 us"},
        ),
    ],
)
def test_clock(clock: dict[str, Any], expected: dict[str, str]):
    assert health_of(clock=clock) == expected


def test_missing_counters_are_named_once_with_their_reason():
    missing = [
        {"counter": "gpu_nvlink_*", "why": "not supported by this device"},
        {"counter": "gpu_pcie_*", "why": "no permission"},
        {"counter": "gpu_power_mw", "why": "no permission"},
    ]
    assert health_of(counters={"missing": missing}) == {
        "missing_counters": "gpu_nvlink_*: not supported by this device\n"
        "gpu_pcie_*, gpu_power_mw: no permission"
    }


def test_reasons_of_earlier_recorders_name_their_cycles_once():
    why = "interrupted, after 2 of 6 cycles"
    cut = {"complete": False, "why_partial": why, "processes": of_process(cycles=2)}
    assert health_of(**cut) == {"partial_recording": why}
