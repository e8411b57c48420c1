"""Which files of a folder are traces, and how they are told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import training_trace, write
from timesink.errors import UnreadableError
from timesink.sources.discovery import (
    choose_recording,
    distinct_labels,
    find_recordings,
    recordings_in,
    told_apart,
)


def names(folder: Path) -> list[str]:
    return [recording.path.name for recording in find_recordings(folder)]


def test_other_json_is_no_trace_but_a_damaged_one_is_kept(tmp_path: Path):
    write(tmp_path / "rank0.json", training_trace(1))
    (tmp_path / "rank1.json").write_text("{garbage")
    (tmp_path / "rank2.json").touch()
    (tmp_path / "config.json").write_text('{"batch": 8}')
    (tmp_path / "large.json").write_text('{"batch": [' + "8," * 100_000 + "8]}")
    assert names(tmp_path) == ["rank0.json", "rank1.json", "rank2.json"]


def test_a_link_to_a_neighbour_is_not_another_trace(tmp_path: Path):
    trace = write(tmp_path / "trace.json", training_trace(1))
    (tmp_path / "zz_link.json").symlink_to(trace)
    assert names(tmp_path) == ["trace.json"]


def test_spans_are_numbered_in_the_order_of_their_timestamps(tmp_path: Path):
    for timestamp in (9, 10, 100):
        write(tmp_path / f"w.{timestamp}.pt.trace.json", training_trace(1))
    recordings = find_recordings(str(tmp_path))
    assert [(r.span, r.path.name.split(".")[1]) for r in recordings] == [
        (1, "9"),
        (2, "10"),
        (3, "100"),
    ]


def test_a_file_without_a_timestamp_takes_no_number(tmp_path: Path):
    for name in ("w", "w.0", "w.7"):
        write(tmp_path / f"{name}.pt.trace.json", training_trace(1))
    assert [recording.span for recording in find_recordings(tmp_path)] == [None, 1, 2]


@pytest.mark.parametrize("name", ["w.5.pt.trace.json", "w.pt.trace.json", "w.json"])
def test_packed_and_plain_file_of_one_span_are_two_workers(tmp_path: Path, name: str):
    for ending in ("", ".gz"):
        write(tmp_path / f"{name}{ending}", training_trace(1))
    recordings = find_recordings(tmp_path)
    assert len({(recording.worker, recording.span) for recording in recordings}) == 1
    assert [recording.worker for recording in told_apart(recordings)] == ["w", f"{name}.gz"]


def test_traces_of_exactly_one_folder(tmp_path: Path):
    (tmp_path / "run").mkdir()
    write(tmp_path / "run" / "w.1.pt.trace.json", training_trace(1))
    assert recordings_in(tmp_path) == []
    assert [recording.worker for recording in recordings_in(tmp_path / "run")] == ["w"]


def test_digits_that_are_no_numbers(tmp_path: Path):
    for name in ("²", "a", "2"):
        write(tmp_path / f"{name}.pt.trace.json", training_trace(1))
    assert len(find_recordings(tmp_path)) == 3


def test_folders_of_runs_are_entered_and_labels_tell_them_apart(tmp_path: Path):
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        write(tmp_path / run / "w.1.pt.trace.json", training_trace(1))
    recordings = find_recordings(tmp_path)
    assert distinct_labels(recordings) == ["a/w.1.pt.trace.json", "b/w.1.pt.trace.json"]


def test_the_rank_in_the_trace_counts_more_than_the_one_in_its_name(tmp_path: Path):
    document = training_trace(1)
    document["distributedInfo"]["rank"] = 3
    write(tmp_path / "rank0.json", document)
    recordings = find_recordings(tmp_path)
    assert choose_recording(recordings, rank=3) == recordings
    assert choose_recording(recordings, rank=0) == []


def test_something_that_is_neither_file_nor_folder_is_declined():
    with pytest.raises(UnreadableError, match="neither a file nor a folder"):
        find_recordings(Path("/dev/null"))
