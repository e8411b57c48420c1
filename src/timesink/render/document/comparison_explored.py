"""Which of many roles behave alike, and how the groups differ, as sections of a document."""

from __future__ import annotations

from collections.abc import Iterator

from timesink.analyses.clustering.exploration import Exploration
from timesink.analyses.comparison.pair import Pair
from timesink.output.blocks import Block, Section, Table
from timesink.output.columns import column, table
from timesink.render.comparison import exploring
from timesink.render.comparison.words import short_names
from timesink.render.document.comparison_tables import counters_block, families_block, times_block
from timesink.render.document.diagnosis_blocks import paragraphs
from timesink.render.document.meanings import ROLES
from timesink.reports.comparison.answer import answer
from timesink.reports.comparison.report import Comparison
from timesink.reports.comparison.told import Told

_ROWS = 100
_MOST_PAIRS = 10
"""Pairs of groups that are told in full."""


def explored_sections(comparison: Comparison, exploration: Exploration) -> Iterator[Section]:
    """The groups and what sets them apart, the roles, and how the groups differ."""
    apart = [f"group {number}: {line}" for number, line in exploring.apart(exploration)]
    title = [f"{exploring.APART.format('group 1')}:"] if apart else []
    yield Section(
        "verdict",
        "Groups of roles that behave alike",
        (_groups(exploration), *paragraphs([*title, *apart])),
        short_names(exploring.threshold(exploration)),
    )
    for number, pair in enumerate(exploration.pairs[:_MOST_PAIRS], 1):
        yield _pair_section(exploration, pair, number)
    yield Section("roles", "Roles", (_roles(exploration),))
    notes = [*exploring.left_out(exploration, _MOST_PAIRS), *comparison.notes]
    if notes:
        yield Section("notes", "Notes", tuple(paragraphs(notes)))


def _groups(exploration: Exploration) -> Table:
    """One row per group."""
    clusters = exploration.clusters
    members = [[exploration.roles[place] for place in one.members] for one in clusters]
    lengths = [[exploring.mean_cycle_ns(role) for role in roles] for roles in members]
    return table(
        "groups",
        "Groups",
        [
            column("group", "group", "count", range(1, len(clusters) + 1)),
            column("roles", "roles", "count", [len(roles) for roles in members], bar=True),
            column("shortest_ns", "shortest cycle", "time_ns", map(min, lengths),
                   help="Mean cycle of the role that has the shortest."),
            column("longest_ns", "longest cycle", "time_ns", map(max, lengths),
                   help="Mean cycle of the role that has the longest."),
            column("representative", "representative", "text",
                   [exploration.roles[one.representative].label for one in clusters]),
        ],
        meanings=ROLES,
    )  # fmt: skip


def _roles(exploration: Exploration) -> Table:
    rows = [
        (number, exploration.roles[place])
        for number, cluster in enumerate(exploration.clusters, 1)
        for place in cluster.members
    ]
    roles = [role for _, role in rows]
    return table(
        "roles",
        "Roles",
        [
            column("role", "role", "text", [role.label for role in roles]),
            column("group", "group", "count", [number for number, _ in rows]),
            column("cycles", "cycles", "count", map(exploring.cycle_count, roles)),
            column(
                "mean_ns", "cycle time", "time_ns", map(exploring.mean_cycle_ns, roles), bar=True
            ),
            column("pid", "pid", "text", [role.pid for role in roles]),
            column("host", "host", "text", [role.host for role in roles]),
            column("source", "file", "text", [role.source for role in roles], main=False),
        ],
        meanings=ROLES,
    )


def _pair_section(exploration: Exploration, pair: Pair, number: int) -> Section:
    told, id_ = Told(pair), f"groups-{number}"
    blocks: list[Block] = [*paragraphs(answer(told))]
    blocks.append(times_block(told, _ROWS, f"{id_}-functions"))
    if not told.families.is_empty():
        blocks.append(families_block(told, _ROWS, f"{id_}-families"))
    if told.counters:
        blocks.append(counters_block(told, _ROWS, f"{id_}-counters"))
    title = exploring.pair_title(exploration, pair)
    lead = f"{pair.base.label} and {pair.new.label}"
    return Section(id_, title, tuple(blocks), short_names(lead))
