"""Answers that are found once per trace."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from weakref import ref

import timesink
from builders import kineto, operator, write
from timesink.analyses.columns import memoize_per_trace, seed_memo
from timesink.model.trace import Metadata, Trace


def a_trace() -> Trace:
    return Trace(Metadata("a.json", "kineto", "cpu", events=0))


def test_found_once_per_trace_and_options():
    calls = []

    @memoize_per_trace
    def analysis(trace: Trace, *, size: int = 1) -> int:
        calls.append((trace, size))
        return size

    first, second = a_trace(), a_trace()
    assert [analysis(first), analysis(first), analysis(first, size=2), analysis(second)] == [
        1,
        1,
        2,
        1,
    ]
    assert calls == [(first, 1), (first, 2), (second, 1)]


def test_threads_wait_for_the_first():
    started, calls = Event(), []

    @memoize_per_trace
    def analysis(trace: Trace) -> int:
        calls.append(trace)
        started.wait(5)
        return 7

    trace = a_trace()
    with ThreadPoolExecutor(2) as threads:
        answers = [threads.submit(analysis, trace) for _ in range(2)]
        started.set()
    assert [answer.result() for answer in answers] == [7, 7]
    assert len(calls) == 1


def test_remembered_answer_replaces_the_analysis():
    @memoize_per_trace
    def analysis(trace: Trace) -> str:
        return trace.metadata.source

    trace = a_trace()
    seed_memo(trace, analysis, "said before")
    assert analysis(trace) == "said before"


def test_answers_go_with_their_trace(tmp_path: Path):
    class Answer:
        pass

    @memoize_per_trace
    def analysis(_trace: Trace) -> Answer:
        return Answer()

    # One that nobody else holds.
    trace = timesink.open(write(tmp_path / "own.json", kineto([operator("aten::mm", 0, 9)])))
    answer = ref(analysis(trace))
    assert answer() is not None
    del trace
    gc.collect()
    assert answer() is None
