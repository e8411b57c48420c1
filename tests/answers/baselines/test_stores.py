"""Where baselines are kept: folders, and URLs through fsspec."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from timesink.comparison.gate.baseline_store import store_at
from timesink.errors import OutputError, UnreadableError, UsageError


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


def test_what_is_there_is_not_added_again(place: str):
    assert store_at(place).add("main", b"one")
    assert not store_at(place).add("main", b"two")
    assert store_at(place).read("main") == b"one"


@pytest.fixture(params=["with links", "without links"])
def links(request, monkeypatch) -> None:
    """File systems that have hard links, and some that have none."""

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if request.param == "without links":
        monkeypatch.setattr(Path, "hardlink_to", refused)


@pytest.mark.usefixtures("links")
def test_of_many_who_save_at_once_one_succeeds(tmp_path: Path):
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda n: store_at(tmp_path).add("main", b"%d" % n), range(8)))
    assert done.count(True) == 1
    assert store_at(tmp_path).read("main") == b"%d" % done.index(True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["main.baseline"]


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_nobody_reads_half_of_one(tmp_path: Path, monkeypatch, scheme: str):
    place = f"{scheme}{tmp_path}"
    store_at(place).write("main", b"whole")

    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    monkeypatch.setattr("fsspec.implementations.local.LocalFileSystem.mv", fails)
    with pytest.raises(OutputError, match=r"cannot be written [(].*No space left"):
        store_at(place).write("main", b"other")
    assert [entry.name for entry in tmp_path.iterdir()] == ["main.baseline"]
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
        raise RuntimeError("access denied at sftp://me:secret@host/runs")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.cat_file", fails)
    with pytest.raises(UnreadableError) as refused:
        store.read("main")
    why = "access denied at sftp://me@host/runs"
    assert refused.value.message == f"memory://runs: cannot be read ({why})"


@pytest.mark.parametrize(("error", "kind"), [(ValueError, UsageError), (OSError, UnreadableError)])
def test_a_place_that_cannot_be_reached_is_said_without_passwords(monkeypatch, error, kind):
    def fails(url: str) -> None:
        raise error(f"no way to {url}")

    monkeypatch.setattr("fsspec.core.url_to_fs", fails)
    with pytest.raises(kind, match="no way to sftp://me@host/runs") as refused:
        store_at("sftp://me:secret@host/runs")
    assert "secret" not in refused.value.message


def test_a_password_with_a_slash_is_refused_and_not_said():
    with pytest.raises(UsageError, match="sftp://me@host/runs: a password holds a /") as refused:
        store_at("sftp://me:sec/ret@host/runs")
    assert "sec/" not in refused.value.message


def test_a_baseline_may_be_read_by_whom_its_folder_lets_in(tmp_path: Path):
    store_at(tmp_path).write("main", b"one")
    (tmp_path / "other").write_bytes(b"two")
    modes = {entry.stat().st_mode for entry in tmp_path.iterdir()}
    assert len(modes) == 1
