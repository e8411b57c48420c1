"""A cache whose files changed on the disk never changes an answer."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import builders
import timesink
from timesink.model.trace import Trace
from timesink.sources.cache import Cache
from timesink.sources.kept_answers import KeptAnswer, KeptSummaries


def tables_of(trace: Trace) -> dict[str, pl.DataFrame]:
    return {name: trace.lazy(name).collect() for name in ("host", "device", "steps")}


@pytest.mark.parametrize("name", ["host.parquet", "device.parquet", "trace.json"])
def test_a_broken_entry_is_replaced_by_reading_the_file_again(tmp_path: Path, name: str):
    store = Cache(tmp_path / "cache")
    file = builders.write(tmp_path / "a.json", builders.cuda_trace())
    key = store.key([file])
    trace = timesink.open(file, cache=False)
    store.save(key, trace)
    broken = store.folder(key) / name
    shutil.copy(broken, tmp_path / "whole")
    content = broken.read_bytes()
    broken.write_bytes(content[:100] + bytes([content[100] ^ 16]) + content[101:])
    assert store.load(key) is None
    assert not store.holds(key)
    store.save(key, trace)
    again = store.load(key)
    assert again is not None
    assert tables_of(again)["host"].equals(tables_of(trace)["host"])


def test_a_kept_answer_that_changed_is_asked_for_again(tmp_path: Path):
    store = Cache(tmp_path / "cache")
    file = builders.write(tmp_path / "a.json", builders.cuda_trace())
    key = store.key([file])
    store.save(key, timesink.open(file, cache=False))
    answer, summaries = KeptAnswer.about(store, key, ["steps"]), KeptSummaries(store)
    answer.save(b"12345")
    summaries.save(key, b"12345")
    for place in (answer.file, summaries.file(key)):
        place.write_bytes(place.read_bytes().replace(b"3", b"4"))
    assert (answer.load(), answer.map(), summaries.load(key)) == (None, None, None)
