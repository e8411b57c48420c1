"""`timesink compare --fail-on`: exit codes, and what goes where."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from compared_runs import process_table, write_case, write_table
from recorded_runs import write_recording
from timesink.cli import main
from timesink.errors import NotFoundError

Run = Callable[..., Any]
Decline = Callable[..., tuple[str, str]]


@pytest.fixture(scope="module")
def same(place: Path) -> tuple[Path, Path]:
    """Two runs of which the second is no slower."""
    tables = [write_table(place / f"{name}.csv", process_table(7)) for name in "ab"]
    return tables[0], tables[1]


@pytest.fixture(scope="module")
def case(place: Path) -> Path:
    """A run that became slower by three tenths."""
    return write_case(place / "case", [7], [7])


def sides(case: Path) -> tuple[Path, Path]:
    base, new = (
        case / f"{name}_perf_data" / "result_perf_data.csv" for name in ("normal", "abnormal")
    )
    return base, new


@pytest.fixture
def unheard(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run a command as with `2>&1 | head -1`, and flush as Python does at its end; its code."""

    def call(*words: object) -> int:
        read, write = os.pipe()
        os.close(read)
        with open(write, "w") as out, open(os.dup(write), "w") as err:  # noqa: PTH123 - no files
            monkeypatch.setattr(sys, "stdout", out)
            monkeypatch.setattr(sys, "stderr", err)
            return main([str(word) for word in words])

    return call


def results(path: Path) -> ET.Element:
    return ET.parse(path).getroot()[0]  # noqa: S314 - our own


