"""The answer of `timesink compare` for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from rich.console import Group, RenderableType

from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.render.comparison import words
from timesink.render.comparison.blocks import answer_lines, finding_lines, wrapped
from timesink.render.comparison.exploring import exploration_lines
from timesink.render.comparison.tables import (
    counters_table,
    families_table,
    pairs_table,
    rows_table,
    times_table,
)
from timesink.render.diagnosis.blocks import why_lines
from timesink.render.diagnosis.words import told_counters, verdict
from timesink.render.shown import FILE_WIDTH, WIDEST, Shown, note_lines, titled_lines
from timesink.render.terminal import show, terminal_width, to_plain
from timesink.reports.comparison.choosing import as_options
from timesink.reports.comparison.headline import changed_most, standing_out
from timesink.reports.comparison.report import Compared, Comparison
from timesink.reports.comparison.told import Told

TOP = 10
"""Rows of a table that are shown unless more are asked for."""
_FEW = 5
_IN_FULL = 3
"""Pairs that are told in full."""
TABLES: dict[str, Callable[[Told, int | None], Shown]] = {
    "rows": rows_table,
    "times": times_table,
    "families": partial(families_table, alone=True),
}
"""Tables that can be asked for alone."""


def print_text(comparison: Comparison, top: int | None = TOP, table: str | None = None) -> None:
    """Show the answer on the terminal, or one table of it."""
    width = min(terminal_width(), WIDEST)
    show(_content(comparison, top, table, width), width)


def to_text(comparison: Comparison, top: int | None = TOP, table: str | None = None) -> str:
    """The answer, or one table of it, as plain text.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> to_text(same).partition(":")[0]
    'No change. Both runs are the same within noise'
    """
    return to_plain(_content(comparison, top, table, FILE_WIDTH), FILE_WIDTH)


def _content(
    comparison: Comparison, top: int | None, table: str | None, width: int
) -> RenderableType:
    if comparison.exploration is not None:
        table_of = None if table is None else TABLES[table]
        explored = comparison.exploration
        return Group(*exploration_lines(comparison, explored, top, width, table_of))
    if len(comparison.pairs) == 1:
        return Group(*_only(comparison, comparison.pairs[0], top, table, width))
    return Group(*_several(comparison, top, table, width))


def _only(
    comparison: Comparison, one: Compared, top: int | None, table: str | None, width: int
) -> Iterable[RenderableType]:
    told = Told(one.pair)
    # One table is not asked for to read all the rest, which takes longer.
    found = one.diagnosis if table is None else None
    yield from answer_lines(told, width, found)
    yield from wrapped(words.subject(told, one.title), width, "dim")
    if found is not None:
        yield from why_lines(found, width)
    yield from _rank_lines(comparison, table, width, top)
    yield from _pair_lines(told, top, table, width, found)
    own = [] if found is None else [*pair_notes(told), *found.notes]
    yield from _note_lines([*own, *comparison.notes])


def _several(
    comparison: Comparison, top: int | None, table: str | None, width: int
) -> Iterable[RenderableType]:
    """The answer over all, a row for each pair, and some in full."""
    pairs = [(one, Told(one.pair)) for one in comparison.pairs]
    together = comparison.diagnosis if table is None and is_one_case(comparison) else None
    verdicts = "" if together is None else f"{lead(comparison, together)}. "
    yield from wrapped(f"{verdicts}{comparison.headline}", width, "bold")
    if together is not None:
        yield from why_lines(together, width)
    yield from _rank_lines(comparison, table, width, top)
    yield from titled_lines(pairs_table(pairs), width)
    shown, names = in_full([told for _, told in pairs]), comparison.pair_names
    noted = []
    for place in shown:
        one, told = pairs[place]
        yield ""
        yield from wrapped(words.subject(told, one.title), width, "bold")
        found = one.diagnosis if table is None and together is None else None
        yield from answer_lines(told, width, found)
        if found is not None:
            yield from why_lines(found, width)
        yield from _pair_lines(told, top, table, width, together or found)
        noted.append((names[place], pair_notes(told) if table is None else []))
    left = _not_shown(len(pairs) - len(shown), comparison)
    common = () if together is None else together.notes
    yield from _note_lines([*left, *common, *words.notes_of_many(noted), *comparison.notes])


def _rank_lines(
    comparison: Comparison, table: str | None, width: int, top: int | None
) -> Iterable[RenderableType]:
    """What changed over all ranks, where there are many."""
    if comparison.ranks is not None and table is None:
        # Most comparisons are of one process with another.
        from timesink.render.comparison.ranks import rank_lines  # noqa: PLC0415

        yield from rank_lines(comparison.ranks, width, top)


def lead(comparison: Comparison, together: Diagnosis) -> str:
    """The verdict; where processes disagree, which have it."""
    verdicts = Counter(verdict(one.diagnosis) for one in comparison.pairs)
    if len(verdicts) == 1:
        return verdict(together)
    many = units.counted(len(comparison.pairs), "processes")
    (first, count), *others = verdicts.most_common()
    said = [f"{count} of {many}: {first.lower()}", *(f"{n}: {w.lower()}" for w, n in others)]
    return f"{verdict(together)} ({', '.join(said)})"


def is_one_case(comparison: Comparison) -> bool:
    """Whether all pairs are of one program: its ranks or processes, and one sort of cycle."""
    return len({one.title for one in comparison.pairs}) == 1


def in_full(pairs: Sequence[Told], most: int = _IN_FULL) -> list[int]:
    """Places of the pairs that are told in full: the largest changes.

    One that stands out comes first, or else the one with the largest change of a function.
    """
    changes = [abs(told.pair.cycle_times.change_pct or 0.0) for told in pairs]
    one = standing_out(pairs)
    alone = changed_most(pairs) if one is None else one.place
    order = sorted(range(len(pairs)), key=lambda place: (place != alone, -changes[place], place))
    return sorted(order[:most], key=lambda place: (place != alone, place))


def _not_shown(count: int, comparison: Comparison) -> list[str]:
    if not count:
        return []
    more = units.counted(count, "more pairs")
    options = as_options(comparison.choices)
    choose = f"{options} chooses one, " if options else ""
    return [f"{more} in full: {choose}-o DIR writes all"]


def _pair_lines(
    told: Told, top: int | None, table: str | None, width: int, found: Diagnosis | None
) -> Iterable[RenderableType]:
    """What changed and the tables of a pair, or one of these; counters said before once."""
    if table is not None:
        yield from titled_lines(TABLES[table](told, top), width)
        return
    yield from finding_lines(told, width, found)
    for shown in _tables(told, top, found):
        yield from titled_lines(shown, width)


def pair_notes(told: Told) -> list[str]:
    """What to know of one pair."""
    return [*words.notes(told), *words.equal_work_note(told)]


def _note_lines(notes: Iterable[str]) -> Iterable[RenderableType]:
    return note_lines([words.short_names(note) for note in dict.fromkeys(notes)])


def _tables(told: Told, top: int | None, found: Diagnosis | None) -> Iterable[Shown]:
    pair = told.pair
    counters = counters_table(told, top, told_counters(found))
    if counters.rows:
        yield counters
    if not pair.rows.is_empty():
        yield rows_table(told, top)
    yield times_table(told, top)
    if not pair.rows.is_empty() and not told.times["measured"].all():
        yield times_table(told, None if top is None else min(top, _FEW), measured=False)
    if not told.families.is_empty():
        yield families_table(told, top)
