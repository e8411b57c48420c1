"""Sets of ranks kept between requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from builders import training_trace, write
from timesink.analyses.ranks.summary import summarise_rank, to_parquet
from timesink.errors import UnreadableError
from timesink.runtime.engine import Call, Done
from timesink.server.jobs import Report
from timesink.server.library import RunLibrary
from timesink.server.runs import ReachableFiles, ServedRun
from timesink.sources.opening import open_trace
from timesink.sources.recordings import Recording

RECORDINGS = [Recording(Path(f"rank{rank}.json"), f"rank{rank}") for rank in range(4)]


def run(name: str, recordings: list[Recording] = RECORDINGS) -> ServedRun:
    return ServedRun(name, Path(), ReachableFiles(Path(), follow_links=True), tuple(recordings))


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What is made of a rank."""
    file = write(tmp_path_factory.mktemp("rank") / "rank.json", training_trace(1))
    return to_parquet(summarise_rank(open_trace(file, cache=False)))


class CountingEngine:
    """Gives one summary for every recording, and counts them."""

    name = "counting"

    def __init__(self, summary: bytes) -> None:
        self.summary = summary
        self.calls: list[int] = []

    def run(self, _call: Call, items: Sequence[Any]) -> Iterator[Done]:
        self.calls.append(len(items))
        return (Done(place, self.summary) for place in range(len(items)))


@pytest.fixture
def engine(summary: bytes) -> CountingEngine:
    return CountingEngine(summary)


def test_what_was_read_is_not_read_again(engine: CountingEngine):
    sets = RunLibrary(".", engine=engine, cache=False)
    assert sets.ranks(run("run"), "default") is sets.ranks(run("run"), "default")
    assert sets.ranks(run("other", RECORDINGS[:2]), "default") is not sets.ranks(
        run("run"), "default"
    )
    assert engine.calls == [4, 2]


def test_sets_used_longest_ago_are_let_go(engine: CountingEngine):
    sets = RunLibrary(".", engine=engine, cache=False, max_ranks=4)
    for name in ("first", "second", "second", "first"):
        sets.ranks(run(name), "default")
    assert len(engine.calls) == 3


def test_who_asks_meanwhile_waits_for_the_same_and_sees_how_far_it_is(summary: bytes):
    half, go_on = Event(), Event()

    class SlowEngine(CountingEngine):
        def run(self, _call: Call, items: Sequence[Any]) -> Iterator[Done]:
            yield Done(0, None, UnreadableError("no", "hint"))
            yield Done(1, summary)
            half.set()
            go_on.wait(10)
            yield from (Done(place, summary) for place in range(2, len(items)))

    sets = RunLibrary(".", engine=SlowEngine(summary), cache=False)
    results, reports = [], [Report(), Report()]
    threads = [
        Thread(
            target=lambda report=report: results.append(
                sets.ranks(run("run"), "default", report=report)
            )
        )
        for report in reports
    ]
    threads[0].start()
    half.wait(10)
    threads[1].start()
    while not reports[1].doing:
        pass
    states = [(report.doing, report.share) for report in reports]
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert states == [("reading ranks: 2 of 4, 1 damaged", 0.5)] * 2
    assert results[0] is results[1]


def test_what_failed_is_tried_again(summary: bytes):
    class FailingOnce(CountingEngine):
        def run(self, call: Call, items: Sequence[Any]) -> Iterator[Done]:
            if not self.calls:
                self.calls.append(len(items))
                raise UnreadableError("no", "hint")
            return super().run(call, items)

    sets = RunLibrary(".", engine=FailingOnce(summary), cache=False)
    with pytest.raises(UnreadableError):
        sets.ranks(run("run"), "default")
    assert sets.ranks(run("run"), "default") is not None
