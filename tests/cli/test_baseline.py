"""`timesink baseline`: saving, listing, showing, removing, and budgets to begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from compared_runs import write_timeline
from recorded_runs import write_recording


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "store"
    monkeypatch.setenv("TIMESINK_BASELINES", str(folder))
    return folder


@pytest.mark.usefixtures("store")
def test_from_saving_to_removing(run):
    saved = run("baseline", "save", "main", timesink.sample())
    assert saved.code == 0
    assert saved.out.startswith("Saved @main in ")
    assert "2 steps of 27." in saved.out
    assert "timesink compare @main RUN" in saved.out
    assert run("baseline", "list").out.startswith("@main  ")
    outcome = run("baseline", "show", "@main")
    assert "unet_train.pt.trace.json.gz: 2 steps" in outcome.out
    assert run("baseline", "remove", "main").out == "Removed @main\n"
    assert run("baseline", "list").out.startswith("No baseline in ")


@pytest.mark.usefixtures("store")
def test_a_list_says_how_many_runs_an_entry_holds(run, tmp_path):
    runs = [write_recording(tmp_path / name) for name in ("first", "second", "third")]
    assert run("baseline", "save", "main", *map(str, runs)).code == 0
    assert "3 runs, one stored in full: " in run("baseline", "list").out
    assert run("baseline", "list", "--format", "json").json["baselines"][0]["timed_runs"] == 3


def test_what_programs_read(run, store):
    run("baseline", "save", "main", timesink.sample())
    (store / "torn.baseline").write_bytes(b"")
    listed = run("baseline", "list", "--format", "json").json
    assert [baseline["name"] for baseline in listed["baselines"]] == ["main"]
    assert list(listed["unreadable"]) == ["torn"]
    answer = run("baseline", "show", "main", "--format", "json").json
    assert answer["schema"] == "timesink/baseline/1"
    assert answer["recordings"][0]["cycles"] == 2


@pytest.mark.usefixtures("store")
def test_what_is_refused(run, decline):
    assert decline("baseline", "show", "main")[0].startswith("@main: no such baseline in ")
    assert decline("baseline", "remove", "main")[0].startswith("@main: no such baseline in ")
    message, _ = decline("baseline", "save", "../main", timesink.sample(), code=2)
    assert message == "'../main' cannot be the name of a baseline"
    run("baseline", "save", "main", timesink.sample())
    assert "--force" in decline("baseline", "save", "main", timesink.sample())[1]
    assert run("baseline", "save", "main", timesink.sample(), "--force").code == 0
    assert run("baseline").code == 2


@pytest.mark.usefixtures("store")
def test_a_recording_that_ended_early_is_kept_with_a_word(run, tmp_path):
    cut = write_recording(tmp_path / "cut", complete=False, why_partial="the program was killed")
    saved = run("baseline", "save", "main", cut).out
    assert "\nnote: the recording ended early: the program was killed\n" in saved


def test_another_store_for_one_command(run, store, tmp_path):
    other = tmp_path / "other"
    saved = run("baseline", "save", "main", timesink.sample(), "--store", other)
    assert saved.out.endswith(f"timesink compare @main RUN --store {other}\n")
    assert not store.exists()
    assert "@main" in run("baseline", "list", "--store", f"file://{other}").out


@pytest.mark.usefixtures("store")
def test_budgets_to_begin_with_pass_and_fail(run, tmp_path):
    base = write_timeline(tmp_path / "base" / "trace.json", cycles=8)
    slow = write_timeline(tmp_path / "slow" / "trace.json", cycles=8, slow=1.5)
    run("baseline", "save", "main", base)
    file = tmp_path / "budgets.toml"
    assert run("baseline", "budgets", "@main", "--headroom", "20%", "-o", file).code == 0
    assert file.read_text() == run("baseline", "budgets", base, "--headroom", "20%").out
    assert run("compare", "@main", base, "--budget", file).code == 0
    failed = run("compare", "@main", slow, "--budget", file)
    assert failed.code == 3
    assert "aten::gemm" in failed.err


@pytest.mark.parametrize("headroom", ["10", "0.1", "ten%"])
def test_a_headroom_that_may_be_a_share_is_refused(run, headroom):
    outcome = run("baseline", "budgets", timesink.sample(), "--headroom", headroom)
    assert outcome.code == 2
    assert repr(headroom) in outcome.err


def test_a_baseline_is_not_overwritten_by_a_report(run, decline, store):
    run("baseline", "save", "main", timesink.sample())
    file = store / "main.baseline"
    content = file.read_bytes()
    for words in (("compare", "@main", timesink.sample(), "--format", "json"),
                  ("baseline", "budgets", "@main")):  # fmt: skip
        message, _ = decline(*words, "-o", file, "--force")
        assert message == f"{file}: cannot be written (this ending is kept for baselines)"
    assert file.read_bytes() == content


@pytest.mark.usefixtures("store")
def test_the_command_is_that_of_the_recorder(run, tmp_path):
    run("baseline", "save", "main", write_recording(tmp_path / "run", command=["python", "a b.py"]))
    assert "\ncommand: python 'a b.py'\n" in run("baseline", "show", "main").out
    assert run("baseline", "show", "main", "--format", "json").json["command"] == [
        "python", "a b.py"]  # fmt: skip


@pytest.mark.usefixtures("store")
def test_the_traceback_may_be_asked_for_on_either_side_of_the_action():
    from timesink.cli import main
    from timesink.errors import NotFoundError

    for words in (["baseline", "--debug", "show", "x"], ["baseline", "show", "x", "--debug"]):
        with pytest.raises(NotFoundError):
            main(words)
