"""The report on one pair as Markdown, with the sections and columns of the published one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import polars as pl

from timesink.analyses.comparison.pair import KeyFinding, Pair
from timesink.model.amounts import amounts
from timesink.model.diagnosis import Diagnosis
from timesink.render.comparison import published, words
from timesink.render.comparison.csv import published_rows, published_titles
from timesink.render.comparison.tables import families_table, known_amounts, times_table
from timesink.render.diagnosis.sections import verdict_block, why_blocks
from timesink.render.escaping import as_code, in_line
from timesink.render.shown import bullets, table_blocks
from timesink.reports.comparison.answer import answer
from timesink.reports.comparison.told import Told, known_load

_SIGNIFICANT = 0.05
_HEADING = re.compile(r"^(#+ )", re.MULTILINE)
_LEGEND = {
    "β (beta)": """time of the function in a cycle, as a share of the cycle's length. Calls that run
        side by side are added, so it may be above 100 %.""",
    "μ (mu)": """mean of the counter while the function ran, weighted by time, as it was recorded:
        not every counter is a percentage.""",
    "Device": "where the function ran, and whose counter it is.",
    "Z-Score": """change of the mean in standard deviations of the first run's cycles; 0 where these
        do not vary. `log_μ` is ln(1 + μ).""",
    "p-value, U-test p": """chance of such a difference between cycles of one kind, by Welch's test
        of the means and by the Mann-Whitney test of the ranks. None is corrected for the number of
        rows.""",
    "Suspicion Score": """`|Δβ| * (|Z-Score(β)| + |Z-Score(log_μ)|)`, which orders the rows. It
        has no scale of its own: a small spread in the first run makes it large.""",
}


def pair_md(pair: Pair, identifier: str, why: Diagnosis | None = None, *, demoted: int = 0) -> str:
    """The report on one pair, the answer to `why` first; its headings `demoted` by some levels."""
    report = "\n\n".join(
        filter(
            None,
            [
                f"# {in_line(title(pair, identifier))}",
                _caveat(pair),
                *([] if why is None else _why(why)),
                *_summary(pair),
                *_in_depth(pair),
                *_rest(pair),
            ],
        )
    )
    return _HEADING.sub("#" * demoted + r"\1", report) if demoted else report


def _why(why: Diagnosis) -> Iterable[str]:
    yield verdict_block(why)
    yield from why_blocks(why)
    yield bullets(map(in_line, why.notes))


def title(pair: Pair, identifier: str) -> str:
    """What was compared, and which processes."""
    base, new = pair.base, pair.new
    if pair.kind == "strict":
        ranked = base.rank is not None and base.rank == new.rank
        who = f"Rank: {base.rank}" if ranked else f"PID: {base.pid}"
        return f"Strict Performance Comparison: {identifier} ({who})"
    if pair.kind == "cross":
        sides = " vs ".join(f"{_word(role.label)} PID:{role.pid}" for role in (base, new))
        return f"Cross Performance Comparison: {identifier} ({sides})"
    return f"Performance Comparison: {words.both_labels(pair)}"


def _word(label: str) -> str:
    """The first word of a side's label: `Normal` of `normal_pid_12`."""
    return label.partition("_pid_")[0].capitalize()


def _caveat(pair: Pair) -> str:
    """That cycles do not hold the same work, and what equal work comes to; empty where they do."""
    if pair.workload.comparable:
        return ""
    unequal, *others = answer(Told(pair))
    tables = "The tables below compare the cycles as recorded."
    return "> " + in_line(" ".join([f"**{unequal}**", *others[:1], tables]))


# -- cycles ----------------------------------------------------------------------------------------


def _summary(pair: Pair) -> Iterable[str]:
    base, new = pair.base.label, pair.new.label
    yield "## 1. High-Level Performance Summary"
    yield published.table(
        ("Metric", base, new, f"Δ ({new} - {base})", "Change (%)"),
        published.summary_cells(pair.cycle_times),
        (False, True, True, True, True),
    )
    yield "## 2. Cycle Duration Distribution Comparison"
    yield published.table(
        ("Time Rank", f"{base} Time (us)", f"{new} Time (us)", "Δ (us)", "Δ (%)"),
        published.distribution_cells(pair.cycle_times),
        [True] * 5,
    )


