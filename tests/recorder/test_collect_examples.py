"""Small examples of functions that other tests use only in passing."""

from __future__ import annotations

import inspect
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from timesink.errors import CollectError, UsageError
from timesink.recorder.agent.engine import Counting
from timesink.recorder.agent.entry import _only_launches
from timesink.recorder.agent.functions import FunctionName, tell_of_calls
from timesink.recorder.agent.hooks import name_fits
from timesink.recorder.counter_probes import (
    GrowthRate,
    Missing,
    missing_in_words,
    reason,
    seen_by_cuda,
    seen_by_hip,
    wanted_counters,
)
from timesink.recorder.counter_sampler import Sampler, describe_devices, next_moment_s
from timesink.recorder.folder import ProcessNotes, RecordingFolder, RecordPlan, is_interval
from timesink.recorder.host_counters import describe_host
from timesink.recorder.ncu.executable import crash_of, find_ncu
from timesink.recorder.ncu.plan import command_line, launch_picks, metrics_named
from timesink.recorder.ncu.process import Splitter
from timesink.recorder.ncu.table import NcuOutputs
from timesink.recorder.processes import (
    birth,
    check_program,
    children_by_parent,
    descendants,
    is_alive,
    is_running,
    mask_secrets,
)
from timesink.recorder.recording import Urgency, recorded_environment
from timesink.recorder.run_file import _is_even
from timesink.recorder.traces import (
    Range,
    TimelineRanges,
    _microseconds,
    _nanoseconds,
    measure_offset,
    nest_ranges,
)


def test_masking_masked():
    assert mask_secrets(
        ["python", "train.py", "--hf-token", "abc", "--lr=0.1", "wandb.api_key=abc"]
    ) == [
        "python",
        "train.py",
        "--hf-token",
        "***",
        "--lr=0.1",
        "wandb.api_key=***",
    ]
    assert mask_secrets(
        ["bash", "-c", "KEY='a b' python train.py --data https://me:abc@host/data"]
    ) == [
        "bash",
        "-c",
        "KEY=*** python train.py --data https://***@host/data",
    ]


def test_command_metrics_named():
    assert metrics_named("sm__warps_active.avg") == (
        "custom",
        ("gpu__time_duration.sum", "sm__warps_active.avg"),
    )


def test_command_shown():
    assert command_line(["ncu", "-k", "regex:a|b"]) == "ncu -k 'regex:a|b'"


def test_places_places_beside():
    assert NcuOutputs(Path("nowhere/run.csv.gz")).beside.as_posix() == "nowhere/run.ncu-rep"


def test_program_find_ncu():
    with pytest.raises(
        CollectError, match=re.escape("/nowhere/ncu: not a program that can be run")
    ):
        find_ncu("/nowhere/ncu")


def test_program_crash_of():
    assert crash_of(-11) == "signal 11, SIGSEGV"
    assert crash_of(139) == "signal 11, SIGSEGV"
    assert crash_of(1) == ""


def test_sampling_sampling():
    assert repr(launch_picks(7)) == "LaunchPicks(every=7, period=1000, picked=143)"
    assert repr(launch_picks(997)) == "LaunchPicks(every=997, period=10000, picked=10)"


def test_sampling_sampling_expression():
    assert launch_picks(10).expression == "[0-9]*(1)"
    assert launch_picks(50).expression == "1|[0-9]*(01|51)"


def test_splitting_splitter():
    splitter = Splitter()
    assert list(splitter.feed(b"loss 0.5 ==PROF== Connected to process 7 (x)\nmore")) == [
        ("program", b"loss 0.5 "),
        ("profiler", b"==PROF== Connected to process 7 (x)\n"),
        ("program", b"more"),
    ]


def test_processes_children_by_parent():
    assert os.getpid() in children_by_parent().get(os.getppid(), [os.getpid()])


