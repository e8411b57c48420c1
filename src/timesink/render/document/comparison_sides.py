"""Facts of what was compared, both sides beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.analyses.comparison.role import Role
from timesink.model import units
from timesink.output.blocks import Table
from timesink.output.columns import column, table
from timesink.render.document.meanings import ROLES
from timesink.reports.comparison.report import Compared
from timesink.reports.comparison.told import Told


def sides_block(pairs: Sequence[tuple[Compared, Told]]) -> Table:
    """One row per side and pair: file, process, cycles and how these were found."""
    roles = [(one.title, role) for one, told in pairs for role in (told.whole.base, told.whole.new)]
    return roles_block(roles, several=len({title for title, _ in roles}) > 1)


def roles_block(roles: Sequence[tuple[str, Role]], *, several: bool = False) -> Table:
    """One row per process; with what it belongs to where there are `several` such."""
    titles, every = [title for title, _ in roles], [role for _, role in roles]
    return table(
        "roles",
        "Processes",
        [
            *([column("case", "case", "text", titles)] if several else []),
            column("side", "side", "text", [role.label for role in every]),
            column("pid", "pid", "text", [role.pid for role in every]),
            column("rank", "rank", "count", [role.rank for role in every]),
            column("host", "host", "text", [role.host for role in every]),
            column("cycles", "cycles", "count", [role.cycles for role in every]),
            column("mean_ns", "cycle time", "time_ns",
                   [role.mean_cycle_ns or None for role in every]),
            column("anchor", "marked by", "text", [role.anchor for role in every]),
            column("method", "cycles found by", "text", [role.method for role in every]),
            column("confidence", "confidence", "share", [role.confidence for role in every]),
            column("source", "file", "text", [role.source for role in every]),
        ],
        note=units.counted(len(every), "processes") if len(every) > 2 else "",
        meanings=ROLES,
    )  # fmt: skip
