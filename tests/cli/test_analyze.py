"""`timesink analyze`."""

from __future__ import annotations

import csv
import json
import re
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import kineto, training_trace, write
from cases import STEP, K, O, R
from timesink.answers.views import VIEWS, find_view

pytestmark = pytest.mark.usefixtures("reads_here")


@pytest.fixture
def analyze(run, ask):
    """Analyse the bundled sample; what only reads it is done once, whoever asks again."""

    def call(*arguments: object) -> Any:
        does = run if "-o" in arguments else ask
        return does("analyze", timesink.sample(), *arguments)

    return call


@pytest.fixture(scope="module")
def job(place: Path) -> Path:
    """Two ranks with two spans each, every one with steps of a number of its own."""
    folder = place / "job"
    folder.mkdir()
    for rank in (0, 1):
        for span in (1, 2):
            document = training_trace(2 * rank + span)
            document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
            write(folder / f"rank{rank}.{1000 + span}.pt.trace.json", document)
    return folder


class TestWhole:
    def test_rows_of_the_tables(self, analyze):
        assert "Operators (the first 3 of 85)" in analyze("--top", "3").out

    def test_an_exported_folder(self, run, tmp_path: Path):
        run("export", timesink.sample(), "-o", tmp_path / "tables")
        rows = run("analyze", tmp_path / "tables", "--view", "kernels", "--format", "json").json
        assert sum(row["calls"] for row in rows) == 918


class TestView:
    def test_programs_get_all_rows_of_every_view_whatever_the_format(self, analyze):
        def rows(view: str, form: str) -> int:
            outcome = analyze("--view", view, "--format", form)
            assert outcome.code == 0, view
            return len(outcome.json if form == "json" else [*csv.DictReader(StringIO(outcome.out))])

        # Tables of ranks take long, and hold a row or none of a run without others.
        views = ["ranks", *(name for name in VIEWS if not find_view(name).per_span)]
        assert {view_name: rows(view_name, "csv") for view_name in views} == {
            view_name: rows(view_name, "json") for view_name in views
        }

    def test_names_and_times_are_short(self, analyze, monkeypatch):
        _, header, first = analyze("--view", "gaps", "--top", "1").out.splitlines()
        assert header.split()[:3] == ["device", "start", "gap"]
        assert first.split()[:5] == ["0", "25.280", "ms", "880.8", "us"]
        for columns, name in (
            ("60", "cudnn::bn_bw…11_kernel_new"),
            ("80", "cudnn::bn_bw_1C11_kernel_new"),
        ):
            monkeypatch.setenv("COLUMNS", columns)
            header, first = analyze("--view", "kernels", "--top", "1").out.splitlines()
            assert first.split()[:4] == [name, "16", "18.5", "%"]
            assert max(len(header), len(first)) <= int(columns)

    def test_shares_are_of_all_rows(self, analyze):
        (row,) = analyze("--view", "kernels", "--top", "1").out.splitlines()[1:]
        assert "18.5 %" in row

    @pytest.mark.parametrize("form", ["text", "md"])
    def test_a_view_without_data_says_why(self, analyze, form: str):
        outcome = analyze("--view", "modules", "--format", form)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out == "No modules were recorded: profile with with_stack=True.\n"

    def test_programs_get_an_empty_table_and_the_reason_beside_it(self, analyze):
        outcome = analyze("--view", "modules", "--format", "json")
        assert outcome.json == []
        assert outcome.err == "no modules were recorded; profile with with_stack=True\n"
        assert analyze("--view", "modules", "--format", "csv").out.startswith("id,parent_id,name")

    def test_no_column_is_for_timesink_alone(self, analyze):
        row = analyze("--view", "operators", "--top", "1", "--format", "json").json[0]
        assert "first_place" not in row

    def test_numbers_of_programs_have_no_noise(self, analyze):
        for view in ("steps", "operators", "kernels", "launches"):
            output = analyze("--view", view, "--format", "csv").out
            assert not re.search(r"\d\.\d{7}", re.sub(r",0\.\d+", "", output))

    @pytest.mark.parametrize("view", ["kernels", "steps", "workers"])
    def test_what_cannot_be_grouped(self, decline, view: str):
        message, hint = decline(
            "analyze", timesink.sample(), "--view", view, "--group-by", "shape", code=2
        )
        assert f"'{view}' cannot be grouped" in message
        assert "operators" in hint

    def test_markdown(self, analyze):
        lines = analyze("--view", "steps", "--format", "md").out.splitlines()
        caption, _, title, rule, *rows = lines
        assert caption.startswith("Times are as recorded, with profiler overhead")
        assert title.startswith("| step | step time | kernels |")
        assert rule.startswith("| --- | ---: | ---: |")
        assert len(rows) == 2

    def test_a_view_is_whole_unless_rows_are_chosen(self, analyze):
        full_table = analyze("--view", "operators", "--format", "json").json
        assert len(full_table) == 85
        assert (
            analyze("--view", "operators", "--top", "4", "--format", "json").json == full_table[:4]
        )

    def test_times_are_microseconds(self, analyze):
        (first, _) = analyze("--view", "steps", "--format", "json").json
        assert first["total_us"] == pytest.approx(27368.803)
        assert not any(key.endswith("_ns") for key in first)

    def test_text(self, analyze):
        assert analyze("--view", "launch-sites").out == (
            "launched from  events    share  device time\n"
            "operator          978  100.0 %     41.88 ms\n"
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("group", "columns"),
        [
            ("name", set()),
            ("shape", {"input_dims"}),
            ("stack", {"call_stack"}),
            ("shape-stack", {"input_dims", "call_stack"}),
        ],
    )
    def test_what_operator_rows_stand_for(self, analyze, group: str, columns: set[str]):
        rows = analyze("--view", "operators", "--group-by", group, "--format", "json").json
        assert rows[0].keys() & {"input_dims", "call_stack"} == columns
        keys = [tuple(row[key] for key in ("name", *sorted(columns))) for row in rows]
        assert len(keys) == len(set(keys))
        assert sum(row["calls"] for row in rows) == 2976


