"""What weakens the numbers of behaviour, in sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from behaviour_files import ROW, change_cells, csv_file
from compared_runs import process_table, write_table, write_timeline
from timesink.analyses.behaviour.table import NO_SAMPLES

HEADER = "timestamp_us,counter,device,value"


@pytest.mark.parametrize(
    ("counters", "reason"),
    [
        ("", "counters.csv: the file is empty: its samples are not used"),
        ("1,gpu_power,GPU 0,7", "(no header line): its samples are not used"),
        (f"{HEADER[:-2]}\n1,c,GPU 0,7", "(no column value): its samples are not used"),
        (f"{HEADER}\n1,c,GPU 0,N/A", "counters.csv: 1 row could not be used, e.g. 1,c,GPU 0,N/A"),
        (f"{HEADER}\n1,c,GPU 0,a\n2,c,GPU 0,b", "counters.csv: 2 rows could not be used, e.g. 1"),
    ],
)
def test_counters_that_cannot_be_used_are_not_called_absent(
    tmp_path: Path, counters: str, reason: str
) -> None:
    path = write_timeline(tmp_path / "trace.json")
    (tmp_path / "counters.csv").write_text(counters)
    notes = timesink.behaviour(path).notes
    assert any(reason in note for note in notes)
    assert NO_SAMPLES not in notes


@pytest.mark.parametrize("counters", ["", f"{HEADER}\n1,c,GPU 0,N/A"])
def test_comparing_says_the_same_of_counters(tmp_path: Path, counters: str) -> None:
    path = write_timeline(tmp_path / "trace.json")
    (tmp_path / "counters.csv").write_text(counters)
    notes = timesink.compare(path, path).pair.base.notes
    assert any("counters.csv: " in note for note in notes)
    assert NO_SAMPLES not in notes


def test_counters_that_are_not_there_are(tmp_path: Path) -> None:
    assert NO_SAMPLES in timesink.behaviour(write_timeline(tmp_path / "trace.json")).notes


@pytest.mark.parametrize(
    ("before", "after", "beginning"),
    [
        ("instances_count", "times", "not in the table, so not known: instances_count (how"),
        ("mu_pct", "level", "not in the table, so not known: mu_pct (how high counters were)"),
    ],
)
def test_what_a_table_does_not_say(tmp_path: Path, before: str, after: str, beginning: str) -> None:
    path = write_table(tmp_path / "a.csv", process_table(7))
    path.write_text(path.read_text().replace(before, after))
    notes = timesink.behaviour(path).notes
    assert notes[0].startswith(beginning)


def test_a_cut_archive_is_said_without_a_number(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.csv.gz", process_table(7))
    path.write_bytes(path.read_bytes()[:-200])
    notes = timesink.behaviour(path).notes
    assert any(
        note.startswith("the compressed stream ends early or is corrupt: ") for note in notes
    )


def test_levels_and_names_that_are_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    odd = [
        change_cells(mu_pct="inf"),
        change_cells(function_name="café"),
        change_cells(sigma_pct="x"),
    ]
    path.write_bytes(csv_file(ROW, *odd).decode().encode("latin-1"))
    notes = timesink.behaviour(path).notes
    assert [note.partition(":")[0] for note in notes] == [
        "1 value could not be read, e.g. sigma_pct 'x'",
        "1 line holds text that is not UTF-8",
        "1 row names a counter without a number for it, e.g. mu_pct of cpu_frequency is 'inf'",
    ]
