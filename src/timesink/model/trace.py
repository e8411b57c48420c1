"""A recorded run as a few Polars tables plus metadata, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from timesink.model.compiled_code import CompiledCode
from timesink.model.graph_facts import GraphFacts
from timesink.model.health import HealthEntry
from timesink.model.recorded_run import RecordedRun
from timesink.model.schema import TABLES

SNAPSHOT = "memory_snapshot"
"""The format of a memory snapshot; it may hold no block at all."""


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator listed by the trace."""

    id: int
    name: str
    memory_bytes: int | None = None
    compute_capability: str | None = None
    multiprocessors: int | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Distributed:
    """What the trace says about the job it was part of."""

    rank: int | None = None
    world_size: int | None = None
    backend: str | None = None
    groups: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Metadata:
    """Everything about a trace that is not an event."""

    source: str
    """File the trace was read from."""
    format: str
    """Which reader understood it: `kineto`, `chrome`, `nsys`, `rocprof`, `ncu`, ..."""
    vendor: str
    """Maker of the accelerator: `nvidia`, `amd`, `cambricon`, `ascend`, `intel`, `mtia`, `cpu`."""
    events: int
    """Events in the source, of every sort, lost ones not counted."""
    phases: Mapping[str, int] = field(default_factory=dict)
    """How many events of each phase (`X`, `s`, `M`, ...) the source holds."""
    clock: str = "unix"
    """What `ts_ns` counts from: `unix` (1970) or `monotonic` (an arbitrary start)."""
    clock_offset_ns: int = 0
    """What was added to the source's own timestamps to get `ts_ns`."""
    devices: tuple[Device, ...] = ()
    distributed: Distributed = Distributed()
    worker: str | None = None
    span: int | None = None
    framework: str | None = None
    schema_version: int | None = None
    """The source's own schema version."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of drivers, runtimes and profilers the source names."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Remaining top-level fields, as recorded."""
    run: RecordedRun | None = None
    """What the recorder says about the run, where it left `run.json` beside the trace."""
    graphs: GraphFacts | None = None
    """What captures beside the trace say; None where there are none."""
    compiled: CompiledCode | None = None
    """What is known of compiled code; None where nothing lies beside the trace."""


def why_no_calls(trace: Trace) -> str:
    """Why there are counters alone, where a recorder says it."""
    run = trace.metadata.run
    return "" if run is None else run.why_no_calls


def _table(name: str) -> cached_property[pl.DataFrame]:
    """A table as an attribute: loaded whole when it is first asked for."""

    def load(trace: Trace) -> pl.DataFrame:
        return trace.lazy(name).collect(engine="in-memory")

    return cached_property(load)


@dataclass(frozen=True, eq=False)
class Trace:
    """A recorded run: tables, metadata and health.

    Tables are reached as attributes (``trace.host``, ``trace.device``, ...) or, without
    loading more than a query needs, with :meth:`lazy`.  See ``docs/tables.md`` for the columns.
    """

    metadata: Metadata
    health: tuple[HealthEntry, ...] = ()
    frames: Mapping[str, pl.LazyFrame] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        unknown = set(self.frames) - set(TABLES)
        if unknown:
            msg = f"not tables of the model: {sorted(unknown)}"
            raise ValueError(msg)
        object.__setattr__(self, "frames", dict(self.frames))

    def lazy(self, table: str) -> pl.LazyFrame:
        """The table as a lazy frame; an absent table is an empty one."""
        frame = self.frames.get(table)
        return TABLES[table].empty().lazy() if frame is None else frame

    @property
    def has_timeline(self) -> bool:
        """Whether it says when anything happened; counters of single kernels do not."""
        placed = any(self.holds(name) for name in ("host", "device"))
        return placed or not any(self.holds(name) for name in ("kernel_calls", "behaviour"))

    @property
    def has_snapshot(self) -> bool:
        """Whether it knows single blocks of device memory, as a memory snapshot does."""
        is_snapshot = self.metadata.format == SNAPSHOT
        return is_snapshot or self.holds("memory_blocks") or self.holds("memory_segments")

    @property
    def has_only_memory(self) -> bool:
        """Whether there is a memory snapshot, and no call or device work beside it."""
        events = ("host", "device", "kernel_calls", "behaviour")
        return self.has_snapshot and not any(self.holds(name) for name in events)

    @property
    def has_behaviour(self) -> bool:
        """Whether it says what functions cost per cycle, as a behaviour table does."""
        return self.holds("behaviour")

    @property
    def has_only_counters(self) -> bool:
        """Whether there are samples of counters, and nothing they could belong to."""
        events = ("host", "device", "kernel_calls", "behaviour")
        facts = (*events, "memory_blocks", "collective_calls")
        return self.holds("counters") and not any(self.holds(name) for name in facts)

    @property
    def has_only_collectives(self) -> bool:
        """Whether there are logs of collectives, and no timeline beside them."""
        return self.holds("collective_calls") and not any(
            self.holds(name) for name in ("host", "device")
        )

    def holds(self, table: str) -> bool:
        """Whether a table has any row; of those without, nothing needs to be asked."""
        if table not in self.frames:
            return False
        rows = self._rows_held.get(table)
        if rows is None:
            rows = self.lazy(table).head(1).collect(engine="in-memory").height
            self._rows_held[table] = rows
        return rows > 0

    @cached_property
    def _rows_held(self) -> dict[str, int]:
        """Of tables that were asked about: 1 where there is a row, else 0."""
        return {}

    host = _table("host")
    device = _table("device")
    collectives = _table("collectives")
    memory = _table("memory")
    memory_blocks = _table("memory_blocks")
    memory_segments = _table("memory_segments")
    collective_calls = _table("collective_calls")
    counters = _table("counters")
    flows = _table("flows")
    event_args = _table("event_args")
    tracks = _table("tracks")
    steps = _table("steps")
    kernel_calls = _table("kernel_calls")
    kernel_metrics = _table("kernel_metrics")
    behaviour = _table("behaviour")
