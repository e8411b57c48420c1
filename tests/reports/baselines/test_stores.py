"""Where baselines are kept: folders, and URLs through fsspec."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from timesink.errors import OutputError, UnreadableError, UsageError
from timesink.reports.baselines.stores import folder, store_at


@pytest.fixture(params=["folder", "file", "memory"])
def place(request, tmp_path: Path) -> str:
    places = {
        "folder": str(tmp_path / "deep" / "store"),
        "file": (tmp_path / "deep" / "store").as_uri(),
        "memory": f"memory://{tmp_path.name}/store",
    }
    return places[request.param]


def test_write_read_list_remove(place: str):
    store = store_at(place)
    assert (store.names(), store.read("main"), store.remove("main")) == ([], None, False)
    store.write("main", b"one")
    store.write("a.b-c_1", b"two")
    store.write("main", b"three")
    again = store_at(place)
    assert again.names() == ["a.b-c_1", "main"]
    assert again.read("main") == b"three"
    assert again.remove("main")
    assert again.names() == ["a.b-c_1"]


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_nobody_reads_half_of_one(tmp_path: Path, monkeypatch, scheme: str):
    place = f"{scheme}{tmp_path}"
    store_at(place).write("main", b"whole")

    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder.Path, "replace", fails)
    monkeypatch.setattr("fsspec.implementations.local.LocalFileSystem.mv", fails)
    with pytest.raises(OutputError, match=r"cannot be written [(].*No space left"):
        store_at(place).write("main", b"other")
    assert [one.name for one in tmp_path.iterdir()] == ["main.baseline"]
    assert store_at(place).read("main") == b"whole"


def test_a_file_where_the_folder_should_be(tmp_path: Path):
    (tmp_path / "store").write_text("not a folder")
    store = store_at(tmp_path / "store")
    assert (store.names(), store.read("main")) == ([], None)
    with pytest.raises(OutputError, match="cannot be written"):
        store.write("main", b"content")


def test_a_url_without_fsspec_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UsageError, match="needs fsspec") as refused:
        store_at("s3://bucket/baselines")
    assert "pip install 'timesink[remote]'" in refused.value.hint


def test_a_sort_of_url_nobody_knows():
    with pytest.raises(UsageError, match="nosuch://"):
        store_at("nosuch://bucket")


def test_errors_of_a_file_system_are_said_without_passwords(monkeypatch):
    store = store_at("memory://runs")

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("access denied")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.cat_file", fails)
    with pytest.raises(UnreadableError, match=r"memory://runs: cannot be read \(access denied\)"):
        store.read("main")
