"""GatheredLaunches and their values, gathered stretch by stretch from a page of any layout.

A page gives *pieces*: neighbouring rows of one launch.  Usually a piece is a launch; where the
rows of a launch lie apart, or a launch is printed twice, :mod:`timesink.formats.ncu.launches`
sorts it out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import msgspec
import polars as pl

from timesink.formats.ncu.numbers import POINT, DecimalEvidence, is_missing, to_numbers, unit_of
from timesink.model.data_files import csv_rows
from timesink.model.health import HealthEntry
from timesink.patterns import regex

_MACHINE = regex(r"(?:device__attribute|numa|nvlink|c2clink|profiler)_+")
DEVICE_ATTRIBUTE = "device__attribute_"


class ColumnRule(msgspec.Struct, frozen=True):
    """A column of `kernel_calls`, and the names of the metrics that fill it, the best first.

    Metrics that fit the same pattern are parts of one whole (the pipes of the tensor cores): the
    busiest of them counts.
    """

    column: str
    units: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]

    def choices(self, metrics: Iterable[str]) -> list[list[str]]:
        """The metrics that fill the column, by preference; those of one preference together."""
        names = sorted(metrics)
        fitting = ([name for name in names if p.fullmatch(_bare(name))] for p in self.patterns)
        return [group for group in fitting if group]


def _bare(name: str) -> str:
    """The metric alone, where it is printed behind its label (`--print-metric-name label-name`)."""
    last = name.rpartition(" ")[2].strip("()[]")
    return last if "__" in last else name


def _rules() -> Iterator[ColumnRule]:
    rows = csv_rows(Path(__file__).with_name("columns.csv"))
    for (column, units), group in groupby(rows, itemgetter("column", "units")):
        printed = tuple("" if unit == "none" else unit for unit in units.split())
        yield ColumnRule(column, printed, tuple(re.compile(row["pattern"]) for row in group))


COLUMN_RULES = tuple(_rules())
"""Rows of `columns.csv`."""

SHAPE_METRICS = {
    f"{shape}_{axis}": f"launch__{shape}_dim_{axis}"
    for shape in ("grid", "block")
    for axis in "xyz"
}
"""Where the shape of a launch is, in layouts that do not print it beside the name."""


def is_of_machine(metric: str) -> bool:
    """Whether a metric describes the machine or the profiler and is the same for every launch."""
    return _MACHINE.match(metric) is not None


_TEXT = pl.Categorical()
PLACE: dict[str, pl.DataType] = {
    "launch_id": pl.Int64(),
    **dict.fromkeys(("pid", "process", "host", "device", "compute_capability"), _TEXT),
    **dict.fromkeys(("context", "stream", "name", "grid", "block"), _TEXT),
}
"""What pages print about a launch beside its metrics; shapes are still texts like `(8, 1, 1)`."""
KEY = ("run", "host", "pid", "device", "launch_id", "name")
"""What tells one launch from another.  Ids start anew in every process."""
LaunchPart = tuple[pl.DataFrame, pl.DataFrame]
"""Some neighbouring pieces of one page: launches and their values.

