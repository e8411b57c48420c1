"""Several runs side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest

import timesink
from kernels_text import to_markdown, to_text
from measured_kernels import Launch, launch, trace_of_launches, use
from timesink.answers.kernels.kernel_labels import runs_headline as headline
from timesink.answers.kernels.report import KernelReport
from timesink.answers.kernels.tables import KernelChoice as Choice
from timesink.answers.kernels.tables import runs_frame, runs_tables
from timesink.model.trace import Trace
from timesink.output.numbers import cells


def run(name: str, *launches: Launch) -> KernelReport:
    trace = trace_of_launches(*launches)
    return timesink.kernels(Trace(replace(trace.metadata, source=name), trace.health, trace.frames))


SLOW = run("slow.csv", use("gemm", 600, sm=20.0), use("copy", 400, dram=50.0))
FAST = run("fast.csv", use("gemm", 300, sm=90.0))
BARE = run("bare.csv", launch(100, {}, name="gemm"))


def test_the_answer_names_the_worst_and_the_best():
    assert headline([FAST, SLOW]) == (
        "Of 2 runs slow.csv has the most headroom, 68.0 % of its kernel time; "
        "fast.csv has the least, 10.0 %"
    )
    assert headline([FAST, BARE]) == "2 runs compared"


def test_equal_runs_are_not_ranked():
    assert headline([FAST, replace(FAST, source="again.csv")]) == "2 runs compared"


def test_runs_without_sm_counters_are_ranked_among_themselves():
    tensor = run("tensor.csv", use("gemm", 300, sm=None, tensor=5.0))
    assert headline([FAST, tensor]) == "2 runs compared"
    assert headline([FAST, SLOW, tensor]).startswith(
        "Of 3 runs, as far as they have SM counters, slow.csv has the most headroom, 68.0 %"
    )
    better = run("better.csv", use("gemm", 300, sm=None, tensor=50.0))
    assert headline([better, tensor]).startswith("Of 2 runs tensor.csv has the most headroom")


def test_one_row_per_run():
    use_of, classes = runs_tables([SLOW, FAST])
    assert [column.title for column in use_of.columns] == [
        *("run", "calls", "total", "tensor", "DRAM", "SM", "headroom", "of time"),
    ]
    assert list(zip(*map(cells, use_of.columns), strict=True)) == [
        ("slow.csv", "2", "1.00 us", "0.0 %", "20.0 %", "12.0 %", "680 ns", "68.0 %"),
        ("fast.csv", "1", "300 ns", "0.0 %", "0.0 %", "90.0 %", "30 ns", "10.0 %"),
    ]
    assert {column.title: cells(column) for column in classes.columns} == {
        "run": ["slow.csv", "fast.csv"],
        "█ both low": ["60.0 %", "0.0 %"],
        "▓ low SM": ["40.0 %", "0.0 %"],
        "▒ low DRAM": ["0.0 %", "100.0 %"],
        "": [14 * "█" + 10 * "▓", 24 * "▒"],
    }


def test_a_run_without_counters_has_dashes():
    use_of, *_ = runs_tables([FAST, BARE])
    assert [cells(column)[1] for column in use_of.columns][:4] == ["bare.csv", "1", "100 ns", "-"]


def test_without_any_counters_there_are_times_only():
    text = to_text([BARE, BARE], None, Choice())
    assert "Share of time" not in text
    assert "run          calls   total" in text


def test_devices_of_a_run_have_rows_of_their_own():
    both = run("two.csv", use("a", 100, sm=5.0), use("a", 300, sm=5.0, device=1))
    name, device, *_ = runs_tables([both, FAST])[0].columns
    assert cells(name) == ["two.csv", "two.csv", "fast.csv"]
    assert cells(device) == ["0", "1", "0"]


def test_groups_of_each_run():
    lines = to_text([SLOW, FAST], "name", Choice(top=1)).splitlines()
    start = lines.index("Kernels (the first 2 of 3)")
    assert lines[start + 1].split()[:3] == ["run", "kernel", "calls"]
    assert [line.split()[:2] for line in lines[start + 2 : start + 4]] == [
        ["slow.csv", "gemm"],
        ["fast.csv", "gemm"],
    ]
    assert lines[start + 4] == "... 1 more kernel"
    assert "Notes" in lines


def test_markdown():
    markdown = to_markdown([SLOW, FAST], None, Choice())
    assert "**Of 2 runs slow.csv" in markdown
    assert "| run | █ both low | ▓ low SM | ▒ low DRAM |" in markdown


def test_notes_name_the_runs_they_are_about():
    sampled = timesink.kernels(SLOW.trace, every=3)
    notes = to_text([FAST, sampled], None, Choice()).partition("Notes\n")[2]
    assert notes.startswith("  durations are of kernels replayed")
    assert "  slow.csv: a sample: every 3rd launch" in notes


def test_all_numbers_for_programs():
    frame = runs_frame([SLOW, FAST])
    assert frame["run"].to_list() == ["slow.csv", "fast.csv"]
    assert frame["both_low_share_pct"].to_list() == [60.0, 0.0]
    assert frame["headroom_ns"].to_list() == [680.0, pytest.approx(30)]


def test_names_get_folders_where_they_are_alike():
    text = to_text([run("/a/x.csv", use("k", 1)), run("/b/x.csv", use("k", 1))], None, Choice())
    assert "a/x.csv" in text
    assert "b/x.csv" in text