def test_processes_descendants():
    assert descendants(2, {1: [2], 2: [3, 4], 4: [5]}) == (2, 3, 4, 5)


def test_processes_is_alive():
    assert is_alive(os.getpid())


def test_processes_birth():
    assert is_running(os.getpid(), birth(os.getpid()))


def test_program_check_program():
    with pytest.raises(CollectError, match=re.escape("nosuch: no such program")):
        check_program(["nosuch"])


def test_a_script_of_this_folder_can_be_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    with pytest.raises(CollectError) as refused:
        check_program(["./run.sh"])
    assert refused.value.hint == "chmod +x ./run.sh"
    (tmp_path / "run.sh").chmod(0o755)
    check_program(["./run.sh"])
    with pytest.raises(CollectError) as refused:
        check_program(["run.sh"])
    assert refused.value.hint == "write ./run.sh"


def test_agent_only_launches():
    assert _only_launches(["-m", "train.py"], ["python", "-m", "torch.distributed.run", "train.py"])
    assert _only_launches(["/bin/torchrun", "train.py"], ["python", "/bin/torchrun", "train.py"])
    assert not _only_launches(["train.py"], ["python", "-u", "train.py"])


def test_annotations_name_fits():
    assert name_fits("decode", "decode")
    assert name_fits("decode 12", "decode")
    assert name_fits("a_b", "a_*")
    assert not name_fits("decode_batch", "decode")


def test_counting_counting():
    counting = Counting(RecordPlan(cycles=1, skip=2, plain=0), begins=False)
    assert [counting.boundary(at).name for at in (10, 20, 30)] == ["PREPARE", "START", "FINISH"]
    assert counting.recorded_ns == [10]


def test_matching_functionname():
    wanted = FunctionName("Model.forward")
    assert wanted.may_be("forward")
    assert not wanted.may_be("backward")
    assert wanted.is_it("models", "Model.forward")
    assert not wanted.is_it("models", "Loss.forward")
    assert not FunctionName("train:main").is_it("test", "main")


def test_swapping_tell_of_calls():
    from contextlib import contextmanager

    calls = []

    @contextmanager
    def call() -> Iterator[None]:
        calls.append("called")
        yield

    def double(x: int, *, times: int = 2) -> int:
        return x * times

    put_back = tell_of_calls(double, call)
    assert double(3) == 6
    assert double(3, times=4) == 12
    assert calls == ["called", "called"]
    assert str(inspect.signature(double)) == "(x: 'int', *, times: 'int' = 2) -> 'int'"
    put_back()
    assert double(3) == 6
    assert calls == ["called", "called"]


def test_clock_measure_offset():
    from timesink.recorder.traces import Range

    ranges = TimelineRanges(0, [Range("a", "1", 10_000, 11_000), Range("b", "1", 20_000, 21_000)])
    assert (
        repr(measure_offset([("a", 14_000, 17_000), ("b", 23_000, 26_500)], ranges))
        == "Offset(offset_us=4.75, spread_us=0.75)"
    )


def test_environment_recorded_environment():
    environment = recorded_environment({"PYTHONPATH": "/mine"}, Path("/run/.control"))
    assert environment["PYTHONPATH"].endswith("site:/mine")
    assert environment["TIMESINK_RECORD"] == "/run/.control"


def test_nesting_nested():
    steps = [Range("timesink cycle 1", "1", 0, 100), Range("timesink cycle 2", "1", 101, 200)]
    spans = nest_ranges([*steps, Range("optimizer", "1", 90, 103)])
    assert [(new.start_ns, new.end_ns) for new in spans.values()] == [(0, 103), (103, 200)]


def test_notes_processnotes_last():
    assert ProcessNotes(7, ({"event": "torch", "version": "2"},)).last("torch")["version"] == "2"


def test_packing_nanoseconds():
    assert _nanoseconds(b"3905049162944.235") == 3905049162944235
    assert _nanoseconds(b"12") == 12000


