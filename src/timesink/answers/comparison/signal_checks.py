"""Limits on what single runs tell for sure, or nearly: checks of a gate."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.answers.comparison.budget_file import Budget, Increase
from timesink.answers.comparison.gate_result import (
    EXACT,
    FAILED,
    PASSED,
    PRECISE,
    UNJUDGED,
    runs_told,
)
from timesink.answers.comparison.naming import processes
from timesink.answers.comparison.pairing import Compared
from timesink.answers.comparison.program import edit_told
from timesink.answers.comparison.report import Comparison
from timesink.answers.comparison.signal_sentences import (
    AMOUNTS,
    DEVICE_TIME,
    PROGRAM,
    signals_of_pair,
)
from timesink.model.findings import Finding
from timesink.model.units import change, counted, interval_pct, times

_MOST_EDITS = 2
_ORDER = (PROGRAM, *AMOUNTS, DEVICE_TIME)
_NO_TIMELINE = "no timeline tells it: compare recordings, as timesink record makes them"
_NO_HOST = "kernels are the same, but calls of the host were not recorded: use timesink record"
_NO_DEVICE = AMOUNTS["launches"].missing
_OTHER_WORK = "but cycles of both sides do not hold the same work"


def signal_checks(budgets: Sequence[Budget], comparison: Comparison) -> tuple[Finding, ...]:
    """One check per limit: what is certain first, then what is precise.

    Of several ranks each has the limit to itself, and the worst is told.
    """
    found = []
    for one in sorted(budgets, key=lambda budget: _ORDER.index(budget.name)):
        if one.name == PROGRAM:
            found.append(_program(comparison.pairs))
            continue
        judge = _device_time if one.name == DEVICE_TIME else _amount
        every = comparison.pairs
        checks = [judge(pair, one, _where(pair, every)) for pair in every]
        found.append(min(checks, key=lambda check: (check.urgency, -check.new)))
    return tuple(found)


def _check(name: str, outcome: str, said: str, beyond: float = 0.0) -> Finding:
    """`beyond` orders those of several ranks."""
    said = f"{name} not decided: {said}" if outcome == UNJUDGED else said
    kind = PRECISE if name == DEVICE_TIME else EXACT
    return Finding(kind, f"{said}.", name=name, outcome=outcome, new=beyond)


def _where(pair: Compared, pairs: Sequence[Compared]) -> str:
    """Which processes, where there are others."""
    if len(pairs) == 1:
        return ""
    place = ", ".join(filter(None, (pair.cycles, processes(pair.whole or pair.pair))))
    return f" in {place}" if place else ""


def _program(pairs: Sequence[Compared]) -> Finding:
    found = [one.diagnosis.program for one in pairs]
    known = [one for one in found if one is not None]
    edits = max((one.edits for one in known), key=len, default=())
    if edits:
        first = "; ".join(map(edit_told, edits[:_MOST_EDITS]))
        more = len(edits) - _MOST_EDITS
        rest = f"; and {counted(more, 'more edits')}" if more > 0 else ""
        return _check(PROGRAM, FAILED, f"The program changed: {first}{rest}")
    if not known or len(known) < len(found):
        return _check(PROGRAM, UNJUDGED, _NO_TIMELINE)
    if not all(one.certain for one in known):
        return _check(PROGRAM, UNJUDGED, _NO_HOST)
    return _check(PROGRAM, PASSED, "The program is the same")


def _amount(pair: Compared, budget: Budget, where: str) -> Finding:
    """Beyond where all cycles are; not decided where some are, as counts differ among cycles."""
    name, what, allowed = budget.name, AMOUNTS[budget.name], budget.max_increase or Increase(0.0)
    sides = signals_of_pair(pair)
    base, new = (getattr(one, what.signal) for one in sides)
    if base is None or new is None:
        side = "the base" if base is None else "the new run"
        return _check(name, UNJUDGED, f"in {side}{where} {what.missing}")
    spans = [
        one.ranges.get(what.signal, (middle, middle))
        for one, middle in zip(sides, (base, new), strict=True)
    ]
    (_, usual), (least, most) = spans
    may = "" if base == new else f"; {allowed.said} allowed"
    said = f"{what.of(base, new)}{where}{may}"
    grew = allowed.is_below(new - base, base)
    if not allowed.is_below(most - usual, usual) and not grew:
        return _check(name, PASSED, said, new - base)
    if not allowed.is_below(least - usual, usual):
        told = " and ".join(f"{what.said(low)} to {what.said(high)}" for low, high in spans)
        return _check(name, UNJUDGED, f"{said}, and cycles differ ({told})", new - base)
    if (pair.whole or pair.pair).equal_work is not None:
        return _check(name, UNJUDGED, f"{said}, {_OTHER_WORK}", new - base)
    return _check(name, FAILED, said, new - base)


def _device_time(pair: Compared, budget: Budget, where: str) -> Finding:
    """Beyond for sure, within for sure, or the interval holds the limit."""
    program, allowed = pair.diagnosis.program, budget.max_increase or Increase(0.0)
    took = None if program is None else program.device_time
    if took is None or not (took.base_ns and took.new_ns):
        return _check(DEVICE_TIME, UNJUDGED, _NO_TIMELINE if took is None else _NO_DEVICE)
    delta = took.new_ns - took.base_ns
    if took.interval_ns is None:
        return _check(DEVICE_TIME, UNJUDGED, _NO_TIMELINE, delta)
    low, high = took.interval_ns
    scale = took.base_ns / 100
    said = (
        f"Device time: {times(took.base_ns, took.new_ns)} per cycle "
        f"({change(took.base_ns, took.new_ns)}, 95 % interval "
        f"{interval_pct(low / scale, high / scale)}){where}; {allowed.said} allowed"
    )
    if allowed.is_below(low, took.base_ns):
        return _check(DEVICE_TIME, FAILED, said, delta)
    if not allowed.is_below(high, took.base_ns):
        return _check(DEVICE_TIME, PASSED, said, delta)
    room = allowed.most(took.base_ns) - took.new_ns
    runs = runs_told((high - low) / 2, room).removesuffix(".")
    return _check(DEVICE_TIME, UNJUDGED, f"{said}. {runs}", delta)
