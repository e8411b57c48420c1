"""Write docs/peaks_table.md from peaks.csv; `--check` fails when the page is out of date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from generated import write_or_check

from timesink.analyses.kernels.peaks import LINK, MEMORY, PRECISIONS, DevicePeaks, load_peaks

PAGE = Path(__file__).parent / "peaks_table.md"


def page() -> str:
    return "\n".join([*_table(), "", "## Sources", "", *_sources(), ""])


def _table() -> Iterator[str]:
    yield "# Peaks of devices"
    yield ""
    yield "Generated from `peaks.csv` by `make docs`; do not edit. See [peaks.md](peaks.md)."
    yield ""
    yield (
        "Dense, in TFLOP/s (int: TOP/s); T is tensor or matrix cores; link is what a device sends "
        "to its peers, one way. Empty: nothing known. `?`: unsure. Two clocks: tensor peaks (fp64 "
        "excepted) are published for the second one."
    )
    yield ""
    titles = [precision.replace("_tensor", " T") for precision in PRECISIONS]
    heads = ("device", "SMs / CUs", "clock MHz", "DRAM GB/s", "link GB/s", *titles)
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in load_peaks():
        yield f"| {' | '.join(_cells(row))} |"


def _cells(row: DevicePeaks) -> Iterator[str]:
    yield row.device
    yield str(row.multiprocessors or "")
    yield " / ".join(
        f"{clock_hz / 1e6:g}" for clock_hz in (row.boost_hz, row.tensor_boost_hz) if clock_hz
    )
    rates = {MEMORY: row.dram_bytes_per_s, LINK: row.link_bytes_per_s}
    for quantity, rate in rates.items():
        yield f"{rate / 1e9:g}{_mark(row, quantity)}" if rate else ""
    for quantity in PRECISIONS:
        peak = row.flop_per_s.get(quantity)
        yield f"{peak / 1e12:g}{_mark(row, quantity)}" if peak else ""


def _mark(row: DevicePeaks, quantity: str) -> str:
    return "?" if quantity in row.unsure else ""


def _sources() -> Iterator[str]:
    for row in load_peaks():
        yield f"* **{row.device}**: {row.source}"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page(), __doc__))
