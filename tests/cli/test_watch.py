"""`timesink watch learn` and `timesink watch judge`."""

from __future__ import annotations

import contextlib
import gzip
import io
import signal
import subprocess
import sys
import time
import warnings

import polars as pl
import pytest

from cycle_tables import cycle_rows
from timesink.cli import main
from timesink.watcher.expected.model import learn_live, learn_model
from timesink.watcher.expected.trees import has_boosting
from watch_folders import WatchedProgram


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    rows, shifted = cycle_rows(), cycle_rows(6, seed=4)
    late = pl.int_range(pl.len()).over("job_name") >= 30
    times = pl.when(late & (pl.col("job_name") == "run02")).then(1.3).otherwise(1.0)
    rows.write_csv(folder / "rows.csv")
    shifted = shifted.with_columns(pl.col("duration_us") * times)
    (folder / "new.csv.gz").write_bytes(gzip.compress(shifted.write_csv().encode()))
    shifted.write_parquet(folder / "new.parquet")
    in_ms = shifted.with_columns(duration_ms=pl.col("duration_us") / 1000).drop("duration_us")
    in_ms.write_csv(folder / "new_ms.csv")
    numbered = rows.with_row_index()
    huge = pl.when(pl.col("index") % 100 == 3).then(1e308).otherwise("duration_us")
    numbered.with_columns(duration_us=huge).drop("index").write_csv(folder / "odd.csv")
    return folder


def model_and_output(rows, *options: str):
    """A model of few trees, which come near enough here, and what was said when it was learned."""
    model, output = rows.with_suffix(".json"), io.StringIO()
    with (
        contextlib.redirect_stdout(output),
        warnings.catch_warnings(),
        pytest.MonkeyPatch.context() as patch,
    ):
        warnings.simplefilter("error")
        patch.setitem(learn_model.__kwdefaults__, "rounds", 30)
        assert main(["watch", "learn", str(rows), "-o", str(model), *options]) == 0
    return model, output.getvalue()


@pytest.fixture(scope="module")
def usual(tables):
    return model_and_output(tables / "rows.csv", "--false-alarms", "1%")


@pytest.fixture(scope="module")
def of_odd(tables):
    return model_and_output(tables / "odd.csv", "--false-alarms", "1/hour")


def test_from_learning_to_an_answer(run, tables, usual):
    model, output = usual
    assert output.startswith("Learned from 1 440 steps of 24 runs: ")
    answers = [
        run("watch", "judge", model, tables / name, "--format", "json").json
        for name in ("new.csv.gz", "new.parquet", "new_ms.csv")
    ]
    assert answers[0]["rows"] == answers[0]["judged"] == 360
    assert answers[0]["within_10pct"] > 85
    assert answers[0]["episodes"][0]["run"] == "run02"
    assert {answer["alarms"] for answer in answers} == {answers[0]["alarms"]}
    assert "took longer than expected" in run("watch", "judge", model, tables / "new.parquet").out
    assert "| run02 |" in run("watch", "judge", model, tables / "new_ms.csv", "--format", "md").out


def test_a_rate_per_hour(run, tables, of_odd):
    model, output = of_odd
    assert "limits are extrapolated" in output
    answer = run("watch", "judge", model, tables / "new.csv.gz", "--format", "json").json["model"]
    assert answer["false_alarms_per_hour"] == pytest.approx(1)
    learn = ("watch", "learn", tables / "rows.csv", "-o", tables / "no.json", "--false-alarms")
    assert run(*learn, "often").code == 2
    assert run(*learn, "-1/hour").code == 2


def test_what_is_refused(decline, tmp_path):
    out = ("-o", tmp_path / "model.json")
    rows = tmp_path / "rows.csv"
    cycle_rows(2).write_csv(rows)
    assert "already exists" not in decline("watch", "judge", rows, rows)[0]
    assert "not a model" in decline("watch", "judge", rows, rows)[0]
    assert "no such file" in decline("watch", "judge", tmp_path / "no.json", rows)[0]
    for text, what in (
        ("", "the table is empty"),
        ("duration_us\n", "no rows"),
        ("a,b\n1,2\n", "no column has the time of a step"),
    ):
        (tmp_path / "odd.csv").write_text(text)
        assert what in decline("watch", "learn", tmp_path / "odd.csv", *out)[0]
    (tmp_path / "odd.parquet").write_bytes(b"PAR1 and no more")
    assert "damaged" in decline("watch", "learn", tmp_path / "odd.parquet", *out)[0]
    (tmp_path / "one.csv").write_text("duration_us,batch_size\n5,1\n")
    assert "too few" in decline("watch", "learn", tmp_path / "one.csv", *out, code=2)[0]


