"""`timesink compare` from the outside."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compared_runs import SLOW_CLOCK, process_table, write_case, write_table, write_timeline
from timesink.analyses.cycles.spans import METHODS
from timesink.cli import options as cli_options
from timesink.cli.command_line import parts_of
from timesink.comparison.pairing import CYCLE_TYPES

Run = Callable[..., Any]
Decline = Callable[..., tuple[str, str]]


@pytest.fixture(scope="module")
def case(place: Path) -> Path:
    return write_case(place / "case", [7], [7])


@pytest.fixture(scope="module")
def wide_case(place: Path) -> Path:
    return write_case(place / "wide" / "case", [7, 8], [7, 8])


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("command", ["functions", "compare", "steps"])
def test_every_command_says_alike_what_a_cycle_is(command: str) -> None:
    parser = argparse.ArgumentParser()
    _, add_arguments, _ = parts_of(command)
    add_arguments(parser)
    by = next(action for action in parser._actions if action.dest == "by")
    assert by.choices == METHODS
    assert any(action.dest == "marker" for action in parser._actions)


def test_csv_is_the_published_table(run: Run, case: Path) -> None:
    outcome = run("compare", case, "--format", "csv")
    title, *rows = table(outcome.out)
    assert title[:4] == ["Function Name", "Metric Name", "Device", "Suspicion Score"]
    assert "β_normal(%)" in title
    assert len(title) == 17
    assert outcome.err == ""
    scores = [float(row[3]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(len(row[3].partition(".")[2]) == 6 for row in rows)


def test_one_table_as_text(run: Run, case: Path) -> None:
    out = run("compare", case, "--table", "times", "--top", "2").out
    assert "changed most (score" not in out


def test_markers_and_methods_reach_the_comparison(run: Run, tmp_path: Path) -> None:
    path = write_timeline(tmp_path / "a.json", steps=True)
    for options, method in (("--marker=decode_step", "marker"), ("--by=step", "step")):
        answer = run("compare", path, path, options, "--format", "json").json
        assert answer["pairs"][0]["base"]["method"] == method


# -- tables that do not fit ------------------------------------------------------------------------


def test_csv_holds_one_pair(decline: Decline, wide_case: Path) -> None:
    message, hint = decline("compare", wide_case, "--format", "csv")
    assert "2 (pid 7; pid 8)" in message
    assert "--pid" in hint
    assert "-o DIR" in hint


def test_what_chooses_one_pair_is_named_and_does(
    run: Run, decline: Decline, tmp_path: Path
) -> None:
    case = tmp_path / "case"
    for suffix in ("_prefill", "_decode"):
        write_case(case, [7], [7], f"job{suffix}_perf_data.csv")
    _, hint = decline("compare", case, "--format", "csv")
    assert "--cycles decode" in hint
    assert "--pid" not in hint
    assert run("compare", case, "--format", "csv", "--cycles", "decode").code == 0
    for suffix in ("_prefill", "_decode"):
        write_case(case, [7, 8], [7, 8], f"job{suffix}_perf_data.csv")
    _, hint = decline("compare", case, "--format", "csv")
    assert "--cycles decode --pid 7" in hint


def test_sorts_of_cycles_are_those_of_the_comparison() -> None:
    assert cli_options.CYCLE_TYPES == CYCLE_TYPES


def test_a_table_of_families_without_rows_says_so(run: Run, case: Path) -> None:
    for form in ("text", "csv"):
        outcome = run("compare", case, "--table", "families", "--format", form)
        output = outcome.out if form == "text" else outcome.err
        assert "All function names match: none is in one run only." in output


def test_csv_needs_a_pair(decline: Decline, tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.parquet", process_table(1), process_table(2))
    message, _ = decline("compare", path, "--format", "csv")
    assert "alike" in message
    message, _ = decline("compare", path, "--format", "csv", "-o", tmp_path / "out")
    assert "alike" in message


def test_what_was_left_out_is_said_beside_a_csv(run: Run, tmp_path: Path) -> None:
    outcome = run("compare", write_case(tmp_path / "case", [7, 8], [7]), "--format", "csv")
    assert "without a partner" in outcome.err


def test_unequal_work_is_said_beside_a_table(run: Run, place: Path) -> None:
    base = write_table(place / "a.csv", process_table(7))
    layer = process_table(7, cycles=24, anchor="DecoderLayer.forward", calls=1)
    new = write_table(place / "b.csv", layer)
    for form in ("csv", "md", "report", "html"):
        outcome = run("compare", base, new, "--format", form)
        assert outcome.err.startswith("a vs b: base and new do not do the same work per step")


# -- outputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("x.csv", "Function Name,"),
        ("x.md", "## timesink: regression"),
        ("x.json", "{"),
        ("x.txt", "Regression: steps take 32.8 % longer"),
        ("x.html", "<!doctype html>"),
    ],
)
def test_the_name_of_a_file_is_its_format(
    run: Run, case: Path, tmp_path: Path, name: str, start: str
) -> None:
    outcome = run("compare", case, "-o", tmp_path / name)
    assert (outcome.code, outcome.out) == (0, "")
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_a_page_of_a_folder_holds_every_pair(run: Run, wide_case: Path, tmp_path: Path) -> None:
    assert run("compare", wide_case, "-o", tmp_path / "out", "--format", "html").code == 0
    (page,) = (tmp_path / "out").iterdir()
    assert page.name == "comparison.html"
    assert "pid 8" in page.read_text(encoding="utf-8")


def test_a_page_has_every_table(decline: Decline, case: Path) -> None:
    message, hint = decline("compare", case, "--top", "3", "--format", "html", code=2)
    assert message == "html always has all tables"
    assert "--top" in hint


def test_a_folder_gets_every_pair(run: Run, wide_case: Path, tmp_path: Path) -> None:
    outcome = run("compare", wide_case, "-o", tmp_path / "out")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == f"Wrote 5 files to {tmp_path / 'out'}\n"
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [
        "case_pid7_strict_comparison.csv",
        "case_pid7_strict_comparison.md",
        "case_pid8_strict_comparison.csv",
        "case_pid8_strict_comparison.md",
        "comparison.json",
    ]


def test_a_folder_gets_one_format_where_it_is_named(run: Run, case: Path, tmp_path: Path) -> None:
    def names(form: str) -> list[str]:
        folder = tmp_path / f"some.{form}"
        folder.mkdir()
        assert run("compare", case, "--format", form, "-o", folder).code == 0
        return [path.name for path in folder.iterdir()]

    assert names("report") == ["case_pid7_strict_comparison.md"]
    assert names("md") == ["comment.md"]
    assert names("junit") == ["junit.xml"]


@pytest.fixture(scope="module")
def roles(place: Path) -> Path:
    """Four processes that behave in two ways."""
    for number, fault in enumerate([None, None, SLOW_CLOCK, SLOW_CLOCK]):
        file = place / "roles" / f"r{number}.parquet"
        write_table(file, process_table(number, fault, seed=number))
    return place / "roles"


def test_a_folder_of_explored_roles(run: Run, roles: Path, tmp_path: Path) -> None:
    assert run("compare", roles, "-o", tmp_path / "out").code == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names[0] == "comparison.json"
    assert names[1].startswith("exploratory_compare_r")
    assert names[1].endswith(".csv")
    assert names[2] == "exploratory_comparison_report.md"


def test_csv_holds_two_groups_of_explored_roles(decline: Decline, tmp_path: Path) -> None:
    paths = [
        write_table(tmp_path / f"{number}.csv", process_table(7, fault, seed=number))
        for number, fault in enumerate([None, None, SLOW_CLOCK, {"gpu_sm_frequency": 0.5}])
    ]
    message, hint = decline("compare", *paths, "--format", "csv")
    assert "of 3 groups of processes" in message
    assert "--pid" not in hint


def test_results_of_others_are_overwritten_by_force_only(
    run: Run, decline: Decline, case: Path, tmp_path: Path
) -> None:
    for target in (tmp_path / "out", tmp_path / "out.csv"):
        assert run("compare", case, "-o", target).code == 0
        assert run("compare", case, "-o", target).code == 0
        for file in target.iterdir() if target.is_dir() else (target,):
            file.write_text("mine")
        message, hint = decline("compare", case, "-o", target)
        assert "already exists" in message
        assert "--force" in hint
        assert run("compare", case, "-o", target, "--force").code == 0


def test_what_is_read_is_never_overwritten(decline: Decline, tmp_path: Path) -> None:
    path = write_table(tmp_path / "in" / "a_perf_data.csv", process_table(7))
    before = path.read_bytes()
    for source in (path, tmp_path / "in"):
        message, _ = decline("compare", source, source, "-o", path, "--force")
        assert "this is the input" in message
    assert path.read_bytes() == before


def test_outputs_that_cannot_work_are_refused_first(
    decline: Decline, case: Path, tmp_path: Path
) -> None:
    decline("compare", case, "-o", tmp_path / "x.pdf", code=2)
    decline("compare", case, "-o", tmp_path / "out", "--format", "text", code=2)
    decline("compare", case, "--format", "md", "--top", "3", code=2)
    decline("compare", case, "--format", "json", "--table", "times", code=2)
    (tmp_path / "file").write_text("mine")
    message, _ = decline("compare", case, "-o", tmp_path / "file")
    assert "it is a file" in message
    message, _ = decline("compare", case, "-o", tmp_path / "file" / "where")
    assert f"{tmp_path / 'file'} is a file" in message


def test_inputs_that_cannot_work_are_refused(decline: Decline, case: Path, tmp_path: Path) -> None:
    assert "no such file" in decline("compare", case, tmp_path / "gone")[0]
    assert "nothing to compare it with" in decline("compare", case / "normal_perf_data", code=2)[0]
    notes = tmp_path / "notes.txt"
    notes.write_text("hello\n")
    assert "not a trace" in decline("compare", notes, notes)[0]
