"""Which anomaly comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from timesink.analyses.diagnosis.anomalies.suspect import Suspect


def ranked(suspects: Iterable[Suspect]) -> list[list[Suspect]]:
    """Suspects of one cause on one device together; most severe first, and effects after causes."""
    groups: dict[tuple[str, str], list[Suspect]] = {}
    for one in sorted(suspects, key=_order):
        groups.setdefault((one.cause, one.device), []).append(one)
    waiting = list(groups.values())
    done: list[list[Suspect]] = []
    while waiting:
        # What follows from another one waits for it, unless both wait for each other.
        ready = next((one for one in waiting if not _blocked(one, waiting)), waiting[0])
        waiting.remove(ready)
        done.append(ready)
    return done


def _order(one: Suspect) -> tuple[float, str, str, str]:
    return -one.severity, one.cause, one.device, one.reading.metric


def _blocked(group: Sequence[Suspect], waiting: Iterable[Sequence[Suspect]]) -> bool:
    before = {cause for one in group for cause in one.after}
    return any(
        other is not group and other[0].cause in before and other[0].device == group[0].device
        for other in waiting
    )
