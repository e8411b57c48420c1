"""Places in the cycle at which the host pauses longer than its pace lets expect."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from timesink.analyses.diagnosis.causes.calls.typical import CLEARLY, slowdown
from timesink.analyses.diagnosis.causes.case import Side
from timesink.analyses.diagnosis.causes.claims.claim import HOST_PARTS, Claim, Demand
from timesink.analyses.diagnosis.causes.claims.evidence import told_name
from timesink.analyses.diagnosis.causes.host.pace import (
    FEW,
    LOOK,
    Host,
    change_of,
    marks_of,
    pace_told,
    stands,
)
from timesink.analyses.diagnosis.causes.host.places import Place, place_evidence

_NEARLY_ALL = 0.8
"""A place stands for all of its sort that holds this part of what they gained."""
_BACKED = 0.5
"""Part of what a place gained that its function must have gained too."""
_SHOWN = 4


def gap_claims(host: Host) -> Iterator[Claim]:
    """Places that are to blame; many of them, or several inside of one call, as one."""
    for columns in _by_call(host, _standing_places(host)):
        yield _place_claim(host, columns)


def _standing_places(host: Host) -> list[int]:
    """Columns of places that are to blame, each stretch of time in one of them only."""
    unclear = host.case.blurred | (marks_of(host.case) if host.case.blurred else frozenset())
    columns = [
        host.functions + place
        for place, where in enumerate(host.places.which)
        if not host.case.blurred or (where.inside is not None and where.inside not in unclear)
    ]
    found = [
        each
        for each in columns
        if stands(host, each) and not _is_common(host, each) and _is_backed(host, each)
    ]
    found.sort(key=lambda each: -host.rise(each))
    chosen: list[int] = []
    for column in _narrowest(host, found):
        place = _place(host, column)
        if not any(_overlap(place, _place(host, other)) for other in chosen):
            chosen.append(column)
    return chosen


def _place(host: Host, column: int) -> Place:
    return host.places.which[column - host.functions]


def _narrowest(host: Host, columns: list[int]) -> list[int]:
    """Sorts of places after the one place that is nearly all of them."""

    def key(column: int) -> float:
        whole = _place(host, column).occurrence is None
        return -host.rise(column) * (_NEARLY_ALL if whole else 1)

    return sorted(columns, key=key)


def _overlap(one: Place, other: Place) -> bool:
    same = (one.inside, one.after, one.before) == (other.inside, other.after, other.before)
    return same and (None in {one.occurrence, other.occurrence} or one == other)


def _is_backed(host: Host, column: int) -> bool:
    """Whether what is around a place gained time, and it is not only called something else."""
    inside = _place(host, column).inside
    if inside is None:
        gained = _idle_rise(host, column)
    else:
        names = host.case.functions.table["function"]
        blamed = np.flatnonzero(host.candidates & (names == inside).to_numpy())
        gained = sum((_gain(host, int(each)) for each in blamed), 0.0)
    return gained >= _BACKED * host.rise(column)


def _gain(host: Host, column: int) -> float:
    """What a function gained against the pace of the others, where all got faster too."""
    base, new = (float(side[column]) for side in host.case.functions.times)
    return new - float(host.excess.slowdown[column]) * base


def _idle_rise(host: Host, column: int) -> float:
    """What the time in no call gained beyond the pace of the host, which holds waits for a core."""
    base, new = (_idle(side) for side in (host.case.base, host.case.new))
    return new - float(host.excess.slowdown[column]) * base


def _idle(side: Side) -> float:
    """Mean time in no call, with its share of the waits for a core."""
    idle, waits = (float(side.times_of(part).mean()) for part in ("idle", "run_queue"))
    ran = float(side.times_of(*HOST_PARTS).mean()) - waits
    return idle * (1 + waits / ran) if ran > 0 else idle


def _is_common(host: Host, column: int) -> bool:
    """Whether the other gaps of its sort grew as much: gaps that all grew have none to blame."""
    own = _place(host, column)
    base, new = (side[:, column - host.functions] for side in (host.places.base, host.places.new))
    pace = pace_of_gaps(host, own.inside, own)
    return float(new.mean()) < (1 + CLEARLY) * pace * float(base.mean())


def pace_of_gaps(host: Host, inside: str | None, but: Place | None = None) -> float:
    """By how much the usual gap grew, of those inside of calls or of those between them."""
    others = [
        place.occurrence is not None
        and (place.inside is None) == (inside is None)
        and (but is None or not _overlap(place, but))
        for place in host.places.which
    ]
    return slowdown(host.places.base, host.places.new, np.array(others, dtype=bool))


def _by_call(host: Host, columns: list[int]) -> list[list[int]]:
    """Places that are one cause: several inside of one call, or all over the cycle."""
    groups: dict[str | None, list[int]] = {}
    for column in columns:
        groups.setdefault(_place(host, column).inside, []).append(column)
    found = []
    for inside, group in groups.items():
        apart = inside is None and len(group) <= FEW
        found += [[each] for each in group] if apart else [group]
    return sorted(found, key=lambda group: columns.index(group[0]))


def _place_claim(host: Host, columns: list[int]) -> Claim:
    case, place = host.case, _place(host, columns[0])
    at = [column - host.functions for column in columns]
    base, new = (side[:, at].sum(axis=1) for side in (host.places.base, host.places.new))
    rise, interval = change_of(host, columns)
    took = case.times(float(base.mean()), float(new.mean()))
    parts = ("idle", "host_cpu") if place.inside is None else ("host_cpu", "idle")
    return Claim(
        "host_code",
        (Demand(rise, (*parts, "launch_gap"), structural=True),),
        interval,
        f"The host spends {took} per cycle {_where(place, len(columns))}, in nearly every cycle; "
        f"{pace_told(host, columns[0])}.",
        LOOK,
        tuple(
            place_evidence(case.new, _place(host, each), host.places.new[:, each - host.functions])
            for each in columns[:_SHOWN]
        ),
        inside=(place.inside,),
    )


def _where(place: Place, places: int) -> str:
    if places == 1:
        return place.words
    whole = "of the cycle" if place.inside is None else f"inside {told_name(place.inside)}"
    return f"in {places} places {whole}, most of it {place.words}"
