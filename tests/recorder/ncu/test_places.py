"""Where reports go when things go wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from timesink.errors import CollectError, UsageError
from timesink.recorder.ncu.table import NcuOutputs, put_away, rescue_report, workplace


def test_free_name_beside_the_table(tmp_path: Path):
    places = NcuOutputs(tmp_path / "run.csv.gz")
    assert places.beside == tmp_path / "run.ncu-rep"
    places.beside.touch()
    assert places.beside == tmp_path / "run-2.ncu-rep"


def test_table_with_the_name_of_a_report(tmp_path: Path):
    assert NcuOutputs(tmp_path / "s.ncu-rep").beside == tmp_path / "s-2.ncu-rep"


@pytest.mark.parametrize("name", ["t.csv", "T.CSV.gz", "t.txt", "table", "t.2025", "t.gz"])
def test_names_a_table_may_have(name: str):
    NcuOutputs(Path(name)).check_names()


@pytest.mark.parametrize("name", ["t.html", "t.HTM", "t.svg", "t.png", "t.json.gz", "t.md"])
def test_names_of_what_is_no_table(name: str):
    with pytest.raises(UsageError, match="writes CSV") as caught:
        NcuOutputs(Path(name)).check_names()
    assert caught.value.hint.endswith(f"timesink kernels FILE.csv -o {name}")


def test_name_of_a_report_for_the_table():
    with pytest.raises(UsageError) as caught:
        NcuOutputs(Path("t.ncu-rep")).check_names()
    assert caught.value.hint.endswith("--keep-report t.ncu-rep")


def test_report_nobody_wants_is_removed(tmp_path: Path):
    places = NcuOutputs(tmp_path / "run.csv")
    with workplace(places.output) as report:
        report.touch()
        assert put_away(report, places) is None
    assert list(tmp_path.iterdir()) == []


def test_report_on_another_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where a file cannot be renamed it is copied, under another name until it is whole."""
    places = NcuOutputs(tmp_path / "run.csv", tmp_path / "kept.ncu-rep")
    copied: list[str] = []
    copy = shutil.copyfile

    def note(source: Path, target: Path) -> None:
        copied.append(target.name)
        copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", note)
    with workplace(places.output) as report:
        report.write_text("measured")
        monkeypatch.setattr("timesink.recorder.ncu.table.os.replace", _only_within(report.parent))
        assert put_away(report, places) is None
    assert copied == [".kept.ncu-rep.unfinished"]
    assert [path.name for path in tmp_path.iterdir()] == ["kept.ncu-rep"]


def _only_within(folder: Path) -> Callable[[Path, Path], None]:
    def replace(source: Path, target: Path) -> None:
        if source.parent == folder:
            raise OSError(18, "Invalid cross-device link")
        source.rename(target)

    return replace


def test_report_that_no_place_takes_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    places = NcuOutputs(tmp_path / "run.csv")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("timesink.recorder.ncu.table._move", refuse)
    with workplace(places.output) as report:
        report.write_text("measured")
        with pytest.raises(CollectError) as caught, rescue_report(report, places, []):
            raise MemoryError
    assert caught.value.message == "out of memory"
    assert caught.value.hint == f"the report is kept as {report}"
    assert report.read_text() == "measured"
