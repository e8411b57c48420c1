"""What decides a cycle, by kind, name and module; slack of the rest."""

from __future__ import annotations

import pytest

from cases import MODULE, STEP, K, O, R, read
from timesink.analyses.replay.critical_path import (
    PlayedRun,
    path_kinds,
    path_modules,
    path_table,
    played_run,
    slack_table,
)
from timesink.model.trace import Trace

KERNEL = "void gemm<float, 128>(float*)"


def recording(kernel: int, steps: int = 2) -> Trace:
    """Steps of a ms: 800 us of an operator, a kernel that it launches at 100 us."""
    events = []
    for number in range(steps):
        begin = 1000 * number
        events += [
            STEP(number, begin, 1000),
            O("aten::mm", begin, 800),
            R(begin + 100, 10, c=number + 1),
            K(KERNEL, begin + 120, kernel, c=number + 1),
        ]
    return read(*events)


def as_recorded(trace: Trace, *steps: str) -> PlayedRun:
    return played_run(trace, steps or None, recorded=True)


class TestPath:
    def test_kinds_add_up_to_a_cycle(self):
        run = as_recorded(recording(50))
        assert run.cycle_ns == 1_000_000
        assert sum(path_kinds(run).values()) == pytest.approx(run.cycle_ns)

    def test_the_host_decides_where_the_device_waits_for_it(self):
        rows = path_table(as_recorded(recording(50)))
        first = rows.row(0, named=True)
        assert (first["kind"], first["name"]) == ("host", "aten::mm")
        assert first["time_ns"] == pytest.approx(790_000)
        assert first["share_pct"] == pytest.approx(79)
        # It is cut by its launch, and is one call all the same.
        assert first["calls"] == 2
        assert "kernel" not in rows["kind"]

    def test_time_outside_of_every_call_is_told_as_such(self):
        trace = read(STEP(1, 0, 100), O("a", 0, 10), O("b", 90, 10), *[O("c", 200, 5)])
        named = path_table(as_recorded(trace))["short_name"].to_list()
        assert "outside of recorded calls" not in named  # a step is a call
        assert "ProfilerStep#1" in named

    def test_a_device_that_does_not_keep_up_decides(self):
        rows = path_table(as_recorded(recording(5000)))
        assert rows.row(0, named=True)["kind"] == "kernel"
        assert rows["short_name"][0] == "gemm"
        assert rows["name"][0] == KERNEL

    def test_of_some_steps_only(self):
        trace = recording(50, steps=4)
        all_steps, second_step = as_recorded(trace), as_recorded(trace, "2")
        assert (all_steps.count, second_step.count) == (4, 1)
        assert path_table(second_step)["calls"][0] == 1
        assert sum(path_kinds(second_step).values()) == pytest.approx(second_step.cycle_ns)

    def test_by_itself_a_program_takes_no_longer(self):
        trace = recording(50)
        assert played_run(trace).cycle_ns < as_recorded(trace).cycle_ns

    @pytest.mark.parametrize("events", [[], [K("a", 0, 5)], [STEP(1, 5, 0)], [R(0, 1, c=1)]])
    def test_the_smallest_traces_have_tables(self, events: list[dict]):
        trace = read(*events)
        for table in (path_table, path_modules, slack_table):
            assert table(trace).height <= 2


class TestModules:
    def test_without_modules_there_is_no_row(self):
        assert path_modules(recording(50)).is_empty()

    def test_host_time_and_launched_work_count_for_the_innermost(self):
        trace = read(
            STEP(1, 0, 1000),
            MODULE("nn.Module: Net_0", 0, 600, python_id=1, parent=None, module=0),
            MODULE("nn.Module: Linear_0", 100, 400, python_id=2, parent=1, module=0),
            O("aten::mm", 150, 200),
            R(160, 10, c=1),
            K("gemm", 180, 2000, c=1),
        )
        rows = {row["module"]: row for row in path_modules(as_recorded(trace)).to_dicts()}
        inner = rows["Net_0.Linear_0"]
        assert inner["device_ns"] == pytest.approx(2_000_000)
        assert inner["host_ns"] == pytest.approx(60_000)
        assert rows["Net_0"]["host_ns"] == pytest.approx(100_000)
        for row in rows.values():
            parts = row["host_ns"] + row["device_ns"] + row["between_ns"]
            assert parts == pytest.approx(row["time_ns"])


class TestSlack:
    def test_what_decides_has_none(self):
        rows = slack_table(as_recorded(recording(50))).to_dicts()
        (operator,) = (row for row in rows if row["name"] == "aten::mm")
        assert operator["median_slack_ns"] == 0
        assert operator["decisive_ratio"] == 1

    def test_a_kernel_may_come_as_late_as_its_step_ends(self):
        trace = recording(50, steps=1)
        (kernel,) = (
            row for row in slack_table(as_recorded(trace)).to_dicts() if row["kind"] == "kernel"
        )
        # It ends at 170 us of 1000.
        assert kernel["least_slack_ns"] == kernel["most_slack_ns"] == 830_000
        assert kernel["decisive_ratio"] == 0
        assert kernel["time_ns"] == 50_000
