"""Causes in the code of the host: more calls, longer ones, pauses, waits, data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from timesink.analyses.behaviour.functions import NO_CALL, STEP_MARK
from timesink.analyses.statistics.moments import moments
from timesink.analyses.statistics.student_t import welch_interval
from timesink.comparison.causes.case import (
    HOST_PARTS,
    Claim,
    Demand,
    DiagnosisCase,
    both_ways,
    by_change,
    change,
    is_certain,
    told_name,
)
from timesink.comparison.causes.case_functions import (
    CLEARLY,
    added_calls,
    added_in_cycles,
    along,
    computes_on_host,
    in_proportion,
    is_program,
    more_calls,
    on_host,
    same_work,
    slowdown,
    waits,
)
from timesink.comparison.causes.device import Launching, common_ratio
from timesink.comparison.causes.host_places import (
    FEW,
    HostPace,
    gap_claims,
    host_of,
    marks_of,
    places_of,
)
from timesink.model.intervals import Floats
from timesink.model.units import join_names

_HOST = ("host_cpu", "launch_gap", "idle")
"""Where the host's work shows that ran beside the device before."""
_CODE = ("host_cpu", "idle", "launch_gap")
_MAX_LISTED, _MAX_LOADERS = 4, 3
_MIN_SHARE_EXPLAINED = 0.5
_COMPILES = re.compile(r"compil|dynamo|inductor|nvrtc|ModuleLoad|autotun", re.IGNORECASE)
_READING = frozenset({"disk_io", "host_memory"})
_PROCESSORS = frozenset({"cpu_contention", "cpu_clock"})
_OFTEN = 5
"""Cycles that wait longer than any did before, of which as many would hardly be chance."""


def local_changes(case: DiagnosisCase) -> tuple[float, float]:
    """What all functions, and the places inside of them, lost and what they gained, in ns.

    Functions run beside the device, or inside of a data loader, and what they gain there costs
    nothing.  What shows of all gains is no more than what the host's parts of the cycle gained,
    and what shows of the losses that these make up for.
    """
    functions = case.functions
    is_local = functions.where(is_program(), pl.col("part") != "data_loading")
    is_local |= functions.where(on_host(), pl.col("function") == NO_CALL)
    base, new = (float(side[is_local].sum()) for side in functions.times)
    changes = _local(case, is_local)
    lost, gained = float(-np.minimum(changes, 0).sum()), float(np.maximum(changes, 0).sum())
    parts = [part for part in case.attribution if part.part in HOST_PARTS]
    before, after = sum(part.base_ns for part in parts), sum(part.new_ns for part in parts)
    net_change = after - before
    most = (
        net_change + lost * _shown_share(before, base),
        gained * _shown_share(after, new) - net_change,
    )
    return -max(0.0, min(lost, most[1])), max(0.0, min(gained, most[0]))


def _local(case: DiagnosisCase, is_local: np.ndarray) -> Floats:
    """What each function gained outside of the places in it, and what each of these gained.

    Where operators are the work, what more of them take counts for itself: calls that all became
    faster do not hide that.
    """
    functions, places = case.functions, places_of(case)
    column = {
        functions.table["function"][int(index)]: int(index) for index in np.flatnonzero(is_local)
    }
    rest = functions.times[1] - functions.times[0]
    inside = []
    for place, gained in zip(places.which, places.gained, strict=True):
        if place.occurrence is not None and place.inside in column:
            rest[column[place.inside]] -= gained
            inside.append(gained)
    added = (
        added_calls(functions, is_local)
        if computes_on_host(functions)
        else np.zeros(is_local.sum())
    )
    return np.concatenate([rest[is_local] - added, added, inside])


def _shown_share(parts_ns: float, functions_ns: float) -> float:
    """Part of the time of functions that shows in the cycle."""
    return min(1.0, parts_ns / functions_ns) if functions_ns > 0 else 1.0


