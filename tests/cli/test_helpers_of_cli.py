"""Small cases of what the helpers of cli give."""

from __future__ import annotations

import argparse

import pytest

from timesink.cli.options import (
    CHOICE,
    engine_from,
    exit_code,
    file_only,
    file_or_stdout,
    fraction,
    fraction_or_all,
    not_empty,
    percentage,
    process_count,
    program_in,
    reading_of,
    row_count,
    whole_number,
    without_dashes,
)
from timesink.cli.outputs import as_bytes, check_page, set_words


def test_not_empty() -> None:
    assert not_empty("trace.json") == "trace.json"


def test_process_count() -> None:
    assert process_count("4") == 4


def test_row_count() -> None:
    assert row_count("10") == 10


def test_whole_number() -> None:
    assert whole_number("010", "launches") == 10


def test_fraction() -> None:
    assert (fraction("0.25"), fraction("25%"), fraction("1/4")) == (0.25, 0.25, 0.25)


def test_fraction_or_all() -> None:
    assert (fraction_or_all("0"), fraction_or_all("100%")) == (0.0, 1.0)


def test_percentage() -> None:
    assert (percentage("1"), percentage("0.5%")) == (1.0, 0.5)


def test_file_or_stdout() -> None:
    assert file_or_stdout("-") is None


def test_file_only() -> None:
    assert file_only("tables").name == "tables"


def test_reading_of() -> None:
    arguments = argparse.Namespace(worker=None, span=1, rank=None, no_cache=True, jobs=2)
    assert reading_of(arguments, *CHOICE) == {
        "worker": None,
        "span": 1,
        "rank": None,
        "cache": False,
        "jobs": 2,
    }


def test_program_in() -> None:
    assert program_in(argparse.Namespace(program=["--", "python", "a.py"]), "record", "record") == (
        "python",
        "a.py",
    )


def test_engine_from() -> None:
    arguments = argparse.Namespace(engine="local", ray_address=None, jobs=2)
    assert engine_from(arguments).name == "local"


def test_check_page() -> None:
    check_page("html")


def test_as_bytes() -> None:
    assert as_bytes("gemm") == b"gemm\n"


def test_set_words() -> None:
    assert set_words(312, 1000, 3, 41.2) == "ranks 312 of 1 000, 41 per second, 3 damaged"


def test_exit_code() -> None:
    assert exit_code("125") == 125
    with pytest.raises(argparse.ArgumentTypeError, match="a number from 0 to 255"):
        exit_code("256")


def test_without_dashes() -> None:
    assert without_dashes(["--", "python", "--", "x"]) == ["python", "--", "x"]
    assert without_dashes(["python", "--"]) == ["python", "--"]
