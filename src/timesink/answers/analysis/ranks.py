"""Sections about a set of ranks: stragglers with their cause and cost; a map of all ranks.

Of a single trace there is none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from timesink.analyses.thresholds import LatenessLimits
from timesink.answers.analysis.straggler_text import (
    StragglerGroup,
    cost_a_step,
    straggler_groups,
    straggler_sentence,
)
from timesink.answers.analysis.tables import (
    Analysed,
    SectionResult,
    neighbours,
    tables_section,
    together,
)
from timesink.answers.comparison.causes import cause_name
from timesink.answers.views import listed_table
from timesink.model import units
from timesink.model.units import the_ranks
from timesink.output import blocks
from timesink.rules.communication import odd_rank

if TYPE_CHECKING:
    from timesink.analyses.ranks.lateness import Panel
    from timesink.analyses.ranks.rank_set import RankSet

MAX_CARDS = 8
_WORTH_NAMING = 0.0005
"""Part of the run from which on waits for a rank are no `0.0 %`."""
_MAX_LINKS = 3
_MAX_NAMED = 8
MAX_ROWS = 200
"""More ranks are not shown one by one."""
MAX_COLUMNS = 120
_BRIEF_ROWS, _BRIEF_COLUMNS = 16, 60
"""The same in text."""
_MERGED_ROWS = 64
"""Where ranks stand together, so many rows are enough."""


def _is_judged(ranks: RankSet) -> bool:
    """Whether stragglers can be found: several ranks with steps in common."""
    panel = ranks.analysis.panel
    return len(panel.ranks) > 1 and bool(panel.steps)


def nobody_sentence(ranks: RankSet) -> str:
    """That no rank is a straggler, and how that was tested."""
    panel = ranks.analysis.panel
    if len(panel.ranks) < 2:
        return "Only one rank could be read: stragglers cannot be found."
    if not panel.steps:
        return "No step was recorded on most of the ranks: stragglers cannot be found."
    from timesink.analyses.ranks.lateness import least_share  # noqa: PLC0415 - most runs have one rank

    text = (
        f"No straggler among {units.count_noun(len(panel.ranks), 'ranks')} in "
        f"{units.count_noun(len(panel.steps), 'steps')}. A rank is named as a straggler when the "
        f"others wait for it at least {100 * least_share(len(panel.ranks)):.1f} % of the time and "
        f"{LatenessLimits.times_noise} times more than chance."
    )
    cost = panel.delay.sum(axis=1)
    if panel.run_ns and cost.any():
        # Where the first and the second are near, neither is blamed.
        names = [
            f"rank {panel.ranks[place]} ({units.share(cost[place], panel.run_ns)} of the run)"
            for place in np.argsort(-cost, kind="stable")[:2].tolist()
            if cost[place] >= _WORTH_NAMING * panel.run_ns
        ]
        text += f" The others wait longest for {' and '.join(names)}." if names else ""
    # All may be waiting for ranks that are missing.
    unknown_ranks = (
        *ranks.missing,
        *(recording.rank for recording in ranks.damaged if recording.rank is not None),
    )
    if not unknown_ranks:
        return text
    verb = "is" if len(unknown_ranks) == 1 else "are"
    return f"{text} {the_ranks(unknown_ranks).capitalize()} {verb} missing and could be stragglers."


def _notes_on(ranks: RankSet) -> tuple[list[str], list[str]]:
    """Notes on the set, as sentences: those that matter most, and the others.

    Missing and unreadable ranks matter most: without them less is certain.
    """
    from timesink.analyses.ranks.rank_set import set_notes  # noqa: PLC0415 - most runs have one rank

    sentences = [f"{note[0].upper()}{note[1:]}." for note in set_notes(ranks)]
    grave = bool(ranks.missing) + bool(ranks.damaged)
    return sentences[:grave], sentences[grave:]


def stragglers_section(ranks: RankSet, *, brief: bool = False) -> blocks.Section:
    """Stragglers, their causes and costs; or that there is none."""
    analysis = ranks.analysis
    groups = straggler_groups(analysis.stragglers, analysis.panel)
    cards = tuple(_card(group, ranks) for group in groups[:MAX_CARDS])
    answer: blocks.Block = blocks.Causes(cards, "")
    if not cards:
        odd = odd_rank(ranks)
        tone: blocks.Tone = "good" if _is_judged(ranks) and not odd else "notice"
        answer = blocks.Text(" ".join(filter(None, (odd, nobody_sentence(ranks)))), tone)
    # A short answer has these among its notes.
    grave = [] if brief else _notes_on(ranks)[0]
    parts = [answer, *(blocks.Text(note, "warning") for note in grave)]
    if len(groups) > MAX_CARDS:
        more_ranks = units.count_noun(len(groups) - MAX_CARDS, "more ranks")
        parts.append(
            blocks.Text(f"{more_ranks} with smaller costs are in the table of ranks.", "notice")
        )
    if _is_judged(ranks):
        parts.append(_heatmap(ranks, brief=brief))
    return blocks.Section("stragglers", "Stragglers", tuple(parts))


def _heatmap(ranks: RankSet, *, brief: bool) -> blocks.Heatmap:
    """How long each rank let others wait in each step."""
    analysis = ranks.analysis
    causes = {
        rank: group
        for group in straggler_groups(analysis.stragglers, analysis.panel)
        for rank in group.ranks
    }
    rows, columns = (_BRIEF_ROWS, _BRIEF_COLUMNS) if brief else (MAX_ROWS, MAX_COLUMNS)
    steps, heat, note = heat_of(analysis.panel, set(causes), rows=rows, columns=columns)
    heat_rows = []
    for (rank, *other_ranks), values in heat.items():
        if other_ranks:
            about = f"the largest of {units.count_noun(1 + len(other_ranks), 'ranks')}"
            heat_rows.append(blocks.HeatRow(f"{rank}-{other_ranks[-1]}", values, about))
            continue
        group, host = causes.get(rank), ranks.ranks[rank].about.host
        why = "" if group is None else cause_name(group.cause).lower().replace("gpu", "GPU")
        about = ", ".join(filter(None, (why, f"on {host}" if host else "")))
        worker = ranks.workers.get(rank, "")
        heat_rows.append(blocks.HeatRow(str(rank), values, about, worker, group is not None))
    return blocks.Heatmap(
        "wait-caused",
        "Time the others waited for each rank, by step",
        "time_ns",
        "wait caused",
        "rank",
        "step",
        steps,
        tuple(heat_rows),
        "straggler" if causes else "",
        note,
    )


def _card(group: StragglerGroup, ranks: RankSet) -> blocks.CauseCard:
    first, *other_evidence = (*group.evidence, "")
    sentence = f"{straggler_sentence(group, ranks.analysis.panel)} {first}".strip()
    links = tuple(
        blocks.Link(f"rank {rank} in the table of ranks", "ranks", f"rank={rank}")
        for rank in group.ranks[:_MAX_LINKS]
    )
    return blocks.CauseCard(
        cause=group.cause,
        role="straggler",
        title=group.title,
        sentence=sentence,
        explained=cost_a_step(group, ranks.analysis.panel),
        kind="time_ns",
        share=group.share,
        share_word="of a step",
        advice=group.advice,
        evidence=tuple(filter(None, other_evidence)),
        links=links,
    )


# -- the map ---------------------------------------------------------------------------------------


_Heat: TypeAlias = "tuple[tuple[str, ...], dict[tuple[int, ...], tuple[float | None, ...]], str]"
"""What columns are called, the values of each row by the ranks it stands for, and what is to be
known where rows and columns are not one rank and one step each."""


def heat_of(
    panel: Panel, odd: Collection[int], *, rows: int = MAX_ROWS, columns: int = MAX_COLUMNS
) -> _Heat:
    """How long each rank let others wait in each step, in at most so many rows and columns.

    Where there are more ranks, those that are `odd` come first, then those that cost most; of the
    others neighbours stand together, with the largest value of them.
    """
    ends = neighbours(len(panel.steps), columns)
    values = np.where(np.isnan(panel.length), np.nan, panel.delay)
    if values.size:
        # The largest of each group of steps; unknown where all of it is.
        values = np.fmax.reduceat(values, [start for start, _ in ends], axis=1)
    heat = {}
    for places in _places(panel, odd, rows):
        largest = np.fmax.reduce(values[places], axis=0)
        row_values = (None if np.isnan(value) else round(float(value), 1) for value in largest)
        heat[tuple(panel.ranks[places].tolist())] = tuple(row_values)
    notes = []
    single_count = next((at for at, ranks in enumerate(heat) if len(ranks) > 1), None)
    if single_count is not None:
        notes.append(
            f"{units.count_noun(single_count, 'ranks')} of {units.count(len(panel.ranks))} have "
            "a row each, the costliest first. Each row below stands for neighbouring ranks, with "
            "their largest value."
        )
    if len(ends) < len(panel.steps):
        size = -(-len(panel.steps) // len(ends))
        notes.append(
            f"A column stands for {size} of {units.count(len(panel.steps))} steps, with their "
            "largest value."
        )
    return together(panel.steps, ends), heat, " ".join(notes)


def _places(panel: Panel, odd: Collection[int], rows: int) -> Iterator[NDArray[np.int64]]:
    """Places of the ranks of each row."""
    ranks = panel.ranks.tolist()
    if len(ranks) <= rows:
        yield from (np.array([place]) for place in range(len(ranks)))
        return
    rows = min(rows, _MERGED_ROWS)
    cost = panel.delay.sum(axis=1)
    marked = [place for place, rank in enumerate(ranks) if rank in odd]
    marked.sort(key=lambda place: -cost[place])
    marked = marked[: rows // 2]
    free = [place for place in np.argsort(-cost, kind="stable").tolist() if place not in marked]
    single_places = [*marked, *free[: rows // 4]]
    yield from (np.array([place]) for place in single_places)
    rest = np.setdiff1d(np.arange(len(ranks)), single_places)
    # A power of two stands together, so that nodes are not cut.
    size = 2
    while len(rest) / size + 1 > rows - len(single_places):
        size *= 2
    nodes = panel.ranks[rest] // size
    yield from (rest[nodes == node] for node in np.unique(nodes))


def who_holds_up_section(run: Analysed) -> SectionResult:
    """Stragglers, why and what to do, and the map of all ranks."""
    ranks = run.ranks
    return None if ranks is None else stragglers_section(ranks, brief=run.brief)


def detail_section(run: Analysed) -> SectionResult:
    """Which rank is shown in detail, and what it spends its time on."""
    if run.ranks is None:
        return None
    worker = run.trace.metadata.worker or "the first rank"
    return blocks.Section(
        "detail", f"In detail: {worker}", (blocks.Text(run.analysis.rank_headline),)
    )


def ranks_section(run: Analysed) -> SectionResult:
    """What ranks spend a step on, and what is to be known about the set."""
    section = _RANKS(run)
    if run.ranks is None or not isinstance(section, blocks.Section) or run.brief:
        return section
    return replace(section, blocks=(*section.blocks, *map(blocks.Text, _notes_on(run.ranks)[1])))


def rank_groups_section(run: Analysed) -> SectionResult:
    """Ranks that behave alike; in brief a line each, and nothing where all do."""
    ranks, section = run.ranks, _RANK_GROUPS(run)
    if ranks is None or not isinstance(section, blocks.Section) or not run.brief:
        return section
    if len(ranks.groups) < 2:
        return None
    lines = [
        f"{group.group} ({the_ranks(group.ranks)})"
        f"{': ' + ' '.join(group.apart[:2]) if group.odd and group.apart else ''}"
        for group in ranks.groups[:_MAX_NAMED]
    ]
    if len(ranks.groups) > _MAX_NAMED:
        lines.append(f"and {units.count_noun(len(ranks.groups) - _MAX_NAMED, 'more groups')}")
    return replace(section, blocks=tuple(map(blocks.Text, lines)), lead="")


_RANKS = tables_section(
    "Ranks",
    "ranks",
    lead="Mean step of each rank, the one the others wait longest for first.",
    of_set=True,
)
_RANK_GROUPS = tables_section(
    "Groups of similar ranks",
    "rank-groups",
    lead="Usual ranks by role, then ranks that differ.",
    of_set=True,
)


def damaged_section(run: Analysed) -> SectionResult:
    """Recordings that could not be read, and why."""
    ranks = run.ranks
    if ranks is None or not ranks.damaged:
        return None
    rows = ranks.damaged[: run.rows]
    title = "Recordings that could not be read"
    block = listed_table("damaged", "damaged", title, rows, total_rows=len(ranks.damaged))
    return blocks.Section("damaged", title, (block,), "Results about ranks leave them out.")
