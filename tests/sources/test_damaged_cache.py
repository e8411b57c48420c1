"""A cache whose files changed on the disk never changes an answer."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import polars as pl
import pytest

import builders
import timesink
from timesink.errors import UnreadableError
from timesink.formats.parquet_folder import read_folder, write_folder
from timesink.model.trace import Trace
from timesink.sources.cache import Cache
from timesink.sources.kept_answers import KeptAnswer, KeptSummaries

DAMAGES = 500


def damage(content: bytes, chance: random.Random) -> bytes:
    """The content with a bit flipped, a stretch of zeros, or its end cut off."""
    at = chance.randrange(len(content))
    kind = chance.choice(["flip", "zeros", "cut"])
    if kind == "cut":
        return content[:at]
    if kind == "zeros":
        return content[:at] + bytes(min(4096, len(content) - at)) + content[at + 4096 :]
    return content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :]


def tables_of(trace: Trace) -> dict[str, pl.DataFrame]:
    return {name: trace.lazy(name).collect() for name in ("host", "device", "steps")}


def test_no_damage_changes_a_number(tmp_path: Path):
    file = builders.write(tmp_path / "a.json", builders.cuda_trace())
    trace = timesink.open(file, cache=False)
    folder = tmp_path / "kept"
    folder.mkdir()
    write_folder(trace, folder)
    expected, tables = repr((trace.metadata, trace.health)), tables_of(trace)
    chance = random.Random(20)  # noqa: S311 - which damage does not matter
    files = sorted(folder.iterdir())
    for _ in range(DAMAGES):
        hit = chance.choice(files)
        content = hit.read_bytes()
        hit.write_bytes(damage(content, chance))
        if hit.read_bytes() != content:
            try:
                read_back = read_folder(folder)
            except UnreadableError:
                pass
            else:
                # What was changed does not count, such as a blank between two words of JSON.
                assert repr((read_back.metadata, read_back.health)) == expected
                for name, table in tables_of(read_back).items():
                    assert table.equals(tables[name])
        hit.write_bytes(content)
    assert tables_of(read_folder(folder))["device"].equals(tables_of(trace)["device"])


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
