"""However a trace is packed and however many processes read it, the tables are the same."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from answers import as_text, damage
from builders import DIALECTS, to_bytes, training_trace, write
from thinning import every_nth
from timesink.formats.chrome import container
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import read_trace
from timesink.model.trace import Trace
from timesink.runtime import workers as runtime

SMALL_PIECE = 4_000
STEPS = 150
LONG_NAME = 30_000
"""So few events fill several pieces."""


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut small traces like large ones; a worker process would cut them as usual."""
    monkeypatch.setitem(container.cut_pieces.__kwdefaults__, "size", SMALL_PIECE)
    monkeypatch.setattr(runtime, "_COMMAND", ("/no/such/python",))


def read_with(path: Path, jobs: int) -> Trace:
    return read_trace(path, ReadOptions(jobs=jobs))


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """A trace of several pieces, large enough for real workers."""
    name = b'"aten::linear' + b"x" * LONG_NAME + b'"'
    text = to_bytes(training_trace(steps=STEPS)).replace(b'"aten::linear"', name)
    assert len(text) > 2 * container.PIECE_BYTES
    return write(tmp_path_factory.mktemp("large") / "trace.json", text)


@pytest.fixture(scope="module")
def single_process_trace(large) -> Trace:
    """The large trace as one process reads it."""
    return read_with(large, 1)


def test_worker_processes_give_the_tables_of_one_process(large, single_process_trace):
    shared = read_with(large, 2)
    assert as_text(single_process_trace) == as_text(shared)
    assert (single_process_trace.metadata, single_process_trace.health) == (
        shared.metadata,
        shared.health,
    )


def test_workers_import_nothing_from_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("raise SystemExit('imported from the current folder')")
    monkeypatch.chdir(tmp_path)
    worker = runtime.Worker("posixpath", "basename", "/a/trace.json")
    try:
        assert worker.result() == "trace.json"
    finally:
        worker.stop()


def test_workers_that_cannot_start_do_not_matter(large, single_process_trace, monkeypatch):
    monkeypatch.setattr(runtime, "_COMMAND", ("/no/such/python",))
    assert read_with(large, 2).metadata.events == single_process_trace.metadata.events


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("jobs", [2, 5])
def test_any_number_of_shares_gives_the_same_tables(tmp_path, jobs):
    document = training_trace(steps=30)
    path = write(tmp_path / "trace.json", document)
    trace = read_with(path, jobs)
    assert damage(trace) == {}
    assert trace.metadata.events == len(document["traceEvents"])
    assert as_text(trace) == as_text(read_with(path, 1))


@pytest.mark.parametrize("dialect", every_nth(DIALECTS, 3))
def test_pieces_of_a_few_events_give_the_tables_of_one_piece(tmp_path, dialect, monkeypatch):
    path = write(tmp_path / "trace.json", DIALECTS[dialect]())
    expected = as_text(read_with(path, 1))
    monkeypatch.setitem(container.cut_pieces.__kwdefaults__, "size", 300)
    assert as_text(read_with(path, 1)) == expected


@pytest.mark.usefixtures("small_pieces")
def test_metadata_longer_than_a_piece_behind_the_events(tmp_path):
    document = training_trace(steps=3)
    document |= {"notes": [{"line": f"note {number}"} for number in range(1_000)], "rank_of": "all"}
    trace = read_with(write(tmp_path / "trace.json", document), 2)
    assert damage(trace) == {}
    assert trace.metadata.events == len(document["traceEvents"])
    assert len(trace.metadata.extra["notes"]) == 1_000
    assert trace.metadata.extra["rank_of"] == "all"


@pytest.mark.usefixtures("small_pieces")
def test_damage_in_one_piece_leaves_the_others_alone(tmp_path):
    text = to_bytes(training_trace(steps=30))
    events = len(training_trace(steps=30)["traceEvents"])
    middle = text.index(b'"dur"', len(text) // 2)
    damaged = text[:middle] + b'"dur":N/A,' + text[middle:]
    trace = read_with(write(tmp_path / "trace.json", damaged), 3)
    assert damage(trace) == {"bare_word": 1}
    assert trace.metadata.events == events


# -- packing -------------------------------------------------------------------------------------


def test_other_files_in_an_archive_are_mentioned(tmp_path):
    path = write(tmp_path / "trace.json.zip", training_trace(steps=1))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("README", "a run")
    assert damage(read_with(path, 1)) == {"archive_members": 1}


def test_progress_reaches_the_end_of_the_file(tmp_path):
    path = write(tmp_path / "trace.json.gz", training_trace(steps=3))
    seen = []
    read_trace(path, ReadOptions(jobs=1, progress=lambda done, size: seen.append((done, size))))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)
