"""Measured peaks as rows of a file of peaks; works without the analysis stack."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

from timesink.analyses.kernels.peaks import COLUMNS, MEMORY, PRECISIONS, DevicePeaks, find_peaks
from timesink.recorder.peak_rates import COPY, MeasuredDevice

_ALWAYS = {"fp16": "fp16_tensor", "bf16": "bf16_tensor", "tf32": "tf32_tensor"} | {
    one: f"{one}_tensor" for one in ("fp8", "int8")
}
"""Types that only tensor or matrix cores multiply."""


def peaks_csv(rows: Sequence[DevicePeaks]) -> str:
    """Rows as a file that `--peaks` takes.

    >>> peaks_csv([find_peaks("H200").peaks]).splitlines()[0][:24]
    'device,match,compute_cap'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.cells() for row in rows)
    return text.getvalue().removesuffix("\n")


def measured_row(found: MeasuredDevice, day: str) -> DevicePeaks:
    """What was measured as a row of a file of peaks, under the name the published row has.

    >>> from timesink.recorder.peak_rates import MeasuredDevice, BestRate
    >>> rate = BestRate(7.9e14, "8192 x 8192 x 8192", 9)
    >>> found = MeasuredDevice("NVIDIA H200", "2.11", {"bf16": rate})
    >>> row = measured_row(found, "2026-01-31")
    >>> row.device, row.flop_per_s
    ('H200', {'bf16_tensor': 790000000000000.0})
    """
    published = find_peaks(found.name).peaks
    known: Mapping[str, float] = published.flop_per_s if published else {}
    flop = {}
    for name, rate in found.rates.items():
        if name != COPY:
            # Libraries take matrix cores for products of these types where there are such.
            cores = f"{name}_tensor"
            flop[_ALWAYS.get(name, cores if cores in known else name)] = rate.per_s
    copy = found.rates.get(COPY)
    sizes = ", ".join(f"{name} {rate.size}" for name, rate in found.rates.items())
    clocks = [
        f"{when} {clock}"
        for when, clock in zip(("before", "after"), found.clocks, strict=True)
        if clock
    ]
    told = f"; clock {', '.join(clocks)}" if clocks else ""
    return DevicePeaks(
        device=published.device if published else found.name,
        dram_bytes_per_s=copy.per_s if copy else None,
        flop_per_s={one: flop[one] for one in PRECISIONS if one in flop},
        source=f"measured on {day} with torch {found.torch}: {sizes}{told}",
        measured=tuple([MEMORY] * bool(copy) + [one for one in PRECISIONS if one in flop]),
        match=published.match if published else rf"^{re.escape(found.name)}$",
        compute_capability=found.compute_capability,
        multiprocessors=found.multiprocessors,
        memory_gb=None if not found.memory_bytes else round(found.memory_bytes / 2**30, 2),
    )
