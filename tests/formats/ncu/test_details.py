"""The details page as CSV, with everything that may be around, between and in its rows."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ncu_files import (
    CLOCKS_WARNING,
    DRAM,
    DURATION,
    GERMAN,
    SM,
    TENSOR,
    Call,
    collected_line,
    details_csv,
    expected_calls,
)
from timesink.formats.ncu import numbers as lines
from timesink.formats.ncu import pages as csv_pages
from timesink.formats.source_file import read_trace
from timesink.model.trace import Trace

CALLS = [
    Call("void gemm<float, (int)4>(T1 *)", 26_336, tensor_pct=72.37, dram_pct=12.5, sm_pct=101.2),
    Call('copy("a", b)', 5_984, dram_pct=88.25, grid=(132, 2, 3), block=(384, 1, 1)),
    Call("<unnamed>::reduce", 1_234_567, sm_pct=45.5),
]


def health(trace: Trace) -> dict[str, int]:
    return {entry.code: entry.count for entry in trace.health}


def example(trace: Trace, code: str) -> str:
    return next(entry.example for entry in trace.health if entry.code == code)


# -- what is around the rows -----------------------------------------------------------------------


def test_rows_alone(read) -> None:
    trace = read(details_csv(CALLS, before=()))
    assert trace.kernel_calls.equals(expected_calls(CALLS))
    assert trace.health == ()
    assert (trace.metadata.format, trace.metadata.vendor, trace.metadata.events) == (
        "ncu",
        "nvidia",
        3,
    )
    assert trace.metadata.extra == {"layout": "details-csv", "profiler_notes": []}


def test_other_lines_are_counted_and_the_profiler_heard(read) -> None:
    before = [CLOCKS_WARNING, '"ID", he said, "7",', "==PROF== Profiling 0%....100%", "", "step 1"]
    after = ["==ERROR== The application returned an error code (1).", "bye"]
    trace = read(details_csv(CALLS, before=before, between={5: 'loss "0,5", ok'}, after=after))
    assert trace.kernel_calls.equals(expected_calls(CALLS))
    assert health(trace) == {"uncontrolled_clocks": 1, "profiler_error": 1, "log_lines": 4}
    assert trace.metadata.extra["profiler_notes"] == [
        "The application returned an error code (1).",
        CLOCKS_WARNING.removeprefix("==WARNING== "),
    ]


def test_a_program_may_leave_its_line_open(read) -> None:
    text = details_csv(CALLS, before=["done"], between={4: "50%"})
    trace = read(text.replace("done\n", "done").replace("50%\n", "50%"))
    assert trace.kernel_calls.equals(expected_calls(CALLS))
    assert health(trace) == {"log_lines": 2}


def test_a_table_far_behind_the_output_of_the_program(read) -> None:
    before = [CLOCKS_WARNING, *(f"step {number} of many" for number in range(10_000))]
    trace = read(details_csv(CALLS, before=before))
    assert trace.kernel_calls.height == 3
    assert health(trace)["log_lines"] == 10_000


def test_how_it_was_collected(read) -> None:
    line = collected_line(ncu="2025.3.1.0", device="NVIDIA H200", every=7, per="kernel")
    trace = read(details_csv(CALLS, before=[line, CLOCKS_WARNING]))
    assert trace.metadata.extra["collected"]["every"] == 7
    assert trace.metadata.versions == {"ncu": "2025.3.1.0"}
    assert [device.name for device in trace.metadata.devices] == ["NVIDIA H200"]
    assert trace.kernel_calls.equals(expected_calls(CALLS))


def test_collected_twice_the_first_counts(read) -> None:
    text = "".join(details_csv(CALLS, before=[collected_line(every=every)]) for every in (7, 9))
    trace = read(text)
    assert trace.metadata.extra["collected"]["every"] == 7
    assert health(trace) == {"appended_tables": 1}


def test_a_broken_line_about_the_collection_is_a_line(read) -> None:
    trace = read(details_csv(CALLS, before=["# timesink-ncu {oops"]))
    assert "collected" not in trace.metadata.extra
    assert health(trace) == {"log_lines": 1}


# -- columns and rows ------------------------------------------------------------------------------


def test_columns_are_found_by_name(read) -> None:
    rows = csv.reader(details_csv(CALLS, before=()).splitlines())
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([row[0], "something new", *row[:0:-1]] for row in rows)
    trace = read(text.getvalue())
    assert trace.kernel_calls.equals(expected_calls(CALLS))


def test_advice_is_no_metric(read) -> None:
    header, *rows = details_csv(CALLS, before=()).splitlines()
    extra = '"Rule Name","Rule Type","Rule Description"'
    place = rows[0].partition('"Command line')[0]
    advice = place + '"SpeedOfLight","","","","SOL","OPT","Too small, see ""Launch"" for more"'
    text = "\n".join([f"{header},{extra}", *(f"{row}," for row in rows[:4]), advice, *rows[4:]])
    trace = read(text + "\n")
    assert trace.kernel_calls.equals(expected_calls(CALLS))
    assert trace.kernel_metrics.is_empty()


def test_older_versions_print_no_device(read) -> None:
    text = details_csv(CALLS, before=())
    without = "\n".join(
        line.replace(',"Device","CC"', "").replace(',"0","9.0"', "") for line in text.splitlines()
    )
    trace = read(without + "\n")
    assert trace.kernel_calls["device"].to_list() == [None] * 3
    assert trace.kernel_calls["dur_ns"].to_list() == [26_336, 5_984, 1_234_567]
    assert trace.metadata.devices == ()


def test_processes_and_devices_are_told_apart(read) -> None:
    calls = [
        Call(f"{pid} on {device} of {host}", dur_ns=number, pid=pid, device=device, host=host)
        for number, (pid, device, host) in enumerate(
            (pid, device, host) for host in ("a", "b") for pid in ("7", "8") for device in (0, 1)
        )
    ]
    trace = read(details_csv(calls))
    assert trace.kernel_calls.equals(expected_calls(calls))
    assert [device.id for device in trace.metadata.devices] == [0, 1]


def test_rows_of_launches_may_be_mixed(read) -> None:
    """Two processes that write to one file at the same time."""
    calls = [Call("a", 1, tensor_pct=1.5, pid="7"), Call("b", 2, tensor_pct=2.5, pid="8")]
    header, *rows = details_csv(calls, before=()).splitlines()
    mixed = [row for pair in zip(rows[:4], rows[4:], strict=True) for row in pair]
    trace = read("\n".join([header, *mixed]) + "\n")
    assert trace.kernel_calls.equals(expected_calls(calls))
    assert trace.health == ()


# -- rows that come again --------------------------------------------------------------------------


def test_a_second_header_is_a_second_run(read) -> None:
    trace = read(details_csv(CALLS) + details_csv(CALLS))
    assert trace.kernel_calls["launch_id"].to_list() == [0, 1, 2, 0, 1, 2]
    assert trace.kernel_calls["dur_ns"].to_list() == [call.dur_ns for call in CALLS] * 2
    assert health(trace)["appended_tables"] == 1


def test_a_run_appended_without_its_header(read) -> None:
    again = [replace(call, dur_ns=int(str(call.dur_ns)) + 32) for call in CALLS]
    rows = details_csv(again, before=()).partition("\n")[2]
    trace = read(details_csv(CALLS) + rows)
    assert trace.kernel_calls["dur_ns"].to_list() == [c.dur_ns for c in [*CALLS, *again]]
    assert health(trace)["restarted_ids"] == 3
    assert example(trace, "restarted_ids") == f"id 0: {CALLS[0].name}"


def test_the_only_launch_of_a_run_appended_without_its_header(read) -> None:
    """Both have number 0, so their rows are neighbours."""
    first, second = Call("gemm", 26_336, sm_pct=50.5), Call("gemm", 26_368, sm_pct=51.5)
    trace = read(details_csv([first]) + details_csv([second], before=()).partition("\n")[2])
    assert trace.kernel_calls["dur_ns"].to_list() == [26_336, 26_368]
    assert trace.kernel_calls["sm_pct"].to_list() == [50.5, 51.5]
    assert health(trace)["restarted_ids"] == 1


def test_a_row_that_comes_twice_counts_once(read) -> None:
    header, *rows = details_csv(CALLS, before=()).splitlines()
    trace = read("\n".join([header, *rows, rows[1], rows[6]]) + "\n")
    assert trace.kernel_calls.equals(expected_calls(CALLS))
    assert health(trace) == {"repeated_rows": 2}


def test_sections_may_share_a_metric(read) -> None:
    header, *rows = details_csv(CALLS[:1], before=()).splitlines()
    other = rows[1].replace("Command line profiler metrics", "GPU Speed Of Light Throughput")
    trace = read("\n".join([header, *rows, other]) + "\n")
    assert trace.kernel_calls.equals(expected_calls(CALLS[:1]))
    assert trace.health == ()


# -- what is missing or broken ---------------------------------------------------------------------


def test_missing_is_not_zero(read) -> None:
    words = (None, "", "n/a", "N/A", "nan", "-nan", "-")
    calls = [CALLS[0], *(replace(CALLS[1], dram_pct=word, dur_ns=word) for word in words)]
    trace = read(details_csv(calls, before=()))
    assert trace.kernel_calls["dram_pct"].to_list() == [12.5, *[None] * 7]
    assert trace.kernel_calls["dur_ns"].to_list() == [26_336, *[None] * 7]
    assert health(trace) == {"missing_metric": 7}
    assert example(trace, "missing_metric") == "dur_ns: 7 of 8, dram_pct: 7 of 8"


def test_a_metric_no_launch_has(read) -> None:
    calls = [replace(call, metrics={"nosuch__metric.sum": ("n/a", "")}) for call in CALLS]
    trace = read(details_csv(calls, before=()))
    assert trace.kernel_metrics.is_empty()
    assert health(trace) == {"unavailable_metrics": 1}


def test_values_that_are_words_are_named(read) -> None:
    calls = [replace(CALLS[0], metrics={"launch__policy": ("PolicySpread", "")})]
    trace = read(details_csv(calls, before=()))
    assert trace.kernel_metrics.is_empty()
    assert example(trace, "text_metrics") == "launch__policy is PolicySpread"


def test_a_duration_without_a_unit_is_unknown(read) -> None:
    trace = read(details_csv(CALLS, before=()).replace('"ns"', '""'))
    assert trace.kernel_calls["dur_ns"].to_list() == [None] * 3
    assert health(trace) == {"missing_metric": 3}


@pytest.mark.parametrize("cut_bytes", [1, 40, 60])
def test_a_cut_last_line(read, cut_bytes: int) -> None:
    text = details_csv(CALLS, before=())
    trace = read(text[:-cut_bytes])
    if cut_bytes == 1:  # only the line end is gone
        assert trace.kernel_calls.equals(expected_calls(CALLS))
        assert trace.health == ()
        return
    assert trace.kernel_calls["sm_pct"].to_list() == [101.2, 0.0, None]
    assert health(trace) == {"cut_line": 1, "missing_metric": 1}


def test_a_broken_row_is_counted(read) -> None:
    header, *rows = details_csv(CALLS, before=()).splitlines()
    rows[3] = rows[3][:-40]
    trace = read("\n".join([header, *rows]) + "\n")
    assert trace.kernel_calls["sm_pct"].to_list() == [None, 0.0, 45.5]
    assert health(trace) == {"bad_table_row": 1, "missing_metric": 1}


def test_bytes_that_are_no_text(read) -> None:
    text = details_csv([Call("caf\u00e9", 5_984)], before=()).encode("latin-1")
    trace = read(text)
    assert trace.kernel_calls["name"].to_list() == ["caf\ufffd"]
    assert health(trace) == {"invalid_utf8": 4}


def test_numbers_of_two_locales_in_one_file(read) -> None:
    english, german = details_csv(CALLS, before=()), details_csv(CALLS, before=(), locale=GERMAN)
    trace = read(english + english + german)
    assert trace.kernel_calls["tensor_pct"].to_list() == [72.37, 0.0, 0.0] * 3
    assert health(trace)["mixed_decimals"] == 1


# -- metrics ---------------------------------------------------------------------------------------

ALL_TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
HMMA = "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed"
IMMA = "sm__pipe_tensor_op_imma_cycles_active.avg.pct_of_peak_sustained_elapsed"
INSTRUCTIONS = "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"


@pytest.mark.parametrize(
    ("metrics", "tensor", "left"),
    [
        ({TENSOR: 1.5, ALL_TENSOR: 2.5, HMMA: 3.5}, 1.5, [ALL_TENSOR, HMMA]),
        ({ALL_TENSOR: 2.5, HMMA: 3.5}, 2.5, [HMMA]),
        ({HMMA: 3.5, IMMA: 4.5, INSTRUCTIONS: 9.5}, 4.5, [INSTRUCTIONS]),
        ({INSTRUCTIONS: 9.5}, 9.5, []),
        ({TENSOR: "n/a", HMMA: 3.5}, 3.5, []),
        ({"sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_elapsed": 5.5}, None,
         ["sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_elapsed"]),
    ],
)  # fmt: skip
def test_the_best_tensor_metric_counts(
    read, metrics: dict[str, Any], tensor: float | None, left: list[str]
) -> None:
    call = replace(CALLS[0], tensor_pct=None, metrics={m: (v, "%") for m, v in metrics.items()})
    trace = read(details_csv([call], before=()))
    assert trace.kernel_calls["tensor_pct"].to_list() == [tensor]
    assert trace.kernel_metrics["metric"].to_list() == left


@pytest.mark.parametrize(
    "named",
    [
        {
            "dram__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "dram_pct"),
            "Compute (SM) Throughput": ("%", "sm_pct"),
            "Achieved Occupancy": ("%", "occupancy_pct"),
            "Memory Throughput": ("%", None),
        },
        {
            "DRAM Throughput": ("%", "dram_pct"),
            "SM [%]": ("%", "sm_pct"),
            "sm__warps_active.avg.pct_of_peak_sustained_active": ("%", "occupancy_pct"),
        },
        {
            "DRAM Throughput": ("byte/s", None),
            "Compute Throughput sm__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "sm_pct"),
        },
    ],
)
def test_names_of_metrics(read, named: dict[str, tuple[str, str | None]]) -> None:
    calls = [
        Call("gemm", 1_000, None, None, None, metrics={metric: (62.5, unit)})
        for metric, (unit, _) in named.items()
    ]
    trace = read(details_csv(calls, before=()))
    filled = [
        [name for name, value in row.items() if name.endswith("_pct") and value is not None]
        for row in trace.kernel_calls.iter_rows(named=True)
    ]
    columns = [column for _, column in named.values()]
    assert filled == [[column] if column else [] for column in columns]
    assert trace.kernel_metrics.height == columns.count(None)


def test_further_metrics_are_in_base_units(read) -> None:
    text = details_csv([replace(CALLS[0], metrics={"dram__bytes.sum": (8_498_176, "byte")})])
    trace = read(text.replace('"byte","8,498,176"', '"Mbyte","8.498176"'))
    assert trace.kernel_metrics.rows() == [(0, "dram__bytes.sum", 8_498_176.0, "byte")]


def test_metrics_of_the_machine_are_no_metrics(read) -> None:
    facts = {
        "device__attribute_display_name": ("NVIDIA H200", ""),
        "device__attribute_multiprocessor_count": (132, ""),
        "profiler__replayer_passes": (9, "pass"),
    }
    trace = read(details_csv([replace(call, metrics=facts) for call in CALLS], before=()))
    assert trace.kernel_metrics.is_empty()
    (device,) = trace.metadata.devices
    assert (device.name, device.multiprocessors, device.compute_capability) == (
        "NVIDIA H200", 132, "9.0",
    )  # fmt: skip
    assert trace.health == ()


def test_durations_are_exact(read) -> None:
    written = {
        ("ns", "26,336"): 26_336,
        ("nsecond", "26,336.00"): 26_336,
        ("us", "5.984000"): 5_984,
        ("usecond", "656.64"): 656_640,
        ("msecond", "2.97"): 2_970_000,
        ("ms", "1,002.970001"): 1_002_970_001,
        ("s", "1.5"): 1_500_000_000,
        ("second", "0.000000001"): 1,
    }
    page = details_csv([replace(CALLS[0], dur_ns=100 + n) for n in range(len(written))], before=())
    for number, (unit, text) in enumerate(written):
        page = page.replace(f'"ns","{100 + number}"', f'"{unit}","{text}"')
    assert read(page).kernel_calls["dur_ns"].to_list() == list(written.values())


def test_the_order_of_metrics_does_not_matter(read) -> None:
    pages = [details_csv(CALLS, order=order) for order in ((), (SM, TENSOR, DURATION, DRAM))]
    assert pages[0] != pages[1]
    first, second = (read(page).kernel_calls for page in pages)
    assert first.equals(second)


# -- the bytes -------------------------------------------------------------------------------------


def test_packed(tmp_path: Path) -> None:
    content = details_csv(CALLS).encode()
    (tmp_path / "calls.csv.gz").write_bytes(gzip.compress(content))
    with zipfile.ZipFile(tmp_path / "calls.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("calls.csv", content)
    for name in ("calls.csv.gz", "calls.zip"):
        assert read_trace(tmp_path / name).kernel_calls.equals(expected_calls(CALLS))


def test_a_packed_file_that_ends_early(tmp_path: Path) -> None:
    calls = [Call(f"kernel {number}", 32 * number, sm_pct=number / 100) for number in range(500)]
    packed = gzip.compress(details_csv(calls).encode())
    (tmp_path / "calls.csv.gz").write_bytes(packed[: len(packed) // 2])
    trace = read_trace(tmp_path / "calls.csv.gz")
    assert 0 < trace.kernel_calls.height < 500
    assert health(trace)["truncated_archive"] == 1


@pytest.mark.parametrize("size", [1, 1000])
def test_stretches_of_any_size(read, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Launches lie across the places where the file is cut for parsing."""
    calls = [*CALLS, replace(CALLS[0], dur_ns=None)]
    text = details_csv(calls, between={7: "hello", 15: '"quoted" noise'}, after=["bye"])
    full_trace = read(text)
    monkeypatch.setattr(csv_pages, "stretches", partial(_small, size=size))
    small = read(text + text)
    assert small.kernel_calls.head(len(calls)).equals(full_trace.kernel_calls)
    assert small.kernel_calls.height == 2 * len(calls)
    assert health(small)["appended_tables"] == 1


def _small(blocks: Any, size: int) -> Any:
    cut = (block[at : at + 7] for block in blocks for at in range(0, len(block), 7))
    return lines.stretches(cut, size)
