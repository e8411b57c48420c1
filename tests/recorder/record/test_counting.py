"""What is due after each cycle."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from timesink.recorder import folder
from timesink.recorder.agent import plain
from timesink.recorder.agent.engine import Counting, NextAction
from timesink.recorder.agent.plain import PlainCycles, last_plain
from timesink.recorder.folder import Notebook, RecordPlan, read_notes, read_plain


def dues(plan: RecordPlan, count: int, *, begins: bool) -> list[str]:
    counting = Counting(plan, begins=begins)
    return [counting.boundary(at).name for at in range(count)]


@pytest.mark.parametrize(
    ("skip", "begins", "expected"),
    [
        (0, True, ["START", "NEXT", "FINISH"]),
        # The first step of an optimizer ends a cycle whose beginning nobody saw.
        (0, False, ["START", "NEXT", "FINISH"]),
        (1, True, ["PREPARE", "START", "NEXT", "FINISH"]),
        (2, False, ["PREPARE", "START", "NEXT", "FINISH"]),
        (3, False, ["NOTHING", "PREPARE", "START", "NEXT", "FINISH"]),
    ],
)
def test_profiler_warms_up_in_a_skipped_cycle(skip: int, expected: list[str], *, begins: bool):
    assert dues(RecordPlan(cycles=2, skip=skip, plain=0), len(expected), begins=begins) == expected


def test_cycles_are_timed_with_and_without_the_profiler():
    counting = Counting(RecordPlan(cycles=1, skip=3, plain=0), begins=False)
    for now_ns in (0, 10):
        counting.boundary(now_ns)
    # The cycle in which the profiler warms up is no measure of anything.
    assert counting.boundary(1000) is NextAction.START
    counting.resume(2000)
    assert counting.boundary(2030) is NextAction.FINISH
    assert (counting.timed, counting.recorded_ns) == ([(10, False)], [30])
    assert counting.seen == 4


def test_recording_waits_while_another_profiler_runs():
    counting = Counting(RecordPlan(cycles=1, skip=1, plain=0), begins=False)
    assert counting.boundary(1) is NextAction.START
    counting.wait_longer()
    assert counting.boundary(2) is NextAction.START
    assert counting.skipped == 2
    # What attached itself to the device for the other is still there.
    assert counting.timed == []


def test_cycles_under_another_profiler_are_no_measure():
    counting = Counting(RecordPlan(cycles=1, skip=9, plain=0), begins=False)
    for now_ns, is_plain in ((0, True), (10, True), (500, False), (510, True)):
        counting.boundary(now_ns, is_plain=is_plain)
    assert [lasted_ns for lasted_ns, _ in counting.timed] == [10, 10]
    assert counting.seen == 4


@pytest.mark.parametrize(
    ("skip", "begins", "expected"),
    [
        (0, True, ["TIME", "NOTHING", "PREPARE", "START", "FINISH"]),
        # When the first cycle began is not known: it is never timed.
        (0, False, ["TIME", "NOTHING", "PREPARE", "START", "FINISH"]),
        (2, True, ["NOTHING", "NOTHING", "TIME", "NOTHING", "PREPARE", "START", "FINISH"]),
        (2, False, ["NOTHING", "TIME", "NOTHING", "PREPARE", "START", "FINISH"]),
    ],
)
def test_plain_cycles_come_before_the_profiler(skip: int, expected: list[str], *, begins: bool):
    counting = Counting(RecordPlan(cycles=1, skip=skip, plain=2), begins=begins)
    assert [counting.boundary(10 * at).name for at in range(len(expected))] == expected
    assert [is_settled for _, is_settled in counting.timed][-2:] == [True, True]
    assert sum(is_settled for _, is_settled in counting.timed) == 2


def test_plain_cycles_last_so_long():
    plan = RecordPlan(cycles=1, skip=1, plain=1, plain_s=1.0)
    counting = Counting(plan, begins=False)
    names = [counting.boundary(at * 400_000_000).name for at in range(5)]
    assert names == ["TIME", "NOTHING", "NOTHING", "PREPARE", "START"]


@pytest.mark.parametrize(("stop", "last"), [(True, "FINISH"), (False, "NOTHING")])
def test_plain_cycles_alone_need_no_profiler(last: str, *, stop: bool):
    plan = RecordPlan(skip=1, plain=2, plain_only=True, stop=stop)
    assert dues(plan, 3, begins=False) == ["TIME", "NOTHING", last]


def test_workers_end_with_the_same_plain_cycle(tmp_path: Path):
    """The first that has timed for long enough says which it is, early enough for the others."""
    last_cycle = partial(last_plain, tmp_path, is_alone=False)
    assert last_cycle(30, is_long=False) is None
    assert last_cycle(31, is_long=True) == 39
    assert last_cycle(32, is_long=False) == last_cycle(33, is_long=True) == 39
    assert last_plain(tmp_path, 33, is_long=True, is_alone=True) == 33


def test_long_programs_keep_their_last_cycles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for module in (plain, folder):
        monkeypatch.setattr(module, "MAX_PLAIN", 10)
    monkeypatch.setattr(plain, "_WRITES_EVERY_NS", 1)
    notebook = Notebook(tmp_path)
    cycles = PlainCycles(notebook, None, device_events=False)
    notebook.add("torch")
    for number in range(1, 36):
        cycles.border([(number, True)], number * plain.PROBES_EVERY_NS // 2)
    cycles.end()
    (process,) = read_notes(tmp_path)
    plain_record = read_plain(tmp_path, process)
    assert plain_record.cycles_ns == tuple(range(26, 36))
    assert plain_record.dropped == 25
    # Every other border is too soon after a probe.
    assert [probe is None for probe in plain_record.probe_ns] == [False, True] * 5
