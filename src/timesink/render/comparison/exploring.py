"""Which of many roles behave alike, and how the groups differ, for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import polars as pl
from rich.console import RenderableType

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.role import Role
from timesink.model import units
from timesink.model.amounts import digits
from timesink.output.terminal import text
from timesink.render.comparison.blocks import answer_lines, finding_lines, wrapped
from timesink.render.comparison.words import short_names
from timesink.render.shown import Shown, note_lines, titled_lines, with_columns
from timesink.reports.comparison.report import Comparison
from timesink.reports.comparison.told import Told

if TYPE_CHECKING:
    from timesink.analyses.clustering.exploration import Exploration

APART = "What sets each apart from {}, the largest"

# -- on the screen ---------------------------------------------------------------------------------


def exploration_lines(
    comparison: Comparison,
    exploration: Exploration,
    top: int | None,
    width: int,
    table_of: Callable[[Told, int | None], Shown] | None = None,
) -> Iterable[RenderableType]:
    """The answer, the groups and what sets them apart, the roles, and how the groups differ.

    With `table_of`, that one table of each pair of groups, and not what changed most.
    """
    yield from wrapped(comparison.headline, width, "bold")
    yield from wrapped(threshold(exploration), width, "dim")
    yield from titled_lines(groups_table(exploration), width)
    yield from _apart_lines(exploration, width)
    if table_of is None:
        yield from titled_lines(roles_table(exploration, top), width)
    for pair in exploration.pairs if top is None else exploration.pairs[:top]:
        told = Told(pair)
        yield ""
        yield from wrapped(pair_title(exploration, pair), width, "bold")
        yield from wrapped(f"{pair.base.label} and {pair.new.label}", width, "dim")
        yield from answer_lines(told, width)
        if table_of is None:
            yield from finding_lines(told, width)
        else:
            yield from titled_lines(table_of(told, top), width)
    yield from note_lines(
        [short_names(note) for note in (*left_out(exploration, top), *comparison.notes)]
    )


def _apart_lines(exploration: Exploration, width: int) -> Iterable[RenderableType]:
    said = apart(exploration)
    if said:
        yield ""
        yield text(APART.format("group 1"), "bold")
    for number, sentence in said:
        yield from wrapped(f"group {number}: {sentence}", width, indent=2)


def apart(exploration: Exploration) -> list[tuple[int, str]]:
    """What sets each group apart from the first, by its number."""
    numbered = enumerate(exploration.clusters, 1)
    return [(number, cluster.apart) for number, cluster in numbered if cluster.apart]


def pair_title(exploration: Exploration, pair: Pair) -> str:
    """Which groups are compared, by their representatives."""
    base, new = (_group_of(exploration, role) for role in (pair.base, pair.new))
    return f"Group {base} → group {new}{_distance(exploration, pair)}"


def _group_of(exploration: Exploration, role: Role) -> str:
    place = _place(exploration, role)
    for number, cluster in enumerate(exploration.clusters, 1):
        if place in cluster.members:
            return str(number)
    return "?"


def _place(exploration: Exploration, role: Role) -> int | None:
    labels = [one.label for one in exploration.roles]
    return labels.index(role.label) if role.label in labels else None


def _distance(exploration: Exploration, pair: Pair) -> str:
    base, new = (_place(exploration, role) for role in (pair.base, pair.new))
    if base is None or new is None:
        return ""
    return f" (distance {digits(float(exploration.distances[base, new]))})"


def threshold(exploration: Exploration) -> str:
    """From which distance on roles are told apart, and why."""
    reason = exploration.threshold_reason.rstrip(".")
    return f"Told apart from a distance of {digits(exploration.threshold)} on: {reason}."


def left_out(exploration: Exploration, top: int | None = None) -> list[str]:
    """How many comparisons are not shown."""
    more = 0 if top is None else max(len(exploration.pairs) - top, 0)
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


# -- tables ----------------------------------------------------------------------------------------


def groups_table(exploration: Exploration) -> Shown:
    """One row per group of roles that behave alike."""
    cells = []
    for number, cluster in enumerate(exploration.clusters, 1):
        roles = [exploration.roles[place] for place in cluster.members]
        lengths = sorted(mean_cycle_ns(role) for role in roles)
        cells.append(
            (
                str(number),
                units.count(len(roles)),
                _range(lengths[0], lengths[-1]),
                exploration.roles[cluster.representative].label,
            )
        )
    return Shown(
        f"Groups of roles that behave alike ({units.count(len(cells))})",
        ("group", "roles", "cycle time", "representative"),
        tuple(cells),
        (True, True, True, False),
        spare=(0, 0, 0, 0),
    )


def _range(low: float, high: float) -> str:
    shortest, longest = units.brief_ns(low), units.brief_ns(high)
    return shortest if shortest == longest else f"{shortest} to {longest}"


def roles_table(exploration: Exploration, top: int | None) -> Shown:
    """One row per role, group by group; the first ones of each large group."""
    rows = []
    for number, cluster in enumerate(exploration.clusters, 1):
        members = cluster.members if top is None else cluster.members[:top]
        rows += [(number, exploration.roles[place]) for place in members]
    cells = [
        (
            role.label,
            str(number),
            units.count(cycle_count(role)),
            units.brief_ns(mean_cycle_ns(role)),
            role.pid,
            role.host or "-",
        )
        for number, role in rows
    ]
    hosts = any(role.host for role in exploration.roles)
    height, shown = units.count(len(exploration.roles)), units.count(len(cells))
    table = Shown(
        f"Roles ({height if shown == height else f'{shown} of {height}'})",
        ("role", "group", "cycles", "cycle time", "pid", "host"),
        tuple(cells),
        (False, True, True, True, False, False),
        spare=(0, 0, 1, 0, 2, 3),
    )
    return table if hosts else with_columns(table, range(len(table.columns) - 1))


def cycle_count(role: Role) -> int:
    """Cycles of a role."""
    return role.behaviour["cycle"].n_unique()


def mean_cycle_ns(role: Role) -> float:
    """Mean length of a role's cycles; each counts once."""
    cycles = role.behaviour.select("cycle", "cycle_type", "cycle_dur_ns").unique()
    return float(cycles.select(pl.col("cycle_dur_ns").mean()).item() or 0)
