"""`timesink kernels`."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import timesink
from ncu_files import Call, collected_line, details_csv, kernel_table
from timesink.answers.kernels.pictures import PICTURES
from timesink.answers.kernels.tables import SORTS
from timesink.answers.views import KERNEL_GROUPS
from timesink.cli import kernels_peaks as command
from timesink.cli import main

GEMM = "void cutlass::Kernel<cutlass_80_tensorop_s16816gemm_64x128>(Params)"
GEMM_2 = "void cutlass::Kernel<cutlass_80_tensorop_s16816gemm_256x64>(Params)"
COPY = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)"
CALLS = [
    Call(GEMM, 40_000, tensor_pct=70.0, dram_pct=10.0, sm_pct=75.0),
    Call(COPY, 30_000, tensor_pct=0.0, dram_pct=80.0, sm_pct=12.0),
    Call(GEMM_2, 20_000, tensor_pct=40.0, dram_pct=40.0, sm_pct=45.0),
    Call("tiny(int)", 10_000, tensor_pct=0.0, dram_pct=2.0, sm_pct="n/a"),
]
TABLE = """\
Kernel                                                 Latency Tensor   DRAM
Kernel                                            |      40000   0.70   0.10
vectorized_elementwise_kernel                     |      30000   0.00   0.80
Kernel                                            |      20000   0.40   0.40
tiny                                              |      10000   0.00   0.02
"""


def write(path: Path, calls: list[Call], **options: object) -> Path:
    path.write_text(details_csv(calls, **options))
    return path


@pytest.fixture(scope="module")
def file(place: Path) -> Path:
    return write(place / "run.csv", CALLS)


@pytest.fixture(scope="module")
def other(place: Path) -> Path:
    return write(place / "other.csv", CALLS[:2])


@pytest.fixture
def kernels(run, ask, file: Path):
    """Report on a file of four calls; what only reads it is done once, whoever asks again."""

    def call(*arguments: object) -> Any:
        does = run if "-o" in arguments else ask
        return does("kernels", file, *arguments)

    return call


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def test_the_options_offer_what_there_is():
    assert command.BY == KERNEL_GROUPS
    assert tuple(SORTS) == command.SORTS
    assert command.PICTURES == PICTURES


class TestSummary:
    def test_text(self, kernels):
        outcome = kernels()
        assert (outcome.code, outcome.err) == (0, "")
        lines = outcome.out.splitlines()
        assert lines[0].startswith("Kernel has the most headroom (21.0 of 100 us) and is compute-")
        assert "4 calls of 3 kernels took 100 us" in " ".join(lines[:4])
        assert "run.csv" in lines[1:5]
        for title in (
            "GPU 0 (",
            "Share of time by",
            "Kernels (3)",
            "Headroom",
            "Families (",
            "Notes",
        ):
            assert f"\n{title}" in outcome.out

    def test_the_file_holds_the_same(self, kernels, monkeypatch, tmp_path: Path):
        monkeypatch.setenv("COLUMNS", "100")
        outcome = kernels("-o", tmp_path / "out.txt")
        assert outcome.err == f"Wrote {tmp_path / 'out.txt'}\n"
        assert (tmp_path / "out.txt").read_text() == kernels().out

    def test_json(self, kernels):
        answer = kernels("--format", "json").json
        assert answer["schema"] == "timesink/kernels/1"
        assert answer["calls"] == 4
        assert answer["groups"]["name"][0]["group"] == "Kernel"

    def test_markdown(self, kernels):
        assert kernels("--format", "md").out.startswith(
            "# run.csv\n\n**Kernel has the most headroom"
        )

    def test_rows_of_the_tables(self, kernels):
        output = kernels("--top", 1).out
        assert "Kernels (the first 1 of 3)" in output
        assert "... 2 more kernels: 40.0 % of the time" in output
        assert "Kernels (the first 2 of 3)" in kernels("--min-share", "20%").out

    def test_low_is_chosen(self, kernels):
        assert "(low: below 12.5 % of peak)" in kernels("--low", "1/8").out

    def test_a_sample_is_declared(self, kernels):
        assert "every 10th launch" in kernels("--every", 10).out

    def test_a_sample_says_so_itself(self, run, tmp_path: Path):
        header = collected_line(every=5, per="kernel", device="NVIDIA H200")
        path = write(tmp_path / "sample.csv", CALLS * 3, before=(header,))
        assert "every 5th launch of each kernel" in run("kernels", path).out

    def test_a_device_without_a_roofline(self, kernels, file: Path):
        outcome = kernels("--device", "H200")
        assert outcome.code == 0
        assert outcome.err.startswith(
            f"{file}: no roofline: the operations of the kernels were not"
        )

    def test_own_families(self, kernels, tmp_path: Path):
        rules = tmp_path / "families.txt"
        rules.write_text("mine tiny\n")
        groups = kernels("--families", rules, "--by", "family", "--format", "json").json
        assert {row["group"] for row in groups} >= {"mine", "gemm"}


class TestCalls:
    def test_fixed_width(self, kernels):
        outcome = kernels("--calls")
        assert (outcome.code, outcome.out, outcome.err) == (0, TABLE, "")
        assert kernels("--calls", "--format", "table").out == TABLE

    def test_a_table_comes_back_byte_for_byte(self, run, tmp_path: Path):
        table = tmp_path / "table.txt"
        table.write_text(TABLE)
        assert run("kernels", table, "--calls").out == TABLE
        run("kernels", table, "--calls", "-o", tmp_path / "again.txt")
        assert (tmp_path / "again.txt").read_bytes() == TABLE.encode()

    def test_an_order_that_does_not_fit(self, decline, file: Path):
        message, hint = decline("kernels", file, "--calls", "--sort", "calls", code=2)
        assert "--sort calls" in message
        assert hint == "choose from time, mean, headroom, tensor, dram, sm, name"

    def test_through_a_pipe(self, file: Path, capfdbinary: pytest.CaptureFixture[bytes]):
        assert main(["kernels", str(file), "--calls"]) == 0
        assert capfdbinary.readouterr().out == TABLE.encode()

    @pytest.mark.parametrize(
        "name", ["000_896f68ed3a7423fd", "001_a62fcc25c90d6fd4", "002_abc90e299168b04d"]
    )
    def test_tables_of_real_programs(self, run, shared_root: Path, name: str):
        path = shared_root / "seeds" / f"{name}.txt"
        assert run("kernels", path, "--calls").out.encode() == path.read_bytes()

    def test_all_columns_for_programs(self, kernels):
        first = rows(kernels("--calls", "--format", "csv").out)[0]
        assert (first["name"], first["short_name"], first["sm_pct"]) == (GEMM, "Kernel", "75.0")
        assert kernels("--calls", "--format", "json").json[3]["sm_pct"] is None
        assert "| index |" in kernels("--calls", "--format", "md").out

    def test_order_and_number(self, kernels):
        lines = kernels("--calls", "--sort", "dram", "--top", 2).out.splitlines()
        assert [line.split()[0] for line in lines[1:]] == [
            "vectorized_elementwise_kernel",
            "Kernel",
        ]

    def test_several_files_need_a_column_for_the_run(self, ask, decline, file: Path, other: Path):
        message, hint = decline("kernels", file, other, "--calls", code=2)
        assert "a table of calls is of one file" in message
        assert "--format csv" in hint
        table = rows(ask("kernels", file, other, "--calls", "--format", "csv").out)
        assert [row["run"] for row in table] == 4 * ["run.csv"] + 2 * ["other.csv"]


class TestGroups:
    @pytest.mark.parametrize("by", ["name", "full-name", "family"])
    def test_every_group(self, kernels, by: str):
        outcome = kernels("--by", by)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith("Kernel has the most headroom")
        assert "Trace health" not in outcome.out
        data = kernels("--by", by, "--format", "json").json
        assert len(rows(kernels("--by", by, "--format", "csv").out)) == len(data)

    def test_full_names_are_told_apart(self, kernels):
        lines = kernels("--by", "full-name", "--format", "table").out.splitlines()
        assert len(lines) == 5
        assert lines[1].startswith("Kernel<")
        assert len({line.split("  ")[0] for line in lines}) == 5

    def test_programs_get_no_row_for_the_rest(self, kernels):
        assert len(kernels("--by", "name", "--top", 1, "--format", "json").json) == 1

    def test_every_order(self, kernels):
        words = ("--by", "name", "--format", "csv", "--sort")
        outcomes = {sort: kernels(*words, sort) for sort in command.SORTS}
        assert {
            sort: (outcome.code, len(rows(outcome.out))) for sort, outcome in outcomes.items()
        } == (dict.fromkeys(command.SORTS, (0, 3)))

    def test_plain_table_without_prose(self, kernels):
        lines = kernels("--format", "table").out.splitlines()
        assert [line.split()[0] for line in lines] == [
            *("kernel", "Kernel", "vectorized_elementwise_kernel", "tiny"),
        ]

    @pytest.mark.parametrize("by", ["operator", "module"])
    def test_operators_need_a_timeline(self, decline, file: Path, by: str):
        message, hint = decline("kernels", file, "--by", by, code=2)
        assert f"does not say which {by} launched" in message
        assert "--trace" in hint


class TestTimeline:
    def test_times_without_counters(self, run):
        outcome = run("kernels", timesink.sample())
        assert (outcome.code, outcome.err) == (0, "")
        assert "timesink ncu" in outcome.out
        header = next(line for line in outcome.out.splitlines() if line.startswith("kernel  "))
        assert header.split() == ["kernel", "calls", "share", "total", "mean", "occupancy"]

    def test_operators(self, run):
        groups = run("kernels", timesink.sample(), "--by", "operator", "--format", "json").json
        assert any(row["group"] == "ConvolutionBackward0" for row in groups)

    def test_a_timeline_needs_no_other(self, decline):
        sample = timesink.sample()
        message, hint = decline("kernels", sample, "--trace", sample, code=2)
        assert "a timeline, which needs no other" in message
        assert "--trace" in hint


@pytest.fixture(scope="module")
def counters(place: Path) -> Path:
    """What a kernel profiler would say of the kernels of the sample."""
    calls = timesink.kernels(timesink.sample()).calls
    shape = [f"{shape}_{axis}" for shape in ("grid", "block") for axis in "xyz"]
    measured_calls = [
        Call(name, ns, 10.0, 20.0, 30.0, grid=tuple(sizes[:3]), block=tuple(sizes[3:]))
        for name, ns, *sizes in calls.select("name", "dur_ns", *shape).iter_rows()
    ]
    return write(place / "counters.csv", measured_calls)


class TestJoin:
    def test_one_table(self, run, counters: Path):
        outcome = run("kernels", counters, "--trace", timesink.sample(), "--by", "operator")
        assert "ConvolutionBackward0" in outcome.out

    def test_another_program_is_refused(self, decline, file: Path):
        message, hint = decline("kernels", file, "--trace", timesink.sample())
        assert message.startswith(f"{file} and {timesink.sample()}: only 0.0 % of")
        assert "same program, batch size and software" in hint
        assert "--min-aligned" not in hint

    @pytest.mark.parametrize("options", [("--by", "operator"), ("--calls",)])
    def test_there_is_no_table_of_another_program(self, decline, file: Path, options):
        trace = ("--trace", timesink.sample(), "--format", "json")
        assert "only 0.0 % of" in decline("kernels", file, *trace, *options)[0]

    def test_programs_get_the_document_all_the_same(self, kernels):
        outcome = kernels("--trace", timesink.sample(), "--format", "json")
        assert outcome.code == 1
        assert outcome.json["join"]["refused"] is True
        assert outcome.json["join"]["aligned_share"] == 0
        assert outcome.json["join"]["reason"]
        assert outcome.err.startswith("timesink: ")


class TestSeveral:
    def test_side_by_side(self, ask, file: Path, other: Path):
        outcome = ask("kernels", file, other)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith("Of 2 runs run.csv has the most headroom")
        assert "\nRuns (2)\nrun        calls" in outcome.out

    def test_json_holds_all_runs(self, ask, file: Path, other: Path):
        answer = ask("kernels", file, other, "--format", "json").json
        assert answer["schema"] == "timesink/kernels/1"
        assert [run_answer["calls"] for run_answer in answer["runs"]] == [4, 2]

    def test_csv_has_a_row_per_run(self, ask, file: Path, other: Path):
        table = rows(ask("kernels", file, other, "--format", "csv").out)
        assert [(row["run"], row["total_ns"]) for row in table] == [
            ("run.csv", "100000"),
            ("other.csv", "70000"),
        ]

    @pytest.mark.parametrize("form", ["text", "table", "md", "csv", "json"])
    def test_groups_name_the_run(self, run, file: Path, other: Path, form: str):
        outcome = run("kernels", file, other, "--by", "family", "--format", form)
        assert outcome.code == 0
        assert outcome.out.count("other.csv") >= 2

    def test_a_timeline_belongs_to_one(self, decline, file: Path, other: Path):
        message, _ = decline("kernels", file, other, "--trace", timesink.sample(), code=2)
        assert message == "--trace goes with one file"


class TestPictures:
    @pytest.mark.parametrize("picture", ["density", "strip", "classes"])
    def test_svg(self, kernels, picture: str):
        outcome = kernels("--format", "svg", "--picture", picture)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith("<svg")
        assert outcome.out.endswith("</svg>\n")

    def test_endings_choose(self, kernels, run, file: Path, other: Path, tmp_path: Path):
        kernels("-o", tmp_path / "one.png", "--picture", "strip")
        run("kernels", file, other, "-o", tmp_path / "both.svg")
        kernels("-o", tmp_path / "one.html")
        assert (tmp_path / "one.png").read_bytes()[:4] == b"\x89PNG"
        assert (tmp_path / "both.svg").read_text().startswith("<svg")
        assert (tmp_path / "one.html").read_text().startswith("<!doctype html>")

    def test_a_roofline_needs_operations(self, decline, file: Path):
        message, hint = decline("kernels", file, "--format", "svg", "--picture", "roofline")
        assert "roofline" in message.lower() or "operations" in message
        assert "roofline" in hint


class TestWrongUsage:
    def test_a_folder_is_no_output(self, decline, file: Path, tmp_path: Path):
        message, _ = decline("kernels", file, "-o", tmp_path)
        assert message == f"{tmp_path}: cannot be written (it is a folder)"

    def test_a_device_has_a_name(self, run, file: Path):
        outcome = run("kernels", file, "--device", "")
        assert outcome.code == 2
        assert "the name of the device is empty" in outcome.err

    @pytest.mark.parametrize(
        "options",
        [
            ("--low", "0"),
            ("--low", "1"),
            ("--low", "half"),
            ("--low", "1/0"),
            ("--low", "120%"),
            ("--min-share", "-1"),
            ("--min-share", "101"),
            ("--min-share", "few"),
            ("--min-aligned", "2"),
            ("--every", "0"),
            ("--every", "1.5"),
            ("--top", "0"),
            ("--sort", "size"),
            ("--by", "colour"),
            ("--by", "name", "--calls"),
            ("--format", "pdf"),
            ("--picture", "pie"),
        ],
    )
    def test_exits_with_2(self, kernels, options: tuple[str, ...]):
        outcome = kernels(*options)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith("usage: timesink kernels")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--by", "name", "--format", "html"), "a page or picture shows the whole report"),
            (("--calls", "--format", "svg"), "a page or picture shows the whole report"),
            (("--device", "H100"), "--device: 'H100' does not tell which of several devices it is"),
            (("--picture", "strip"), "--picture is for svg and png"),
            (("--format", "png"), "a PNG cannot be printed"),
            (("-o", "out.pdf"), "out.pdf: .pdf is not a format of this command"),
        ],
    )
    def test_what_does_not_go_together(self, decline, file: Path, options, message: str):
        assert decline("kernels", file, *options, code=2)[0] == message

    def test_inputs_are_not_overwritten(self, decline, file: Path, tmp_path: Path):
        rules = tmp_path / "families.txt"
        rules.write_text("mine tiny\n")
        for source in (file, rules):
            options = ("--families", rules, "--format", "text", "-o", source, "--force")
            assert "this is the input" in decline("kernels", file, *options)[0]

    def test_existing_output(self, decline, file: Path, other: Path):
        message, hint = decline("kernels", file, "--format", "text", "-o", other)
        assert message.startswith(f"{other}: already exists")
        assert "--force" in hint


def test_the_guide_names_every_key(kernels, ask, file: Path, other: Path):
    guide = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text()
    answer = kernels("--every", 2, "--format", "json").json
    joined = kernels("--trace", timesink.sample(), "--format", "json").json["join"]
    parts = [answer, answer["sampled"], answer["devices"][0], answer["groups"]["name"][0], joined]
    parts += rows(ask("kernels", file, other, "--format", "csv").out)[:1]
    spread = re.compile(r"(dram|sm)_(min|median|max)_pct|(low|neither|unknown)_\w*share_pct")
    unnamed = {key for part in parts for key in part if f"`{key}`" not in guide}
    assert {key for key in unnamed if not spread.fullmatch(key)} == set()


def test_a_missing_file(decline, tmp_path: Path):
    assert "no such file" in decline("kernels", tmp_path / "nowhere.csv")[0]


def test_json_is_one_document(kernels):
    assert json.loads(kernels("--format", "json").out)["source"].endswith("run.csv")


def test_kernel_table_of_the_tests_is_the_real_one():
    call_rows = [Call("Kernel", 40_000, 70.0, 10.0)]
    assert kernel_table(call_rows).splitlines() == TABLE.splitlines()[:2]