def test_packing_microseconds():
    assert _microseconds(1005) == b"1.005"


def test_places_place_trace():
    assert RecordingFolder(Path("run")).trace("rank1").name == "trace.rank1.json.gz"


def test_plan_is_interval():
    assert is_interval(50)
    assert not is_interval(0)


def test_run_file_is_even():
    assert _is_even([10, 11, 12, 10, 90])
    assert not _is_even([10, 10, 25, 40, 90])
    assert not _is_even([10])


def test_urgency_urgency():
    urgency = Urgency()
    assert urgency.grows([signal.SIGTERM])
    assert not urgency.grows([signal.SIGTERM])
    assert not urgency.is_at_once


def test_counter_catalogue_wanted():
    assert sorted(wanted_counters("psi,gpu_power*"))[:3] == [
        "gpu_power_instant_mw",
        "gpu_power_limit_mw",
        "gpu_power_mw",
    ]
    assert not bool(wanted_counters("none"))
    assert "host_cpu_usage" in wanted_counters("all")
    with pytest.raises(UsageError, match=re.escape("no counter is called 'gpus'")):
        wanted_counters("gpus")


def test_counter_catalogue_missing_in_words():
    assert missing_in_words(
        [Missing("a", "no GPU"), Missing("b", "denied"), Missing("c", "no GPU")]
    ) == ("a, c: no GPU", "b: denied")
    assert missing_in_words([Missing("a", "no GPU"), Missing("b", "no GPU")], most=1) == (
        "a and 1 more: no GPU",
    )


def test_counter_probes_reason():
    assert (
        reason(PermissionError(13, "Permission denied", "/proc/1/stat"))
        == "/proc/1/stat: Permission denied"
    )
    assert reason(ValueError()) == "ValueError"


def test_counter_probes_growthrate():
    rate = GrowthRate()
    assert rate.of("bytes", 1.0, 500) is None
    assert rate.of("bytes", 3.0, 1500) == 500.0
    assert rate.of("bytes", 4.0, 900) is None


def test_counter_sampler_sampler():
    import os
    import tempfile

    from timesink.recorder.counter_probes import wanted_counters

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "counters.csv")

        sampler = Sampler(
            file, wanted=wanted_counters("memory"), interval_ms=20, pids=lambda: [os.getpid()]
        )
        sampler.start()
        sampled = sampler.stop()
        header = file.read_text().splitlines()[0]
    assert header == "timestamp_us,counter,device,value"
    assert sampled.interval_ms == 20


def test_counter_sampler_next_moment_s():
    assert [round(next_moment_s(now_s, 0.0, 0.05), 3) for now_s in (0.0, 0.049, 0.05, 0.13)] == [
        0.05,
        0.05,
        0.1,
        0.15,
    ]
    assert [round(next_moment_s(0.013, due_s, 0.05), 3) for due_s in (0.11, 0.13)] == [0.1, 0.15]


def test_gpu_counters_describe_devices():
    assert all(device["device"].startswith("GPU ") for device in describe_devices())


def test_gpu_devices_seen_by_cuda():
    uuids = ["GPU-aa11", "GPU-bb22", "GPU-cc33"]
    assert seen_by_cuda({"CUDA_VISIBLE_DEVICES": "GPU-bb,MIG-GPU-aa11/1/0,-1,2"}, uuids) == (1, 0)
    assert seen_by_cuda({}, uuids) == (0, 1, 2)
    assert seen_by_cuda({"CUDA_VISIBLE_DEVICES": ""}, uuids) == ()


def test_gpu_devices_seen_by_hip():
    uuids = ["GPU-aa11", "GPU-bb22", "GPU-cc33"]
    assert seen_by_hip({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, uuids) == (2,)


def test_host_description_describe_host():
    assert sorted(describe_host()) == ["cores", "cpu", "machine_cores", "memory_bytes", "system"]
