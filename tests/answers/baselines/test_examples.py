"""What single functions of `reports/baselines` answer, by example."""

from __future__ import annotations

import tempfile
from pathlib import Path

import timesink
from timesink.comparison.gate.baseline_store import (
    FolderStore,
    RemoteStore,
    _without_place,
    checked_name,
    facts_of,
    is_reference,
    list_baselines,
    reference,
    store_at,
    unsaved_baseline,
)


def test_content_without_place() -> None:
    assert (
        _without_place("/a/b/c.json: cut; /a/b/c.json2 and x/a/b/y are others", Path("/a/b/c.json"))
    ) == "c.json: cut; c.json2 and x/a/b/y are others"


def test_facts_facts_of() -> None:
    assert (facts_of([])) == {"devices": [], "processor": None, "versions": {}, "world_size": None}


def test_keeping_list_baselines() -> None:
    assert (list_baselines(tempfile.mkdtemp())) == ()


def test_keeping_unsaved_baseline() -> None:
    assert (unsaved_baseline(timesink.sample()).runs[0].unit.anchor) == "ProfilerStep"


def test_names_checked_name() -> None:
    assert (checked_name("@main"), checked_name("v2.1-h200")) == ("main", "v2.1-h200")


def test_names_is_reference() -> None:
    assert (is_reference("@main"), is_reference("./@main"), is_reference("runs/new")) == (
        True,
        False,
        False,
    )


def test_names_reference() -> None:
    assert (reference("main")) == "@main"


def test_stores_store_at() -> None:
    assert (store_at("baselines").place) == "baselines"


def test_stores_folder_folderstore() -> None:
    store = FolderStore(Path(tempfile.mkdtemp()))
    store.write("main", b"content")
    assert (store.names(), store.read("main"), store.remove("main"), store.remove("main")) == (
        ["main"],
        b"content",
        True,
        False,
    )


def test_stores_remote_remotestore() -> None:
    store = RemoteStore("memory://example")
    store.write("main", b"content")
    assert (store.names(), store.read("main"), store.remove("main"), store.remove("main")) == (
        ["main"],
        b"content",
        True,
        False,
    )


def test_what_is_being_written_or_is_something_else_is_no_baseline(tmp_path: Path) -> None:
    for name in ("main.baseline", ".writing-1.baseline", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    assert FolderStore(tmp_path).names() == ["main"]
