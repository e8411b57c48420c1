"""The answer of `timesink compare` as Markdown."""

from __future__ import annotations

from pathlib import Path

from timesink.analyses.clustering.exploration import Exploration
from timesink.output.markdown import bullets
from timesink.output.names import in_line
from timesink.output.tables import markdown_table
from timesink.render.comparison.exploring import (
    APART,
    apart,
    cycle_count,
    left_out,
    mean_cycle_ns,
    threshold,
)
from timesink.render.comparison.pair_markdown import pair_md
from timesink.render.comparison.ranks import rank_md
from timesink.render.comparison.words import both_labels
from timesink.render.shown import note_blocks
from timesink.reports.comparison.report import Comparison

__all__ = ["comparison_md", "exploration_md", "pair_md"]


def comparison_md(comparison: Comparison) -> str:
    """Every pair, one after the other; of many roles, who is alike and how the groups differ.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> comparison_md(same).splitlines()[2]
    '**Verdict: no change.** Cycle time is the same: 27.2 ms.'
    """
    if comparison.exploration is not None:
        return exploration_md(comparison, comparison.exploration)
    whole = [] if comparison.ranks is None else rank_md(comparison.ranks)
    reports = [pair_md(one.pair, one.title, one.diagnosis) for one in comparison.pairs]
    return "\n\n".join(
        [*whole, *reports, *note_blocks([in_line(note) for note in comparison.notes])]
    )


def exploration_md(comparison: Comparison, exploration: Exploration) -> str:
    """Roles, groups, and a report on every pair of representatives."""
    blocks = [
        "# Exploratory Performance Comparison",
        f"**{in_line(comparison.headline)}**",
        "## 1. Overview",
        _roles_md(exploration),
        "## 2. Clusters",
        threshold(exploration),
        _clusters_md(exploration),
        _apart_md(exploration),
        "## 3. Comparisons Between Clusters",
        bullets(left_out(exploration)) or ("" if exploration.pairs else "All roles are alike."),
        *(
            pair_md(one.pair, both_labels(one.pair), one.diagnosis, demoted=2)
            for one in comparison.all_pairs
        ),
        *note_blocks([in_line(note) for note in comparison.notes]),
    ]
    return "\n\n".join(filter(None, blocks))


def _apart_md(exploration: Exploration) -> str:
    said = [f"**Cluster {number}**: {in_line(sentence)}" for number, sentence in apart(exploration)]
    return f"{APART.format('cluster 1')}:\n\n{bullets(said)}" if said else ""


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
