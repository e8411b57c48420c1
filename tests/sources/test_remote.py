"""Remote recordings: copied while they are read, and known again without a copy."""

from __future__ import annotations

import http.server
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import timesink
from answers import as_text
from builders import to_bytes, training_trace, write
from timesink.errors import UnreadableError
from timesink.sources.cache import Cache
from timesink.sources.discovery import find_recordings
from timesink.sources.opening import key_of, open_recording


@pytest.fixture
def no_copies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where temporary files go, in this test alone."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


def test_a_remote_trace_is_that_of_the_file(memory: Any, tmp_path: Path, no_copies: Path):
    file = write(tmp_path / "rank0.json.gz", training_trace(2))
    memory.put_file(str(file), "/run/rank0.json.gz")
    remote = timesink.open("memory://run", cache=False)
    assert as_text(remote) == as_text(timesink.open(file, cache=False))
    assert remote.metadata.source == "memory://run/rank0.json.gz"
    assert list(no_copies.iterdir()) == []


def test_a_second_question_needs_no_copy(memory: Any, monkeypatch: pytest.MonkeyPatch):
    memory.pipe_file("/run/rank0.json", to_bytes(training_trace(2)))
    first = timesink.open("memory://run")

    def refuses(*_: object, **__: object) -> None:
        raise AssertionError("copied again")

    monkeypatch.setattr(type(memory), "get_file", refuses)
    assert as_text(timesink.open("memory://run")) == as_text(first)


def test_a_changed_file_is_read_again(memory: Any):
    for steps in (2, 3):
        memory.pipe_file("/run/rank0.json", to_bytes(training_trace(steps)))
        assert timesink.open("memory://run").steps.height == steps


def test_a_file_system_without_versions_is_known_by_content(
    memory: Any, tmp_path: Path, forbid_reading: Any
):
    memory.pipe_file("/run/rank0.json", to_bytes(training_trace(2)))
    (recording,) = find_recordings("memory://run")
    assert recording.remote is not None
    unversioned = type(recording)(
        recording.path, "rank0", remote=type(recording.remote)(recording.remote.url)
    )
    store = Cache(tmp_path / "cache")
    assert key_of(unversioned, store) == ""
    open_recording(unversioned, store)
    forbid_reading()
    assert open_recording(unversioned, store).steps.height == 2


def test_counters_beside_a_remote_trace_are_read_with_it(memory: Any):
    memory.pipe_file("/run/a.json", to_bytes(training_trace(2)))
    without = timesink.open("memory://run").counters.height
    memory.pipe_file("/run/a.counters.csv", b"timestamp_us,counter,device,value\n1,power,0,300\n")
    assert timesink.open("memory://run").counters.height == without + 1


def test_health_does_not_name_the_copy(memory: Any):
    memory.pipe_file("/run/a.json", to_bytes(training_trace(1)))
    memory.pipe_file("/run/a.counters.csv", b"not,a,counter\n")
    health = {entry.code: entry.example for entry in timesink.open("memory://run").health}
    assert health["unreadable_counters"].startswith("a.counters.csv: not a counter CSV")


def test_what_cannot_be_read_is_named_by_its_url(memory: Any, no_copies: Path):
    memory.pipe_file("/run/rank0.json", b"\0\1\2 no trace")
    with pytest.raises(UnreadableError, match=r"^memory://run/rank0.json: not a trace"):
        timesink.open("memory://run")
    assert list(no_copies.iterdir()) == []


def test_a_file_that_went_away_is_said(memory: Any):
    memory.pipe_file("/run/rank0.json", to_bytes(training_trace(1)))
    (recording,) = find_recordings("memory://run")
    memory.rm_file("/run/rank0.json")
    with pytest.raises(UnreadableError, match=r"memory://run/rank0[.]json: no such file"):
        open_recording(recording, None)


def test_progress_tells_of_the_copy_and_of_the_reading(memory: Any):
    memory.pipe_file("/run/rank0.json", to_bytes(training_trace(2)))
    news: list[tuple[int, int]] = []
    timesink.open("memory://run", cache=False, progress=lambda *step: news.append(step))
    assert news[-1][0] == news[-1][1] > 0
    assert all(done <= total for done, total in news)


def test_the_host_of_a_name_is_in_the_metadata(tmp_path: Path):
    file = write(tmp_path / "dgx-07_12.1794703754.pt.trace.json", training_trace(1))
    assert timesink.open(file).metadata.extra["host"] == "dgx-07"
    extra = {**training_trace(1), "hostname": "dgx-08"}
    assert "host" not in timesink.open(write(file, extra)).metadata.extra


def test_a_trace_from_a_web_server(tmp_path: Path):
    pytest.importorskip("aiohttp")
    file = write(tmp_path / "rank3.json.gz", training_trace(2))
    handler = partial(_Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}"
        trace = timesink.open(f"{root}/rank3.json.gz")
        assert as_text(trace) == as_text(timesink.open(file, cache=False))
        assert trace.metadata.source == f"{root}/rank3.json.gz"
        with pytest.raises(UnreadableError, match="no such file"):
            timesink.open(f"{root}/rank4.json.gz")
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is said about requests."""
