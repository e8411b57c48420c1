"""`timesink baseline add` and `timesink history`."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from timesink.answers.comparison.history import HISTORY_SIGNALS
from timesink.cli.baseline_history import SIGNALS


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "store"
    monkeypatch.setenv("TIMESINK_BASELINES", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def series(store: Path, run) -> Path:
    old, new = timesink.sample_runs()
    for day, path in enumerate([old] * 5 + [new] * 5, 1):
        commit = ["--commit", f"made-up-{day}", "--time", f"2026-01-{day:02}"]
        assert run("baseline", "add", "main", path, *commit).code == 0
    return store


@pytest.mark.usefixtures("series")
def test_from_adding_to_a_page(run, tmp_path):
    output = run("history", "@main").out
    assert output.startswith("Step time rose by 25.5 %")
    assert "made-up-6" in output
    assert "git bisect start made-up-6 made-up-5" in output
    assert "| made-up-6 |" in run("history", "@main", "--format", "md").out
    assert run("history", "main", "--format", "json").json["changes"][0]["signal"] == "cycle_ns"
    rows = run("history", "@main", "--format", "csv", "--signal", "cycle_ns").out.splitlines()
    assert rows[0] == "commit,time,subject,machine,by,runs,cycle_ns"
    assert len(rows) == 11
    page = tmp_path / "history.html"
    assert run("history", "@main", "-o", page).code == 0
    assert "made-up-6" in page.read_text()
    assert run("baseline", "list").out == "Histories: @main\n"
    assert run("baseline", "list", "--format", "json").json["histories"] == ["main"]


@pytest.mark.parametrize("words", [("history", "@main"), ("watch", "status", ".")])
@pytest.mark.usefixtures("store")
def test_a_file_that_is_none_of_ours_stays(decline, tmp_path, words):
    dear = tmp_path / "dear.txt"
    dear.write_text("dear")
    message, hint = decline(*words, "-o", dear)
    assert message.endswith("already exists, and timesink did not write it")
    assert "--force" in hint
    assert dear.read_text() == "dear"


@pytest.mark.usefixtures("store")
def test_what_is_refused(run, decline):
    path = timesink.sample_runs()[0]
    message, hint = decline("baseline", "add", "main", path, code=2)
    assert message.endswith("not in a git work tree with a commit")
    assert "--commit" in hint
    assert decline("history", "@main")[0].startswith("@main: no history in ")
    added = ("baseline", "add", "main", path, "--commit", "0123abcd")
    assert decline(*added, "--time", "yesterday", code=2)[0] == "'yesterday' is not a time"
    assert run(*added).out.startswith("Added 1 run of 0123abcd to @main in ")
    assert run(*added).out.startswith("@main already has 1 run of 0123abcd")
    assert run("history", "@main", "--signal", "speed").code == 2


def test_signals_are_those_of_the_answer():
    assert tuple(HISTORY_SIGNALS) == SIGNALS
