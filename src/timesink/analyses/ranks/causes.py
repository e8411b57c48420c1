"""Why a rank is late: its own time beside that of the ranks that do the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.ranks.panel import Panel
from timesink.analyses.ranks.summary import RankSummary
from timesink.model.arrays import Flags, Floats, Ints
from timesink.model.findings import Evidence, Finding
from timesink.model.units import brief_ns, share

CAUSES = (
    "gpu_clock",
    "kernel_change",
    "uneven_work",
    "host_code",
    "synchronisation",
    "data_loading",
    "slow_link",
)
"""Everything that is ever named as the cause of a straggler."""

_LEAST_MORE_WAITS, _MANY_MORE_WAITS = 0.9, 4.0
"""Further calls per step that wait for the device."""
_MORE_WAITS, _MANY = 1.5, 1.2
"""How many times as many they are at least, few or many of them."""
_MORE_WORK = 0.1
"""Beyond this kernels are given more work, not by chance."""
_ALL_SLOWER = 0.5
"""Most kernels are slower by about as much as all of them: then it is the device."""


def late(rank: int, cause: str, *sentences: str, **more: Any) -> Finding:
    """Why a rank is late, and what speaks for it: sentences with numbers, beside its peers."""
    proofs = tuple(Evidence("worker", text) for text in sentences)
    return Finding(cause, " ".join(sentences), evidence=proofs, rank=rank, **more)


@dataclass(frozen=True, eq=False)
class Work:
    """What functions of all ranks did."""

    ranks: Mapping[int, RankSummary]

    @cached_property
    def steps(self) -> dict[int, int]:
        """Complete steps of each rank."""
        return {rank: int(each.steps["complete"].sum()) for rank, each in self.ranks.items()}

    def beside(self, rank: int, peers: list[int], place: str) -> pl.DataFrame:
        """Functions of a rank and, with the prefix `peer_`, medians of its peers; per step."""
        own = self.per_step(rank, place)
        others = pl.concat([self.per_step(peer, place) for peer in peers])
        many = len(peers)
        # Who lacks a function has none of it.
        half = pl.col("calls").len() * 2 > many
        medians = others.group_by("function").agg(
            pl.when(half).then(pl.col(name).median()).otherwise(0.0).alias(f"peer_{name}")
            for name in ("calls", "dur_ns", "work", "typical_ns")
        )
        return own.join(medians, on="function", how="full", coalesce=True).fill_null(0.0)

    def per_step(self, rank: int, place: str) -> pl.DataFrame:
        """Functions of a rank, what they did in a step."""
        steps = max(self.steps[rank], 1)
        per_step = (pl.col(name) / steps for name in ("calls", "dur_ns", "work"))
        table = self.ranks[rank].functions.filter(pl.col("place") == place)
        return table.select("function", *per_step, "typical_ns")


def why(panel: Panel, place: int, others_late: Flags, work: Work) -> Finding | None:
    """The cause that fits what a rank takes more than its peers; None where it takes no more."""
    peers = panel.peers(place, others_late)
    more = extra_time(panel, place, peers)
    rank = int(panel.ranks[place])
    others = panel.ranks[some(peers)].tolist()
    source = max(more, key=lambda each: more[each])
    if more[source] <= 0:
        return None
    if source == "kernels":
        return kernel_reason(rank, more[source], others, work)
    has_device = bool(np.nansum(panel.own["kernels"][place]) > 0)
    # How much more work the functions of a rank are given, as a part of what they take.
    split = _split(work.beside(rank, others, "kernel" if has_device else "host"))
    usual = float(split["peer_dur_ns"].sum())
    more_work = float((split["expected"] - split["peer_dur_ns"]).sum()) / usual if usual else 0.0
    if more_work > _MORE_WORK:
        # A larger batch takes longer to load and to copy, too.
        what = "Kernels" if has_device else "Operators"
        given = share(more_work, 1.0)
        text = f"{what} of rank {rank} are given {given} more work than those of its peers."
        return late(rank, "uneven_work", text)
    if source == "host":
        at_once = float(np.nanmean(panel.gap[place] - np.nanmedian(panel.gap[peers], axis=0)))
        return _host(rank, more[source], at_once, others, work, has_device=has_device)
    cause = {"loading": "data_loading", "copies": "slow_link"}[source]
    what = {"loading": "loads data", "copies": "copies"}[source]
    text = f"Rank {rank} {what} {brief_ns(more[source])} per step longer than its peers."
    return late(rank, cause, text)


def extra_time(panel: Panel, place: int, peers: Ints) -> dict[str, float]:
    """By source, what a rank takes more than its peers in the steps in which it is late."""
    held = panel.held[place] if panel.held[place].any() else panel.excess[place]
    late = held > 0.25 * held.max(initial=0.0)
    steps = late if late.any() else np.ones(len(panel.steps), dtype=np.bool_)

    def more(values: Floats) -> float:
        beyond = values[place] - np.nanmedian(values[peers], axis=0)
        return float(np.nanmean(beyond[steps]))

    return {source: more(values) for source, values in panel.own.items()}


def some(peers: Ints, most: int = 64) -> Ints:
    """Enough peers for a median."""
    return peers if len(peers) <= most else peers[:: -(-len(peers) // most)]


# -- on the device ---------------------------------------------------------------------------------


def _split(table: pl.DataFrame) -> pl.DataFrame:
    """Functions with what they would take, given their work, at the pace of the peers."""
    given = pl.when(pl.col("peer_work") > 0).then("work").otherwise("calls")
    usual = pl.when(pl.col("peer_work") > 0).then("peer_work").otherwise("peer_calls")
    return table.with_columns(amount=given / pl.when(usual > 0).then(usual)).with_columns(
        expected=pl.coalesce(pl.col("peer_dur_ns") * pl.col("amount"), "dur_ns")
    )


def kernel_reason(rank: int, more_ns: float, peers: list[int], work: Work) -> Finding:
    """Why kernels take longer: they have more to do, or do the same at a slower pace."""
    split = _split(work.beside(rank, peers, "kernel"))
    by_work = float((split["expected"] - split["peer_dur_ns"]).sum())
    by_pace = float((split["dur_ns"] - split["expected"]).sum())
    much = f"Kernels of rank {rank} take {brief_ns(more_ns)} per step longer than on its peers"
    if by_work >= by_pace:
        given = share(by_work, max(float(split["peer_dur_ns"].sum()), 1.0))
        return late(rank, "uneven_work", f"{much}: they are given {given} more work.")
    slower = split.filter(pl.col("expected") > 0)
    pace = (slower["dur_ns"] / slower["expected"]).to_numpy() - 1
    overall = by_pace / max(float(split["expected"].sum()), 1.0)
    weight = slower["expected"].to_numpy()
    alike = float(weight[pace > _ALL_SLOWER * overall].sum()) / max(float(weight.sum()), 1.0)
    text = f"{much}: over all steps, the same work takes {share(overall, 1.0)} longer"
    if alike > _ALL_SLOWER:
        part = share(alike, 1.0)
        return late(rank, "gpu_clock", f"{text}, in {part} of the kernel time.")
    worst = slower.sort(pl.col("dur_ns") - pl.col("expected"))["function"][-1]
    return late(rank, "kernel_change", f"{text}, most of it in {worst}.")


# -- on the host -----------------------------------------------------------------------------------


def _host(
    rank: int,
    more_ns: float,
    at_once_ns: float,
    others: list[int],
    work: Work,
    *,
    has_device: bool,
) -> Finding:
    more = f"{brief_ns(more_ns)} per step longer"
    much = f"The host of rank {rank} takes {more} than those of its peers"
    if has_device:
        much = f"The device of rank {rank} waits {more} for its host"
    waits = work.beside(rank, others, "waiting")
    calls, usual = float(waits["calls"].sum()), float(waits["peer_calls"].sum())
    few = max(_MORE_WAITS * usual, usual + _LEAST_MORE_WAITS)
    if calls > min(few, max(_MANY * usual, usual + _MANY_MORE_WAITS)):
        most = waits.sort(pl.col("calls") - pl.col("peer_calls"))["function"][-1]
        text = f"{much}, which waits {_times(calls)} for it ({most}); on peers {_times(usual)}."
        return late(rank, "synchronisation", text)
    if at_once_ns > _ALL_SLOWER * more_ns:
        where = _gap_place(work.ranks[rank])
        return late(rank, "host_code", f"{much}, {brief_ns(at_once_ns)} of it at once{where}.")
    return late(rank, "host_code", f"{much}, all over the step.")


def _times(number: float) -> str:
    return "once" if round(number) == 1 else f"{number:.0f} times"


def _gap_place(summary: RankSummary) -> str:
    named = summary.steps.filter("complete")["gap_in"].drop_nulls()
    if named.is_empty():
        return ""
    name = str(named.mode().sort()[0])
    return f", {name}" if name.startswith("after ") else f", in {name}"
