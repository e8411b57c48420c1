"""The files of a comparison that is written to a folder: their names, and what makes each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from timesink.answers.gate_result import Gate
from timesink.answers.published_report import comparison_md, pair_md, ranks_md
from timesink.answers.published_tables import table_csv
from timesink.errors import TimesinkError
from timesink.readers.discover import sayable
from timesink.reports.comparison import Compared, Comparison
from timesink.reports.comparison.naming import EXPLORATORY_REPORT
from timesink.reports.comparison.report import SCHEMA

FORMATS = ("csv", "report", "json")
"""What a folder holds unless one of these is asked for."""


def files_of(
    comparison: Comparison,
    formats: Sequence[str],
    table: str | None,
    top: int | None,
    gate: Gate | None = None,
) -> Iterator[tuple[str, Callable[[], str]]]:
    """One CSV and one Markdown file per pair, and everything as JSON.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> [name for name, _ in files_of(same, ("json",), None, None)]
    ['comparison.json']
    """
    for one in comparison.all_pairs:
        if "csv" in formats:
            yield f"{one.file_stem}.csv", partial(table_csv, one.pair, table, top)
        if "report" in formats and comparison.exploration is None:
            yield f"{one.file_stem}.md", partial(_pair_md, one)
    if "report" in formats and comparison.ranks is not None:
        yield "ranks.md", partial(ranks_md, comparison)
    if "report" in formats and comparison.exploration is not None:
        yield f"{EXPLORATORY_REPORT}.md", partial(comparison_md, comparison)
    if "json" in formats:
        yield "comparison.json", partial(indented_json, comparison, gate)


def _pair_md(one: Compared) -> str:
    return pair_md(one.pair, one.title, one.diagnosis)


def error_json(gate: Gate, error: TimesinkError) -> str:
    """What JSON says of runs that could not be compared.

    >>> from timesink.answers.gate_judgement import gate_of_error
    >>> error = TimesinkError("no such baseline")
    >>> msgspec.json.decode(error_json(gate_of_error(error, "@main vs run"), error))["error"]
    {'message': 'no such baseline', 'hint': ''}
    """
    said = {"message": sayable(error.message), "hint": sayable(error.hint)}
    whole = {"schema": SCHEMA, "error": said, "gate": gate.to_dict()}
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()


def indented_json(comparison: Comparison, gate: Gate | None = None) -> str:
    """The whole answer as JSON for a person to look at; with what a gate says of it.

    >>> import timesink
    >>> indented_json(timesink.compare(timesink.sample(), timesink.sample())).splitlines()[1]
    '  "schema": "timesink/comparison/1",'
    """
    whole = (
        comparison.to_dict() if gate is None else {**comparison.to_dict(), "gate": gate.to_dict()}
    )
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()
