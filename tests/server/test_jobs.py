"""Heavy work: once per question, few at once, nothing piles up."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event as Signal
from threading import Thread
from typing import Any

import pytest

from timesink.errors import NotFoundError
from timesink.server.jobs import BusyError, Jobs, Report, StillWorking

AT_ONCE_NOT_WAITING = 0.0


class Clock:
    """A clock that tests turn forward."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """Work that goes on when it is told to, and counts how often it was done."""

    def __init__(self, value: Any = "done") -> None:
        self.value, self.done = value, 0
        self.started, self.go_on = Signal(), Signal()

    def __call__(self, report: Report) -> Any:
        self.done += 1
        advance = report.start("reading a.json")
        advance(1, 4)
        self.started.set()
        self.go_on.wait()
        return self.value


def start(jobs: Jobs, key: str, work: Callable[[Report], Any]) -> StillWorking:
    """Ask for work that takes longer than anybody waits."""
    with pytest.raises(StillWorking) as caught:
        jobs.ask(key, work, wait_s=AT_ONCE_NOT_WAITING)
    return caught.value


def test_what_takes_long_is_told_with_its_progress_until_it_is_there():
    jobs, work = Jobs(), Slow()
    start(jobs, "a", work)
    work.started.wait()
    status = start(jobs, "a", work).progress_fields()
    assert (status["doing"], status["share"]) == ("reading a.json", 0.25)
    work.go_on.set()
    assert jobs.ask("a", work) == "done"


def test_the_same_question_is_worked_on_once_and_kept():
    jobs, work = Jobs(), Slow()
    answers: list[str] = []
    askers = [Thread(target=lambda: answers.append(jobs.ask("a", work))) for _ in range(5)]
    for asker in askers:
        asker.start()
    work.started.wait()
    work.go_on.set()
    for asker in askers:
        asker.join()
    assert (answers, jobs.ask("a", work), work.done) == (["done"] * 5, "done", 1)


def test_few_are_worked_on_at_once_and_others_wait_their_turn():
    jobs = Jobs(at_once=2)
    works = [Slow(number) for number in range(3)]
    for number, work in enumerate(works):
        start(jobs, str(number), work)
    works[0].started.wait()
    works[1].started.wait()
    assert "waiting for other requests" in start(jobs, "2", works[2]).progress_fields()["doing"]
    assert not works[2].started.is_set()
    for work in works:
        work.go_on.set()
    assert jobs.ask("2", works[2]) == 2


def test_a_full_queue_is_told_at_once():
    jobs, first, second = Jobs(at_once=1, most_waiting=1), Slow(), Slow()
    start(jobs, "first", first)
    first.started.wait()
    start(jobs, "second", second)
    with pytest.raises(BusyError, match="busy"):
        jobs.ask("third", Slow())
    first.go_on.set()
    second.go_on.set()
    assert jobs.ask("second", second) == "done"


def test_what_nobody_asks_for_any_longer_is_not_begun():
    clock = Clock()
    jobs, first, left, wanted = Jobs(at_once=1, clock=clock), Slow(), Slow(), Slow()
    start(jobs, "first", first)
    first.started.wait()
    start(jobs, "left", left)
    clock.now += 10
    start(jobs, "wanted", wanted)
    wanted.go_on.set()
    first.go_on.set()
    assert jobs.ask("wanted", wanted) == "done"
    assert left.done == 0


def test_answers_are_kept_for_a_while_and_up_to_so_many_bytes():
    clock = Clock()
    jobs = Jobs(clock=clock, most_bytes=10, size=len)
    calls = []

    def find(report: Report) -> str:
        calls.append(report)
        return "sixsix"

    jobs.ask("a", find)
    jobs.ask("a", find)
    assert len(calls) == 1
    jobs.ask("b", find)
    jobs.ask("a", find)
    assert len(calls) == 3, "both together are too large"
    clock.now += 3600
    jobs.ask("a", find)
    assert len(calls) == 4


def test_errors_reach_everybody_who_asks_and_are_not_kept_for_long():
    clock = Clock()
    jobs, failed = Jobs(clock=clock), []

    def fail(report: Report) -> None:
        failed.append(report)
        raise NotFoundError("nothing there")

    for _ in range(2):
        with pytest.raises(NotFoundError, match="nothing there"):
            jobs.ask("a", fail)
    assert len(failed) == 1
    clock.now += 60
    with pytest.raises(NotFoundError):
        jobs.ask("a", fail)
    assert len(failed) == 2


def test_whoever_waits_for_the_work_of_another_sees_its_progress():
    reading, waiting = Report(), Report("waiting")
    advance = reading.start("reading a.json", "putting it together")
    waiting.follow(reading)
    advance(1, 2)
    assert (waiting.doing, waiting.share) == ("reading a.json", 0.5)
    advance(2, 2)
    assert (waiting.doing, waiting.share) == ("putting it together", None)
