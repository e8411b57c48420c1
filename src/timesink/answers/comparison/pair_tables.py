"""Tables of what changed, by the names that commands, queries and Python have for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from timesink.answers.comparison.naming import pair_names
from timesink.answers.comparison.published_tables import PUBLISHED, published_titles
from timesink.answers.tables import Listing, ViewTable
from timesink.answers.views import COMPARED_VIEWS, compared_view
from timesink.comparison.results import Comparison, Pair
from timesink.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from timesink.answers.comparison.changes import PairView

OF_PROGRAM = ("program", "edits", "kinds")
"""Tables of the program alone: both as one tree, its changes, step types."""


def pair_table(pair: Pair, name: str, view: PairView | None = None) -> ViewTable:
    """A table of a pair by its name, one of `COMPARED_VIEWS`.

    People see the numbers of its `view`, where there is one already.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> pair_table(same.pair, "times").rows(1)["change_pct"].to_list()
    [0.0]
    """
    if name in OF_PROGRAM:
        return _table_of_program(pair, name)
    if name == "operators":
        return _table_of_operators(pair)

    def listing() -> Listing:
        from timesink.answers.comparison import changes  # noqa: PLC0415 - programs need no words

        return changes.LISTINGS[name](view or changes.PairView(pair))

    columns = (column for column, _, _ in PUBLISHED) if name == "rows" else ()
    titles = published_titles(pair) if name == "rows" else ()
    return ViewTable(
        compared_view(name),
        _changed_counters(pair, view) if name == "counters" else getattr(pair, name),
        listing=listing,
        published=dict(zip(columns, titles, strict=True)),
    )


def _changed_counters(pair: Pair, view: PairView | None) -> pl.DataFrame:
    from timesink.answers.comparison.changes import PairView  # noqa: PLC0415 - as above

    return (view or PairView(pair)).changed_counters


def _table_of_program(pair: Pair, name: str) -> ViewTable:
    from timesink.answers.comparison.program import NO_PROGRAM, program_table  # noqa: PLC0415 - start-up time
    from timesink.comparison.causes.diagnosis import diagnose  # noqa: PLC0415

    program = diagnose(pair).program
    if program is None:
        raise NotFoundError(NO_PROGRAM, "compare recordings with a timeline, not behaviour tables")
    return program_table(program, name)


def _table_of_operators(pair: Pair) -> ViewTable:
    from timesink.answers.comparison.efficiency import operators_table  # noqa: PLC0415 - start-up time
    from timesink.comparison.steps.efficiency import efficiency_change  # noqa: PLC0415

    change = efficiency_change(pair)
    if change is None:
        raise NotFoundError(
            "no operators can be compared: shapes were not recorded",
            "record base and new with  timesink record --with shapes -- CMD",
        )
    return operators_table(change)


def comparison_table(comparison: Comparison, name: str) -> pl.DataFrame:
    """A table of all pairs of a comparison; where there are several, `pair` says of which.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> comparison_table(same, "edits").height
    0
    """
    if name not in COMPARED_VIEWS:
        raise UsageError(
            f"a comparison has no table {name!r}", f"choose one of {', '.join(COMPARED_VIEWS)}"
        )
    pairs = comparison.all_pairs
    if not pairs:
        raise NotFoundError(
            "all processes behave alike: there are no two groups to compare", "give BASE and NEW"
        )
    frames = [pair_table(pair, name).rows() for pair in pairs]
    if len(frames) == 1:
        return frames[0]
    labelled = (
        frame.insert_column(0, pl.Series("pair", [label] * frame.height, pl.String))
        for frame, label in zip(frames, pair_names(pairs), strict=True)
    )
    return pl.concat(labelled, how="diagonal_relaxed")


def table_csv(pair: Pair, table: str | None = None, top: int | None = None) -> str:
    """One table of a pair, or its first rows; see `table_of` for which."""
    return pair_table(pair, table_of(pair, table)).to_text("csv", top)


def table_of(pair: Pair, table: str | None) -> str:
    """Which table is meant: the one asked for, else the published one; times without counters."""
    return table or ("times" if pair.rows.is_empty() else "rows")
