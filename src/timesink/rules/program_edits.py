"""What changes of a program mean: edits a person would name, each with its cause and place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from timesink.analyses.diff.alignment import CallChange
from timesink.analyses.diff.edits import ProgramDifference, call_tree, difference
from timesink.analyses.diff.program import (
    ALLOCATOR,
    ANNOTATION,
    COPY,
    KERNEL,
    OPERATOR,
    SORTS,
    WAIT,
    Program,
)
from timesink.analyses.names import short_kernel_name
from timesink.model.arrays import Floats
from timesink.model.diagnosis import CycleKinds, ProgramChange, ProgramEdit, SteadyTimes
from timesink.model.findings import Evidence, Finding
from timesink.model.units import from_to, listed, per_cycle
from timesink.rules.causes_device import precision
from timesink.rules.ledger import Demand, Ledger, largest_first
from timesink.rules.registry import finding, loaded_toml

_BACKWARD = re.compile(r"^autograd::engine|Backward\d*$")
_FORWARD_SHARE = 0.6
"""Part of what came in the backward pass that the forward pass does as well, where it is done
again."""
_LEAST_AGAIN = 2
_MOST_EVIDENCE = 6


@lru_cache(maxsize=1)
def _rows() -> Sequence[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = loaded_toml("edits.toml")["edit"]
    return [
        {key: re.compile(value) if key in _PATTERNS else value for key, value in row.items()}
        for row in rows
    ]


_PATTERNS = frozenset({"came", "gone", "either", "inside", "only", "and_other", "outermost"})


@dataclass(frozen=True, eq=False)
class _Facts:
    """What rows ask about one change."""

    change: CallChange
    came: Counter[str]
    """Names that more calls have, on balance, at any depth."""
    gone: Counter[str]
    sorts: frozenset[str]
    backward: bool
    forward_work: bool
    other_precision: bool


_BETWEEN_RUNS = 0.006
"""Part of its device time by which equal programs differ from run to run, at most."""
_NORMAL = 1.96


def program_change(
    base: Program, new: Program, base_cycles: Sequence[int] = (), new_cycles: Sequence[int] = ()
) -> ProgramChange:
    """What the second program does otherwise, and what its device work takes."""
    found = difference(base, new, base_cycles, new_cycles)
    told = edits(found)
    change = [
        float(new[part].sum() - base[part].sum()) for part in (2, 1) for base, new in [found.means]
    ]
    return ProgramChange(
        told,
        tuple(_kinds(found)),
        _device_time(*found.device_ns),
        change[0],
        change[1],
        change[0] - sum(one.device_ns for one in told),
        change[1] - sum(one.host_ns for one in told),
        found.host,
        found.varying,
        call_tree(found, base, new),
    )


def _kinds(found: ProgramDifference) -> Iterator[CycleKinds]:
    base, new = found.kinds
    for one in base:
        its = None if one.partner is None else new[one.partner]
        yield CycleKinds(
            one.cycles,
            () if its is None else its.cycles,
            one.period,
            None if its is None else its.period,
            one.calls,
        )
    for one in new:
        if one.partner is None:
            yield CycleKinds((), one.cycles, None, one.period, one.calls)


def _device_time(base: Floats, new: Floats) -> SteadyTimes:
    """Device time of usual cycles; its interval holds by how much equal runs differ."""
    middle, errors = [], []
    for side in (base, new):
        usual = float(np.median(side))
        spread = 1.4826 * float(np.median(np.abs(side - usual)))
        middle.append(usual)
        errors.append(1.2533 * spread / max(1, len(side)) ** 0.5)
    half = _NORMAL * float(np.hypot(*errors)) + _BETWEEN_RUNS * middle[0]
    delta = middle[1] - middle[0]
    return SteadyTimes(middle[0], middle[1], (delta - half, delta + half))


def edits(found: ProgramDifference) -> tuple[ProgramEdit, ...]:
    """The edits of a difference, what explains most of the device's time first."""
    names, sorts = found.sites["name"].to_list(), found.sites["sort"].to_list()
    forward = frozenset(
        name
        for name, sort, path in zip(names, sorts, _outermost(found), strict=True)
        if sort == OPERATOR and not _BACKWARD.search(path)
    )
    facts = [_facts(found, change, names, sorts, forward) for change in found.changes]
    causes = [_cause(one) for one in facts]
    causes = _absorbed(causes)
    groups: dict[str, list[_Facts]] = {}
    for cause, one in zip(causes, facts, strict=True):
        groups.setdefault(cause, []).append(one)
    told = [_edit(found, cause, own, names, sorts) for cause, own in groups.items()]
    return tuple(sorted(told, key=lambda one: -_weight(one)))


def _weight(edit: ProgramEdit) -> float:
    return abs(edit.device_ns) + abs(edit.host_ns)


def _outermost(found: ProgramDifference) -> Iterator[str]:
    """The name of the outermost call above each site."""
    place, parents = found.row, found.sites["parent"].to_list()
    names = found.sites["name"].to_list()
    for row in range(len(names)):
        at = row
        while parents[at] in place:
            at = place[parents[at]]
        yield names[at]