@both_ways
def synchronisation(case: DiagnosisCase) -> Iterator[Claim]:
    """Calls that wait for the device and run more often, with all that came with them.

    The time is that of the waits, of what runs more often by the same number, and of the work of
    the host that the device no longer runs beside.
    """
    functions = case.functions
    rises = more_calls(functions)
    more = (rises > 0) & functions.where(pl.col("function_class") == "cpu_sync")
    if not more.any() or not same_work(functions):
        return
    first = int(np.argmax(np.where(more, rises, 0)))
    taken = more | along(functions, float(rises[first]))
    added = added_calls(functions, taken)
    added_sides = added_in_cycles(functions, taken, added)
    parts = functions.table.filter(pl.Series(taken)).with_columns(rise=pl.Series(added))
    summed = parts.group_by("part", "family").agg(pl.col("rise").sum())
    # Less the host's work that ran beside the device, per step: it grows where that is lost.
    works = functions.where(on_host(), ~waits())
    base, new = (
        side - ran[:, works].sum(axis=1)
        for side, ran in zip(case.both(*HOST_PARTS), (functions.base, functions.new), strict=True)
    )
    from_timelines = case.base.anatomy.from_timeline and case.new.anatomy.from_timeline
    lost = new.mean() - base.mean() if min(len(base), len(new)) else 0.0
    exposed = float(from_timelines and lost > 0)
    total, interval = change(added_sides[0] + exposed * base, added_sides[1] + exposed * new)
    rise = (
        float(added_sides[1].mean() - added_sides[0].mean()) if min(map(len, added_sides)) else 0.0
    )
    columns = by_change(functions, taken)
    other_names = list(dict.fromkeys(case.names(column for column in columns if column != first)))
    came = (
        f" With what came along ({join_names(other_names, _MAX_LISTED)}), these"
        if other_names
        else " These"
    )
    yield case.claim(
        "synchronisation",
        f"{case.names([first])[0]} waits for the device {case.often(first)} times per step."
        f"{came} calls take {case.took(columns)} per step.",
        (
            *(
                Demand(ns, (part if family is None else f"{part}/{family}",), structural=True)
                for part, family, ns in summed.sort("part", "family").iter_rows()
            ),
            Demand(total - rise, _HOST),
        ),
        interval,
        case.evidence(
            [first, *(column for column in columns[:_MAX_LISTED] if column != first)],
            added_sides[1],
            calls=True,
        ),
        functions=tuple(functions.table["function"].filter(pl.Series(taken))),
    )


def more_operators(case: DiagnosisCase) -> Iterator[Claim]:
    """Operators that take most of the time run more or less often, all in one proportion.

    A model with more layers does that, between the same ends.  A few operators that are more, or
    many short ones, are no other work but other code.
    """
    if not computes_on_host(case.functions):
        return
    functions = case.functions
    operators = functions.where(pl.col("function_class") == "cpu_operator")
    ratio = common_ratio(functions, operators & ~functions.called_equally)
    if ratio is None:
        return
    which = operators & in_proportion(functions, ratio)
    which &= functions.where(~pl.col("function").is_in([*case.taken, *case.blurred]))
    total = np.sum(functions.times, axis=0)
    if total[which].sum() < _MIN_SHARE_EXPLAINED * total[operators].sum():
        return
    host = Launching(case, which, ratio)
    _, interval = change(*host.sides)
    columns = by_change(functions, which)
    yield case.claim(
        "workload_change",
        f"The workload differs: {int(which.sum())} operators run about {ratio:.2f} times as "
        f"often, {case.names(columns[:1])[0]} {case.often(columns[0])} times per step among them. "
        f"Together they take {case.took(which)} per step.",
        host.demands(),
        interval,
        case.evidence(columns[:_MAX_LISTED], functions.new[:, which].sum(axis=1), calls=True),
        functions=host.functions,
    )


def host_calls(case: DiagnosisCase) -> Iterator[Claim]:
    """All calls of the host that run more or less often together, beyond the pace of the others.

    What runs more may stand for what runs less, so it is the sum that counts.
    """
    functions = case.functions
    works = functions.where(
        is_program(),
        # How often a mark comes is a matter of how cycles are told apart.
        ~pl.col("function").is_in([*case.taken, *case.blurred, *marks_of(case)]),
        pl.col("part") != "data_loading",
    )
    other = works & ((more_calls(functions) > 0) | (more_calls(functions.swapped()) > 0))
    if not other.any() or not same_work(functions):
        return
    pace = slowdown(functions.base, functions.new, works & functions.called_equally)
    base, new = functions.base[:, other].sum(axis=1), functions.new[:, other].sum(axis=1)
    rise, interval = change(pace * base, new)
    if abs(rise) < case.least_ns or not is_certain(interval):
        return
    columns = by_change(functions, other)
    names = [functions.table["function"][column] for column in columns]
    also = ""
    if len(columns) > 1:
        more = (functions.calls[1] - functions.calls[0])[columns] > 0
        less = "less often" if not more.any() else "more or less often"
        other_names = join_names(case.names(columns[1:]), _MAX_LISTED)
        also = f", and {other_names} run {'more often' if more.all() else less} too"
    yield case.claim(
        "host_code",
        f"{told_name(names[0])} runs {case.often(columns[0])} times per step{also}: together "
        f"{case.took(columns)} per step.",
        [Demand(rise, _HOST, structural=True)],
        interval,
        case.evidence(columns[:_MAX_LISTED], new, calls=True),
        advice="compiles" if any(map(_COMPILES.search, names)) else "other_calls",
        functions=tuple(names),
    )


