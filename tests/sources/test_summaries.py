"""Summaries of ranks in the cache: their own folder, counted, cleared and dropped like the rest."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from timesink.sources import kept_answers as summaries_module
from timesink.sources.cache import Cache
from timesink.sources.kept_answers import KeptSummaries


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", limit_bytes=1000)


def summaries_in(cache: Cache, steps: str = "") -> KeptSummaries:
    return KeptSummaries(cache, steps)


def test_what_was_kept_comes_back(cache: Cache):
    summaries_in(cache).save("key", b"summary")
    assert summaries_in(cache).load("key") == b"summary"
    assert summaries_in(cache).load("other") is None
    assert summaries_in(cache).load("") is None


def test_another_question_and_another_state_of_the_code_have_their_own(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
):
    summaries_in(cache).save("key", b"all steps")
    assert summaries_in(cache, "5-8").load("key") is None
    monkeypatch.setattr(summaries_module, "state_of_code", lambda: b"changed")
    assert summaries_in(cache).load("key") is None


def test_they_are_listed_and_cleared(cache: Cache):
    summaries_in(cache).save("a", b"12345")
    summaries_in(cache).save("b", b"123")
    strange = cache.summaries / "notes.txt"
    strange.write_text("mine")
    assert sorted(entry.bytes for entry in cache.summary_entries()) == [
        12,
        14,
    ]  # with their checksums
    assert cache.entries() == []
    assert len(cache.clear()) == 2
    assert cache.summary_entries() == []
    assert strange.exists()


def test_the_least_recently_used_go_first(cache: Cache):
    for place, key in enumerate("abc"):
        summaries_in(cache).save(key, b"x" * 400)
        os.utime(summaries_in(cache).file(key), (place, place))
    summaries_in(cache).load("a")
    cache.settle()
    assert summaries_in(cache).load("b") is None
    assert summaries_in(cache).load("a")
    assert summaries_in(cache).load("c")


def test_a_broken_one_can_be_forgotten(cache: Cache):
    summaries_in(cache).save("key", b"broken")
    summaries_in(cache).forget("key")
    summaries_in(cache).forget("key")
    assert summaries_in(cache).load("key") is None


def test_what_crashed_processes_left_goes_away(cache: Cache):
    summaries_in(cache).save("key", b"summary")
    left = cache.summaries / ".writing-abc"
    left.write_bytes(b"half")
    cache.settle()
    assert left.exists()
    os.utime(left, (0, 0))
    cache.settle()
    assert not left.exists()


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path):
    (tmp_path / "file").write_text("")
    nowhere = KeptSummaries(Cache(tmp_path / "file"))
    nowhere.save("key", b"summary")
    assert nowhere.load("key") is None
    nothing = KeptSummaries(Cache(tmp_path / "cache", limit_bytes=0))
    nothing.save("key", b"summary")
    assert nothing.load("key") is None
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)


def test_two_that_were_exchanged_are_made_again(cache: Cache):
    summaries_in(cache).save("a", b"of a")
    summaries_in(cache).save("b", b"of b")
    first, second = (summaries_in(cache).file(key) for key in "ab")
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    assert [summaries_in(cache).load(key) for key in "ab"] == [None, None]
