"""A folder of recordings that are no ranks of one run is a list of runs, one answer each."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import timesink
from timesink.answers.analysis.report import RunList, analyze_place
from timesink.cli import main
from timesink.errors import AmbiguousError
from timesink.server.runs import ReachableFiles, Scan

pytestmark = pytest.mark.usefixtures("reads_here")


@pytest.fixture(scope="module")
def folder(shared_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small recordings of different programs, days apart, and one that is damaged."""
    place = tmp_path_factory.mktemp("h100")
    sources = ("h100/bert-small", "mi210/gpu_only_trace")
    for source in sources:
        file = shared_root / "data/tracelens" / f"{source}.json.gz"
        shutil.copy(file, place / file.name)
    return place


def test_what_is_of_one_run_says_what_it_needs(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["analyze", str(folder), "--view", "kernels"]) == 2
    error = capsys.readouterr().err
    assert "holds 2" in error
    assert "bert-small.json.gz --view kernels" in error
    assert main(["analyze", str(folder), "--rank", "1"]) == 1
    assert "it has bert-small, gpu_only_trace" in capsys.readouterr().err
    assert main(["analyze", str(folder), "--worker", "bert-small"]) == 0
    assert "different runs" not in capsys.readouterr().out


def test_python_names_one(folder: Path):
    with pytest.raises(AmbiguousError, match="no ranks of one run"):
        timesink.analyze(folder)
    answers = analyze_place(folder)
    assert isinstance(answers, RunList)
    assert len(answers.runs) == 2


def test_a_damaged_one_is_listed_with_its_reason(folder: Path, tmp_path: Path):
    place = tmp_path / "runs"
    shutil.copytree(folder, place)
    (place / "torn.pt.trace.json").write_bytes(b"not a trace at all")
    for file in list(place.glob("*.json.gz")):
        file.rename(place / file.name.replace(".json.gz", ".pt.trace.json.gz"))
    answers = analyze_place(place)
    assert isinstance(answers, RunList)
    assert [run.name for run in answers.runs] == ["bert-small", "gpu_only_trace", "torn"]
    assert answers.runs[2].analysis is None
    assert answers.runs[2].reason


def test_ranks_beside_a_stranger_stay_a_run(shared_root: Path, tmp_path: Path):
    ranks = sorted((shared_root / "data/h200/traces/ddp8_normal").iterdir())[:2]
    for file in ranks:
        shutil.copy(file, tmp_path / file.name.replace(".pt.trace", ""))
    stranger = shared_root / "data/tracelens/h100/bert-small.json.gz"
    shutil.copy(stranger, tmp_path / "rank7.json.gz")
    answers = analyze_place(tmp_path)
    assert isinstance(answers, RunList)
    first, second = answers.runs
    assert first.analysis is not None
    assert first.analysis.ranks is not None
    assert list(first.analysis.ranks.ranks) == [0, 1]
    assert second.name == "rank7"


def test_the_app_lists_them_one_by_one(folder: Path):
    runs = Scan(ReachableFiles(folder.parent)).runs()
    names = [name for name in runs if name.startswith(folder.name)]
    assert names == [f"{folder.name}/bert-small", f"{folder.name}/gpu_only_trace"]
    assert all(len(runs[name].recordings) == 1 for name in names)
    assert list(Scan(ReachableFiles(folder)).runs()) == ["bert-small", "gpu_only_trace"]
