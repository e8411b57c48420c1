"""Exports of Nsight Systems as Parquet, under names with versions, and by nsys itself."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

import timesink
from damaged_files import damage, read_or_refused
from nsys_exports import CALL, KERNEL, RANGE, START, STRINGS, write_export
from thinning import IS_SEARCH
from timesink.errors import UnreadableError
from timesink.formats.source_file import read_trace
from timesink.model.schema import TABLES
from timesink.model.trace import Trace

EXPORT = {
    "CUPTI_ACTIVITY_KIND_KERNEL": [KERNEL],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [CALL],
    "NVTX_EVENTS": [RANGE],
    **STRINGS,
    **START,
}
MUTANTS = 100 if IS_SEARCH else 5


PLACE_OF_CALL = {key: CALL[key] for key in ("globalTid", "correlationId", "nameId")}


def to_parquet(export: Path, folder: Path) -> Path:
    """Each table of an export as a file, as `nsys export --type parquetdir` has them."""
    folder.mkdir()
    with closing(sqlite3.connect(export)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in names.fetchall():
            cursor = connection.execute(f'SELECT * FROM "{table}"')  # noqa: S608
            columns = [column[0] for column in cursor.description]
            frame = pl.DataFrame(
                cursor.fetchall(), schema=columns, orient="row", infer_schema_length=None
            )
            frame.write_parquet(folder / f"{table}.parquet")
    return folder


def assert_same(first: Trace, second: Trace) -> None:
    for name in TABLES:
        assert getattr(first, name).equals(getattr(second, name)), name


def test_a_folder_of_parquet_is_the_same_recording(tmp_path):
    export = write_export(tmp_path / "run.sqlite", EXPORT)
    folder = to_parquet(export, tmp_path / "run_pqtdir")
    assert_same(timesink.open(folder), read_trace(export))
    assert_same(read_trace(folder / "NVTX_EVENTS.parquet"), read_trace(export))
    assert timesink.open(folder).metadata.format == "nsys"


def test_names_with_versions(tmp_path):
    export = write_export(tmp_path / "run.sqlite", EXPORT)
    versioned = {
        f"{table}_V3" if table.startswith("CUPTI") else table: rows
        for table, rows in EXPORT.items()
    }
    versioned["CUPTI_ACTIVITY_KIND_KERNEL_V2"] = [KERNEL, KERNEL, KERNEL]
    other = write_export(tmp_path / "other.sqlite", versioned)
    assert (
        read_trace(other).device.drop("category").equals(read_trace(export).device.drop("category"))
    )
    assert not [entry for entry in read_trace(other).health if entry.code == "unknown_phase"]


def test_a_table_that_cannot_be_read_is_counted(tmp_path):
    texts = [*STRINGS["StringIds"], {"id": 99, "value": "of this test"}]
    export = write_export(tmp_path / "run.sqlite", {**EXPORT, "StringIds": texts})
    folder = to_parquet(export, tmp_path / "pqt")
    file = folder / "NVTX_EVENTS.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    trace = timesink.open(folder)
    assert trace.device.height == 1
    entry = next(entry for entry in trace.health if entry.code == "lost_table")
    assert entry.example.startswith("NVTX_EVENTS.parquet")


@pytest.mark.parametrize("seed", range(MUTANTS))
def test_damaged_folders_are_read_or_refused(tmp_path, seed):
    folder = to_parquet(write_export(tmp_path / "run.sqlite", EXPORT), tmp_path / "pqt")
    files = sorted(folder.iterdir())
    file = files[seed % len(files)]
    file.write_bytes(damage(file.read_bytes(), f"parquet {seed}", first=4))
    read_or_refused(folder / "StringIds.parquet")


def test_pages_that_lead_in_a_circle_are_refused(tmp_path):
    rows = [{"start": n, "end": n + 1, **PLACE_OF_CALL} for n in range(3000)]
    file = write_export(tmp_path / "run.sqlite", {**EXPORT, "CUPTI_ACTIVITY_KIND_RUNTIME": rows})
    content = bytearray(file.read_bytes())
    size = int.from_bytes(content[16:18], "big")
    pages = [p for p in range(0, len(content), size) if content[p] == 0x05]  # inner, of a table
    page = max(pages, key=lambda p: int.from_bytes(content[p + 3 : p + 5], "big"))
    cells = [int.from_bytes(content[page + 12 + 2 * k :][:2], "big") for k in range(8)]
    for cell in cells[1:]:  # all children are the first one
        content[page + cell : page + cell + 4] = content[page + cells[0] : page + cells[0] + 4]
    file.write_bytes(content)
    trace = read_or_refused(file)
    assert trace is None or trace.host.height <= 4000


@pytest.fixture
def fake_nsys(tmp_path, monkeypatch):
    """A program that exports any report as an export that was there before."""
    export = write_export(tmp_path / "prepared.sqlite", EXPORT)
    program = tmp_path / "nsys"
    program.write_text(
        f"#!{sys.executable}\n"
        "import shutil, sys\n"
        "arguments = sys.argv[1:]\n"
        "assert arguments[:3] == ['export', '--type', 'sqlite'], arguments\n"
        "if b'broken' in open(arguments[-1], 'rb').read():\n"
        "    sys.exit('the report is from a newer version')\n"
        f"shutil.copy({str(export)!r}, arguments[arguments.index('--output') + 1])\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("TIMESINK_NSYS", str(program))
    return export


def test_a_report_is_read_by_nsys(tmp_path, fake_nsys):
    report = tmp_path / "report1.nsys-rep"
    report.write_bytes(b"\0\1\2 report")
    trace = read_trace(report)
    assert_same(trace, read_trace(fake_nsys))
    assert trace.metadata.source == str(report)


@pytest.mark.usefixtures("fake_nsys")
def test_a_report_that_nsys_refuses(tmp_path):
    report = tmp_path / "report1.nsys-rep"
    report.write_bytes(b"\0\1\2 broken")
    with pytest.raises(UnreadableError, match="newer version"):
        read_trace(report)


def test_a_report_without_nsys(tmp_path, monkeypatch):
    report = tmp_path / "report1.nsys-rep"
    report.write_bytes(b"\0\1\2 report")
    monkeypatch.setenv("TIMESINK_NSYS", "no-such-program")
    with pytest.raises(UnreadableError, match="nsys is not installed here") as refused:
        read_trace(report)
    assert "nsys export --type sqlite report1.nsys-rep" in refused.value.hint


def test_a_folder_with_a_report_and_its_export_is_one_recording(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMESINK_NSYS", "no-such-program")
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy(write_export(tmp_path / "run.sqlite", EXPORT), folder / "report1.sqlite")
    (folder / "report1.nsys-rep").write_bytes(b"\0\1\2 report")
    assert timesink.open(folder).device.height == 1
    (folder / "report1.sqlite").unlink()
    with pytest.raises(UnreadableError, match="not installed"):
        timesink.open(folder)
