"""The ranks of a run written for viewers: an archive for Perfetto, or one JSON with arrows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import polars as pl

from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.ranks.reading import UnrelatedRunsError, read_ranks
from timesink.analyses.timeline.excerpt import excerpt
from timesink.errors import UsageError
from timesink.formats.chrome.merged import ArrowEnd, RankPart, write_merged_json
from timesink.formats.perfetto.archive import ArchiveMember, write_archive
from timesink.formats.read_options import Progress
from timesink.model.trace import Trace
from timesink.runtime.engine import Engine
from timesink.sources.cache import Cache
from timesink.sources.discovery import Input
from timesink.sources.opening import open_recording
from timesink.sources.recordings import Recording

_MAX_RANKS = 4096


class ExportChoice(msgspec.Struct, frozen=True):
    """What of a run is written."""

    ranks: str | None = None
    steps: str | None = None
    detail: str = "all"


class RankExport(msgspec.Struct, frozen=True):
    """What was written."""

    ranks: int
    events: int
    arrows: int
    aligned: int
    """Ranks whose clock is tied to that of the first by collectives."""


def ranks_named(text: str, ranks: Sequence[int]) -> list[int]:
    """The ranks that a list such as `0,3-5` names.

    >>> ranks_named("0,3-5", range(8))
    [0, 3, 4, 5]
    """
    named: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", part.strip())
        if match is None:
            raise UsageError(f"{text!r} names no ranks", "give numbers, such as --ranks 0,3-5")
        first, last = int(match[1]), int(match[2] or match[1])
        named |= set(range(first, min(last, first + _MAX_RANKS) + 1))
    chosen = [rank for rank in ranks if rank in named]
    if not chosen:
        there = f"{min(ranks)} to {max(ranks)}" if ranks else "none"
        raise UsageError(f"no rank fits --ranks {text}", f"the recordings hold ranks {there}")
    return chosen


def export_ranks(
    source: Input,
    output: Path,
    choice: ExportChoice,
    *,
    engine: Engine,
    cache: bool = True,
    progress: Progress | None = None,
) -> RankExport:
    """Write the ranks of a run, their clocks aligned by their collectives."""
    recordings, _ = source.run
    ranks = read_ranks(recordings, engine=engine, steps=None, cache=cache, progress=progress)
    if len(ranks.runs) > 1:
        raise UnrelatedRunsError(source.label, recordings, ranks)
    by_worker = {recording.worker: recording for recording in recordings}
    numbers = list(ranks.ranks)
    chosen = numbers if choice.ranks is None else ranks_named(choice.ranks, numbers)
    ahead = _clocks_ahead(ranks)
    tied = ranks.analysis.clocks.filter(pl.col("rank").is_in(chosen))["tied_to"]
    store = Cache.default() if cache else None

    def open_part(rank: int) -> Trace:
        trace = open_recording(by_worker[ranks.workers[rank]], store, jobs=1)
        return excerpt(trace, steps=choice.steps, detail=choice.detail)

    arrows: list[ArrowEnd] = []
    if output.name.lower().endswith(".zip"):
        members = [
            ArchiveMember(rank, _machine(rank, by_worker[ranks.workers[rank]]), ahead[rank])
            for rank in chosen
        ]
        events = write_archive(output, members, map(open_part, chosen))
    else:
        arrows = _arrows(ranks, chosen, open_part)
        parts = (RankPart(rank, open_part(rank), ahead[rank]) for rank in chosen)
        events = write_merged_json(output, parts, arrows)
    aligned = int((tied == tied[0]).sum()) if len(tied) else 0
    return RankExport(len(chosen), events, len({arrow.number for arrow in arrows}), aligned)


def _machine(rank: int, recording: Recording) -> str:
    return f"rank {rank}" if recording.host is None else f"rank {rank} on {recording.host}"


def _clocks_ahead(ranks: RankSet) -> dict[int, int]:
    """How far the clock of each rank is ahead of the common one, in ns, half-way."""
    clocks = ranks.analysis.clocks.select("rank", "offset_ns").fill_nan(0.0)
    ahead = {rank: round(offset) for rank, offset in clocks.iter_rows()}
    return {rank: ahead.get(rank, 0) for rank in ranks.ranks}


def _arrows(
    ranks: RankSet, chosen: Sequence[int], open_part: Callable[[int], Trace]
) -> list[ArrowEnd]:
    """The ends of arrows through equal collectives, from the first rank to come to the last."""
    calls = ranks.analysis.collectives.filter(pl.col("rank").is_in(chosen))
    calls = calls.filter(pl.len().over("match") > 1)
    clocks = _clocks_ahead(ranks)
    ahead = pl.col("rank").replace_strict(clocks, default=0, return_dtype=pl.Int64)
    rows = calls.select(
        "rank", "match", "collective", "start_ns", at=pl.col("start_ns") - ahead
    ).sort("match", "at", "rank")
    lanes = {
        rank: _lanes(open_part(rank), rows.filter(pl.col("rank") == rank)["start_ns"])
        for rank in chosen
    }
    ends: dict[int, list[tuple[int, str, int, tuple[str, str]]]] = {}
    for rank, match, collective, start_ns, _ in rows.iter_rows():
        lane = lanes[rank].get(start_ns)
        if lane is not None:
            ends.setdefault(match, []).append((rank, collective, start_ns, lane))
    arrows = []
    for match, members in ends.items():
        if len(members) < 2:
            continue
        for place, (rank, collective, start_ns, lane) in enumerate(members):
            phase = "s" if place == 0 else "f" if place == len(members) - 1 else "t"
            arrows.append(ArrowEnd(match, rank, f"{collective} #{match}", phase, *lane, start_ns))
    return arrows


def _lanes(trace: Trace, starts: pl.Series) -> dict[int, tuple[str, str]]:
    """Process and thread of the event that begins at each of the times; device work first."""
    lanes: dict[int, tuple[str, str]] = {}
    for name in ("host", "device"):
        rows = (
            trace.lazy(name)
            .filter(pl.col("ts_ns").is_in(starts.implode()))
            .sort("dur_ns")
            .select("ts_ns", pl.col("pid", "tid").cast(pl.String))
            .collect()
        )
        lanes |= {ts_ns: (pid or "", tid or "") for ts_ns, pid, tid in rows.iter_rows()}
    return lanes
