"""The gate on real recordings, and the example of a pipeline in docs/ci."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from rich.cells import cell_len

import timesink
from forked_programs import host_of_programs
from recorded import environment, needs_torch
from recorded import write as write_program
from timesink.cli import main
from timesink.cli.command_line import build_parser

pytestmark = pytest.mark.whole

REPOSITORY = Path(__file__).resolve().parent.parent
SCRIPT = REPOSITORY / "docs" / "ci" / "gate.sh"
WORKFLOW = REPOSITORY / "docs" / "ci" / "github.yml"
MARK = "<!-- timesink gate -->"


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


def check_results(
    folder: Path, outcome: str, failures: int, limits: str = "no slowdown allowed"
) -> None:
    comment = (folder / "results" / "comment.md").read_text(encoding="utf-8")
    assert comment.startswith(f"{MARK}\n## timesink: {outcome} ({limits})\n")
    assert len(comment.splitlines()) < 60
    assert (folder / "summary.md").read_text(encoding="utf-8") == comment
    suite = ET.parse(folder / "results" / "junit.xml").getroot()[0]  # noqa: S314 - our own
    assert int(suite.attrib["failures"]) == failures == len(suite.findall("testcase/failure"))


def check_stub(comment: Path) -> None:
    lines = comment.read_text(encoding="utf-8").splitlines()
    assert lines[0] == MARK
    assert "not decided" in lines[1]


def check_screen(log: str) -> None:
    """A reason that fits one screen, without colours; a command is one line, in several rows."""
    lines = log[log.index("timesink: ") :].splitlines()
    assert sum(-(-cell_len(line) // 80) or 1 for line in lines) <= 24
    shown_lines = lines[:-1] if "Reproduce" in lines else lines
    assert max(map(cell_len, shown_lines)) <= 80
    assert "\x1b" not in log


class TestPipeline:
    def test_two_equal_runs_pass(self, tmp_path: Path):
        base, _ = timesink.sample_runs()
        done = pipeline(base, Path(shutil.copy(base, tmp_path)), tmp_path)
        assert done.returncode == 0, done.stderr
        check_results(tmp_path, "passed", 0)

    def test_a_slower_run_fails(self, tmp_path: Path):
        (tmp_path / "budget.toml").write_text('[cycle]\nmax = "9 s"')
        done = pipeline(*timesink.sample_runs(), tmp_path, FAIL_ON="5%", BUDGET="budget.toml")
        assert (done.returncode, done.stdout) == (3, "")
        check_screen(done.stderr)
        check_results(tmp_path, "failed", 1, "limit 5 %, budgets in `budget.toml`")
        assert '"cycle max"' in (tmp_path / "results/junit.xml").read_text(encoding="utf-8")

    def test_a_missing_baseline_is_no_pass_and_results_of_an_earlier_run_never_stay(
        self, tmp_path: Path
    ):
        (tmp_path / "results").mkdir()
        for name in ("comment.md", "junit.xml", "comparison.json"):
            (tmp_path / "results" / name).write_text("passed")
        done = pipeline(Path("@main"), timesink.sample_runs()[0], tmp_path)
        assert done.returncode == 1
        for path in (tmp_path / "results").iterdir():
            assert path.read_text(encoding="utf-8") != "passed"
        check_stub(tmp_path / "results" / "comment.md")
        assert "not decided" in (tmp_path / "summary.md").read_text(encoding="utf-8")

    def test_there_is_a_comment_where_the_program_is_not_installed(self, tmp_path: Path):
        base, _ = timesink.sample_runs()
        assert pipeline(base, base, tmp_path, TIMESINK="no-such-program").returncode == 127
        check_stub(tmp_path / "results" / "comment.md")
        assert "not decided" in (tmp_path / "summary.md").read_text(encoding="utf-8")


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

    def commented(self, folder: Path, earlier: str) -> str:
        """What the step that comments asks of `gh`, which says whether there is a comment."""
        step = WORKFLOW.read_text(encoding="utf-8").partition("- name: Comment\n")[2]
        script = textwrap.dedent(step.partition("run: |\n")[2].partition("      - uses:")[0])
        gh = folder / "gh"
        gh.write_text(f'#!/bin/sh\necho "$@" >>asked\n[ "$2" = --paginate ] && echo {earlier}\n')
        gh.chmod(0o755)
        variables = {
            "PULL": "7",
            "GITHUB_REPOSITORY": "a/b",
            "PATH": f"{folder}:{os.environ['PATH']}",
        }
        subprocess.run(
            ["sh", "-c", script], cwd=folder, env={**os.environ, **variables}, check=False
        )
        return (folder / "asked").read_text().splitlines()[-1]

    def test_the_comment_of_an_earlier_commit_is_replaced(self, tmp_path: Path):
        command = self.commented(tmp_path, "42")
        assert command == (
            "api -X PATCH repos/a/b/issues/comments/42 -F body=@gate-results/comment.md"
        )
        assert f'startswith("{MARK}")' in (tmp_path / "asked").read_text()

    def test_there_is_a_comment_where_recording_failed(self, tmp_path: Path):
        command = self.commented(tmp_path, "")
        assert command == "pr comment 7 --body-file gate-results/comment.md"
        check_stub(tmp_path / "gate-results" / "comment.md")

    def test_it_runs_the_script_that_is_tested(self):
        assert f"ci/{SCRIPT.name} @main runs/new gate-results" in WORKFLOW.read_text(
            encoding="utf-8"
        )
        assert os.access(SCRIPT, os.X_OK)


@pytest.mark.usefixtures("reads_here")
@pytest.mark.parametrize(
    ("paths", "expected", "log_text"),
    [
        (("h200/faults/normal", "h200/faults/python_stall"), 3, "Host code"),
        (("latencyprism/SGLang",), 1, ""),
    ],
)
def test_comments_stay_short_whatever_is_compared(
    shared_root: Path,
    paths: tuple[str, ...],
    expected: int,
    log_text: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    arguments = [str(shared_root / "data" / path) for path in paths]
    assert main(["compare", *arguments, "--format", "md", "--fail-on", "1%"]) == expected
    assert log_text in short_log(capfd)


def short_log(capfd: pytest.CaptureFixture[str]) -> str:
    """What was said on the screen, beside a comment that is short as well."""
    comment, log = capfd.readouterr()
    assert 0 < len(comment.splitlines()) < 60
    check_screen(log)
    return log


@pytest.mark.usefixtures("reads_here")
def test_six_steps_a_side_that_are_all_longer_fail(
    shared_root: Path, capsys: pytest.CaptureFixture[str]
):
    """What a schedule of torch.profiler records; reading the recordings takes seconds, once."""
    sides = [
        str(shared_root / "data" / "hta" / "trace_diff" / side) for side in ("control", "test")
    ]
    assert main(["gate", *sides, "--fail-on", "5%"]) == 3
    log = " ".join(capsys.readouterr().err.split())
    assert "steps take 51.8 % longer" in log
    assert "may be noise" not in log


PROGRAM = """
import timesink
import torch

