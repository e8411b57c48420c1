"""The cache: the same bytes are read once, and nothing it holds is ever wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import timesink
from answers import as_text
from builders import training_trace, write
from timesink.errors import OutputError, UsageError
from timesink.formats import parquet_folder as folder_module
from timesink.formats.stored_names import DESCRIPTION
from timesink.sources import cache as cache_module
from timesink.sources import opening
from timesink.sources.cache import Cache, Entry


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write(tmp_path / "trace.json", training_trace(2))


def only_entry() -> Entry:
    (entry,) = Cache.default().entries()
    return entry


# -- what is the same and what is not ------------------------------------------------------------


def test_second_opening_comes_from_the_cache(recording: Path, forbid_reading):
    first = as_text(timesink.open(recording))
    forbid_reading()
    assert as_text(timesink.open(recording)) == first


def test_equal_files_in_other_folders_share_an_entry(
    recording: Path, tmp_path: Path, forbid_reading
):
    timesink.open(recording)
    (tmp_path / "copy").mkdir()
    copy = shutil.copy(recording, tmp_path / "copy")
    forbid_reading()
    assert timesink.open(copy).metadata.source == str(copy)


def test_a_recording_under_another_name_has_its_own_entry(recording: Path, tmp_path: Path):
    timesink.open(recording)
    renamed = shutil.copy(recording, tmp_path / "rank3.json")
    assert timesink.open(renamed).metadata.distributed.rank == 0
    assert len(Cache.default().entries()) == 2


def edit_in_place(file: Path) -> None:
    """Change content, but neither size nor time of modification."""
    before = file.stat()
    file.write_bytes(file.read_bytes().replace(b"aten::linear", b"aten::matmul"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size


def set_clock(monkeypatch: pytest.MonkeyPatch, *, ahead_s: int) -> None:
    now_ns = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now_ns + ahead_s * 1_000_000_000)


def freeze_file_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system whose clock is too coarse to tell two changes apart."""
    stat, now_ns = Path.stat, time.time_ns()

    def coarse_stat(path: Path, **options: bool) -> SimpleNamespace:
        stat_result = stat(path, **options)
        fields = {
            name: getattr(stat_result, name) for name in dir(stat_result) if name.startswith("st_")
        }
        return SimpleNamespace(**{**fields, "st_mtime_ns": now_ns, "st_ctime_ns": now_ns})

    monkeypatch.setattr(Path, "stat", coarse_stat)


def test_edit_that_keeps_size_and_time_is_noticed(recording: Path, monkeypatch: pytest.MonkeyPatch):
    set_clock(monkeypatch, ahead_s=10)
    timesink.open(recording)
    time.sleep(0.05)
    edit_in_place(recording)
    assert "aten::matmul" in timesink.open(recording).host["name"].to_list()


@pytest.mark.parametrize("ahead_s", [0, 10])
def test_second_change_within_the_tick_of_a_clock_is_noticed(
    recording: Path, monkeypatch: pytest.MonkeyPatch, ahead_s: int
):
    freeze_file_times(monkeypatch)
    timesink.open(recording)
    edit_in_place(recording)
    set_clock(monkeypatch, ahead_s=ahead_s)
    assert "aten::matmul" in timesink.open(recording).host["name"].to_list()


def test_settled_file_is_hashed_once(recording: Path, monkeypatch: pytest.MonkeyPatch):
    set_clock(monkeypatch, ahead_s=10)
    key = Cache.default().key([recording])
    monkeypatch.setattr(cache_module, "_hash_file", lambda file: pytest.fail(f"{file} was hashed"))
    assert Cache.default().key([recording]) == key


@pytest.mark.parametrize("version", ["SCHEMA_VERSION", "READER_VERSION"])
def test_other_versions_do_not_share_entries(
    recording: Path, monkeypatch: pytest.MonkeyPatch, version: str
):
    key = Cache.default().key([recording])
    monkeypatch.setattr(cache_module, version, 1_000_000)
    assert Cache.default().key([recording]) != key


