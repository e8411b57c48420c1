"""Numbers that decide answers: what they have in common, and which of them an answer consulted.

Each room of rules has a file `thresholds.py` with one class of numbers for each of its files.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

_reads: dict[tuple[type, str], None] = {}
_is_noting = False


class _Numbers(type):
    """The type of classes of numbers, so that it can be exchanged for one that notes reads."""


class _NotingNumbers(_Numbers):
    def __getattribute__(cls, name: str) -> Any:
        if not name.startswith("_"):
            _reads[cls, name] = None
        return super().__getattribute__(name)


class Limits(metaclass=_Numbers):
    """Numbers that decide answers: each is an attribute, the text below it says what it means."""

    def __init_subclass__(cls) -> None:
        """A class that is loaded while reads are noted takes part."""
        if _is_noting:
            cls.__class__ = _NotingNumbers  # type: ignore[assignment]


class ConsultedNumber(NamedTuple):
    """A number that was read on the way to an answer."""

    place: str
    value: float
    meaning: str


@contextmanager
def consulted_numbers() -> Iterator[list[ConsultedNumber]]:
    """Numbers that are read within the block; they stand in the list when it has ended.

    >>> from timesink.rules.thresholds import IdleLimits
    >>> with consulted_numbers() as numbers:
    ...     IdleLimits.min_idle
    0.2
    >>> numbers[0].place, numbers[0].value
    ('rules.idle.min_idle', 0.2)
    """
    global _is_noting  # noqa: PLW0603 - classes that are loaded later have to know
    numbers: list[ConsultedNumber] = []
    _reads.clear()
    _is_noting = True
    _set_type(_NotingNumbers)
    try:
        yield numbers
    finally:
        _is_noting = False
        _set_type(_Numbers)
        meanings = {limits: _meanings(limits) for limits, _ in _reads}
        for limits, name in _reads:
            place = f"{(limits.__doc__ or '').strip('`.')}.{name}"
            numbers.append(ConsultedNumber(place, vars(limits)[name], meanings[limits][name]))
        numbers.sort()


def _set_type(numbers_type: type) -> None:
    for limits in Limits.__subclasses__():
        limits.__class__ = numbers_type  # type: ignore[method-assign]


def _meanings(limits: type) -> dict[str, str]:
    """The text below each number: Python itself does not keep it."""
    import ast  # noqa: PLC0415 - only --debug asks
    import inspect  # noqa: PLC0415 - as above
    from itertools import pairwise  # noqa: PLC0415 - as above

    statements = ast.parse(inspect.getsource(limits)).body[0].body  # type: ignore[attr-defined]
    texts: dict[str, str] = {}
    for statement, after in pairwise(statements):
        if isinstance(statement, ast.Assign) and isinstance(after, ast.Expr):
            name = statement.targets[0].id  # type: ignore[attr-defined]
            texts[name] = " ".join(ast.literal_eval(after.value).split())
    return texts
