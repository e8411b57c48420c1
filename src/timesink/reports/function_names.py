"""What functions are called: short, and no two the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from timesink.analyses.kernel_names.display import short_kernel_name
from timesink.analyses.kernel_names.namesakes import distinguishing
from timesink.reports.comparison.naming import told_apart

_NO_NAME = "(no name)"


def short_labels(functions: Iterable[str], as_they_are: Iterable[str] = ()) -> dict[str, str]:
    """Short names of functions, with what tells namesakes apart.

    >>> add, mul = (f"void at::native::f<4, {op}<float>>(int)" for op in ("Add", "Mul"))
    >>> list(short_labels([add, mul, "void g<4>(int)"]).values())
    ['f (Add)', 'f (Mul)', 'g']
    """
    kept = frozenset(as_they_are)
    names = list(dict.fromkeys(functions))
    short = {name: name if name in kept else short_kernel_name(name) for name in names}
    often = Counter(short.values())
    marks = distinguishing(name for name in names if often[short[name]] > 1)
    shown = [_marked(short[name] or _NO_NAME, marks.get(name, "")) for name in names]
    return dict(zip(names, told_apart(shown, " #"), strict=True))


def _marked(short: str, mark: str) -> str:
    """The name with what tells it apart, unless it says that already."""
    return short if not mark or mark in short else f"{short} ({mark})"
