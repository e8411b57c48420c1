"""Two memory snapshots beside each other: their peaks, and what is live at them more or less."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import polars as pl

from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.snapshot.blocks import blocks_at_peak, snapshot_peaks
from timesink.analyses.snapshot.tables import failed_allocations, reserved_memory
from timesink.comparison.thresholds import SnapshotChangeLimits
from timesink.model.trace import Trace

_LINE = re.compile(r"\((\d+)\)(?=: )|(?<=\.py):(\d+)")
"""Numbers of lines: they move with every edit above them."""
GROUPS = ("category", "module", "place")
"""By what live memory is compared."""


class PeakChange(NamedTuple):
    """The peaks of one device."""

    device: str
    base_bytes: int
    new_bytes: int

    @property
    def change_bytes(self) -> int:
        """How much more the new side has."""
        return self.new_bytes - self.base_bytes

    @property
    def is_change(self) -> bool:
        """Whether it is more than allocators differ by from run to run."""
        least = SnapshotChangeLimits.min_share * self.base_bytes
        return abs(self.change_bytes) > max(least, SnapshotChangeLimits.min_bytes)


class SnapshotPair(msgspec.Struct, frozen=True, eq=False):
    """Two snapshots."""

    base: Trace
    new: Trace
    paths: tuple[str, str]

    @property
    def peaks(self) -> list[PeakChange]:
        """The peak of each device of either, the largest first."""
        base, new = (snapshot_peaks(trace) for trace in (self.base, self.new))
        changes = [
            PeakChange(
                device,
                base[device].bytes if device in base else 0,
                new[device].bytes if device in new else 0,
            )
            for device in dict.fromkeys([*base, *new])
        ]
        return sorted(changes, key=lambda change: -max(change.base_bytes, change.new_bytes))

    def changes(self, by: str) -> pl.DataFrame:
        """Live memory at the peaks by one of `GROUPS`, what grew most first."""
        keys = ("device", by)
        sides = [
            _live(trace)
            .group_by(*keys)
            .agg(
                pl.col("bytes").sum().alias(f"{side}_bytes"),
                pl.len().cast(pl.Int64).alias(f"{side}_blocks"),
            )
            for side, trace in (("base", self.base), ("new", self.new))
        ]
        joined = sides[0].join(sides[1], on=keys, how="full", coalesce=True, nulls_equal=True)
        numbers = pl.col("base_bytes", "new_bytes", "base_blocks", "new_blocks").fill_null(0)
        return (
            joined.with_columns(numbers)
            .with_columns(change_bytes=pl.col("new_bytes") - pl.col("base_bytes"))
            .select(
                *keys,
                *("base_bytes", "new_bytes", "change_bytes", "base_blocks", "new_blocks"),
            )
            .sort("change_bytes", *keys, descending=[True, False, False], nulls_last=True)
        )

    @property
    def reserved(self) -> tuple[int, int]:
        """What the allocator held at the ends of both."""
        base, new = (
            int(reserved_memory(trace)["reserved_bytes"].sum() or 0)
            for trace in (self.base, self.new)
        )
        return base, new

    @property
    def failures(self) -> tuple[int, int]:
        """How many allocations failed in both."""
        base, new = (failed_allocations(trace).height for trace in (self.base, self.new))
        return base, new


@memoize_per_trace
def _live(trace: Trace) -> pl.DataFrame:
    """Blocks at the peaks, by names that do not change with the lines above them."""
    live = blocks_at_peak(trace)
    return live.select(
        "device",
        "bytes",
        pl.col("category").cast(pl.String),
        _without_lines(live["module"]),
        _without_lines(live["place"]),
    )


def _without_lines(names: pl.Series) -> pl.Series:
    unique: Sequence[str] = names.drop_nulls().unique().to_list()
    table = {name: _LINE.sub("", name) for name in unique}
    return names.replace_strict(table, default=None, return_dtype=pl.String)
