"""Sections about a set of ranks; of a single trace there is none of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
from msgspec.structs import replace

from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.ranks.rank_set import RankSet
from timesink.answers.tables import table_block
from timesink.model.units import listed
from timesink.output.blocks import Section, Text
from timesink.output.columns import column, table
from timesink.render.document.analysed import Analysed, Empty, Made
from timesink.render.document.ranks import stragglers_section
from timesink.render.ranks.cells import kind_name, worst_first
from timesink.render.ranks.words import other_notes
from timesink.reports.tables import find_view

_MOST_RANGES = 6
_MOST_NAMED = 8


def who_holds_up_section(run: Analysed) -> Made:
    """Who holds the others up, why and what to try, and the map of all ranks."""
    ranks = _ranks(run)
    return None if ranks is None else stragglers_section(ranks)


@dataclass(frozen=True, slots=True)
class _About:
    """A table of a set, and what stands above it."""

    view: str
    title: str
    lead: str = ""
    change: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame

    def __call__(self, run: Analysed) -> Made:
        if _ranks(run) is None:
            return None
        frame = run.frame(self.view)
        if frame.is_empty():
            return None
        block = table_block(self.change(frame), self.view, start_ns=run.start_ns, rows=run.rows)
        return Section(self.view, self.title, (block,), self.lead)


def ranks_section(run: Analysed) -> Made:
    """What ranks spend a step on, and what is to be known about the set."""
    ranks, made = _ranks(run), _RANKS(run)
    if ranks is None or not isinstance(made, Section):
        return made
    notes = tuple(Text(said) for said in other_notes(ranks))
    return replace(made, blocks=(*made.blocks, *notes))


def _kinds_in_words(column_name: str) -> pl.Expr:
    return pl.col(column_name).map_elements(kind_name, return_dtype=pl.String, skip_nulls=True)


def _groups_in_words(frame: pl.DataFrame) -> pl.DataFrame:
    members = [ranges_of(ranks, _MOST_RANGES) for ranks in frame["ranks"].to_list()]
    return frame.with_columns(
        _kinds_in_words("kind"),
        pl.Series("ranks", members, pl.String),
        pl.col("calls").round().cast(pl.Int64, strict=False),
    )


def _once_per_clock(frame: pl.DataFrame) -> pl.DataFrame:
    """Ranks of one host have one clock."""
    if frame["clock"].n_unique() == frame.height:
        return frame
    members = frame.group_by("clock", maintain_order=True).agg(pl.col("rank"))
    ranks = [ranges_of(each, _MOST_RANGES) for each in members["rank"].to_list()]
    one = frame.unique("clock", keep="first", maintain_order=True)
    return one.with_columns(pl.Series("rank", ranks, pl.String)).drop("worker")


def _apart_in_words(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("apart").list.join(" ").replace("", None))


_RANKS = _About(
    "ranks",
    "Ranks",
    "An average step of each rank; who lets the others wait longest comes first.",
    worst_first,
)
collectives_matched_section = _About(
    "collectives-matched",
    "Collectives of all ranks",
    "Calls that belong together, by what they do, among whom and how much: what ranks wait until "
    "the last has come, and what the data takes to move from then on.",
    lambda frame: frame.with_columns(_kinds_in_words("group_kind")),
)
rank_groups_section = _About(
    "rank-groups",
    "Ranks that behave alike",
    "The usual ones, by their role, then those that something sets apart.",
    _apart_in_words,
)
process_groups_section = _About(
    "process-groups", "Process groups", "Who communicates with whom.", _groups_in_words
)
clocks_section = _About(
    "clocks",
    "Clocks",
    "How far clocks are apart, as ends of collectives tell; times of different ranks are compared "
    "after that was taken off.",
    _once_per_clock,
)


def mismatches_section(run: Analysed) -> Made:
    """Calls that some ranks made and others did not; of many ranks the first are named."""
    title = "Calls without a partner"
    frame = run.frame("mismatches")
    if frame.is_empty():
        return Empty("mismatches", title, find_view("mismatches").absent)
    named = frame.with_columns(
        pl.Series(side, [listed(names or [], _MOST_NAMED) for names in frame[side].to_list()])
        for side in ("present", "missing")
    )
    block = table_block(named, "mismatches", start_ns=run.start_ns, rows=run.rows)
    return Section("mismatches", title, (block,))


def damaged_section(run: Analysed) -> Made:
    """Recordings that could not be read, and why."""
    ranks = _ranks(run)
    if ranks is None or not ranks.damaged:
        return None
    rows = ranks.damaged[: run.rows]
    columns = (
        column("worker", "recording", "text", [one.worker for one in rows]),
        column("reason", "why", "text", [one.reason for one in rows]),
        column("source", "file", "text", [one.source for one in rows], main=False),
    )
    title = "Recordings that could not be read"
    block = table("damaged", title, columns, total_rows=len(ranks.damaged))
    return Section("damaged", title, (block,), "What is said about ranks is said without them.")


def _ranks(run: Analysed) -> RankSet | None:
    """The set, where there is one."""
    ranks = run.analysis.ranks
    return ranks if ranks is not None and (run.analysis.is_set or ranks.damaged) else None
