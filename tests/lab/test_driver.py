"""What the driver does with runs: skipping, failing, going on, and keeping to a time."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from timesink.errors import OutputError
from timesink_lab.driver import Bench, Outcome, Patience, RunFailedError, RunSpec, conduct
from timesink_lab.faults import faults_named, workloads_named
from timesink_lab.order import TRACE, LabFolder, LabRun, PackedParts, TimeLeft, order_runs

HOW = RunSpec(cycles=5, skip=2, device="cpu", size="small")
BENCH = Bench("2.9.0", None, 2)
HANGING = "hanging"
FEW = ["cpu_hog", "python_stall", "more_work", "disk_hog"]
RUNS = order_runs(workloads_named(["denoise"]), faults_named(FEW), 1, has_gpu=False)
"""Two runs without a fault, and four with one."""


@dataclass
class Lab:
    """A folder of recordings, made by a recorder that only writes files."""

    folder: Path
    failing: dict[str, Exception] = field(default_factory=dict)
    run_names: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    parts: PackedParts | None = None

    def conduct(self, how: RunSpec = HOW, minutes: float | None = None) -> Outcome:
        self.run_names.clear()
        time_left = TimeLeft(how.cycles, minutes and 60 * minutes)
        return conduct(
            RUNS, how, LabFolder(self.folder), time_left=time_left,
            bench=BENCH, say=self.messages.append, parts=self.parts, record=self.record,
        )  # fmt: skip

    def record(self, run: LabRun, _how: RunSpec, lab: LabFolder, patience: Patience) -> None:
        self.run_names.append(run.name)
        if run.name == HANGING:
            while True:
                patience()
        if run.name in self.failing:
            raise self.failing[run.name]
        lab.of(run).mkdir(parents=True)
        (lab.of(run) / TRACE).write_bytes(gzip.compress(b"{}"))

    def fault(self, name: str) -> dict[str, str]:
        return json.loads((self.folder / "denoise" / name / "fault.json").read_text())


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "lab")


def test_each_recording_says_what_is_expected_and_what_to_compare_it_with(lab: Lab):
    assert len(lab.conduct().recorded) == len(RUNS) == 6
    hog, stall = lab.fault("cpu_hog-1"), lab.fault("python_stall-1")
    assert hog["anomaly"] == "cpu_contention"
    assert (stall["fault"], stall["cause"]) == ("python_stall", "host_code")
    assert {lab.fault(f"{name}-1")["baseline"] for name in FEW} == {"normal-1", "normal-2"}
    assert lab.fault("normal-1")["baseline"] == lab.fault("normal-2")["baseline"] == "normal-1"
    assert "cause" not in lab.fault("normal-1")


@pytest.mark.parametrize("error", [RunFailedError("exit 1"), OSError("no space left")])
def test_a_run_that_fails_is_told_and_tried_again_later(lab: Lab, error: Exception):
    lab.failing["python_stall-1"] = error
    outcome = lab.conduct()
    assert [run.name for run in outcome.failed] == ["python_stall-1"]
    assert len(outcome.recorded) == 5
    assert f"denoise/python_stall-1: failed, {error}" in lab.messages
    lab.failing.clear()
    lab.conduct()
    # After a pause it is not compared with a run from before it.
    assert lab.run_names == ["normal-3", "python_stall-1"]
    assert lab.fault("python_stall-1")["baseline"] == "normal-3"
    assert lab.fault("normal-3")["baseline"] == "normal-3"
    lab.conduct()
    assert lab.run_names == []


def test_a_run_without_a_fault_is_tried_twice_as_others_are_compared_with_it(lab: Lab):
    lab.failing["normal-2"] = RunFailedError("exit 1")
    outcome = lab.conduct()
    assert lab.run_names.count("normal-2") == 2
    assert [run.name for run in outcome.failed] == ["normal-2"]
    assert {lab.fault(f"{name}-1")["baseline"] for name in FEW} == {"normal-1"}


def test_no_run_begins_that_would_end_too_late(lab: Lab):
    outcome = lab.conduct(minutes=0.01)
    assert (outcome.recorded, len(outcome.left)) == ((), 6)
    assert lab.run_names == []


def test_a_run_that_hangs_is_given_up_at_its_deadline(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(f"{__name__}.HANGING", "python_stall-1")
    outcome = lab.conduct(replace(HOW, deadline_s=0.05))
    assert [run.name for run in outcome.failed] == ["python_stall-1"]
    assert len(outcome.recorded) == 5


def test_recordings_are_packed_as_they_come(lab: Lab, tmp_path: Path):
    lab.parts = PackedParts(tmp_path / "parts", most_bytes=900)
    lab.failing["more_work-1"] = RunFailedError("exit 1")
    lab.conduct()
    parts = sorted((tmp_path / "parts").iterdir())
    assert len(parts) > 1
    assert all(part.stat().st_size <= 900 for part in parts)
    unpacked = io.BytesIO(b"".join(lzma.decompress(part.read_bytes()) for part in parts))
    with tarfile.open(fileobj=unpacked, ignore_zeros=True) as archive:
        names = archive.getnames()
        trace = archive.extractfile(f"denoise/normal-1/{TRACE}")
        assert trace is not None
        assert gzip.decompress(trace.read()) == b"{}"
    assert names[0] == "lab.json"
    assert "denoise/cpu_hog-1/fault.json" in names
    assert not [name for name in names if "more_work" in name]


def test_a_folder_that_was_begun_otherwise_is_left_alone(lab: Lab):
    lab.conduct()
    with pytest.raises(OutputError, match="begun with cycles 5 and not 9"):
        lab.conduct(RunSpec(cycles=9, skip=2, device="cpu", size="small"))


def test_a_folder_of_others_is_left_alone(lab: Lab):
    lab.folder.mkdir()
    (lab.folder / "thesis.tex").touch()
    with pytest.raises(OutputError, match="is no folder of the lab"):
        lab.conduct()
