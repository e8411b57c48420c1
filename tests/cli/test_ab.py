"""`timesink ab`: what it takes, what it says, and how it exits."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from functools import cache
from pathlib import Path
from shutil import rmtree

import pytest
from msgspec.structs import replace

from ab_runs import Bench, planned_runs
from timesink.cli.ab import _Progress, _report_result
from timesink.comparison.gate.verdict import Limit
from timesink.comparison.repeated_runs import Decision, RepeatedChange
from timesink.errors import CollectError
from timesink.sources.ab_folder import (
    AbLook,
    AbRun,
    AbRuns,
    AbSide,
    clear_ab,
    read_ab,
    write_ab,
)

REFUSED = {
    "nothing differs": ["--", "python", "train.py"],
    "no program to run": ["--base-ref", "main"],
    "--base without --new": ["--base", "python train.py"],
    "--new-python without --base-python": ["--new-python", "python3", "--", "train.py"],
    "--base and --new are complete commands": ["--base", "a", "--new", "b", "--", "c"],
    "--base 'a \"b': No closing quotation": ["--base", 'a "b', "--new", "c"],
    "--new-ref without --base-ref": ["--new-ref", "HEAD", "--base", "a", "--new", "b"],
    "--setup is for work trees": ["--setup", "make", "--base", "a", "--new", "b"],
    "--resume continues with the options of runs": ["--resume", "runs", "--detect", "2%"],
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_meant_is_refused(decline, reason: str):
    message, hint = decline("ab", *REFUSED[reason], code=2)
    assert reason in message
    assert hint


@pytest.mark.parametrize(
    ("option", "value"),
    [("--budget", "10"), ("--budget", "0s"), ("--detect", "0"), ("--seconds", "-1"),
     ("--undecided", "256"), ("--seed", "x"), ("--plain", "0")],
)  # fmt: skip
def test_values_are_checked(run, option: str, value: str):
    outcome = run("ab", f"{option}={value}", "--base", "a", "--new", "b")
    assert outcome.code == 2
    assert value in outcome.err


def test_a_folder_without_runs_is_not_gone_on_with(decline, tmp_path: Path):
    message, hint = decline("ab", "--resume", tmp_path)
    assert message.endswith("no ab.json in this folder")
    assert "timesink ab -o DIR" in hint


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b'{"schema": "timesink/ab/1", "ti', "ab.json: damaged"),
     (None, "no such folder"),
     (b"", "ab.json: damaged")],
)  # fmt: skip
def test_what_is_damaged_or_no_folder_is_not_gone_on_with(
    decline, tmp_path: Path, content: bytes | None, reason: str
):
    folder = tmp_path / "runs"
    if content is not None:
        folder.mkdir()
        (folder / "ab.json").write_bytes(content)
    else:
        folder.write_text("a file")
    message, hint = decline("ab", "--resume", folder)
    assert reason in message
    assert "timesink ab -o DIR" in hint


def test_a_plan_without_a_command_is_not_gone_on_with(decline, tmp_path: Path):
    write_ab(replace(planned_runs(), new=AbSide()), tmp_path)
    assert "no command to run" in decline("ab", "--resume", tmp_path)[0]


@pytest.mark.parametrize("words", [["compare"], ["gate"], ["baseline", "add", "main"]])
def test_damaged_runs_in_turn_are_named_as_such(decline, tmp_path: Path, words: list[str]):
    (tmp_path / "ab.json").write_text('{"schema": "timesink/ab/1", "timesink"')
    assert "ab.json: damaged" in decline(*words, tmp_path)[0]


def test_a_program_that_is_not_there_leaves_nothing(decline, tmp_path: Path):
    folder = tmp_path / "runs"
    message, _ = decline("ab", "--quiet", "-o", folder, "--base", "no-such-a", "--new", "b")
    assert "no-such-a: no such program" in message
    assert not folder.exists()


def decision_of(outcome: str, change: float, interval: tuple[float, float] | None) -> Decision:
    typical, fast, mean = (
        RepeatedChange(name, 5e6, 5e6 * (1 + change / 100), change, interval)
        for name in ("typical", "fast", "mean")
    )
    more = 4 if outcome == "undecided" else None
    return Decision(outcome, typical, fast, mean, (6, 6), 6, more, 1.0)


def finish_runs(folder: Path, ratio: float = 1.0, **plan: int) -> AbRuns:
    """Runs that were made to the end, without a timeline."""
    turns = Bench(folder, ratio).turns(planned_runs(has_timeline=False, **plan))
    turns.to_the_end()
    return turns.ab


@pytest.fixture(scope="module")
def once_ended(place: Path) -> Callable[..., tuple[AbRuns, Path]]:
    """Runs that several tests look at, and their folder; each is made once."""

    @cache
    def runs(ratio: float, most_runs: int) -> tuple[AbRuns, Path]:
        folder = place / f"{ratio}-{most_runs}"
        folder.mkdir()
        return finish_runs(folder, ratio, most_runs=most_runs), folder

    return runs


def gate_arguments(limit: str | None) -> Namespace:
    return Namespace(fail_on=Limit.of(limit) if limit else None, undecided=125)


@pytest.mark.parametrize(
    ("ratio", "most_runs", "limit", "code"),
    [
        (1.03, 9, None, 0),
        (1.03, 9, "regression", 3),
        (1.03, 9, "5%", 0),
        (0.97, 9, "regression", 0),
        (1.0, 9, "regression", 0),
        (1.0, 3, "regression", 125),
        (1.0, 7, "9%", 0),
    ],
)
def test_exit_codes_are_those_of_the_gate(
    once_ended, ratio: float, most_runs: int, limit: str | None, code: int
):
    assert _report_result(*once_ended(ratio, most_runs), gate_arguments(limit)) == code


def test_the_answer_is_that_of_compare(run, once_ended, capsys: pytest.CaptureFixture[str]):
    ab, folder = once_ended(1.03, 9)
    _report_result(ab, folder, gate_arguments(None))
    lines = capsys.readouterr().out.splitlines()
    compared = run("compare", folder).out.splitlines()
    assert lines[0].startswith("Regression: steps take 2.8 % longer, 5.00 → 5.14 ms (99 %")
    assert lines[0] == compared[0]
    assert "Step time over 5 runs a side" in lines
    assert any(line.startswith("typical step ") for line in lines)
    assert set(lines[:-1]) <= set(compared)
    assert lines[-1] == f"All runs are in {folder}.  Next: timesink compare {folder}"


def test_without_a_pair_nothing_is_decided(tmp_path: Path):
    with pytest.raises(CollectError, match="no pair of runs") as caught:
        _report_result(planned_runs(), tmp_path, gate_arguments("regression"))
    assert caught.value.exit_code == 125
    assert "--resume" in caught.value.hint


def test_progress_shows_the_interval_and_failures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    tell = _Progress(tmp_path, is_quiet=False)
    tell.begins("base/01", "warm-up")
    tell.begins("base/02", "")
    with_look = replace(planned_runs(), history=(AbLook(6, 0.4, (-0.9, 1.7)),))
    tell.looked(with_look, decision_of("undecided", 0.4, (-0.9, 1.7)))
    (tmp_path / "base" / "03").mkdir(parents=True)
    (tmp_path / "base" / "03" / "output.txt").write_text("".join(f"line {n}\n" for n in range(9)))
    tell.failed(AbRun("base", "base/03", 0, 1, 1, "exit code 1"))
    assert capsys.readouterr().err.splitlines() == [
        "timesink: base/01 (warm-up)",
        "timesink: 0 runs, 0 pairs: +0.4 % (-0.9 to +1.7 %), about 8 more runs",
        "timesink: base/03 failed: exit code 1",
        f"  ... of {tmp_path}/base/03/output.txt:",
        *(f"  line {n}" for n in range(4, 9)),
    ]


def test_a_new_plan_takes_the_place_of_an_old_one_and_of_nothing_else(tmp_path: Path):
    Bench(tmp_path).turns(planned_runs(most_runs=3)).to_the_end()
    (tmp_path / "mine.txt").touch()
    (tmp_path / "base" / "mine").mkdir()
    clear_ab(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["base", "mine", "mine.txt", "new"]
    write_ab(planned_runs(), tmp_path)
    assert read_ab(tmp_path) == planned_runs()


@pytest.mark.parametrize(
    "words",
    [
        ("info", "AB"),
        ("analyze", "AB"),
        ("baseline", "save", "m", "AB", "--store", "AB"),
        ("compare", "AB", "AB"),
        ("compare", "AB", "--against", "AB"),
    ],
)
def test_runs_in_turn_are_no_recording(decline, once_ended, words: tuple[str, ...]):
    _, folder = once_ended(1.0, 3)
    what, hint = decline(*(str(folder) if word == "AB" else word for word in words))
    assert f"{folder}: runs of two versions (4 of base and 4 of new)" in what
    assert f"timesink compare {folder} compares them" in hint


def test_runs_that_are_gone_are_left_out(run, tmp_path: Path):
    finish_runs(tmp_path, 1.03, most_runs=6)
    rmtree(tmp_path / "base" / "03")
    output = run("compare", tmp_path).out
    assert "4 runs of base and 5 of new" in output
    assert "missing or damaged runs are left out: base/03" in output


def test_sides_are_not_told_apart_as_well(decline, tmp_path: Path):
    what, _ = decline("compare", tmp_path, "--against", tmp_path, "--explore", code=2)
    assert "--explore tells paths apart, and --against compares two sides" in what
