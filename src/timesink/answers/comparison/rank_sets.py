"""Many processes: runs of ranks compared as a whole, groups of processes; in sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from timesink.answers.comparison.causes import (
    TONES,
    attributed_part,
    cause_name,
    note_sections,
    paragraphs,
)
from timesink.answers.comparison.changes import ROLES, PairView, pair_blocks
from timesink.answers.comparison.sentences import headline, summary_sentences
from timesink.answers.views import listed_table, parts_of
from timesink.comparison.rank_changes import late_together, wait_told, whose
from timesink.comparison.results import Comparison, Exploration, Pair, RankChanges, StragglerChange
from timesink.model import units
from timesink.model.units import brief_ns, count_noun, digits, ranges_of, signed_ns
from timesink.output.blocks import Attribution, Block, Section, Table
from timesink.output.names import short_names
from timesink.output.tables import attribution_table
from timesink.rules.communication import why_late

_REPORTED_STATES = ("new", "worse", "gone")
_MAX_SHOWN = 2

# -- in words --------------------------------------------------------------------------------------


def comparison_headline(comparison: Comparison) -> str:
    """The answer in a few sentences: of ranks, what became of steps and which stragglers."""
    changes = comparison.ranks
    if changes is None:
        return headline(comparison.pairs, comparison.exploration)
    lead = steps_sentence(changes)
    if comparison.has_all_ranks:
        lead = headline(comparison.pairs, None)
    return " ".join([lead, *list(straggler_sentences(changes))[:_MAX_SHOWN]])


def steps_sentence(changes: RankChanges) -> str:
    """What became of steps; how many ranks that is about, where it is as many on both sides."""
    before, now = (layout.world for layout in changes.layouts)
    if before != now:
        return changes.reason
    ranks = count_noun(len(changes.common) or len(changes.new.ranks), "ranks")
    return f"{ranks}: {changes.reason[:1].lower()}{changes.reason[1:]}"


def straggler_sentences(changes: RankChanges) -> Iterator[str]:
    """Stragglers that came, went or became worse; those that one thing sets apart together."""
    for together in late_together(changes):
        if together[0].state in _REPORTED_STATES:
            yield _straggler_sentence(together)


def _straggler_sentence(together: Sequence[StragglerChange]) -> str:
    """Who is late, why, and what it costs."""
    first, several = together[0], len(together) > 1
    who = f"{whose(together).capitalize()} {'are' if several else 'is'}"
    costs = max(together, key=lambda straggler: max(straggler.new_ns, straggler.base_ns))
    if first.state == "gone":
        cost = brief_ns(costs.base_ns)
        was = f"({cause_name(first.cause)}, {cost} per step)"
        return f"{who} no longer {'stragglers' if several else 'a straggler'} {was}."
    state = f"{'' if several else 'a '}{first.state} straggler{'s' * several}"
    why = why_late(first.cause, several=several)
    return f"{who} {state}: {why}. The others wait {wait_told(together, costs)}."


APART = "How each differs from {}, the largest"
_ROWS = 100
_MAX_PAIRS = 10
"""Pairs of groups that are told in full."""


def explored_sections(
    exploration: Exploration,
    notes: Sequence[str],
    top: int | None = None,
    table_of: Callable[[PairView, int, str], Table] | None = None,
) -> Iterator[Section]:
    """The groups and what sets them apart, the roles, and how the groups differ.

    With `table_of`, that one table of each pair of groups, and no other.
    """
    apart = [f"group {number}: {line}" for number, line in apart_lines(exploration)]
    title = [f"{APART.format('group 1')}:"] if apart else []
    yield Section(
        "verdict",
        "Groups of similar processes",
        (groups_block(exploration), *paragraphs([*title, *apart])),
        short_names(threshold(exploration)),
    )
    most = _MAX_PAIRS if top is None else top
    for number, pair in enumerate(exploration.pairs[:most], 1):
        yield _pair_section(exploration, pair, number, top or _ROWS, table_of)
    if table_of is None:
        yield Section("roles", "Processes", (_roles(exploration, top),))
    yield from note_sections([*left_out(exploration, most), *notes])


def apart_lines(exploration: Exploration) -> list[tuple[int, str]]:
    """What sets each group apart from the first, by its number."""
    numbered = enumerate(exploration.clusters, 1)
    return [(number, cluster.apart) for number, cluster in numbered if cluster.apart]


def threshold(exploration: Exploration) -> str:
    """From which distance on processes form separate groups, and why."""
    reason = exploration.threshold_reason.rstrip(".")
    least = digits(exploration.threshold)
    return f"Processes form separate groups from a distance of {least}: {reason}."


def left_out(exploration: Exploration, most: int | None = None) -> list[str]:
    """How many comparisons are not shown."""
    more = 0 if most is None else max(len(exploration.pairs) - most, 0)
    lines = []
    if more:
        count = units.count_noun(more, "more comparisons")
        lines.append(f"{count} of groups: --top, or --format report")
    if exploration.pairs_left_out:
        pairs = units.count_noun(exploration.pairs_left_out, "pairs of groups")
        lines.append(
            f"{pairs} were not compared in full: pairs with the largest group come first, then "
            "the most distant"
        )
    return lines


def groups_block(exploration: Exploration, most: int | None = None) -> Table:
    """One row per group."""
    clusters = exploration.clusters[:most]
    members = [[exploration.roles[place] for place in cluster.members] for cluster in clusters]
    lengths = [[role.mean_cycle_ns for role in roles] for roles in members]
    values = {
        "group": range(1, len(clusters) + 1),
        "roles": [len(roles) for roles in members],
        "shortest_ns": map(min, lengths),
        "longest_ns": map(max, lengths),
        "representative": [exploration.roles[cluster.representative].label for cluster in clusters],
    }
    return listed_table(
        "role-groups",
        "groups",
        "Groups",
        (),
        values,
        total_rows=len(exploration.clusters),
        meanings=ROLES,
    )


def _roles(exploration: Exploration, top: int | None) -> Table:
    """One row per role, group by group; with `top`, the first ones of each group."""
    rows = [
        (number, exploration.roles[place])
        for number, cluster in enumerate(exploration.clusters, 1)
        for place in cluster.members[:top]
    ]
    roles = [role for _, role in rows]
    values = {
        "role": [role.label for role in roles],
        "group": [number for number, _ in rows],
        "mean_ns": [role.mean_cycle_ns for role in roles],
    }
    return listed_table(
        "grouped-roles",
        "roles",
        "Processes",
        roles,
        values,
        total_rows=sum(len(cluster.members) for cluster in exploration.clusters),
        meanings=ROLES,
    )


def _pair_section(
    exploration: Exploration,
    pair: Pair,
    number: int,
    rows: int,
    table_of: Callable[[PairView, int, str], Table] | None,
) -> Section:
    report, id_ = PairView(pair), f"groups-{number}"
    if table_of is not None:
        tables = [table_of(report, rows, f"{id_}-table")]
    else:
        tables = [*pair_blocks(report, rows, f"{id_}-", scores=False)]
    # Which groups are compared, and how far apart their representatives are.
    labels = [role.label for role in exploration.roles]
    places = [labels.index(role.label) for role in (pair.base, pair.new) if role.label in labels]
    groups = {
        place: number
        for number, cluster in enumerate(exploration.clusters, 1)
        for place in cluster.members
    }
    title = "Group ? → group ?"
    if len(places) == 2:
        base, new = places
        apart = digits(float(exploration.distances[base, new]))
        title = f"Group {groups[base]} → group {groups[new]} (distance {apart})"
    lead = f"{pair.base.label} and {pair.new.label}"
    return Section(id_, title, (*paragraphs(summary_sentences(report)), *tables), short_names(lead))


# -- all ranks of a run ---------------------------------------------------------------------------

_PART_NAMES = parts_of("rank-steps")
"""Parts of a step in words."""
_SOURCE_NAMES = parts_of("rank-sources")
"""Where own time of a rank comes from, in words."""
_NO_STRAGGLER = "No rank is a straggler in either run."
_NOT_NEW = "No straggler is new, gone or worse."
_MAX_ROWS = 200


def rank_sections(changes: RankChanges | None, top: int | None = None) -> Iterator[Section]:
    """Steps, stragglers, ranks and collectives; nothing where runs have one rank.

    With `top`, as text: so many rows, and only ranks that changed.
    """
    if changes is None:
        return
    late = list(straggler_sentences(changes))
    late = late or [_NOT_NEW if changes.stragglers else _NO_STRAGGLER]
    is_late = any(straggler.state in {"new", "worse"} for straggler in changes.stragglers)
    blocks: list[Block] = [
        *paragraphs([steps_sentence(changes)], TONES.get(changes.verdict, "plain")),
        *paragraphs(late, "bad" if is_late else "plain"),
    ]
    if changes.attribution:
        change = changes.step_time.new_ns - changes.step_time.base_ns
        rows = [
            attributed_part(component, component.part, _PART_NAMES[component.part].words)
            for component in changes.attribution
        ]
        title = f"Mean step of all ranks ({signed_ns(change)})"
        parts = Attribution(title, "time_ns", change, tuple(rows))
        blocks.append(parts if top is None else attribution_table(parts))
    ranks = changes.ranks if top is None else changes.ranks.filter("changed")
    blocks += [_stragglers(changes)] if changes.stragglers else []
    blocks += [_ranks(ranks, top or _MAX_ROWS)] if ranks.height else []
    blocks += [_collectives(changes, top or _MAX_ROWS)] if changes.collectives.height else []
    yield Section("ranks", "Ranks", tuple(blocks))


def _stragglers(changes: RankChanges) -> Table:
    """Stragglers of both runs, those with one cause together."""
    groups = late_together(changes)
    worst = [
        max(group, key=lambda straggler: max(straggler.base_ns, straggler.new_ns))
        for group in groups
    ]
    ranks = [ranges_of((straggler.rank for straggler in group), most=8) for group in groups]
    steps = [len({step for straggler in group for step in straggler.steps}) for group in groups]
    values = {
        "rank": ranks,
        "steps": steps,
        "evidence": [" ".join(straggler.evidence) for straggler in worst],
    }
    return listed_table("rank-stragglers", "rank-stragglers", "Stragglers", worst, values)


def _ranks(ranks: pl.DataFrame, most: int) -> Table:
    """What ranks took against themselves before, and beyond what their peers did."""
    rows = ranks.head(most)
    values = {
        "source": [_SOURCE_NAMES[source].words for source in rows["source"]],
        "changed": ["yes" if has_changed else "" for has_changed in rows["changed"]],
    }
    return listed_table(
        "rank-changes",
        "rank-changes",
        "Change of each rank",
        rows,
        values,
        total_rows=ranks.height,
    )


def _collectives(changes: RankChanges, most: int) -> Table:
    """Collectives by kind and size; those whose transfer changed first."""
    rows = changes.collectives.head(most)
    values = {
        "bus_base": rows["bus_base_bytes_per_s"],
        "bus_new": rows["bus_new_bytes_per_s"],
        "changed": ["yes" if has_changed else "" for has_changed in rows["changed"]],
    }
    return listed_table(
        "rank-collectives",
        "rank-collectives",
        "Collectives",
        rows,
        values,
        total_rows=changes.collectives.height,
    )