class TestExitCodes:
    def test_a_slower_run_fails_with_3(self, run: Run, case: Path):
        outcome = run("compare", case, "--fail-on", "5%")
        assert outcome.code == 3
        assert outcome.out.startswith("Regression: steps take ")
        assert outcome.err.startswith("timesink: FAILED (limit 5 %): case: steps take ")
        assert len(outcome.err.splitlines()) <= 24

    def test_a_slow_down_within_the_limit_passes(self, run: Run, case: Path):
        outcome = run("compare", case, "--fail-on", "60%")
        assert outcome.code == 0
        assert "Within the limit of 60 %" in outcome.err

    def test_without_a_gate_a_slower_run_is_no_failure(self, run: Run, case: Path):
        for form in ("text", "md", "junit"):
            assert run("compare", case, "--format", form).code == 0

    def test_a_recording_that_ended_early_is_named(self, run: Run, tmp_path: Path):
        complete = write_recording(tmp_path / "whole")
        cut = write_recording(
            tmp_path / "cut", complete=False, why_partial="the program was killed"
        )
        outcome = run("compare", complete, cut, "--fail-on", "5%", "--format", "md")
        assert outcome.code == 0
        assert "the recording ended early: the program was killed." in outcome.err
        assert "the recording ended early: the program was killed" in outcome.out
        junit = run("compare", complete, cut, "--fail-on", "5%", "--format", "junit").out
        skipped = ET.fromstring(junit)[0].find("testcase[@name='recordings']/skipped")  # noqa: S314
        assert skipped is not None
        assert "the recording ended early: the program was killed" in skipped.attrib["message"]

    def test_a_slow_down_nobody_asked_about_is_said_and_passes(
        self, run: Run, tmp_path: Path, case: Path
    ):
        budget = tmp_path / "budgets.toml"
        budget.write_text('[cycle]\nmax = "1 s"\n')
        outcome = run("compare", case, "--budget", budget)
        assert outcome.code == 0
        assert "Without --fail-on this fails nothing. 1 budget kept." in " ".join(
            outcome.err.split()
        )

    def test_a_slow_down_that_a_budget_judges_is_not_said_to_fail_nothing(
        self, run: Run, tmp_path: Path, case: Path
    ):
        budget = tmp_path / "budgets.toml"
        budget.write_text('[cycle]\nmax_increase = "90%"\n')
        outcome = run("compare", case, "--budget", budget)
        assert outcome.code == 0
        assert "fails nothing" not in outcome.err

    def test_a_budget_that_matches_nothing_is_not_kept(
        self, run: Run, tmp_path: Path, same: tuple[Path, Path]
    ):
        budget = tmp_path / "budgets.toml"
        budget.write_text(
            '[cycle]\nmax = "1 s"\n[kernels]\n"no_such*" = { max = "1 s", optional = true }\n'
        )
        outcome = run("compare", *same, "--budget", budget, "-o", tmp_path / "x.xml")
        assert outcome.code == 0
        assert "1 budget kept; 1 matched nothing (optional)." in outcome.err
        assert results(tmp_path / "x.xml").attrib["skipped"] == "1"

    def test_readers_who_leave_early_do_not_make_it_pass(self, unheard: Run, case: Path):
        assert unheard("compare", case, "--fail-on", "5%") == 3

    @pytest.mark.parametrize("name", ["out", "x.md"])
    def test_files_are_written_whoever_reads_the_screen(
        self, unheard: Run, tmp_path: Path, name: str
    ):
        """With notes to say as well."""
        case = write_case(tmp_path / "case", [7], [7])
        (case / "normal_perf_data" / "other_perf_data.csv").write_text("nothing\n")
        assert unheard("compare", case, "--fail-on", "5%", "-o", tmp_path / name) == 3
        assert (tmp_path / name).exists()
        if name == "out":
            assert (tmp_path / name / "comparison.json").exists()

    def test_what_cannot_be_read_is_no_pass_whoever_reads_the_screen(
        self, unheard: Run, tmp_path: Path
    ):
        file, gone = tmp_path / "x.md", (tmp_path / "a", tmp_path / "b")
        assert unheard("compare", *gone, "--fail-on", "5%", "-o", file) == 1
        assert "not decided" in file.read_text()

    def test_a_baseline_is_as_good_as_its_recording(
        self, run: Run, case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.chdir(tmp_path)
        base, slow = sides(case)
        assert run("baseline", "save", "main", base).code == 0
        assert run("compare", "@main", base, "--fail-on", "regression").code == 0
        outcome = run("compare", "@main", slow, "--fail-on", "regression")
        assert outcome.code == 3
        assert "\n  timesink compare @main " in outcome.err


class TestOutputs:
    def test_the_reason_is_said_when_the_report_goes_to_a_file(
        self, run: Run, case: Path, tmp_path: Path
    ):
        for name in ("x.txt", "x.csv", "x.json", "x.md", "x.xml", "x.html"):
            outcome = run("compare", case, "--fail-on", "regression", "-o", tmp_path / name)
            assert (outcome.code, outcome.out) == (3, "")
            assert f"Wrote {tmp_path / name}\ntimesink: FAILED" in outcome.err
        assert (tmp_path / "x.md").read_text().startswith("## timesink: failed")
        assert "Failed (no slowdown allowed)." in (tmp_path / "x.html").read_text()
        assert results(tmp_path / "x.xml").attrib["failures"] == "1"

    def test_json_holds_the_gate_where_one_was_asked_for(self, run: Run, case: Path):
        gate = run("compare", case, "--fail-on", "5%", "--format", "json").json["gate"]
        assert gate["outcome"] == "failed"
        assert gate["checks"][0]["name"] == "cycle time"
        assert "gate" not in run("compare", case, "--format", "json").json

    def test_a_folder_gets_a_comment_and_test_results_too(
        self, run: Run, case: Path, tmp_path: Path
    ):
        assert run("compare", case, "--fail-on", "5%", "-o", tmp_path / "out").code == 3
        names = {path.name for path in (tmp_path / "out").iterdir()}
        assert {"comment.md", "junit.xml", "comparison.json"} < names

    def test_the_command_of_the_reason_says_it_again(self, run: Run, case: Path):
        lines = run("compare", case, "--pid", "7", "--fail-on", "5%", "--format", "md").err
        command = lines.partition("Reproduce\n")[2].replace("\\\n", "").split()
        again = run(*command[1:])
        assert again.code == 3
        assert again.err == lines

    def test_the_password_of_a_store_is_in_no_output(self, run: Run, case: Path, tmp_path: Path):
        store = ("--store", "sftp://me:secret@host/runs")
        outcome = run("compare", case, *store, "--fail-on", "5%", "-o", tmp_path / "out")
        assert "--store sftp://me@host/runs" in outcome.err
        written = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
        assert "sftp://me@host/runs" in written
        assert "secret" not in outcome.err + written


class TestRunsThatCannotBeRead:
    def test_ci_systems_see_an_error(self, run: Run, case: Path, tmp_path: Path):
        gone, file = tmp_path / "gone", tmp_path / "x.xml"
        outcome = run("compare", case, gone, "--fail-on", "5%", "-o", file)
        assert outcome.code == 1
        assert "no such file" in outcome.err
        assert results(file).attrib["errors"] == "1"

    def test_old_results_do_not_stay(self, run: Run, case: Path, tmp_path: Path):
        folder = tmp_path / "out"
        options = ("--fail-on", "60%", "-o", folder, "--force")
        assert run("compare", case, *options).code == 0
        assert run("compare", "@never-saved", case, *options, "--store", tmp_path).code == 1
        assert results(folder / "junit.xml").attrib["errors"] == "1"
        assert "not decided" in (folder / "comment.md").read_text()
        document = json.loads((folder / "comparison.json").read_text())
        assert document["gate"]["outcome"] == "unjudged"
        assert document["error"]["message"].startswith("@never-saved: no such baseline")

    def test_a_page_says_why(self, run: Run, case: Path, tmp_path: Path):
        file, options = tmp_path / "x.html", ("--fail-on", "5%", "--store", tmp_path)
        assert run("compare", "@never-saved", case, *options, "-o", file).code == 1
        page = file.read_text()
        assert "Not decided (limit 5 %): @never-saved: no such baseline" in page

    @pytest.mark.parametrize("name", ["x.json", "x.md", "x.xml", "x.csv", "x.txt", "x.html"])
    def test_nor_does_an_old_file(self, run: Run, case: Path, tmp_path: Path, name: str):
        file = tmp_path / name
        options = ("--fail-on", "60%", "-o", file, "--force")
        assert run("compare", case, *options).code == 0
        earlier = file.read_text()
        assert run("compare", case, tmp_path / "gone", *options).code == 1
        assert not file.exists() or file.read_text() != earlier

    def test_old_results_are_replaced_whatever_became_of_the_new_ones(
        self, run: Run, decline: Decline, case: Path, tmp_path: Path
    ):
        options = ("--fail-on", "60%", "-o", tmp_path / "out")
        assert run("compare", case, *options).code == 0
        comment = tmp_path / "out" / "comment.md"
        earlier = comment.read_text()
        assert run("compare", tmp_path / "gone", *options).code == 1
        assert comment.read_text() != earlier
        comment.write_text("mine")
        message, hint = decline("compare", case, *options)
        assert message.startswith(f"{comment}: already exists")
        assert "--force" in hint

    def test_what_cannot_be_judged_at_all_is_shown_as_well(
        self, run: Run, case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """An error of judging, not of reading."""

        def fails(*_: object) -> None:
            raise NotFoundError("no pair to judge")

        monkeypatch.setattr("timesink.answers.comparison.budgets.evaluate", fails)
        (tmp_path / "b.toml").write_text('[cycle]\nmax = "1 s"\n')
        folder = tmp_path / "out"
        assert run("compare", case, "--budget", tmp_path / "b.toml", "-o", folder).code == 1
        assert results(folder / "junit.xml").attrib["errors"] == "1"
        assert "no pair to judge" in (folder / "comment.md").read_text()


class TestGateCommand:
    """`timesink gate` is `compare --fail-on` with less to write."""

    @pytest.fixture(autouse=True)
    def elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def test_any_regression_fails_where_no_limit_is_given(self, run: Run, case: Path):
        outcome = run("gate", *sides(case))
        assert outcome.code == 3
        assert outcome.out == ""
        assert outcome.err.startswith("timesink: FAILED (no slowdown allowed): ")

    def test_budgets_of_the_working_directory_are_taken(self, run: Run, case: Path, tmp_path: Path):
        (tmp_path / "budgets.toml").write_text('[cycle]\nmax_increase = "90%"\n')
        outcome = run("gate", *sides(case))
        assert outcome.code == 0
        assert outcome.err.startswith("timesink: passed (budgets in budgets.toml): ")
        assert run("gate", *sides(case), "--fail-on", "5%").code == 3

    def test_what_is_not_decided_has_a_code_of_ones_own(
        self, run: Run, tmp_path: Path, same: tuple[Path, Path]
    ):
        budget = tmp_path / "limits.toml"
        budget.write_text('program = "same"\n')
        command = ("gate", *same, "--budget", budget)
        assert run(*command).code == 1
        outcome = run(*command, "--undecided", "125")
        assert outcome.code == 125
        assert "program not decided: no timeline was recorded" in " ".join(outcome.err.split())
        assert run("gate", *same, "--undecided", "125").code == 0
        gone = run("gate", same[0], tmp_path / "gone", "--undecided", "125")
        assert gone.code == 1
        assert run("compare", *same, "--budget", budget, "--undecided", "7").code == 7

    def test_wrong_usage_stays_wrong_usage(self, run: Run, same: tuple[Path, Path]):
        for words in ("--undecided=256", "--undecided=skip", "--undecided=125 --fail-on=5"):
            assert run("gate", *same, *words.split()).code == 2

    @pytest.mark.parametrize(
        ("name", "begins"),
        [("comment.md", "## timesink: failed"), ("junit.xml", "<?xml"), ("gate.json", "{")],
    )
    def test_it_writes_what_a_pipeline_shows(
        self, run: Run, case: Path, tmp_path: Path, name: str, begins: str
    ):
        file = tmp_path / name
        assert run("gate", *sides(case), "-o", file).code == 3
        assert file.read_text().startswith(begins)


class TestUsage:
    @pytest.mark.parametrize("limit", ["5", "slow", "-3%"])
    def test_what_is_no_limit_is_refused(self, decline: Decline, case: Path, limit: str):
        message, hint = decline("compare", case, f"--fail-on={limit}", code=2)
        assert limit in message
        assert "--fail-on regression" in hint

    def test_what_is_told_apart_has_nothing_to_fail(self, decline: Decline, tmp_path: Path):
        paths = [write_table(tmp_path / f"{n}.csv", process_table(n, seed=n)) for n in range(3)]
        for options in (("--explore", "--fail-on", "5%"), ("--explore", "--format", "junit")):
            decline("compare", *paths, *options, code=2)
        for path in paths:
            path.write_text("nothing to read")
        for arguments in (paths, paths[:1]):
            message, _ = decline("compare", *arguments, "--fail-on", "5%", code=2)
            assert "grouped" in message
        assert f"{paths[0]}: this is one run" in message

    def test_a_budget_that_is_none_is_refused_before_anything_is_read(
        self, decline: Decline, tmp_path: Path
    ):
        (tmp_path / "b.toml").write_text("hello")
        gone = tmp_path / "gone"
        message, _ = decline("compare", gone, gone, "--budget", tmp_path / "b.toml", code=2)
        assert "b.toml" in message
        message, _ = decline("compare", gone, gone, "--budget", tmp_path / "none.toml", code=2)
        assert "none.toml: no such file" in message

    @pytest.mark.parametrize("content", [None, "hello", "[cycle]\n"])
    def test_a_budget_that_is_none_is_shown_as_well(
        self, run: Run, case: Path, tmp_path: Path, content: str | None
    ):
        budget, folder = tmp_path / "b.toml", tmp_path / "out"
        if content is not None:
            budget.write_text(content)
        assert run("compare", case, "--budget", budget, "-o", folder).code == 2
        assert results(folder / "junit.xml").attrib["errors"] == "1"
        assert "b.toml" in (folder / "comment.md").read_text()

    def test_the_help_names_the_exit_code(self, run: Run):
        assert "3 beyond a" in run("--help").out
        assert "exit code 3" in run("compare", "--help").out
