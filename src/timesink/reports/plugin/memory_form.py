"""What the answers of the memory view share: units, clock, rounding, rows and columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.memory.devices import memory_device_names, memory_records
from timesink.errors import NotFoundError
from timesink.model.trace import Trace
from timesink.reports.plugin.query import Query

TIME_FACTORS = {"us": 1.0, "ms": 1e-3, "s": 1e-6}
"""What turns microseconds into each unit."""

MEMORY_FACTORS = {"B": 1.0, "KB": 1024**-1, "MB": 1024**-2, "GB": 1024**-3}
"""What turns bytes into each unit."""

NO_ADDRESSES = (
    "{device}: the records have no addresses, so single blocks cannot be followed "
    "(recorded by PyTorch before 1.10)."
)

_HALF_MICROSECOND = 500
_SMALLEST_ERROR, _PRODUCT_ERROR = 1e-6, 1e-15


@dataclass(frozen=True, slots=True)
class Units:
    """The units a request asks for."""

    time: str
    memory: str

    @classmethod
    def asked(cls, query: Query, memory: str) -> Units:
        """Milliseconds and the given unit of memory where the request does not say."""
        return cls(
            query.choice("time_metric", *TIME_FACTORS) or "ms",
            query.choice("memory_metric", *MEMORY_FACTORS) or memory,
        )

    def ns(self, lengths: pl.Series) -> pl.Series:
        """Nanoseconds in the unit of time."""
        return lengths / 1000 * TIME_FACTORS[self.time]

    def bytes(self, sizes: pl.Series) -> pl.Series:
        """Bytes in the unit of memory."""
        return sizes.cast(pl.Float64) * MEMORY_FACTORS[self.memory]


def asked_window(trace: Trace, query: Query) -> tuple[int | None, int | None]:
    """The window `start_ts` to `end_ts` in ns on the clock of the tables.

    Requests count microseconds on the clock of the file, as `first_ts` of the curve does, rounded
    to whole ones; so each end reaches half a microsecond further, lest it cut off its own point.
    """
    offset = trace.metadata.clock_offset_ns
    start, end = query.whole("start_ts"), query.whole("end_ts")
    return (
        None if start is None else start * 1000 + offset - _HALF_MICROSECOND,
        None if end is None else end * 1000 + offset + _HALF_MICROSECOND,
    )


def rounded(values: pl.Series) -> list[float | None]:
    """Two decimals; small numbers keep one digit that is not zero."""
    numbers = values.fill_null(0.0).to_numpy()
    hundredths = numbers * 100
    result = np.rint(hundredths) / 100
    # Halves are judged by the exact binary value, as Python does, and not by the product.
    error = _SMALLEST_ERROR + _PRODUCT_ERROR * np.abs(hundredths)
    tie = np.abs(hundredths - np.floor(hundredths) - 0.5) <= error
    small = (np.abs(numbers) < 0.01) & (numbers != 0)
    for place in np.flatnonzero(tie | small):
        number = float(numbers[place])
        is_plain = abs(number) >= 0.01 or number == 0
        digits = 2 if is_plain else abs(int(np.floor(np.log10(abs(number)))))
        result[place] = round(number, digits)
    return pl.Series(result).set(values.is_null(), None).to_list()


def in_units(table: pl.DataFrame, units: Units) -> pl.DataFrame:
    """Sizes in the unit asked for, rounded."""
    sizes = [name for name in table.columns if name.endswith("_bytes")]
    return table.with_columns(
        pl.Series(name, rounded(units.bytes(table[name])), dtype=pl.Float64) for name in sizes
    )


def recorded_devices(trace: Trace) -> list[str]:
    """The devices with memory records; there is no memory view without."""
    names = memory_device_names(trace)
    if not names:
        raise NotFoundError(
            "the recording has no memory events", "record with profile(profile_memory=True)"
        )
    return names


def number_column(title: str, tooltip: str) -> dict[str, str]:
    """How a column of numbers is announced."""
    return {"name": title, "type": "number", "tooltip": tooltip}


def rows_by_device(table: pl.DataFrame, devices: list[str]) -> dict[str, list[list[Any]]]:
    """The rows of each device, without its name."""
    rows: dict[str, list[list[Any]]] = {device: [] for device in devices}
    for device, *values in table.iter_rows():
        rows[device].append(values)
    return rows


def address_notes(trace: Trace) -> list[str]:
    """Which devices have records that cannot be matched, and why."""
    followed = (
        memory_records(trace)
        .group_by("device", maintain_order=True)
        .agg(pl.col("address").is_not_null().any())
    )
    return [
        NO_ADDRESSES.format(device=device)
        for device, addressed in followed.sort("device").iter_rows()
        if not addressed
    ]
