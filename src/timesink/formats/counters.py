"""Counters sampled beside a trace: CSV with columns `timestamp_us,counter,device,value`.

The layouts of others are read as well: see `LAYOUTS`.  Timestamps are Unix microseconds
as decimal text; they are never taken through float64, which cannot hold today's nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from timesink.errors import UnreadableError
from timesink.formats.csv_text import count_foreign_lines, header_of, microseconds_as_ns, texts_of
from timesink.formats.finish import conform, finish_trace
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import SourceFile, open_source
from timesink.model.health import HealthEntry
from timesink.model.schema import COUNTERS, HOST_DEVICE
from timesink.model.trace import Metadata, Trace
from timesink.model.vendors import NO_ACCELERATOR
from timesink.patterns import regex

_OF_PROCESS = r"^(process_\w+?)_(\d+)$"
_LANE = regex(r"^CAT_([A-Z]+)(?:_(\d+))?", re.IGNORECASE)
HOST_OF_PROCESS = r"^(.+)\(\d+\)$"
"""Processes written as `host(1234)`."""
_ACCELERATOR_LANE = "XPU"
OF_THE_HOST = ("CPU", "MEMORY", "NET", "DISK", "HOST")
"""Lanes of the machine itself, without the `CAT_` before them."""


def with_processes_apart(samples: pl.DataFrame) -> pl.DataFrame:
    """Counters that carry a process in their name under the plain name, with it as device."""
    name = pl.col("counter").cast(pl.String)
    pid = name.str.extract(_OF_PROCESS, 2)
    return samples.with_columns(
        counter=pl.coalesce(name.str.extract(_OF_PROCESS, 1), name),
        device=pl.coalesce(pl.format("pid {}", pid), pl.col("device").cast(pl.String)),
    )


def device_of_lane(lane: str) -> str:
    """The device that the lane of a counter stands for; other lanes stand for themselves."""
    match = _LANE.match(lane)
    if match is None:
        return lane
    kind = match[1].upper()
    if kind == _ACCELERATOR_LANE and match[2] is not None:
        return f"GPU {match[2]}"
    return HOST_DEVICE if kind in OF_THE_HOST else lane


# The layouts counters come in as CSV, brought to the columns of one: data and a few rules.
#
# * `timestamp_us,counter,device,value`: what timesink's own samplers write;
# * `counter_name,timestamp,value,hostname`: exported beside a behaviour table, without devices;
# * `name,value,timestamp,category`, with `hostname` or `loc1,loc1_type`: beside `micro_event.csv`.

COLUMNS = ("timestamp_us", "counter", "device", "value")

_LOCATION = regex(r"^loc\d+$")
_LAST_NUMBER = r"(\d+)\D*$"


CounterLayout = Mapping[str, str]
"""What the columns a layout must have are called here."""
_LOCATED: CounterLayout = {"timestamp": "timestamp_us", "name": "counter", "value": "value"}
"""Columns say where a sample was taken: `category`, and `loc1`, `loc1_type`, ..."""
LAYOUTS: tuple[CounterLayout, ...] = (
    {name: name for name in COLUMNS},
    {"timestamp": "timestamp_us", "counter_name": "counter", "value": "value"},
    _LOCATED,
)


def layout_of(header: Sequence[str]) -> CounterLayout | None:
    """The layout of a header line, None where it is of no counters."""
    fitting = (layout for layout in LAYOUTS if layout.keys() <= set(header))
    return next(
        (layout for layout in fitting if layout is not _LOCATED or "category" in header), None
    )


def _place(columns: Sequence[str]) -> pl.Expr:
    """Accelerator, process or host, from the categories of the places."""
    places = [name for name in columns if _LOCATION.match(name) and f"{name}_type" in columns]
    labels = (("CAT_XPU", "GPU {}"), ("CAT_PROCESS", "pid {}"))
    located = [
        pl.when(pl.col(f"{place}_type").str.to_uppercase() == category).then(
            pl.format(label, pl.col(place).str.extract(_LAST_NUMBER))
        )
        for category, label in labels
        for place in places
    ]
    of_host = [f"CAT_{word}" for word in OF_THE_HOST]
    is_of_host = pl.col("category").str.to_uppercase().is_in(of_host)
    return pl.coalesce(*located, pl.when(is_of_host).then(pl.lit(HOST_DEVICE)))


NAME = "counters"

_EXPECTED = f"expected columns: {','.join(COLUMNS)}"
_STRIPPED = " \t\r\"'"


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    return layout_of(header_of(head)) is not None


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    """A trace of counters alone, for a CSV given by itself."""
    counters, health = _read_source(source)
    metadata = Metadata(
        source=str(source.path), format=NAME, vendor=NO_ACCELERATOR, events=counters.height
    )
    return finish_trace(metadata, {"counters": counters}, health)


def read_counters(path: Path) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """The `counters` table of a CSV, and what of it could not be used."""
    return _read_source(open_source(path))


def _read_source(source: SourceFile) -> tuple[pl.DataFrame, list[HealthEntry]]:
    content, health = source.content()
    if not content.strip():
        raise UnreadableError(f"{source.path}: the file is empty", _EXPECTED)
    health.append(HealthEntry("invalid_utf8", count_foreign_lines(content), source.path.name))
    layout = layout_of(header_of(content))
    if layout is None:
        missing = [name for name in COLUMNS if name not in header_of(content)]
        no_header = len(missing) == len(COLUMNS)
        reason = "no header line" if no_header else f"no column {' nor '.join(missing)}"
        raise UnreadableError(f"{source.path}: not a counter CSV ({reason})", _EXPECTED)
    texts = texts_of(content, numbers="value", strip=_STRIPPED, decimals=["value"])
    # Texts of any layout under the names of the first.
    if layout is _LOCATED and "device" not in texts.columns:
        device = _place(texts.columns)
    else:
        place_columns = [name for name in ("device", "hostname") if name in texts.columns]
        device = pl.col(place_columns[0]) if place_columns else pl.lit(None, dtype=pl.String)
    named = texts.select(
        *(pl.col(theirs).alias(column) for theirs, column in layout.items() if column != "device"),
        device=device,
    )
    rows = with_processes_apart(named).select(COLUMNS)
    samples = rows.with_columns(
        ts_ns=microseconds_as_ns(rows["timestamp_us"]),
        value=pl.col("value").cast(pl.Float64, strict=False),
        source=pl.lit(source.path.name),
    )
    is_sample = samples.select(
        pl.col("ts_ns").is_not_null()
        & pl.col("counter").is_not_null()
        & pl.col("value").is_finite().fill_null(value=False)
    ).to_series()
    bad = rows.filter(~is_sample)
    if bad.height:
        example = ",".join(text or "" for text in bad.row(0))
        entry = HealthEntry("bad_counter_row", bad.height, f"{source.path.name}: {example}")
        health.append(entry)
    usable = conform(samples.filter(is_sample), COUNTERS)
    return usable, [entry for entry in health if entry.count]
