"""Which of many roles behave alike, and how the groups differ, as sections of a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from timesink.analyses.clustering.exploration import Exploration
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.role import Role
from timesink.answers.causes import paragraphs
from timesink.answers.pair_tables import ROLES, counters_block, families_block, times_block
from timesink.model import units
from timesink.model.amounts import digits
from timesink.output.blocks import Block, Section, Table
from timesink.output.columns import column, table
from timesink.output.names import short_names
from timesink.reports.comparison.answer import answer
from timesink.reports.comparison.report import Comparison
from timesink.reports.comparison.told import Told

APART = "What sets each apart from {}, the largest"
_ROWS = 100
_MOST_PAIRS = 10
"""Pairs of groups that are told in full."""


def explored_sections(
    comparison: Comparison,
    exploration: Exploration,
    top: int | None = None,
    table_of: Callable[[Told, int, str], Table] | None = None,
) -> Iterator[Section]:
    """The groups and what sets them apart, the roles, and how the groups differ.

    With `table_of`, that one table of each pair of groups, and no other.
    """
    apart = [f"group {number}: {line}" for number, line in apart_lines(exploration)]
    title = [f"{APART.format('group 1')}:"] if apart else []
    yield Section(
        "verdict",
        "Groups of roles that behave alike",
        (groups_block(exploration), *paragraphs([*title, *apart])),
        short_names(threshold(exploration)),
    )
    most = _MOST_PAIRS if top is None else top
    for number, pair in enumerate(exploration.pairs[:most], 1):
        yield _pair_section(exploration, pair, number, top or _ROWS, table_of)
    if table_of is None:
        yield Section("roles", "Roles", (_roles(exploration, top),))
    notes = [*left_out(exploration, most), *comparison.notes]
    if notes:
        yield Section("notes", "Notes", tuple(paragraphs(notes)))


def apart_lines(exploration: Exploration) -> list[tuple[int, str]]:
    """What sets each group apart from the first, by its number."""
    numbered = enumerate(exploration.clusters, 1)
    return [(number, cluster.apart) for number, cluster in numbered if cluster.apart]


def threshold(exploration: Exploration) -> str:
    """From which distance on roles are told apart, and why."""
    reason = exploration.threshold_reason.rstrip(".")
    return f"Told apart from a distance of {digits(exploration.threshold)} on: {reason}."


def left_out(exploration: Exploration, most: int | None = None) -> list[str]:
    """How many comparisons are not shown."""
    more = 0 if most is None else max(len(exploration.pairs) - most, 0)
    said = []
    if more:
        count = units.counted(more, "more comparisons")
        said.append(f"{count} of groups: --top, or --format report")
    if exploration.pairs_left_out:
        pairs = units.counted(exploration.pairs_left_out, "pairs of groups")
        said.append(
            f"{pairs} were not compared in full: those with the largest group come first, then "
            "those farthest apart"
        )
    return said


# -- groups and roles ------------------------------------------------------------------------------


def groups_block(exploration: Exploration, most: int | None = None) -> Table:
    """One row per group."""
    clusters = exploration.clusters[:most]
    members = [[exploration.roles[place] for place in one.members] for one in clusters]
    lengths = [[mean_cycle_ns(role) for role in roles] for roles in members]
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
        total_rows=len(exploration.clusters),
        meanings=ROLES,
    )  # fmt: skip


def _roles(exploration: Exploration, top: int | None) -> Table:
    """One row per role, group by group; with `top`, the first ones of each group."""
    rows = [
        (number, exploration.roles[place])
        for number, cluster in enumerate(exploration.clusters, 1)
        for place in cluster.members[:top]
    ]
    roles = [role for _, role in rows]
    return table(
        "roles",
        "Roles",
        [
            column("role", "role", "text", [role.label for role in roles]),
            column("group", "group", "count", [number for number, _ in rows]),
            column("cycles", "cycles", "count", map(cycle_count, roles), spare=1),
            column("mean_ns", "cycle time", "time_ns", map(mean_cycle_ns, roles), bar=True),
            column("pid", "pid", "text", [role.pid for role in roles], spare=2),
            column("host", "host", "text", [role.host for role in roles], spare=3),
            column("source", "file", "text", [role.source for role in roles], main=False),
        ],
        total_rows=sum(len(cluster.members) for cluster in exploration.clusters),
        meanings=ROLES,
    )


def cycle_count(role: Role) -> int:
    """Cycles of a role."""
    return role.behaviour["cycle"].n_unique()


def mean_cycle_ns(role: Role) -> float:
    """Mean length of a role's cycles; each counts once."""
    cycles = role.behaviour.select("cycle", "cycle_type", "cycle_dur_ns").unique()
    return float(cycles.select(pl.col("cycle_dur_ns").mean()).item() or 0)


# -- two groups ------------------------------------------------------------------------------------


def _pair_section(
    exploration: Exploration,
    pair: Pair,
    number: int,
    rows: int,
    table_of: Callable[[Told, int, str], Table] | None,
) -> Section:
    told, id_ = Told(pair), f"groups-{number}"
    blocks: list[Block] = [*paragraphs(answer(told))]
    if table_of is not None:
        blocks.append(table_of(told, rows, f"{id_}-table"))
    else:
        blocks.append(times_block(told, rows, f"{id_}-functions"))
        if not told.families.is_empty():
            blocks.append(families_block(told, rows, f"{id_}-families"))
        if told.counters:
            blocks.append(counters_block(told, rows, f"{id_}-counters"))
    lead = f"{pair.base.label} and {pair.new.label}"
    return Section(id_, _pair_title(exploration, pair), tuple(blocks), short_names(lead))


def _pair_title(exploration: Exploration, pair: Pair) -> str:
    """Which groups are compared, and how far apart their representatives are."""
    labels = [one.label for one in exploration.roles]
    places = [labels.index(role.label) if role.label in labels else None
              for role in (pair.base, pair.new)]  # fmt: skip
    groups = [
        next((str(number) for number, cluster in enumerate(exploration.clusters, 1)
              if place in cluster.members), "?")
        for place in places
    ]  # fmt: skip
    title = f"Group {groups[0]} → group {groups[1]}"
    if places[0] is None or places[1] is None:
        return title
    return f"{title} (distance {digits(float(exploration.distances[places[0], places[1]]))})"
