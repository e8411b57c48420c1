"""The cells of the published report: fixed formats, read again and printed with six digits.

The program that made the published reports wrote every number as text and handed the table to one
that read numbers back wherever a whole column of them was plain. What it printed is what readers
compare with, so the cells are made the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from timesink.analyses.comparison.pair import CycleTimes
from timesink.output.names import in_published_cell

_FORMS = {
    "score": ".4f",
    "beta_base_pct": ".2f",
    "beta_new_pct": ".2f",
    "beta_delta_pct": "+.2f",
    "beta_z": "+.2f",
    "beta_welch_p": ".3f",
    "beta_rank_p": ".3f",
    "mu_base": ",.2f",
    "mu_new": ",.2f",
    "mu_delta": "+.2f",
    "mu_z": "+.2f",
    "log_mu_z": "+.2f",
    "mu_welch_p": ".3f",
    "mu_rank_p": ".3f",
}
_ABSENT = "-"


def row_cells(rows: pl.DataFrame) -> tuple[list[tuple[str, ...]], list[bool]]:
    """The cells of the table of rows, and which of its columns are numbers."""
    columns = [_column(rows[name]) for name in rows.columns]
    numeric = [rows[name].dtype.is_float() and _plain(rows[name]) for name in rows.columns]
    return list(zip(*columns, strict=True)), numeric


def _column(values: pl.Series) -> list[str]:
    form = _FORMS.get(values.name)
    if form is None:
        return ["" if value is None else str(value) for value in values]
    cells = [format(value, form) for value in values]
    return printed_again(cells)


def _plain(values: pl.Series) -> bool:
    """Whether a column of numbers is printed as numbers: none of its cells has a comma."""
    return not any("," in format(value, _FORMS[values.name]) for value in values)


def printed_again(cells: Sequence[str]) -> list[str]:
    """A column of plain numbers with six digits each; one with other cells as it is.

    >>> printed_again(["+5.90", "nan", "-0.00"]), printed_again(["6.30", "118,687.50"])
    (['5.9', 'nan', '-0'], ['6.30', '118,687.50'])
    """
    if any("," in cell for cell in cells):
        return list(cells)
    return [f"{float(cell):g}" for cell in cells]


def summary_cells(times: CycleTimes) -> list[tuple[str, ...]]:
    """How many cycles there are and how long they take in the mean, in microseconds.

    >>> summary_cells(CycleTimes((1000,), (2000,), 1e3, 2e3, 100.0, None, None))[1]
    ('Avg Cycle Time (us)', '1.00', '2.00', '1.00', '+100.00%')
    """
    base, new = len(times.base_ns), len(times.new_ns)
    base_us, new_us = times.base_mean_ns / 1000, times.new_mean_ns / 1000
    pct = float("inf") if times.change_pct is None else times.change_pct
    return [
        ("Total Cycles", str(base), str(new), str(new - base), _ABSENT),
        (
            "Avg Cycle Time (us)",
            f"{base_us:,.2f}",
            f"{new_us:,.2f}",
            f"{new_us - base_us:,.2f}",
            f"{pct:+.2f}%",
        ),
    ]


def distribution_cells(times: CycleTimes) -> list[tuple[str, ...]]:
    """Cycles of both sides side by side, longest first, in microseconds."""
    base, new = (sorted(side, reverse=True) for side in (times.base_ns, times.new_ns))
    height = max(len(base), len(new))
    ranks = [str(rank) for rank in range(1, height + 1)]
    differences = [_difference(a, b) for a, b in zip(base, new, strict=False)]
    differences += [(_ABSENT, _ABSENT)] * (height - len(differences))
    return [
        (rank, *both, *difference)
        for rank, both, difference in zip(
            ranks,
            zip(_side(base, height), _side(new, height), strict=True),
            differences,
            strict=True,
        )
    ]


def _side(lengths_ns: Sequence[int], height: int) -> list[str]:
    """Formatted numbers; bare ones where the column also holds absent cells."""
    if len(lengths_ns) == height:
        return [f"{length / 1000:,.2f}" for length in lengths_ns]
    return [*(str(length / 1000) for length in lengths_ns), *_absent(height - len(lengths_ns))]


def _absent(count: int) -> Iterable[str]:
    return [_ABSENT] * count


def _difference(base_ns: int, new_ns: int) -> tuple[str, str]:
    delta = (new_ns - base_ns) / 1000
    pct = 100 * (new_ns - base_ns) / base_ns if base_ns else float("inf")
    return f"{delta:,.2f}", f"{pct:+.2f}%"


def table(titles: Sequence[str], cells: Iterable[Sequence[str]], numeric: Sequence[bool]) -> str:
    """A Markdown table without padding; names stay as they are where they can do no harm.

    >>> print(table(("Function", "n"), [("f<int>", "1")], (False, True)))
    | Function | n |
    | :--- | ---: |
    | f<int> | 1 |
    """
    rule = ["---:" if right else ":---" for right in numeric]
    head, *rows = ([in_published_cell(cell) for cell in row] for row in [titles, *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])
