"""Peaks of devices: the table, names that lead to a row of it, and what users say."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from measured_kernels import trace_of_launches
from timesink.analyses.kernels import peaks as module
from timesink.analyses.kernels.peaks import (
    COLUMNS,
    PRECISIONS,
    choose_peaks,
    find_peaks,
    load_peaks,
    measured_row,
    parse_peaks,
    peaks_at_clock,
    peaks_csv,
)
from timesink.answers.common_json import DevicePeaksJson
from timesink.errors import TimesinkError, UnreadableError, UsageError
from timesink.model.trace import Device
from timesink.recorder.peak_rates import BestRate, MeasuredDevice
from timesink.rules.counter_names import hardware_of

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
    "Tesla T4": "T4",
    "NVIDIA A10": "A10",
    "NVIDIA A10G": "A10G",
    "NVIDIA H800": "H800 SXM",
    "NVIDIA GB300": "GB300",
    "NVIDIA RTX A6000": "RTX A6000",
    "NVIDIA RTX 6000 Ada Generation": "RTX 6000 Ada",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "RTX PRO 6000 Blackwell",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX PRO 6000 Blackwell Server",
    "NVIDIA GeForce RTX 4090 D": "RTX 4090 D",
    "AMD Instinct MI300X OAM": "MI300X",
    "AMD Instinct MI325X": "MI325X",
    "Intel(R) Data Center GPU Max 1550": "Max 1550",
    "Intel(R) Arc(TM) B580 Graphics": "Arc B580",
    "Ascend910A": "Ascend 910A",
    "Ascend910B2": "Ascend 910B2",
    "Ascend910_9392": "Ascend 910C die",
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


def test_peaks_are_dense_and_in_base_units():
    for row in load_peaks():
        assert 1e11 < row.dram_bytes_per_s < 2e13, row.device
        assert all(1e11 < peak < 2e16 for peak in row.flop_per_s.values()), row.device
        # Half the bits, twice the rate: a sparse figure among dense ones would break this.
        if row.device == "Gaudi 3":
            continue  # Its matrix engines are as fast in both.
        for fine, coarse in (("fp16_tensor", "fp8_tensor"), ("tf32_tensor", "fp16_tensor")):
            if {fine, coarse} <= set(row.flop_per_s):
                assert 1.9 < row.flop_per_s[coarse] / row.flop_per_s[fine] < 2.1, row.device


@pytest.mark.parametrize(
    ("device", "tensor_flop_per_clock"), [("H200", 4096), ("A100 80GB SXM", 2048), ("L4", 1024)]
)
def test_peaks_follow_from_units_and_clock(device, tensor_flop_per_clock):
    row = find_peaks(device).peaks
    clock = row.tensor_boost_hz or row.boost_hz
    arithmetic = row.multiprocessors * tensor_flop_per_clock * clock
    assert row.flop_per_s["fp16_tensor"] == pytest.approx(arithmetic, rel=0.005)


def test_the_page_shows_the_table():
    page = Path(__file__).parents[3] / "docs" / "peaks_table.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    cells_by_device = {
        cells[0]: cells[3:]
        for line in lines
        if len(cells := [cell.strip() for cell in line.strip("|").split("|")])
        == len(PRECISIONS) + 5
    }
    for row in load_peaks():
        rates = {"dram": row.dram_bytes_per_s, "link": row.link_bytes_per_s}
        numbers = {name: rate and rate / 1e9 for name, rate in rates.items()}
        numbers |= {name: row.flop_per_s.get(name, 0) / 1e12 for name in PRECISIONS}
        expected_cells = [
            f"{number:g}{'?' * (name in row.unsure)}" if number else ""
            for name, number in numbers.items()
        ]
        assert cells_by_device[row.device] == expected_cells, row.device
        assert f"* **{row.device}**: {row.source}" in lines


def test_links_agree_with_those_of_the_hardware():
    """Rules about traffic have a table of links too: one figure for both."""
    for name in NAMES:
        peaks, hardware = find_peaks(name).peaks, hardware_of(name)
        if hardware and hardware.link and hardware.device == peaks.device:
            assert hardware.link == peaks.link_bytes_per_s, name


def test_a_row_is_read_as_it_is_written(tmp_path):
    file = tmp_path / "again.csv"
    file.write_text(peaks_csv(load_peaks()), encoding="utf-8")
    assert load_peaks(file)[: len(load_peaks())] == load_peaks()


# -- names -----------------------------------------------------------------------------------------


def test_a_name_leads_to_its_device():
    assert {name: find_peaks(name).peaks.device for name in NAMES} == NAMES


@pytest.mark.parametrize(
    ("name", "clause"),
    [
        ("NVIDIA H100", 'name it with --device "H100 SXM" or "H100 PCIe" or "H100 NVL"'),
        ("MLU370", "name it with --device MLU370-X8 or MLU370-X4 or MLU370-S4"),
        ("AMD Instinct MI250X / MI250", '--device "MI250 GCD" or "MI250X GCD"'),
        ("NVIDIA GeForce RTX 4080 SUPER", "is not in the table"),
        ("NVIDIA H20-3e", "does not tell which"),
        ("Tesla P4", "--peaks"),
    ],
)
def test_a_name_that_fits_no_single_device_is_not_guessed(name, clause):
    choice = find_peaks(name)
    assert choice.peaks is None
    assert clause in choice.reason


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
    peaks = find_peaks("", capability, multiprocessors).peaks
    assert (peaks.device if peaks else None) == device


@pytest.mark.parametrize(
    ("memory_bytes", "device"),
    [(206141652992, "MI300X"), (274809749504, "MI325X"), (None, None), (1, None)],
)
def test_memory_tells_devices_of_one_chip_apart(memory_bytes, device):
    peaks = find_peaks("", "9.4", 304, memory_bytes=memory_bytes).peaks
    assert (peaks.device if peaks else None) == device


# -- users -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "peaks"),
    [
        ("dram=4.8e12,fp16_tensor=989e12", {"dram": 4.8e12, "fp16_tensor": 989e12}),
        ("dram=4.0TB/s, fp16_tensor=790TFLOP/s", {"dram": 4e12, "fp16_tensor": 790e12}),
        ("dram=900GB/s,link=450GB/s", {"dram": 900e9, "link": 450e9}),
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
    assert choose_peaks(trace_of_launches()).peaks.device == "H200"


def test_a_device_the_collector_wrote_down_is_found():
    trace = trace_of_launches(devices=[Device(0, "")], collected={"device": "NVIDIA L4"})
    assert choose_peaks(trace).peaks.device == "L4"


def test_a_timeline_of_the_same_program_may_name_the_device():
    trace = trace_of_launches(devices=[Device(0, "", compute_capability="9.0")])
    timeline = trace_of_launches(devices=[Device(0, "NVIDIA H200"), Device(1, "NVIDIA H200")])
    assert choose_peaks(trace, timeline=timeline).peaks.device == "H200"
    nameless = trace_of_launches(devices=[Device(0, "")])
    assert "9.0" in choose_peaks(trace, timeline=nameless).reason


def test_a_named_device_comes_before_the_recorded_one():
    assert choose_peaks(trace_of_launches(), device="A100 40GB SXM").peaks.device == "A100 40GB SXM"


def test_an_unknown_named_device_is_an_error_that_lists_the_known():
    with pytest.raises(UsageError, match="--device: 'H900' is not in the table") as error:
        choose_peaks(trace_of_launches(), device="H900")
    assert "H200" in error.value.hint


def test_different_devices_have_no_common_roof():
    devices = [Device(0, "NVIDIA H200"), Device(1, "NVIDIA L4")]
    choice = choose_peaks(trace_of_launches(devices=devices))
    assert choice.peaks is None
    assert "different devices (H200, L4)" in choice.reason


def test_given_peaks_replace_published_ones_and_are_told_apart():
    peaks = choose_peaks(trace_of_launches(), peaks="dram=4.1TB/s").peaks
    assert peaks.dram_bytes_per_s == 4.1e12
    assert peaks.flop_per_s["fp16_tensor"] == 989.4e12
    assert peaks.stated == ("dram",)


def test_given_peaks_suffice_for_an_unknown_device():
    trace = trace_of_launches(devices=[Device(0, "Some accelerator")])
    assert choose_peaks(trace).peaks is None
    peaks = choose_peaks(trace, peaks="dram=1TB/s,fp32=10TFLOP/s").peaks
    assert (peaks.dram_bytes_per_s, dict(peaks.flop_per_s)) == (1e12, {"fp32": 1e13})


def test_rows_of_a_users_file_come_first(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("device,match,dram_gb_per_s,bf16_tensor\nours,H200,4200,800\n")
    peaks = choose_peaks(trace_of_launches(), peaks=file).peaks
    assert (peaks.device, peaks.dram_bytes_per_s) == ("ours", 4.2e12)
    assert dict(peaks.flop_per_s) == {"bf16_tensor": 8e14}
    assert peaks.source == str(file)
    assert find_peaks("NVIDIA L4", table=load_peaks(file)).peaks.device == "L4"


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("name,fp32\nx,1\n", "unknown column 'name'"),
        ("fp32\n1\n", "no column device"),
        ("device,fp32\nx,fast\n", "line 2"),
        ("device,match\nx,(\n", "line 2"),
        ("device,fp32\nx,1,2\n", "line 2"),
        ("device,fp32\nx,nan\n", "line 2: fp32 is nan"),
        ("device,dram_gb_per_s\nx,-1\n", "line 2"),
        ("device,unsure\nx,speed\n", "no peak is called 'speed'"),
        ("device,fp32\n,1\n", "the device has no name"),
        (f"device,source\nx,{'y' * 200_000}\n", "no table of peaks"),
    ],
)
def test_a_users_file_that_cannot_be_read_says_where(tmp_path, text, pattern):
    file = tmp_path / "mine.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=pattern):
        load_peaks(file)


def test_a_users_file_that_is_missing_says_so(tmp_path):
    with pytest.raises(UnreadableError, match="no such file"):
        choose_peaks(trace_of_launches(), peaks=str(tmp_path / "none.csv"))


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
    data = DevicePeaksJson.of(find_peaks("NVIDIA H200").peaks)
    assert data.dram_bytes_per_s == 4.8e12
    assert set(data.flop_per_s) <= set(PRECISIONS)


def test_an_ambiguous_device_is_told_what_it_may_be():
    with pytest.raises(UsageError) as error:
        choose_peaks(trace_of_launches(), device="H100")
    assert error.value.hint == 'name it with --device "H100 SXM" or "H100 PCIe" or "H100 NVL"'


@pytest.mark.parametrize("text", ["nonsense", "foo=3"])
def test_how_to_write_peaks(text):
    with pytest.raises(TimesinkError) as error:
        choose_peaks(trace_of_launches(), peaks=text)
    assert "dram=4.0TB/s,fp16_tensor=790TFLOP/s" in error.value.hint


# -- doubts, measured peaks, clocks ----------------------------------------------------------------


def test_unsure_peaks_are_told_unless_the_user_knows_better():
    a10 = choose_peaks(trace_of_launches(), device="A10").peaks
    [doubt] = a10.doubts(["dram", "bf16_tensor", "bf16_tensor"])
    assert doubt.startswith("peak of bf16_tensor is unsure: NVIDIA A10 data sheet (2021)")
    peaks = choose_peaks(trace_of_launches(), device="A10", peaks="bf16_tensor=100TFLOP/s").peaks
    assert peaks.doubts(["bf16_tensor"]) == []


@pytest.fixture
def peaks_file(tmp_path, monkeypatch):
    """The file of measured peaks of a user."""
    monkeypatch.setenv("TIMESINK_DATA_DIR", str(tmp_path))
    return module.measured_file()


def test_measured_peaks_come_before_published_ones(peaks_file):
    rates = {
        "copy": BestRate(4.1e12, "1024 MiB", 9),
        "bf16": BestRate(7.9e14, "8192 x 8192 x 8192", 9),
    }
    row = measured_row(MeasuredDevice("NVIDIA H200", "2.11", rates), "2026-01-31")
    peaks_file.write_text(peaks_csv([row]), encoding="utf-8")
    peaks = choose_peaks(trace_of_launches()).peaks
    assert (peaks.device, peaks.dram_bytes_per_s, peaks.peak("bf16_tensor")) == (
        "H200",
        4.1e12,
        7.9e14,
    )
    assert peaks.measured == ("dram", "bf16_tensor")
    assert peaks.peak("fp8_tensor") == 1978.9e12
    assert peaks.source.startswith("measured on 2026-01-31 with torch 2.11")
    assert choose_peaks(trace_of_launches(), device="H200").peaks == peaks
    assert choose_peaks(trace_of_launches(), peaks="published").peaks.measured == ()
    assert choose_peaks(trace_of_launches(), peaks="dram=4.5TB/s").peaks.dram_bytes_per_s == 4.5e12


def test_a_measured_device_without_a_name_is_one_device(peaks_file):
    device_facts = {
        "compute_capability": "9.4",
        "multiprocessors": 304,
        "memory_bytes": 206141652992,
    }
    measured_device = MeasuredDevice(
        "AMD Instinct MI300X", "2.11", {"copy": BestRate(4e12, "", 3)}, **device_facts
    )
    peaks_file.write_text(
        peaks_csv([measured_row(measured_device, "2026-01-31")]), encoding="utf-8"
    )
    peaks = choose_peaks(trace_of_launches(devices=[Device(0, "", **device_facts)])).peaks
    assert (peaks.device, peaks.dram_bytes_per_s) == ("MI300X", 4e12)


@pytest.mark.parametrize(
    ("measured_name", "device_name", "same"),
    [
        ("NVIDIA H200", "NVIDIA H200", True),
        ("NVIDIA H200", "NVIDIA H200 NVL", False),
        ("NVIDIA GeForce RTX 4080", "NVIDIA GeForce RTX 4080 SUPER", False),
        ("NVIDIA GeForce RTX 4080", "NVIDIA GeForce RTX 4080 Laptop GPU", False),
        ("Mystery 7 (rev. 2)", "Mystery 7 (rev. 2)", True),
        ("Mystery 7 (rev. 2)", "Mystery 7 (rev. 2) SUPER", False),
    ],
)
def test_peaks_measured_on_one_device_are_not_those_of_another(
    peaks_file, measured_name, device_name, same
):
    row = measured_row(
        MeasuredDevice(measured_name, "2.11", {"copy": BestRate(4e12, "", 3)}), "2026-01-31"
    )
    peaks_file.write_text(peaks_csv([row]), encoding="utf-8")
    peaks = choose_peaks(trace_of_launches(devices=[Device(0, device_name)])).peaks
    assert (peaks is not None and "dram" in peaks.measured) == same


@pytest.mark.parametrize("content", [b"nonsense", b"device,fp32\nx,fast\n", b"\xff\xfe\x00"])
def test_a_broken_file_of_measured_peaks_is_not_passed_over(peaks_file, content):
    peaks_file.write_bytes(content)
    with pytest.raises(UnreadableError, match=r"measured_peaks\.csv") as error:
        choose_peaks(trace_of_launches())
    assert "timesink peaks measure --force" in error.value.hint
    assert choose_peaks(trace_of_launches(), peaks="published").peaks.device == "H200"


def test_peaks_of_arithmetic_follow_the_clock():
    h200 = find_peaks("NVIDIA H200").peaks
    slow = peaks_at_clock(h200, 0.99e9)
    assert slow.peak("fp32") == pytest.approx(h200.peak("fp32") / 2)
    assert slow.peak("fp64_tensor") == pytest.approx(h200.peak("fp64_tensor") / 2)
    assert slow.peak("bf16_tensor") == pytest.approx(h200.peak("bf16_tensor") * 0.99 / 1.83)
    assert slow.dram_bytes_per_s == h200.dram_bytes_per_s
    assert slow.link_bytes_per_s == h200.link_bytes_per_s
    again = peaks_at_clock(slow, 0.495e9)
    assert again.peak("bf16_tensor") == pytest.approx(slow.peak("bf16_tensor") / 2)


@pytest.mark.parametrize("hz", [0.0, -1.0, float("nan"), float("inf")])
def test_a_clock_that_is_none_changes_nothing(hz):
    h200 = find_peaks("NVIDIA H200").peaks
    assert peaks_at_clock(h200, hz) == h200


def test_given_peaks_and_devices_without_a_clock_keep_theirs():
    peaks = choose_peaks(trace_of_launches(), peaks="bf16_tensor=700TFLOP/s").peaks
    assert peaks_at_clock(peaks, 1e9).peak("bf16_tensor") == 7e14
    b200 = find_peaks("NVIDIA B200").peaks
    assert peaks_at_clock(b200, 1e9) == b200


def test_patterns_of_the_table_are_regular_expressions():
    assert all(re.compile(row.match) for row in load_peaks())
