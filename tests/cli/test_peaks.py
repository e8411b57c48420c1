"""`timesink peaks`: the table, one device, and measuring for real on the host."""

from __future__ import annotations

import csv
import json
import subprocess

import pytest

from forked_programs import host_of_programs
from recorded import needs_torch
from timesink.analyses.kernels.peaks import COLUMNS, load_peaks
from timesink.cli import main

MEASURE = ("peaks", "measure", "--device", "cpu", "--seconds", "0.05", "--precisions", "fp32")


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """A folder of the user's data."""
    monkeypatch.setenv("TIMESINK_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def test_every_device_is_listed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["peaks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(any(line.startswith(row.device) for line in lines) for row in load_peaks())
    assert "125?" in next(line for line in lines if line.startswith("A10 "))


def test_one_device_has_every_figure_and_its_source(capsys):
    assert main(["peaks", "h200"]) == 0
    output = capsys.readouterr().out
    assert "494.7 TFLOP/s" in output
    assert "450.0 GB/s" in output
    assert "NVIDIA H200 data sheet (2024)" in output


def test_the_table_for_programs(capsys):
    assert main(["peaks", "--format", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == len(load_peaks())
    assert main(["peaks", "A10", "--format", "json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["peaks"]
    assert (row["link_bytes_per_s"], "bf16_tensor" in row["unsure"]) == (31.5e9, True)
    assert main(["peaks", "--format", "md"]) == 0
    assert "| H200 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["H100"], 2, 'name it with "H100 SXM" or "H100 PCIe"'),
        (["nonsense"], 2, "is not in the table"),
        (["--seconds", "3"], 2, "timesink peaks measure --seconds"),
        (["measure", "--device", "nope"], 2, "--device: 'nope' cannot be used"),
        (["measure", "--device", "meta"], 2, "computes nothing"),
        (["measure", "--format", "csv"], 2, "leave it out"),
    ],
)
def test_what_cannot_be_meant(words, code, reason, capsys):
    assert main(["peaks", *words]) == code
    assert reason in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "words", [["--seconds", "0"], ["--seconds", "nan"], ["--precisions", "fp12"]]
)
def test_values_that_are_none_are_refused(words):
    with pytest.raises(SystemExit) as stop:
        main(["peaks", "measure", *words])
    assert stop.value.code == 2


def test_without_an_accelerator_it_says_what_to_do(capsys):
    torch = pytest.importorskip("torch")
    if torch.accelerator.is_available():
        pytest.skip("there is one")
    assert main(["peaks", "measure"]) == 1
    assert "--device cpu" in capsys.readouterr().err


def test_what_was_measured_is_kept_and_found(data, capsys):
    pytest.importorskip("torch")
    assert main([*MEASURE, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    [row] = answer["peaks"]
    assert row["measured"] == ["dram", "fp32"]
    assert row["flop_per_s"]["fp32"] > 1e8
    assert answer["stored"] == str(data / "measured_peaks.csv")
    assert main(["peaks", row["device"]]) == 0
    assert "measured on 20" in capsys.readouterr().out
    # Again: one row per device.
    assert main(list(MEASURE)) == 0
    assert len((data / "measured_peaks.csv").read_text().splitlines()) == 2


def test_a_file_of_ones_own_is_for_other_machines(tmp_path, data, capsys):
    pytest.importorskip("torch")
    mine = tmp_path / "mine.csv"
    assert main([*MEASURE, "-o", str(mine)]) == 0
    assert not data.exists()
    assert load_peaks(mine)[0].source.startswith("measured on")
    mine.write_text("something else")
    assert main([*MEASURE, "-o", str(mine)]) == 1
    assert "--force" in capsys.readouterr().err


def test_a_broken_file_is_replaced_by_force_alone(data, capsys):
    pytest.importorskip("torch")
    data.mkdir()
    file = data / "measured_peaks.csv"
    file.write_text("nonsense\n")
    assert main(list(MEASURE)) == 1
    assert "--force" in capsys.readouterr().err
    assert file.read_text() == "nonsense\n"
    assert main([*MEASURE, "--force"]) == 0
    assert len(file.read_text().splitlines()) == 2


@needs_torch
@pytest.mark.whole
def test_pytorch_and_timesink_suffice(tmp_path, data):
    absent_modules = "polars", "msgspec", "rich", "numpy.typing", "isal"
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent_modules!r}))\n"
        f"from timesink.cli import main; sys.exit(main({list(MEASURE)!r}))"
    )
    (tmp_path / "measure.py").write_text(code)
    command = host_of_programs().command(str(tmp_path / "measure.py"))
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("device,match,")
    assert (data / "measured_peaks.csv").exists()
