"""Commands are loaded when they are meant, and some need nothing but timesink itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import timesink
from bare import COMMAND, bare_environment
from timesink.cli import main
from timesink.cli.command_line import COMMANDS, parts_of


@pytest.fixture
def bare(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command line where only the standard library and timesink can be imported."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            capture_output=True, text=True, env=bare_environment(tmp_path / "bare"), check=False,
        )  # fmt: skip

    return run


def test_summary_is_the_first_line_of_the_module():
    summaries = {name: (parts_of(name)[0] or "").partition("\n")[0] for name in COMMANDS}
    assert summaries == {name: summary for name, (_, summary) in COMMANDS.items()}


def test_command_stands_in_the_file_of_its_name():
    files = {name: place.rpartition(".")[2] for name, (place, _) in COMMANDS.items()}
    elsewhere = [
        name
        for name, file in files.items()
        if name.replace("-", "_") not in {file, *file.split("_")}
    ]
    # One prints the parser, and stands beside it; the test bench is a package of its own.
    assert elsewhere == ["completion", "lab"]


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["--version"], f"timesink {timesink.__version__}"),
        (["--help"], "usage: timesink"),
        (["ncu", "--help"], "usage: timesink ncu"),
        (["cache", "--help"], "usage: timesink cache"),
        (["ncu", "--dry-run", "--every", "7", "--", "train"], "ncu -f -o timesink-ncu"),
    ],
)
def test_works_without_the_analysis_stack(bare, arguments: list[str], start: str):
    process = bare(*arguments)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith(start)


@pytest.mark.parametrize(
    "arguments",
    [["analyze", "x"], ["info", "x"], ["kernels", "x"], ["compare", "x", "y"], ["diagnose", "x"],
     ["demo"]],
    ids=lambda words: words[0],
)  # fmt: skip
def test_what_shows_pages_is_missed_before_anything_is_read(
    decline, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("timesink.output.html.STATIC", tmp_path)
    message, hint = decline(*arguments, "-o", tmp_path / "page.html")
    assert message == "report.js, which shows reports, is not built"
    assert hint == "run make web in the source tree"


@pytest.mark.parametrize(
    "arguments",
    [["analyze", "x"], ["serve", "."], ["completion", "bash"]],
    ids=lambda words: words[0],
)
def test_other_commands_say_what_they_lack(bare, arguments: list[str]):
    process = bare(*arguments)
    message, hint = process.stderr.splitlines()
    assert (process.returncode, process.stdout) == (1, "")
    assert message.startswith(f"timesink: timesink {arguments[0]} needs the analysis stack (")
    assert "pip install timesink" in hint


def test_help_loads_no_command():
    check = "import sys, timesink.cli; timesink.cli.main(['--version'])"
    loaded = "print([name for name in sys.modules if name.startswith('timesink.cli.')])"
    process = subprocess.run(
        [sys.executable, "-c", f"try:\n    {check}\nexcept SystemExit:\n    {loaded}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert process.stdout.splitlines()[-1] == "['timesink.cli.command_line']"


def test_the_test_bench_is_named_where_it_is_not_installed(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "timesink_lab.command", raising=False)
    monkeypatch.setitem(sys.modules, "timesink_lab", None)
    assert main(["lab", "list"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "timesink_lab" in line
    assert "pip install -e packages/timesink_lab" in line


_NOT_SHOWN = (
    *("rich", "numpy.random", "timesink.analyses.cycles.search", "timesink.analyses.ranks"),
    *("timesink.analyses.snapshot", "timesink.output.html", "timesink.sources.run_facts"),
)
"""What the answer about one recording with marked steps does not need, in letters."""


def test_a_recording_is_read_before_polars_and_what_is_not_shown_is_not_loaded():
    program = f"""
import contextlib, io, sys
from timesink.cli.command_line import main, parts_of
parts_of("analyze")
assert not {{"numpy", "polars"}} & set(sys.modules)
with contextlib.redirect_stdout(io.StringIO()):
    main(["analyze", "--no-cache", {str(timesink.sample())!r}])
assert not {set(_NOT_SHOWN)!r} & set(sys.modules), {set(_NOT_SHOWN)!r} & set(sys.modules)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
