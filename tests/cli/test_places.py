"""Places a command may be given: patterns, folders of ranks, URLs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from builders import to_bytes, training_trace, write
from timesink.cli import main

pytestmark = pytest.mark.usefixtures("reads_here")

pytest.importorskip("fsspec")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two ranks, one folder each."""
    for rank in range(2):
        (tmp_path / "run" / f"rank_{rank}").mkdir(parents=True)
        write(tmp_path / "run" / f"rank_{rank}" / "trace.json", _trace(rank))
    return tmp_path / "run"


def _trace(rank: int) -> dict[str, Any]:
    distributed = {"backend": "nccl", "rank": rank, "world_size": 2}
    return {**training_trace(2), "distributedInfo": distributed}


def _pack_run(run: Path) -> Path:
    with zipfile.ZipFile(run.with_suffix(".zip"), "w") as archive:
        for rank in range(2):
            archive.writestr(f"run/rank{rank}.json", to_bytes(_trace(rank)))
    return run.with_suffix(".zip")


def _ranks(place: str, capsys: pytest.CaptureFixture[str]) -> list[int]:
    options = ["--view", "ranks", "--format", "json", "--jobs", "1"]
    assert main(["analyze", place, *options]) == 0
    return [row["rank"] for row in json.loads(capsys.readouterr().out)]


def test_a_pattern_and_a_url_are_as_good(run: Path, capsys: pytest.CaptureFixture[str]):
    assert _ranks(f"{run}/rank_*/trace.json", capsys) == [0, 1]
    assert _ranks(f"zip://run::file://{_pack_run(run)}", capsys) == [0, 1]


def test_one_rank_behind_a_url(run: Path, capsys: pytest.CaptureFixture[str]):
    place = f"zip://run/*::file://{_pack_run(run)}"
    assert main(["info", place, "--rank", "1", "--format", "json"]) == 0
    output = capsys.readouterr().out
    assert f"zip://run/rank1.json::file://{run}.zip" in output
    assert "rank0" not in output


def test_two_runs_behind_urls_are_compared(run: Path, capsys: pytest.CaptureFixture[str]):
    archive = _pack_run(run)
    first, other = (f"zip://run/rank{rank}.json::file://{archive}" for rank in range(2))
    assert main(["compare", first, other]) == 0
    assert "rank0" in capsys.readouterr().out


def test_a_pattern_without_quotes_is_explained(run: Path, capsys: pytest.CaptureFixture[str]):
    paths = [str(path) for path in sorted(run.iterdir())]
    with pytest.raises(SystemExit):
        main(["analyze", *paths])
    assert "put a pattern in quotes" in capsys.readouterr().err


def test_what_is_read_by_a_pattern_is_not_overwritten(
    run: Path, capsys: pytest.CaptureFixture[str]
):
    output = run / "rank_0" / "trace.json"
    place = f"{run}/*/trace.json"
    assert main(["analyze", place, "-o", str(output), "--force"]) == 1
    assert "this is the input" in capsys.readouterr().err