# -- functions and counters ------------------------------------------------------------------------


def _in_depth(pair: Pair) -> Iterable[str]:
    told = Told(pair)
    yield "## 3. In-depth Core Metric Comparison"
    yield "### Overview"
    yield from _overview(told)
    yield "### Key Findings:"
    yield bullets(_findings(pair)) or "No row has a score above 10."
    yield "### Detailed comparison table"
    if pair.rows.is_empty():
        yield "No function of these recordings has a counter; section 4 has their times."
        return
    yield "One row per function, counter and device, the highest score first."
    cells, numeric = published.row_cells(published_rows(pair))
    yield published.table(published_titles(pair), cells, numeric)


def _overview(told: Told) -> Iterable[str]:
    lines = answer(told)
    yield in_line(" ".join([f"**{lines[0]}**", *lines[1:]]))
    pair = told.whole
    if pair.findings:
        row = pair.rows.row(pair.findings[0].row, named=True)
        which = "larger" if row["beta_delta_pct"] > 0 else "smaller"
        yield (
            f"By score, {as_code(row['function'])} stands out: its share of the cycle is {which} "
            f"in {as_code(pair.new.label)} than in {as_code(pair.base.label)}."
        )
    if not pair.rows.is_empty() and _above_whole(pair.rows):
        yield "Some shares are above 100 %: what runs on several threads counts for each of them."
    if told.pair is not pair:
        yield "All tables below compare the cycles as recorded, without regard to their work."
    yield bullets(map(in_line, words.notes(told)))


def _above_whole(rows: pl.DataFrame) -> bool:
    return bool(
        (pl.Series(rows["beta_base_pct"]) > 100).any() or (rows["beta_new_pct"] > 100).any()
    )


def _findings(pair: Pair) -> Iterable[str]:
    for finding in pair.findings:
        yield _finding(pair, finding)


def _finding(pair: Pair, finding: KeyFinding) -> str:
    row = pair.rows.row(finding.row, named=True)
    p = row["beta_welch_p"]
    certain = "beyond chance" if p < _SIGNIFICANT else "within what chance may do"
    said = f"{certain} (p = {p:.3f})" if Told(pair, as_recorded=True).is_tested(row) else "p = -"
    share = (
        f"share of the cycle (β) {_direction(row['beta_delta_pct'])} from "
        f"**{row['beta_base_pct']:.2f}%** to **{row['beta_new_pct']:.2f}%** "
        f"({row['beta_delta_pct']:+.2f} ppt), {said}"
    )
    metrics = [_metric(known_load(pair, place)) for place in finding.metrics]
    head = f"**{as_code(finding.function)}** on **{in_line(finding.device)}**"
    return "\n  - ".join([head, share, *metrics])


def _metric(row: dict[str, Any]) -> str:
    if row["mu_base"] is None or row["mu_new"] is None:
        return f"**{as_code(row['metric'])}** {known_amounts(row)} (not known)"
    said = (
        f"**{as_code(row['metric'])}** {_direction(row['mu_delta'])} from {row['mu_base']:,.2f} to "
        f"{row['mu_new']:,.2f}"
    )
    return (
        f"{said} ({amounts(row['mu_base'], row['mu_new'], row['unit'])})" if row["unit"] else said
    )


def _direction(delta: float) -> str:
    return "rose" if delta > 0 else "fell"


# -- the rest --------------------------------------------------------------------------------------


def _rest(pair: Pair) -> Iterable[str]:
    yield "## 4. Functions Without Metrics"
    yield "Time per cycle, over all cycles; a cycle in which a function did not run counts as zero."
    whole = Told(pair, as_recorded=True)
    yield in_line(
        f"{whole.unrecorded[0].upper()}{whole.unrecorded[1:]}." if whole.unrecorded else ""
    )
    without = times_table(whole, None, measured=False)
    yield from table_blocks(without) if without.rows else ["Every function has a counter."]
    if not whole.families.is_empty():
        yield "### Names that do not meet"
        yield (
            "Functions that exist under their exact name on one side only, brought together by "
            "name without template arguments, tile sizes and numbers, or else by family."
        )
        yield from table_blocks(families_table(whole, None))
    yield "## 5. Legend"
    yield bullets(f"**{word}**: {' '.join(meaning.split())}" for word, meaning in _LEGEND.items())
