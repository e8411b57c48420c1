"""`timesink.open`: which trace a path means, and what comes with it."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from answers import as_text
from builders import BASE_NS, training_trace, write
from timesink.errors import AmbiguousError, UnreadableError
from timesink.formats.parquet_folder import export_folder
from timesink.sources.discovery import Input
from timesink.sources.opening import open_ahead, open_run

HEADER = "timestamp_us,counter,device,value\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder of a run: two spans of one worker and one of another, told apart by their steps."""
    folder = tmp_path / "run"
    folder.mkdir()
    write(folder / "rank0.9.pt.trace.json", training_trace(1))
    write(folder / "rank0.10.pt.trace.json", training_trace(2))
    other_rank = training_trace(3)
    other_rank["distributedInfo"]["rank"] = 1
    write(folder / "rank1.9.pt.trace.json.gz", other_rank)
    return folder


def test_file(tmp_path: Path):
    file = write(tmp_path / "trace.json", training_trace(1))
    trace = timesink.open(str(file))
    assert trace.steps.height == 1
    assert trace.metadata.source == str(file)


def test_folder_with_one_trace(tmp_path: Path):
    write(tmp_path / "trace.json.zip", training_trace(1))
    (tmp_path / "notes.txt").write_text("not a trace")
    assert timesink.open(tmp_path).steps.height == 1


@pytest.mark.parametrize(
    ("choice", "steps"),
    [
        ({"worker": "rank0", "span": 1}, 1),
        ({"rank": 0, "span": 2}, 2),
        ({"rank": 1}, 3),
        ({"worker": "rank1"}, 3),
        ({"span": 2}, 2),
    ],
)
def test_choice_in_a_folder(run: Path, choice: dict[str, object], steps: int):
    assert timesink.open(run, **choice).steps.height == steps


def test_worker_and_span_are_told(run: Path):
    metadata = timesink.open(run, span=2).metadata
    assert (metadata.worker, metadata.span) == ("rank0", 2)


def test_several_that_fit_are_an_error_that_lists_them(run: Path):
    with pytest.raises(AmbiguousError, match="rank0 span 1, rank0 span 2") as caught:
        timesink.open(run, worker="rank0")
    assert "--span" in caught.value.hint


def test_none_that_fits_is_an_error_that_lists_what_is_there(run: Path):
    with pytest.raises(UnreadableError, match="no trace fits") as caught:
        timesink.open(run, rank=7)
    assert "rank1 span 1" in caught.value.hint


def test_what_is_opened_ahead_is_what_opening_gives(run: Path):
    source = Input(run, worker="rank0", span=2)
    open_ahead(source)
    opened = open_run(source).trace
    assert opened is not None
    assert opened.steps.height == 2


def test_why_nothing_was_opened_ahead_is_told_who_asks(run: Path):
    source = Input(run, worker="nobody")
    open_ahead(source)
    with pytest.raises(UnreadableError):
        open_run(source)


def test_exported_folder(tmp_path: Path):
    trace = timesink.open(write(tmp_path / "trace.json", training_trace(2)))
    export_folder(trace, tmp_path / "tables")
    assert as_text(timesink.open(tmp_path / "tables")) == as_text(trace)


def test_damaged_exported_folder_is_an_error_at_once(tmp_path: Path):
    export_folder(timesink.open(timesink.sample()), tmp_path / "tables")
    (tmp_path / "tables" / "host.parquet").unlink()
    with pytest.raises(UnreadableError, match="not a complete export"):
        timesink.open(tmp_path / "tables")


def test_without_cache_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(tmp_path / "cache"))
    timesink.open(write(tmp_path / "trace.json", training_trace(1)), cache=False)
    assert not (tmp_path / "cache").exists()


# -- counters beside a trace ---------------------------------------------------------------------


def counter_rows(trace: timesink.Trace) -> list[tuple[object, ...]]:
    beside = trace.counters.filter(trace.counters["index"].is_null())
    return beside.select("ts_ns", "counter", "value", "source").rows()


@pytest.mark.parametrize("name", ["counters.csv", "trace.counters.csv"])
def test_counters_beside_the_trace_are_joined(tmp_path: Path, name: str):
    file = write(tmp_path / "trace.json", training_trace(1))
    (tmp_path / name).write_text(HEADER + f"{BASE_NS // 1000}.125,power_w,0,70.5\n")
    trace = timesink.open(file)
    assert counter_rows(trace) == [(BASE_NS + 125, "power_w", 70.5, name)]
    assert trace.counters.filter(trace.counters["source"] == "trace").height == 1
    assert counter_rows(timesink.open(file)) == counter_rows(trace)


def test_changed_counters_are_read_again(tmp_path: Path):
    file = write(tmp_path / "trace.json", training_trace(1))
    counters = tmp_path / "counters.csv"
    counters.write_text(HEADER + "1,power_w,0,70\n")
    timesink.open(file)
    counters.write_text(HEADER + "1,power_w,0,80\n")
    assert counter_rows(timesink.open(file)) == [(1000, "power_w", 80.0, "counters.csv")]


def test_stray_csv_beside_the_trace_is_told_and_does_no_harm(tmp_path: Path):
    file = write(tmp_path / "trace.json", training_trace(1))
    (tmp_path / "counters.csv").write_text("a,b\n1,2\n")
    trace = timesink.open(file)
    assert trace.steps.height == 1
    (entry,) = (entry for entry in trace.health if entry.code == "unreadable_counters")
    assert "counters.csv" in entry.example
