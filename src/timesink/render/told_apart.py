"""Names that look the same, told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def told_apart(names: Sequence[str]) -> list[str]:
    """Names of different things, numbered where two would look the same.

    >>> told_apart(["gemm", "relu", "gemm"])
    ['gemm', 'relu', 'gemm #2']
    """
    seen: Counter[str] = Counter()
    told = []
    for name in names:
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return told
