"""Recordings that hold less than was asked for."""

from __future__ import annotations

from collections.abc import Iterable

from timesink.model.health import RULES

_ENDED_EARLY = tuple(RULES[code].title for code in ("lost_recording", "partial_recording"))


def doubts_of(notes: Iterable[str]) -> tuple[str, ...]:
    """The notes that say a recording ended early, each once.

    >>> doubts_of(["new: the recording ended early: killed", "no counter samples"])
    ('new: the recording ended early: killed',)
    """
    return tuple(dict.fromkeys(one for one in notes if any(said in one for said in _ENDED_EARLY)))
