"""Reference numbers of kernel utilisation from outside: seeds, real counters, real traces."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest

import timesink
from timesink.cli import main

SEEDS = ("000_896f68ed3a7423fd", "001_a62fcc25c90d6fd4", "002_abc90e299168b04d")
REFERENCE = {
    SEEDS[0]: (990, 20, 69_537_216, 0.2646, 0.3446, 38.86, 44.38, 16.76, 0.00, 3_598_848, 3_488),
    SEEDS[1]: (971, 15, 32_061_824, 0.2458, 0.1847, 45.56, 12.65, 41.78, 0.00, 751_712, 3_712),
    SEEDS[2]: (560, 39, 59_945_216, 0.2080, 0.1763, 30.08, 15.56, 54.48, 0.11, 2_369_280, 3_520),
}
BINS = {
    SEEDS[0]: ((16.76, 29.47, 14.90), (21.03, 0.00, 0.00), (17.83, 0.00, 0.00)),
    SEEDS[1]: ((41.78, 12.65, 0.00), (33.08, 0.00, 0.00), (12.48, 0.00, 0.00)),
    SEEDS[2]: ((54.48, 12.33, 3.12), (11.59, 0.11, 0.00), (18.38, 0.00, 0.00)),
}
LEADERS = {
    SEEDS[0]: (("Kernel", 32_537_120, 219), ("vectorized_elementwise_kernel", 13_140_064, 368)),
    SEEDS[1]: (
        ("ampere_fp16_s16816gemm_fp16_64x128_ldg8_relu_f2...", 6_193_504, 96),
        ("vectorized_elementwise_kernel", 4_477_856, 267),
    ),
    SEEDS[2]: (
        ("cudnn::bn_bw_1C11_kernel_new", 8_518_240, 12),
        ("cudnn::bn_fw_tr_1C11_kernel_NCHW", 5_507_360, 8),
    ),
}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_call_table_of_a_seed_is_that_file(
    shared_root: Path, seed: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = shared_root / "seeds" / f"{seed}.txt"
    assert main(["kernels", str(path), "--calls"]) == 0
    assert capfd.readouterr().out.encode() == path.read_bytes()


@pytest.mark.parametrize("seed", SEEDS)
def test_summary_of_a_seed(shared_root: Path, seed: str) -> None:
    (use,) = timesink.kernels(shared_root / "seeds" / f"{seed}.txt").devices
    calls, names, total, tensor, dram, above_tensor, above_dram, both_low, both, longest, least = (
        REFERENCE[seed]
    )
    assert (use.calls, use.names, use.total_ns) == (calls, names, total)
    assert (use.max_ns, use.min_ns) == (longest, least)
    assert (round(use.tensor_pct / 100, 4), round(use.dram_pct / 100, 4)) == (tensor, dram)
    shares = [100 * use.above[key] for key in ("tensor", "dram", "both")]
    assert [round(share, 2) for share in shares] == [above_tensor, above_dram, both]
    assert round(100 * use.class_share["both_low"], 2) == both_low
    rounded = tuple(tuple(round(100 * cell, 2) for cell in row) for row in use.bins)
    assert rounded == BINS[seed]


@pytest.mark.parametrize("seed", SEEDS)
def test_leading_kernels_of_a_seed(shared_root: Path, seed: str) -> None:
    groups = timesink.kernels(shared_root / "seeds" / f"{seed}.txt").groups("name")
    assert tuple(groups.select("group", "total_ns", "calls").head(2).iter_rows()) == LEADERS[seed]


@pytest.mark.parametrize(
    ("name", "calls"),
    [("unet_train.csv.gz", 459), ("gpt_infer.csv.gz", 896), ("matmul_relu.csv", 20)],
)
def test_calls_and_latencies_of_real_counters(shared_root: Path, name: str, calls: int) -> None:
    path = shared_root / "data/h200/ncu" / name
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    printed = re.findall(r'"gpu__time_duration.sum","ns","([\d,]+)"', text)
    read = timesink.open(path).kernel_calls["dur_ns"].to_list()
    assert len(read) == calls
    assert read == [int(value.replace(",", "")) for value in printed]


def test_units_and_order_of_metrics_do_not_matter(shared_root: Path, tmp_path: Path) -> None:
    source = shared_root / "data/h200/ncu/unet_train.csv.gz"
    lines = gzip.decompress(source.read_bytes()).decode().splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith('"ID"'))
    rows = lines[start + 1 :]
    blocks = [rows[place : place + 4] for place in range(0, len(rows), 4)]
    other = [re.sub(r'"ns","([\d,]+)"$', _in_microseconds, row) for b in blocks for row in b[::-1]]
    copy = tmp_path / "copy.csv"
    copy.write_text("\n".join([*lines[: start + 1], *other]) + "\n")
    assert timesink.open(copy).kernel_calls.equals(timesink.open(source).kernel_calls)


def _in_microseconds(match: re.Match[str]) -> str:
    return f'"us","{int(match[1].replace(",", "")) / 1000:,.3f}"'


def _join_counters(
    counters: Path, trace: Path, capfd: pytest.CaptureFixture[str]
) -> tuple[int, dict[str, object]]:
    code = main(["kernels", str(counters), "--trace", str(trace), "--format", "json"])
    join: dict[str, object] = json.loads(capfd.readouterr().out)["join"]
    return code, join


def _without_ninths(source: Path, place: Path) -> Path:
    """A copy without every tenth kernel."""
    lines = gzip.decompress(source.read_bytes()).decode().splitlines()
    lines_left = [line for line in lines if not re.match(r'"\d*9",', line)]
    assert len(lines_left) < len(lines)
    place.write_text("\n".join(lines_left) + "\n")
    return place


@pytest.mark.parametrize("program", ["gpt_infer"])
def test_counters_and_trace_of_one_program_align(
    shared_root: Path, tmp_path: Path, program: str, capfd: pytest.CaptureFixture[str]
) -> None:
    counters = shared_root / f"data/h200/ncu/{program}.csv.gz"
    trace = shared_root / f"data/h200/traces/{program}"
    code, join = _join_counters(counters, trace, capfd)
    assert code == 0
    assert join["aligned_share"] >= 0.99
    code, thinned = _join_counters(
        _without_ninths(counters, tmp_path / "thinned.csv"), trace, capfd
    )
    assert code == 0
    assert thinned["aligned_share"] >= 0.95


def test_kernels_of_the_text_page(shared_root: Path) -> None:
    path = shared_root / "data/ncu-text/test_mlp_ncu-pipelined-1530.txt"
    calls = timesink.open(path).kernel_calls
    assert calls.select("dur_ns", "tensor_pct", "dram_pct", "sm_pct").row(0) == (
        2_970_000, 23.79, 10.97, 23.79,
    )  # fmt: skip
    durations = Counter(
        unit
        for file in sorted((shared_root / "data/ncu-text").glob("*bulksync*"))
        for unit in re.findall(r"gpu__time_duration.sum +(\w+)", file.read_text())
    )
    read = [
        timesink.open(file).kernel_calls.height
        for file in sorted((shared_root / "data/ncu-text").glob("*bulksync*"))
    ]
    assert sum(read) == sum(durations.values())