@pytest.fixture(scope="module")
def trace(place: Path) -> Path:
    """Three steps, of which a run may be told by some."""
    events = []
    for number in (7, 8, 9):
        start = 100 * number
        events += [STEP(number, start, 100), O("mm", start, 50), R(start, 5, c=number)]
        events.append(K("gemm", start + 10, number, c=number))
    return write(place / "three.json", kineto(events))


class TestSteps:
    @pytest.mark.parametrize(
        ("choice", "names"), [("8", ["8"]), ("7-8", ["7", "8"]), ("7,9", ["7", "9"])]
    )
    def test_only_these(self, run, trace: Path, choice: str, names: list[str]):
        def rows(view: str) -> list[dict[str, object]]:
            words = ("--steps", choice, "--view", view, "--format", "json")
            return run("analyze", trace, *words).json

        assert [row["name"] for row in rows("steps")] == names
        assert [row["calls"] for row in rows("operators")] == [len(names)]

    def test_steps_that_are_not_there(self, decline, trace: Path):
        message, hint = decline("analyze", trace, "--steps", "1-6")
        assert message.endswith("none of the steps 1-6")
        assert hint == "the trace holds 7, 8, 9"

    @pytest.mark.parametrize("choice", ["last", "9-7", "", "7,", "-7"])
    def test_what_is_no_choice(self, decline, trace: Path, choice: str):
        message, hint = decline("analyze", trace, f"--steps={choice}", code=2)
        assert f"{choice!r} is not a choice of steps" in message
        assert "5-8" in hint

    @pytest.mark.parametrize(
        ("choice", "note"),
        [
            ("8", "steps 8 only"),
            ("8,99", "steps 8,99 only; no step 99"),
            ("8-12", "steps 8-12 only; no steps 10-12"),
        ],
    )
    def test_a_choice_is_noted_and_what_is_missing_named(self, trace: Path, choice: str, note: str):
        assert timesink.analyze(trace, steps=choice).notes == (note,)


class TestFolder:
    @pytest.mark.parametrize(
        ("options", "steps"),
        [
            ((), 1),
            (("--worker", "rank1"), 3),
            (("--rank", "1"), 3),
            (("--span", "2"), 2),
            (("--worker", "rank1", "--span", "2"), 4),
        ],
    )
    def test_choices(self, run, job: Path, options: tuple[str, ...], steps: int):
        answer = run("analyze", job, *options, "--view", "steps", "--format", "json").json
        assert len(answer) == steps

    def test_a_choice_that_is_not_there(self, decline, job: Path):
        message, hint = decline("analyze", job, "--worker", "rank9")
        assert "no trace fits" in message
        assert "rank0" in hint

    def test_several_runs(self, run, job: Path, tmp_path: Path):
        shutil.copytree(job, tmp_path / "first")
        (tmp_path / "second").mkdir()
        write(tmp_path / "second" / "worker0.pt.trace.json", training_trace(1))
        answer = run("analyze", tmp_path, "--format", "json").json
        assert answer["headline"].startswith("3 recordings of 2 runs, each analysed separately.")
        assert [(run_["name"], run_["recordings"]) for run_ in answer["runs"]] == [
            ("first", 2),
            ("second", 1),
        ]
        assert answer["runs"][0]["answer"]["source"]["workers"] == ["rank0", "rank1"]


class TestClock:
    def test_a_table_is_as_recorded_unless_asked_for(self, analyze):
        def total(*clock: str) -> float:
            rows = analyze("--view", "steps", "--format", "json", *clock).json
            return rows[0]["total_us"]

        assert total() == total("--clock", "recorded") > total("--clock", "own")

    def test_what_decides_a_step(self, analyze):
        lines = analyze("--view", "critical-path", "--top", "3").out.splitlines()
        assert lines[0] == "Times are without profiler overhead."
        assert lines[1].split() == ["kind", "name", "calls", "share", "per", "step"]
        assert lines[2].startswith("kernel")

    def test_there_are_two(self, analyze):
        assert analyze("--clock", "mine").code == 2


