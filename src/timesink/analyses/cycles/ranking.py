"""Which of several calls or annotations is the unit: the largest total, then the longest."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

NEARLY = 0.9
"""Totals this close together are taken as equal; the longer call is then the outer one."""


class Timed(Protocol):
    """Something that was called several times under one name."""

    @property
    def name(self) -> str: ...

    @property
    def count(self) -> int: ...

    @property
    def total_ns(self) -> int: ...


Item = TypeVar("Item", bound=Timed)


def best_first(items: Sequence[Item]) -> Iterator[Item]:
    """All of them in a total order.

    The largest total leads with all that come near it, and of these the longest calls win, because
    they hold the others; then the next among what is left.
    """
    preferred = sorted(items, key=lambda item: (item.total_ns / item.count, *_size(item)))
    by_total = sorted(range(len(preferred)), key=lambda place: -preferred[place].total_ns)
    gone = [False] * len(preferred)
    near: list[int] = []
    leader = entered = 0
    for _ in preferred:
        while gone[by_total[leader]]:
            leader += 1
        least = NEARLY * preferred[by_total[leader]].total_ns
        while entered < len(by_total) and preferred[by_total[entered]].total_ns >= least:
            heapq.heappush(near, -by_total[entered])
            entered += 1
        best = -heapq.heappop(near)
        gone[best] = True
        yield preferred[best]


def _size(item: Timed) -> tuple[int, str]:
    return (item.total_ns, item.name)
