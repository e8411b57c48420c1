"""What changed over all ranks of a run, as a section of a document."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from timesink.analyses.ranks.changes.comparing import RankChanges
from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.statistics.discovery import ALPHA
from timesink.answers.causes import paragraphs
from timesink.model.amounts import signed_ns
from timesink.output.blocks import AttributedPart, Attribution, Block, Column, Section, Table, Tone
from timesink.output.columns import column, known, table
from timesink.reports.comparison.late_ranks import late_together, straggler_sentences
from timesink.reports.comparison.rank_headline import steps_sentence

TITLE = "Ranks"
_PART_NAMES = {
    "compute": "kernels",
    "copies": "copies",
    "transfer": "exposed transfer",
    "waiting": "waiting for other ranks",
    "data_loading": "data loading",
    "host": "host code",
    "idle": "no activity recorded",
}
"""Parts of a step in words."""
_SOURCE_NAMES = {
    "kernels": "kernels",
    "copies": "copies",
    "loading": "data loading",
    "host": "host",
}
"""Where own time of a rank comes from, in words."""
_NO_STRAGGLER = "No rank is a straggler on either side."
_NOT_NEW = "No straggler is new, gone or worse."
_MOST_ROWS = 200
_TONES: dict[str, Tone] = {"regression": "bad", "improvement": "good", "incomparable": "warning"}


def rank_sections(found: RankChanges | None, top: int | None = None) -> Iterator[Section]:
    """Steps, stragglers, ranks and collectives; nothing where runs have one rank.

    With `top`, as text: so many rows, and only ranks that changed.
    """
    if found is not None:
        yield Section("ranks", TITLE, tuple(_blocks(found, top)))


def _blocks(found: RankChanges, top: int | None) -> Iterator[Block]:
    yield from paragraphs([steps_sentence(found)], _TONES.get(found.verdict, "plain"))
    late = list(straggler_sentences(found))
    is_late = any(each.state in {"new", "worse"} for each in found.stragglers)
    others = late or [_NOT_NEW if found.stragglers else _NO_STRAGGLER]
    yield from paragraphs(others, "bad" if is_late else "plain")
    if found.attribution:
        yield _attribution(found)
    if found.stragglers:
        yield _stragglers(found)
    ranks = found.ranks if top is None else found.changed_ranks
    if ranks.height:
        yield _ranks(ranks, top or _MOST_ROWS)
    if found.collectives.height:
        yield _collectives(found, top or _MOST_ROWS)


def _attribution(found: RankChanges) -> Attribution:
    change = found.step_time.new_ns - found.step_time.base_ns
    parts = [
        AttributedPart(
            one.part,
            _PART_NAMES[one.part],
            "",
            one.base_ns,
            one.new_ns,
            one.delta_ns,
            known(one.interval_ns[0]) if one.interval_ns else None,
            known(one.interval_ns[1]) if one.interval_ns else None,
            one.p_value is not None and one.p_value < ALPHA,
        )
        for one in found.attribution
    ]
    title = f"The mean step of all ranks ({signed_ns(change)})"
    return Attribution(title, "time_ns", change, tuple(parts))


def _stragglers(found: RankChanges) -> Table:
    """Who holds others up on either side, those of one reason together."""
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
            column("steps", "steps", "count", steps, spare=1),
            column("evidence", "evidence", "text", [" ".join(one.evidence) for one in worst],
                   spare=2),
        ],
    )  # fmt: skip


def _ranks(ranks: pl.DataFrame, most: int) -> Table:
    """What ranks took against themselves before, and beyond what their peers did."""
    rows = ranks.head(most)
    return table(
        "rank-changes",
        "Ranks against themselves before",
        [
            column("rank", "rank", "count", rows["rank"]),
            column("source", "where", "text", [_SOURCE_NAMES[one] for one in rows["source"]]),
            column("base_ns", "base, per step", "time_ns", rows["base_ns"]),
            column("new_ns", "new, per step", "time_ns", rows["new_ns"]),
            column("change_ns", "change", "time_ns", rows["change_ns"], signed=True),
            column("beyond_ns", "beyond its peers", "time_ns", rows["beyond_ns"], signed=True),
            _changed(rows),
        ],
        total_rows=ranks.height,
    )


def _collectives(found: RankChanges, most: int) -> Table:
    """Collectives by kind and size; those whose transfer changed first."""
    rows = found.collectives.head(most)
    return table(
        "rank-collectives",
        "Collectives",
        [
            column("group_kind", "group", "text", rows["group_kind"], spare=2),
            column("collective", "collective", "text", rows["collective"]),
            column("size_bytes", "size", "bytes", rows["size_bytes"]),
            column("group_size", "ranks", "count", rows["group_size"], spare=1),
            column("transfer_base_ns", "transfer, base", "time_ns", rows["transfer_base_ns"]),
            column("transfer_new_ns", "transfer, new", "time_ns", rows["transfer_new_ns"]),
            column("wait_base_ns", "wait, base", "time_ns", rows["wait_base_ns"], spare=4),
            column("wait_new_ns", "wait, new", "time_ns", rows["wait_new_ns"], spare=4),
            column("bus_base", "bus, base", "bytes_per_s", rows["bus_base_bytes_per_s"], spare=5),
            column("bus_new", "bus, new", "bytes_per_s", rows["bus_new_bytes_per_s"], spare=5),
            column("p_value", "p", "p_value", rows["p_value"], spare=3),
            _changed(rows),
        ],
        total_rows=found.collectives.height,
    )


def _changed(rows: pl.DataFrame) -> Column:
    return column("changed", "changed", "text", ["yes" if one else "" for one in rows["changed"]])