class TestOutput:
    @pytest.mark.parametrize(
        ("name", "start"),
        [
            ("a.json", "{"),
            ("a.md", "# unet"),
            ("a.txt", "GPU-bound: "),
            ("a.html", "<!doctype"),
            ("a", "GPU-bound: "),
        ],
    )
    def test_the_name_chooses_the_format(self, analyze, tmp_path: Path, name: str, start: str):
        outcome = analyze("-o", tmp_path / name)
        assert (outcome.code, outcome.out) == (0, "")
        assert f"Wrote {tmp_path / name}" in outcome.err
        assert (tmp_path / name).read_text().startswith(start)

    @pytest.mark.parametrize("name", ["a.csv", "a.json", "a.md", "a.txt"])
    def test_one_table(self, analyze, tmp_path: Path, name: str):
        analyze("--view", "steps", "-o", tmp_path / name)
        assert "kernel" in (tmp_path / name).read_text()

    def test_the_file_holds_the_same_as_the_screen(self, analyze, tmp_path: Path):
        analyze("-o", tmp_path / "a.json")
        assert json.loads((tmp_path / "a.json").read_text()) == analyze("--format", "json").json

    def test_an_existing_file_is_kept_without_force(self, analyze, decline, tmp_path: Path):
        file = tmp_path / "a.json"
        file.write_text("mine")
        message, hint = decline("analyze", timesink.sample(), "-o", file)
        assert "already exists" in message
        assert "--force" in hint
        assert file.read_text() == "mine"
        assert analyze("-o", file, "--force").code == 0
        assert file.read_text().startswith("{")

    @pytest.mark.parametrize(
        ("options", "message", "hint"),
        [
            (("--format", "csv"), "csv holds one table", "--view"),
            (("-o", "a.csv"), "csv holds one table", "--view"),
            (("-o", "a.parquet"), ".parquet is not a format", ".txt, .json"),
            (("--view", "steps", "--format", "html"), "a single table has no page", "--view"),
        ],
    )
    def test_what_does_not_fit_together(
        self, decline, options: tuple[str, ...], message: str, hint: str
    ):
        error, advice = decline("analyze", timesink.sample(), *options, code=2)
        assert message in error
        assert hint in advice
        assert not Path(options[-1]).exists()


class TestErrors:
    def test_a_file_that_is_not_there(self, decline, tmp_path: Path):
        message, hint = decline("analyze", tmp_path / "nothing.json")
        assert "no such file" in message
        assert "check the path" in hint

    def test_a_file_that_is_no_trace(self, decline, tmp_path: Path):
        (tmp_path / "a.json").write_text("nothing")
        message, hint = decline("analyze", tmp_path / "a.json")
        assert "not a trace timesink can read" in message
        assert "Kineto" in hint

    def test_a_folder_without_traces(self, decline, tmp_path: Path):
        message, _ = decline("analyze", tmp_path)
        assert str(tmp_path) in message

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            (("--view", "kernel"), "--view"),
            (("--top", "0"), "--top"),
            (("--top", "many"), "--top"),
            (("-o", ""), "--output"),
            (("--group-by", "colour"), "--group-by"),
            (("--format", "pdf"), "--format"),
        ],
    )
    def test_wrong_usage(self, analyze, options: tuple[str, ...], named: str):
        outcome = analyze(*options)
        assert (outcome.code, outcome.out) == (2, "")
        assert named in outcome.err


def test_names_of_files_and_operators_are_shown_as_they_are(run, tmp_path: Path):
    file = write(tmp_path / "[red] été.json", kineto([O("[bold]mm[/]", 0, 10)]))
    outcome = run("analyze", file)
    assert "[red] été.json" in outcome.out.splitlines()
    assert "[bold]mm[/]" in outcome.out


class TestChosenRows:
    def test_operators_by_their_time_on_the_host(self, analyze):
        rows = csv.DictReader(StringIO(analyze("--sort", "host_self", "--format", "csv").out))
        times = [float(row["host_self_us"]) for row in rows]
        assert times == sorted(times, reverse=True)

    def test_rows_that_hold_a_text_keep_their_share_of_all(self, analyze):
        output = analyze("--view", "kernels", "--filter", "NCHW", "--sort", "total_us").out
        assert re.search(r"max_pool_forward_nchw +8 +0\.9 %", output)

    def test_rows_without_device_work_keep_what_shares_are_of(self, run, tmp_path: Path):
        work = [O("aten::mm", 0, 10, x=1), R(1, 2, c=1, x=1), K("gemm", 20, 30, c=1, x=1)]
        file = write(tmp_path / "a.json", kineto([*work, O("aten::empty", 12, 8)]))
        output = run("analyze", file, "--view", "operators", "--filter", "empty").out
        # Of the time on the host it would have all.
        assert re.search(r"aten::empty +1 +8\.00 us", output)
        assert "share" not in output

    def test_what_is_no_column_and_what_no_row_holds(self, decline):
        sample = timesink.sample()
        assert "host_self_us" in decline("analyze", sample, "--sort", "nonsense", code=2)[1]
        assert "--filter" in decline("analyze", sample, "--filter", "nonsense", code=2)[1]
