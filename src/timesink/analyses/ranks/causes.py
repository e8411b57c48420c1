"""Why a rank is late: its own time beside that of the ranks that do the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.arrays import stacked
from timesink.analyses.ranks.lateness import Panel
from timesink.analyses.ranks.matching import PAIRS, complete_transfers, slow_groups
from timesink.analyses.ranks.own_time import ranges_of
from timesink.analyses.ranks.replay import WhatIf
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.statistics.means import NORMAL
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
class RankWork:
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


def why(panel: Panel, place: int, others_late: Flags, work: RankWork) -> Finding | None:
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


def kernel_reason(rank: int, more_ns: float, peers: list[int], work: RankWork) -> Finding:
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
    work: RankWork,
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
        named = work.ranks[rank].steps.filter("complete")["gap_in"].drop_nulls()
        if named.is_empty():
            where = ""
        else:
            name = str(named.mode().sort()[0])
            where = f", {name}" if name.startswith("after ") else f", in {name}"
        return late(rank, "host_code", f"{much}, {brief_ns(at_once_ns)} of it at once{where}.")
    return late(rank, "host_code", f"{much}, all over the step.")


def _times(number: float) -> str:
    return "once" if round(number) == 1 else f"{number:.0f} times"


# Ranks behind a slow link: every collective they take part in takes longer to move its data.

_LEAST_SHARE = 0.015
_OUTLYING = 8.0
_LEAST_SLOWER_COPIES = 0.2
_NEARLY, _FAINT = 0.95, 1e-3
_LOST = (pl.col("transfer_ns") - pl.col("usual")).clip(lower_bound=0)


def slow_links(
    ranks: Mapping[int, RankSummary], panel: Panel, calls: pl.DataFrame, what_if: WhatIf
) -> Iterator[Finding]:
    """The rank that all slow transfers have in common, and what these cost.

    Groups are compared with groups that move the same.  Of a single group nobody knows how fast it
    could be, nor which of its ranks slows it down, unless copies of one of them are slow too.
    """
    transfers = _with_usual(complete_transfers(calls))
    if transfers.is_empty():
        return
    copies = _copies_slower(ranks, panel)
    lost = _by_rank(transfers.group_by("rank").agg(_LOST.sum().alias("lost")), "lost", panel)
    suspect = _in_all_slow(lost, copies) if lost.any() else _with_slow_copies(copies)
    if suspect is None:
        return
    rank, slower = int(panel.ranks[suspect]), float(copies[suspect])
    pace = slower if _with_slow_copies(copies) == suspect else 1.0
    mine = transfers.filter(pl.col("rank") == rank).with_columns(
        usual=pl.coalesce("usual", pl.col("transfer_ns") / pace)
    )
    cost = _cost(ranks[rank], mine, what_if)
    if cost < _LEAST_SHARE * panel.run_ns:
        return
    evidence = [
        (
            f"Copies of rank {rank} take {slower:.1f} times as long as those of its peers; what "
            "its collectives could do without that, no other group tells."
        )
    ]
    if lost.any():
        longer = brief_ns(float(lost[suspect]) / len(panel.steps))
        evidence = [
            (
                f"Collectives with rank {rank} take {longer} per step longer to move their data "
                "than those of other groups of the same size."
            )
        ]
        alike = panel.ranks[_in_slow_groups(lost)].tolist()
        if len(alike) > 1 and _with_slow_copies(copies) != suspect:
            evidence.append(
                f"Ranks {ranges_of(alike)} are in the same slow groups: it may be the link of any "
                "of them."
            )
    yield late(rank, "slow_link", *evidence, cost_ns=cost)


def _in_all_slow(lost: Floats, copies: Floats) -> int:
    """Peers share some groups with the culprit; only the culprit is in all that are slow."""
    most = _in_slow_groups(lost)
    return int(np.argmax(np.where(most, copies, 0.0) + _FAINT * lost / lost.max()))


def _in_slow_groups(lost: Floats) -> Flags:
    return np.asarray(lost >= _NEARLY * lost.max())


def _with_slow_copies(copies: Floats) -> int | None:
    suspect = int(np.argmax(copies))
    spread = NORMAL * float(np.median(np.abs(copies - np.median(copies))))
    enough = 1 + max(_LEAST_SLOWER_COPIES, _OUTLYING * spread)
    return suspect if copies[suspect] >= enough else None


def _cost(summary: RankSummary, slow: pl.DataFrame, what_if: WhatIf) -> float:
    """What the run lost with collectives that take longer than usual."""
    if what_if.score is not None:
        return what_if.score.cost_of_transfers(slow["match"], slow["usual"])
    lost = slow.select((pl.col("transfer_ns") - pl.col("usual")).clip(0).sum()).item()
    # How much of its communication a rank has nothing else to do in.
    totals = summary.steps.select("exposed_communication_ns", "communication_ns").sum().row(0)
    return float(lost) * (float(totals[0] / totals[1]) if totals[1] else 1.0)


def _with_usual(transfers: pl.DataFrame) -> pl.DataFrame:
    """Transfers with the `usual` time of other groups, for those that take longer; else null."""
    slow = slow_groups(transfers).select("kind", "among", usual="usual_ns")
    return transfers.join(slow, on=["kind", "among"], how="left")


def _copies_slower(ranks: Mapping[int, RankSummary], panel: Panel) -> Floats:
    """How many times as long copies of each rank take, of as many bytes as those of others."""
    steps = pl.col("rank").replace_strict(RankWork(ranks).steps, return_dtype=pl.Int64)
    functions = {int(rank): ranks[int(rank)].functions for rank in panel.ranks}
    tables = (
        stacked(functions)
        .filter(pl.col("place") == "copy")
        .with_columns(pl.col("dur_ns") / pl.max_horizontal(steps, 1))
    )
    pace = tables.filter(pl.col("work") >= 0).with_columns(
        ratio=pl.col("typical_ns") / pl.col("typical_ns").median().over("function"),
        weight=pl.col("dur_ns").median().over("function"),
    )
    found = pace.group_by("rank").agg(
        ratio=(pl.col("ratio") * pl.col("weight")).sum() / pl.col("weight").sum()
    )
    ratio = _by_rank(found, "ratio", panel)
    return np.where(ratio > 0, ratio, 1.0)


def _by_rank(table: pl.DataFrame, column: str, panel: Panel) -> Floats:
    known = dict(table.select("rank", column).iter_rows())
    return np.array([float(known.get(int(rank)) or 0.0) for rank in panel.ranks])


# Stages of a pipeline that have more to do than the others: all of their ranks are late.

_LEAST_MORE = 0.1
"""A stage may do so much more than the others before it is worth a word."""

_NEARLY_ALL = 0.2
"""The rank of a stage, by what its kernels take, that stands for it."""


def slow_stages(panel: Panel, work: RankWork, what_if: WhatIf) -> Iterator[Finding]:
    """The stage whose kernels take longest, where that is far longer than in the others."""
    stages = [panel.alike == number for number in np.unique(panel.alike)]
    if len(stages) < 2 or not _is_pipeline(panel, work):
        return
    usual_of_rank = np.nanmedian(panel.own["kernels"], axis=1)
    # Some slow ranks do not make a slow stage: it is one if nearly all of it are.
    busy = np.array([float(np.nanquantile(usual_of_rank[each], _NEARLY_ALL)) for each in stages])
    worst = int(np.argmax(busy))
    usual = float(np.median(np.delete(busy, worst)))
    more = busy[worst] - usual
    if usual <= 0 or more < _LEAST_MORE * usual:
        return
    members = np.flatnonzero(stages[worst])
    first = members[int(np.argmax(panel.held[members].sum(axis=1)))]
    text = (
        f"Kernels of the pipeline stage with ranks {ranges_of(panel.ranks[members])} take "
        f"{brief_ns(busy[worst])} per step, those of other stages {brief_ns(usual)}."
    )
    cost = min(more, panel.step_ns) * len(panel.steps)
    if what_if.score is not None:
        cost = what_if.score.cost_of_share(panel.ranks[members], _share(panel, members, more))
    # A whole stage may also be on slow devices.
    others = panel.ranks[some(np.flatnonzero(~stages[worst]))].tolist()
    cause = kernel_reason(int(panel.ranks[first]), more, others, work).cause
    yield late(int(panel.ranks[first]), cause, text, cost_ns=cost)


def _share(panel: Panel, members: Ints, more_ns: float) -> float:
    """What ranks do more, as a part of all that they do by themselves."""
    own = sum(np.nan_to_num(values[members]) for values in panel.own.values())
    return min(more_ns / max(float(np.median(own)), more_ns, 1.0), 1.0)


def _is_pipeline(panel: Panel, work: RankWork) -> bool:
    some = work.ranks[int(panel.ranks[0])].collectives["collective"]
    return not set(PAIRS).isdisjoint(some.drop_nulls().unique().to_list())
