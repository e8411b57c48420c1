"""What the logs of collectives have in common: rows of one table, and the trace around them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from timesink.formats.finish import finish_trace
from timesink.formats.source_file import SourceFile
from timesink.model.health import HealthEntry
from timesink.model.schema import TABLES
from timesink.model.trace import Distributed, Metadata, Trace
from timesink.patterns import regex

SCHEDULED, STARTED, COMPLETED = "scheduled", "started", "completed"
MAX_TEXT = 500
"""Characters of a name."""
_LARGEST = 2**63
_NUMBER_AT_END = regex(r"(?:rank[-_.]?|[-_.])(\d{1,6})(?:\.\w+)*$", re.IGNORECASE)


class CollectiveRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call of one rank; what is not known is None.  Columns of `collective_calls`."""

    collective: str
    state: str
    rank: int | None = None
    member: int | None = None
    process: str | None = None
    group_name: str | None = None
    group_description: str | None = None
    group_ranks: str | None = None
    group_size: int | None = None
    sequence: int | None = None
    is_p2p: bool = False
    peer: int | None = None
    created_ts_ns: int | None = None
    started_ts_ns: int | None = None
    completed_ts_ns: int | None = None
    dur_ns: int | None = None
    bytes: int | None = None
    sizes: str | None = None
    dtype: str | None = None
    algorithm_bytes_per_s: float | None = None
    bus_bytes_per_s: float | None = None
    timing_source: str | None = None
    timeout_ns: int | None = None
    call_stack: str | None = None
    thread: str | None = None


class Losses:
    """What of a file could not be used, by code of health."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.examples: dict[str, str] = {}

    def add(self, code: str, example: str, count: int = 1) -> None:
        """Count one, or several."""
        self.count[code] += count
        self.examples.setdefault(code, example[:MAX_TEXT])

    @property
    def entries(self) -> list[HealthEntry]:
        """As health."""
        return [HealthEntry(code, many, self.examples[code]) for code, many in self.count.items()]


def log_trace(
    source: SourceFile,
    form: str,
    rows: Sequence[CollectiveRow],
    losses: Losses,
    *,
    rank: int | None,
    versions: Mapping[str, str] = {},
    extra: Mapping[str, Any] = {},
) -> Trace:
    """The trace of one log."""
    columns = columns_of(rows)
    return calls_trace(
        source.path.name, form, columns, losses, rank=rank, versions=versions, extra=extra
    )


COLUMNS = CollectiveRow.__struct_fields__
"""Of `collective_calls`, without its index."""


def columns_of(rows: Sequence[CollectiveRow]) -> dict[str, Sequence[Any]]:
    """Calls column by column.

    >>> columns_of([CollectiveRow("all_reduce", "completed")])["state"]
    ('completed',)
    """
    values = zip(*map(msgspec.structs.astuple, rows), strict=True) if rows else ((),) * len(COLUMNS)
    return dict(zip(COLUMNS, values, strict=True))


def calls_trace(
    name: str,
    form: str,
    columns: Mapping[str, Sequence[Any]],
    losses: Losses,
    *,
    rank: int | None = None,
    versions: Mapping[str, str] = {},
    extra: Mapping[str, Any] = {},
) -> Trace:
    """The trace of some calls, of which each column has one value; absent ones are null."""
    table = TABLES["collective_calls"]
    types = {name: dtype for name, dtype in table.schema.items() if name != "index"}
    plain = {
        name: pl.String if isinstance(dtype, pl.Categorical | pl.Enum) else dtype
        for name, dtype in types.items()
    }
    count = max(map(len, columns.values()), default=0)
    frame = pl.DataFrame(
        {name: columns.get(name, [None] * count) for name in types}, schema=plain, strict=False
    ).with_row_index("index")
    largest = max((size or 0 for size in set(columns.get("group_size", ()))), default=0)
    metadata = Metadata(
        source=name,
        format=form,
        vendor="unknown",
        events=count,
        distributed=Distributed(rank=rank, world_size=largest or None),
        framework="PyTorch" if form == "flight_recorder" else None,
        versions=versions,
        extra=extra,
    )
    return finish_trace(metadata, {"collective_calls": frame}, losses.entries)


def rank_of_name(name: str) -> int | None:
    """The rank in the name of a file: the number it ends with.

    >>> rank_of_name("nccl_trace_rank_12"), rank_of_name("dump_3.json"), rank_of_name("dump")
    (12, 3, None)
    """
    match = _NUMBER_AT_END.search(name)
    return int(match[1]) if match else None


def whole_number(value: Any) -> int | None:
    """A number as a column holds it; None for anything else, and for what no column holds."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        number = int(value)
    except ValueError:
        return None
    return number if -_LARGEST <= number < _LARGEST else None


def positive_number(value: Any) -> float | None:
    """A measurement; None for anything that can be none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e18 else None


def short_text(value: Any) -> str | None:
    """A text within bounds; None for anything else."""
    return value[:MAX_TEXT] if isinstance(value, str) and value else None
