"""Answers kept beside a cached trace."""

from __future__ import annotations

from pathlib import Path

import builders
import timesink
from timesink.sources import kept_answers as answers
from timesink.sources.cache import Cache
from timesink.sources.kept_answers import KeptAnswer


def kept_trace(tmp_path: Path) -> tuple[Cache, str]:
    store, file = (
        Cache(tmp_path / "cache"),
        builders.write(tmp_path / "a.json", builders.cuda_trace()),
    )
    key = store.key([file])
    store.save(key, timesink.open(file, cache=False))
    return store, key


def test_answer_comes_back_to_the_same_question_only(tmp_path: Path):
    store, key = kept_trace(tmp_path)
    KeptAnswer.about(store, key, ["steps", "5-8"]).save(b"{}")
    assert KeptAnswer.about(store, key, ["steps", "5-8"]).load() == b"{}"
    assert KeptAnswer.about(store, key, ["steps", "5-9"]).load() is None


def test_answer_does_not_outlive_the_code(tmp_path: Path, monkeypatch):
    store, key = kept_trace(tmp_path)
    KeptAnswer.about(store, key, []).save(b"{}")
    monkeypatch.setattr(answers, "state_of_code", lambda: b"changed")
    assert KeptAnswer.about(store, key, []).load() is None


def test_answer_goes_with_its_trace_and_the_trace_stays_readable(tmp_path: Path):
    store, key = kept_trace(tmp_path)
    answer = KeptAnswer.about(store, key, [])
    answer.save(b"{}")
    assert store.load(key) is not None
    store.clear()
    assert answer.load() is None


def test_answer_about_a_trace_that_is_not_kept_is_not_kept(tmp_path: Path):
    answer = KeptAnswer.about(Cache(tmp_path / "cache"), "0" * 32, [])
    answer.save(b"{}")
    assert answer.load() is None
    assert not list(tmp_path.iterdir())


def test_answers_that_were_exchanged_are_given_anew(tmp_path: Path):
    store = Cache(tmp_path, limit_bytes=10_000)
    places = [KeptAnswer(store, key, "answer-1") for key in ("a", "b")]
    for number, place in enumerate(places):
        place.file.parent.mkdir(parents=True)
        place.save(f"{number}".encode())
    assert [place.load() for place in places] == [b"0", b"1"]
    contents = [place.file.read_bytes() for place in places]
    for place, content in zip(places, reversed(contents), strict=True):
        place.file.write_bytes(content)
    assert [place.load() for place in places] == [None, None]
    assert [place.map() for place in places] == [None, None]
