"""Peaks of devices: the table, names that lead to a row of it, and what users say."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from measured_kernels import measured
from timesink.analyses.kernels import peaks as module
from timesink.analyses.kernels.peaks import (
    COLUMNS,
    PRECISIONS,
    choose_peaks,
    find_peaks,
    load_peaks,
    parse_peaks,
)
from timesink.errors import TimesinkError, UnreadableError, UsageError
from timesink.model.trace import Device

NAMES = {
    "Tesla V100-SXM2-16GB": "V100 SXM2",
    "Tesla V100-DGXS-32GB": "V100 SXM2",
    "Tesla V100-PCIE-32GB": "V100 PCIe",
    "Tesla V100S-PCIE-32GB": "V100S PCIe",
    "A100-SXM4-40GB": "A100 40GB SXM",
    "NVIDIA A100-SXM4-80GB": "A100 80GB SXM",
    "NVIDIA A100-PCIE-40GB": "A100 40GB PCIe",
    "NVIDIA A100 80GB PCIe": "A100 80GB PCIe",
    "NVIDIA H100 80GB HBM3": "H100 SXM",
    "NVIDIA H100 PCIe": "H100 PCIe",
    "NVIDIA H100 NVL": "H100 NVL",
    "NVIDIA H200": "H200",
    "NVIDIA H200 NVL": "H200 NVL",
    "NVIDIA GH200 480GB": "GH200 96GB",
    "NVIDIA GH200 144G HBM3e": "GH200 144GB",
    "NVIDIA B200": "B200",
    "NVIDIA GB200": "GB200",
    "NVIDIA L4": "L4",
    "NVIDIA L40": "L40",
    "NVIDIA L40S": "L40S",
    "NVIDIA GeForce RTX 4090": "RTX 4090",
    "AMD Instinct MI210": "MI210",
    "AMD Instinct MI250": "MI250 GCD",
    "AMD Instinct MI250X": "MI250X GCD",
    "AMD Instinct MI300X VF": "MI300X",
    "MLU370-X8": "MLU370-X8",
    "MLU370-S4": "MLU370-S4",
    "h200": "H200",
    "a100 80gb-sxm": "A100 80GB SXM",
}


# -- the table -------------------------------------------------------------------------------------


def test_the_table_has_every_column_and_names_each_source():
    with Path(module.__file__).with_name("peaks.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    for row in rows:
        assert re.search(r"\(20\d\d\)", row["source"]), row["device"]
        assert None not in row, row["device"]


@pytest.mark.parametrize("row", load_peaks(), ids=lambda row: row.device)
def test_peaks_are_dense_and_in_base_units(row):
    assert 1e11 < row.dram_bytes_per_s < 2e13
    assert all(1e11 < peak < 2e16 for peak in row.flop_per_s.values())
    # Half the bits, twice the rate: a sparse figure among dense ones would break this.
    for fine, coarse in (("fp16_tensor", "fp8_tensor"), ("tf32_tensor", "fp16_tensor")):
        if {fine, coarse} <= set(row.flop_per_s):
            assert 1.9 < row.flop_per_s[coarse] / row.flop_per_s[fine] < 2.1


@pytest.mark.parametrize(
    ("device", "tensor_flop_per_clock"), [("H200", 4096), ("A100 80GB SXM", 2048), ("L4", 1024)]
)
def test_peaks_follow_from_units_and_clock(device, tensor_flop_per_clock):
    row = find_peaks(device).peaks
    clock = row.tensor_boost_hz or row.boost_hz
    arithmetic = row.multiprocessors * tensor_flop_per_clock * clock
    assert row.flop_per_s["fp16_tensor"] == pytest.approx(arithmetic, rel=0.005)


def test_the_page_shows_the_table():
    page = Path(__file__).parents[3] / "docs" / "roofline.md"
    shown = {
        cells[0]: cells[3:]
        for line in page.read_text(encoding="utf-8").splitlines()
        if len(cells := [cell.strip() for cell in line.strip("|").split("|")])
        == len(PRECISIONS) + 4
    }
    for row in load_peaks():
        peaks = [row.flop_per_s.get(precision) for precision in PRECISIONS]
        numbers = [row.dram_bytes_per_s / 1e9, *(peak and peak / 1e12 for peak in peaks)]
        assert shown[row.device] == ["" if n is None else f"{n:g}" for n in numbers], row.device


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "device"), NAMES.items())
def test_a_name_leads_to_its_device(name, device):
    assert find_peaks(name).peaks.device == device


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("NVIDIA H100", 'name it with --device "H100 SXM" or "H100 PCIe" or "H100 NVL"'),
        ("MLU370", "name it with --device MLU370-X8 or MLU370-X4 or MLU370-S4"),
        ("AMD Instinct MI250X / MI250", '--device "MI250 GCD" or "MI250X GCD"'),
        ("NVIDIA GeForce RTX 4090 D", "is not in the table"),
        ("Tesla T4", "--peaks"),
    ],
)
def test_a_name_that_fits_no_single_device_is_not_guessed(name, asked):
    choice = find_peaks(name)
    assert choice.peaks is None
    assert asked in choice.reason


def test_a_capability_alone_is_ambiguous():
    choice = find_peaks("", "9.0")
    assert choice.peaks is None
    assert "compute capability 9.0" in choice.reason
    assert " or H200 or " in choice.reason


@pytest.mark.parametrize(
    ("capability", "multiprocessors", "device"),
    [("9.0", 114, "H100 PCIe"), ("8.9", 128, "RTX 4090"), ("9.0", 132, None), ("8.6", 68, None)],
)
def test_multiprocessors_tell_devices_of_a_capability_apart(capability, multiprocessors, device):
    found = find_peaks("", capability, multiprocessors).peaks
    assert (found.device if found else None) == device


# -- users -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "peaks"),
    [
        ("dram=4.8e12,fp16_tensor=989e12", {"dram": 4.8e12, "fp16_tensor": 989e12}),
        ("dram=4.0TB/s, fp16_tensor=790TFLOP/s", {"dram": 4e12, "fp16_tensor": 790e12}),
        ("dram=900GB/s", {"dram": 900e9}),
        ("int8_tensor=1.98POPS,fp32=67 tflops", {"int8_tensor": 1.98e15, "fp32": 67e12}),
    ],
)
def test_measured_peaks_are_read(text, peaks):
    assert parse_peaks(text) == pytest.approx(peaks)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("fp12=1e12", "fp16_tensor"),
        ("fp16_tensor=989", "fp16_tensor=790TFLOP/s"),
        ("fp16_tensor=989TB/s", "fp16_tensor=790TFLOP/s"),
        ("dram=4TFLOP/s", "dram=4.0TB/s"),
        ("dram=", "dram=4.0TB/s"),
        ("dram=1.2.3TB/s", "dram=4.0TB/s"),
        ("dram", "dram=4.0TB/s"),
    ],
)
def test_what_is_no_peak_is_refused_with_an_example(text, hint):
    with pytest.raises(UsageError) as error:
        parse_peaks(text)
    assert hint in error.value.hint


def test_the_recorded_device_is_found():
    assert choose_peaks(measured()).peaks.device == "H200"


def test_a_device_the_collector_wrote_down_is_found():
    trace = measured(devices=[Device(0, "")], collected={"device": "NVIDIA L4"})
    assert choose_peaks(trace).peaks.device == "L4"


def test_a_timeline_of_the_same_program_may_name_the_device():
    trace = measured(devices=[Device(0, "", compute_capability="9.0")])
    timeline = measured(devices=[Device(0, "NVIDIA H200"), Device(1, "NVIDIA H200")])
    assert choose_peaks(trace, timeline=timeline).peaks.device == "H200"
    nameless = measured(devices=[Device(0, "")])
    assert "9.0" in choose_peaks(trace, timeline=nameless).reason


def test_a_named_device_comes_before_the_recorded_one():
    assert choose_peaks(measured(), device="A100 40GB SXM").peaks.device == "A100 40GB SXM"


def test_an_unknown_named_device_is_an_error_that_lists_the_known():
    with pytest.raises(UsageError, match="--device: 'H900' is not in the table") as error:
        choose_peaks(measured(), device="H900")
    assert "H200" in error.value.hint


def test_different_devices_have_no_common_roof():
    devices = [Device(0, "NVIDIA H200"), Device(1, "NVIDIA L4")]
    choice = choose_peaks(measured(devices=devices))
    assert choice.peaks is None
    assert "different devices (H200, L4)" in choice.reason


def test_given_peaks_replace_published_ones_and_are_told_apart():
    peaks = choose_peaks(measured(), peaks="dram=4.1TB/s").peaks
    assert peaks.dram_bytes_per_s == 4.1e12
    assert peaks.flop_per_s["fp16_tensor"] == 989.4e12
    assert peaks.given == ("dram",)


def test_given_peaks_suffice_for_an_unknown_device():
    trace = measured(devices=[Device(0, "Some accelerator")])
    assert choose_peaks(trace).peaks is None
    peaks = choose_peaks(trace, peaks="dram=1TB/s,fp32=10TFLOP/s").peaks
    assert (peaks.dram_bytes_per_s, dict(peaks.flop_per_s)) == (1e12, {"fp32": 1e13})


def test_rows_of_a_users_file_come_first(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("device,match,dram_gb_per_s,bf16_tensor\nours,H200,4200,800\n")
    peaks = choose_peaks(measured(), peaks=file).peaks
    assert (peaks.device, peaks.dram_bytes_per_s) == ("ours", 4.2e12)
    assert dict(peaks.flop_per_s) == {"bf16_tensor": 8e14}
    assert peaks.source == str(file)
    assert find_peaks("NVIDIA L4", table=load_peaks(file)).peaks.device == "L4"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,fp32\nx,1\n", "unknown column 'name'"),
        ("fp32\n1\n", "no column device"),
        ("device,fp32\nx,fast\n", "line 2"),
        ("device,match\nx,(\n", "line 2"),
        ("device,fp32\nx,1,2\n", "line 2"),
    ],
)
def test_a_users_file_that_cannot_be_read_says_where(tmp_path, text, said):
    file = tmp_path / "mine.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        load_peaks(file)


def test_a_users_file_that_is_missing_says_so(tmp_path):
    with pytest.raises(UnreadableError, match="no such file"):
        choose_peaks(measured(), peaks=str(tmp_path / "none.csv"))


def test_a_folder_is_no_file_of_peaks(tmp_path):
    with pytest.raises(TimesinkError):
        load_peaks(tmp_path)


# -- derived ---------------------------------------------------------------------------------------


def test_packed_fp16_is_at_least_as_fast_as_fp32():
    b200 = find_peaks("NVIDIA B200").peaks
    assert "fp16" not in b200.flop_per_s
    assert b200.peak("fp16") == b200.peak("fp32")
    assert b200.peak("int4_tensor") is None


def test_peaks_as_plain_data():
    data = find_peaks("NVIDIA H200").peaks.to_dict()
    assert data["dram_bytes_per_s"] == 4.8e12
    assert set(data["flop_per_s"]) <= set(PRECISIONS)


def test_an_ambiguous_device_is_told_what_it_may_be():
    with pytest.raises(UsageError) as error:
        choose_peaks(measured(), device="H100")
    assert error.value.hint == 'name it with --device "H100 SXM" or "H100 PCIe" or "H100 NVL"'


@pytest.mark.parametrize("text", ["nonsense", "foo=3"])
def test_how_to_write_peaks(text):
    with pytest.raises(TimesinkError) as error:
        choose_peaks(measured(), peaks=text)
    assert "dram=4.0TB/s,fp16_tensor=790TFLOP/s" in error.value.hint