def _facts(
    found: ProgramDifference,
    change: CallChange,
    names: Sequence[str],
    sorts: Sequence[int],
    forward: frozenset[str],
) -> _Facts:
    row = found.row
    came, gone = (Counter[str]() for _ in range(2))
    for target, counts in ((came, change.came), (gone, change.gone)):
        for site, often in counts.items():
            target[names[row[site]]] += often
    sort_of = {names[row[site]]: sorts[row[site]] for site in (*change.came, *change.gone)}
    more, fewer = came - gone, gone - came
    top = (*change.inside, *change.added, *change.removed)
    backward = any(map(_BACKWARD.search, top))
    operators = Counter(
        {
            name: often
            for name, often in more.items()
            if sort_of[name] == OPERATOR and not _BACKWARD.search(name)
        }
    )
    again = sum(often for name, often in operators.items() if name in forward)
    kernels = [
        {precision(name) for name in side if sort_of[name] == KERNEL} - {None}
        for side in (gone, came)
    ]
    return _Facts(
        change,
        more,
        fewer,
        frozenset(SORTS[sort_of[name]] for name in (*more, *fewer)),
        backward,
        backward
        and len(set(operators) & forward) >= _LEAST_AGAIN
        and again >= _FORWARD_SHARE * max(1, sum(operators.values())),
        bool(kernels[0] and kernels[1] and kernels[0] != kernels[1]),
    )


def _cause(facts: _Facts) -> str:
    return str(next(row["cause"] for row in _rows() if _fits(row, facts)))


def _fits(row: Mapping[str, Any], facts: _Facts) -> bool:
    change = facts.change
    both = (*facts.came, *facts.gone)
    top = (*change.inside, *change.added, *change.removed)
    tests: Mapping[str, Callable[[Any], bool]] = {
        "kind": lambda value: change.kind == value,
        "came": lambda value: any(map(value.search, facts.came)),
        "gone": lambda value: any(map(value.search, facts.gone)),
        "either": lambda value: any(map(value.search, both)),
        "and_other": lambda value: any(map(value.search, both)),
        "only": lambda value: bool(both) and all(map(value.search, both)),
        "inside": lambda value: any(map(value.search, top)),
        "outermost": lambda value: all(map(value.search, (*change.added, *change.removed))),
        "sorts": lambda value: bool(facts.sorts & set(value)),
        "backward": lambda value: facts.backward == value,
        "forward_work": lambda value: facts.forward_work == value,
        "precision": lambda value: facts.other_precision == value,
    }
    return all(test(row[key]) for key, test in tests.items() if key in row)


def _absorbed(causes: Sequence[str]) -> list[str]:
    """Causes of which others are consequences stand for those as well."""
    found = list(causes)
    for row in _rows():
        over = row.get("absorbs", ())
        if row["cause"] in found and over:
            found = [row["cause"] if one in over or "*" in over else one for one in found]
    return found


def _edit(
    found: ProgramDifference,
    cause: str,
    facts: Sequence[_Facts],
    names: Sequence[str],
    sorts: Sequence[int],
) -> ProgramEdit:
    amounts = [found.amounts(one.change) for one in facts]
    ordered = sorted(range(len(facts)), key=lambda at: -abs(amounts[at][1]) - abs(amounts[at][2]))
    lead = facts[ordered[0]]
    pattern = next(
        (row["either"] for row in _rows() if row["cause"] == cause and "either" in row), None
    )
    call = _telling(facts, pattern, lead)
    means = [
        float(sum(mean[0, at] for at, name in enumerate(names) if name == call))
        for mean in found.means
    ]
    total = np.sum(amounts, axis=0)
    return ProgramEdit(
        cause,
        _sentence(lead),
        place_of(lead.change, backward=lead.backward),
        call,
        means[0],
        means[1],
        float(total[2]),
        float(total[1]),
        _net(found, facts, sorts, (KERNEL, COPY)),
        _net(found, facts, sorts, (WAIT,)),
        float(total[3]),
        (
            *_counted_calls(found, facts, names, sorts),
            *(
                Evidence("program", _told_change(facts[at].change))
                for at in ordered[:_MOST_EVIDENCE]
            ),
        ),
    )


def _net(
    found: ProgramDifference, facts: Sequence[_Facts], sorts: Sequence[int], which: Sequence[int]
) -> float:
    total = 0.0
    for one in facts:
        for sign, counts in ((1, one.change.came), (-1, one.change.gone)):
            total += (
                one.change.frequency
                * sign
                * sum(often for site, often in counts.items() if sorts[found.row[site]] in which)
            )
    return total


def _telling(facts: Sequence[_Facts], pattern: re.Pattern[str] | None, lead: _Facts) -> str:
    """The name that tells an edit: that its cause looks for, else the first outermost call."""
    if pattern is not None:
        named = Counter(
            {
                name: often
                for one in facts
                for name, often in (one.came + one.gone).items()
                if pattern.search(name)
            }
        )
        if named:
            return named.most_common(1)[0][0]
    change = lead.change
    return (change.added or change.removed or ("",))[0]