def test_file_that_changes_while_it_is_read_is_not_kept(
    recording: Path, monkeypatch: pytest.MonkeyPatch
):
    read_trace = opening.read_trace

    def read_then_change(path: Path, options: object) -> object:
        trace = read_trace(path, options)  # type: ignore[arg-type]
        write(path, training_trace(3))
        return trace

    monkeypatch.setattr(opening, "read_trace", read_then_change)
    timesink.open(recording)
    assert Cache.default().entries() == []


def test_name_that_is_not_utf8(tmp_path: Path, forbid_reading):
    odd = tmp_path / os.fsdecode(b"tr\xff.json")
    try:
        write(odd, training_trace(1))
    except OSError:
        pytest.skip("this file system wants UTF-8 names")
    timesink.open(odd)
    forbid_reading()
    assert timesink.open(odd).steps.height == 1


# -- entries that are broken ---------------------------------------------------------------------


def truncate_table(entry: Path) -> None:
    os.truncate(entry / "host.parquet", (entry / "host.parquet").stat().st_size // 2)


def empty_table(entry: Path) -> None:
    (entry / "device.parquet").write_bytes(b"")


def remove_table(entry: Path) -> None:
    (entry / "flows.parquet").unlink()


def swap_table(entry: Path) -> None:
    shutil.copy(entry / "steps.parquet", entry / "host.parquet")


def remove_description(entry: Path) -> None:
    (entry / DESCRIPTION).unlink()


def cut_description(entry: Path) -> None:
    os.truncate(entry / DESCRIPTION, 100)


def confuse_description(entry: Path) -> None:
    (entry / DESCRIPTION).write_text('{"timesink_schema":1,"rows":[],"metadata":{},"health":0}')


def age_description(entry: Path) -> None:
    text = (entry / DESCRIPTION).read_text()
    (entry / DESCRIPTION).write_text(text.replace('"timesink_schema": ', '"timesink_schema": 9'))


@pytest.mark.parametrize(
    "damage",
    [
        truncate_table,
        empty_table,
        swap_table,
        remove_description,
        confuse_description,
        age_description,
    ],
)
def test_broken_entry_is_ignored_and_replaced(
    recording: Path, forbid_reading, damage: Callable[[Path], None]
):
    first = as_text(timesink.open(recording))
    damage(only_entry().folder)
    assert as_text(timesink.open(recording)) == first
    forbid_reading()
    assert as_text(timesink.open(recording)) == first


# -- places that cannot be written ---------------------------------------------------------------


def test_cache_that_cannot_be_written_is_no_error(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert timesink.open(recording).steps.height == 2
    assert timesink.open(recording).steps.height == 2


def test_full_disk_is_no_error_and_leaves_nothing(recording: Path, monkeypatch: pytest.MonkeyPatch):
    def fill_up(_frame: pl.DataFrame, file: Path, **_: object) -> None:
        file.write_bytes(b"half")
        # A full disk comes as an error of the format.
        raise pl.exceptions.ComputeError("No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", fill_up)
    assert timesink.open(recording).steps.height == 2
    assert list((Cache.default().root / "traces").iterdir()) == []


def test_user_without_a_home(recording: Path, monkeypatch: pytest.MonkeyPatch):
    def no_home() -> Path:
        raise RuntimeError

    monkeypatch.delenv("TIMESINK_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert timesink.open(recording).steps.height == 2


# -- size ----------------------------------------------------------------------------------------


def save_as(store: Cache, key: str, trace: timesink.Trace, *, used_at: int) -> None:
    store.save(key, trace)
    os.utime(store.root / "traces" / key, (used_at, used_at))


def test_least_recently_used_go_first(recording: Path, tmp_path: Path):
    trace = timesink.open(recording, cache=False)
    keys = ["a" * 32, "b" * 32, "c" * 32]
    store = Cache(tmp_path / "cache")
    save_as(store, keys[0], trace, used_at=100)
    save_as(store, keys[1], trace, used_at=200)
    store.load(keys[0])
    store.limit_bytes = 2 * store.entries()[0].bytes
    store.save(keys[2], trace)
    assert [store.holds(key) for key in keys] == [True, False, True]


def test_nothing_is_kept_beyond_the_limit(recording: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TIMESINK_CACHE_MAX_GB", "0")
    assert timesink.open(recording).steps.height == 2
    assert Cache.default().entries() == []


@pytest.mark.parametrize("text", ["much", "nan", "inf", "-1", "20 GB"])
def test_limit_that_is_no_size(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv("TIMESINK_CACHE_MAX_GB", text)
    with pytest.raises(UsageError, match="TIMESINK_CACHE_MAX_GB"):
        Cache.default()


def test_empty_limit_counts_as_unset(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TIMESINK_CACHE_MAX_GB", "")
    assert Cache.default().limit_bytes == 20 * 1024**3


# -- several users at once -----------------------------------------------------------------------


def test_processes_that_read_the_same_file_end_in_one_entry(recording: Path, forbid_reading):
    program = (
        "import sys, timesink; from timesink.sources import opening; print('ready', flush=True); "
        "input(); print(timesink.open(sys.argv[1]).host.height)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, recording], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdin is not None
    assert other.stdout is not None
    # Both begin when the other one has loaded what reading takes.
    assert other.stdout.readline() == b"ready\n"
    other.stdin.write(b"\n")
    other.stdin.flush()
    height = timesink.open(recording).host.height
    assert int(other.communicate()[0]) == height
    assert [child.name for child in only_entry().folder.parent.iterdir()] == [
        only_entry().folder.name
    ]
    forbid_reading()
    assert timesink.open(recording).host.height == height


@pytest.mark.parametrize(
    "remove", [lambda store: store.clear(), lambda store: shutil.rmtree(store.root)]
)
def test_trace_in_use_outlives_its_entry(
    recording: Path, remove: Callable[[Cache], object], monkeypatch: pytest.MonkeyPatch
):
    # Other tests of this process may hold many files.
    monkeypatch.setattr(folder_module, "_FEW_FILES", 100_000)
    first = as_text(timesink.open(recording))
    trace = timesink.open(recording)
    remove(Cache.default())
    assert as_text(trace) == first


def test_many_open_traces_do_not_hold_their_files(recording: Path, monkeypatch: pytest.MonkeyPatch):
    first = as_text(timesink.open(recording))
    monkeypatch.setattr(folder_module, "_FEW_FILES", 0)
    trace = timesink.open(recording)
    assert as_text(trace) == first
    shutil.rmtree(only_entry().folder)
    with pytest.raises(FileNotFoundError):
        trace.lazy("host").collect()


def test_leftovers_of_crashed_writers_go_after_a_while(recording: Path):
    store = Cache.default()
    fresh, old = (store.root / "traces" / f".writing-{name}" for name in ("fresh", "old"))
    fresh.mkdir(parents=True)
    old.mkdir()
    os.utime(old, (1, 1))
    timesink.open(recording)
    assert fresh.exists()
    assert not old.exists()


# -- clearing ------------------------------------------------------------------------------------


def test_clear_removes_every_entry_and_tells(recording: Path):
    timesink.open(recording)
    size = only_entry().bytes
    assert [entry.bytes for entry in Cache.default().clear()] == [size]
    assert Cache.default().entries() == []


def test_clear_spares_what_is_not_ours(recording: Path):
    store = Cache.default()
    notes = store.root / "traces" / "my notes"
    notes.mkdir(parents=True)
    timesink.open(recording)
    store.clear()
    assert list((store.root / "traces").iterdir()) == [notes]


def test_clear_says_when_it_cannot(recording: Path, monkeypatch: pytest.MonkeyPatch):
    timesink.open(recording)

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OutputError, match="cannot be removed"):
        Cache.default().clear()
