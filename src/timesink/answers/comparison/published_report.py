"""The report as Markdown, with the sections and columns of the published one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from timesink.answers.comparison import causes, published_tables, rank_sets
from timesink.answers.comparison.changes import PairView, family_names, known_amounts, known_load
from timesink.answers.comparison.naming import pair_title
from timesink.answers.comparison.program import edits_blocks, opening_lines, without_edits
from timesink.answers.comparison.rank_sets import comparison_headline
from timesink.answers.comparison.sentences import both_labels, notes, summary_sentences
from timesink.answers.views import parts_of
from timesink.comparison.causes.diagnosis import diagnose
from timesink.comparison.results import Comparison, Exploration, KeyFinding, Pair
from timesink.comparison.steps.verdict import either_p
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.model.units import amounts, chance, change, from_to, per_cycle, times
from timesink.output.blocks import Section
from timesink.output.markdown import bullets, section_markdown
from timesink.output.names import as_code, in_line
from timesink.output.tables import markdown_table
from timesink.output.terminal import FILE_WIDTH, attribution_lines, to_plain
from timesink.patterns import regex

_SIGNIFICANT = 0.05
_MAX_RANKS = 20
"""Rows of the tables of ranks and collectives."""
_HEADING = regex(r"^(#+ )", re.MULTILINE)


def comparison_md(comparison: Comparison) -> str:
    """Every pair, in order; of many roles, who is alike and how the groups differ."""
    if comparison.exploration is not None:
        return _exploration_md(comparison, comparison.exploration)
    rank_reports = filter(None, [ranks_md(comparison)])
    reports = [pair_md(pair, pair_title(pair), diagnose(pair)) for pair in comparison.pairs]
    return "\n\n".join([*rank_reports, *reports, *_notes(comparison)])


def ranks_md(comparison: Comparison) -> str:
    """What changed over all ranks; empty where runs have one."""
    sections = rank_sets.rank_sections(comparison.ranks, _MAX_RANKS)
    return "\n\n".join(section_markdown(section, "#") for section in sections)


def _notes(comparison: Comparison) -> list[str]:
    return ["## Notes", bullets(map(in_line, comparison.notes))] if comparison.notes else []


def pair_md(pair: Pair, identifier: str, why: Diagnosis | None = None, *, demoted: int = 0) -> str:
    """The report on one pair, the answer to `why` first; its headings `demoted` by some levels."""
    report = "\n\n".join(
        filter(
            None,
            [
                f"# {in_line(title(pair, identifier))}",
                _caveat(pair),
                *([] if why is None else why_md(why)),
                *_summary(pair),
                *_in_depth(pair),
                *_rest(pair),
            ],
        )
    )
    return _HEADING.sub("#" * demoted + r"\1", report) if demoted else report


def why_md(why: Diagnosis) -> Iterator[str]:
    """The edits, the verdict, parts of the change, causes, anomalies and what to check next."""
    first = opening_lines(why)
    if first:
        yield in_line(" ".join([f"**{first[0]}**", *first[1:]]))
    yield f"**Verdict: {causes.verdict_sentence(why).lower()}.** {in_line(why.reason)}".rstrip()
    for table in edits_blocks(why):
        if first and table.rows > 1:
            yield section_markdown(Section("", "", (table,)))
    why = without_edits(why) if first else why
    parts = causes.attribution_block(why, attributed=True)
    if parts.rows and causes.has_changed(why):
        bars = to_plain(attribution_lines(parts, FILE_WIDTH), FILE_WIDTH)
        yield f"{parts.title}:"
        yield f"```\n{bars}\n```"
    rest = " ".join(filter(None, (causes.no_cause(why), causes.unexplained_line(why))))
    entries = [(causes.cause_line(cause), cause) for cause in why.causes]
    around = [(causes.anomaly_line(anomaly), anomaly) for anomaly in why.anomalies]
    yield from _entries(causes.why_title(why), entries, rest)
    yield from _entries(causes.AROUND, around, causes.below_anomalies(why))
    checks = causes.checks(why)
    if checks:
        yield f"**{causes.NEXT}**"
        yield bullets(map(in_line, checks))
    yield bullets(map(in_line, why.notes))


def _entries(title: str, entries: Sequence[tuple[str, Any]], below: str) -> Iterator[str]:
    """Numbered sentences with the first things to look at, and what stands below them."""
    if entries or below:
        yield f"**{title}**"
        yield "\n".join(
            "\n   - ".join(map(in_line, [f"{number}. {line}", *causes.evidence_lines(finding)]))
            for number, (line, finding) in enumerate(entries, 1)
        )
        yield in_line(below)


def title(pair: Pair, identifier: str) -> str:
    """What was compared, and which processes."""
    base, new = pair.base, pair.new
    if pair.kind == "strict":
        ranked = base.rank is not None and base.rank == new.rank
        who = f"Rank: {base.rank}" if ranked else f"PID: {base.pid}"
        return f"Strict Performance Comparison: {identifier} ({who})"
    if pair.kind == "cross":
        # The first word of a side's label: `Normal` of `normal_pid_12`.
        words = [role.label.partition("_pid_")[0].capitalize() for role in (base, new)]
        sides = f"{words[0]} PID:{base.pid} vs {words[1]} PID:{new.pid}"
        return f"Cross Performance Comparison: {identifier} ({sides})"
    return f"Performance Comparison: {both_labels(pair)}"


def _caveat(pair: Pair) -> str:
    """That cycles do not hold the same work, and what equal work comes to; empty where they do."""
    if pair.workload.comparable:
        return ""
    unequal, *other_lines = summary_sentences(PairView(pair))
    tables = "The tables below compare the cycles as recorded."
    return "> " + in_line(" ".join([f"**{unequal}**", *other_lines[:1], tables]))


def _summary(pair: Pair) -> Iterable[str]:
    base, new = pair.base.label, pair.new.label
    yield "## 1. High-Level Performance Summary"
    yield published_tables.published_table(
        ("Metric", base, new, f"Δ ({new} - {base})", "Change (%)"),
        published_tables.summary_cells(pair.cycle_times),
        (False, True, True, True, True),
    )
    yield "## 2. Cycle Duration Distribution Comparison"
    yield published_tables.published_table(
        ("Time Rank", f"{base} Time (us)", f"{new} Time (us)", "Δ (us)", "Δ (%)"),
        published_tables.distribution_cells(pair.cycle_times),
        [True] * 5,
    )


def _in_depth(pair: Pair) -> Iterable[str]:
    report = PairView(pair)
    yield "## 3. In-depth Core Metric Comparison"
    yield "### Overview"
    yield from _overview(report)
    yield "### Key Findings:"
    yield (
        bullets(_finding_line(pair, finding) for finding in pair.findings)
        or "No row has a score above 10."
    )
    yield "### Detailed comparison table"
    if pair.rows.is_empty():
        yield "No function of these recordings has a counter; section 4 has their times."
        return
    yield "One row per function, counter and device, the highest score first."
    cells, numeric = published_tables.row_cells(published_tables.published_rows(pair))
    yield published_tables.published_table(published_tables.published_titles(pair), cells, numeric)


def _overview(report: PairView) -> Iterable[str]:
    lines = summary_sentences(report)
    yield in_line(" ".join([f"**{lines[0]}**", *lines[1:]]))
    pair = report.full_pair
    if pair.findings:
        row = pair.rows.row(pair.findings[0].row, named=True)
        which = "larger" if row["beta_delta_pct"] > 0 else "smaller"
        yield (
            f"By score, {as_code(row['function'])} stands out: its share of the cycle is {which} "
            f"in {as_code(pair.new.label)} than in {as_code(pair.base.label)}."
        )
    if any((pair.rows[f"beta_{side}_pct"] > 100).any() for side in ("base", "new")):
        yield "Some shares are above 100 %: what runs on several threads counts for each of them."
    if report.pair is not pair:
        yield "All tables below compare the cycles as recorded, without regard to their work."
    yield bullets(map(in_line, notes(report)))


def _finding_line(pair: Pair, finding: KeyFinding) -> str:
    row = pair.rows.row(finding.row, named=True)
    p = row["beta_welch_p"]
    certain = "beyond chance" if p < _SIGNIFICANT else "within what chance may do"
    test_text = (
        f"{certain} (p = {p:.3f})" if PairView(pair, as_recorded=True).is_tested(row) else "p = -"
    )
    share = (
        f"share of the cycle (β) {_direction(row['beta_delta_pct'])} from "
        f"**{row['beta_base_pct']:.2f}%** to **{row['beta_new_pct']:.2f}%** "
        f"({row['beta_delta_pct']:+.2f} ppt), {test_text}"
    )
    metrics = [_metric(known_load(pair, place)) for place in finding.metrics]
    head = f"**{as_code(finding.function)}** on **{in_line(finding.device)}**"
    return "\n  - ".join([head, share, *metrics])


def _metric(row: dict[str, Any]) -> str:
    if row["mu_base"] is None or row["mu_new"] is None:
        return f"**{as_code(row['metric'])}** {known_amounts(row)} (not known)"
    text = (
        f"**{as_code(row['metric'])}** {_direction(row['mu_delta'])} from {row['mu_base']:,.2f} to "
        f"{row['mu_new']:,.2f}"
    )
    return (
        f"{text} ({amounts(row['mu_base'], row['mu_new'], row['unit'])})" if row["unit"] else text
    )


def _direction(delta: float) -> str:
    return "rose" if delta > 0 else "fell"


def _rest(pair: Pair) -> Iterable[str]:
    yield "## 4. Functions Without Metrics"
    yield "Time per cycle, over all cycles; a cycle in which a function did not run counts as zero."
    report = PairView(pair, as_recorded=True)
    yield in_line(
        f"{report.unrecorded[0].upper()}{report.unrecorded[1:]}." if report.unrecorded else ""
    )
    without = report.times.filter(~pl.col("measured"))
    yield _times_md(report, without) if without.height else "Every function has a counter."
    if not report.families.is_empty():
        yield "### Names that do not meet"
        yield (
            "Functions that exist under their exact name on one side only, brought together by "
            "name without template arguments, tile sizes and numbers, or else by family."
        )
        yield _times_md(report, report.families)
    yield "## 5. Legend"
    yield bullets(f"**{word}**: {part.meaning}" for word, part in parts_of("published").items())


def _times_md(report: PairView, table: pl.DataFrame) -> str:
    """Functions, or families of them where the table holds their names."""
    are_families = "names_base" in table.columns
    labels = family_names(table) if are_families else map(report.label, table["function"])
    rows = []
    for label, row in zip(
        labels,
        table.with_columns(p=either_p("welch_p", "rank_p")).iter_rows(named=True),
        strict=True,
    ):
        p, runs_on = chance(row["p"]) if report.tested else "-", row.get("runs_on")
        calls = map(per_cycle, (row["calls_base"], row["calls_new"]))
        last = (p, " → ".join(dict.fromkeys(calls)))
        if are_families:
            base, new = (len(row[f"names_{side}"] or ()) for side in ("base", "new"))
            runs_on = "both" if base and new else "base" if base else "new"
            last = (from_to(units.count(base), units.count(new)), p)
        # What runs on one side only has gone, or is new.
        moved = change(row["base_ns"], row["new_ns"])
        moved = {"base": "gone", "new": "new"}.get(runs_on or "", moved)
        rows.append((label, row["device"], times(row["base_ns"], row["new_ns"]), moved, *last))
    last_titles = ("names", "p") if are_families else ("p", "calls")
    titles = ("function", "device", "time per cycle", "change", *last_titles)
    return markdown_table(titles, rows, (False, False, *[True] * 4))


def _exploration_md(comparison: Comparison, exploration: Exploration) -> str:
    """Roles, groups, and a report on every pair of representatives."""
    group = {
        place: str(number)
        for number, cluster in enumerate(exploration.clusters, 1)
        for place in cluster.members
    }
    roles = [
        (
            role.label,
            str(role.cycles),
            f"{role.mean_cycle_ns / 1000:,.2f}",
            Path(role.source).name,
            role.pid,
            group.get(place, "-"),
        )
        for place, role in enumerate(exploration.roles)
    ]
    clusters = [
        (
            str(number),
            exploration.roles[cluster.representative].label,
            str(len(cluster.members)),
            ", ".join(exploration.roles[place].label for place in cluster.members),
        )
        for number, cluster in enumerate(exploration.clusters, 1)
    ]
    apart = bullets(
        f"**Cluster {number}**: {in_line(sentence)}"
        for number, sentence in rank_sets.apart_lines(exploration)
    )
    blocks = [
        "# Exploratory Performance Comparison",
        f"**{in_line(comparison_headline(comparison))}**",
        "## 1. Overview",
        markdown_table(
            ("Role", "Cycles", "Avg Cycle Time (us)", "File", "PID", "Cluster"),
            roles,
            (False, True, True, False, False, True),
        ),
        "## 2. Clusters",
        rank_sets.threshold(exploration),
        markdown_table(
            ("Cluster", "Representative", "Roles", "Members"), clusters, (True, False, True, False)
        ),
        f"{rank_sets.APART.format('cluster 1')}:\n\n{apart}" if apart else "",
        "## 3. Comparisons Between Clusters",
        bullets(rank_sets.left_out(exploration))
        or ("" if exploration.pairs else "All roles are alike."),
        *(
            pair_md(pair, both_labels(pair), diagnose(pair), demoted=2)
            for pair in comparison.all_pairs
        ),
        *_notes(comparison),
    ]
    return "\n\n".join(filter(None, blocks))
