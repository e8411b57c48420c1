"""The peaks of devices: the table, one of them, and what was measured on the device at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from timesink.analyses.kernels.peaks import (
    LINK,
    MEMORY,
    PRECISIONS,
    DevicePeaks,
    find_peaks,
    load_peaks,
    measured_peaks,
)
from timesink.answers.common_json import DevicePeaksJson
from timesink.answers.views import listed_table
from timesink.errors import UsageError
from timesink.formats.small_files import plain_values
from timesink.model import units
from timesink.output.blocks import Document, Facts, Section, Text
from timesink.output.numbers import column, table
from timesink.recorder.peak_rates import COPY, MeasuredDevice

SCHEMA = "timesink/peaks/1"
_MAIN = ("fp32", "bf16_tensor", "fp8_tensor", "fp4_tensor")
"""What fits on a line; pages and Markdown have more."""


def known_peaks() -> tuple[DevicePeaks, ...]:
    """Every row, those that were measured first."""
    return (*measured_peaks(), *load_peaks())


def peaks_called(name: str) -> tuple[DevicePeaks, ...]:
    """The rows of a device, measured ones first; an error says which there are."""
    rows = known_peaks()
    choice = find_peaks(name, table=rows)
    if choice.peaks is None:
        reason, _, hint = choice.reason.partition("; ")
        listed = "see  timesink peaks  for those that are"
        raise UsageError(reason, hint.replace("--device ", "") if '"' in hint else listed)
    return tuple(row for row in rows if row.device == choice.peaks.device)


class PeaksJson(msgspec.Struct, frozen=True):
    """The answer of `timesink peaks`."""

    schema: str
    peaks: list[DevicePeaksJson]
    skipped: dict[str, str] | UnsetType = UNSET
    """Of `peaks measure`: what was not measured, and why."""
    stored: str | UnsetType = UNSET
    """Of `peaks measure`: where they are kept."""


def peaks_dict(rows: Sequence[DevicePeaks], **measured: Any) -> dict[str, Any]:
    """Rows, ready for JSON; with what `measured` says of those of the device at hand."""
    peaks = PeaksJson(SCHEMA, [DevicePeaksJson.of(row) for row in rows], **measured)
    return plain_values(peaks)


def peaks_document(rows: Sequence[DevicePeaks]) -> Document:
    """All rows in one table; a device alone with every figure, its doubts and its source."""
    if len({row.device for row in rows}) == 1:
        parts = [
            Section(f"peaks{place}", "", tuple(_device_blocks(row)))
            for place, row in enumerate(rows)
        ]
        return Document("table", "Peaks", rows[0].device, rows[0].device, sections=tuple(parts))
    columns = [column("device", "device", "text", [_device_label(row) for row in rows])]
    for key, title, values in (
        (MEMORY, "DRAM GB/s", [row.dram_bytes_per_s for row in rows]),
        (LINK, "link GB/s", [row.link_bytes_per_s for row in rows]),
    ):
        marks = ["?" if key in row.unsure else "" for row in rows]
        texts = [
            value and f"{value / 1e9:.5g}{mark}" for value, mark in zip(values, marks, strict=True)
        ]
        columns.append(column(key, title, "text", texts, right=True))
    for precision in PRECISIONS:
        texts = [_tera(row, precision) for row in rows]
        title = precision.replace("_tensor", " T")
        columns.append(column(precision, title, "text", texts, right=True, main=precision in _MAIN))
    block = table("peaks", "", columns, total_rows=len(rows), whole=True)
    about = (
        "Dense peaks in TFLOP/s (int8: TOP/s); T: tensor or matrix cores; ?: unsure; link: one way"
    )
    section = Section("peaks", "", (block, Text(f"{about}. Sources: timesink peaks NAME.")))
    return Document("table", "Peaks of devices", "", "", sections=(section,))


def _device_label(row: DevicePeaks) -> str:
    return f"{row.device} (measured)" if row.measured else row.device


def _tera(row: DevicePeaks, precision: str) -> str | None:
    peak = row.flop_per_s.get(precision)
    doubt = "?" if precision in row.unsure else ""
    return None if peak is None else f"{peak / 1e12:.4g}{doubt}"


def _device_blocks(row: DevicePeaks) -> Iterator[Facts | Text]:
    facts = {MEMORY: _bytes(row.dram_bytes_per_s), LINK: _bytes(row.link_bytes_per_s)}
    for precision in PRECISIONS:
        peak = row.flop_per_s.get(precision)
        facts[precision] = units.rate(peak, "FLOP") if peak else ""
    hertz = (row.boost_hz, row.tensor_boost_hz)
    facts["clock"] = " / ".join(
        f"{frequency_hz / 1e6:g} MHz" for frequency_hz in hertz if frequency_hz
    )
    marked = [
        (name, f"{text} (unsure)" if name in row.unsure else text)
        for name, text in facts.items()
        if text
    ]
    yield Facts((("device", _device_label(row)), *marked, ("source", row.source)))


def _bytes(rate: float | None) -> str:
    return units.rate(rate, "B") if rate else ""


def measured_document(device: MeasuredDevice, row: DevicePeaks, stored: str) -> Document:
    """What was measured, beside what is published, and where it is kept."""
    published = find_peaks(device.name).peaks
    names, rates = [], []
    for precision in row.measured:
        peak = row.dram_bytes_per_s if precision == MEMORY else row.flop_per_s[precision]
        names.append(precision)
        rates.append((peak, _published_peak(published, precision)))
    things = ["B" if precision == MEMORY else "FLOP" for precision in names]
    pairs = list(zip(things, rates, strict=True))
    best = {COPY: MEMORY}
    used = {precision.partition("_")[0]: precision for precision in row.flop_per_s} | best
    sizes = {used[name]: rate for name, rate in device.rates.items() if name in used}
    values = {
        "peak": names,
        "measured": [units.rate(rate_pair[0] or 0, what) for what, rate_pair in pairs],
        "published": [
            units.rate(rate_pair[1], what) if rate_pair[1] else None for what, rate_pair in pairs
        ],
        "share": [
            rate_pair[0] / rate_pair[1] if rate_pair[0] and rate_pair[1] else None
            for _, rate_pair in pairs
        ],
    }
    notes = [Text(f"{name}: not measured: {why}") for name, why in device.skipped.items()]
    if device.told_clocks:
        notes.append(Text(f"Clock: {device.told_clocks}."))
    notes.append(Text(f"Kept in {stored}."))
    best_at = [sizes[precision] for precision in names]
    block = listed_table("measured-peaks", "measured", "", best_at, values, whole=True)
    section = Section("measured", "", (block, *notes))
    headline = f"{row.device}: measured with torch {device.torch}"
    return Document("table", "Measured peaks", row.device, headline, sections=(section,))


def _published_peak(peaks: DevicePeaks | None, precision: str) -> float | None:
    if peaks is None:
        return None
    return peaks.dram_bytes_per_s if precision == MEMORY else peaks.peak(precision)
