"""Options of commands that read many ranks, and what is shown meanwhile."""

from __future__ import annotations

import pytest

from timesink.cli import main
from timesink.cli.outputs import ReadingBar
from timesink.formats.read_options import tell_of_set


def test_an_address_without_its_engine_is_wrong_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["analyze", "anywhere", "--ray-address", "head:6379"]) == 2
    assert capsys.readouterr().err == (
        "timesink: --ray-address does not go with the local engine\nhint: add --engine ray\n"
    )


def test_unknown_engines_are_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["analyze", "anywhere", "--engine", "spark"])
    assert left.value.code == 2
    assert "'spark'" in capsys.readouterr().err


def test_the_bar_tells_of_ranks_and_then_of_bytes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    bar = ReadingBar()
    tell_of_set(bar, 312, 1000, 3)
    bar(4096, 8192)
    bar.close()

    progress = capsys.readouterr().err
    assert "ranks 312 of 1 000, 3 damaged" in progress
    assert progress.index("ranks 312") < progress.index("reading")


def test_plain_functions_hear_of_files_done() -> None:
    reports: list[tuple[int, int]] = []
    tell_of_set(lambda done, total: reports.append((done, total)), 3, 8, 1)
    tell_of_set(None, 4, 8, 1)

    assert reports == [(3, 8)]
