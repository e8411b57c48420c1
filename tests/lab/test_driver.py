"""What the driver does with runs: skipping, failing, going on, and keeping to a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from timesink.errors import OutputError
from timesink.lab.driving.budget import Clock
from timesink.lab.driving.driver import Outcome, conduct
from timesink.lab.driving.machine import Machine
from timesink.lab.driving.one_run import How, RunFailedError
from timesink.lab.driving.order import Run, ordered
from timesink.lab.driving.places import TRACE, Places
from timesink.lab.faults.registry import faults_named
from timesink.lab.workloads.registry import workloads_named

HOW = How(cycles=5, skip=2, device="cpu", size="small")
MACHINE = Machine("2.9.0", None, 2)
RUNS = ordered(
    workloads_named(["decode"]), faults_named(["cpu_hog", "python_stall"]), 1, has_gpu=False
)


@dataclass
class Lab:
    """A folder of recordings, made by a recorder that only writes files."""

    folder: Path
    failing: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def conduct(self, how: How = HOW, minutes: float | None = None) -> Outcome:
        self.asked.clear()
        clock = Clock(how.cycles, minutes and 60 * minutes)
        return conduct(
            RUNS, how, Places(self.folder), clock=clock, machine=MACHINE, say=self.said.append,
            record=self.record,
        )  # fmt: skip

    def record(self, run: Run, _how: How, places: Places, _stopped: Sequence[int]) -> None:
        self.asked.append(run.name)
        if run.name in self.failing:
            raise RunFailedError("exit 1")
        places.of(run).mkdir(parents=True)
        (places.of(run) / TRACE).touch()

    def fault(self, name: str) -> dict[str, str]:
        return json.loads((self.folder / "decode" / name / "fault.json").read_text())


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "lab")


def test_each_recording_says_what_is_expected_and_what_to_compare_it_with(lab: Lab):
    assert len(lab.conduct().recorded) == 4
    hog, stall = lab.fault("cpu_hog-1"), lab.fault("python_stall-1")
    assert hog["anomaly"] == "cpu_contention"
    assert (stall["fault"], stall["cause"]) == ("python_stall", "host_code")
    assert {hog["baseline"], stall["baseline"]} == {"normal-1", "normal-2"}
    assert lab.fault("normal-1")["baseline"] == lab.fault("normal-2")["baseline"] == "normal-1"
    assert "cause" not in lab.fault("normal-1")


def test_a_run_that_fails_is_told_and_tried_again_later(lab: Lab):
    lab.failing.add("python_stall-1")
    outcome = lab.conduct()
    assert [run.name for run in outcome.failed] == ["python_stall-1"]
    assert len(outcome.recorded) == 3
    assert any("decode/python_stall-1: failed, exit 1" in line for line in lab.said)
    lab.failing.clear()
    lab.conduct()
    # After a pause it is not compared with a run from before it.
    assert lab.asked == ["normal-3", "python_stall-1"]
    assert lab.fault("python_stall-1")["baseline"] == "normal-3"
    assert lab.fault("normal-3")["baseline"] == "normal-3"
    lab.conduct()
    assert lab.asked == []


def test_no_run_begins_that_would_end_too_late(lab: Lab):
    outcome = lab.conduct(minutes=0.01)
    assert (outcome.recorded, len(outcome.left)) == ((), 4)
    assert lab.asked == []


def test_a_folder_that_was_begun_otherwise_is_left_alone(lab: Lab):
    lab.conduct()
    with pytest.raises(OutputError, match="begun with cycles 5 and not 9"):
        lab.conduct(How(cycles=9, skip=2, device="cpu", size="small"))


def test_a_folder_of_others_is_left_alone(lab: Lab):
    lab.folder.mkdir()
    (lab.folder / "thesis.tex").touch()
    with pytest.raises(OutputError, match="is no folder of the lab"):
        lab.conduct()