Launches have the columns of `PLACE`, one row per piece; values have `piece` (a row number of
launches), `section`, `metric`, `unit` and `text`, all as printed.
"""


class GatheredLaunches(msgspec.Struct):
    """Everything gathered from the pages of one file."""

    decimal: str = POINT
    """The decimal mark that texts which can be read in two ways are read with."""
    evidence: DecimalEvidence = msgspec.field(default_factory=DecimalEvidence)
    properties: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    """By device: what the page says about the machine, as printed."""
    missing: Counter[str] = msgspec.field(default_factory=Counter)
    """By metric: rows that say in a word that there is no value."""
    words: dict[str, str] = msgspec.field(default_factory=dict)
    """Metrics with values that are no numbers, and one such value."""
    metric_names: set[str] = msgspec.field(default_factory=set)
    """Metrics the pages name, with or without values."""
    pieces: int = 0
    _launches: list[pl.DataFrame] = msgspec.field(default_factory=list)
    _values: list[pl.DataFrame] = msgspec.field(default_factory=list)
    _last: tuple[object, ...] | None = None

    def add(self, part: LaunchPart, run: int) -> None:
        """Take in a part; a launch that the last part began is continued."""
        if part[0].is_empty():
            return
        launches = part[0].with_columns(pl.lit(run, pl.UInt32).alias("run"))
        first, last = (launches.select(KEY).row(place) for place in (0, -1))
        continues = self._last == first and first[KEY.index("launch_id")] is not None
        offset = self.pieces - continues
        numbers = pl.int_range(offset, offset + launches.height, dtype=pl.UInt32)
        self._launches.append(launches.with_columns(numbers.alias("piece"))[int(continues) :])
        self._values.append(self._read_values(part, offset))
        self.pieces = offset + launches.height
        self._last = last

    def tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """All pieces, of which there is at least one, and all values."""
        launches, values = pl.concat(self._launches), pl.concat(self._values)
        self._launches, self._values = [], []
        return launches, values

    def _read_values(self, part: LaunchPart, offset: int) -> pl.DataFrame:
        rows = self._without_properties(part)
        units = {printed: unit_of(printed or "") for printed in rows["unit"].unique().to_list()}
        self.evidence.look_at(rows["text"], rows["unit"])
        exponents = None
        if any(power for _, power in units.values()):
            # As they are written behind a number; nothing for the base unit itself.
            written = {text: f"e{power}" if power else "" for text, (_, power) in units.items()}
            exponents = _map_texts(rows["unit"], written)
        numbers = to_numbers(rows["text"], self.decimal, exponents)
        base = _map_texts(rows["unit"], {text: unit for text, (unit, _) in units.items()})
        read = rows.select(
            (pl.col("piece") + offset).cast(pl.UInt32),
            "section",
            "metric",
            base.cast(_TEXT).alias("unit"),
            numbers.alias("value"),
        )
        without = numbers.is_null()
        if without.any():
            self._note_absent(rows.filter(without))
            read = read.filter(~without)
        return read

    def _without_properties(self, part: LaunchPart) -> pl.DataFrame:
        """The values that were measured; what describes the machine is noted once per device."""
        launches, rows = part
        names = {name for name in rows["metric"].unique().to_list() if name}
        of_machine = {name for name in names if is_of_machine(name)}
        self.metric_names |= names - of_machine
        if not of_machine:
            return rows
        properties = pl.Series(sorted(of_machine), dtype=_TEXT).implode()
        is_property = pl.col("metric").is_in(properties)
        devices = launches.select("device").with_row_index("piece")
        described = (
            rows.filter(is_property)
            .join(devices, on="piece", how="left")
            .unique(["device", "metric"], keep="first", maintain_order=True)
        )
        for device, metric, text in described.select("device", "metric", "text").iter_rows():
            self.properties.setdefault(device or "", {}).setdefault(metric, text or "")
        return rows.filter(~is_property)

    def _note_absent(self, rows: pl.DataFrame) -> None:
        """Count values that are missing; note metrics whose values are words."""
        absent = is_missing(rows["text"])
        counts = rows.filter(absent & (rows["text"] != ""))["metric"].drop_nulls().value_counts()
        self.missing.update(dict(counts.iter_rows()))
        words = rows.filter(~absent).unique("metric", keep="first", maintain_order=True)
        for metric, text in words.select("metric", "text").iter_rows():
            self.words.setdefault(metric or "", text)


def _map_texts(printed: pl.Series, meaning: dict[str | None, str]) -> pl.Series:
    """Every text replaced by what it means; there are few different ones."""
    if len(meaning) == 1:
        only = next(iter(meaning.values()))
        return pl.Series([only]).new_from_index(0, len(printed))
    lookup = pl.DataFrame(
        {"printed": pl.Series(list(meaning), dtype=_TEXT), "meaning": list(meaning.values())}
    )
    return (
        pl.DataFrame({"printed": printed.cast(_TEXT)})
        .join(lookup, on="printed", how="left", maintain_order="left", nulls_equal=True)
        .get_column("meaning")
    )


# From pieces to launches: rows that lie apart are joined, launches of the same number told apart.
#
# Rows repeat for two reasons.  A file may hold a row twice: it counts once.  Or a second run was
# appended to the file and its numbers start anew: its launches differ from the first ones in some
# value, and are launches of their own.

_SAME_VALUE = ("section", "metric", "unit")
"""What a launch has one value for."""


Merged = tuple[pl.DataFrame, pl.DataFrame, list[HealthEntry]]
"""Launches in the order of their first rows, values with `index` (their launch), and health."""


def merge_pieces(launches: pl.DataFrame, values: pl.DataFrame) -> Merged:
    """One row per launch.

    `launches` has the columns of `KEY` and `piece`; `values` has `piece`, `section`, `metric`,
    `unit` and `value`.  Pieces are numbered from 0, without gaps.
    """
    # Whether a metric comes twice in a piece: sections share some, and files repeat rows.
    # Both numbers are below 2^32.
    metric = pl.col("metric").to_physical().cast(pl.UInt64)
    both = values.select(pl.col("piece").cast(pl.UInt64) * 2**32 + metric).to_series()
    if both.n_unique() < values.height:
        launches, values = _split_pieces(launches, values)
        # Sections share metrics; what they agree on is said once.
        values = values.unique(
            ["piece", "metric", "unit", "value"], keep="first", maintain_order=True
        )
    # The text page does not number its launches, and never prints one in two pieces.
    numbered = launches.select(KEY).filter(pl.col("launch_id").is_not_null())
    # Hashes may be equal by chance, which costs a closer look and nothing else.
    if not (numbered.hash_rows().n_unique() < numbered.height):
        return launches.rename({"piece": "index"}), values.rename({"piece": "index"}), []
    is_unnumbered = pl.col("launch_id").is_null()
    first = pl.when(is_unnumbered).then("piece").otherwise(pl.col("piece").min().over(KEY))
    return _merge_by_key(launches.with_columns(first=first), values)


def _split_pieces(
    launches: pl.DataFrame, values: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Pieces in which no value repeats: the second time a value is given, a second piece begins."""
    rows = values.with_columns(time=pl.int_range(pl.len()).over("piece", *_SAME_VALUE))
    if not (rows["time"] > 0).any():
        return launches, values
    times = (
        pl.concat(
            [rows.select("piece", "time"), launches.select("piece", time=pl.lit(0, pl.Int64))]
        )
        .unique()
        .sort("piece", "time")
        .with_row_index("new")
    )
    parted = times.join(launches, on="piece", how="left", maintain_order="left")
    renumbered = rows.join(times, on=["piece", "time"], how="left", maintain_order="left")
    return (
        parted.drop("piece", "time").rename({"new": "piece"}),
        renumbered.drop("piece", "time")
        .rename({"new": "piece"})
        .sort("piece", maintain_order=True),
    )


