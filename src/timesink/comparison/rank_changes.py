"""What changed between two runs of many ranks: steps, where their time went, who is late.

Also which collectives move their data slower or faster than they did, and which ranks changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from msgspec.structs import replace

from timesink.analyses.columns import stack_tables
from timesink.analyses.communication_calls import ONE_SIDED
from timesink.analyses.ranks.analysis import RanksAnalysis
from timesink.analyses.ranks.collectives import GROUP_KEY
from timesink.analyses.ranks.lateness import SOURCES
from timesink.analyses.ranks.rank_clusters import far_from_usual, step_mean
from timesink.analyses.ranks.rank_set import RankLayout, RankSet
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.statistics.mean_changes import mean_changes
from timesink.analyses.statistics.significance import false_discovery
from timesink.analyses.thresholds import LatenessLimits, RankClustersLimits, SignificanceLimits
from timesink.comparison.inputs import RunInput
from timesink.comparison.results import RankChanges, StragglerChange
from timesink.comparison.steps.verdict import cycle_times, judge_lengths
from timesink.comparison.thresholds import RankChangesLimits
from timesink.errors import UnreadableError
from timesink.model.diagnosis import Component, Diagnosis
from timesink.model.findings import CAUSES, Cause, Evidence, Straggler
from timesink.model.units import brief_ns, count_noun, ranges_of, the_ranks, times
from timesink.rules.communication import advice_on, why_late

COLLECTIVE_CHANGE_SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("group_kind", "collective", "dtype"), pl.String()),
    **dict.fromkeys(("size_bytes", "group_size"), pl.Int64()),
    **dict.fromkeys(("calls_base", "calls_new"), pl.Float64()),
    **dict.fromkeys(("transfer_base_ns", "transfer_new_ns"), pl.Float64()),
    **dict.fromkeys(("wait_base_ns", "wait_new_ns"), pl.Float64()),
    **dict.fromkeys(("bus_base_bytes_per_s", "bus_new_bytes_per_s"), pl.Float64()),
    **dict.fromkeys(("change_ns", "p_value"), pl.Float64()),
    "changed": pl.Boolean(),
}
"""Times are means of a call.  `calls` are those of the whole run in a step, `change_ns` is what the
transfers of a step take longer; `p_value` is corrected for the number of rows and null where it
could not be tested."""

_KIND = ["group_kind", "collective", "dtype", "size_bytes", "group_size"]
_TESTED = _KIND[1:]


def collective_changes(base: RankSet, new: RankSet) -> pl.DataFrame:
    """Rows of `COLLECTIVE_CHANGE_SCHEMA`, those that changed first, then by what they add."""
    sides = []
    for ranks, side in ((base, "base"), (new, "new")):
        steps = max(ranks.analysis.collectives["step"].n_unique(), 1)
        columns = {
            f"calls_{side}": pl.col("calls") / steps,
            f"transfer_{side}_ns": pl.col("transfer_mean_ns"),
            f"wait_{side}_ns": pl.col("wait_mean_ns"),
            f"bus_{side}_bytes_per_s": pl.col("bus_bytes_per_s"),
        }
        sides.append(ranks.analysis.matched.select(*_KIND, "groups", **columns))
    now = sides[1].drop("groups")
    both = sides[0].join(now, on=_KIND, how="full", coalesce=True, nulls_equal=True)
    if both.is_empty():
        return pl.DataFrame(schema=COLLECTIVE_CHANGE_SCHEMA)
    more = pl.col("transfer_new_ns") - pl.col("transfer_base_ns")
    usual = pl.min_horizontal("calls_base", "calls_new")
    step_ns = max(base.analysis.panel.step_ns, 1.0)
    counts = (
        (pl.col("p_value") < SignificanceLimits.alpha)
        & (more.abs() > RankChangesLimits.min_change * pl.col("transfer_base_ns"))
        & (pl.col("change_ns").abs() > RankChangesLimits.min_of_step * step_ns * pl.col("groups"))
    )
    return (
        both.join(_test_changes(base, new), on=_TESTED, how="left", nulls_equal=True)
        .with_columns(change_ns=more * usual)
        .with_columns(changed=counts.fill_null(value=False))
        .sort("changed", pl.col("change_ns").abs(), *_KIND, descending=[True, True] + [False] * 5,
              nulls_last=True)
        .select(pl.col(name).cast(dtype) for name, dtype in COLLECTIVE_CHANGE_SCHEMA.items())
    )  # fmt: skip


def _test_changes(base: RankSet, new: RankSet) -> pl.DataFrame:
    """How likely noise moves transfers as far, for kinds that both runs have, step by step."""
    paired = pl.col("collective").cast(pl.String).replace(dict.fromkeys(ONE_SIDED, "send_recv"))
    size = pl.max_horizontal(pl.col("size_bytes", "out_bytes")).max().over("match")
    kind = pl.concat_str(pl.col(_TESTED).cast(pl.String), separator=" ", ignore_nulls=True)
    calls = [
        run.analysis.collectives.filter(pl.col("step").is_not_null())
        .select("step", "start_ns", "transfer_ns", "group_size", "match",
                pl.col("dtype").cast(pl.String), collective=paired, size_bytes=size)
        .with_columns(kind=kind)
        for run in (base, new)
    ]  # fmt: skip
    # One row per step, one column per kind of collective: how long moving takes.
    before, now = (
        rows.group_by("step", "kind")
        .agg(pl.col("transfer_ns").mean(), pl.col("start_ns").min())
        .with_columns(pl.col("start_ns").min().over("step"))
        .sort("start_ns", "kind")
        .pivot("kind", index="step", values="transfer_ns", maintain_order=True)
        for rows in calls
    )
    common = [name for name in before.columns[1:] if name in now.columns]
    if not common:
        columns = (*_TESTED, "p_value")
        return pl.DataFrame(schema={name: COLLECTIVE_CHANGE_SCHEMA[name] for name in columns})
    filled = []
    for table in (before, now):
        # A step without such a call counts as its others do.
        values = table.select(common).to_numpy().astype(np.float64)
        seen = np.isfinite(values)
        means = np.where(seen, values, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        filled.append(np.where(seen, values, means))
    p = pl.Series(false_discovery(mean_changes(*filled).p)).fill_nan(None)
    p_values = pl.DataFrame({"kind": common, "p_value": p})
    return calls[0].select("kind", *_TESTED).unique("kind").join(p_values, on="kind").drop("kind")


# How each rank changed against the same rank before, beside how its peers did.

RANK_CHANGE_SCHEMA: dict[str, pl.DataType] = {
    "rank": pl.Int64(),
    "source": pl.String(),
    **dict.fromkeys(("base_ns", "new_ns", "change_ns", "beyond_ns"), pl.Float64()),
    "changed": pl.Boolean(),
}
"""Times per step.  `source` is that of its own time (`panel.SOURCES`) in which the rank differs
most from its peers, the others are of this source; `beyond_ns` is what it changed more than they
did."""


def rank_changes(
    base: RankSet, new: RankSet, numbers: Sequence[int], named: Collection[int]
) -> pl.DataFrame:
    """Rows of `RANK_CHANGE_SCHEMA`, the largest differences first.

    A rank changed if that is beyond what chance does to its peers, or if it is one of the `named`
    stragglers that came or went.
    """
    if not numbers:
        return pl.DataFrame(schema=RANK_CHANGE_SCHEMA)
    panel = new.analysis.panel
    # One row per source of own time, one column per rank.
    before, after = (
        np.stack(
            [
                step_mean(
                    side_panel.time_by_source[name][np.searchsorted(side_panel.ranks, numbers)]
                )
                for name in SOURCES
            ]
        )
        for side_panel in (base.analysis.panel, panel)
    )
    role = panel.roles[np.searchsorted(panel.ranks, numbers)]
    step_ns = max(base.analysis.panel.step_ns, panel.step_ns)
    judged = [far_from_usual(change, role, step_ns) for change in after - before]
    beyond, odd = (np.stack(parts) for parts in zip(*judged, strict=True))
    most = np.argmax(np.abs(beyond), axis=0), np.arange(len(numbers))
    apart = beyond[most]
    is_named = np.isin(numbers, list(named)) & (
        np.abs(apart) > RankClustersLimits.min_share * step_ns
    )
    table = pl.DataFrame(
        {
            "rank": numbers,
            "source": [list(SOURCES)[code] for code in most[0]],
            "base_ns": before[most],
            "new_ns": after[most],
            "change_ns": after[most] - before[most],
            "beyond_ns": apart,
            "changed": odd.any(axis=0) | is_named,
        },
        schema=RANK_CHANGE_SCHEMA,
    )
    return table.sort("changed", pl.col("beyond_ns").abs(), "rank", descending=[True, True, False])


# What the steps of a run are made of, over its ranks: parts that add up to a whole step.

SELF_COLUMNS = {
    "compute": ("own_kernel_ns",),
    "copies": ("own_memcpy_ns", "own_memset_ns"),
    "data_loading": ("own_data_loader_ns",),
    "host": ("own_runtime_ns", "own_cpu_exec_ns"),
    "idle": ("own_idle_ns",),
}
"""Parts of a step in which a rank waits for nobody, and the columns of summaries they are in."""
PARTS = ("compute", "copies", "transfer", "waiting", "data_loading", "host", "idle")
"""`transfer` and `waiting` are exposed communication: the device has nothing else to do."""


def step_parts(
    ranks: Mapping[int, RankSummary], analysis: RanksAnalysis, numbers: Iterable[int]
) -> pl.DataFrame:
    """Divide the complete steps that most ranks have, over some of the ranks.

    One row per step in order: `PARTS` in nanoseconds, which add up to `length`; means over ranks.
    """
    chosen = sorted(set(numbers) & ranks.keys())
    if not chosen:
        return pl.DataFrame(schema=dict.fromkeys((*PARTS, "length"), pl.Float64))
    rows = (
        stack_tables({rank: ranks[rank].steps for rank in chosen})
        .filter("complete", pl.col("step").is_in(analysis.panel.steps))
        .select(
            "step",
            "start_ns",
            "rank",
            exposed=pl.col("blocked_ns").cast(pl.Float64),
            length=(pl.col("end_ns") - pl.col("start_ns")).cast(pl.Float64),
            **{
                part: pl.sum_horizontal(*names).cast(pl.Float64)
                for part, names in SELF_COLUMNS.items()
            },
        )
    )
    waited = pl.coalesce("share", "share_of_rank", pl.lit(0.0))
    calls = _waiting_shares(analysis.collectives)
    # The same over all steps, for those whose calls are not known.
    exposed = pl.col("exposed").sum()
    of_ranks = calls.group_by("rank").agg(
        share_of_rank=pl.col("waited").sum() / pl.when(exposed > 0).then(exposed)
    )
    return (
        rows.join(calls, on=["rank", "step"], how="left", maintain_order="left")
        .join(of_ranks, on="rank", how="left", maintain_order="left")
        .with_columns(waiting=pl.col("exposed") * waited)
        .with_columns(transfer=pl.col("exposed") - pl.col("waiting"))
        .group_by("step")
        .agg(pl.col("start_ns").median(), pl.col(*PARTS, "length").mean())
        .sort("start_ns")
    )


def _waiting_shares(calls: pl.DataFrame) -> pl.DataFrame:
    """By rank and step, how much of what a rank could only wait in was for others to come.

    What is exposed of a collective is its end, and the transfer is its last part: what goes beyond
    it was waiting.  Where collectives of a group go on side by side they slow each other down, and
    waits that work hid take their share of what is left.
    """
    exposed = pl.min_horizontal("exposed_ns", "dur_ns")
    before = pl.col("end_ns").shift().over("rank", *GROUP_KEY, order_by="start_ns")
    hidden = pl.when("beside").then(pl.col("wait_ns") - pl.col("direct")).otherwise(0.0)
    other = hidden + pl.col("transfer_ns")
    delayed = (pl.col("exposed") - pl.col("direct")) * hidden / pl.when(other > 0).then(other)
    return (
        calls.select("rank", "step", *GROUP_KEY, "wait_ns", "transfer_ns", exposed=exposed,
                     beside=pl.col("start_ns") < before)
        .with_columns(direct=pl.col("exposed") - pl.min_horizontal("exposed", "transfer_ns"))
        .group_by("rank", "step", *GROUP_KEY)
        .agg(
            pl.col("wait_ns", "transfer_ns", "exposed", "direct").sum().cast(pl.Float64),
            pl.col("beside").any(),
        )
        .with_columns(waited=pl.col("direct") + delayed.fill_null(0.0))
        .group_by("rank", "step")
        .agg(pl.col("waited", "exposed").sum())
        .with_columns(share=pl.col("waited") / pl.when(pl.col("exposed") > 0).then("exposed"))
    )  # fmt: skip


STATES = ("new", "worse", "same", "better", "gone")


def straggler_changes(base: RankSet, new: RankSet, *, matched: bool) -> tuple[StragglerChange, ...]:
    """Stragglers of both runs; `matched` says that a rank is the same in both of them."""
    before = (
        {straggler.rank: straggler for straggler in base.analysis.stragglers} if matched else {}
    )
    least = LatenessLimits.min_share * new.analysis.panel.step_ns
    entries: list[tuple[str, Straggler, float, float, int | None]] = []
    taken: set[int] = set()
    for straggler in new.analysis.stragglers:
        counterpart = before.get(straggler.rank) or _of_same_role(base, new, straggler, before)
        new_ns, base_ns = _per_step(straggler, new.analysis), 0.0
        if counterpart is not None:
            taken.add(counterpart.rank)
            base_ns = _per_step(counterpart, base.analysis)
        elif matched:
            base_ns = _unnamed_cost(base.analysis, straggler.rank)
        state = "same"
        if counterpart is None and base_ns < RankChangesLimits.there * new_ns:
            state = "new"
        elif new_ns > max(RankChangesLimits.worse * base_ns, base_ns + least):
            state = "worse"
        elif base_ns > max(RankChangesLimits.worse * new_ns, new_ns + least):
            state = "better"
        base_rank = (
            None if counterpart is None or counterpart.rank == straggler.rank else counterpart.rank
        )
        entries.append((state, straggler, base_ns, new_ns, base_rank))
    for straggler in base.analysis.stragglers:
        if straggler.rank not in taken:
            base_ns = _per_step(straggler, base.analysis)
            new_ns = _unnamed_cost(new.analysis, straggler.rank) if matched else 0.0
            state = "better" if new_ns >= RankChangesLimits.there * base_ns else "gone"
            entries.append((state, straggler, base_ns, new_ns, None))
    changes = [
        StragglerChange(
            state,
            finding.rank,
            finding.id,
            base_ns,
            new_ns,
            own_rank,
            finding.steps,
            finding.proofs,
        )
        for state, finding, base_ns, new_ns, own_rank in entries
    ]
    changes.sort(
        key=lambda change: (
            STATES.index(change.state),
            -max(change.base_ns, change.new_ns),
            change.rank,
        )
    )
    return tuple(changes)


def _per_step(finding: Straggler, analysis: RanksAnalysis) -> float:
    return finding.cost_ns / max(len(analysis.panel.steps), 1)


def _unnamed_cost(analysis: RanksAnalysis, rank: int) -> float:
    """What a rank costs, or takes more than its peers, in a run that does not name it."""
    panel = analysis.panel
    place = np.flatnonzero(panel.ranks == rank)
    if not len(place) or not panel.steps:
        return 0.0
    delay, excess = panel.delay[place[0]].mean(), np.median(panel.excess[place[0]])
    return max(float(delay), float(excess), 0.0)


def _of_same_role(
    base: RankSet, new: RankSet, finding: Straggler, before: dict[int, Straggler]
) -> Straggler | None:
    """A straggler of the base for the same reason in the same role.

    Which rank of a slow stage is named is chance.
    """
    if finding.rank in _odd(new):
        return None
    panel = base.analysis.panel
    role = dict(zip(panel.ranks.tolist(), panel.roles.tolist(), strict=True))
    named = {straggler.rank for straggler in new.analysis.stragglers}
    for candidate in before.values():
        same_role = role.get(candidate.rank) == role.get(finding.rank, -2)
        if same_role and candidate.id == finding.id and candidate.rank not in named | _odd(base):
            return candidate
    return None


def _odd(ranks: RankSet) -> set[int]:
    return {rank for group in ranks.groups if group.odd for rank in group.ranks}


def compare_ranks(base: RankSet, new: RankSet) -> RankChanges:
    """Compare two runs as a whole, and each rank with the same rank before."""
    layouts = base.layout, new.layout
    same = layouts[0] == layouts[1]
    common = sorted(base.ranks.keys() & new.ranks.keys())
    whose = (common, common) if same else (list(base.ranks), list(new.ranks))
    parts = [
        step_parts(run.ranks, run.analysis, ranks)
        for run, ranks in zip((base, new), whose, strict=True)
    ]
    length = pl.col("length").round().cast(pl.Int64).alias("cycle_dur_ns")
    lengths = cycle_times(*(part.select(length).with_row_index("cycle") for part in parts))
    judged = judge_lengths(lengths)
    before, now = (layout.world for layout in layouts)
    if before != now and judged.verdict != "incomparable":
        took = times(lengths.base_mean_ns, lengths.new_mean_ns)
        reason = (
            f"{before} ranks before and {now} now divide the work of a step differently. As "
            f"recorded: {took} per step, which says nothing about speed."
        )
        judged = replace(judged, verdict="incomparable", reason=reason)
    late = straggler_changes(base, new, matched=same)
    moved = {change.rank for change in late if change.state in {"new", "worse", "gone"}}
    return RankChanges(
        base=base,
        new=new,
        layouts=layouts,
        verdict=judged.verdict,
        reason=judged.reason,
        step_time=judged.cycle_time,
        attribution=_attribution(parts),
        stragglers=late,
        collectives=collective_changes(base, new),
        ranks=rank_changes(base, new, common if same else [], moved),
        notes=tuple(_notes(base, new, layouts)),
    )


def _attribution(parts: Sequence[pl.DataFrame]) -> tuple[Component, ...]:
    base, new = (table.select(PARTS).to_numpy() for table in parts)
    if not (len(base) and len(new)):
        return ()
    change = mean_changes(base, new)
    tested = min(len(base), len(new)) > 1
    components = [
        Component(
            part,
            None,
            float(base[:, place].mean()),
            float(new[:, place].mean()),
            (float(change.low[place]), float(change.high[place])) if tested else None,
            float(change.p[place]) if tested else None,
        )
        for place, part in enumerate(PARTS)
    ]
    return tuple(sorted(components, key=lambda part: (-abs(part.delta_ns), part.part)))


def _notes(base: RankSet, new: RankSet, layouts: tuple[RankLayout, RankLayout]) -> Iterator[str]:
    before, now = layouts
    if before != now:
        yield (
            f"the layout is another one: {before.words} before, {now.words} now; runs are "
            "compared as a whole, not rank by rank"
        )
    for name, ours, theirs in (("base", base, new), ("new run", new, base)):
        if ours.missing:
            yield f"without a recording in the {name}: ranks {ranges_of(ours.missing, most=8)}"
        unpaired = sorted(ours.ranks.keys() - theirs.ranks.keys()) if before == now else []
        if unpaired:
            yield f"only in the {name}, and not compared: ranks {ranges_of(unpaired, most=8)}"
        for recording in ours.damaged:
            yield f"left out of the {name}: {recording.worker}: {recording.reason}"
        yield from (f"{name}: {note}" for note in ours.notes)


# -- sets of ranks: which of them are compared in full ---------------------------------------------


def may_be_sets(base: RunInput, new: RunInput) -> bool:
    """Whether both sides are several recordings of one run, none of which is open or a table."""
    return all(
        len(side.sources) > 1
        and len({source.recording.run for source in side.sources}) == 1
        and not any(source.is_table or source.is_export or source.trace for source in side.sources)
        for side in (base, new)
    )


def compared_sets(read: Callable[[], Iterable[RankSet]]) -> tuple[RankChanges | None, list[str]]:
    """What changed between two runs; None, and why, where they are not two runs of ranks.

    That the engine cannot work is an error: what it was asked for is not to be done without it.
    """
    try:
        base, new = read()
    except UnreadableError as error:
        return None, [f"the ranks are not compared as one run: {error.message}"]
    unrelated = [len(ranks.runs) for ranks in (base, new) if len(ranks.runs) > 1]
    if unrelated:
        many = " and ".join(f"{runs} runs" for runs in unrelated)
        why = f"they belong to {many}"
        return None, [f"recordings are compared one by one: {why}; name one run each"]
    if not all(len(side.ranks) > 1 and side.communicates for side in (base, new)):
        return None, []
    return compare_ranks(base, new), []


# -- those that stand for the others ---------------------------------------------------------------


def representatives(changes: RankChanges) -> list[int]:
    """Ranks to be compared in full: stragglers and odd ones of both sides, then usual ones."""
    groups = [group for side in (changes.new, changes.base) for group in side.groups]
    usual = [group.representative for group in groups if not group.odd]
    by_interest = [
        # A usual one of the new run is always there: what is odd shows beside it.
        *usual[:1],
        # Of those who are late for one reason together, one is enough.
        *(together[0].rank for together in late_together(changes)),
        *(group.representative for group in groups if group.odd),
        *usual,
    ]
    common = set(changes.common)
    return sorted(
        [rank for rank in dict.fromkeys(by_interest) if rank in common][
            : RankChangesLimits.max_pairs
        ]
    )


def only_ranks(side: RunInput, ranks: RankSet, chosen: Sequence[int]) -> RunInput:
    """The recordings of some ranks."""
    places = {ranks.ranks[rank].about.source for rank in chosen}
    sources = (
        source
        for source in side.sources
        if places & {str(source.recording.path), source.recording.source}
    )
    return dataclasses.replace(side, sources=tuple(sources))


def chosen_note(changes: RankChanges, chosen: Sequence[int]) -> str:
    """That a few ranks stand for all of them."""
    many = count_noun(len(changes.common), "ranks")
    return (
        f"of {many}, ranks {ranges_of(chosen)} are compared in full and stand for the others "
        "(stragglers first); --rank N compares another one"
    )


# -- new stragglers among the causes of a change, so that a gate, a comment or a page shows them ---

_STATES = ("new", "worse")


def with_stragglers(diagnosis: Diagnosis, changes: RankChanges, *, of_all: bool) -> Diagnosis:
    """A diagnosis of pairs with the stragglers that came or became worse.

    `of_all` says that every rank was compared in full; otherwise the verdict is that of the steps
    of all ranks, not of those that stand for them.
    """
    judged = diagnosis
    if not of_all:
        judged = replace(
            diagnosis, verdict=changes.verdict, reason=changes.reason, cycle_time=changes.step_time,
            corrected=None, is_without_overhead=False,
        )  # fmt: skip
    change = judged.cycle_time.new_ns - judged.cycle_time.base_ns
    late = [group for group in late_together(changes) if group[0].state in _STATES]
    named = {f"rank {straggler.rank}" for group in late for straggler in group}
    # That somebody is late is all that pairs know of it.
    other_causes = [
        cause for cause in judged.causes if cause.id != "straggler" or cause.process not in named
    ]
    left = change - sum(cause.cost_ns for cause in other_causes)
    new: list[Cause] = []
    for together in late[: RankChangesLimits.max_ranks_named]:
        first = max(together, key=lambda straggler: straggler.new_ns)
        names = {f"rank {straggler.rank}" for straggler in together}
        explained_ns = sum(cause.cost_ns for cause in other_causes if cause.process in names)
        more = first.new_ns - first.base_ns
        if explained_ns >= RankChangesLimits.explained * more:
            continue
        explained = max(min(more, left), 0.0)
        left -= explained
        who = whose(together)
        new.append(
            Cause(
                first.cause if first.cause in CAUSES else "straggler",
                cost_sentence(together),
                advice_on(first.cause, who, several=len(together) > 1),
                cost_ns=explained,
                evidence=tuple(Evidence("cycle", text, side="new") for text in first.evidence),
                claims=(("exposed_communication", explained),) if explained else (),
                process=who,
            )
        )
    if not new:
        return replace(judged, causes=tuple(other_causes))
    causes = sorted([*other_causes, *new], key=lambda cause: -abs(cause.cost_ns))
    explained = sum(cause.cost_ns for cause in causes)
    return replace(judged, causes=tuple(causes), unexplained_ns=change - explained)


def late_together(changes: RankChanges) -> list[list[StragglerChange]]:
    """Stragglers in one state and for one reason, by the groups of ranks they are in."""
    groups = {
        (side, rank): group.group
        for side, ranks in (("new", changes.new), ("base", changes.base))
        for group in ranks.groups
        for rank in group.ranks
    }
    parts: dict[tuple[str, str, str], list[StragglerChange]] = {}
    for straggler in changes.stragglers:
        group = groups.get(("base" if straggler.state == "gone" else "new", straggler.rank), "")
        parts.setdefault((straggler.state, straggler.cause, group), []).append(straggler)
    return list(parts.values())


def whose(together: Sequence[StragglerChange]) -> str:
    """The ranks in words."""
    return the_ranks([straggler.rank for straggler in together], most=None)


def wait_told(together: Sequence[StragglerChange], worst: StragglerChange) -> str:
    """How long others wait for the worst of them now, and did before."""
    before = f" ({brief_ns(worst.base_ns)} before)" if worst.state == "worse" else ""
    return f"{'up to ' * (len(together) > 1)}{brief_ns(worst.new_ns)} per step{before}"


def cost_sentence(together: Sequence[StragglerChange]) -> str:
    """What stragglers cost now, and why, where they are named already."""
    several = len(together) > 1
    costs = max(together, key=lambda straggler: straggler.new_ns)
    delay = ("now " if costs.state == "new" else "") + ("delay" if several else "delays")
    why = why_late(costs.cause, several=several)
    who = whose(together).capitalize()
    return f"{who} {delay} the others by {wait_told(together, costs)}: {why}."
