"""What is said about folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import training_trace, write
from timesink.answers.info_report import Info, describe_folder
from timesink.errors import UnreadableError
from timesink.sources.discovery import find_recordings
from timesink.sources.opening import open_each


def describe(folder: Path) -> Info:
    return describe_folder(str(folder), open_each(find_recordings(folder), jobs=1))


def add_rank(folder: Path, rank: int | None, *, world_size: int = 4, device: int = 0) -> None:
    document = training_trace(1)
    document["distributedInfo"] = {"rank": rank, "world_size": world_size}
    document["deviceProperties"] = [{"id": device, "name": "NVIDIA H200"}]
    write(folder / f"worker{rank}.1.pt.trace.json", document)


def test_ranks_without_a_trace_are_named(tmp_path: Path):
    for rank in (0, 3):
        add_rank(tmp_path, rank)
    (missing,) = (entry for entry in describe(tmp_path).health if entry.code == "missing_rank")
    assert (missing.count, missing.example) == (2, "1, 2")


def test_one_trace_of_a_job_misses_no_ranks(tmp_path: Path):
    add_rank(tmp_path, 3)
    assert describe(tmp_path).health == ()


def test_span_of_a_folder_is_from_first_to_last(tmp_path: Path):
    for name, start in (("a", 1000.0), ("b", 51000.0)):
        document = training_trace(1)
        for event in document["traceEvents"]:
            event["ts"] += start
        write(tmp_path / f"{name}.json", document)
    parts = [trace.summary.span.length_ns for trace in describe(tmp_path).traces]
    whole_us = describe(tmp_path).to_dict()["span_us"]
    assert whole_us == 50_000 + parts[1] / 1000


def test_folder_in_which_nothing_can_be_read(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.1.pt.trace.json").write_bytes(b"nothing")
    with pytest.raises(UnreadableError, match=r"a\.1\.pt"):
        describe(tmp_path)


def test_a_gap_in_the_ranks_of_file_names_is_named(tmp_path: Path):
    for rank in (0, 2):
        document = training_trace(1)
        del document["distributedInfo"]
        write(tmp_path / f"rank{rank}.json", document)
    (missing,) = (entry for entry in describe(tmp_path).health if entry.code == "missing_rank")
    assert (missing.count, missing.example) == (1, "1")


def test_a_device_is_used_when_any_rank_uses_it(tmp_path: Path):
    for rank in (0, 1):
        document = training_trace(1)
        document["distributedInfo"] = {"rank": rank, "world_size": 2}
        document["deviceProperties"] = [{"id": 0, "name": "GPU"}, {"id": 1, "name": "GPU"}]
        if rank:
            document["traceEvents"] = [
                e for e in document["traceEvents"] if e.get("cat") != "kernel"
            ]
        write(tmp_path / f"worker{rank}.1.pt.trace.json", document)
    devices = describe(tmp_path).to_dict()["devices"]
    assert [(device["id"], device["used"]) for device in devices] == [(0, True), (1, False)]