def _merge_by_key(firsts: pl.DataFrame, values: pl.DataFrame) -> Merged:
    """One row per launch, where some launches have several pieces."""
    shared = firsts.filter(pl.col("first").is_duplicated()).select("piece", "first")
    rows = values.join(shared, on="piece", how="inner", maintain_order="left").with_columns(
        before=pl.col("value").shift(1).over("first", *_SAME_VALUE)
    )
    # The launch of every piece: a piece that contradicts what came before is another launch.
    # `shared` are pieces that have their key in common with others, `rows` their values, with the
    # value that came before. A launch goes by the number of its first piece.
    contradicts = pl.col("before").is_not_null() & (pl.col("before") != pl.col("value"))
    differing = rows.group_by("piece").agg(differs=contradicts.any())
    sorted_out = (
        shared.join(differing, on="piece", how="left", maintain_order="left")
        .with_columns(pl.col("differs").fill_null(value=False))
        .with_columns(time=pl.col("differs").cum_sum().over("first"))
        .with_columns(launch=pl.col("piece").min().over("first", "time"))
        .select("piece", "launch", "differs")
    )
    repeated = (
        rows.join(sorted_out.filter(~pl.col("differs")), on="piece", how="semi")
        .filter(pl.col("before").is_not_null())
        .select("piece", *_SAME_VALUE)
    )
    pieces = firsts.join(sorted_out, on="piece", how="left", maintain_order="left").with_columns(
        pl.col("launch").fill_null(pl.col("piece"))
    )
    launches = pieces.filter(pl.col("launch") == pl.col("piece")).with_row_index("index")
    numbers = pieces.select("piece", "launch").join(
        launches.select("index", launch="piece"), on="launch", how="left"
    )
    joined = (
        values.join(repeated, on=["piece", *_SAME_VALUE], how="anti", nulls_equal=True)
        .join(numbers.select("piece", "index"), on="piece", how="left", maintain_order="left")
        .sort("index", maintain_order=True)
    )
    again = sorted_out.filter(pl.col("differs"))
    health = [
        HealthEntry("repeated_rows", repeated.height, _first_piece_text(repeated, firsts)),
        HealthEntry("restarted_ids", again.height, _first_piece_text(again, firsts)),
    ]
    return launches, joined, health


def _first_piece_text(pieces: pl.DataFrame, launches: pl.DataFrame) -> str:
    """The first of some pieces, in words."""
    if pieces.is_empty():
        return ""
    named = launches.filter(pl.col("piece") == pieces["piece"][0])
    return f"id {named['launch_id'][0]}: {named['name'][0]}"
