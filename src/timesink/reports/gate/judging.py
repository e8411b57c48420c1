"""From a comparison and budgets to a gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from timesink.analyses.diagnosis.diagnosis import Diagnosis
from timesink.errors import NotFoundError, TimesinkError
from timesink.model import units
from timesink.model.amounts import interval_pct
from timesink.reports.budgets.results import BudgetResult
from timesink.reports.comparison.report import Compared, Comparison
from timesink.reports.comparison.told import Told
from timesink.reports.gate.doubts import doubts_of
from timesink.reports.gate.gate import FAILED, PASSED, UNJUDGED, Check, Gate
from timesink.reports.gate.limit import Limit
from timesink.reports.gate.power import unseen

_INTERVAL = "95 % interval"
_STATES = {"within": PASSED, "exceeded": FAILED, "unjudged": UNJUDGED}
_MOST_NAMED = 4
_WHAT_TO_DO = (
    "Record the same program with the same inputs, two cycles or more; where the new run is meant "
    "to do other work, compare it with a new base."
)


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
    checks = [_cycle_time(one, limit, several=several) for one in cases]
    notes = tuple(dict.fromkeys(_notes(comparison, cases)))
    doubts = doubts_of(notes)
    first = min(zip(checks, cases, strict=True), key=lambda one: one[0].urgency)[1]
    return Gate(
        subject=units.listed([one.title for one in cases], _MOST_NAMED, "; "),
        asked=asked,
        checks=(*checks, *map(_budget, budgets), _recordings(comparison, doubts)),
        why=first.why,
        unseen=_unseen(first, limit),
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


def _unseen(case: _Case, limit: Limit | None) -> str:
    """What a verdict of no change cannot rule out; what was seen needs no such sentence."""
    why = case.why
    return unseen(why.cycle_time, limit, case.cycles) if why.verdict == "no_change" else ""


# -- checks ----------------------------------------------------------------------------------------


def _cycle_time(case: _Case, limit: Limit | None, *, several: bool) -> Check:
    why = case.why
    return Check(
        kind="cycle time",
        name=f"cycle time of {case.title}" if several else "cycle time",
        outcome=_outcome(why, limit or Limit()),
        sentence=f"{case.title}: {_sentence(why, limit)}" if several else _sentence(why, limit),
        counts=limit is not None,
        time_ns=why.cycle_time.new_ns or None,
    )


def _outcome(why: Diagnosis, limit: Limit) -> str:
    if why.verdict == "incomparable":
        return UNJUDGED
    is_too_long = why.verdict == "regression" and limit.is_exceeded(why.cycle_time.change_pct)
    return FAILED if is_too_long else PASSED


def _sentence(why: Diagnosis, limit: Limit | None) -> str:
    """The reason of the verdict, with its interval, and what is allowed or can be done."""
    said = _with_interval(why)
    if why.verdict == "incomparable":
        return f"{said} {_WHAT_TO_DO}"
    if why.verdict != "regression":
        return said
    if limit is None:
        return f"{said} Without --fail-on that fails nothing."
    if limit.allowed_pct is None:
        return said
    beyond = limit.is_exceeded(why.cycle_time.change_pct)
    return f"{said} {'Allowed' if beyond else 'That is within what is allowed'}: {limit.said}."


def _with_interval(why: Diagnosis) -> str:
    """The reason; that of several processes does not name the interval itself."""
    bounds = why.cycle_time.interval_pct
    is_said = _INTERVAL in why.reason or why.verdict == "incomparable"
    if bounds is None or is_said or not why.reason.endswith(")."):
        return why.reason
    return f"{why.reason.removesuffix(').')}, {_INTERVAL} {interval_pct(*bounds)})."


def _budget(result: BudgetResult) -> Check:
    return Check("budget", result.case, _STATES[result.state], result.sentence)


def _recordings(comparison: Comparison, doubts: Sequence[str]) -> Check:
    """That what was given could be read and is whole.

    What could not be read makes the whole uncertain; what ended early is shown, and fails nothing.
    """
    lost = comparison.cases_left_out
    if lost:
        which = units.listed(lost, _MOST_NAMED, "; ")
        return Check("recordings", "recordings", UNJUDGED, f"Not compared: {which}.")
    if doubts:
        said = f"{units.listed(doubts, _MOST_NAMED, '; ')}."
        return Check("recordings", "recordings", UNJUDGED, said, counts=False)
    count = units.counted(len(comparison.pairs), "pairs of processes")
    return Check("recordings", "recordings", PASSED, f"All were read: {count} compared.")


def _notes(comparison: Comparison, cases: Sequence[_Case]) -> list[str]:
    """What is known of the test, of the recordings, and of what was left out."""
    told = [note for one in cases for note in one.why.notes]
    told += comparison.notes
    for one in comparison.pairs:
        for role in (one.pair.base, one.pair.new):
            told += [f"{role.label}: {note}" for note in role.notes]
    return told
