"""Pickles of strangers: plain values are read, and nothing else is run."""

from __future__ import annotations

import os
import pickle
import random
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from memory_snapshots import train
from timesink.errors import UnreadableError
from timesink.formats import plain_pickle
from timesink.formats.plain_pickle import (
    Interpreter,
    PickleRefusedError,
    is_pickle,
    load_plain,
)
from timesink.formats.source_file import open_source
from timesink.runtime.native import native_module

VALUES: dict[str, Any] = {
    "numbers": [0, 1, 255, 256, 65536, -1, 2**31, 2**63, -(2**62), 1.5, -2.0, True, False, None],
    "texts": ["", "a", "é" * 200, "x" * 70_000, "\ud800"],
    "bytes": b"abc" * 100,
    "nested": [{"a": [{"b": [1, [2, [3]]]}]}, (1, 2), (1,), (), (1, 2, 3), (1, 2, 3, 4)],
    1: "a number as key",
}


def _write(path: Path, content: bytes) -> Path:
    file = path / "some.pickle"
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_values_are_read(tmp_path: Path, protocol: int):
    # Protocol 2 writes bytes as a call.
    values = {key: value for key, value in VALUES.items() if protocol > 2 or key != "bytes"}
    file = _write(tmp_path, pickle.dumps(values, protocol))
    assert load_plain(open_source(file)) == values
    assert Interpreter(open_source(file)).run() == values


def test_gzip_is_unpacked(tmp_path: Path):
    import gzip

    file = _write(tmp_path, gzip.compress(pickle.dumps([1, 2])))
    assert load_plain(open_source(file)) == [1, 2]


@pytest.mark.parametrize("chunk", [1, 1000, 50_000])
def test_chunks_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int):
    snapshot = train(30).snapshot()
    file = _write(tmp_path, pickle.dumps(snapshot))
    monkeypatch.setattr(plain_pickle, "CHUNK_BYTES", chunk)
    monkeypatch.setattr(plain_pickle, "_PATTERN_BYTES", 333)
    assert plain_pickle._load_checked(open_source(file), None) == snapshot


def test_what_is_taken_away_is_not_there_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    snapshot = train(60).snapshot()
    events = len(snapshot["device_traces"][0])
    file = _write(tmp_path, pickle.dumps(snapshot))
    monkeypatch.setattr(plain_pickle, "CHUNK_BYTES", 2000)
    taken: list[Any] = []

    def drain(stack: list[list[Any]]) -> None:
        for level in stack:
            for value in level:
                if isinstance(value, list) and value and "action" in (value[0] or ()):
                    taken.extend(value)
                    value.clear()

    rest = load_plain(open_source(file), lambda: drain)["device_traces"][0]
    assert taken
    assert len(taken) + len(rest) == events
    assert [*taken, *rest] == snapshot["device_traces"][0]


class Evil:
    """Asks to run a command."""

    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/timesink-was-here",)


HOSTILE = {
    "a call": lambda protocol: pickle.dumps({"segments": [Evil()]}, protocol),
    "a class": lambda protocol: pickle.dumps({"segments": OrderedDict}, protocol),
    "an object": lambda protocol: pickle.dumps([OrderedDict(a=1)], protocol),
    "a set": lambda protocol: pickle.dumps({"segments": {1, 2}}, protocol),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("protocol", [2, 4])
def test_hostile_pickles_are_refused(tmp_path: Path, name: str, protocol: int):
    file = _write(tmp_path, HOSTILE[name](protocol))
    with pytest.raises(PickleRefusedError) as refusal:
        load_plain(open_source(file))
    assert "nothing of it was run" in refusal.value.message
    assert not Path("/tmp/timesink-was-here").exists()  # noqa: S108 - what it would have made


BROKEN = {
    "empty": b"\x80\x04",
    "a huge text": b"\x80\x04\x8d" + (2**40).to_bytes(8, "little"),
    "a huge number": b"\x80\x04\x8b" + (2**30).to_bytes(4, "little"),
    "a huge place": b"\x80\x02}r" + (2**32 - 1).to_bytes(4, "little") + b".",
    "a place that is not there": b"\x80\x04h\x07.",
    "no mark": b"\x80\x04]e.",
    "no value": b"\x80\x04.",
    "a key without value": b"\x80\x04}(K\x01u.",
    "a tuple as key": b"\x80\x04}(N\x85K\x03u.",
    "a list as key": b"\x80\x04}(]K\x03u.",
    "many marks": b"\x80\x04" + b"(" * 100_000 + b".",
    "an extension": b"\x80\x04\x82\x01.",
    "a stack of tuples": b"\x80\x04)" + b"\x85" * 200_000 + b".",
    "more values than bytes allow": b"\x80\x04" + b"]" * 700_000 + b".",
    "unknown": b"\x80\x04\xff.",
    "an endless line": b"\x80\x02I" + b"1" * 100_000,
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_pickles_are_errors(tmp_path: Path, name: str):
    file = _write(tmp_path, BROKEN[name])
    with pytest.raises(UnreadableError) as error:
        load_plain(open_source(file))
    assert len(error.value.message.splitlines()) == 1
    assert error.value.hint


@pytest.mark.skipif(native_module() is None, reason="nothing was compiled")
def test_both_readers_have_the_same_bounds(tmp_path: Path):
    def is_read(content: bytes) -> tuple[bool, bool]:
        file = _write(tmp_path, b"\x80\x04" + content + b".")
        compiled = plain_pickle._load_compiled(open_source(file)) is not None
        try:
            Interpreter(open_source(file)).run()
        except UnreadableError:
            return compiled, False
        return compiled, True

    # Beyond 2**19 values, each takes twelve bytes.
    assert is_read(b"(" + b")" * 571_000 + b"t") == (True, True)
    assert is_read(b"(" + b")" * 572_300 + b"t") == (False, False)


def test_deep_values_do_not_exhaust_the_stack(tmp_path: Path):
    file = _write(tmp_path, b"\x80\x04" + b"]" * 300_000 + b"a" * 299_999 + b".")
    value = load_plain(open_source(file))
    assert isinstance(value, list)


def test_mutants_are_read_or_refused(tmp_path: Path):
    clean = pickle.dumps(train(3).snapshot())
    for seed in range(int(os.environ.get("TIMESINK_MUTANTS", "30"))):
        rng = random.Random(seed)  # noqa: S311 - the same in every run
        content = bytearray(clean)
        for _ in range(rng.choice((1, 3, 20))):
            content[rng.randrange(len(content))] = rng.randrange(256)
        cut = rng.randrange(len(content)) if seed % 4 == 0 else len(content)
        file = _write(tmp_path, bytes(content[:cut]))
        try:
            load_plain(open_source(file))
        except UnreadableError as error:
            assert error.hint  # noqa: PT017 - others are read


def test_only_pickles_look_like_pickles():
    assert is_pickle(pickle.dumps(1))
    assert not is_pickle(b"\x80\x09abc")
    assert not is_pickle(b"{}")
