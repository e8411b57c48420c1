"""Keeping a trace in the cache while the caller works with it."""

from __future__ import annotations

from pathlib import Path

import builders
from timesink.sources.cache import Cache, after_saving, wait_until_saved
from timesink.sources.discovery import find_recordings
from timesink.sources.opening import key_of, open_recording


def test_next_opening_waits_for_what_is_being_kept(tmp_path: Path):
    recording = find_recordings(builders.write(tmp_path / "a.json", builders.cuda_trace()))[0]
    store = Cache(tmp_path / "cache")
    read = open_recording(recording, store, in_background=True)
    cached = open_recording(recording, store)
    assert store.holds(key_of(recording, store))
    assert cached.device.equals(read.device)


def test_answer_is_kept_as_soon_as_its_trace_is(tmp_path: Path):
    recording = find_recordings(builders.write(tmp_path / "a.json", builders.cuda_trace()))[0]
    store = Cache(tmp_path / "cache")
    open_recording(recording, store, in_background=True)
    key, seen = key_of(recording, store), []
    after_saving(store, key, lambda: seen.append(store.holds(key)))
    wait_until_saved(store, key)
    assert seen == [True]


def test_cache_that_cannot_be_written_is_no_error(tmp_path: Path):
    recording = find_recordings(builders.write(tmp_path / "a.json", builders.cuda_trace()))[0]
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    store = Cache(blocked)
    assert open_recording(recording, store, in_background=True).device.height
    assert not store.holds(key_of(recording, store))
