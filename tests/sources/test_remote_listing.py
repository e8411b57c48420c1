"""Recordings behind URLs, as file systems list them; real ones of fsspec, in this process."""

from __future__ import annotations

import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from builders import to_bytes, training_trace
from timesink.errors import UnreadableError, UsageError
from timesink.sources.discovery import choose_recording, find_recordings, one_run
from timesink.sources.remote import RemoteUrl

fsspec = pytest.importorskip("fsspec")


def trace(rank: int | None = None) -> bytes:
    document: dict[str, Any] = training_trace(1)
    del document["distributedInfo"]
    if rank is not None:
        document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 8}
    return to_bytes(document)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / "run.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for rank in range(3):
            archive.writestr(f"job/rank{rank}.json", trace())
        archive.writestr("job/config.json", '{"batch": 8}')
    return tmp_path / "run.zip"


@pytest.mark.parametrize("place", ["", "job", "job/rank*.json", "**/rank*.json"])
def test_ranks_in_an_archive(archive: Path, place: str):
    url = f"zip://{place}::file://{archive}"
    recordings, notes = one_run(find_recordings(url), url)
    assert [recording.rank for recording in recordings] == [0, 1, 2]
    assert [recording.source for recording in recordings] == [
        f"zip://job/rank{rank}.json::file://{archive}" for rank in range(3)
    ]
    assert all(recording.size_bytes() == len(trace()) for recording in recordings)
    assert notes == []


def test_a_recording_can_be_sent_to_others(archive: Path):
    recordings = find_recordings(f"zip://job::file://{archive}")
    assert pickle.loads(pickle.dumps(recordings)) == recordings  # noqa: S301 - our own
    assert len(set(recordings)) == 3


def test_other_json_beside_traces_is_none(memory: Any):
    memory.pipe_file("/run/a.json", trace())
    memory.pipe_file("/run/config.json", b'{"batch": 8}')
    memory.pipe_file("/run/run.json", b'{"schema": "timesink/run/1"}')
    assert [recording.path.name for recording in find_recordings("memory://run")] == ["a.json"]


def test_folders_of_ranks_and_of_runs(memory: Any):
    for rank in (0, 1):
        memory.pipe_file(f"/one/rank_{rank}/trace.json", trace())
        memory.pipe_file(f"/two/step_{rank}/rank0.json", trace())
    assert [
        recording.rank for recording in one_run(find_recordings("memory://one"), "memory://one")[0]
    ] == [
        0,
        1,
    ]
    assert {recording.run for recording in find_recordings("memory://two")} == {"step_0", "step_1"}


def test_traces_of_the_folder_itself_go_before_those_below(memory: Any):
    memory.pipe_file("/run/rank0.json", trace())
    memory.pipe_file("/run/old/rank1.json", trace())
    assert [recording.path.name for recording in find_recordings("memory://run/")] == ["rank0.json"]


def test_the_rank_a_remote_trace_states(memory: Any):
    for rank in (4, 5):
        memory.pipe_file(f"/run/host_{rank}.1.pt.trace.json", trace(rank))
    recordings = find_recordings("memory://run")
    assert [recording.path.name for recording in choose_recording(recordings, rank=5)] == [
        "host_5.1.pt.trace.json"
    ]


def test_what_belongs_to_a_trace_is_found_beside_it(memory: Any):
    memory.pipe_file("/alone/a.json", trace())
    memory.pipe_file("/alone/counters.csv", b"time,name,value\n")
    memory.pipe_file("/ranks/counters.csv", b"time,name,value\n")
    for rank in (0, 1):
        memory.pipe_file(f"/ranks/rank{rank}.json", trace())
    memory.pipe_file("/ranks/rank1.counters.csv", b"time,name,value\n")

    def beside(place: str) -> list[list[str]]:
        recordings = find_recordings(f"memory://{place}")
        return [[Path(file.url).name for file in recording.beside] for recording in recordings]

    assert beside("alone") == beside("alone/a.json") == [["counters.csv"]]
    assert beside("ranks") == [[], ["rank1.counters.csv"]]


def test_a_changed_file_has_another_version(memory: Any):
    memory.pipe_file("/run/rank0.json", trace())
    first = find_recordings("memory://run")
    again = find_recordings("memory://run")
    memory.pipe_file("/run/rank0.json", trace(0))
    other = find_recordings("memory://run")
    assert first[0].remote == again[0].remote != other[0].remote


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://nowhere", "memory://nowhere: no such file or directory"),
        ("memory://run/*.json", "memory://run/[*].json: no file fits this pattern"),
        ("zip://a.json::file:///nowhere.zip", "nowhere.zip: no such file or directory"),
    ],
)
def test_what_is_not_there_is_said(memory: Any, url: str, message: str):
    memory.pipe_file("/run/notes.txt", b"nothing")
    with pytest.raises(UnreadableError, match=message):
        find_recordings(url)


def test_a_folder_without_traces_is_said(memory: Any):
    memory.pipe_file("/run/notes.txt", b"nothing")
    with pytest.raises(UnreadableError, match="memory://run: no trace in this folder"):
        find_recordings("memory://run")


def test_a_url_without_fsspec_names_the_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UsageError, match="needs fsspec, which is not installed") as refused:
        find_recordings("s3://bucket/run")
    assert "pip install 'timesink[remote]'" in refused.value.hint


def test_a_sort_of_url_nobody_knows():
    with pytest.raises(UsageError, match="nosuch://") as refused:
        find_recordings("nosuch://bucket/run")
    assert refused.value.hint


def test_a_refusal_is_said_without_the_password(monkeypatch: pytest.MonkeyPatch, memory: Any):
    def refuses(*_: object, **__: object) -> None:
        raise PermissionError("access denied to ftp://me:secret@host")

    monkeypatch.setattr(type(memory), "info", refuses)
    with pytest.raises(UnreadableError, match=r"cannot be listed .access denied") as refused:
        find_recordings("memory://run")
    assert "secret" not in refused.value.message
    assert "access" in refused.value.hint


@pytest.mark.parametrize(
    ("url", "place", "file", "full_url"),
    [
        ("s3://bucket/run", "bucket/run", "bucket/run/a.json", "s3://bucket/run/a.json"),
        ("s3://bucket", "bucket", "bucket/a.json", "s3://bucket/a.json"),
        ("sftp://me:pw@host:22/r/", "/r", "/r/a.json", "sftp://me:pw@host:22/r/a.json"),
        ("hdfs://name:9000/r/*", "/r/*", "/r/a.json", "hdfs://name:9000/r/a.json"),
        ("abfs://c@acct.net/r", "c/r", "c/r/a.json", "abfs://c@acct.net/r/a.json"),
        ("memory://r", "/r", "/r/a.json", "memory://r/a.json"),
        ("memory://", "", "/r/a.json", "memory:///r/a.json"),
        ("zip://::s3://b/r.zip", "", "a.json", "zip://a.json::s3://b/r.zip"),
        ("simplecache::s3://b/r", "b/r", "b/r/a.json", "simplecache::s3://b/r/a.json"),
        (
            "https://host/a.json",
            "https://host/a.json",
            "https://host/a.json",
            "https://host/a.json",
        ),
    ],
)
def test_urls_of_files_lead_back_to_them(url: str, place: str, file: str, full_url: str):
    parts = RemoteUrl.of(url, place)
    assert parts.url_of(file) == full_url
    assert parts.path_of(file).name == "a.json"
    assert "pw" not in str(parts.path_of(file))
