"""Several runs side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest

import timesink
from measured_kernels import Launch, launch, measured, use
from timesink.model.trace import Trace
from timesink.render.kernels.groups import Choice
from timesink.render.kernels.runs import (
    headline,
    one_table,
    print_text,
    runs_frame,
    to_markdown,
    to_text,
)
from timesink.reports.kernels import KernelReport


def run(name: str, *launches: Launch) -> KernelReport:
    trace = measured(*launches)
    return timesink.kernels(Trace(replace(trace.metadata, source=name), trace.health, trace.frames))


SLOW = run("slow.csv", use("gemm", 600, sm=20.0), use("copy", 400, dram=50.0))
FAST = run("fast.csv", use("gemm", 300, sm=90.0))
BARE = run("bare.csv", launch(100, {}, name="gemm"))


def test_the_answer_names_the_worst_and_the_best():
    assert headline([FAST, SLOW]) == (
        "Of 2 runs slow.csv leaves the most unused: 68.0 % of its kernel time would vanish at the "
        "nearest roofs; fast.csv the least, 10.0 %"
    )
    assert headline([FAST, BARE]) == "2 runs side by side"


def test_equal_runs_are_not_ranked():
    assert headline([FAST, replace(FAST, source="again.csv")]) == "2 runs side by side"


def test_runs_without_sm_counters_are_ranked_among_themselves():
    tensor = run("tensor.csv", use("gemm", 300, sm=None, tensor=5.0))
    assert headline([FAST, tensor]) == "2 runs side by side"
    assert headline([FAST, SLOW, tensor]).startswith(
        "Of 3 runs, as far as they have SM counters, slow.csv leaves the most unused: 68.0 %"
    )
    better = run("better.csv", use("gemm", 300, sm=None, tensor=50.0))
    assert headline([better, tensor]).startswith("Of 2 runs tensor.csv leaves the most unused")


def test_samples_are_marked():
    sampled = timesink.kernels(SLOW.trace, every=5)
    table = one_table([sampled, FAST], None, Choice())
    assert [row[1] for row in table.rows] == ["2 (sample)", "1"]


def test_one_row_per_run():
    table = one_table([SLOW, FAST], None, Choice())
    assert table.columns == (
        *("run", "calls", "total", "tensor", "DRAM", "SM", "headroom", "of time"),
        *("both low", "low SM", "low DRAM"),
    )
    assert ["|".join(row) for row in table.rows] == [
        "slow.csv|2|1.00 us|0 %|20 %|12 %|680 ns|68.0 %|60.0 %|40.0 %|0.0 %",
        "fast.csv|1|300 ns|0 %|0 %|90 %|30 ns|10.0 %|0.0 %|0.0 %|100.0 %",
    ]


def test_a_run_without_counters_has_dashes():
    table = one_table([FAST, BARE], None, Choice())
    assert table.rows[1] == ("bare.csv", "1", "100 ns", *["-"] * 5, "-")


def test_without_any_counters_there_are_times_only():
    told = to_text([BARE, BARE], None, Choice())
    assert "Share of time" not in told
    assert "run          calls   total" in told


def test_devices_of_a_run_have_rows_of_their_own():
    both = run("two.csv", use("a", 100, sm=5.0), use("a", 300, sm=5.0, device=1))
    table = one_table([both, FAST], None, Choice())
    assert [row[0] for row in table.rows] == ["two.csv, GPU 0", "two.csv, GPU 1", "fast.csv"]


def test_bars_where_there_is_room(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def lines(*reports: KernelReport) -> list[str]:
        monkeypatch.setenv("COLUMNS", "100")
        print_text(reports, None, Choice())
        return capsys.readouterr().out.splitlines()

    wide = lines(SLOW, FAST)
    place = next(i for i, line in enumerate(wide) if line.startswith("Share of time")) + 1
    assert wide[place].split() == [
        *("run", "█", "both", "low", "▓", "low", "SM", "▒", "low", "DRAM"),
    ]
    assert wide[place + 1].endswith(24 * "█" + 16 * "▓")
    assert wide[place + 2].endswith(40 * "▒")
    long = run(f"{70 * 'n'}.csv", use("gemm", 600, sm=20.0))
    assert not any("█" in line for line in lines(long, FAST))


def test_groups_of_each_run():
    told = to_text([SLOW, FAST], "name", Choice(top=1)).splitlines()
    start = told.index("Kernels (2 of 3)")
    assert told[start + 1].split()[:3] == ["run", "kernel", "calls"]
    assert [line.split()[:2] for line in told[start + 2 : start + 4]] == [
        ["slow.csv", "gemm"],
        ["fast.csv", "gemm"],
    ]
    assert told[start + 4] == "... 1 more kernel"


def test_markdown():
    told = to_markdown([SLOW, FAST], None, Choice())
    assert told.startswith("**Of 2 runs slow.csv")
    assert "| run | both low | low SM | low DRAM |" in told


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
    told = to_text([run("/a/x.csv", use("k", 1)), run("/b/x.csv", use("k", 1))], None, Choice())
    assert "a/x.csv" in told
    assert "b/x.csv" in told
