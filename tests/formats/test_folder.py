"""A trace as a Parquet folder: written, opened again, the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from timesink.errors import OutputError, UnreadableError
from timesink.formats.parquet_folder import export_folder, read_folder
from timesink.formats.stored_names import is_folder
from timesink.model.schema import TABLES


@pytest.fixture
def sample() -> timesink.Trace:
    return timesink.open(timesink.sample())


def test_sample_comes_back_the_same(tmp_path: Path, sample: timesink.Trace):
    export_folder(sample, tmp_path / "tables")
    again = timesink.open(tmp_path / "tables")
    for name, table in TABLES.items():
        frame = again.lazy(name).collect()
        assert frame.equals(sample.lazy(name).collect()), name
        assert dict(frame.schema) == table.schema
    assert again.metadata == sample.metadata
    assert again.health == sample.health


def test_folder_of_others_is_not_replaced(tmp_path: Path, sample: timesink.Trace):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1").touch()
    with pytest.raises(OutputError):
        export_folder(sample, tmp_path / "thesis", force=True)
    assert (tmp_path / "thesis" / "chapter1").exists()


def test_export_is_replaced_by_force_only(tmp_path: Path, sample: timesink.Trace):
    export_folder(sample, tmp_path / "tables")
    with pytest.raises(OutputError):
        export_folder(sample, tmp_path / "tables")
    export_folder(sample, tmp_path / "tables", force=True)
    assert read_folder(tmp_path / "tables").steps.height == 2


def test_failed_export_leaves_nothing(tmp_path: Path, sample: timesink.Trace):
    (tmp_path / "thesis").touch()
    with pytest.raises(OutputError):
        export_folder(sample, tmp_path / "thesis")
    assert [file.name for file in tmp_path.iterdir()] == ["thesis"]


def test_export_of_another_schema_is_declined(tmp_path: Path, sample: timesink.Trace):
    export_folder(sample, tmp_path / "tables")
    description = tmp_path / "tables" / "trace.json"
    description.write_text('{"timesink_schema": 999}')
    with pytest.raises(UnreadableError, match="schema 999"):
        read_folder(tmp_path / "tables")


def test_folder_with_another_trace_json_is_not_ours(tmp_path: Path):
    (tmp_path / "trace.json").write_text('{"traceEvents": []}')
    assert not is_folder(tmp_path)
