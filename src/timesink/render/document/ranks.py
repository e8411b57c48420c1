"""Ranks that hold the others up: cards that say who, why and what to try, and a map of all."""

from __future__ import annotations

from timesink.analyses.ranks.rank_set import RankSet
from timesink.model import units
from timesink.output.blocks import (
    Block,
    CauseCard,
    Causes,
    Heatmap,
    HeatRow,
    Link,
    Section,
    Text,
    Tone,
)
from timesink.render.diagnosis.words import cause_name
from timesink.render.ranks import words
from timesink.render.ranks.heat import heat_of
from timesink.render.ranks.words import MOST_CARDS, Held, held_up

_MOST_LINKS = 3
SECTION, TITLE = "stragglers", "Who holds the others up"


def stragglers_section(ranks: RankSet) -> Section:
    """Who holds the others up, why, at which cost; that nobody does is said as well.

    >>> import timesink
    >>> from timesink.analyses.ranks.rank_set import ranks_of_traces
    >>> section = stragglers_section(ranks_of_traces({"rank0": timesink.open(timesink.sample())}))
    >>> section.blocks[0].text
    'Only one rank could be read: whether it holds others up cannot be told.'
    """
    found = ranks.analysis
    held = held_up(found.stragglers, found.panel)
    cards = tuple(_card(one, ranks) for one in held[:MOST_CARDS])
    answer: Block = Causes(cards, "")
    if not cards:
        tone: Tone = "good" if words.is_judged(ranks) else "notice"
        answer = Text(words.nobody_sentence(ranks), tone)
    blocks = [answer, *(Text(said, "warning") for said in words.grave_notes(ranks))]
    if len(held) > MOST_CARDS:
        others = units.counted(len(held) - MOST_CARDS, "more ranks")
        blocks.append(Text(f"{others} that cost less are in the table of ranks.", "notice"))
    if words.is_judged(ranks):
        blocks.append(heatmap(ranks))
    return Section(SECTION, TITLE, tuple(blocks))


def heatmap(ranks: RankSet) -> Heatmap:
    """How long each rank let others wait in each step."""
    found = ranks.analysis
    causes = {rank: one for one in held_up(found.stragglers, found.panel) for rank in one.ranks}
    heat = heat_of(found.panel, set(causes))
    rows = []
    for row in heat.rows:
        alone = row.ranks[0] if len(row.ranks) == 1 else None
        held = causes.get(row.ranks[0]) if alone is not None else None
        rows.append(
            HeatRow(
                row.name,
                row.values,
                _about(row.ranks, held, ranks),
                "" if alone is None else ranks.workers.get(alone, ""),
                held is not None,
            )
        )
    return Heatmap(
        "wait-caused",
        "Wait caused, by rank and step",
        "time_ns",
        "wait caused",
        "rank",
        "step",
        heat.columns,
        tuple(rows),
        "holds the others up" if causes else "",
        heat.note,
    )


def _about(numbers: tuple[int, ...], held: Held | None, ranks: RankSet) -> str:
    if len(numbers) > 1:
        return f"the largest of {units.counted(len(numbers), 'ranks')}"
    pieces = [] if held is None else [cause_name(held.cause).lower().replace("gpu", "GPU")]
    host = ranks.ranks[numbers[0]].about.host
    return ", ".join([*pieces, *([f"on {host}"] if host else [])])


def _card(one: Held, ranks: RankSet) -> CauseCard:
    first, *others = (*one.evidence, "")
    said = f"{words.held_sentence(one, ranks.analysis.panel)} {first}".strip()
    links = tuple(
        Link(f"rank {rank} among the others", "ranks", f"rank={rank}")
        for rank in one.ranks[:_MOST_LINKS]
    )
    return CauseCard(
        cause=one.cause,
        role="straggler",
        title=one.title,
        sentence=said,
        explained=one.cost_ns,
        kind="time_ns",
        share=one.share,
        share_word="of the run",
        advice=words.advice(one),
        evidence=tuple(filter(None, others)),
        links=links,
    )
