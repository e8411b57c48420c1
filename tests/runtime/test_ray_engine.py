"""What can be said of Ray without a cluster."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from engine_calls import call
from timesink.errors import TimesinkError
from timesink.runtime.engine import engine_of, run_in_worker
from timesink.sources.recordings import Recording


def test_without_ray_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(TimesinkError, match="Ray is not installed") as caught:
        engine_of("ray")
    assert caught.value.hint == "pip install 'timesink[ray]'"


def test_relative_paths_start_in_the_folder_of_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    (tmp_path / "rank0.json").touch()
    recording = Recording(Path("rank0.json"), "rank0")

    value, error = run_in_worker(str(tmp_path), pickle.dumps(call("echo")), pickle.dumps(recording))

    assert error is None
    assert value == str(recording).encode()


def test_a_file_that_the_worker_does_not_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    echo = pickle.dumps(call("echo"))

    value, error = run_in_worker(
        str(tmp_path), echo, pickle.dumps(Recording(Path("rank0.json"), "0"))
    )

    assert value is None
    assert error is not None
    assert error.message.startswith("rank0.json: not visible to the Ray worker on ")
    assert run_in_worker(str(tmp_path), echo, pickle.dumps("no recording")) == (
        b"no recording",
        None,
    )
