"""What a history says: which levels changed where, in words, tables and curves."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import timesink
from timesink.answers.comparison.history import History, history_document
from timesink.comparison.gate.history_rows import (
    SCHEMA,
    AddedRuns,
    Commit,
    MeasuredRun,
    series_store,
)
from timesink.errors import UsageError
from timesink.output.blocks import Curves
from timesink.output.markdown import to_markdown
from timesink.output.terminal import to_text

DAY_US = 86_400_000_000


def measured_run(**fields: Any) -> MeasuredRun:
    usual: dict[str, Any] = {"processor": "Xeon", "devices": ("H200",), "launches": 489.0}
    return MeasuredRun("run", **{**usual, "command": ("python", "train.py"), **fields})


def history_of_rows(
    store: Path, rows: Iterable[MeasuredRun | tuple[MeasuredRun, ...]], **options: Any
) -> History:
    """A series of rows, one per commit and day."""
    place = series_store("main", store)
    for day, row in enumerate(rows):
        runs = row if isinstance(row, tuple) else (row,)
        commit = Commit(f"{day:04}abcdef", day * DAY_US, f"Change {day}")
        place.add(f"{commit.sha}-0", msgspec.json.encode(AddedRuns(SCHEMA, "0", commit, runs)))
    return timesink.history("@main", store=store, **options)


def times(*levels: tuple[float, int]) -> list[float]:
    random = np.random.default_rng(7)
    flat = np.concatenate([np.full(rows, level) for level, rows in levels])
    return [float(time_ns) for time_ns in flat * (1 + random.normal(0, 0.005, len(flat)))]


def test_a_step_has_a_commit_a_size_and_a_chance(tmp_path: Path):
    values = times((50e6, 10), (52e6, 8))
    history = history_of_rows(tmp_path, [measured_run(cycle_ns=cycle_ns) for cycle_ns in values])
    (change,) = history.changes
    assert (change.commit.sha, change.before.sha) == ("0010abcdef", "0009abcdef")
    assert change.change_pct == pytest.approx(4, abs=0.5)
    assert change.p is not None
    assert change.p < 0.05
    assert (change.base_rows, change.new_rows, change.exact) == (10, 8, False)
    assert history.headline.startswith("Step time rose by ")
    assert "at 0010abcdef (Change 10); last before: 0009abcdef." in history.headline


def test_counts_change_exactly_and_at_once(tmp_path: Path):
    rows = [measured_run(launches=float(launches)) for launches in (489, 489, 490)]
    (change,) = history_of_rows(tmp_path, rows).changes
    assert (change.signal, change.sure, change.values) == ("launches", "exact", "489 → 490")


def test_a_count_that_differs_within_a_row_is_not_exact_there(tmp_path: Path):
    unequal = (measured_run(launches=489.0), measured_run(launches=490.0))
    history = history_of_rows(tmp_path, [measured_run(), unequal, measured_run()])
    assert history.changes == ()
    assert "launches per step differs between runs in 1 row" in history.notes[0]


def test_a_count_that_changes_with_every_row_is_judged_as_times_are(tmp_path: Path):
    random = np.random.default_rng(1)
    peaks = [
        measured_run(peak_memory_bytes=int(peak_bytes))
        for peak_bytes in random.normal(3e9, 1e7, 30)
    ]
    history = history_of_rows(tmp_path, peaks, signal="peak_memory_bytes")
    assert not any(change.certain for change in history.changes)
    assert "changes too often for an exact test" in history.notes[0]


def test_machines_are_never_one_level(tmp_path: Path):
    slow = [measured_run(cycle_ns=cycle_ns, processor="Atom") for cycle_ns in times((90e6, 6))]
    fast = [measured_run(cycle_ns=cycle_ns) for cycle_ns in times((50e6, 6))]
    history = history_of_rows(tmp_path, [*slow, *fast])
    assert history.changes == ()
    assert (
        "rows come from 2 machines, each tested separately: Atom, H200; Xeon, H200" in history.notes
    )


def test_two_rows_at_another_level_are_not_certain(tmp_path: Path):
    values = times((50e6, 10), (60e6, 2))
    history = history_of_rows(tmp_path, [measured_run(cycle_ns=cycle_ns) for cycle_ns in values])
    (change,) = history.changes
    assert (change.certain, change.sure) == (False, "not certain: add more runs")
    assert "may have risen by" in history.headline
    assert history.bisect == ()


def test_the_newest_change_comes_first_with_a_way_to_find_its_commit(tmp_path: Path):
    values = times((50e6, 10), (52e6, 10))
    rows = [
        measured_run(
            cycle_ns=cycle_ns, launches=500.0 if day < 5 else 489.0, versions={"torch": version}
        )
        for day, cycle_ns in enumerate(values)
        for version in ["2.6" if day < 10 else "2.7"]
    ]
    history = history_of_rows(tmp_path, rows)
    assert [change.signal for change in history.changes] == ["cycle_ns", "launches"]
    assert "Library versions changed as well: torch 2.6 → 2.7." in history.headline
    assert "git bisect start 0010abcdef 0009abcdef" in history.bisect
    script = "\n".join(history.bisect)
    assert "git bisect run timesink ab -o ../bisect --force --base-ref 0009abcdef " in script
    assert "--fail-on regression --undecided 125 -- python train.py" in script


def test_a_count_that_rose_is_bisected_by_its_budget(tmp_path: Path):
    rows = [measured_run(launches=500.0 if day < 5 else 510.0) for day in range(10)]
    script = "\n".join(history_of_rows(tmp_path, rows).bisect)
    assert "echo 'launches = \"+0\"' > ../budgets.toml" in script
    assert "timesink gate @good run --budget ../budgets.toml --undecided 125'" in script


def test_one_document_for_every_writer(tmp_path: Path):
    values = times((50e6, 10), (52e6, 10))
    history = history_of_rows(tmp_path, [measured_run(cycle_ns=cycle_ns) for cycle_ns in values])
    document = history_document(history)
    (curve,) = [
        block
        for section in document.sections
        for block in section.blocks
        if isinstance(block, Curves)
    ]
    assert curve.labels[0] == "0000abcdef"
    assert [(mark.x, mark.label) for mark in curve.marks] == [(10, "0010abcdef")]
    assert len(set(curve.series[1].values)) == 2
    for written in (to_text(document), to_markdown(document)):
        assert "0010abcdef" in written
        assert "git bisect start" in written
        assert "12 of 20" in written
    answer = json.loads(history.to_json())
    assert answer["schema"] == "timesink/history/1"
    assert answer["changes"][0]["commit"]["sha"] == "0010abcdef"
    assert len(answer["rows"]) == 20


def test_one_signal_alone(tmp_path: Path):
    rows = [measured_run(mean_ns=mean_ns) for mean_ns in times((50e6, 10), (52e6, 10))]
    history = history_of_rows(tmp_path, rows, signal="mean_ns")
    assert [change.signal for change in history.changes] == ["mean_ns"]
    assert history_of_rows(tmp_path, []).changes == ()
    with pytest.raises(UsageError, match="no signal is named 'speed'"):
        timesink.history("@main", store=tmp_path, signal="speed")


def test_nothing_changed(tmp_path: Path):
    history = history_of_rows(tmp_path, [measured_run(cycle_ns=50e6)] * 8)
    assert history.headline == "No level of @main has changed in 8 rows."
    assert to_text(history_document(history)).count("No level of @main") == 1
