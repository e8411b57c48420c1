"""From a comparison and budgets to a gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from timesink.analyses.diagnosis.diagnosis import Diagnosis
from timesink.errors import NotFoundError, TimesinkError
from timesink.model import units
from timesink.reports.budgets.results import BudgetResult
from timesink.reports.comparison.report import Compared, Comparison
from timesink.reports.comparison.told import Told
from timesink.reports.gate.doubts import doubts_of
from timesink.reports.gate.gate import FAILED, PASSED, UNJUDGED, Check, Gate
from timesink.reports.gate.limit import Limit
from timesink.reports.gate.power import unseen, unseen_pct
from timesink.reports.gate.sentences import is_hidden, sentence

_STATES = {"within": PASSED, "exceeded": FAILED, "unjudged": UNJUDGED}
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """One program whose cycles were compared: all its ranks, and one sort of cycle."""

    title: str
    pairs: Sequence[Compared]
    why: Diagnosis

    @property
    def cycles(self) -> tuple[int, int]:
        """How many cycles each side has, of the process that has fewest."""
        lengths = [Told(one.pair).pair.cycle_times for one in self.pairs]
        return (
            min(len(one.base_ns) for one in lengths),
            min(len(one.new_ns) for one in lengths),
        )


def gate_of(
    comparison: Comparison,
    limit: Limit | None = None,
    budgets: Sequence[BudgetResult] = (),
    *,
    asked: str = "",
    command: Sequence[str] = (),
) -> Gate:
    """Whether a comparison of pairs passes.

    Without a `limit` cycle time is shown, and fails nothing; budgets do.  Of several ranks or
    processes the run as a whole counts; cases and sorts of cycles each for itself.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> gate_of(same, Limit(5.0)).outcome
    'passed'
    """
    cases = _cases(comparison)
    several = len(cases) > 1
    is_budgeted = any(one.kind == "cycle" and one.rule == "max_increase" for one in budgets)
    checks = [_cycle_time(one, limit, several=several, is_budgeted=is_budgeted) for one in cases]
    notes = tuple(dict.fromkeys(_notes(comparison, cases)))
    doubts = doubts_of(notes)
    first = min(zip(checks, cases, strict=True), key=lambda one: one[0].urgency)[1]
    return Gate(
        subject=units.listed([one.title for one in cases], _MOST_NAMED, "; "),
        asked=asked,
        checks=(*checks, *map(_budget, budgets), _recordings(comparison, doubts)),
        why=first.why,
        unseen=_unseen(cases, limit),
        doubts=doubts,
        notes=notes,
        command=tuple(command),
    )


def gate_of_error(
    error: TimesinkError, subject: str, *, asked: str = "", command: Sequence[str] = ()
) -> Gate:
    """The gate of runs that could not be compared at all.

    >>> gate_of_error(TimesinkError("no baseline"), "@main vs run").exit_code
    1
    """
    hint = f" (hint: {error.hint})" if error.hint else ""
    check = Check("cycle time", "cycle time", UNJUDGED, f"{error.message}{hint}")
    return Gate(subject, asked, (check,), command=tuple(command))


# -- cases -----------------------------------------------------------------------------------------


def _cases(comparison: Comparison) -> list[_Case]:
    found = [
        _Case(one.pairs[0].title, one.pairs, one.diagnosis)
        for one in comparison.cases
        if one.diagnosis is not None
    ]
    if not found:
        raise NotFoundError("there is no pair of processes to judge", "give BASE and NEW, two runs")
    return found


def _unseen(cases: Sequence[_Case], limit: Limit | None) -> str:
    """What a verdict of no change cannot rule out, of the case that shows least.

    What was seen needs no such sentence.
    """
    known = [
        (smallest, one)
        for one in cases
        if one.why.verdict == "no_change"
        and (smallest := unseen_pct(one.why.cycle_time)) is not None
    ]
    if not known:
        return ""
    smallest, case = max(known, key=lambda one: one[0])
    said = unseen(smallest, limit, case.cycles)
    return f"{case.title}: {said}" if len(cases) > 1 else said


# -- checks ----------------------------------------------------------------------------------------


def _cycle_time(case: _Case, limit: Limit | None, *, several: bool, is_budgeted: bool) -> Check:
    why = case.why
    said = sentence(why, limit, is_budgeted=is_budgeted)
    return Check(
        kind="cycle time",
        name=f"cycle time of {case.title}" if several else "cycle time",
        outcome=_outcome(why, limit or Limit()),
        sentence=f"{case.title}: {said}" if several else said,
        counts=limit is not None,
        time_ns=why.cycle_time.new_ns or None,
    )


def _outcome(why: Diagnosis, limit: Limit) -> str:
    if why.verdict == "incomparable" or is_hidden(why, limit):
        return UNJUDGED
    is_too_long = why.verdict == "regression" and limit.is_exceeded(why.cycle_time.tested_pct)
    return FAILED if is_too_long else PASSED


def _budget(result: BudgetResult) -> Check:
    is_empty = result.state == "within" and not result.matched
    return Check("budget", result.case, _STATES[result.state], result.sentence, is_empty=is_empty)


def _recordings(comparison: Comparison, doubts: Sequence[str]) -> Check:
    """That what was given could be read and is whole.

    What could not be read, or has no partner, makes the whole uncertain; what ended early is shown,
    and fails nothing.
    """
    lost = [*comparison.cases_left_out, *comparison.files_left_out]
    lost += [f"{one} (it has no partner)" for one in comparison.roles_left_out]
    if lost:
        which = units.listed(lost, _MOST_NAMED, "; ")
        return Check("recordings", "recordings", UNJUDGED, f"Not compared: {which}.")
    if doubts:
        said = f"{units.listed(doubts, _MOST_NAMED, '; ')}."
        return Check("recordings", "recordings", UNJUDGED, said, counts=False)
    number = len(comparison.pairs)
    count = "1 pair" if number == 1 else f"{units.count(number)} pairs"
    said = f"All were read: {count} of processes compared."
    return Check("recordings", "recordings", PASSED, said)


def _notes(comparison: Comparison, cases: Sequence[_Case]) -> list[str]:
    """What is known of the test, of the recordings, and of what was left out."""
    told = [note for one in cases for note in one.why.notes]
    told += comparison.notes
    for one in comparison.pairs:
        for role in (one.pair.base, one.pair.new):
            told += [f"{role.label}: {note}" for note in role.notes]
    return told
