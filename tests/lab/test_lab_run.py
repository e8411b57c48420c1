"""A lab of real recordings on a CPU, from beginning to end."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from bare import COMMAND, bare_environment
from recorded import WITHOUT_COMPILER, needs_torch
from timesink.cli import main
from timesink.lab import driver
from timesink.lab.workloads.registry import VARIABLE, WORKLOADS, Switches

pytestmark = pytest.mark.whole


@pytest.fixture
def _without_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All programs do without the compiler of torch, which takes as long as torch itself."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(WITHOUT_COMPILER)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)


@needs_torch
@pytest.mark.usefixtures("_without_compiler")
def test_workloads_run_alone_with_every_switch_on():
    """Most switches are for faults that need a GPU."""
    switches = ",".join(f"{one.name}=1" for one in fields(Switches))
    # What loads data needs a generator of random numbers, which needs the first.
    imports = ["torch._prims.rng_prims", *(f"{one.module} as it; it.main()" for one in WORKLOADS)]
    both = "; ".join(f"import {one}" for one in imports)
    told = subprocess.run(
        [sys.executable, "-c", both, "--device", "cpu", "--cycles", "2"],
        env={**os.environ, VARIABLE: switches}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (told.returncode, told.stdout) == (0, ""), told.stderr


@needs_torch
@pytest.mark.usefixtures("_without_compiler")
def test_a_fault_is_recorded_and_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    # Asking PyTorch what is here takes seconds.
    monkeypatch.setattr(driver, "this_bench", functools.cache(driver.this_bench))
    lab = tmp_path / "lab"
    words = ["lab", "run", "-o", str(lab), "--workload", "denoise", "--device", "cpu"]
    words += ["--fault", "python_stall", "--repeat", "1"]
    words += ["--cycles", "6", "--skip", "1"]
    assert main(words) == 0
    assert "2 of 2 runs to make" in capsys.readouterr().err
    for name in ("normal-1", "python_stall-1"):
        run = json.loads((lab / "denoise" / name / "run.json").read_text())
        assert run["complete"], run["why_partial"]
        assert (run["cycles"]["name"], run["cycles"]["recorded"]) == ("denoise_step", 6)
    # What is found on a busy machine with few cycles is open; that the pair is judged is not.
    assert main(["lab", "score", str(lab), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["left_out"] == []
    assert [one["name"] for one in told["pairs"]] == ["python_stall-1"]
    assert (told["recorded"]["recordings"], told["recorded"]["cycles"]) == (2, [6])
    assert main(words) == 0
    assert "0 of 2 runs to make, 2 recorded before" in capsys.readouterr().err


def test_without_pytorch_it_says_so(tmp_path: Path):
    instead = tmp_path / "instead"
    instead.mkdir()
    (instead / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\")\n")
    told = subprocess.run(
        [*COMMAND, "lab", "run", "-o", "lab"], cwd=tmp_path, check=False,
        env=bare_environment(tmp_path / "bare", instead), capture_output=True, text=True,
    )  # fmt: skip
    assert (told.returncode, told.stdout) == (1, "")
    message, hint = told.stderr.splitlines()
    assert message.startswith("timesink: the workloads of the lab need PyTorch (")
    assert "install torch" in hint


def test_what_can_be_recorded_is_told_without_the_analysis_stack(tmp_path: Path):
    environment = bare_environment(tmp_path / "bare")
    for words, part in (
        (["lab", "list"], "cpu_hog"),
        (["lab", "list", "--format", "json"], '"cpu_hog"'),
        (["lab", "run", "--help"], "--minutes"),
    ):
        told = subprocess.run(
            [*COMMAND, *words], env=environment, capture_output=True, text=True, check=False
        )
        assert (told.returncode, told.stderr) == (0, "")
        assert part in told.stdout


def test_the_driver_needs_the_standard_library_alone(tmp_path: Path):
    check = "import timesink.lab.driver, timesink.lab.faults"
    told = subprocess.run(
        [sys.executable, "-S", "-c", check], env=bare_environment(tmp_path / "bare"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (told.returncode, told.stderr) == (0, "")


def test_faults_that_cannot_be_put_in_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(driver, "this_bench", lambda _device: driver.Bench("2.9.0", None, 2))
    words = ["lab", "run", "-o", str(tmp_path / "lab"), "--device", "cpu", "--workload", "denoise"]
    assert main([*words, "--dry-run", "--fault", "python_stall", "slow_loader"]) == 0
    assert "left out: slow_loader (no loader here)" in capsys.readouterr().err
    assert main([*words, "--fault", "slow_loader", "gpu_neighbour"]) == 2
    assert "cannot be put in: gpu_neighbour, slow_loader" in capsys.readouterr().err
    assert main([*words, "--minutes", "0.01"]) == 1
    assert "0.01 min are too short for one" in capsys.readouterr().err
