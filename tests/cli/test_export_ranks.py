"""`timesink export` of several ranks, and of a part of a recording."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile

import pytest

from timesink.cli.command_line import main

RANKS = "data/h200/traces/ddp8_normal"


pytestmark = pytest.mark.usefixtures("reads_here")


@pytest.fixture
def ranks(shared_root, tmp_path):
    """Three ranks of a run."""
    folder = tmp_path / "ranks"
    folder.mkdir()
    for file in sorted((shared_root / RANKS).iterdir())[:3]:
        shutil.copy(file, folder)
    return folder


def test_an_archive_of_ranks(ranks, tmp_path, capsys):
    output = tmp_path / "run.zip"
    assert main(["export", str(ranks), "-o", str(output), "--ranks", "0,2", "--steps", "4"]) == 0
    assert "2 ranks" in capsys.readouterr().out
    with zipfile.ZipFile(output) as archive:
        assert archive.namelist() == ["perfetto_manifest.json", "rank0.pftrace", "rank2.pftrace"]


def test_ranks_in_one_file(ranks, tmp_path, capsys):
    output = tmp_path / "run.json.gz"
    arguments = ["export", str(ranks), "-o", str(output), "--steps", "4-5", "--detail", "device"]
    assert main(arguments) == 0
    assert "collectives linked across ranks" in capsys.readouterr().out
    events = json.loads(gzip.decompress(output.read_bytes()))["traceEvents"]
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    assert any(name.startswith("rank 2: ") for name in names)
    arrows = [event for event in events if event.get("cat") == "collective"]
    by_number: dict[int, list[str]] = {}
    for arrow in sorted(arrows, key=lambda arrow: arrow["ts"]):
        by_number.setdefault(arrow["id"], []).append(arrow["ph"])
    assert set(map(tuple, by_number.values())) == {("s", "t", "f")}
    slices = [event for event in events if event["ph"] == "X"]
    starts = {(e["pid"], e["tid"], e["ts"]) for e in slices}
    assert all((a["pid"], a["tid"], a["ts"]) in starts for a in arrows)
    assert not any(event.get("cat") in ("cpu_op", "python_function") for event in slices)


def test_one_file_holds_one_rank(ranks, tmp_path, capsys):
    assert main(["export", str(ranks), "-o", str(tmp_path / "run.pftrace")]) == 2
    message = capsys.readouterr().err
    assert "holds 3 recordings; a .pftrace holds one" in message
    assert ".zip" in message


@pytest.mark.parametrize("text", ["x", "1-", "-1", "99"])
def test_ranks_that_are_none(ranks, tmp_path, text, capsys):
    arguments = ["export", str(ranks), "-o", str(tmp_path / "run.zip"), f"--ranks={text}"]
    assert main(arguments) == 2
    assert "ranks" in capsys.readouterr().err
