"""Sleeps of threads that have nothing to do with the cycles."""

from __future__ import annotations

import pytest

from behaviours import Row, behaviour, call, cycles_at, rows_of, trace_of_rows
from timesink.analyses.behaviour.classes import SIDE_WAIT
from timesink.analyses.behaviour.untraced import is_waiting_call

SLEEP = "<built-in function sleep>"


def classes(*host: Row) -> set[str]:
    marks = [call("step", start, 90, "annotation") for start in (10, 110)]
    result = behaviour(trace_of_rows([*marks, *host]), cycles_at((0, 100), (100, 200)))
    return {row["function_class"] for row in rows_of(result, function=SLEEP)}


def test_a_sampler_that_sleeps_waits():
    assert classes(call(SLEEP, 0, 90, "python_function", tid="9")) == {SIDE_WAIT}


def test_a_sleep_of_the_thread_of_the_cycles_costs_time():
    assert classes(call(SLEEP, 110, 60, "python_function")) == {"cpu_python"}


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("Event.wait", True),
        ("threading.py(331): wait", True),
        ("<method 'poll' of 'select.epoll' objects>", True),
        ("<method 'acquire' of '_thread.lock' objects>", True),
        ("<built-in method select of Tensor object at 0x1>", False),
        ("posixpath.py(71): join", False),
        ("<method 'join' of 'str' objects>", False),
        ("wait_free_queue", False),
    ],
)
def test_calls_that_wait_are_known_by_name(name: str, *, waits: bool):
    assert is_waiting_call(name) is waits
