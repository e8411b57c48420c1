"""A lab of real recordings on a CPU, from beginning to end."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from bare import COMMAND, bare_environment
from forked_programs import host_of_programs
from recorded import needs_torch
from timesink.cli import main
from timesink_lab import driver
from timesink_lab.workloads.switches import VARIABLE, WORKLOADS, Switches

pytestmark = pytest.mark.whole


NAMES = ", ".join(workload.name for workload in WORKLOADS)
STANDALONE = f"""
# What loads data needs a generator of random numbers, which needs the first.
import torch._prims.rng_prims
from {WORKLOADS[0].module.rpartition(".")[0]} import {NAMES}
{"; ".join(f"{workload.name}.main()" for workload in WORKLOADS)}
"""

MODULE = """
import runpy, sys
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
"""What `python -m` does."""


@needs_torch
def test_workloads_run_alone_with_every_switch_on(tmp_path: Path):
    """Most switches are for faults that need a GPU."""
    switches = ",".join(f"{switch.name}=1" for switch in fields(Switches))
    (tmp_path / "alone.py").write_text(STANDALONE)
    command = host_of_programs().command(str(tmp_path / "alone.py"))
    process = subprocess.run(
        [*command, "--device", "cpu", "--cycles", "2"],
        env={**os.environ, VARIABLE: switches}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (0, ""), process.stderr


@needs_torch
def test_a_fault_is_recorded_and_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    # Asking PyTorch what is here takes seconds, and so does each import of it.
    monkeypatch.setattr(driver, "this_bench", functools.cache(driver.this_bench))
    monkeypatch.setattr(
        driver, "recorder_command", forking_command(tmp_path, driver.recorder_command)
    )
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
    answer = json.loads(capsys.readouterr().out)
    assert answer["left_out"] == []
    assert [pair["name"] for pair in answer["pairs"]] == ["python_stall-1"]
    assert (answer["recorded"]["recordings"], answer["recorded"]["cycles"]) == (2, [6])
    assert main(words) == 0
    assert "0 of 2 runs to make, 2 recorded before" in capsys.readouterr().err


def forking_command(
    folder: Path, recorder_command: Callable[..., list[str]]
) -> Callable[..., list[str]]:
    """The same commands, whose workloads are forks of a program that has imported torch."""
    program = folder / "module.py"
    program.write_text(MODULE)

    def command(*arguments: object) -> list[str]:
        words = recorder_command(*arguments)
        at = words.index("--") + 1
        assert words[at : at + 2] == [sys.executable, "-m"]
        return [*words[:at], *host_of_programs().command(str(program), *words[at + 2 :])]

    return command


def test_without_pytorch_it_says_so(tmp_path: Path):
    instead = tmp_path / "instead"
    instead.mkdir()
    (instead / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\")\n")
    process = subprocess.run(
        [*COMMAND, "lab", "run", "-o", "lab"], cwd=tmp_path, check=False,
        env=bare_environment(tmp_path / "bare", instead), capture_output=True, text=True,
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (1, "")
    message, hint = process.stderr.splitlines()
    assert message.startswith("timesink: the workloads of the lab need PyTorch (")
    assert "install torch" in hint


def test_what_can_be_recorded_is_told_without_the_analysis_stack(tmp_path: Path):
    environment = bare_environment(tmp_path / "bare")
    for words, part in (
        (["lab", "list"], "cpu_hog"),
        (["lab", "list", "--format", "json"], '"cpu_hog"'),
        (["lab", "run", "--help"], "--minutes"),
    ):
        process = subprocess.run(
            [*COMMAND, *words], env=environment, capture_output=True, text=True, check=False
        )
        assert (process.returncode, process.stderr) == (0, "")
        assert part in process.stdout


def test_the_driver_needs_the_standard_library_alone(tmp_path: Path):
    check = "import timesink_lab.driver, timesink_lab.faults"
    process = subprocess.run(
        [sys.executable, "-S", "-c", check], env=bare_environment(tmp_path / "bare"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stderr) == (0, "")


def test_faults_that_cannot_be_put_in_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(driver, "this_bench", lambda _device: driver.Bench("2.9.0", None, 2))
    words = ["lab", "run", "-o", str(tmp_path / "lab"), "--device", "cpu", "--workload", "denoise"]
    assert main([*words, "--dry-run", "--fault", "python_stall", "slow_loader"]) == 0
    assert "left out: slow_loader (no loader here)" in capsys.readouterr().err
    assert main([*words, "--fault", "slow_loader", "gpu_neighbour"]) == 2
    assert "cannot be injected: gpu_neighbour, slow_loader" in capsys.readouterr().err
    assert main([*words, "--minutes", "0.01"]) == 1
    assert "0.01 min are too short for one" in capsys.readouterr().err
