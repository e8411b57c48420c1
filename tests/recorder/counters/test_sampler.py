"""Sampling this machine: the file, what was recorded and what was not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sampling_counters import counters_of, rows_of, sampled_until, wait_for
from timesink.errors import OutputError, UsageError
from timesink.recorder.counter_probes import missing_in_words, wanted_counters
from timesink.recorder.counter_sampler import Sampler
from timesink.recorder.host_counters import describe_host

SOURCE = Path(__file__).resolve().parents[3] / "src"
SAMPLING = """
import os, sys
from pathlib import Path
from timesink.recorder.counter_probes import wanted_counters
from timesink.recorder.counter_sampler import Sampler
own = [os.getpid()]
sampler = Sampler(Path(sys.argv[1]), wanted=wanted_counters("all"), interval_ms=5, pids=lambda: own)
sampler.start()
sys.stdin.readline()
"""
ON_A_FULL_DISK = """
import resource, sys, time
from pathlib import Path
from timesink.recorder.counter_sampler import Lane
from timesink.recorder.counter_probes import MissingBook
from timesink.recorder.counter_probes import Probe, Sample
from timesink.recorder.counter_sampler import Rows
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
rows, book = Rows(Path(sys.argv[1])), MissingBook()
probe = Probe(("gpu_temp",), lambda now_s: [Sample("gpu_temp", "GPU 0", 41)])
lane = Lane("x", [probe], 0.01, rows, book)
for _ in range(300):
    lane.round(time.monotonic())
rows.close()
print(*book.named())
"""


def python(program: str, file: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(file)],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def is_whole(file: Path) -> bool:
    lines = file.read_text().split("\n")
    return lines[-1] == "" and all(line.count(",") == 3 for line in lines[:-1])


def test_what_this_machine_has_is_recorded_and_all_else_is_named(tmp_path):
    before_us = time.time_ns() // 1000
    sampled, rows = sampled_until(
        tmp_path,
        "all",
        lambda current_rows: {"host_cpu_usage", "process_cpu_usage"} <= counters_of(current_rows),
    )
    assert set(sampled.recorded) == counters_of(rows)
    named = [missing.counter for missing in sampled.missing]
    assert len(named) == len(set(named))
    assert set(named) | set(sampled.recorded) == wanted_counters("all")
    assert all(missing.why for missing in sampled.missing)
    times_us = [ts for ts, _, _, _ in rows]
    assert before_us <= min(times_us) <= max(times_us) <= time.time_ns() // 1000
    assert sampled.samples > 0
    assert sampled.cpu_pct is not None
    assert ("process_cpu_usage", f"pid {os.getpid()}") in {row[1:3] for row in rows}


def test_a_busy_process_shows_as_busy(tmp_path):
    def busy(rows: Any) -> bool:
        end_s = time.thread_time() + 0.05
        while time.thread_time() < end_s:
            pass
        process_values = [
            value for _, counter, device, value in rows if device == f"pid {os.getpid()}"
        ]
        return any(value > 5 for value in process_values)

    _, rows = sampled_until(tmp_path, "process_cpu_usage", busy, interval_ms=50)
    assert counters_of(rows) == {"process_cpu_usage"}


def test_a_sampler_that_rests_writes_nothing_and_goes_on(tmp_path: Path):
    file = tmp_path / "counters.csv"
    sampler = Sampler(
        file, wanted=wanted_counters("memory"), interval_ms=5, pids=lambda: [os.getpid()]
    )
    sampler.start()
    wait_for(lambda: len(rows_of(file)) > 3)
    sampler.rest()
    wait_for(lambda: grows_by(file, within_s=0.5) == 0)
    before = len(rows_of(file))
    sampler.go_on()
    wait_for(lambda: len(rows_of(file)) > before)
    sampler.stop()


def grows_by(file: Path, within_s: float) -> int:
    before = len(rows_of(file))
    time.sleep(within_s)
    return len(rows_of(file)) - before


def test_dropping_rows_while_others_are_written(tmp_path):
    file = tmp_path / "counters.csv"
    sampler = Sampler(file, wanted=wanted_counters("psi,memory"), interval_ms=1, pids=lambda: ())
    sampler.start()
    for _ in range(20):
        wait_for(lambda: bool(rows_of(file)))
        sampler.keep_from(time.time_ns() // 1000 + 10_000_000)
    sampler.stop()
    assert is_whole(file)


def test_a_killed_sampler_leaves_whole_lines(tmp_path):
    file = tmp_path / "counters.csv"
    started = python(SAMPLING, file)
    wait_for(lambda: file.exists() and file.stat().st_size > 5000)
    started.send_signal(signal.SIGKILL)
    started.communicate()
    assert is_whole(file)


def test_a_full_disk_leaves_whole_lines_and_is_named(tmp_path):
    file = tmp_path / "counters.csv"
    output, _ = python(ON_A_FULL_DISK, file).communicate()
    assert "why='not written to the end: " in output
    assert 2900 < file.stat().st_size <= 3000
    assert is_whole(file)


def test_stopping_twice_tells_the_same(tmp_path):
    sampler = Sampler(
        tmp_path / "c.csv", wanted=wanted_counters("psi"), interval_ms=10, pids=lambda: ()
    )
    sampler.start()
    assert sampler.stop() == sampler.stop()


def test_without_counters_there_is_no_file(tmp_path):
    sampler = Sampler(
        tmp_path / "c.csv", wanted=wanted_counters("none"), interval_ms=10, pids=lambda: ()
    )
    sampler.start()
    sampler.keep_from(0)
    assert sampler.stop().recorded == ()
    assert not (tmp_path / "c.csv").exists()


def test_a_place_that_cannot_be_written_is_said_at_once(tmp_path):
    sampler = Sampler(
        tmp_path / "no/c.csv", wanted=wanted_counters("psi"), interval_ms=10, pids=lambda: ()
    )
    with pytest.raises(OutputError, match="cannot be written"):
        sampler.start()


def test_an_interval_that_nobody_can_keep_is_refused(tmp_path):
    with pytest.raises(UsageError, match="0 ms is too short"):
        Sampler(tmp_path / "c.csv", wanted=wanted_counters("all"), interval_ms=0, pids=lambda: ())


def test_a_recorder_that_cannot_tell_its_processes_costs_only_their_counters(tmp_path):
    def broken() -> list[int]:
        raise RuntimeError("no control folder")

    file = tmp_path / "c.csv"
    counters = wanted_counters("psi,process_cpu_usage,process_runq_wait_pct")
    sampler = Sampler(file, wanted=counters, interval_ms=5, pids=broken)
    sampler.start()
    wait_for(lambda: len(rows_of(file)) > 3)
    message = missing_in_words(sampler.stop().missing)
    assert message == ("process_cpu_usage, process_runq_wait_pct: no control folder",)


def test_the_host_is_described(tmp_path):
    described = describe_host()
    assert 0 < described["cores"] <= described["machine_cores"]
    assert described["memory_bytes"] > 2**20
    assert describe_host(tmp_path)["memory_bytes"] is None


def test_only_the_standard_library_is_imported():
    program = (
        f"import sys; sys.path.insert(0, {str(SOURCE)!r});"
        "import timesink.recorder.counter_sampler;"
        "print(*{name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= {"timesink", "__main__"}
