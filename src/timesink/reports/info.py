"""`timesink info`: what is in a recording or in a folder of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from timesink.analyses.sampled_counters import sampled_counters, sampled_span_ns
from timesink.analyses.summary import Summary, summarise
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.trace import Metadata, Trace
from timesink.store.many import Opened

SCHEMA = "timesink/info/1"
_COUNTS = (
    "events",
    "operators",
    "annotations",
    "python_calls",
    "runtime_calls",
    "driver_calls",
    "kernels",
    "kernel_calls",
    "memcpys",
    "memsets",
    "collectives",
    "memory_events",
    "counters",
    "flows",
    "steps",
    "behaviour_rows",
    "cycles",
)


@dataclass(frozen=True, slots=True)
class TraceInfo:
    """One trace: what it says about itself and what was counted."""

    metadata: Metadata
    summary: Summary
    health: tuple[HealthEntry, ...]
    sampled: tuple[dict[str, Any], ...] = ()
    """Rows of `analyses.sampled_counters`."""
    sampled_span_ns: int = 0
    has_only_counters: bool = False

    @property
    def rank(self) -> int:
        """The rank, 0 when the trace does not say (health tells)."""
        return self.metadata.distributed.rank or 0

    def to_dict(self) -> dict[str, Any]:
        metadata, summary = self.metadata, self.summary
        counts = {name: getattr(summary, name) for name in _COUNTS}
        return {
            "source": metadata.source,
            "format": metadata.format,
            "worker": metadata.worker,
            "span": metadata.span,
            "rank": self.rank,
            "world_size": metadata.distributed.world_size,
            "backend": metadata.distributed.backend,
            "framework": metadata.framework,
            "versions": dict(metadata.versions),
            "clock": metadata.clock,
            **counts,
            "vendor": metadata.vendor,
            "devices": _devices(metadata, summary),
            "ranks": [self.rank],
            "start_ns": summary.span.start_ns,
            "span_us": summary.span.length_ns / 1000,
            "device_span_us": summary.device_span.length_ns / 1000,
            "device_busy_us": summary.device_busy_ns / 1000,
            "sampled": list(self.sampled),
            "recording": None if metadata.run is None else asdict(metadata.run),
            "health": [entry.to_dict() for entry in self.health],
        }


@dataclass(frozen=True, slots=True)
class Info:
    """Everything found at a path."""

    path: str
    traces: tuple[TraceInfo, ...]
    health: tuple[HealthEntry, ...] = ()
    """What concerns the folder as a whole: files that cannot be read, ranks that are missing."""

    def to_dict(self) -> dict[str, Any]:
        """One flat description; for a folder, totals over its traces and each trace by itself."""
        parts = [trace.to_dict() for trace in self.traces]
        whole = dict(parts[0]) if len(parts) == 1 else _totals(parts, self.traces)
        whole["health"] = [entry.to_dict() for entry in self.all_health]
        return {"schema": SCHEMA, "path": self.path, **whole, "traces": parts}

    @property
    def all_health(self) -> tuple[HealthEntry, ...]:
        return merge_entries([*self.health, *_told_once(self.traces)])


def _told_once(traces: Sequence[TraceInfo]) -> Iterator[HealthEntry]:
    """Health of all traces; what is said of a run counts once, however many ranks it has."""
    told: set[tuple[Path, HealthEntry]] = set()
    for trace in traces:
        folder = Path(trace.metadata.source).parent
        for entry in trace.health:
            if not entry.is_told or (folder, entry) not in told:
                yield entry
            told.add((folder, entry))


def describe_trace(trace: Trace) -> TraceInfo:
    """What one trace holds."""
    return TraceInfo(
        trace.metadata,
        summarise(trace),
        trace.health,
        tuple(sampled_counters(trace).to_dicts()),
        sampled_span_ns(trace),
        trace.has_only_counters,
    )


def describe_folder(path: str, opened: Iterable[Opened]) -> Info:
    """What the traces of a folder hold; raises the first error when none can be read."""
    traces: list[TraceInfo] = []
    failures: list[Opened] = []
    for one in opened:
        if one.trace is None:
            failures.append(one)
        else:
            traces.append(describe_trace(one.trace))
    if not traces and failures and failures[0].error is not None:
        raise failures[0].error
    unreadable = [HealthEntry("unreadable_file", 1, str(failure.error)) for failure in failures]
    return Info(path, tuple(traces), merge_entries([*unreadable, *_missing_ranks(traces)]))


def _missing_ranks(traces: Sequence[TraceInfo]) -> list[HealthEntry]:
    """Ranks a job had but its folder lacks; a lone trace is no set of ranks."""
    jobs: defaultdict[Path, list[TraceInfo]] = defaultdict(list)
    for trace in traces:
        jobs[Path(trace.metadata.source).parent].append(trace)
    missing: list[int] = []
    for job in jobs.values():
        sizes = {trace.metadata.distributed.world_size for trace in job}
        present = {
            t.metadata.distributed.rank for t in job if t.metadata.distributed.rank is not None
        }
        if len(sizes) == 1 and len(present) > 1:
            # Without a world size, the ranks in the names still show a gap.
            size = sizes.pop() or max(present) + 1
            missing += sorted(set(range(size)) - present)
    return [HealthEntry("missing_rank", len(missing), ", ".join(map(str, missing[:16])))]


def _devices(metadata: Metadata, summary: Summary) -> list[dict[str, Any]]:
    return [
        {
            "id": device.id,
            "name": device.name,
            "memory_bytes": device.memory_bytes,
            "compute_capability": device.compute_capability,
            "multiprocessors": device.multiprocessors,
            "used": device.id in summary.devices_used,
        }
        for device in metadata.devices
    ]


def _totals(parts: Sequence[dict[str, Any]], traces: Sequence[TraceInfo]) -> dict[str, Any]:
    spans = [trace.summary.span for trace in traces if trace.summary.span.end_ns]
    start_ns = min((span.start_ns for span in spans), default=0)
    end_ns = max((span.end_ns for span in spans), default=0)
    vendors = sorted({part["vendor"] for part in parts})
    devices: dict[tuple[int, str], dict[str, Any]] = {}
    for device in (device for part in parts for device in part["devices"]):
        known = devices.setdefault((device["id"], device["name"]), dict(device))
        known["used"] = known["used"] or device["used"]
    return {
        **{name: sum(part[name] for part in parts) for name in _COUNTS},
        "vendor": vendors[0] if len(vendors) == 1 else ", ".join(vendors),
        "devices": list(devices.values()),
        "ranks": sorted({part["rank"] for part in parts}),
        "world_size": max((part["world_size"] or 0 for part in parts), default=0) or None,
        "start_ns": start_ns,
        "span_us": (end_ns - start_ns) / 1000,
        "device_span_us": sum(part["device_span_us"] for part in parts),
        "device_busy_us": sum(part["device_busy_us"] for part in parts),
    }