@both_ways
def host_code(case: DiagnosisCase) -> Iterator[Claim]:
    """Places first, then functions that run as often as before."""
    host = host_of(case)
    yield from gap_claims(host)
    # What places inside of each call explain, None for the cycle itself, is known only now.
    explained: dict[str | None, float] = {}
    for claim in case.settled:
        ns = -claim.ns if case.backwards else claim.ns
        for inside in claim.inside:
            explained[inside] = explained.get(inside, 0.0) + max(0.0, ns)
    for column in list(_standing_functions(host, explained))[:FEW]:
        function, part = case.functions.table.select("function", "part").row(column)
        rise, interval = host.change_of([column])
        name = "Code outside recorded calls" if function == NO_CALL else told_name(function)
        sentence = f"{name} takes {case.took(column)} per step for as many calls"
        place = "outside of recorded calls" if function == NO_CALL else f"in {name}"
        if function == STEP_MARK:
            place = "between recorded calls"
            sentence = f"The host spends {case.took(column)} per step {place}"
        claim = case.claim(
            "host_code",
            f"{sentence}, in nearly every step; {host.pace_told(column)}.",
            [Demand(rise, tuple(dict.fromkeys((part, *_CODE))), structural=True)],
            interval,
            case.evidence([column], case.functions.new[:, column]),
            functions=(function,),
        )
        yield replace(claim, finding=replace(claim.finding, place=place))


def _standing_functions(host: HostPace, explained: dict[str | None, float]) -> Iterator[int]:
    """Functions called as often as before that are to blame, beyond the places inside of them.

    A process that waits for its turn does so in its longest functions, in every cycle.
    """
    if any(anomaly.cause == "cpu_contention" for anomaly in host.case.anomalies):
        return
    names = host.case.functions.table["function"]
    marks = marks_of(host.case)
    may = host.candidates & host.case.functions.called_equally
    for column in by_change(host.case.functions, may):
        name = names[column]
        explained_ns = explained.get(name, 0.0) + (
            explained.get(None, 0.0) if name in marks else 0.0
        )
        left = host.rise(column) - explained_ns
        base, new = (float(side[column]) for side in host.case.functions.times)
        if name in marks and new < (1 + CLEARLY) * host.pace_of_gaps(None) * base:
            continue  # it only grew as the gaps in it did, all of them alike
        if host.stands(column) and left >= max(host.case.least_ns, host.rise(column) / 2):
            yield column


def _is_starved(case: DiagnosisCase, rise: float) -> bool:
    """Whether the loader waits for something that is known to be scarce: that is the cause then.

    Its workers need processors as the process does, which gains more where these are scarce, and
    waits for a core itself; and a loader is what reads from a disk.
    """
    odd = {anomaly.cause for anomaly in case.anomalies}
    if odd & _READING:
        return True
    waits = [part for part in case.attribution if part.part == "run_queue"]
    if any(is_certain(part.interval_ns) and part.delta_ns > rise for part in waits):
        return True
    host = sum(part.delta_ns for part in case.attribution if part.part in HOST_PARTS)
    return bool(odd & _PROCESSORS) and host > rise


@both_ways
def data_loading(case: DiagnosisCase) -> Iterator[Claim]:
    """Time in the data loader that grew."""
    base, new = case.both("data_loading")
    if not len(base) or not len(new):
        return
    rise, interval = change(base, new)
    if not is_certain(interval) and (new > base.max()).sum() >= _OFTEN:
        # A loader that is too slow holds up cycles now and then, whenever what it had ready is used
        # up.  Where many of them wait longer than any did before, that they are uneven is how it
        # shows.
        before, after = (
            moments(np.zeros(len(side), dtype=np.int64), side, 1) for side in (base, new)
        )
        interval = welch_interval(before, after)
    if rise < max(case.least_ns, CLEARLY * float(base.mean())) or _is_starved(case, rise):
        return
    loaders = case.functions.where(pl.col("part") == "data_loading")
    took = case.times(float(base.mean()), float(new.mean()))
    yield case.claim(
        "data_loading",
        f"Steps wait {took} for the data loader.",
        [Demand(rise, ("data_loading",))],
        interval,
        case.evidence(by_change(case.functions, loaders)[:_MAX_LOADERS], new),
    )
