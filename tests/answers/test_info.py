"""The answer of `timesink info` as people see it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

import timesink
from builders import cuda_trace, kernel, kineto, operator, runtime, training_trace, write
from timesink.answers.info import info_document
from timesink.answers.info_report import Info, describe_folder, describe_trace
from timesink.output import terminal
from timesink.sources.discovery import find_recordings
from timesink.sources.opening import open_each


def to_text(info: Info) -> str:
    return terminal.to_text(info_document(info))


def describe(file: Path) -> Info:
    return Info(str(file), (describe_trace(timesink.open(file)),))


def test_one_trace(tmp_path: Path):
    info = describe(write(tmp_path / "trace.json", cuda_trace()))
    assert (
        to_text(info)
        == dedent("""\
        trace.json: 16 events; the device was busy 42.9 % of 56.0 us

        Recording
        fit          yes
        device       NVIDIA H200 (1 used of 1 listed)
        vendor       NVIDIA (CUDA)
        framework    PyTorch
        rank         not named, 0 assumed
        steps        1
        span         400.5 us, first to last event, as recorded
        device span  56.00 us, first to last device work
        device busy  24.00 us (42.9 %)
        host         1 operator, 1 annotation
        calls        3 runtime calls, 1 driver call
        device work  1 kernel, 1 memcpy, 1 memset
        other        1 memory event, 2 flows
        format       kineto, unix clock

        Trace health
        info     the trace does not name its rank
                 rank 0 is assumed
                 advice: initialise torch.distributed before the profiler, or put rank<N> in the file name""")  # noqa: E501
    )


def test_folder(tmp_path: Path):
    for name, steps in (("rank0", 1), ("rank1", 2)):
        document = training_trace(steps)
        document["distributedInfo"] = {"rank": int(name[4:]), "world_size": 2}
        write(tmp_path / f"{name}.7.pt.trace.json", document)
    info = describe_folder("/runs/job", open_each(find_recordings(tmp_path)))
    assert to_text(info) == dedent("""\
        job: 76 events in 2 traces; devices were busy 17.1 % of 1.40 ms in all

        Traces (2)
        trace         rank  events  kernels  steps  device span    busy
        rank0 span 1     0      26        4      1     200.0 us  40.0 %
        rank1 span 1     1      50        8      2      1.20 ms  13.3 %

        Trace health
          No problems found in the recording.""")


def test_traces_of_one_name_are_told_apart_by_their_folder(tmp_path: Path):
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "worker0.1.pt.trace.json", training_trace(1))
    text = to_text(describe_folder("runs", open_each(find_recordings(tmp_path))))
    assert "after/worker0 span 1" in text
    assert "before/worker0 span 1" in text


def test_narrow_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("COLUMNS", "60")
    terminal.print_text(info_document(describe(write(tmp_path / f"{'x' * 30}.json", cuda_trace()))))
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines[:2]).endswith(".json: 16 events; the device was busy 42.9 % of 56.0 us")
    assert max(map(len, lines)) <= 60


def test_device_numbered_unlike_it_is_listed(tmp_path: Path):
    document = kineto(
        [kernel("k", 1, 2, 3, device=9)], deviceProperties=[{"id": 0, "name": "MI300X"}]
    )
    text = to_text(describe(write(tmp_path / "trace.json", document)))
    assert "MI300X (1 used of 1 listed)" in text


def test_trace_without_device_work(tmp_path: Path):
    text = to_text(describe(write(tmp_path / "trace.json", kineto([]))))
    assert text.startswith("trace.json: 0 events, no device activity\n")
    assert "device busy  -" in text


def test_a_device_that_works_only_at_the_end_is_told_both_ways(tmp_path: Path):
    launch = runtime("cudaLaunchKernel", 880, 10, 1)
    events = [operator("aten::mm", 0, 900), launch, kernel("gemm", 1000, 1000, 1)]
    info = describe(write(tmp_path / "trace.json", kineto(events)))
    assert (
        to_text(info)
        .splitlines()[0]
        .endswith("the device was busy 100 % of 1.00 ms, 50.0 % of the recorded 2.00 ms")
    )
