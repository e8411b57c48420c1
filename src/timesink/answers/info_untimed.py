"""What `timesink info` says of memory snapshots and of logs of collectives."""

from __future__ import annotations

from collections.abc import Mapping

from timesink.answers.info_report import TraceInfo
from timesink.model import units

UNTIMED_FACTS = ("memory_snapshot", "flight_recorder", "nccl_inspector")
"""Formats with facts of their own."""
_FORMATS = {
    "memory_snapshot": "PyTorch memory snapshot",
    "flight_recorder": "PyTorch flight recorder",
    "nccl_inspector": "NCCL Inspector",
}
_ACTIONS = {
    "alloc": "allocations",
    "free_requested": "frees",
    "segment_alloc": "segments taken",
    "segment_free": "segments given back",
    "oom": "failed allocations",
}


def untimed_headline(trace: TraceInfo) -> str:
    """What a file holds, in brief."""
    about = trace.metadata
    if about.format == "memory_snapshot":
        return f"memory snapshot with {units.count_noun(about.events, 'events')}"
    return f"log of {units.count_noun(about.events, 'collective calls')}"


def untimed_facts(trace: TraceInfo) -> list[tuple[str, str]]:
    """Label and value of everything worth saying about such a file."""
    about = trace.metadata
    extra = about.extra
    facts = [("format", _FORMATS[about.format])]
    if about.format == "memory_snapshot":
        counts = [
            units.count_noun(about.phases[action], words)
            for action, words in _ACTIONS.items()
            if about.phases.get(action)
        ]
        settings = extra.get("allocator_settings") or {}
        facts += [
            ("history", ", ".join(counts) or "none: record with _record_memory_history()"),
            ("settings", _settings(settings)),
            ("marked", _count(extra.get("annotations"), "ranges")),
            ("see", "timesink analyze, its tables with --view memory-stacks, memory-unfreed, ..."),
        ]
    else:
        ranks = extra.get("ranks") or (
            [] if about.distributed.rank is None else [about.distributed.rank]
        )
        facts += [
            ("ranks", units.join_names([str(rank) for rank in ranks])),
            ("world size", str(about.distributed.world_size or "")),
            ("calls", units.count(about.events)),
            ("versions", ", ".join(f"{key} {value}" for key, value in about.versions.items())),
            ("see", "timesink analyze, its tables with --view collective-log-ranks, ..."),
        ]
    return [(label, value) for label, value in facts if value]


def _settings(settings: Mapping[str, object]) -> str:
    text = ", ".join(
        f"{key}={value}" for key, value in settings.items() if value not in (False, 0, "")
    )
    return text[:300]


def _count(values: object, things: str) -> str:
    return units.count_noun(len(values), things) if isinstance(values, list) and values else ""
