"""The answer of `timesink analyze` for people."""

from __future__ import annotations

import re
from functools import cache

import timesink
from cases import ALLOC, DATA_LOADER, STEP, C, K, O, R, read
from timesink.answers.analysis.document import analysis_document
from timesink.answers.analysis.report import Analysis
from timesink.output import markdown, terminal

GPU = {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 2**30}


ODD_NAMES = ("[red]x[/]", "a\x1b[31m", "été 中文", ":smile:", "a|b")


def analysis(*extra_events: dict, **fields: object) -> Analysis:
    """Two steps of 1 ms: 200 us data loading, 500 us kernels, 100 us copies."""
    events = []
    for number in (1, 2):
        start = 1000 * number
        events += [
            STEP(number, start, 1000),
            O(DATA_LOADER, start, 200),
            O("aten::mm", start + 200, 600),
            R(start + 200, 10, c=number),
            K("void gemm<float, 128>(float*)", start + 250, 500, c=number),
            R(start + 300, 10, c=10 + number),
            C(start + 750, 100, c=10 + number),
        ]
    trace = read(*events, *extra_events, deviceProperties=[GPU], **fields)
    return timesink.analyze(trace, clock="recorded")


def to_text(answer: Analysis, top: int) -> str:
    return terminal.to_text(analysis_document(answer, rows=top, brief=True))


def to_markdown(answer: Analysis, top: int) -> str:
    return markdown.to_markdown(analysis_document(answer, rows=top, brief=True))


@cache
def usual() -> Analysis:
    return analysis()


@cache
def usual_text() -> str:
    return to_text(usual(), 5)


@cache
def more_recorded() -> str:
    """With a kernel that differs in its type alone, and an allocation."""
    other = K("void gemm<double, 64>(double*)", 2850, 100)
    return to_text(analysis(other, ALLOC(1300, 512, device=0, total=2**29)), 5)


@cache
def oddly_named() -> Analysis:
    """With operators whose names are odd, or longer than a line."""
    odd = [O(name, 2900 + 10 * number, 5) for number, name in enumerate(ODD_NAMES)]
    long = O("aten::" + 300 * "x", 2970, 20, **{"Call stack": 300 * "y"})
    return analysis(*odd, long)


def lines_between(text: str, first: str, last: str) -> list[str]:
    """Lines after the one that starts with `first`, up to the empty one or to `last`."""
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(first))
    following = lines[start + 1 :]
    return following[: following.index(last)]


class TestText:
    def test_parts_of_a_step_with_bars(self):
        lead, *rows = lines_between(usual_text(), "Step time by part", "")
        assert lead == "2 steps, 1.00 ms to 1.00 ms."
        assert [line.split("  ")[1].strip() for line in rows] == [
            "kernels",
            "copies",
            "runtime calls",
            "data loading",
            "host code",
            "other",
        ]
        assert rows[0].split() == ["kernels", "500.0", "us", "50.0", "%", 20 * "█"]

    def test_tables_have_the_rows_asked_for(self):
        more = [O(f"aten::op{number}", 2850 + 10 * number, 5) for number in range(4)]
        text = to_text(analysis(*more), 2)
        title, *rows = lines_between(text, "Operators (the first 2 of 5)", "")
        assert title.split()[:3] == ["operator", "calls", "share"]
        assert [row.split()[0] for row in rows] == ["aten::mm", "aten::op0"]
        assert lines_between(text, "Kernels (1)", "")[1].split()[:4] == ["gemm", "2", "100.0", "%"]

    def test_findings_with_advice_gain_and_evidence(self):
        text = usual_text()
        assert "Data loading [data-loading]" in text
        assert "try: Raise num_workers" in text
        assert "may save 200 us a step if data is there when it is needed" in text
        assert re.search(r"seen: call enumerate\(DataLoader\)\S+:\s+calls\s+2,", text)

    def test_without_marks_nothing_is_said_of_steps(self):
        events = [O("mm", 0, 1000), R(90, 5, c=1), K("gemm", 100, 200, c=1)]
        text = " ".join(to_text(timesink.analyze(read(*events), clock="recorded"), 5).split())
        assert "800 us of the recorded 1.00 ms (80.0 %)" in text
        assert "may save 790 us if " in text
        assert "idle 800 us, host 800 us" in text
        assert "a step" not in text.partition("Findings")[2]

    def test_health(self):
        health = usual_text().partition("Trace health\n")[2]
        assert health == "info     the trace does not name its rank\n         rank 0 is assumed"

    def test_memory_where_it_was_recorded(self):
        (row,) = lines_between(more_recorded(), "Memory", "")[1:]
        assert row.split()[:3] == ["GPU0", "512.0", "MiB"]
        assert row.split()[-2:] == ["1.0", "GiB"]

    def test_nothing_found(self):
        quiet = [STEP(1, 0, 100), O("train", 0, 100), R(0, 5, c=1), K("gemm", 10, 85, c=1)]
        text = to_text(timesink.analyze(read(*quiet, distributedInfo={"rank": 0})), 5)
        assert "No findings." in text
        assert "No problems found in the recording." in text

    def test_names_are_shown_as_they_are(self):
        text = to_text(oddly_named(), 9)
        expected = [name.replace("\x1b", "\\x1b") for name in ODD_NAMES]
        assert [name for name in expected if name not in text] == []


class TestMarkdown:
    def test_headings_and_tables(self):
        text = to_markdown(usual(), 5)
        headings = [line for line in text.splitlines() if line.startswith("#")]
        assert headings == [
            "# case.json, NVIDIA H200",
            "## Step time by part",
            "## Critical path of a step",
            "## Devices",
            "## Efficiency",
            "## Operators (1)",
            "## Kernels (1)",
            "## Findings",
            "## Trace health",
        ]
        assert "| kernels | 500.0 us | 50.0 % |" in text
        assert "| aten::mm | 2 | 100.0 % |" in text
        assert "- **Data loading** (`data-loading`, high): Data loading takes" in text

    def test_a_bar_in_a_name_does_not_end_its_cell(self):
        assert "| a\\|b | 1 |" in to_markdown(oddly_named(), 9)


def test_a_device_that_works_only_at_the_end_is_told_both_ways():
    """Of a recording half of which is the host alone, `info` tells the share of the other half."""
    trace = read(O("aten::mm", 0, 900), R(890, 5, c=1), K("gemm", 1000, 1000, c=1))
    text = terminal.to_text(analysis_document(Analysis(trace), brief=True))
    text = " ".join(text.split())
    assert "GPU 0: kernels 50.1 %, any work 50.1 %, " in text
    assert "busy 100 % of the 1.00 ms from its first activity to its last" in text
