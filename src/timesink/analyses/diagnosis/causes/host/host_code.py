"""A place or a function of the host that takes longer than the pace of all others lets expect."""

from __future__ import annotations

from collections.abc import Iterator

from timesink.analyses.behaviour.classes import NO_CALL, STEP_MARK
from timesink.analyses.diagnosis.causes.calls.typical import CLEARLY
from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import Claim, Demand
from timesink.analyses.diagnosis.causes.claims.evidence import (
    by_change,
    cycle_evidence,
    time_evidence,
    told_name,
)
from timesink.analyses.diagnosis.causes.host.gaps import gap_claims, pace_of_gaps
from timesink.analyses.diagnosis.causes.host.pace import (
    FEW,
    LOOK,
    Host,
    change_of,
    host_of,
    marks_of,
    pace_told,
    stands,
)
from timesink.analyses.diagnosis.diagnosis import Evidence
from timesink.analyses.statistics.moments import Floats

_HOST = ("host_cpu", "idle", "launch_gap")
_SHOWN = 4


def host_code(case: Case) -> Iterator[Claim]:
    """Places first, then functions that run as often as before."""
    host = host_of(case)
    yield from gap_claims(host)
    # What places came to is known only now.
    for column in list(_standing_functions(host, _explained(case)))[:FEW]:
        yield _function_claim(host, column)


def _explained(case: Case) -> dict[str | None, float]:
    """What places inside of each call explain, None for the cycle itself."""
    found: dict[str | None, float] = {}
    for claim in case.settled:
        ns = -claim.ns if case.backwards else claim.ns
        for inside in claim.inside:
            found[inside] = found.get(inside, 0.0) + max(0.0, ns)
    return found


def _standing_functions(host: Host, explained: dict[str | None, float]) -> Iterator[int]:
    """Functions called as often as before that are to blame, beyond the places inside of them.

    A process that waits for its turn does so in its longest functions, in every cycle.
    """
    if any(each.cause == "cpu_contention" for each in host.case.anomalies):
        return
    names = host.case.functions.table["function"]
    marks = marks_of(host.case)
    may = host.candidates & host.case.functions.called_equally
    for column in by_change(host.case.functions, may):
        name = names[column]
        known = explained.get(name, 0.0) + (explained.get(None, 0.0) if name in marks else 0.0)
        left = host.rise(column) - known
        if name in marks and _is_of_gaps(host, column):
            continue
        if stands(host, column) and left >= max(host.case.least_ns, host.rise(column) / 2):
            yield column


def _is_of_gaps(host: Host, column: int) -> bool:
    """Whether a mark only grew as the gaps in it did, all of them alike."""
    base, new = (float(side[column]) for side in host.case.functions.times)
    return new < (1 + CLEARLY) * pace_of_gaps(host, None) * base


def _function_claim(host: Host, column: int) -> Claim:
    case = host.case
    row = case.functions.table.row(column, named=True)
    rise, interval = change_of(host, [column])
    base, new = (float(side[column]) for side in case.functions.times)
    parts = (row["part"], *(part for part in _HOST if part != row["part"]))
    return Claim(
        "host_code",
        (Demand(rise, parts, structural=True),),
        interval,
        f"{_told(row['function'], case.times(base, new))}, in nearly every cycle; "
        f"{pace_told(host, column)}.",
        LOOK,
        tuple(_evidence(host, [column], case.functions.new[:, column])),
        functions=(row["function"],),
    )


def _told(function: str, times: str) -> str:
    if function == STEP_MARK:
        return f"The host spends {times} per cycle between recorded calls"
    name = "Code outside of recorded calls" if function == NO_CALL else told_name(function)
    return f"{name} takes {times} per cycle for as many calls"


def _evidence(host: Host, columns: list[int], values: Floats) -> Iterator[Evidence]:
    for column in columns[:_SHOWN]:
        yield time_evidence(host.case, column)
    if (cycle := cycle_evidence(host.case.new, values)) is not None:
        yield cycle
