"""What single functions of `store` answer, by example."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import timesink
from timesink.runtime.memory import return_free_memory
from timesink.sources.cache import Cache
from timesink.sources.kept_answers import (
    KeptAnswer,
    KeptSummaries,
    array_blocks,
    arrays_in,
    from_bytes,
    to_bytes,
)
from timesink.sources.opening import kept_as
from timesink.sources.recordings import Recording, RemoteFile
from timesink.sources.remote import remote_key


def test_answers_keptanswer_about() -> None:
    store = Cache(Path("cache"))
    first, second = (KeptAnswer.about(store, "k", ["steps", n]) for n in (1, 2))
    assert (first.file.parent == second.file.parent, first == second) == (True, False)


def test_answers_keptanswer_as_form() -> None:
    assert (
        KeptAnswer(Cache(Path("cache")), "k", "answer-1").as_form("html").name
    ) == "answer-1-html"


def test_arrays_array_blocks() -> None:
    content = b"".join(array_blocks({"cycles": 2}, {"ns": np.array([7, 9])}))
    arrays = arrays_in(content)
    assert (arrays.about, arrays.arrays["ns"].tolist()) == ({"cycles": 2}, [7, 9])


def test_arrays_arrays_in() -> None:
    assert arrays_in(b"half of it") is None


def test_cache_cache() -> None:
    assert (Cache(Path(tempfile.mkdtemp())).entries()) == []


def test_free_memory_return_free_memory() -> None:
    return_free_memory()


def test_opening_kept_as() -> None:
    trace = timesink.open(timesink.sample(), cache=False)
    assert kept_as(trace) is None


def test_remote_remote_key() -> None:
    assert (remote_key(Recording(Path("a.json"), "a", remote=RemoteFile("memory://a.json")))) == ""


def test_summaries_keptsummaries() -> None:
    first, second = (KeptSummaries(Cache(Path("cache")), steps) for steps in ("", "5-8"))
    assert (
        first.file("k").parent == second.file("k").parent,
        first.file("k") == second.file("k"),
    ) == (True, False)


def test_tables_from_bytes() -> None:
    assert from_bytes(b"half of it") is None


def test_tables_to_bytes() -> None:
    content = to_bytes({"cycles": 2}, {"lengths": pl.DataFrame({"ns": [7, 9]})})
    tables = from_bytes(content)
    assert (tables.about, tables.tables["lengths"]["ns"].to_list()) == ({"cycles": 2}, [7, 9])