def _sentence(lead: _Facts) -> str:
    """What came, went or was replaced, and at how many places."""
    change = lead.change
    added, removed = (_calls_told(side, 4) for side in (change.added, change.removed))
    where = f" at {change.places} of {change.of_places} places" if change.places > 1 else ""
    if change.kind in {"shapes", "types"}:
        work = "" if change.factor is None else f", {change.factor:.3g} times as much work"
        return f"The same calls with other {change.kind}{work}"
    if change.kind == "variants":
        return f"Other variants of {added}"
    if change.kind == "repeated":
        return f"A cycle does its work {change.factor:.3g} times as often"
    if change.kind == "cycles":
        less = "no longer " if removed else ""
        return f"Every {change.factor:.0f}. cycle {less}runs {added or removed} as well"
    if added and removed:
        return f"{added} instead of {removed}{where}"
    return f"{added or removed} {'added' if added else 'removed'}{where}"


def _calls_told(calls: Sequence[str], most: int) -> str:
    """Calls as people say them, each once with how often it comes."""
    often = Counter(map(told, calls))
    return listed([name if many == 1 else f"{many} x {name}" for name, many in often.items()], most)


_TELLING = (WAIT, ALLOCATOR, OPERATOR, ANNOTATION, COPY, KERNEL)
"""Sorts of calls whose numbers tell an edit, those that tell most first."""


def _counted_calls(
    found: ProgramDifference, facts: Sequence[_Facts], names: Sequence[str], sorts: Sequence[int]
) -> Iterator[Evidence]:
    """Names that come more or less often, and how often on both sides."""
    moved = sum((one.came + one.gone for one in facts), Counter[str]())
    sort_of = {name: sort for name, sort in zip(names, sorts, strict=True) if name in moved}
    ranked = sorted(
        (name for name in moved if sort_of[name] in _TELLING),
        key=lambda name: (_TELLING.index(sort_of[name]), -moved[name]),
    )
    columns: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        if name in moved:
            columns.setdefault(name, []).append(at)
    for name in ranked[:_MOST_EVIDENCE]:
        base, new = (float(mean[0, columns[name]].sum()) for mean in found.means)
        text = f"{told(name)}: {from_to(per_cycle(base), per_cycle(new))} calls per cycle"
        recorded = found.sites["recorded"][columns[name][0]]
        yield Evidence("calls", text, function=recorded, unit="calls per cycle", base=base, new=new)


def _told_change(change: CallChange) -> str:
    """One change of calls as evidence."""
    base, new = (sum(side.values()) for side in (change.gone, change.came))
    where = place_of(change, backward=False)
    names = [
        f"{sign}{told(name)}" + (f" x {often}" if often > 1 else "")
        for sign, side in (("-", change.removed), ("+", change.added))
        for name, often in Counter(side).items()
    ]
    return f"{where}: {listed(names, 8)} ({change.places} places, calls {base} -> {new})"


def told(name: str) -> str:
    """A call or kernel as people say it."""
    return short_kernel_name(name) or name


def place_of(change: CallChange, *, backward: bool) -> str:
    """Where in the program a change is, as far as was recorded."""
    inside = [name for name in change.inside if not name.startswith("autograd::engine")]
    if inside:
        return " > ".join(map(told, inside))
    ends = [told(name) for name in (change.before, change.after) if name]
    where = "in the backward pass" if backward else "in the cycle"
    if len(ends) == 2:
        return f"{where}, between {ends[0]} and {ends[1]}"
    if ends:
        return f"{where}, {'after' if change.before else 'before'} {ends[0]}"
    return where


# -- edits as causes of a change -------------------------------------------------------------------

OF_PROGRAM = frozenset(
    {"synchronisation", "more_operators", "kernel_change", "workload_change", "host_calls"}
)
"""Rules that look for a change of the program in the times of functions: not asked where it is
known."""
_DEVICE_PARTS = ("device_compute", "copies", "exposed_communication")
_HOST_PARTS = ("host_cpu", "synchronisation", "launch_gap", "idle", "data_loading")


def settled_edits(program: ProgramChange | None, ledger: Ledger) -> Iterator[Finding]:
    """Edits as causes with what they explain of the change of the cycle, which may be nothing."""
    for one in () if program is None else program.edits:
        taken: dict[str, float] = {}
        for ns, parts in ((one.device_ns, _DEVICE_PARTS), (one.host_ns, _HOST_PARTS)):
            for name, some in ledger.take(Demand(ns, parts, structural=True)).items():
                taken[name] = taken.get(name, 0.0) + some
        said = finding("causes", one.cause, f"{one.sentence} ({one.place}).", evidence=one.evidence)
        yield replace(said, cost_ns=sum(taken.values()), claims=largest_first(taken))
