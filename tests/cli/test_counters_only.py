"""Files with counters of kernels and no timeline, through every command."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

import timesink
from ncu_files import Call, collected_line, details_csv, kernel_table, raw_csv
from timesink.cli import main
from timesink.errors import UnreadableError
from timesink.server.library import RunLibrary
from timesink.sources.discovery import recordings_in

CALLS = [Call("gemm", 26_336, tensor_pct=72.37), Call("copy", 5_984, dram_pct=88.25, device=1)]


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    path = tmp_path / "calls.csv"
    path.write_text(details_csv(CALLS))
    return path


def test_info(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(calls)]) == 0
    output = capsys.readouterr().out
    assert output.startswith("calls.csv: 2 kernel launches measured on 2 devices; no timeline\n")
    assert "device 0: 26.34 us, device 1: 5.98 us (sum of single launches)" in output
    assert "device 0, compute capability 9.0; device 1, compute capability 9.0" in output
    assert "the clocks of the device were not fixed" in output
    assert "rank" not in output


def test_info_names_the_device_where_the_page_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raw.csv").write_text(raw_csv(CALLS[:1]))
    assert main(["info", str(tmp_path / "raw.csv")]) == 0
    output = capsys.readouterr().out
    assert "NVIDIA H200, 139.8 GiB, compute capability 9.0, 132 multiprocessors" in output
    assert "No problems found" in output


def test_info_says_how_it_was_collected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = collected_line(command=["python", "a b.py"], every=7, device="NVIDIA H200", ncu="2025.3")
    (tmp_path / "calls.csv").write_text(details_csv(CALLS[:1], before=[line]))
    assert main(["info", str(tmp_path / "calls.csv")]) == 0
    output = capsys.readouterr().out
    for part in (
        "NVIDIA H200, compute",
        "every 7th launch of each kernel",
        "python 'a b.py'",
        "ncu 2025.3",
    ):
        assert part in output


@pytest.mark.parametrize(
    ("per", "sampled", "times"),
    [
        ("launch", "every 2nd launch", ("80.0 us", "80.00 us")),
        ("kernel", "every 2nd launch of each kernel", ("74.7 us", "74.67 us")),
    ],
)
def test_info_scales_a_sample(
    tmp_path: Path, capsys, per: str, sampled: str, times: tuple[str, str]
) -> None:
    (tmp_path / "calls.csv").write_text(
        details_csv([Call("gemm", 10_000)] * 4, before=[collected_line(every=2, per=per)])
    )
    assert main(["info", str(tmp_path / "calls.csv")]) == 0
    output = capsys.readouterr().out
    assert f"4 kernel launches measured, a sample that stands for about {times[0]}" in output
    assert f"about {times[1]} (estimated from a sample)" in output
    assert f"{sampled}\n" in output


def test_info_of_the_fixed_width_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "table.txt").write_text(kernel_table(CALLS))
    assert main(["info", str(tmp_path / "table.txt"), "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["format"], answer["kernel_calls"], answer["kernels"]) == ("kernel-table", 2, 0)
    assert answer["health"] == []


def test_analyze_points_to_kernels(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(calls)]) == 1
    error_text = capsys.readouterr().err
    assert f"{calls}: kernel counters without a timeline" in error_text
    assert f"timesink kernels {calls}" in error_text


def test_analyze_of_an_export_too(
    calls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(calls), "-o", str(tmp_path / "tables")]) == 0
    assert "select * from kernel_calls" in capsys.readouterr().out
    exported, read = timesink.open(tmp_path / "tables"), timesink.open(calls)
    assert exported.kernel_calls.equals(read.kernel_calls)
    assert exported.metadata.devices == read.metadata.devices
    assert main(["analyze", str(tmp_path / "tables")]) == 1


def test_chrome_json_needs_a_timeline(
    calls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(calls), "-o", str(tmp_path / "calls.json")]) == 1
    assert "without the timeline of Chrome JSON" in capsys.readouterr().err
    assert not (tmp_path / "calls.json").exists()


def test_query(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "select name, dur_ns, tensor_pct from kernel_calls order by dur_ns"
    assert main(["query", str(calls), sql, "--format", "csv"]) == 0
    assert capsys.readouterr().out.split() == [
        "name,dur_ns,tensor_pct",
        "copy,5984,0.0",
        "gemm,26336,72.37",
    ]


def test_folders_do_not_offer_counters(calls: Path) -> None:
    with zipfile.ZipFile(calls.with_name("calls.zip"), "w") as archive:
        archive.writestr("calls.csv", calls.read_bytes())
    assert recordings_in(calls.parent) == []


def test_views_of_the_server_need_a_timeline(calls: Path) -> None:
    library = RunLibrary(calls)
    with pytest.raises(UnreadableError, match="without a timeline"):
        library.samples(library.run("calls.csv"))


def test_a_file_named_like_counters_beside_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "counters.csv"
    path.write_text(details_csv(CALLS, before=()))
    trace = timesink.open(path)
    assert (trace.kernel_calls.height, trace.health) == (2, ())
