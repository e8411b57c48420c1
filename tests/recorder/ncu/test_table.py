"""What a printed table holds."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from timesink.errors import OutputError
from timesink.recorder.ncu.table import MARK, look_at, write_table

WIDE = """\
==WARNING== whatever
"ID","Process ID","Kernel Name","Device","a.sum","b.avg","device__attribute_display_name"
"","","","","ns","%",""
"0","17","void f<1, 2>(int)","0","6,176","n/a","NVIDIA H200"
"1","17","g","0","3","","NVIDIA H200"
"""
LONG = """\
"ID","Process ID","Kernel Name","Device","Metric Name","Metric Unit","Metric Value"
"0","17","f","0","a.sum","ns","6,176"
"0","17","f","0","b.avg","","n/a"
"0","18","f","0","a.sum","ns","6,176"
"1","18","f","1","a.sum","ns","6,176"
"""


@pytest.fixture
def write_printed(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "printed.csv"
        path.write_text(text)
        return path

    return write


def test_row_per_kernel(write_printed):
    table = look_at(write_printed(WIDE), ["a.sum", "b.avg", "c"])
    assert table is not None
    assert (table.kernels, table.device) == (2, "NVIDIA H200")
    assert table.without_values == ("b.avg", "c")


def test_row_per_kernel_and_metric(write_printed):
    table = look_at(write_printed(LONG), ["a.sum", "b.avg"])
    assert table is not None
    assert (table.kernels, table.device, table.without_values) == (3, "", ("b.avg",))


def test_units_do_not_matter(write_printed):
    """A report comes in units that fit its values."""
    scaled = WIDE.replace('"ns"', '"us"').replace('"6,176"', '"6.176000"')
    table = look_at(write_printed(scaled), ["a.sum", "b.avg"])
    assert table is not None
    assert (table.kernels, table.device, table.without_values) == (2, "NVIDIA H200", ("b.avg",))


def test_names_that_stand_for_several_metrics(write_printed):
    table = look_at(write_printed(WIDE), ["a", "b", "regex:x"])
    assert table is not None
    assert table.without_values == ("b",)


@pytest.mark.parametrize("text", ["", "hello\n", "==ERROR== no\n"])
def test_no_table(write_printed, text: str):
    assert look_at(write_printed(text), []) is None


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz"])
def test_file_says_how_it_came_about(write_printed, tmp_path: Path, name: str):
    table = look_at(write_printed(WIDE), [])
    assert table is not None
    output = tmp_path / name
    write_table(table, output, {"version": 1}, ["==WARNING== clocks"])
    data = output.read_bytes()
    lines = (gzip.decompress(data) if name.endswith(".gz") else data).decode().splitlines()
    assert json.loads(lines[0].removeprefix(MARK)) == {"version": 1}
    assert lines[1] == "==WARNING== clocks"
    assert lines[2:] == WIDE.splitlines()[1:]


def test_place_that_vanished(write_printed, tmp_path: Path):
    table = look_at(write_printed(WIDE), [])
    assert table is not None
    with pytest.raises(OutputError, match="cannot be written"):
        write_table(table, tmp_path / "gone" / "out.csv", {}, [])
