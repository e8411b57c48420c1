"""A query takes no more memory, time and rows than it may: its process is ended."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import timesink
from timesink.errors import QueryError
from timesink.runtime.limited_call import CallEndedError, CallLimits, limited_call, memory_of

SELF = str(Path(__file__).parent)
TRIPLE_JOIN = (
    "select count(*) from host a join host b on a.kind = b.kind join host c on b.kind = c.kind"
)
MUCH = CallLimits(1 << 40, 100.0)
Limited = Callable[[], AbstractContextManager[None]]


def run_query(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "timesink", "query", str(timesink.sample()), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        pytest.param(
            ["select lpad(name, 2000000000, 'x') from host", "--max-memory", "300MB"],
            "the query takes more than 286 MiB of memory",
            "--max-memory SIZE",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="nobody tells the memory"),
        ),
        (
            [
                TRIPLE_JOIN,
                "--timeout",
                "0.2",
            ],
            "the query took longer than 0.2 s",
            "--timeout S",
        ),
        (["select * from host", "--limit", "5"], "more than 5 rows", "--limit ROWS"),
    ],
)
def test_a_query_beyond_its_limits_ends(words: list[str], message: str, hint: str):
    outcome = run_query(*words)
    assert (outcome.returncode, outcome.stdout) == (3, "")
    error, advice = outcome.stderr.splitlines()
    assert message in error
    assert hint in advice


@pytest.mark.whole
def test_an_ordinary_query_is_answered_by_a_copy_of_the_process():
    outcome = run_query("select name from steps order by name limit 1", "--format", "csv")
    assert (outcome.stdout, outcome.stderr) == ("name\nProfilerStep#3\n", "")
    refused = run_query("select 1 from nowhere")
    assert refused.returncode == 1
    assert "'nowhere' was not found" in refused.stderr


@pytest.mark.parametrize("size", ["0", "-1", "much", "1e9", "4 GiB GiB", "", "nan"])
def test_sizes_that_are_none_are_wrong_usage(run, size: str):
    assert run("query", timesink.sample(), "select 1", f"--max-memory={size}").code == 2


# What calls do in a process of their own: this module is found by its place.


def take(limited: Limited, megabytes: int) -> int:
    with limited():
        taken = bytearray(megabytes << 20)
        time.sleep(0.1)
    return len(taken)


def wait(limited: Limited, inside_s: float, after_s: float) -> str:
    with limited():
        time.sleep(inside_s)
    time.sleep(after_s)
    return "awake"


def refuse(limited: Limited) -> None:
    with limited():
        raise QueryError("no", "hint")


class OddAnswer:
    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (None, "nothing")


def answer_oddly(limited: Limited) -> OddAnswer:
    with limited():
        pass
    return OddAnswer()


def die(limited: Limited, code: int) -> None:
    with limited():
        if code:
            os._exit(code)
        os.abort()


@pytest.mark.skipif(sys.platform != "linux", reason="nobody tells the memory")
def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(SELF)
    assert memory_of(os.getpid()) > 1 << 20
    with pytest.raises(CallEndedError, match="memory"):
        limited_call("test_query_limits", "take", (200,), CallLimits(50 << 20, 100.0))


def test_time_is_limited_only_as_long_as_the_call_says(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(SELF)
    limits = CallLimits(1 << 40, 0.2)
    assert limited_call("test_query_limits", "wait", (0.0, 0.4), limits) == "awake"
    with pytest.raises(CallEndedError, match="time"):
        limited_call("test_query_limits", "wait", (60.0, 0.0), limits)


def test_errors_and_ends_arrive(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(SELF)
    with pytest.raises(QueryError, match="no") as refused:
        limited_call("test_query_limits", "refuse", (), MUCH)
    assert refused.value.hint == "hint"
    with pytest.raises(CallEndedError, match="crash"):
        limited_call("test_query_limits", "die", (7,), MUCH)
    # Whatever its class raises where it is put together again.
    with pytest.raises(CallEndedError, match="crash"):
        limited_call("test_query_limits", "answer_oddly", (), MUCH)
