"""The gate on real recordings, and the example of a pipeline in docs/ci."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from rich.cells import cell_len

import timesink
from timesink.cli import build_parser, main

REPOSITORY = Path(__file__).resolve().parent.parent
SCRIPT = REPOSITORY / "docs" / "ci" / "gate.sh"
WORKFLOW = REPOSITORY / "docs" / "ci" / "github.yml"


@pytest.fixture(autouse=True)
def kept_recordings(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings are read once for all tests."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))


def pipeline(base: Path, new: Path, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """The script as a CI system runs it."""
    environment = {
        **os.environ,
        "TIMESINK": f"{sys.executable} -m timesink",
        "PYTHONPATH": str(REPOSITORY / "src"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        **more,
    }
    words = ["sh", str(SCRIPT), str(base), str(new), "results"]
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def check_results(folder: Path, outcome: str, failures: int) -> None:
    comment = (folder / "results" / "comment.md").read_text(encoding="utf-8")
    assert comment.startswith(f"## timesink: {outcome} (`--fail-on regression`)\n")
    assert len(comment.splitlines()) < 60
    assert (folder / "summary.md").read_text(encoding="utf-8") == comment
    suite = ET.parse(folder / "results" / "junit.xml").getroot()[0]  # noqa: S314 - our own
    assert int(suite.attrib["failures"]) == failures == len(suite.findall("testcase/failure"))


def check_screen(log: str) -> None:
    """A reason that fits one screen, without colours; a command is one line, in several rows."""
    lines = log[log.index("timesink: ") :].splitlines()
    assert sum(-(-cell_len(line) // 80) or 1 for line in lines) <= 24
    said = lines[:-1] if "Reproduce" in lines else lines
    assert max(map(cell_len, said)) <= 80
    assert "\x1b" not in log


class TestPipeline:
    def test_two_equal_runs_pass(self, tmp_path: Path):
        base, _ = timesink.sample_runs()
        done = pipeline(base, Path(shutil.copy(base, tmp_path)), tmp_path)
        assert done.returncode == 0, done.stderr
        check_results(tmp_path, "passed", 0)

    def test_a_slower_run_fails(self, tmp_path: Path):
        done = pipeline(*timesink.sample_runs(), tmp_path)
        assert (done.returncode, done.stdout) == (3, "")
        check_screen(done.stderr)
        check_results(tmp_path, "failed", 1)

    def test_a_missing_baseline_is_no_pass(self, tmp_path: Path):
        done = pipeline(Path("@main"), timesink.sample_runs()[0], tmp_path)
        assert done.returncode == 1
        assert "cannot be judged" in (tmp_path / "summary.md").read_text(encoding="utf-8")

    def test_results_of_an_earlier_run_never_stay(self, tmp_path: Path):
        """Not even where nothing was compared: a wrong limit is wrong usage."""
        base, _ = timesink.sample_runs()
        (tmp_path / "results").mkdir()
        for name in ("comment.md", "junit.xml"):
            (tmp_path / "results" / name).write_text("passed")
        assert pipeline(base, base, tmp_path, FAIL_ON="quickly").returncode == 2
        assert not list((tmp_path / "results").iterdir())

    def test_a_healthy_run_passes_beside_its_copy(self, shared: Path, tmp_path: Path):
        normal = shared / "data/h200/faults/normal"
        done = pipeline(normal, shutil.copytree(normal, tmp_path / "copy"), tmp_path)
        assert done.returncode == 0, done.stderr
        check_results(tmp_path, "passed", 0)

    def test_a_stalled_host_fails(self, shared: Path, tmp_path: Path):
        faults = shared / "data/h200/faults"
        done = pipeline(faults / "normal", faults / "python_stall", tmp_path)
        assert done.returncode == 3
        check_screen(done.stderr)
        assert "host_code" in done.stderr
        check_results(tmp_path, "failed", 1)


class TestWorkflow:
    def test_every_command_of_the_example_is_understood(self):
        lines = re.findall(r"run: (timesink .*)", WORKFLOW.read_text(encoding="utf-8"))
        assert len(lines) == 2
        for line in lines:
            build_parser().parse_args(line.split()[1:])

    def test_a_fork_does_not_run_on_the_machines_of_the_project(self):
        job = WORKFLOW.read_text(encoding="utf-8").partition("  performance:\n")[2]
        condition = job.partition("steps:")[0]
        assert "github.event.pull_request.head.repo.full_name == github.repository" in condition

    def test_it_runs_the_script_that_is_tested(self):
        assert f"ci/{SCRIPT.name} @main runs/new gate-results" in WORKFLOW.read_text(
            encoding="utf-8"
        )
        assert os.access(SCRIPT, os.X_OK)


@pytest.mark.parametrize(
    "paths",
    [
        ("h200/faults/normal", "h200/faults/gpu_contention"),
        ("h200/faults/hbm_saturation", "h200/faults/normal"),
        ("h200/traces/ddp8_normal", "h200/traces/ddp8_stall_rank3"),
        ("h200/traces/ddp8_normal", "h200/traces/bert_train"),
        ("latencyprism/SGLang",),
    ],
)
def test_comments_stay_short_whatever_is_compared(
    shared: Path, paths: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    given = [str(shared / "data" / path) for path in paths]
    code = main(["compare", *given, "--format", "md", "--fail-on", "1%"])
    comment, log = capfd.readouterr()
    assert 0 < len(comment.splitlines()) < 60
    check_screen(log)
    assert code in {0, 1, 3}
