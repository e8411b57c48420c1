"""Which rank a recording is: as it says itself, as its file is called, or by its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Named:
    """What a recording is called, and the rank that its trace and the name of its file state."""

    worker: str
    told: int | None
    in_name: int | None

    @property
    def stated(self) -> int | None:
        """The rank it states, in whichever way."""
        return self.in_name if self.told is None else self.told


@dataclass(frozen=True, slots=True)
class Numbers:
    """A number for each recording, no two the same, and what had to be assumed."""

    ranks: tuple[int, ...]
    notes: tuple[str, ...] = ()


def numbered(recordings: Sequence[Named]) -> Numbers:
    """The rank of each recording: from its trace, else its file's name, else by its place."""
    stated = [each.stated for each in _unless_all_the_same(recordings)]
    taken: set[int] = set()
    ranks: list[int | None] = []
    for rank in stated:
        ranks.append(None if rank in taken else rank)
        taken |= {rank} if rank is not None else set()
    free = (number for number in range(2 * len(recordings)) if number not in taken)
    found = tuple(next(free) if rank is None else rank for rank in ranks)
    return Numbers(found, tuple(_notes(recordings, stated, found)))


def _unless_all_the_same(recordings: Sequence[Named]) -> list[Named]:
    """Where every trace states one and the same rank, as single processes do, none is meant."""
    told = {each.told for each in recordings}
    if len(recordings) > 1 and len(told) == 1:
        return [Named(each.worker, None, each.in_name) for each in recordings]
    return list(recordings)


def _notes(
    recordings: Sequence[Named], stated: Sequence[int | None], found: Sequence[int]
) -> Iterator[str]:
    if len(recordings) > 1 and all(rank is None for rank in stated):
        yield "no recording says which rank it is: they are numbered by their names"
        return
    for each, said, rank in zip(recordings, stated, found, strict=True):
        if said is None and len(recordings) > 1:
            yield f"{each.worker} does not say which rank it is: it counts as rank {rank}"
        elif said not in {None, rank}:
            yield (
                f"{each.worker} says that it is rank {said}, as another recording does: "
                f"it counts as rank {rank}"
            )
