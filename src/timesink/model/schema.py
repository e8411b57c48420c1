"""The tables of a trace: every column spelled once, in `schema.csv`, with type, unit and meaning.

Readers fill these tables, analyses read them, ``docs/tables.md`` is generated from them and the
tests check readers against them.  Nothing else in the project spells a dtype.

Conventions that hold for every table:

* times are integer nanoseconds, units are part of the column name;
* ``pid``, ``tid`` and ``stream`` are text, because traces use numbers, ``"stream 7"``,
  ``"host(1234)"`` and hexadecimal queue handles alike;
* ``index`` is the position of the event in the source, so file order can always be restored and
  every row can be traced back;
* null means "the source does not say"; it is never replaced by zero.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import polars as pl

from timesink.model.data_files import csv_rows
from timesink.patterns import regex

if TYPE_CHECKING:
    from polars._typing import PolarsDataType
else:
    PolarsDataType: TypeAlias = object

HOST_KINDS = (
    "operator",
    "annotation",
    "python_function",
    "module",
    "runtime",
    "driver",
    "sync",
    "collective",
    "overhead",
    "trace",
    "instant",
    "other",
    "captured_operator",
    "captured_module",
    "captured_annotation",
)
"""The last three are calls that were made when a graph was captured, at each replay of it."""
CAPTURED_KINDS = HOST_KINDS[-3:]
MODULE_PREFIX, LINE_PREFIX = "nn.Module: ", "called at "
"""How names begin of modules, and of ranges that say which line of the program makes a call."""
DEVICE_KINDS = (
    "kernel",
    "memcpy",
    "memset",
    "collective",
    "annotation",
    "sync",
    "profiler_range",
    "other",
)
BUSY_KINDS = ("kernel", "memcpy", "memset", "collective")
"""Device kinds whose union is the device's busy time."""
KERNEL_KINDS = ("kernel", "collective")
"""Device kinds that are kernels; collectives are kernels that communicate."""

COPY_DIRECTIONS = ("HtoD", "DtoH", "DtoD", "HtoH", "PtoP", "other")
FLOW_KINDS = ("launch", "forward_backward", "other")
FLOW_PHASES = ("start", "step", "end")

COLLECTIVE_STATES = ("scheduled", "started", "completed")
"""How far a collective is that a rank has entered."""
CYCLE_TYPES = ("prefill", "decode", "generic")
"""What a repeating unit of work is; `generic` where nothing tells."""
INTERPOLATED = ("none", "some", "all")
"""How many calls of a function had too few counter samples of their own: see `behaviour`."""
HOST_DEVICE = "Host"
"""What stands for the processors where accelerators are `GPU 0`, `NPU 3`, ..."""


_WORDS = {name: words for name, words in vars().items() if isinstance(words, tuple)}
"""What columns hold that have one of a few words, by the names above."""


class TableColumn(msgspec.Struct, frozen=True):
    """One column: its name (with unit), dtype and meaning in a sentence."""

    name: str
    dtype: PolarsDataType
    meaning: str


class TraceTable(msgspec.Struct, frozen=True, eq=False):
    """One table of the trace model."""

    name: str
    meaning: str
    columns: tuple[TableColumn, ...]

    @property
    def schema(self) -> dict[str, PolarsDataType]:
        return {column.name: column.dtype for column in self.columns}

    def empty(self) -> pl.DataFrame:
        return _empty(self).clone()


@cache  # every trace has many empty tables, and making one takes longer than reading a small file
def _empty(table: TraceTable) -> pl.DataFrame:
    return pl.DataFrame(schema=table.schema)


def _read() -> dict[str, TraceTable]:
    """The tables of `schema.csv`."""
    about: dict[str, str] = {}
    columns: dict[str, list[TableColumn]] = defaultdict(list)
    for row in csv_rows(Path(__file__).with_name("schema.csv"), like="column"):
        if not row["column"]:
            about[row["table"]] = row["meaning"]
            continue
        words = _WORDS.get(row["type"])
        dtype = pl.Enum(words) if words else getattr(pl, row["type"])()
        columns[row["table"]].append(TableColumn(row["column"], dtype, row["meaning"]))
    return {
        name: TraceTable(name, meaning, tuple(columns[name])) for name, meaning in about.items()
    }


TABLES = _read()
EMPTY_TABLES = {name: table.empty() for name, table in TABLES.items()}
"""What a trace holds of what its reader knows nothing of."""
HOST, DEVICE, MEMORY = TABLES["host"], TABLES["device"], TABLES["memory"]
COUNTERS, STEPS, BEHAVIOUR = TABLES["counters"], TABLES["steps"], TABLES["behaviour"]
KERNEL_CALLS, KERNEL_METRICS = TABLES["kernel_calls"], TABLES["kernel_metrics"]

_ON_HOST = regex(r"^(?P<host>.+)\((?P<pid>\d+)\)$")


def host_and_pid(process: str) -> tuple[str | None, str]:
    """The machine a recorded process such as `host(1234)` names, and its number there."""
    match = _ON_HOST.match(process)
    return (match["host"], match["pid"]) if match else (None, process)


NO_DEVICE = "N/A"
"""What stands for a device that a table does not name."""
