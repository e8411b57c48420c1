"""Equal recorded calls: a stretch of host code, a host or a device that is slower everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import BASE_NS, Event, kernel, kineto, operator, runtime, step, write
from compared_runs import timeline
from timesink.answers.comparison.report import ComparisonAnswer
from timesink.model.diagnosis import Diagnosis

CYCLES = 8


@pytest.fixture(autouse=True)
def kept_recordings(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings are read once for all of these."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))


def faults(shared: Path, *names: str) -> ComparisonAnswer:
    return timesink.compare(*(shared / "data/h200/faults" / name for name in names))


def why(comparison: ComparisonAnswer) -> Diagnosis:
    assert comparison.diagnosis is not None
    return comparison.diagnosis


# -- the host --------------------------------------------------------------------------------------


def test_nobody_is_sent_away_from_a_stretch_of_code_that_is_named(shared_root: Path):
    comparison = faults(shared_root, "normal", "python_stall")
    assert [cause.id for cause in why(comparison).causes] == ["host_code"]
    assert why(comparison).paces == ()
    assert "The recorded calls are the same, and so is their device time" in comparison.headline
    assert "is host code after the last operator of the step" in comparison.headline
    assert "ecord both" not in comparison.headline


# -- devices ---------------------------------------------------------------------------------------


def write_run(folder: Path, slow: float = 1.0, counters: dict[str, float] | None = None) -> Path:
    """A run whose kernels take so many times as long, with counters of its device."""
    folder.mkdir()
    pid = 4242 if slow == 1.0 else 4343
    document: dict[str, Any] = timeline(CYCLES, slow=slow, pid=pid, baseTimeNanoseconds=BASE_NS)
    write(folder / "trace.json", document)
    if counters:
        lines = ["timestamp_us,counter,device,value"]
        for at in range(0, 1000 * CYCLES, 100):
            now = BASE_NS // 1000 + at
            lines += [f"{now},{name},GPU 0,{value}" for name, value in counters.items()]
        (folder / "counters.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize(
    ("counter", "whose"),
    [
        ("gpu_mem_of_others_bytes", "Another program uses GPU 0"),
        ("gpu_mem_used", "Another process uses GPU 0"),
    ],
)
def test_a_second_process_is_seen_by_the_memory_it_takes(tmp_path: Path, counter: str, whose: str):
    usual = {"gpu_sm_frequency": 1980.0, "gpu_usage": 99.0, counter: 2e9}
    base = write_run(tmp_path / "base", counters=usual)
    new = write_run(tmp_path / "new", 2.1, usual | {counter: 2.6e9})
    diagnosis = why(timesink.compare(base, new))
    assert [(anomaly.id, anomaly.device) for anomaly in diagnosis.anomalies] == [
        ("gpu_contention", "GPU 0")
    ]
    assert diagnosis.anomalies[0].sentence.startswith(f"{whose}: {counter}")
    assert "2.10 times as long" in diagnosis.anomalies[0].sentence
    assert [cause.id for cause in diagnosis.causes] == ["gpu_contention"]
    assert diagnosis.paces == ()


LENGTHS_US = {"scale": 60.0, "norm": 150.0, "sum": 320.0, "gemm": 2600.0}


def of_kernels(path: Path, *, factor: float = 1.0, turn_us: float = 0.0) -> Path:
    """Kernels of four lengths; in turns with another process, one after the other is held up."""
    events: list[Event] = []
    for number in range(10):
        start = 20_000.0 * number
        events.append(step(number, start, 19_000 + number % 3))
        at = start + 50.0
        for place, (name, length) in enumerate(LENGTHS_US.items()):
            is_held_up = name == "gemm" or (number + place) % 3 == 0
            took = length * factor + turn_us * is_held_up
            correlation = 10 * number + place + 1
            events += [
                operator(f"aten::{name}", at - 20, 15),
                runtime("cudaLaunchKernel", at - 18, 10, correlation),
                kernel(f"{name}_kernel", at, took, correlation),
            ]
            at += took + 30
    for event in events:
        if event["cat"] != "kernel":
            event["pid"] = event["tid"] = 4242 if factor + turn_us == 1.0 else 4343
    return write(path, kineto(events))


def test_turns_of_another_process_are_seen_without_counters(tmp_path: Path):
    """Launches of any length are held up by one time: a device that takes turns."""
    base = of_kernels(tmp_path / "base.json")
    new = of_kernels(tmp_path / "new.json", turn_us=2500.0)
    diagnosis = why(timesink.compare(base, new))
    assert [cause.id for cause in diagnosis.causes] == ["gpu_contention"]
    assert "held up by 2.50 ms" in diagnosis.causes[0].sentence
    assert diagnosis.causes[0].cost_ns == pytest.approx(2.5e6 * (1 + 1.0), rel=0.1)
