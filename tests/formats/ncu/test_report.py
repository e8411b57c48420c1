"""Binary reports, read through a program that stands in for `ncu`."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ncu_files import Call, expected_calls, raw_csv
from timesink.errors import TimesinkError, UnreadableError
from timesink.formats.source_file import read_trace

CALLS = [Call("gemm", 26_336, tensor_pct=72.37), Call("copy", 5_984, dram_pct=88.25)]
REPORT = b"NVR\0" + (26).to_bytes(4, "little") + b"\x0a\x18" + bytes(24)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "a run.ncu-rep"
    path.write_bytes(REPORT)
    return path


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "ncu"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("TIMESINK_NCU", str(program))


def test_the_raw_page_is_read(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "raw.csv").write_text(raw_csv(CALLS))
    install(tmp_path, monkeypatch, f'echo "$@" > {tmp_path}/asked; cat {tmp_path}/raw.csv')
    trace = read_trace(report)
    assert trace.kernel_calls.equals(expected_calls(CALLS))
    assert trace.metadata.extra["layout"] == "report"
    assert (tmp_path / "asked").read_text() == (
        f"--import {report} --csv --page raw --rename-kernels off\n"
    )


def test_an_older_program_knows_fewer_options(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "raw.csv").write_text(raw_csv(CALLS))
    refuse = 'case "$*" in *rename*) echo "==ERROR== no such option"; exit 1;; esac'
    install(tmp_path, monkeypatch, f"{refuse}; cat {tmp_path}/raw.csv")
    trace = read_trace(report)
    assert trace.kernel_calls.equals(expected_calls(CALLS))
    assert trace.metadata.extra["profiler_notes"] == []


def test_a_table_that_breaks_off_is_no_table(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "raw.csv").write_text(raw_csv(CALLS))
    install(tmp_path, monkeypatch, f"cat {tmp_path}/raw.csv; exit 1")
    with pytest.raises(UnreadableError, match="exit code 1"):
        read_trace(report)


def test_a_packed_report_is_unpacked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raw.csv").write_text(raw_csv(CALLS))
    install(tmp_path, monkeypatch, f'cp "$2" {tmp_path}/seen; cat {tmp_path}/raw.csv')
    (tmp_path / "run.ncu-rep.gz").write_bytes(gzip.compress(REPORT))
    assert read_trace(tmp_path / "run.ncu-rep.gz").kernel_calls.height == 2
    assert (tmp_path / "seen").read_bytes() == REPORT


def test_without_ncu_the_command_is_told(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timesink.formats.ncu.binary_report.find_ncu", lambda: None)
    with pytest.raises(UnreadableError) as caught:
        read_trace(report)
    assert caught.value.message.startswith(f"{report}: a binary Nsight Compute report, and ncu is")
    assert (
        "ncu --import 'a run.ncu-rep' --csv --page raw --rename-kernels off > 'a run.csv'"
        in caught.value.hint
    )


def test_what_ncu_says_when_it_fails(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, 'echo "==ERROR== Failed to load report: too new"; exit 1')
    with pytest.raises(UnreadableError, match=r"ncu cannot read this report.*too new"):
        read_trace(report)


def test_a_program_that_is_not_there(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMESINK_NCU", "/nowhere/ncu")
    with pytest.raises(TimesinkError, match="/nowhere/ncu"):
        read_trace(report)
