"""What a comparison has to say besides its tables; where it appears is up to others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.role import Role
from timesink.analyses.statistics.discovery import ALPHA
from timesink.model import units
from timesink.model.amounts import change, per_cycle
from timesink.model.schema import HOST_DEVICE
from timesink.output.names import LONGEST_NAME, cut_middle
from timesink.reports.comparison.answer import counter_amounts, different, time_per_cycle
from timesink.reports.comparison.changes import Change, counters_meanwhile
from timesink.reports.comparison.told import Told

_MOST_FINDINGS = 5
_MOST_COUNTERS = 3
_SURE = 0.5
"""Confidence in cycles from which on they need no remark."""
_SAME_CALLS = 0.05
"""Calls per cycle that differ by less are told as the same."""


# -- what was compared -----------------------------------------------------------------------------


def subject(told: Told, identifier: str) -> str:
    """What was compared: names, processes, cycles."""
    base, new = told.pair.base, told.pair.new
    named = identifier if base.pid in base.label else f"{identifier}, {told.processes}"
    sides = f"{_side(base)} → {_side(new)}"
    anchors = [
        cut_middle(told.label(_anchor(role)), LONGEST_NAME) or "unlike calls"
        for role in (base, new)
    ]
    of = anchors[0] if anchors[0] == anchors[1] else " and of ".join(anchors)
    return f"{named}: {sides} of {of}"


def both_labels(pair: Pair) -> str:
    """What the two sides are called.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> both_labels(same.pair)
    'base vs new'
    """
    return f"{pair.base.label} vs {pair.new.label}"


def _side(role: Role) -> str:
    return f"{role.label} ({units.counted(role.behaviour['cycle'].n_unique(), 'cycles')})"


def _anchor(role: Role) -> str:
    """What marks its cycles; empty where that is no single thing."""
    anchors = role.behaviour["anchor"].drop_nulls().unique().to_list()
    return str(anchors[0]) if len(anchors) == 1 else ""


# -- notes -----------------------------------------------------------------------------------------


def notes(told: Told) -> list[str]:
    """What to know before believing the numbers."""
    reasons = told.whole.workload.reasons
    shown = list(reasons if told.whole.workload.comparable else reasons[1:])
    base, new = ([*_own_notes(side), *_doubts(side)] for side in _sides(told))
    of_both = [note for note in base if note in new]
    shown += [f"both: {note}" for note in of_both]
    for side, own in ((told.pair.base, base), (told.pair.new, new)):
        shown += [f"{side.label}: {note}" for note in own if note not in of_both]
    shown += _scores(told)
    return [*dict.fromkeys(shown)]


def _sides(told: Told) -> list[tuple[Role, Role]]:
    """Each side as recorded, and as its numbers are told."""
    return [(told.whole.base, told.pair.base), (told.whole.new, told.pair.new)]


def _own_notes(side: tuple[Role, Role]) -> list[str]:
    return [*dict.fromkeys(note for role in side for note in role.notes)]


def _doubts(side: tuple[Role, Role]) -> Iterator[str]:
    confidence = side[0].confidence
    if confidence is not None and confidence < _SURE:
        yield f"its cycles were found with a confidence of {confidence:.0%} only"


def equal_work_note(told: Told) -> list[str]:
    """Which tables are of equal work, where others are not."""
    if told.pair is told.whole:
        return []
    as_recorded = "--format csv and report compare the cycles as recorded"
    return [f"Numbers here are of equal work; {as_recorded}."]


def _scores(told: Told) -> Iterator[str]:
    """High scores where nothing differs are a matter of small spreads."""
    if told.verdict.nothing and told.pair.findings:
        top = told.pair.rows["score"][0]
        yield (
            f"Scores reach {top:.0f} though nothing changed beyond noise: the score divides by the "
            "spread of few cycles, which may be close to nothing."
        )


def notes_of_many(pairs: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Notes of several pairs under their names; what is said of all of them is said once.

    >>> notes_of_many([("rank 0", ["short", "old"]), ("rank 1", ["short"])])
    ['short', 'rank 0: old']
    """
    every = list(pairs)
    of_all = [note for note in every[0][1] if all(note in own for _, own in every)] if every else []
    return [
        *of_all,
        *(f"{name}: {note}" for name, own in every for note in own if note not in of_all),
    ]


# -- what changed ----------------------------------------------------------------------------------


def findings(told: Told, named: Collection[tuple[str, str]] = ()) -> Iterator[tuple[str, str]]:
    """The functions whose time changed most of those that changed beyond noise.

    Each with its times, and with how counters moved meanwhile where that was not told before.  Of
    unequal work there are none: what a function took in cycles of another kind says nothing.
    Counters and devices that were `named` before are not told again with other figures.
    """
    before = set()
    for one in told.changes[:_MOST_FINDINGS] if told.comparable else ():
        rows = _meanwhile(told, one, named)
        shown = (
            f"{cut_middle(row['metric'], LONGEST_NAME)} {counter_amounts(row)}" for row in rows
        )
        these = (one.device, *(row["metric"] for row in rows))
        new = rows and these not in before
        yield _line(told, one), f"meanwhile {', '.join(shown)}" if new else ""
        before.add(these)


def _meanwhile(told: Told, one: Change, named: Collection[tuple[str, str]]) -> list[dict[str, Any]]:
    changed = [
        row["metric"]
        for row in told.counters
        if row["device"] == one.device and (row["metric"], row["device"]) not in named
    ]
    return different(counters_meanwhile(told.pair.loads, one, changed))[:_MOST_COUNTERS]


def _line(told: Told, one: Change) -> str:
    name = (
        f"{cut_middle(told.name(one), LONGEST_NAME)} on {one.device}: {time_per_cycle(told, one)}"
    )
    if one.runs_on != "both":
        return name
    noise = "" if one.p < ALPHA else ", which may be noise"
    return f"{name} ({change(one.base_ns, one.new_ns)}{noise}){_calls(one)}{_names(one)}"


def _calls(one: Change) -> str:
    """Calls in a cycle, where they are not the same."""
    base, new = one.calls_base, one.calls_new
    if abs(new - base) <= _SAME_CALLS * max(base, new):
        return ""
    return f", {per_cycle(base)} → {per_cycle(new)} calls"


def _names(one: Change) -> str:
    """Whether both sides are called otherwise."""
    if one.level == "exact" or set(one.names_base) == set(one.names_new):
        return ""
    return ", other kernels" if one.device != HOST_DEVICE else ", other functions"
