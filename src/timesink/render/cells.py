"""Tables for people, as cells of text."""

from __future__ import annotations

from dataclasses import dataclass

from timesink.model import units

_TEXT_COLUMNS = (
    "operator",
    "kernel",
    "module",
    "device",
    "step",
    "part",
    "collective",
    "group",
)


@dataclass(frozen=True, slots=True)
class Cells:
    """A table for people: titles, cells as text, and which columns are numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def numeric(self) -> list[bool]:
        return [column not in _TEXT_COLUMNS for column in self.columns]


def top_title(what: str, height: int, top: int) -> str:
    """The title of a table, and how much of it is shown.

    >>> top_title("kernels", 1200, 10), top_title("kernels", 3, 10)
    ('Kernels (the first 10 of 1 200)', 'Kernels (3)')
    """
    shown = f"the first {top} of {units.count(height)}" if height > top else units.count(height)
    return f"{what.capitalize()} ({shown})"