def test_what_cannot_be_watched_is_refused(decline, run, tmp_path):
    program = ("--", "true")
    assert "no program to watch" in decline("watch", code=2)[0]
    assert "no such program" in decline("watch", "--", "no-such-program")[0]
    assert "no such process" in decline("watch", "--pid", 2**22 + 1, code=2)[0]
    assert "cannot go together" in decline("watch", "--pid", 1, *program, code=2)[0]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    assert "already exists" in decline("watch", "-o", tmp_path / "full", *program)[0]
    model = ("--model", tmp_path / "none.json")
    assert "none.json: no such file" in decline("watch", "-o", tmp_path / "w", *model, *program)[0]
    assert not (tmp_path / "w").exists()
    assert "no watch in this folder" in decline("watch", "status", tmp_path)[0]
    assert "no watch in this folder" in decline("watch", "accept", tmp_path)[0]
    assert run("watch", "--metrics", "70000", *program).code == 2
    assert run("watch", "--help").code == run("watch", "run", "--help").code == 0


def test_a_program_that_ends_at_once(run, tmp_path):
    folder = tmp_path / "w"
    outcome = run("watch", "-o", folder, "--counters", "none", "--", "sh", "-c", "exit 5")
    assert outcome.code == 5
    assert "no step was seen" in outcome.err
    assert run("watch", "status", folder).out.startswith("The program ended after 0 s")
    assert run("watch", "status", folder, "--format", "json").json["watch"]["exit"]["code"] == 5
    assert "the watcher is not running" in run("watch", "off", folder).err


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_files_of_a_watch_are_not_written_over(decline, tmp_path, force):
    folder = WatchedProgram(tmp_path / "w").write().folder
    before = (folder / "status.json").read_text()
    message, _ = decline("watch", "status", folder, "-o", folder / "status.json", *force)
    assert message.endswith("this is the input and is not overwritten")
    assert (folder / "status.json").read_text() == before


def test_values_that_cannot_be_meant_are_refused_at_the_start(decline, tmp_path):
    program = ("--", "true")
    what, hint = decline("watch", "--preset", "foo", *program, code=2)
    assert "vllm" in what + hint
    assert "package.module:function" in decline("watch", "--workload", "foo", *program, code=2)[0]
    assert "on_alarm: none-such" in decline("watch", "--on-alarm", "none-such", *program, code=2)[0]
    assert not (tmp_path / "timesink-watch").exists()


def test_models_of_a_watcher_judge_tables_and_others_are_refused(decline, run, tables, usual):
    live, (model, _) = tables / "live.json", usual
    live.write_bytes(learn_live(cycle_rows()).to_json())
    assert run("watch", "judge", live, tables / "new.parquet", "--format", "json").json["judged"]
    watch = ("watch", "-o", tables / "w", "--model", model, "--", "true")
    assert "it is of `timesink watch learn`" in decline(*watch)[0]


@pytest.mark.filterwarnings("error")
def test_durations_that_cannot_be_are_counted(run, tables, of_odd):
    model, output = of_odd
    assert "15 without a usable duration" in output
    assert ("pip install" in output) is not has_boosting()
    answer = run("watch", "judge", model, tables / "odd.csv", "--format", "json").json
    assert answer["left_out"]["unusable"] == 15
    assert answer["mape_pct"] < 100


@pytest.mark.whole
@pytest.mark.parametrize("command", ["watch", "record"])
def test_signals_of_a_scheduler_reach_the_program(tmp_path, command):
    program = "trap 'exit 9' USR1; echo ready; while :; do sleep 0.1; done"
    words = [sys.executable, "-m", "timesink", command, "-o", "w", "--counters", "none"]
    started = subprocess.Popen(
        [*words, "--", "sh", "-c", program], cwd=tmp_path, stdout=subprocess.PIPE
    )
    assert started.stdout.readline() == b"ready\n"
    # It may be faster than who has started it.
    time.sleep(0.3)
    started.send_signal(signal.SIGUSR1)
    assert started.wait(timeout=30) == 9
    started.stdout.close()


def test_what_is_no_folder_of_a_watch_is_a_sentence(decline, tmp_path):
    status = tmp_path / "status.json"
    status.write_text('{"state": 5}')
    assert "takes the folder of a watch" in decline("watch", "status", status)[0]
    assert "watch.json: missing" in decline("watch", "status", tmp_path)[0]
    (tmp_path / "watch.json").write_text("{")
    assert "watch.json: damaged" in decline("watch", "status", tmp_path)[0]
    (tmp_path / "watch.json").write_text('{"schema": "timesink/watch/1"}')
    assert "status.json: not what a watcher" in decline("watch", "status", tmp_path)[0]
