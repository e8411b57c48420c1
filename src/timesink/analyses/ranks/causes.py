"""Why a rank is late: its own time beside that of the ranks that do the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.columns import stack_tables
from timesink.analyses.communication_calls import PAIRS
from timesink.analyses.ranks.collectives import complete_transfers, slow_groups
from timesink.analyses.ranks.lateness import Panel
from timesink.analyses.ranks.replay import WithoutRank
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.statistics.robust import scaled_mad
from timesink.analyses.thresholds import CausesLimits
from timesink.model.findings import Evidence, Straggler
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.units import brief_ns, factor, ranges_of, share
from timesink.model.units import more as more_than

CAUSES = (
    *("gpu_clock", "kernel_change", "uneven_work", "host_code"),
    *("synchronisation", "data_loading", "slow_link"),
)
"""Everything that is ever named as the cause of a straggler."""

_MIN_MORE_WAITS, _MANY_MORE_WAITS = 0.9, 4.0
"""Further calls per step that wait for the device."""
_MORE_WAITS, _MANY = 1.5, 1.2
"""How many times as many they are at least, few or many of them."""
_AMOUNTS = ("calls", "dur_ns", "work")


def late(rank: int, cause: str, *sentences: str, **more: Any) -> Straggler:
    """Why a rank is late, and what speaks for it: sentences with numbers, beside its peers."""
    proofs = tuple(Evidence("worker", text) for text in sentences)
    return Straggler(cause, " ".join(sentences), evidence=proofs, rank=rank, **more)


@dataclass(frozen=True, eq=False)
class RankWork:
    """What functions of all ranks did."""

    ranks: Mapping[int, RankSummary]

    @cached_property
    def steps(self) -> dict[int, int]:
        """Complete steps of each rank."""
        return {rank: int(summary.steps["complete"].sum()) for rank, summary in self.ranks.items()}

    def per_step(self, ranks: Sequence[int], place: str) -> pl.DataFrame:
        """Functions of some ranks at a place, what they did in a step."""
        steps = pl.DataFrame(
            {"rank": ranks, "steps": [max(self.steps[rank], 1) for rank in ranks]},
            schema={"rank": pl.Int64, "steps": pl.Int64},
        )
        return (
            stack_tables({rank: self.ranks[rank].functions for rank in ranks})
            .filter(pl.col("place") == place)
            .join(steps, on="rank", maintain_order="left")
            .select("rank", "function", "typical_ns", pl.col(_AMOUNTS) / pl.col("steps"))
        )

    def usual(self, ranks: Sequence[int], place: str) -> pl.DataFrame:
        """Medians of the functions of some ranks, with the prefix `peer_`; per step."""
        many = len(ranks)
        # Who lacks a function has none of it.
        half = pl.len() * 2 > many
        return (
            self.per_step(ranks, place)
            .group_by("function")
            .agg(
                pl.when(half).then(pl.col(name).median()).otherwise(0.0).alias(f"peer_{name}")
                for name in _AMOUNTS
            )
        )

    def beside(self, rank: int, peers: Sequence[int], place: str) -> pl.DataFrame:
        """Functions of a rank and what is usual for its peers, as `with_expected`."""
        mine, usual = self.per_step([rank], place), self.usual(peers, place)
        both = mine.drop("rank").join(usual, on="function", how="full", coalesce=True)
        return with_expected(both.fill_null(0.0))


def with_expected(table: pl.DataFrame) -> pl.DataFrame:
    """Functions with what they would take, given their work, at the pace of the peers."""
    amount = pl.when(pl.col("peer_work") > 0).then("work").otherwise("calls")
    usual = pl.when(pl.col("peer_work") > 0).then("peer_work").otherwise("peer_calls")
    expected = pl.col("peer_dur_ns") * (amount / pl.when(usual > 0).then(usual))
    return table.with_columns(expected=pl.coalesce(expected, "dur_ns"))


def why(panel: Panel, place: int, others_late: Flags, work: RankWork) -> Straggler | None:
    """The cause that fits what a rank takes more than its peers; None where it takes no more."""
    peers = panel.peers(place, others_late)
    times = source_times(panel, place, peers)
    more = {source: taken - usual for source, (taken, usual) in times.items()}
    rank = int(panel.ranks[place])
    peer_ranks = panel.ranks[some(peers)].tolist()
    source = max(more, key=lambda name: more[name])
    if more[source] <= 0:
        return None
    taken = times[source]
    if source == "kernels":
        return kernel_reason(rank, *taken, peer_ranks, work)
    has_device = bool(np.nansum(panel.time_by_source["kernels"][place]) > 0)
    # How much more work the functions of a rank are given, as a part of what they take.
    split = work.beside(rank, peer_ranks, "kernel" if has_device else "host")
    usual = float(split["peer_dur_ns"].sum())
    more_work = float((split["expected"] - split["peer_dur_ns"]).sum())
    if usual and more_work > CausesLimits.more_work * usual:
        # A larger batch takes longer to load and to copy, too.
        what = "Kernels" if has_device else "Operators"
        amount_text = more_than(usual, usual + more_work, "work", "those of its peers")
        text = f"{what} of rank {rank} do {amount_text}."
        return late(rank, "uneven_work", text)
    if source == "host":
        at_once = float(np.nanmean(panel.gap[place] - np.nanmedian(panel.gap[peers], axis=0)))
        return _host_reason(rank, taken, at_once, peer_ranks, work, has_device=has_device)
    cause = {"loading": "data_loading", "copies": "slow_link"}[source]
    what = {"loading": "loads data", "copies": "copies"}[source]
    return late(rank, cause, f"Rank {rank} {what} {' '.join(longer(*taken))} its peers.")


def source_times(panel: Panel, place: int, peers: Ints) -> dict[str, tuple[float, float]]:
    """By source, what a rank and its peers take in steps in which it is late; in ns per step."""
    delay = panel.delay[place] if panel.delay[place].any() else panel.excess[place]
    late = delay > 0.25 * delay.max(initial=0.0)
    steps = late if late.any() else np.ones(len(panel.steps), dtype=np.bool_)

    def mean(values: Floats) -> float:
        return float(np.nanmean(values[steps]))

    return {
        source: (mean(values[place]), mean(np.nanmedian(values[peers], axis=0)))
        for source, values in panel.time_by_source.items()
    }


def longer(taken_ns: float, usual_ns: float) -> tuple[str, str]:
    """How much longer something takes than elsewhere, and the word before where that is.

    Without a time: what a late rank costs the run is the one figure of it.

    >>> longer(30.0, 10.0), longer(12.0, 10.0)
    (('3.0 times as long', 'as'), ('20.0 % longer', 'than'))
    """
    if taken_ns > CausesLimits.far * usual_ns:
        return "far longer", "than"
    if taken_ns >= CausesLimits.factor_from * usual_ns:
        return f"{factor(taken_ns / usual_ns)} times as long", "as"
    return f"{share(taken_ns - usual_ns, usual_ns)} longer", "than"


def some(peers: Ints, most: int = 64) -> Ints:
    """Enough peers for a median."""
    return peers if len(peers) <= most else peers[:: -(-len(peers) // most)]


def kernel_reason(
    rank: int, taken_ns: float, usual_ns: float, peers: list[int], work: RankWork
) -> Straggler:
    """Why kernels take longer: they have more to do, or do the same at a slower pace."""
    split = work.beside(rank, peers, "kernel")
    by_work = float((split["expected"] - split["peer_dur_ns"]).sum())
    by_pace = float((split["dur_ns"] - split["expected"]).sum())
    much = f"Kernels of rank {rank} take {' '.join(longer(taken_ns, usual_ns))} on its peers"
    if by_work >= by_pace:
        usual = float(split["peer_dur_ns"].sum())
        amount_text = more_than(usual, usual + by_work, "work")
        return late(rank, "uneven_work", f"{much}: they do {amount_text}.")
    slower = split.filter(pl.col("expected") > 0)
    pace = (slower["dur_ns"] / slower["expected"]).to_numpy() - 1
    expected = max(float(split["expected"].sum()), 1.0)
    overall = by_pace / expected
    weight = slower["expected"].to_numpy()
    slower_share = float(weight[pace > CausesLimits.all_slower * overall].sum()) / max(
        float(weight.sum()), 1.0
    )
    slowed = more_than(expected, expected + by_pace, "", time=True)
    text = f"{much}: the same work takes {slowed}"
    if slower_share > CausesLimits.all_slower:
        part = share(slower_share, 1.0)
        return late(rank, "gpu_clock", f"{text}, in {part} of the kernel time.")
    worst = slower.sort(pl.col("dur_ns") - pl.col("expected"))["function"][-1]
    return late(rank, "kernel_change", f"{text}, most of it in {worst}.")


def _host_reason(
    rank: int, taken: tuple[float, float], at_once_ns: float, peer_ranks: list[int],
    work: RankWork, *,
    has_device: bool,
) -> Straggler:  # fmt: skip
    (degree, than), more_ns = longer(*taken), taken[0] - taken[1]
    much = f"The host of rank {rank} takes {degree} {than} those of its peers"
    if has_device:
        much = f"The device of rank {rank} waits {degree} for kernel launches {than} on its peers"
    waits = work.beside(rank, peer_ranks, "waiting")
    calls, usual = float(waits["calls"].sum()), float(waits["peer_calls"].sum())
    few = max(_MORE_WAITS * usual, usual + _MIN_MORE_WAITS)
    if calls > min(few, max(_MANY * usual, usual + _MANY_MORE_WAITS)):
        most = waits.sort(pl.col("calls") - pl.col("peer_calls"))["function"][-1]
        text = (
            f"{much}. Its host waits for the device {_times(calls)} per step ({most}), on peers "
            f"{_times(usual)}."
        )
        return late(rank, "synchronisation", text)
    if at_once_ns > CausesLimits.all_slower * more_ns:
        named = work.ranks[rank].steps.filter("complete")["gap_in"].drop_nulls().mode().sort()
        name = str(named[0]) if len(named) else ""
        where = f" {name}" if name.startswith("after ") else f" in {name}" if name else ""
        part = share(min(at_once_ns, more_ns), more_ns)
        text = f"{much}. {part} of the difference is one stretch{where}."
        return late(rank, "host_code", text)
    return late(rank, "host_code", f"{much}, spread over the step.")


def _times(number: float) -> str:
    return "once" if round(number) == 1 else f"{number:.0f} times"


# Ranks behind a slow link: every collective they take part in takes longer to move its data.

_NEARLY, _FAINT = 0.95, 1e-3


def slow_links(
    panel: Panel, work: RankWork, calls: pl.DataFrame, what_if: WithoutRank
) -> Iterator[Straggler]:
    """The rank that all slow transfers have in common, and what these cost.

    Groups are compared with groups that move the same.  Of a single group nobody knows how fast it
    could be, nor which of its ranks slows it down, unless copies of one of them are slow too.
    """
    complete = complete_transfers(calls)
    if complete.is_empty():
        return
    # With the `usual` time of other groups, for those that take longer; else null.
    slow = slow_groups(complete).select("kind", "among", usual="usual_ns")
    transfers = complete.join(slow, on=["kind", "among"], how="left")
    more = (pl.col("transfer_ns") - pl.col("usual")).clip(lower_bound=0)
    lost = _by_rank(transfers.group_by("rank").agg(more.sum()), panel)
    copies = _copies_slower(panel, work)
    with_slow_copies = _outlier(copies)
    suspect = with_slow_copies
    # Peers share some groups with the culprit; only the culprit is in all that are slow.
    in_all = lost >= _NEARLY * lost.max()
    if lost.any():
        suspect = int(np.argmax(np.where(in_all, copies, 0.0) + _FAINT * lost / lost.max()))
    if suspect is None:
        return
    rank, slower = int(panel.ranks[suspect]), float(copies[suspect])
    pace = slower if with_slow_copies == suspect else 1.0
    mine = transfers.filter(pl.col("rank") == rank).with_columns(
        usual=pl.coalesce("usual", pl.col("transfer_ns") / pace)
    )
    if what_if.score is not None:
        cost = what_if.score.cost_of_transfers(mine["match"], mine["usual"])
    else:
        # How much of its communication a rank has nothing else to do in.
        totals = work.ranks[rank].steps.select("blocked_ns", "communication_ns").sum()
        exposed, all_of_it = totals.row(0)
        cost = float(mine.select(more.sum()).item()) * (exposed / all_of_it if all_of_it else 1.0)
    if cost < CausesLimits.min_share * panel.run_ns:
        return
    sentence = (
        f"Copies of rank {rank} take {slower:.1f} times as long as those of its peers. Which part "
        "of its collectives that costs is unknown: there is no group to compare with."
    )
    notes: tuple[str, ...] = ()
    if lost.any():
        longer = brief_ns(float(lost[suspect]) / len(panel.steps))
        sentence = (
            f"Collectives with rank {rank} take {longer} per step longer to transfer their data "
            "than other groups of the same size."
        )
        if in_all.sum() > 1 and with_slow_copies != suspect:
            rank_text = ranges_of(panel.ranks[in_all])
            notes = (
                (
                    f"Ranks {rank_text} are in the same slow groups: any of their links may be "
                    "the cause."
                ),
            )
    yield late(rank, "slow_link", sentence, *notes, cost_ns=cost)


def _outlier(copies: Floats) -> int | None:
    """The place of the rank whose copies are slower than those of others, beyond chance."""
    suspect = int(np.argmax(copies))
    spread = scaled_mad(copies, float(np.median(copies)))
    enough = 1 + max(CausesLimits.min_slower_copies, CausesLimits.outlying * spread)
    return suspect if copies[suspect] >= enough else None


def _copies_slower(panel: Panel, work: RankWork) -> Floats:
    """How many times as long copies of each rank take, of as many bytes as those of others."""
    pace = work.per_step(panel.ranks.tolist(), "copy").with_columns(
        ratio=pl.col("typical_ns") / pl.col("typical_ns").median().over("function"),
        weight=pl.col("dur_ns").median().over("function"),
    )
    weighted = (pl.col("ratio") * pl.col("weight")).sum() / pl.col("weight").sum()
    ratio = _by_rank(pace.group_by("rank").agg(weighted), panel)
    return np.where(ratio > 0, ratio, 1.0)


def _by_rank(table: pl.DataFrame, panel: Panel) -> Floats:
    """The numbers of a table with a rank and one number, in the order of the panel; 0 for none."""
    value_of = dict(table.iter_rows())
    return np.array([float(value_of.get(int(rank)) or 0.0) for rank in panel.ranks])


# Stages of a pipeline that have more to do than the others: all of their ranks are late.


def slow_stages(panel: Panel, work: RankWork, what_if: WithoutRank) -> Iterator[Straggler]:
    """The stage whose kernels take longest, where that is far longer than in the others."""
    stages = [panel.roles == number for number in np.unique(panel.roles)]
    done = work.ranks[int(panel.ranks[0])].collectives["collective"].drop_nulls().unique()
    if len(stages) < 2 or set(PAIRS).isdisjoint(done.to_list()):
        return
    usual_of_rank = np.nanmedian(panel.time_by_source["kernels"], axis=1)
    # Some slow ranks do not make a slow stage: it is one if nearly all of it are.
    busy = np.array(
        [float(np.nanquantile(usual_of_rank[stage], CausesLimits.nearly_all)) for stage in stages]
    )
    worst = int(np.argmax(busy))
    usual = float(np.median(np.delete(busy, worst)))
    more = busy[worst] - usual
    if usual <= 0 or more < CausesLimits.min_more * usual:
        return
    members = np.flatnonzero(stages[worst])
    first = members[int(np.argmax(panel.delay[members].sum(axis=1)))]
    text = (
        f"Kernels of the pipeline stage with ranks {ranges_of(panel.ranks[members])} take "
        f"{brief_ns(busy[worst])} per step, those of the other stages {brief_ns(usual)}."
    )
    cost = min(more, panel.step_ns) * len(panel.steps)
    if what_if.score is not None:
        # What its ranks do more, as a part of all that they do by themselves.
        self_times = sum(np.nan_to_num(values[members]) for values in panel.time_by_source.values())
        part = min(more / max(float(np.median(self_times)), more, 1.0), 1.0)
        cost = what_if.score.cost_of_share(panel.ranks[members], part)
    # A whole stage may also be on slow devices.
    peer_ranks = panel.ranks[some(np.flatnonzero(~stages[worst]))].tolist()
    cause = kernel_reason(int(panel.ranks[first]), busy[worst], usual, peer_ranks, work).id
    yield late(int(panel.ranks[first]), cause, text, cost_ns=cost)
