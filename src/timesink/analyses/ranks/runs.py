"""Which recordings are ranks of one run, by what they hold, and which only lie together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.thresholds import RunsLimits


@dataclass(frozen=True, eq=False)
class RankIdentity:
    """What a recording says of the run it is of."""

    summary: RankSummary
    worker: str
    named_rank: int | None = None
    """The rank in the name of its file or folder."""
    job: str = ""
    """The run that a recorder says it is of; empty where none does."""
    pattern: str = ""
    """The name of its file without numbers."""
    is_named_by_profiler: bool = False
    written_ms: int | None = None
    """When the profiler wrote it, as its name tells."""

    @property
    def stated_rank(self) -> int | None:
        """The rank that the recording itself states."""
        about = self.summary.about
        is_stated = about.world_size is not None or self.named_rank is None
        return about.rank if is_stated else None

    @property
    def rank(self) -> int | None:
        """The rank it states, else the one of its name."""
        return self.named_rank if self.stated_rank is None else self.stated_rank

    @cached_property
    def window(self) -> tuple[int, int] | None:
        """When it was recorded, where its times are dates."""
        steps = self.summary.steps
        if steps.is_empty():
            return None
        start, end = int(steps["start_ns"].min()), int(steps["end_ns"].max())  # type: ignore[arg-type]
        return (start, end) if start > RunsLimits.earliest_date_ns else None

    @cached_property
    def calls(self) -> frozenset[tuple[object, ...]]:
        """Its collectives: what they do, among how many, and how much they move."""
        kinds = ("collective", "group_size", "size_bytes")
        collectives = self.summary.worker.records.select(kinds).unique().drop_nulls("collective")
        return frozenset(collectives.rows())

    @cached_property
    def work(self) -> Mapping[str, int]:
        """What its kernels take by name; its operators where it has no device."""
        functions = self.summary.functions
        on_device = functions.filter(pl.col("place") == "kernel")
        chosen = on_device if on_device.height else functions.filter(pl.col("place") == "host")
        return dict(chosen.select("function", "dur_ns").iter_rows())


def is_one_run(first: RankIdentity, second: RankIdentity) -> bool:
    """Whether two recordings are ranks of one run: something has to speak for it."""
    if first.job and second.job:
        return first.job == second.job
    worlds = {first.summary.about.world_size, second.summary.about.world_size} - {None}
    if len(worlds) > 1 or 1 in worlds or _gap_ns(first, second) > RunsLimits.max_apart_ns:
        return False
    stated = (first.stated_rank, second.stated_rank)
    if worlds and None not in stated:
        return stated[0] != stated[1]
    if first.calls and second.calls and _common(first.calls, second.calls) >= RunsLimits.same:
        return True
    is_same_work = _is_same_work(first.work, second.work)
    if None not in (first.rank, second.rank) and first.rank != second.rank:
        return is_same_work or _gap_ns(first, second) < 0
    return is_same_work and _is_together(first, second)


def _gap_ns(first: RankIdentity, second: RankIdentity) -> int:
    """How far apart two recordings are; negative where they overlap, zero where nobody knows."""
    if first.window is None or second.window is None:
        return 0
    return max(first.window[0] - second.window[1], second.window[0] - first.window[1])


def _common(first: frozenset[tuple[object, ...]], second: frozenset[tuple[object, ...]]) -> float:
    return len(first & second) / max(min(len(first), len(second)), 1)


def _is_same_work(first: Mapping[str, int], second: Mapping[str, int]) -> bool:
    """Whether most of what either does is done by the other as well."""
    shared = first.keys() & second.keys()
    return all(
        sum(work[name] for name in shared) >= RunsLimits.same * sum(work.values())
        for work in (first, second)
    )


def _is_together(first: RankIdentity, second: RankIdentity) -> bool:
    """Whether recordings without ranks were made at once, and have names of one kind."""
    of_profiler = first.is_named_by_profiler and second.is_named_by_profiler
    is_alike = bool(first.pattern) and first.pattern == second.pattern
    if first.window is not None and second.window is not None:
        return (of_profiler or is_alike) and _gap_ns(first, second) < 0
    if of_profiler and first.written_ms is not None and second.written_ms is not None:
        return abs(first.written_ms - second.written_ms) * 1_000_000 <= RunsLimits.max_apart_ns
    return of_profiler and is_alike


def recorded_runs(recordings: Sequence[RankIdentity]) -> tuple[tuple[str, ...], ...]:
    """The workers of each run among recordings, in their order; one entry where all are of one."""
    runs: list[list[RankIdentity]] = []
    for recording in recordings:
        matching_run = next((run for run in runs if is_one_run(run[0], recording)), None)
        if matching_run is None:
            runs.append([recording])
        else:
            matching_run.append(recording)
    return tuple(tuple(recording.worker for recording in run) for run in runs)
