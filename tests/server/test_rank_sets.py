"""Sets of ranks kept between requests."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest

from timesink.analyses.ranks.rank_set import RankSet
from timesink.errors import UnreadableError
from timesink.server import library as rank_sets
from timesink.server.jobs import Report
from timesink.server.library import RunLibrary
from timesink.server.runs import ReachableFiles, ServedRun
from timesink.sources.recordings import Recording

RECORDINGS = [Recording(Path(f"rank{rank}.json"), f"rank{rank}") for rank in range(4)]


def run(name: str, recordings: list[Recording] = RECORDINGS) -> ServedRun:
    return ServedRun(name, Path(), ReachableFiles(Path(), follow_links=True), tuple(recordings))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many recordings were read, each time."""
    calls: list[int] = []

    def read_ranks(recordings: list[Recording], **_: object) -> RankSet:
        calls.append(len(recordings))
        return RankSet({}, {})

    monkeypatch.setattr("timesink.analyses.ranks.reading.read_ranks", read_ranks)
    return calls


def test_what_was_read_is_not_read_again(read: list[int]):
    sets = RunLibrary(".")
    assert sets.ranks(run("run"), "default") is sets.ranks(run("run"), "default")
    assert sets.ranks(run("other", RECORDINGS[:2]), "default") is not sets.ranks(
        run("run"), "default"
    )
    assert read == [4, 2]


def test_sets_used_longest_ago_are_let_go(read: list[int], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rank_sets, "MAX_RANKS", 4)
    sets = RunLibrary(".")
    for name in ("first", "second", "second", "first"):
        sets.ranks(run(name), "default")
    assert len(read) == 3


def test_who_asks_meanwhile_waits_for_the_same_and_sees_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch,
):
    half, go_on = Event(), Event()

    def read_ranks(recordings: list[Recording], **options: object) -> RankSet:
        options["progress"].of_set(2, len(recordings), 1)  # type: ignore[attr-defined]
        half.set()
        go_on.wait(10)
        return RankSet({}, {})

    monkeypatch.setattr("timesink.analyses.ranks.reading.read_ranks", read_ranks)
    sets, results, reports = RunLibrary("."), [], [Report(), Report()]
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


def test_what_failed_is_tried_again(monkeypatch: pytest.MonkeyPatch):
    fails = [UnreadableError("no", "hint"), None]

    def read_ranks(_: list[Recording], **__: object) -> RankSet:
        error = fails.pop(0)
        if error is not None:
            raise error
        return RankSet({}, {})

    monkeypatch.setattr("timesink.analyses.ranks.reading.read_ranks", read_ranks)
    sets = RunLibrary(".")
    with pytest.raises(UnreadableError):
        sets.ranks(run("run"), "default")
    assert sets.ranks(run("run"), "default") is not None
