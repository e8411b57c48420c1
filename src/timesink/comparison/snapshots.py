"""Two memory snapshots beside each other: their peaks, and what is live at them more or less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec
import polars as pl

from timesink.analyses.snapshot.blocks import blocks_at_peak, snapshot_peaks
from timesink.analyses.snapshot.tables import failed_allocations, reserved_memory
from timesink.comparison.thresholds import SnapshotChangeLimits
from timesink.model.trace import SNAPSHOT, Trace
from timesink.patterns import regex

_LINE = regex(r"\((\d+)\)(?=: )|(?<=\.py):(\d+)")
"""Numbers of lines: they move with every edit above them."""
GROUPS = ("category", "module", "place")
"""By what live memory is compared."""
_LIVE: dict[Any, Any] = {
    **dict.fromkeys(("device", *GROUPS), pl.String),
    **dict.fromkeys(("bytes", "blocks"), pl.Int64),
}
"""Columns of live memory, as a baseline holds them."""


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


class SnapshotSide(msgspec.Struct, frozen=True, eq=False):
    """What a comparison needs of a snapshot."""

    kind: ClassVar[str] = SNAPSHOT

    peaks: Mapping[str, int]
    """Bytes by device."""
    live: pl.DataFrame
    """Bytes and blocks at the peaks by device, category, module and place."""
    reserved_bytes: int
    """What the allocators held at the end."""
    failures: int
    """Allocations that failed."""

    @classmethod
    def of(cls, trace: Trace) -> SnapshotSide:
        """The side that a snapshot is."""
        return cls(
            {device: peak.bytes for device, peak in snapshot_peaks(trace).items()},
            _live(trace),
            int(reserved_memory(trace)["reserved_bytes"].sum() or 0),
            failed_allocations(trace).height,
        )

    def stored(self) -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
        """Plain data and tables, of which `restored` makes the side again."""
        facts = {"peaks": dict(self.peaks), "reserved_bytes": self.reserved_bytes}
        return facts | {"failures": self.failures}, {"live": self.live}

    @classmethod
    def restored(cls, facts: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> SnapshotSide:
        """The side that was stored."""
        return cls(
            msgspec.convert(facts["peaks"], dict[str, int]),
            tables["live"].select(*_LIVE).cast(_LIVE),
            msgspec.convert(facts["reserved_bytes"], int),
            msgspec.convert(facts["failures"], int),
        )


class SnapshotPair(msgspec.Struct, frozen=True, eq=False):
    """Two snapshots."""

    base: SnapshotSide
    new: SnapshotSide
    paths: tuple[str, str]

    @property
    def peaks(self) -> list[PeakChange]:
        """The peak of each device of either, the largest first."""
        base, new = self.base.peaks, self.new.peaks
        changes = [
            PeakChange(device, base.get(device, 0), new.get(device, 0))
            for device in dict.fromkeys([*base, *new])
        ]
        return sorted(changes, key=lambda change: -max(change.base_bytes, change.new_bytes))

    def changes(self, by: str) -> pl.DataFrame:
        """Live memory at the peaks by one of `GROUPS`, what grew most first."""
        keys = ("device", by)
        sides = [
            snapshot.live.group_by(*keys).agg(
                pl.col("bytes").sum().alias(f"{side}_bytes"),
                pl.col("blocks").sum().alias(f"{side}_blocks"),
            )
            for side, snapshot in (("base", self.base), ("new", self.new))
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
        return self.base.reserved_bytes, self.new.reserved_bytes

    @property
    def failures(self) -> tuple[int, int]:
        """How many allocations failed in both."""
        return self.base.failures, self.new.failures


def _live(trace: Trace) -> pl.DataFrame:
    """Blocks at the peaks, by names that do not change with the lines above them."""
    live = blocks_at_peak(trace)
    named = live.select(
        "device",
        "bytes",
        pl.col("category").cast(pl.String),
        _without_lines(live["module"]),
        _without_lines(live["place"]),
    )
    groups = named.group_by("device", *GROUPS, maintain_order=True)
    return groups.agg(pl.col("bytes").sum(), pl.len().cast(pl.Int64).alias("blocks"))


def _without_lines(names: pl.Series) -> pl.Series:
    unique: Sequence[str] = names.drop_nulls().unique().to_list()
    table = {name: _LINE.sub("", name) for name in unique}
    return names.replace_strict(table, default=None, return_dtype=pl.String)
