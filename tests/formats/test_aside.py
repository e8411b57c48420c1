"""Writing beside the place that was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from timesink.errors import OutputError
from timesink.formats.written_files import written_aside


def test_a_file_takes_its_name_when_it_is_whole(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    place.write_text("before")
    with written_aside(place) as aside:
        aside.write_text("after")
        assert place.read_text() == "before"
    assert place.read_text() == "after"
    assert list(tmp_path.iterdir()) == [place]


def test_a_folder_is_replaced_only_by_force(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.mkdir()
    (place / "old").touch()
    with (
        pytest.raises(OutputError, match="cannot be written"),
        written_aside(place, force=False) as it,
    ):
        it.mkdir()
    assert (place / "old").exists()
    with written_aside(place) as it:
        it.mkdir()
        (it / "new").touch()
    assert [file.name for file in place.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [place]


def write_half(place: Path) -> None:
    with written_aside(place) as aside:
        aside.write_text("ha")
        raise ValueError(place)


def test_what_failed_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="answer"):
        write_half(tmp_path / "answer.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    place = tmp_path / "no" / "a.txt"
    with written_aside(place) as it:
        it.write_text("a")
    assert place.read_text() == "a"
    with pytest.raises(OutputError, match="cannot be written"), written_aside(place / "b"):
        pass
