"""The report of a comparison as Markdown."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from compared import (
    HEALTHY,
    comparison,
    frame,
    markdown_tables,
    pair_of,
    two_runs,
)
from timesink.answers.comparison import published_tables as published
from timesink.answers.comparison.published_report import comparison_md, pair_md
from timesink.answers.comparison.report import compare
from timesink.comparison.results import FAMILIES, ROWS, TIMES, CycleTimes, KeyFinding, Workload

HEADINGS = [
    "## 1. High-Level Performance Summary",
    "## 2. Cycle Duration Distribution Comparison",
    "## 3. In-depth Core Metric Comparison",
    "### Overview",
    "### Key Findings:",
    "### Detailed comparison table",
    "## 4. Functions Without Metrics",
    "## 5. Legend",
]


def headings(report: str) -> list[str]:
    return re.findall(r"^#.*", report, re.MULTILINE)


def section(report: str, title: str) -> str:
    return report.partition(f"{title}\n")[2].partition("\n#")[0]


@pytest.fixture(scope="module")
def seed_report(shared_root: Path) -> str:
    return (shared_root / "seeds/004_713e97ee5e652e9e.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def report(shared_root: Path) -> str:
    return comparison_md(compare(shared_root / "data/latencyprism/SGLang/gpu_instability"))


class TestPublished:
    """The published report on a GPU with a low clock."""

    def test_every_cell_is_the_same(self, seed_report: str, report: str):
        theirs, ours = markdown_tables(seed_report), markdown_tables(report)
        assert ours[:2] == theirs[:2]
        assert ours[2][0] == theirs[2][0]
        # Rows of one score have no order in the published table.
        assert sorted(ours[2][1:]) == sorted(theirs[2][1:])
        assert [row[3] for row in ours[2]] == [row[3] for row in theirs[2]]

    def test_headings_are_the_same_but_for_the_section_of_our_own(
        self, seed_report: str, report: str
    ):
        assert [heading for heading in headings(report)[1:] if " 4. " not in heading] == headings(
            seed_report
        )[1:]

    def test_figures_of_the_key_findings_are_the_same(self, seed_report: str, report: str):
        for text in re.findall(
            r"\*\*[\d.]+%\*\*|[+-][\d.]+ ppt|from [\d,.]+ to [\d,.]+\d", seed_report
        ):
            assert text in report

    def test_no_sentence_is_copied(self, seed_report: str, report: str):
        sentences = {
            sentence
            for line in seed_report.splitlines()
            if not line.startswith(("|", "#"))
            for sentence in re.split(r"(?<=[.:]) ", line)
            if len(sentence.split()) > 4
        }
        assert sentences
        assert not [sentence for sentence in sentences if sentence in report]

    def test_the_long_names_are_not_padded(self, report: str):
        assert "  |" not in report


class TestCells:
    def test_numbers_are_printed_with_six_digits_where_the_column_is_plain(self):
        row = {"score": 1561.71826, "beta_delta_pct": -0.001, "mu_base": 6.3, "mu_new": 118687.5}
        cells, numeric = published.row_cells(frame(ROWS, row).select("score", *list(row)[1:]))
        assert cells == [("1561.72", "-0", "6.3", "118,687.50")]
        assert numeric == [True, True, True, False]

    def test_an_undefined_chance_is_nan(self):
        rows = frame(ROWS, {"mu_welch_p": float("nan")}).select("mu_welch_p")
        assert published.row_cells(rows)[0] == [("nan",)]

    def test_sides_of_unlike_length_have_bare_numbers_beside_dashes(self):
        times = CycleTimes((2_000_500, 1_000_000), (3_000_000,), 0.0, 0.0, None, None, None)
        assert published.distribution_cells(times) == [
            ("1", "2,000.50", "3000.0", "999.50", "+49.96%"),
            ("2", "1,000.00", "-", "-", "-"),
        ]

    def test_the_change_from_nothing_is_infinite(self):
        times = CycleTimes((0,), (3_000_000,), 0.0, 3e6, None, None, None)
        assert published.summary_cells(times)[1][-1] == "+inf%"

    def test_a_line_end_in_a_name_does_not_end_its_row(self):
        pair = pair_of(rows=frame(ROWS, {"function": "a\nb", "metric": "m", "device": "GPU 0"}))
        assert markdown_tables(pair_md(pair, "x"))[2][1][0] == r"a\nb"

    def test_a_bar_in_a_name_does_not_end_its_cell(self):
        pair = pair_of(rows=frame(ROWS, {"function": "a|b", "metric": "m", "device": "GPU 0"}))
        assert markdown_tables(pair_md(pair, "x"))[2][1][0] == r"a\|b"


class TestNames:
    """Names are what a program says they are; they must not become markup."""

    TAG = "<script>alert(1)</script>"

    @pytest.fixture
    def report(self) -> str:
        function = {"function": self.TAG, "metric": "a`b", "device": "GPU 0"}
        rows = frame(ROWS, {**function, "score": 20.0, "mu_delta": 1.0})
        times = frame(TIMES, {"function": f"x{self.TAG}|`", "device": "Host", "measured": False})
        pair = pair_of(rows=rows, times=times, findings=(KeyFinding(self.TAG, "GPU 0", 0, (0,)),))
        noted = replace(pair, base=replace(pair.base, notes=(f"a\n{self.TAG}",)))
        return comparison_md(replace(comparison(noted), notes=(self.TAG,)))

    def test_no_tag_opens_but_in_code(self, report: str):
        assert "<script" not in re.sub(r"`[^`]+`", "", report)
        assert "&lt;script>" in report
        assert f"**`{self.TAG}`** on **GPU 0**" in report

    def test_cells_and_lines_are_not_broken(self, report: str):
        assert markdown_tables(report)[-1][1][0] == r"x&lt;script>alert(1)&lt;/script>\|\`"
        assert r"- base: a\n&lt;script>" in report
        assert "**`` a`b ``**" in report


class TestReport:
    def test_sections_come_in_order(self):
        titles = headings(pair_md(two_runs(), "case"))
        assert titles == ["# Strict Performance Comparison: case (PID: 1007)", *HEADINGS]

    def test_ranks_are_named_rather_than_processes(self):
        pair = two_runs()
        ranked = replace(pair, base=replace(pair.base, rank=3), new=replace(pair.new, rank=3))
        assert pair_md(ranked, "case").startswith(
            "# Strict Performance Comparison: case (Rank: 3)\n"
        )

    def test_a_cross_comparison_names_both_processes(self):
        pair = two_runs(kind="cross", labels=("normal_pid_1007", "abnormal_pid_1007"))
        title = headings(pair_md(pair, "case"))[0]
        assert title.endswith("case (Normal PID:1007 vs Abnormal PID:1007)")

    def test_functions_without_metrics_are_not_lost(self):
        text = section(pair_md(two_runs(), "case"), "## 4. Functions Without Metrics")
        assert "cudaStreamSynchronize" in text
        assert "sm80_gemm" not in text

    def test_functions_one_side_did_not_record_have_not_gone(self):
        calls = {"calls_base": 1.0, "base_ns": 5.0, "device": "Host", "measured": False}
        both = {"calls_new": 1.0, "new_ns": 5.0, "function": "launch"}
        rows = (
            {**calls, **both, "function_class": "cpu_launch"},
            {**calls, "function": "mm", "function_class": "cpu_operator", "runs_on": "base"},
        )
        report = pair_md(pair_of(times=frame(TIMES, *rows)), "case")
        text = section(report, "## 4. Functions Without Metrics")
        assert "Left out here: 1 function, as new did not record operators." in text
        assert "| mm |" not in text

    def test_counters_are_told_in_the_unit_they_are_in(self):
        text = section(pair_md(two_runs(), "case"), "### Key Findings:")
        assert re.search(r"`gpu_sm_frequency`\*\* fell .* \(1 \d{3} → \d{3} MHz\)", text)

    def test_unequal_work_comes_first(self):
        workload = Workload(
            comparable=False, reasons=("One is a batch, one a layer.",), work_ratio=64
        )
        text = section(pair_md(replace(two_runs(), workload=workload), "case"), "### Overview")
        assert text.strip().startswith(
            "**The steps of the two runs do not do the same work. One is a batch"
        )

    def test_unequal_work_is_quoted_under_the_title(self):
        workload = Workload(comparable=False, reasons=("A batch.",), work_ratio=64)
        report = pair_md(replace(two_runs(), workload=workload, equal_work=two_runs()), "case")
        quote = report.split("\n\n")[1]
        assert quote.startswith(
            "> **The steps of the two runs do not do the same work. A batch.** "
        )
        assert headings(report)[1:] == HEADINGS
        assert "\n> " not in pair_md(two_runs(), "case")

    def test_a_counter_one_side_does_not_know_is_no_zero(self):
        pair = two_runs()
        unknown = pl.col("metric") == "gpu_sm_frequency"
        runs_on = pl.when(unknown).then(pl.lit("base")).otherwise(pl.col("runs_on").cast(pl.String))
        pair = replace(
            pair, known_rows=pair.rows.with_columns(runs_on.cast(ROWS["runs_on"]).alias("runs_on"))
        )
        text = section(pair_md(pair, "case"), "### Key Findings:")
        assert re.search(r"`gpu_sm_frequency`\*\* 1 \d{3} MHz → - \(not known\)", text)

    def test_without_high_scores_there_is_no_finding(self):
        pair = replace(two_runs(HEALTHY), findings=())
        assert "No row has a score" in section(pair_md(pair, "case"), "### Key Findings:")

    def test_without_counters_the_times_are_what_there_is(self):
        markdown = pair_md(replace(two_runs(), rows=pair_of().rows, findings=()), "case")
        assert headings(markdown)[1:] == HEADINGS
        assert len(markdown_tables(markdown)) == 3

    def test_names_that_do_not_meet_have_a_table(self):
        families = frame(FAMILIES, {"family": "gemm", "name": None, "device": "GPU 0"})
        markdown = pair_md(replace(two_runs(), families=families), "case")
        assert "gemm (family)" in section(markdown, "### Names that do not meet")

    def test_several_pairs_follow_each_other_and_notes_come_last(self):
        markdown = comparison_md(
            comparison(two_runs(), two_runs(HEALTHY), notes=["pid 5 is alone"])
        )
        assert len([heading for heading in headings(markdown) if heading.startswith("# ")]) == 2
        assert markdown.endswith("- pid 5 is alone")
