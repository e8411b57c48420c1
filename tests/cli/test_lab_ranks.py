"""`timesink lab ranks`: a run with known answers, ready to be analysed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import timesink
from timesink.cli import main

SMALL = ["--ranks", "4", "--steps", "2", "--layers", "1"]


def test_a_run_is_written_with_what_is_true_about_it(tmp_path: Path, capsys):
    folder = tmp_path / "run"
    words = ["lab", "ranks", "-o", str(folder), *SMALL, "--tensor", "2", "--seed", "7"]
    assert main([*words, "--straggler", "slow_clock:3", "--straggler", "gc_pause:1:10%"]) == 0
    output = capsys.readouterr().out
    assert "Injected: slow_clock (gpu_clock), rank 3, in 2 of 2 steps; the run takes " in output
    assert output.endswith(f"Next: timesink analyze {folder}\n")
    truth = json.loads((folder / "truth.json").read_text())
    assert (truth["plan"]["ranks"], truth["plan"]["tensor"], truth["plan"]["seed"]) == (4, 2, 7)
    assert [(answer["cause"], answer["ranks"]) for answer in truth["answers"]] == [
        ("gpu_clock", [3]),
        ("host_code", [1]),
    ]
    # The truth lies beside the traces, and is not one of them.
    recordings = timesink.find_recordings(folder)
    assert [recording.path.name for recording in recordings] == truth["files"]
    assert [recording.rank for recording in recordings] == [0, 1, 2, 3]


def test_files_are_named_as_the_handler_of_pytorch_does(tmp_path: Path, capsys):
    folder = tmp_path / "run"
    words = ["lab", "ranks", "-o", str(folder), *SMALL, "--ranks-per-node", "2"]
    assert main([*words, "--naming", "handler"]) == 0
    assert "No rank is slow." in capsys.readouterr().out
    recordings = timesink.find_recordings(folder)
    assert [recording.worker for recording in recordings] == [
        "node000_4000", "node000_4007", "node001_4000", "node001_4007",
    ]  # fmt: skip
    assert [recording.rank for recording in recordings] == [None] * 4
    ranks = [
        timesink.open(recording.path, cache=False).metadata.distributed.rank
        for recording in recordings
    ]
    assert ranks == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--straggler", "slow_clock:x"], "'slow_clock:x' is not a straggler"),
        (["--straggler", "tired:1"], "no slowness of the kind 'tired'"),
        (["--straggler", "sync:1:nan"], "needs an intensity"),
        (["--straggler", "last_stage"], "without pipeline stages"),
        (["--tensor", "3"], "cannot be divided"),
        (["--skew-us", "-1"], "give 0 or more"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_written(tmp_path: Path, capsys, words, reason):
    folder = tmp_path / "run"
    assert main(["lab", "ranks", "-o", str(folder), *SMALL, *words]) == 2
    assert reason in capsys.readouterr().err
    assert not folder.exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, capsys):
    (tmp_path / "rank9.pt.trace.json.gz").touch()
    assert main(["lab", "ranks", "-o", str(tmp_path), *SMALL]) == 1
    assert "is there already" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["rank9.pt.trace.json.gz"]


def test_kinds_are_listed(capsys):
    assert main(["lab", "list"]) == 0
    assert "gc_pause" in capsys.readouterr().out
    assert main(["lab", "list", "--format", "json"]) == 0
    kinds = json.loads(capsys.readouterr().out)["slowness"]
    assert {"name": "sync", "cause": "synchronisation"}.items() <= kinds[6].items()
