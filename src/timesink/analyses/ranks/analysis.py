"""Ranks that make the others wait: what they cost the run, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace

from timesink.analyses.columns import dense_codes, stack_tables
from timesink.analyses.communication_calls import PAIRS
from timesink.analyses.ranks.causes import RankWork, slow_links, slow_stages, why
from timesink.analyses.ranks.clocks import align_clocks, with_common_steps
from timesink.analyses.ranks.collectives import (
    PROCESS_GROUP_SCHEMA,
    collective_table,
    keyed_groups,
    matched_collectives,
    with_blame,
    with_excess,
    with_waits,
)
from timesink.analyses.ranks.fitness import (
    clock_reason,
    late_start_reason,
    late_starts,
    steps_without_late_starts,
    without_late_starts,
)
from timesink.analyses.ranks.lateness import Panel, late_ranks, late_steps, least_share, panel_of
from timesink.analyses.ranks.replay import WithoutRank
from timesink.analyses.ranks.summary import RankSummary
from timesink.model.arrays import combine_codes, new_coverage, run_starts
from timesink.model.findings import Straggler
from timesink.model.fitness import Reason
from timesink.model.intervals import Floats, Ints

_MIN_TO_STAND_OUT, _CLEARLY_MORE = 4, 0.1
"""Among how many ranks one may stand out, and by which part of the next one's computation."""
_MAX_PLAYED, _MAX_CALLS_PLAYED = 16, 300_000
"""Of ranks that are late, one by one, and of calls in all of these runs."""


def find_stragglers(
    ranks: Mapping[int, RankSummary], panel: Panel, calls: pl.DataFrame, clocks: pl.DataFrame
) -> tuple[Straggler, ...]:
    """Ranks that cost the run more than noise does, the most costly first; none in most runs.

    `calls` are matched and blamed collectives, `panel` the same laid out.
    """
    if len(panel.ranks) < 2 or not panel.steps:
        return ()
    what_if = WithoutRank(calls, clocks)
    late = late_ranks(panel, what_if)
    work = RankWork(ranks)
    places: Ints = np.flatnonzero(late)
    findings = []
    for place, cost in zip(places.tolist(), _costs(panel, places, what_if).tolist(), strict=True):
        reason = why(panel, place, late, work)
        if reason is not None:
            delay, excess = panel.delay[place], panel.excess[place]
            # Of ranks that are late together one comes last, and who that is in a step is chance.
            by_itself = len(places) == 1 and delay.any()
            steps = late_steps(delay if by_itself else np.maximum(delay, excess), panel.step_ns)
            names = tuple(compress(panel.steps, steps))
            findings.append(replace(reason, cost_ns=cost, steps=names))
    of_many = (*slow_stages(panel, work, what_if), *slow_links(panel, work, calls, what_if))
    findings += [replace(finding, steps=panel.steps) for finding in of_many]
    least = least_share(len(panel.ranks))
    # The costliest reason of each rank.
    best: dict[int, Straggler] = {}
    for finding in sorted(findings, key=lambda late_finding: -late_finding.cost_ns):
        best.setdefault(finding.rank, replace(finding, share=finding.cost_ns / panel.run_ns))
    worth = [finding for finding in best.values() if finding.share >= least]
    return tuple(sorted(worth, key=lambda finding: (-finding.cost_ns, finding.rank)))