def train(name, activation, is_read=False):
    torch.manual_seed(0)
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    kept = {"skip": 4, "plain": 0, "cycles": 8, "extras": ["memory"], "counters": "none"}
    with timesink.record(name, **kept) as recording:
        for _ in range(14):
            loss = activation(model(torch.ones(8, 64))).sum()
            loss.backward()
            optimizer.step()
            if is_read:
                loss.item()
            recording.step()

relu, gelu = torch.nn.functional.relu, torch.nn.functional.gelu
train("base", relu)
train("again", relu)
train("item", relu, is_read=True)
train("kernel", gelu)
"""
EXACT = 'program = "same"\npeak_memory = "2%"\n'


@pytest.fixture(scope="module")
def edited_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of a program and of its edits, one after the other: to import torch takes long."""
    folder = tmp_path_factory.mktemp("programs")
    text = Path(write_program(folder, PROGRAM))
    program = host_of_programs().start(folder, text, environment())
    _, errors = program.communicate()
    assert program.returncode == 0, errors
    (folder / "budgets.toml").write_text(EXACT)
    return folder


@needs_torch
@pytest.mark.parametrize(
    ("new", "code", "message"),
    [
        ("again", 0, "The recorded calls are the same."),
        ("item", 3, "aten::item"),
        ("kernel", 3, "aten::gelu"),
    ],
)
def test_one_run_a_side_catches_a_single_edit(
    edited_programs: Path, capsys: pytest.CaptureFixture[str], new: str, code: int, message: str
):
    sides = [str(edited_programs / name) for name in ("base", new)]
    assert main(["gate", *sides, "--budget", str(edited_programs / "budgets.toml")]) == code
    assert message in capsys.readouterr().err
