"""The answer of `timesink kernels` for people."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl
import pytest

import timesink
from kernels_text import to_markdown, to_text
from measured_kernels import Launch, launch, trace_of_launches, use
from timesink.analyses.kernels.join import Join
from timesink.answers.kernels.document import one_table
from timesink.answers.kernels.report import KernelReport
from timesink.answers.kernels.tables import KernelChoice as Choice
from timesink.cli import kernels_peaks as command
from timesink.model.health import HealthEntry
from timesink.model.trace import Device, Trace
from timesink.output import terminal

GEMM = "ampere_fp16_s16816gemm_fp16_64x128_ldg8_relu_f2f_stages_64x5_tn"
ADD, MUL = (f"void at::native::elementwise_kernel<4, {op}<float>>(int)" for op in ("Add", "Mul"))


WORK = (
    use(GEMM, 600_000, tensor=70.0, dram=10.0, sm=80.0),
    use(ADD, 200_000, dram=75.0, sm=20.0),
    use(MUL, 150_000, dram=60.0, sm=10.0),
    use("tiny", 50_000, dram=5.0, sm=5.0),
)


@cache
def of_work() -> KernelReport:
    """What most of these look at."""
    return report(*WORK)


@cache
def text_of_work() -> str:
    return to_text(of_work(), None, Choice())


def report(*launches: Launch, health: tuple[HealthEntry, ...] = (), **options: Any) -> KernelReport:
    devices = options.pop("devices", (Device(0, "NVIDIA H200", compute_capability="9.0"),))
    trace = trace_of_launches(*launches, devices=devices, **options.pop("extra", {}))
    return timesink.kernels(Trace(trace.metadata, health, trace.frames), **options)


def text(
    *launches: Launch, by: str | None = None, choice: Choice | None = None, **options: Any
) -> str:
    return to_text(report(*launches, **options), by, choice or Choice())


def section(output: str, title: str) -> list[str]:
    """Lines under a heading, up to the next empty one."""
    lines = output.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(title))
    return lines[start + 1 : lines.index("", start)]


class TestText:
    def test_the_answer_comes_first(self):
        answer, *other_lines = text_of_work().splitlines()
        assert answer == of_work().headline[: len(answer)]
        assert "k.csv, NVIDIA H200" in other_lines[:4]

    def test_a_device_and_how_well_it_was_used(self):
        assert section(text_of_work(), "GPU 0 (NVIDIA H200, capability 9.0)") == [
            "  4 calls of 3 kernels, 1.00 ms, 50.0 us to 600 us each",
            "  tensor 42.0 %, DRAM 30.2 %, SM 53.8 % of peak, weighted by time",
        ]

    def test_classes_with_bars_and_what_they_mean(self):
        lines = section(text_of_work(), "Share of time by class (low: below 33.3 % of peak)")
        assert [line.split("  ")[1].strip() for line in lines] == [
            "both low",
            "low SM",
            "low DRAM",
            "neither low",
        ]
        assert lines[1].split() == [
            "low",
            "SM",
            "350.0",
            "us",
            "35.0",
            "%",
            13 * "█",
            "memory-bound",
        ]
        assert "█" not in lines[3]

    def test_low_is_what_was_asked_for(self):
        assert "(low: below 15.0 % of peak)" in text(*WORK, low=0.15)

    def test_kernels_by_time_with_their_use(self):
        lines = section(text_of_work(), "Kernels (3)")
        assert lines[0].split() == [
            *("kernel", "calls", "share", "total", "mean", "tensor", "DRAM", "SM", "class"),
        ]
        row = " ".join(lines[1].split()[1:])
        assert row == "1 60.0 % 600.0 us 600.0 us 70 % 10 % 80 % low DRAM"
        assert (
            lines[-1]
            == "  elementwise_kernel is the short name of 2 kernels; --by full-name lists each"
        )

    def test_what_would_vanish_and_where(self):
        lines = section(text_of_work(), "Headroom (")
        assert lines[0] == (
            "Headroom: 278 us of 1.00 ms, if each kernel's busiest unit ran at peak"
        )
        assert " ".join(lines[2].split()[2:]) == "120.0 us 43.2 % 600.0 us SM 80 %"

    def test_headroom_left_out_is_of_the_headroom(self):
        lines = section(to_text(of_work(), None, Choice(top=1)), "Headroom (")
        assert lines[-1] == "... 2 more kernels: 56.8 % of the headroom"

    def test_headroom_is_of_what_was_measured_everywhere(self):
        output = text(use("f", 300, sm=20.0), use("g", 100, tensor=None, dram=None, sm=None))
        sentence = "Headroom: 240 of 300 ns, if each kernel's busiest unit ran at peak"
        assert " ".join(output.split()).count(sentence) == 2

    def test_kernels_that_run_in_different_ways_are_mixed(self):
        output = text(use("f", 100, sm=5.0), use("f", 100, sm=97.0))
        assert section(output, "Kernels (1)")[1].split()[-3:] == ["51", "%", "mixed"]

    def test_headroom_stays_in_its_order(self):
        lines = section(to_text(of_work(), None, Choice(sort="name")), "Headroom (")
        assert [line.split()[0][:5] for line in lines[2:]] == ["amper", "eleme", "tiny"]

    def test_families(self):
        assert section(text_of_work(), "Families (3)")[1].startswith("gemm")

    def test_rows_that_are_left_out_are_summed(self):
        lines = section(to_text(of_work(), None, Choice(top=1)), "Kernels (the first 1 of 3)")
        assert lines[2] == "... 2 more kernels: 40.0 % of the time"

    def test_notes_and_health_say_things_once(self):
        clocks = "clocks vary"
        entry = HealthEntry("uncontrolled_clocks", 1, clocks)
        output = text(*WORK, extra={"profiler_notes": [clocks, "odd"]}, health=(entry,))
        notes = section(output, "Notes")
        assert notes[0].startswith("  durations are of kernels replayed")
        assert notes[-1] == "  the profiler says: odd"
        assert clocks not in output
        assert "the clocks of the device were not fixed" in output

    def test_nothing_odd(self):
        assert text_of_work().splitlines()[-1] == "  No problems found in the recording."


class TestWidth:
    @pytest.mark.parametrize("columns", [60, 80, 100, 200])
    def test_nothing_is_wider_than_the_terminal(self, columns: int):
        output = to_text(of_work(), None, Choice(), columns)
        assert max(map(len, output.splitlines())) <= columns

    def test_at_80_columns_the_main_ones_are_there(self):
        lines = to_text(of_work(), "name", Choice(), 80).splitlines()
        header = lines[lines.index("Kernels (3)") + 1]
        assert header.split() == [
            *("kernel", "calls", "share", "total", "tensor", "DRAM", "SM", "class"),
        ]

    def test_names_are_cut_in_their_middle(self):
        assert re.search(r"^ampere_fp16_\w+…\w+_64x5_tn  ", text_of_work(), re.MULTILINE)


class TestWhatIsMissing:
    def test_a_timeline_has_times_only(self):
        output = to_text(timesink.kernels(timesink.sample()), None, Choice())
        assert "no hardware counters" in output
        for absent in ("Headroom", "Share of time by class", "tensor", "DRAM"):
            assert f"\n{absent}" not in output
        assert section(output, "Kernels (the first 10 of")[0].split() == [
            *("kernel", "calls", "share", "total", "mean", "occupancy"),
        ]

    def test_time_without_a_metric(self):
        output = text(*WORK, use("late", 250_000, dram=None))
        assert "  not measured: DRAM for 20.0 % of the time" in output
        assert re.search(r"^  no counters +250\.0 us +20\.0 %", output, re.MULTILINE)

    def test_calls_without_a_duration(self):
        output = text(*WORK, use("late", None))
        assert "  5 calls (1 without a duration) of 4 kernels, 1.00 ms" in output

    def test_values_that_are_no_numbers_are_missing(self):
        output = text(use("a", 900, tensor=math.inf, dram=5.0, sm=math.nan))
        assert "inf" not in output
        assert "nan" not in output

    def test_without_any_kernel(self):
        assert "No kernels were recorded." in text()

    def test_without_sm_the_tensor_pipe_stands_in(self):
        output = text(use("a", 900, dram=50.0, sm=None))
        assert re.search(r"^  low tensor +900 ns +100\.0 %", output, re.MULTILINE)
        assert "low SM" not in output


class TestSeveralDevices:
    MANY = (*WORK, use("other", 300_000, dram=50.0, sm=50.0, device=1))

    def test_each_has_its_own_tables(self):
        output = text(*self.MANY)
        assert "GPU 0: Kernels" in output
        assert "GPU 1: Kernels" in output
        assert section(output, "GPU 1")[0] == "  1 call of 1 kernel, 300 us"

    def test_one_table_names_the_device(self):
        lines = text(*self.MANY, by="name").splitlines()
        assert lines[-5].split()[:2] == ["device", "kernel"]

    def test_machines_are_named_where_there_are_two(self):
        output = text(*self.MANY[:1], use("other", 300_000, host="b"))
        assert "b GPU 0: Kernels" in output


class TestSample:
    def test_seen_and_estimated(self):
        output = text(*WORK * 5, every=4)
        assert "20 calls of 3 kernels, a sample of about 80 launches, 20.0 ms (" in output
        assert section(output, "Kernels (3)")[0].split()[1:3] == ["seen", "launches"]
        assert re.search(r"  both low \(\d.* to .* %\) .* 5\.0 % .*latency-bound", output)


FLOP, BYTES = "sm__sass_thread_inst_executed_op_fadd_pred_on.sum", "dram__bytes.sum"
COUNTED = (
    launch(1_000_000, {FLOP: 30e9, BYTES: 1e6}, name="busy", tensor_pct=0.0),
    launch(1_000_000, {FLOP: 1e6, BYTES: 2.4e9}, name="copy", tensor_pct=0.0),
)


class TestNarrow:
    def narrow(self, *launches: Launch) -> str:
        return to_text(report(*launches), None, Choice(), 60)

    def test_headroom_keeps_its_column(self):
        assert "  headroom  of headroom" in self.narrow(*WORK)

    def test_names_that_begin_alike_keep_their_ends(self):
        names = [f"nvjet_sm90_tst_128x128_64x6_2x1_v_bz_coopA_{end}" for end in ("TNT", "NNT")]
        output = self.narrow(*(use(name, 900, sm=40.0) for name in names))
        for ending in ("_TNT", "_NNT"):
            assert re.search(rf"^nvjet_\w+…\w+{ending} ", output, re.MULTILINE)


class TestFewRows:
    def test_no_group_is_large_enough(self):
        output = text(*WORK, by="name", choice=Choice(min_share_pct=100))
        assert output.rstrip().endswith("no kernel has 100 % of the time or more")
        output = text(*WORK, by="name", choice=Choice(min_share_pct=62.5))
        assert output.rstrip().endswith("no kernel has 62.5 % of the time or more")


class TestRoofline:
    def test_without_a_count_of_operations_there_is_none(self):
        assert "Roofline" not in text_of_work()

    def test_without_peaks_it_says_why(self):
        lines = section(text(*COUNTED, devices=()), "Roofline")
        assert lines[1].startswith("  no roofline: ")
        assert "--device" in " ".join(lines)


def join_of(aligned: int, **facts: Any) -> Join:
    return Join(
        **{
            "rows": pl.Series([0]),
            "how": pl.Series(["exact"]),
            "calls": 4,
            "aligned": aligned,
            "aligned_share": aligned / 4,
            "exact_share": aligned / 4,
            "aligned_time_share": 1.0,
            "timeline_calls": 8,
            "timeline_covered_share": 0.5,
            "steps": ("3",),
            "min_aligned": 0.8,
            "reason": "",
            **facts,
        }
    )


class TestJoin:
    def with_join(self, join: Join) -> KernelReport:
        kernel_report = of_work()
        origins = {"operator": ["aten::mm", "aten::add", "aten::mul", None]}
        calls = kernel_report.calls.with_columns(
            pl.Series(name, of) for name, of in origins.items()
        )
        return replace(kernel_report, calls=calls, join=join, timeline="logs/trace.json.gz")

    def test_how_much_was_found_and_what_launched_it(self):
        output = to_text(self.with_join(join_of(4)), None, Choice())
        line, *_, last = section(output, "Operators (4)")
        assert line == (
            "100 % of 4 kernels aligned with trace.json.gz, step 3; utilisation by operator"
        )
        assert last.startswith("(operator not known)  ")

    def test_what_was_found_by_name_alone(self):
        output = to_text(self.with_join(join_of(4, exact_share=0.75, steps=())), None, Choice())
        assert "aligned with trace.json.gz; utilisation" in output
        assert "25.0 % by name only: grid or block differ" in " ".join(output.split())

    def test_a_refusal_names_both_files(self):
        refused = self.with_join(join_of(1, reason="only 25.0 % found"))
        refusal = command._refusal(refused)
        assert refusal.message == "k.csv and logs/trace.json.gz: only 25.0 % found"
        assert "or lower --min-aligned" in refusal.hint
        assert command._refusal(self.with_join(join_of(4))) is None

    def test_a_timeline_that_names_no_operators(self):
        bare = replace(of_work(), join=join_of(4), timeline="logs/trace.json.gz")
        (line,) = section(to_text(bare, None, Choice()), "Joined with a timeline")
        assert line.endswith("aligned with trace.json.gz, step 3, which names no operators")


class TestModules:
    def test_paths_are_cut_at_their_beginning(self):
        kernel_report = of_work()
        paths = [f"Model_0.Layers_0.Layer_{number}.Attention_{number}" for number in range(4)]
        joined = replace(
            kernel_report, calls=kernel_report.calls.with_columns(module=pl.Series(paths))
        )
        assert "\n….Layer_0.Attention_0  " in to_text(joined, "module", Choice(), 80)

    def test_the_summary_has_their_classes(self):
        kernel_report = of_work()
        modules = pl.Series("module", [f"Model_0.Layer_{n}.Attention_{n}" for n in range(4)])
        classes = pl.Series("module_class", ["Model.Layer.Attention"] * 4)
        calls = kernel_report.calls.with_columns(modules, classes)
        lines = section(to_text(replace(kernel_report, calls=calls), None, Choice()), "Modules")
        assert lines[2].startswith("Model.Layer.Attention  ")
        assert lines[3] == "  --by module lists each of 4 modules"


class TestOneTable:
    def test_the_answer_and_the_table(self):
        lines = text(*WORK, by="full-name").splitlines()
        assert "4 calls of 3 kernels took 1.00 ms" in " ".join(lines[:5])
        assert "Kernels (4)" in lines
        assert [line.split()[0] for line in lines[-4:]][1:3] == [
            "elementwise_kernel<Add>",
            "elementwise_kernel<Mul>",
        ]

    def test_plain_is_only_the_table_and_cuts_nothing(self):
        lines = terminal.to_text(one_table([of_work()], "name", Choice(top=1)), 9000).splitlines()
        assert len(lines) == 2
        assert lines[1].startswith(GEMM)


class TestMarkdown:
    def test_sections_and_tables(self):
        markdown = to_markdown(of_work(), None, Choice(top=2))
        assert markdown.startswith(f"# k.csv, NVIDIA H200\n\n**{GEMM} has the most headroom (120")
        assert "4 calls of 3 kernels took 1.00 ms. Headroom: 278 us of 1.00 ms" in markdown
        assert "| low SM | 350.0 us | 35.0 % |" in markdown
        assert "\n\n... 1 more kernel: 5.0 % of the time\n\n" in markdown
        assert "## Headroom (the first 2 of 3)\n\nHeadroom: 278 us of 1.00 ms, " in markdown
        assert markdown.endswith("No problems found in the recording.")

    def test_one_table(self):
        markdown = to_markdown(of_work(), "family", Choice())
        assert "## Families (3)\n\n| family | calls |" in markdown
        assert "Health of" not in markdown