def _costs(panel: Panel, places: Ints, what_if: WithoutRank) -> Floats:
    """What each rank costs by itself: the run is played with nobody late but this one."""
    delays: Floats = panel.delay[places].sum(axis=1)
    if not len(places) or what_if.score is None:
        return delays
    # Many who are late are late for one reason: some tell what the others cost as well.
    many = max(2, min(_MAX_PLAYED, _MAX_CALLS_PLAYED // what_if.score.calls.height))
    played = places[np.argsort(-delays, kind="stable")[:many]]
    costs = what_if.score.costs_of(panel.ranks[played], late=panel.ranks[places])
    for row, place in enumerate(played.tolist()):
        if (panel.roles == panel.roles[place]).sum() == 1:
            # Stages make different calls: alone in its stage, a rank is compared as a whole.
            share_cost = what_if.score.cost_of_share(panel.ranks[[place]], panel.share_more(place))
            costs[row] = min(costs[row], share_cost)
    cost_of = dict(zip(played.tolist(), costs.tolist(), strict=True))
    usual = float(np.median(costs))
    return np.array([cost_of.get(place, usual) for place in places.tolist()])


def cost_together(late: Sequence[Straggler], panel: Panel) -> tuple[float, float]:
    """How much longer the run takes because of all of them, in ns and as a part of the run.

    Each costs what it would alone, so only what they cost in different steps adds up: of those who
    are late in the same step the latest counts.
    """
    by_step = []
    for finding in late:
        more = np.maximum(panel.excess[panel.ranks == finding.rank].sum(axis=0), 0.0)
        if not more.any():
            # Its link is slow, or its peers are as slow: nothing tells one step from another.
            more = np.ones(len(panel.steps))
        by_step.append(finding.cost_ns * more / more.sum())
    cost = float(np.max(by_step, axis=0).sum())
    return cost, min(cost / max(panel.run_ns, 1.0), 1.0)


RANK_SCHEMA: dict[str, pl.DataType] = {
    "rank": pl.Int64(),
    **dict.fromkeys(("host", "device"), pl.String()),
    "steps": pl.Int64(),
    **dict.fromkeys(("step_ns", "compute_ns", "communication_ns"), pl.Float64()),
    **dict.fromkeys(("exposed_communication_ns", "overlap_ns"), pl.Float64()),
    **dict.fromkeys(("wait_suffered_ns", "wait_caused_ns", "pipeline_bubble_ns"), pl.Float64()),
    **dict.fromkeys(("idle_ns", "cost_ns"), pl.Float64()),
}
"""Times are means per complete step.  `wait_caused_ns` is how long others waited for the rank's own
doing, `pipeline_bubble_ns` its waits for the stages before and after it.  `cost_ns` is what a
straggler costs the run: less than `wait_caused_ns` as far as others would have come late as well;
null for ranks that are none."""


def rank_table(
    ranks: Mapping[int, RankSummary],
    by_step: pl.DataFrame,
    stragglers: Sequence[Straggler] = (),
    steps: int = 1,
) -> pl.DataFrame:
    """Rows of `RANK_SCHEMA`, one per rank; `by_step` is what `step_waits` says.

    What `stragglers` cost is of so many `steps` of the run.
    """
    costs = {finding.rank: finding.cost_ns / max(steps, 1) for finding in stragglers}
    rows = [
        (rank, summary.about.host, summary.about.device) for rank, summary in sorted(ranks.items())
    ]
    schema = {name: RANK_SCHEMA[name] for name in ("rank", "host", "device")}
    about = pl.DataFrame(rows, schema=schema, orient="row")
    is_complete = pl.col("complete")
    parts = pl.col(
        *("compute_ns", "communication_ns", "exposed_communication_ns", "overlap_ns", "idle_ns")
    )
    mean_step = (
        stack_tables({rank: summary.steps for rank, summary in ranks.items()})
        .group_by("rank")
        .agg(
            parts.filter(is_complete).mean(),
            steps=is_complete.sum(),
            step_ns=(pl.col("end_ns") - pl.col("start_ns")).filter(is_complete).mean(),
        )
    )
    waits = by_step.drop("step").group_by("rank").sum()
    per_step = pl.max_horizontal("steps", 1)
    return (
        about.join(mean_step, on="rank", how="left", maintain_order="left")
        .with_columns(pl.col("steps").fill_null(0))
        .join(waits, on="rank", how="left", maintain_order="left")
        .with_columns(
            pl.col(waits.columns[1:]).fill_null(0) / per_step,
            cost_ns=pl.col("rank").replace_strict(costs, default=None, return_dtype=pl.Float64),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in RANK_SCHEMA.items())
    )


def step_waits(calls: pl.DataFrame) -> pl.DataFrame:
    """What each rank waited in each step, and let others wait.

    Moments in which several collectives wait count once.
    """
    is_pair = pl.col("collective").is_in(PAIRS).fill_null(value=False)
    # A pair that nobody waits for until other work is done is no bubble.
    stopped = pl.when(is_pair).then(pl.min_horizontal("wait_ns", "exposed_ns"))
    # What the wait for each call adds to those of its rank and step that began before.
    start, wait = calls["start_ns"].to_numpy(), calls["wait_ns"].to_numpy()
    key = combine_codes(dense_codes(calls["rank"]), dense_codes(calls["step"]))
    order = np.lexsort((start, key))
    first = run_starts(key[order])
    added = np.empty(len(order), dtype=np.int64)
    added[order] = new_coverage(start[order], (start + wait)[order], first)
    return (
        calls.lazy()
        .select("rank", "step", "start_ns", "held_up_ns", stopped=stopped, covered=pl.Series(added))
        .group_by("rank", "step")
        .agg(
            wait_suffered_ns=pl.col("covered").sum(),
            wait_caused_ns=pl.col("held_up_ns").sum(),
            pipeline_bubble_ns=pl.col("stopped").sum(),
            first_ns=pl.col("start_ns").min(),
        )
        # Names of steps are text: as such, step 10 would come before step 9.
        .sort("rank", "first_ns")
        .drop("first_ns")
        .collect()
    )


def judged_ranks(ranks: Mapping[int, RankSummary]) -> dict[int, RankSummary]:
    """All ranks but those without any device work, where most have some.

    Such a recording was cut off: its host calls are there, what they launched is not, and it would
    look like a host that keeps everybody waiting.
    """
    # Of complete steps functions tell; a recording without any may still have device work.
    works = {
        rank: bool(
            (rank_summary.functions["place"] == "kernel").any()
            or rank_summary.steps["own_kernel_ns"].sum()
        )
        for rank, rank_summary in ranks.items()
    }
    if sum(works.values()) * 2 <= len(works):
        return dict(ranks)
    return {rank: summary for rank, summary in ranks.items() if works[rank]}


class RanksAnalysis(msgspec.Struct, frozen=True, eq=False):
    """What ranks of one run tell together."""

    ranks: pl.DataFrame
    """One row per rank."""
    collectives: pl.DataFrame
    """One row per rank and collective, matched, with waits and blame."""
    clocks: pl.DataFrame
    stragglers: tuple[Straggler, ...]
    panel: Panel
    """Rank x step: what each held the others up."""
    not_judged: tuple[int, ...]
    """Ranks whose recordings hold too little to be compared."""
    waits: pl.DataFrame
    """Rank and step: what it waited and let others wait, as `step_waits` says."""
    groups: pl.DataFrame
    """Process groups, rows of `PROCESS_GROUP_SCHEMA`."""
    matched: pl.DataFrame
    """Collectives by group, kind and size, rows of `MATCHED_SCHEMA`."""
    late_starts: pl.DataFrame
    """Waits for profilers that started later, rows of `LATE_START_SCHEMA`; left out of the rest."""

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """What the recordings of the set cannot tell together."""
        reasons = (late_start_reason(self.late_starts), clock_reason(self.clocks))
        return tuple(reason for reason in reasons if reason is not None)

    @property
    def busiest(self) -> dict[str, float] | None:
        """The rank that computes clearly more than all that make the same calls, and waits least.

        With what it and the next one compute, and wait in collectives, in a step.
        """
        panel, names = self.panel, ("compute_ns", "next_compute_ns", "wait_ns", "next_wait_ns")
        least = least_share(len(panel.ranks)) * panel.step_ns
        for number in np.unique(panel.roles):
            peers = pl.col("rank").is_in(panel.ranks[panel.roles == number].tolist())
            rows = self.ranks.filter(peers, pl.col("steps") > 0).sort("compute_ns", descending=True)
            if rows.height < _MIN_TO_STAND_OUT:
                continue
            compute, following = rows["compute_ns"].head(2).to_list()
            wait, *other_waits = rows["wait_suffered_ns"].to_list()
            more = compute >= (1 + _CLEARLY_MORE) * following > 0
            if more and min(other_waits) - wait >= least > 0:
                values = (compute, following, wait, min(other_waits))
                return {"rank": rows["rank"][0], **dict(zip(names, values, strict=True))}
        return None


def analyse_ranks(ranks: Mapping[int, RankSummary]) -> RanksAnalysis:
    """Match, align, blame and explain."""
    judged = judged_ranks(ranks)
    calls = matched_collectives(judged)
    clocks = align_clocks(calls, {rank: summary.about.host for rank, summary in judged.items()})
    aligned, named = with_common_steps(judged, calls, clocks)
    waited = with_waits(named, clocks)
    late = late_starts(waited, aligned)
    aligned = steps_without_late_starts(aligned, late)
    compared = with_blame(with_excess(without_late_starts(waited, late)))
    panel = panel_of(aligned, compared)
    # Tables tell steps as their ranks do.
    blamed = compared.with_columns(calls["step"])
    groups = keyed_groups(judged, calls)
    waits = step_waits(blamed)
    stragglers = find_stragglers(aligned, panel, compared, clocks)
    return RanksAnalysis(
        ranks=rank_table({**ranks, **aligned}, waits, stragglers, len(panel.steps)),
        collectives=blamed,
        clocks=clocks,
        stragglers=stragglers,
        panel=panel,
        not_judged=tuple(rank for rank in ranks if rank not in judged),
        waits=waits,
        groups=groups.select(PROCESS_GROUP_SCHEMA.keys()).cast(pl.Schema(PROCESS_GROUP_SCHEMA)),
        matched=collective_table(blamed, groups),
        late_starts=late,
    )
