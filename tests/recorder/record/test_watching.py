"""Counters follow the program: whose they are, and from when on they are kept."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from timesink.recorder import watch as watching
from timesink.recorder.counter_probes import wanted_counters
from timesink.recorder.watch import Watch

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    counters = wanted_counters("process_mem_rss,process_cpu_usage")
    file = tmp_path / "counters.csv"
    watch = Watch(tmp_path, file, os.getpid(), wanted=counters, interval_ms=10)
    yield watch
    watch.sampled()


def note(folder: Path, pid: int, event: str, **facts: object) -> None:
    with (folder / f"{pid}.jsonl").open("a") as notes:
        notes.write(json.dumps({"event": event, **facts}) + "\n")


def samples(folder: Path) -> list[list[str]]:
    lines = (folder / "counters.csv").read_text().splitlines()[1:]
    return [line.split(",") for line in lines]


def look_until(watch: Watch, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        watch.look()
        time.sleep(0.02)


def sampled_devices(folder: Path) -> set[str]:
    return {device for _, _, device, _ in samples(folder)}


def test_workers_are_sampled_beside_the_program(watch: Watch, tmp_path: Path):
    worker, helper = os.getppid(), 1
    note(tmp_path, worker, "torch", torch="2.11")
    note(tmp_path, helper, "python", version="3.12")
    both = {f"pid {os.getpid()}", f"pid {worker}"}
    look_until(watch, lambda: both <= sampled_devices(tmp_path))
    if worker != helper:
        assert sampled_devices(tmp_path) == both


def first_sample_us(folder: Path) -> int:
    return min((int(ts_us) for ts_us, *_ in samples(folder)), default=0)


def test_waiting_for_a_cycle_drops_old_samples(
    watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(watching, "_TRIMS_EVERY_S", 0.1)
    look_until(watch, lambda: len(samples(tmp_path)) > 2)
    begun_us = first_sample_us(tmp_path)
    note(tmp_path, os.getpid(), "torch", torch="2.11")
    look_until(watch, lambda: first_sample_us(tmp_path) > begun_us)


def test_without_torch_all_samples_are_kept(
    watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(watching, "_TRIMS_EVERY_S", 0.0)
    monkeypatch.setattr(watching, "_LOOKS_EVERY_S", 0.0)
    look_until(watch, lambda: len(samples(tmp_path)) > 2)
    begun_us = first_sample_us(tmp_path)
    look_until(watch, lambda: time.time_ns() // 1000 > begun_us + 1_500_000)
    # Sources are asked beside each other: an older sample may be written later.
    assert 0 < first_sample_us(tmp_path) <= begun_us


def test_counters_that_cannot_be_written_are_missing(tmp_path: Path):
    """The program runs already, and goes on."""
    file = tmp_path / "nowhere/counters.csv"
    watch = Watch(tmp_path, file, os.getpid(), wanted=wanted_counters("memory"), interval_ms=10)
    watch.look()
    sampled = watch.watched().sampled
    assert sampled.samples == 0
    assert {missing.counter for missing in sampled.missing} == wanted_counters("memory")
    assert "nowhere" in sampled.missing[0].why


def test_folder_that_is_gone_does_not_end_the_program(tmp_path: Path):
    gone, file = tmp_path / "gone", tmp_path / "counters.csv"
    watch = Watch(gone, file, 1, wanted=wanted_counters("none"), interval_ms=10)
    watch.look()
    assert not watch.is_ending()
    assert not watch.is_over


def note_recording(folder: Path, pid: int) -> None:
    note(folder, pid, "torch", torch="2.11")
    note(folder, pid, "window", started_us=time.time_ns() // 1000)
    note(folder, pid, "exported")


def test_sampling_rests_after_the_last_cycle_and_goes_on_for_a_program_that_comes_later(
    watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(watching, "_LATE_S", 0.0)
    rests: list[str] = []
    monkeypatch.setattr(watch._sampler, "rest", lambda: rests.append("rest"))
    monkeypatch.setattr(watch._sampler, "go_on", lambda: rests.append("go on"))
    note_recording(tmp_path, os.getpid())
    look_until(watch, lambda: rests[-1:] == ["rest"])
    note(tmp_path, os.getppid(), "torch", torch="2.11")
    look_until(watch, lambda: rests[-1:] == ["go on"])
    note_recording(tmp_path, os.getppid())
    look_until(watch, lambda: rests[-1:] == ["rest"])


def test_a_worker_that_has_not_begun_is_waited_for(
    watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(watching, "_LATE_S", 0.0)
    monkeypatch.setattr(watching, "_LOOKS_EVERY_S", 0.0)
    monkeypatch.setattr(watch._sampler, "rest", lambda: pytest.fail("it rests"))
    note_recording(tmp_path, os.getpid())
    note(tmp_path, os.getppid(), "torch", torch="2.11")
    for _ in range(5):
        watch.look()
