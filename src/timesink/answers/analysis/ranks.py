"""Sections about a set of ranks: who holds the others up, why and at which cost; a map of all.

Of a single trace there is none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeAlias

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from timesink.analyses.ranks import RankSet, set_notes
from timesink.analyses.ranks.lateness import TIMES_NOISE, Panel, least_share
from timesink.analyses.ranks.own_time import the_ranks
from timesink.answers.analysis.held_up import Held, cost_a_step, held_sentence, held_up
from timesink.answers.analysis.tables import Analysed, Made, neighbours, tables_section, together
from timesink.answers.causes import cause_name
from timesink.answers.views import listed_table
from timesink.model import units
from timesink.output import blocks
from timesink.rules.communication import odd_rank

MOST_CARDS = 8
_MOST_LINKS = 3
_MOST_NAMED = 8
MOST_ROWS = 200
"""More ranks are not shown one by one."""
MOST_COLUMNS = 120
_BRIEF_ROWS, _BRIEF_COLUMNS = 16, 60
"""The same in text."""
_MERGED_ROWS = 64
"""Where ranks stand together, so many rows are enough."""


def _is_judged(ranks: RankSet) -> bool:
    """Whether there is enough to tell who holds whom up: several ranks with steps in common."""
    panel = ranks.analysis.panel
    return len(panel.ranks) > 1 and bool(panel.steps)


def nobody_sentence(ranks: RankSet) -> str:
    """That no rank holds the others up, and how that was judged."""
    panel = ranks.analysis.panel
    if len(panel.ranks) < 2:
        return "Only one rank could be read: whether it holds others up cannot be told."
    if not panel.steps:
        return "No step is on most of the ranks: whether one holds the others up cannot be told."
    judged = f"{units.counted(len(panel.ranks), 'ranks')} over "
    judged += f"{units.counted(len(panel.steps), 'steps')} were judged"
    said = (
        f"No rank holds the others up. {judged}; what a rank lets others wait counts from "
        f"{100 * least_share(len(panel.ranks)):.1f} % of the run on, if it is {TIMES_NOISE} times "
        "what chance gives the other ranks."
    )
    cost = panel.held.sum(axis=1)
    if panel.run_ns and cost.any():
        # That the first and the second are near is why neither is blamed.
        first, second = (
            f"rank {panel.ranks[place]} ({units.share(cost[place], panel.run_ns)} of the run)"
            for place in np.argsort(-cost, kind="stable")[:2].tolist()
        )
        said += f" Most is caused by {first}, then by {second}."
    # Of some nothing can be said: everybody may be waiting for them.
    known = (*ranks.missing, *(each.rank for each in ranks.damaged if each.rank is not None))
    return f"{said} Of {the_ranks(known)} nothing is known." if known else said


def _notes_on(ranks: RankSet) -> tuple[list[str], list[str]]:
    """What is to be known about the set, as sentences: what is grave, and what else.

    Who is missing and who could not be read is grave: less can be said without them.
    """
    said = [f"{note[0].upper()}{note[1:]}." for note in set_notes(ranks)]
    grave = bool(ranks.missing) + bool(ranks.damaged)
    return said[:grave], said[grave:]


def stragglers_section(ranks: RankSet, *, brief: bool = False) -> blocks.Section:
    """Who holds the others up, why, at which cost; that nobody does is said as well."""
    found = ranks.analysis
    held = held_up(found.stragglers, found.panel)
    cards = tuple(_card(one, ranks) for one in held[:MOST_CARDS])
    answer: blocks.Block = blocks.Causes(cards, "")
    if not cards:
        odd = odd_rank(ranks)
        tone: blocks.Tone = "good" if _is_judged(ranks) and not odd else "notice"
        answer = blocks.Text(" ".join(filter(None, (odd, nobody_sentence(ranks)))), tone)
    # A short answer has these among its notes.
    grave = [] if brief else _notes_on(ranks)[0]
    told = [answer, *(blocks.Text(said, "warning") for said in grave)]
    if len(held) > MOST_CARDS:
        others = units.counted(len(held) - MOST_CARDS, "more ranks")
        told.append(blocks.Text(f"{others} that cost less are in the table of ranks.", "notice"))
    if _is_judged(ranks):
        told.append(_heatmap(ranks, brief=brief))
    return blocks.Section("stragglers", "Who holds the others up", tuple(told))


def _heatmap(ranks: RankSet, *, brief: bool) -> blocks.Heatmap:
    """How long each rank let others wait in each step."""
    found = ranks.analysis
    causes = {rank: one for one in held_up(found.stragglers, found.panel) for rank in one.ranks}
    rows, columns = (_BRIEF_ROWS, _BRIEF_COLUMNS) if brief else (MOST_ROWS, MOST_COLUMNS)
    steps, heat, note = heat_of(found.panel, set(causes), rows=rows, columns=columns)
    made = []
    for (rank, *others), values in heat.items():
        if others:
            about = f"the largest of {units.counted(1 + len(others), 'ranks')}"
            made.append(blocks.HeatRow(f"{rank}-{others[-1]}", values, about))
            continue
        held, host = causes.get(rank), ranks.ranks[rank].about.host
        why = "" if held is None else cause_name(held.cause).lower().replace("gpu", "GPU")
        about = ", ".join(filter(None, (why, f"on {host}" if host else "")))
        worker = ranks.workers.get(rank, "")
        made.append(blocks.HeatRow(str(rank), values, about, worker, held is not None))
    return blocks.Heatmap(
        "wait-caused",
        "Wait caused, by rank and step",
        "time_ns",
        "wait caused",
        "rank",
        "step",
        steps,
        tuple(made),
        "holds the others up" if causes else "",
        note,
    )


def _card(one: Held, ranks: RankSet) -> blocks.CauseCard:
    first, *others = (*one.evidence, "")
    said = f"{held_sentence(one, ranks.analysis.panel)} {first}".strip()
    links = tuple(
        blocks.Link(f"rank {rank} among the others", "ranks", f"rank={rank}")
        for rank in one.ranks[:_MOST_LINKS]
    )
    return blocks.CauseCard(
        cause=one.cause,
        role="straggler",
        title=one.title,
        sentence=said,
        explained=cost_a_step(one, ranks.analysis.panel),
        kind="time_ns",
        share=one.share,
        share_word="of a step",
        advice=one.advice,
        evidence=tuple(filter(None, others)),
        links=links,
    )


# -- the map ---------------------------------------------------------------------------------------


_Heat: TypeAlias = "tuple[tuple[str, ...], dict[tuple[int, ...], tuple[float | None, ...]], str]"
"""What columns are called, the values of each row by the ranks it stands for, and what is to be
known where rows and columns are not one rank and one step each."""


def heat_of(
    panel: Panel, odd: Collection[int], *, rows: int = MOST_ROWS, columns: int = MOST_COLUMNS
) -> _Heat:
    """How long each rank let others wait in each step, in at most so many rows and columns.

    Where there are more ranks, those that are `odd` come first, then those that cost most; of the
    others neighbours stand together, with the largest value of them.
    """
    ends = neighbours(len(panel.steps), columns)
    values = np.where(np.isnan(panel.length), np.nan, panel.held)
    if values.size:
        # The largest of each group of steps; unknown where all of it is.
        values = np.fmax.reduceat(values, [start for start, _ in ends], axis=1)
    made = {}
    for places in _places(panel, odd, rows):
        largest = np.fmax.reduce(values[places], axis=0)
        known = (None if np.isnan(value) else round(float(value), 1) for value in largest)
        made[tuple(panel.ranks[places].tolist())] = tuple(known)
    notes = []
    alone = next((at for at, ranks in enumerate(made) if len(ranks) > 1), None)
    if alone is not None:
        notes.append(
            f"{units.counted(alone, 'ranks')} of {units.count(len(panel.ranks))} on their own, "
            "the costliest first; the others by neighbours, each row with the largest value of "
            "those not above."
        )
    if len(ends) < len(panel.steps):
        size = -(-len(panel.steps) // len(ends))
        notes.append(
            f"A column is {size} neighbouring steps of {units.count(len(panel.steps))}, with the "
            "largest value of them."
        )
    return together(panel.steps, ends), made, " ".join(notes)


def _places(panel: Panel, odd: Collection[int], rows: int) -> Iterator[NDArray[np.int64]]:
    """Places of the ranks of each row."""
    ranks = panel.ranks.tolist()
    if len(ranks) <= rows:
        yield from (np.array([place]) for place in range(len(ranks)))
        return
    rows = min(rows, _MERGED_ROWS)
    cost = panel.held.sum(axis=1)
    marked = [place for place, rank in enumerate(ranks) if rank in odd]
    marked.sort(key=lambda place: -cost[place])
    marked = marked[: rows // 2]
    free = [place for place in np.argsort(-cost, kind="stable").tolist() if place not in marked]
    alone = [*marked, *free[: rows // 4]]
    yield from (np.array([place]) for place in alone)
    rest = np.setdiff1d(np.arange(len(ranks)), alone)
    # A power of two stands together, so that nodes are not cut.
    size = 2
    while len(rest) / size + 1 > rows - len(alone):
        size *= 2
    nodes = panel.ranks[rest] // size
    yield from (rest[nodes == node] for node in np.unique(nodes))


def who_holds_up_section(run: Analysed) -> Made:
    """Who holds the others up, why and what to try, and the map of all ranks."""
    ranks = run.ranks
    return None if ranks is None else stragglers_section(ranks, brief=run.brief)


def detail_section(run: Analysed) -> Made:
    """Which of several ranks is looked into, and what it spends its time on."""
    if run.ranks is None:
        return None
    worker = run.trace.metadata.worker or "the first rank"
    return blocks.Section(
        "detail", f"In detail: {worker}", (blocks.Text(run.analysis.rank_headline),)
    )


def ranks_section(run: Analysed) -> Made:
    """What ranks spend a step on, and what is to be known about the set."""
    made = _RANKS(run)
    if run.ranks is None or not isinstance(made, blocks.Section) or run.brief:
        return made
    return replace(made, blocks=(*made.blocks, *map(blocks.Text, _notes_on(run.ranks)[1])))


def rank_groups_section(run: Analysed) -> Made:
    """Ranks that behave alike; in brief a line each, and nothing where all do."""
    ranks, made = run.ranks, _RANK_GROUPS(run)
    if ranks is None or not isinstance(made, blocks.Section) or not run.brief:
        return made
    if len(ranks.groups) < 2:
        return None
    lines = [
        f"{one.group} ({the_ranks(one.ranks)})"
        f"{': ' + ' '.join(one.apart[:2]) if one.odd and one.apart else ''}"
        for one in ranks.groups[:_MOST_NAMED]
    ]
    if len(ranks.groups) > _MOST_NAMED:
        lines.append(f"and {units.counted(len(ranks.groups) - _MOST_NAMED, 'more groups')}")
    return replace(made, blocks=tuple(map(blocks.Text, lines)), lead="")


_RANKS = tables_section(
    "Ranks",
    "ranks",
    lead="An average step of each rank; who lets the others wait longest comes first.",
    of_set=True,
)
_RANK_GROUPS = tables_section(
    "Ranks that behave alike",
    "rank-groups",
    lead="The usual ones, by their role, then those that something sets apart.",
    of_set=True,
)


def damaged_section(run: Analysed) -> Made:
    """Recordings that could not be read, and why."""
    ranks = run.ranks
    if ranks is None or not ranks.damaged:
        return None
    rows = ranks.damaged[: run.rows]
    title = "Recordings that could not be read"
    block = listed_table("damaged", "damaged", title, rows, total_rows=len(ranks.damaged))
    return blocks.Section(
        "damaged", title, (block,), "What is said about ranks is said without them."
    )
