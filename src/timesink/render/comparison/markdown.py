"""The answer of `timesink compare` as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from timesink.analyses.clustering.exploration import Exploration
from timesink.render.comparison.exploring import cycle_count, left_out, mean_cycle_ns, threshold
from timesink.render.comparison.pair_markdown import bullets, pair_md
from timesink.render.comparison.words import both_labels
from timesink.render.table import markdown_table
from timesink.reports.comparison.report import Comparison

__all__ = ["comparison_md", "exploration_md", "pair_md"]


def comparison_md(comparison: Comparison) -> str:
    """Every pair, one after the other; of many roles, who is alike and how the groups differ."""
    if comparison.exploration is not None:
        return exploration_md(comparison, comparison.exploration)
    reports = [pair_md(one.pair, one.identifier + one.suffix) for one in comparison.pairs]
    return "\n\n".join([*reports, *_note_blocks(comparison.notes)])


def _note_blocks(notes: Iterable[str]) -> list[str]:
    lines = bullets(notes)
    return ["## Notes", lines] if lines else []


def exploration_md(comparison: Comparison, exploration: Exploration) -> str:
    """Roles, groups, and a report on every pair of representatives."""
    blocks = [
        "# Exploratory Performance Comparison",
        f"**{comparison.headline}**",
        "## 1. Overview",
        _roles_md(exploration),
        "## 2. Clusters",
        threshold(exploration),
        _clusters_md(exploration),
        "## 3. Comparisons Between Clusters",
        bullets(left_out(exploration)) or ("" if exploration.pairs else "All roles are alike."),
        *(pair_md(pair, both_labels(pair), demoted=2) for pair in exploration.pairs),
        *_note_blocks(comparison.notes),
    ]
    return "\n\n".join(filter(None, blocks))


def _roles_md(exploration: Exploration) -> str:
    group = {
        place: str(number)
        for number, cluster in enumerate(exploration.clusters, 1)
        for place in cluster.members
    }
    rows = [
        (
            role.label,
            str(cycle_count(role)),
            f"{mean_cycle_ns(role) / 1000:,.2f}",
            Path(role.source).name,
            role.pid,
            group.get(place, "-"),
        )
        for place, role in enumerate(exploration.roles)
    ]
    titles = ("Role", "Cycles", "Avg Cycle Time (us)", "File", "PID", "Cluster")
    return markdown_table(titles, rows, (False, True, True, False, False, True))


def _clusters_md(exploration: Exploration) -> str:
    rows = [
        (
            str(number),
            exploration.roles[cluster.representative].label,
            str(len(cluster.members)),
            ", ".join(exploration.roles[place].label for place in cluster.members),
        )
        for number, cluster in enumerate(exploration.clusters, 1)
    ]
    titles = ("Cluster", "Representative", "Roles", "Members")
    return markdown_table(titles, rows, (True, False, True, False))
