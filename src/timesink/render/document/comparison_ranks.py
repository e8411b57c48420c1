"""What changed over all ranks of a run, as a section of a document."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from timesink.analyses.ranks.changes.comparing import PartChange, RankChanges
from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.statistics.discovery import ALPHA
from timesink.model.amounts import signed_ns
from timesink.output.blocks import AttributedPart, Attribution, Block, Column, Section, Table, Tone
from timesink.output.columns import column, known, table
from timesink.render.comparison.ranks import PART_NAMES, SOURCE_NAMES, TITLE, sentences
from timesink.render.document.diagnosis_blocks import paragraphs
from timesink.reports.comparison.late_ranks import late_together

_MOST_ROWS = 200
_TONES: dict[str, Tone] = {"regression": "bad", "improvement": "good", "incomparable": "warning"}


def rank_sections(found: RankChanges | None) -> Iterator[Section]:
    """Steps, stragglers, ranks and collectives; nothing where runs have one rank."""
    if found is not None:
        yield Section("ranks", TITLE, tuple(_blocks(found)))


def _blocks(found: RankChanges) -> Iterator[Block]:
    first, *others = sentences(found)
    yield from paragraphs([first], _TONES.get(found.verdict, "plain"))
    is_late = any(each.state in {"new", "worse"} for each in found.stragglers)
    yield from paragraphs(others, "bad" if is_late else "plain")
    if found.attribution:
        yield _attribution(found)
    if found.stragglers:
        yield _stragglers(found)
    if found.ranks.height:
        yield _ranks(found)
    if found.collectives.height:
        yield _collectives(found)


def _attribution(found: RankChanges) -> Attribution:
    change = found.step_time.new_ns - found.step_time.base_ns
    title = f"The mean step of all ranks ({signed_ns(change)})"
    return Attribution(title, "time_ns", change, tuple(_part(each) for each in found.attribution))


def _part(one: PartChange) -> AttributedPart:
    low, high = one.interval_ns or (None, None)
    return AttributedPart(
        one.part,
        PART_NAMES[one.part],
        "",
        one.base_ns,
        one.new_ns,
        one.delta_ns,
        known(low),
        known(high),
        one.p_value is not None and one.p_value < ALPHA,
    )


def _stragglers(found: RankChanges) -> Table:
    groups = late_together(found)
    worst = [max(one, key=lambda each: max(each.base_ns, each.new_ns)) for one in groups]
    ranks = [ranges_of((each.rank for each in one), most=8) for one in groups]
    steps = [len({step for each in one for step in each.steps}) for one in groups]
    return table(
        "rank-stragglers",
        "Stragglers",
        [
            column("rank", "rank", "text", ranks),
            column("state", "state", "text", [one.state for one in worst]),
            column("cause", "cause", "text", [one.cause for one in worst]),
            column("base_ns", "others wait, base", "time_ns", [one.base_ns for one in worst]),
            column(
                "new_ns", "others wait, new", "time_ns", [one.new_ns for one in worst], bar=True
            ),
            column("steps", "steps", "count", steps),
            column("evidence", "evidence", "text", [" ".join(one.evidence) for one in worst]),
        ],
    )


def _ranks(found: RankChanges) -> Table:
    rows = found.ranks.head(_MOST_ROWS)
    return table(
        "rank-changes",
        "Ranks against themselves before",
        [
            column("rank", "rank", "count", rows["rank"]),
            column("source", "where", "text", [SOURCE_NAMES[one] for one in rows["source"]]),
            column("base_ns", "base, per step", "time_ns", rows["base_ns"]),
            column("new_ns", "new, per step", "time_ns", rows["new_ns"]),
            column("change_ns", "change", "time_ns", rows["change_ns"]),
            column("beyond_ns", "beyond its peers", "time_ns", rows["beyond_ns"]),
            _changed(rows),
        ],
        total_rows=found.ranks.height,
    )


def _collectives(found: RankChanges) -> Table:
    rows = found.collectives.head(_MOST_ROWS)
    return table(
        "rank-collectives",
        "Collectives",
        [
            column("group_kind", "group", "text", rows["group_kind"]),
            column("collective", "collective", "text", rows["collective"]),
            column("size_bytes", "size", "bytes", rows["size_bytes"]),
            column("group_size", "ranks", "count", rows["group_size"]),
            column("transfer_base_ns", "transfer, base", "time_ns", rows["transfer_base_ns"]),
            column("transfer_new_ns", "transfer, new", "time_ns", rows["transfer_new_ns"]),
            column("wait_base_ns", "wait, base", "time_ns", rows["wait_base_ns"]),
            column("wait_new_ns", "wait, new", "time_ns", rows["wait_new_ns"]),
            column("bus_base", "bus, base", "bytes_per_s", rows["bus_base_bytes_per_s"]),
            column("bus_new", "bus, new", "bytes_per_s", rows["bus_new_bytes_per_s"]),
            column("p_value", "p", "p_value", rows["p_value"]),
            _changed(rows),
        ],
        total_rows=found.collectives.height,
    )


def _changed(rows: pl.DataFrame) -> Column:
    return column("changed", "changed", "text", ["yes" if one else "" for one in rows["changed"]])
