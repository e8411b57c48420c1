"""Sections about a set of ranks; of a single trace there is none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from msgspec.structs import replace

from timesink.analyses.ranks.own_time import ranges_of
from timesink.analyses.ranks.rank_set import RankSet
from timesink.answers.analysis.tables import Analysed, Empty, Made
from timesink.answers.stragglers import other_notes, stragglers_section, the_ranks
from timesink.answers.views import find_view
from timesink.model.units import counted, listed
from timesink.output.blocks import Section, Text
from timesink.output.numbers import column, table

_KINDS: Mapping[str | None, str] = {
    "dp": "data parallel",
    "tp": "tensor parallel",
    "pp": "pipeline",
    "ep": "expert parallel",
    "cp": "context parallel",
    "mp": "model parallel",
    "world": "all ranks",
    None: "-",
}
_BRIEF: Mapping[str, Sequence[str]] = {
    "ranks": (
        "rank",
        "step_ns",
        "compute_ns",
        "exposed_communication_ns",
        "overlap_ns",
        "wait_caused_ns",
        "wait_suffered_ns",
        "idle_ns",
        "pipeline_bubble_ns",
    ),
    "collectives-matched": (
        "collective",
        "group_kind",
        "group_size",
        "size_bytes",
        "calls",
        "wait_mean_ns",
        "transfer_mean_ns",
        "latest_rank",
        "bus_bytes_per_s",
        "groups",
        "algorithm_bytes_per_s",
    ),
}
"""Columns of the short answer."""
_MOST_RANGES = 6
_MOST_NAMED = 8


def who_holds_up_section(run: Analysed) -> Made:
    """Who holds the others up, why and what to try, and the map of all ranks."""
    ranks = _ranks(run)
    return None if ranks is None else stragglers_section(ranks, brief=run.brief)


def detail_section(run: Analysed) -> Made:
    """Which of several ranks is looked into, and what it spends its time on."""
    if _ranks(run) is None:
        return None
    worker = run.trace.metadata.worker or "the first rank"
    return Section("detail", f"In detail: {worker}", (Text(run.analysis.headline),))


@dataclass(frozen=True, slots=True)
class _About:
    """A table of a set, and what stands above it."""

    view: str
    title: str
    lead: str = ""

    def __call__(self, run: Analysed) -> Made:
        if _ranks(run) is None:
            return None
        frame = run.analysis.table(self.view)
        if frame.is_empty():
            return None
        block = run.table(self.view, in_words(frame, self.view))
        if run.brief and self.view in _BRIEF:
            known = {one.key: one for one in block.columns}
            shown = [known[key] for key in _BRIEF[self.view] if key in known]
            ordered = (replace(one, spare=max(at - 1, 0)) for at, one in enumerate(shown))
            block = replace(block, columns=tuple(ordered))
        return Section(self.view, self.title, (block,), self.lead)


def in_words(frame: pl.DataFrame, view: str) -> pl.DataFrame:
    """A table about ranks as people read it: kinds of groups by name, many ranks as ranges."""
    return frame if view not in _IN_WORDS or frame.is_empty() else _IN_WORDS[view](frame)


def ranks_section(run: Analysed) -> Made:
    """What ranks spend a step on, and what is to be known about the set."""
    ranks, made = _ranks(run), _RANKS(run)
    if ranks is None or not isinstance(made, Section) or run.brief:
        return made
    notes = tuple(Text(said) for said in other_notes(ranks))
    return replace(made, blocks=(*made.blocks, *notes))


def rank_groups_section(run: Analysed) -> Made:
    """Ranks that behave alike; in brief a line each, and nothing where all do."""
    ranks, made = _ranks(run), _RANK_GROUPS(run)
    if ranks is None or not isinstance(made, Section) or not run.brief:
        return made
    lines = [
        f"{one.group} ({the_ranks(one.ranks)})"
        f"{': ' + ' '.join(one.apart[:2]) if one.odd and one.apart else ''}"
        for one in ranks.groups[:_MOST_NAMED]
    ]
    if len(ranks.groups) > _MOST_NAMED:
        lines.append(f"and {counted(len(ranks.groups) - _MOST_NAMED, 'more groups')}")
    if len(ranks.groups) < 2:
        return None
    return replace(made, blocks=tuple(Text(line) for line in lines), lead="")


def _kind_name(kind: str | None) -> str:
    """What process groups of a kind are for."""
    return _KINDS.get(kind, kind or "-")


def _worst_first(table: pl.DataFrame) -> pl.DataFrame:
    """Ranks by the wait they cause."""
    return table.sort("wait_caused_ns", descending=True, nulls_last=True, maintain_order=True)


def _kinds_in_words(column_name: str) -> pl.Expr:
    return pl.col(column_name).map_elements(_kind_name, return_dtype=pl.String, skip_nulls=True)


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


def _ranks_listed(frame: pl.DataFrame) -> pl.DataFrame:
    """Of many ranks the first are named."""
    return frame.with_columns(
        pl.Series(side, [listed(names or [], _MOST_NAMED) for names in frame[side].to_list()])
        for side in ("present", "missing")
    )


_IN_WORDS: Mapping[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "ranks": _worst_first,
    "collectives-matched": lambda frame: frame.with_columns(_kinds_in_words("group_kind")),
    "rank-groups": _apart_in_words,
    "process-groups": _groups_in_words,
    "clocks": _once_per_clock,
    "mismatches": _ranks_listed,
}
_RANKS = _About(
    "ranks",
    "Ranks",
    "An average step of each rank; who lets the others wait longest comes first.",
)
_RANK_GROUPS = _About(
    "rank-groups",
    "Ranks that behave alike",
    "The usual ones, by their role, then those that something sets apart.",
)
collectives_matched_section = _About(
    "collectives-matched",
    "Collectives of all ranks",
    "Calls that belong together, by what they do, among whom and how much: what ranks wait until "
    "the last has come, and what the data takes to move from then on.",
)
process_groups_section = _About("process-groups", "Process groups", "Who communicates with whom.")
clocks_section = _About(
    "clocks",
    "Clocks",
    "How far clocks are apart, as ends of collectives tell; times of different ranks are compared "
    "after that was taken off.",
)


def mismatches_section(run: Analysed) -> Made:
    """Calls that some ranks made and others did not; of many ranks the first are named."""
    title = "Calls without a partner"
    frame = run.analysis.table("mismatches")
    if frame.is_empty():
        return Empty("mismatches", title, find_view("mismatches").absent)
    return Section("mismatches", title, (run.table("mismatches", in_words(frame, "mismatches")),))


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
