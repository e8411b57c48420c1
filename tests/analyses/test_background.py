"""Threads that launch nothing and that nobody waits for decide nothing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import timesink
from builders import Event
from cases import MAIN, OTHER, STEP, K, O, R, host_event, read
from timesink.analyses.background import background_calls
from timesink.analyses.replay.critical_path import path_table
from timesink.analyses.steps import find_steps, step_breakdown
from timesink.model.trace import Trace


def python(name: str, ts: int, dur: int, tid: str = OTHER) -> Event:
    return host_event("python_function", name, ts, dur, tid)


def training_trace(*more: Event) -> Trace:
    """A step that launches a kernel, waits a millisecond, and goes on."""
    return read(
        STEP(1, 100, 2000),
        O("aten::mm", 110, 40),
        R(120, 10, c=1),
        K("gemm", 135, 200, c=1),
        O("aten::add", 1500, 500),
        *more,
    )


def background(trace: Trace) -> set[str]:
    rows = background_calls(trace)
    return set(trace.host["name"].cast(pl.String).filter(rows.tolist()).to_list())


WAITS = [
    ("threading.py(655): wait", "threading.py(359): wait"),
    ("queue.py(171): get", "<built-in method acquire of _thread.lock object at 0x7f>"),
    ("selectors.py(451): select", "<built-in method poll of select.epoll object at 0x7f>"),
    ("monitor.py(3): run", "<built-in function sleep>"),
    ("reader.py(9): run", "<built-in method read_from_somewhere>"),
]


@pytest.mark.parametrize("names", WAITS)
def test_a_thread_that_waits_all_the_time_changes_nothing(names: tuple[str, str]):
    outer, inner = names
    waiting = (python(outer, 0, 9000), python(inner, 5, 8990))
    plain_trace, beside = training_trace(), training_trace(*waiting)
    assert background(beside) == set(names)
    assert path_table(beside).equals(path_table(plain_trace))
    assert find_steps(beside).equals(find_steps(plain_trace))
    assert step_breakdown(beside).equals(step_breakdown(plain_trace))


def test_nor_does_one_that_wakes_up_now_and_then_or_polls_events():
    samples = [python("<built-in function sleep>", 10 + 100 * n, 90) for n in range(40)]
    polls = [host_event("Runtime", "cudaEventQuery", 50 * n, 2, "789") for n in range(80)]
    beside = training_trace(python("monitor.py(3): run", 0, 5000), *samples, *polls)
    assert background(beside) == {
        *("monitor.py(3): run", "<built-in function sleep>", "cudaEventQuery")
    }
    assert path_table(beside).equals(path_table(training_trace()))
    assert step_breakdown(beside).equals(step_breakdown(training_trace()))


def test_nor_does_its_annotation_in_a_recording_without_marks_of_steps():
    events = [O("aten::mm", 110, 40), R(120, 10, c=1), K("gemm", 135, 200, c=1)]
    waits = host_event("user_annotation", "waiting for requests", 0, 90_000, OTHER)
    plain_trace, beside = read(*events), read(*events, waits)
    assert find_steps(beside).equals(find_steps(plain_trace))
    assert step_breakdown(beside).equals(step_breakdown(plain_trace))


def test_a_thread_that_another_waits_for_stays():
    # The main thread calls nothing from 150 to 1500 us: the other decodes an image.
    work = [python("decode.py(7): rows", 210 + 100 * n, 95) for n in range(12)]
    trace = training_trace(python("decode.py(3): image", 200, 1290), *work)
    assert background(trace) == set()
    assert "decode.py(7): rows" in path_table(trace)["name"].to_list()


def test_a_thread_that_computes_without_operators_stays_where_there_are_none():
    trace = read(python("a.py(1): f", 0, 100, MAIN), python("b.py(1): g", 0, 300))
    assert background(trace) == set()


def test_an_operator_on_a_device_less_thread_stays():
    trace = training_trace(O("aten::decode", 200, 900, tid=OTHER))
    assert background(trace) == set()


def test_kernels_decide_what_a_monitor_decided_before(shared_root: Path):
    trace = timesink.open(shared_root / "data/tracelens/h100/timesformer.json.gz")
    shares = path_table(trace).group_by("kind").agg(pl.col("share_pct").sum())
    assert dict(shares.iter_rows())["kernel"] == pytest.approx(44.1, abs=0.5)
