"""The verdict of a gate is plain data: words about it come to the same, and none decide."""

from __future__ import annotations

import pytest

from gated import MS, comparison_of, gate_check, lengths
from timesink.answers.comparison.gate_result import gate_answer
from timesink.comparison.gate.verdict import (
    HIDDEN,
    NOT_RULED_OUT,
    UNCERTAIN,
    Doubt,
    Limit,
    RecordingsCheck,
    doubt_of,
    judge,
    runs_to_decide,
)
from timesink.comparison.results import Comparison
from timesink.errors import NotFoundError
from timesink.model.diagnosis import CycleTime, Diagnosis, SteadyTimes

EMPTY = Comparison((), (), ())


def diagnosis(verdict: str, times: CycleTime) -> Diagnosis:
    """A diagnosis of these step times and nothing else."""
    return Diagnosis(verdict, "Steps were compared.", times, (), (), (), 0.0, ())


@pytest.mark.parametrize(
    ("verdict", "change_pct", "limit", "outcome", "exit_code"),
    [
        ("no_change", 0.5, Limit(5.0), "passed", 0),
        ("regression", 3.0, Limit(5.0), "passed", 0),
        ("incomparable", 3.0, Limit(5.0), "unjudged", 1),
        ("no_change", 4.0, Limit(5.0), "unjudged", 1),
        ("incomparable", 3.0, None, "passed", 0),
    ],
)
def test_the_verdict_and_its_words_come_to_the_same(
    verdict: str, change_pct: float, limit: Limit | None, outcome: str, exit_code: int
) -> None:
    gate = judge(comparison_of({"a": diagnosis(verdict, lengths(change_pct))}), limit)
    assert (gate.outcome, gate.exit_code) == (outcome, exit_code)
    assert gate.steps[0].counts is (limit is not None)
    assert gate.steps[0].interval_pct == (change_pct - 2.0, change_pct + 2.0)
    answer = gate_answer(gate)
    assert (answer.outcome, answer.exit_code) == (outcome, exit_code)
    assert bool(answer.reasons) is (outcome != "passed")


def test_a_failed_budget_decides_and_a_case_that_failed_leads() -> None:
    comparison = comparison_of(
        {
            "quiet": diagnosis("no_change", lengths(0.5)),
            "open": diagnosis("incomparable", lengths(9.0)),
        }
    )
    over = gate_check("exact", "syncs", "failed", "3 → 5 waits.")
    gate = judge(comparison, Limit(5.0), (over,))
    assert gate.outcome == "failed"
    assert gate.first is gate.steps[1]
    assert gate.least_seen is gate.steps[0]
    assert gate.steps[0].unseen_pct == 2.0
    assert gate.steps[1].unseen_pct is None
    assert judge(comparison, Limit(5.0)).outcome == "unjudged"


def test_the_case_that_shows_least_is_the_one_with_the_widest_interval() -> None:
    gate = judge(
        comparison_of(
            {
                name: diagnosis("no_change", lengths(0.0, half))
                for name, half in (("a", 1), ("b", 3))
            }
        )
    )
    assert gate.least_seen is gate.steps[1]


@pytest.mark.parametrize(
    ("check", "outcome", "counts"),
    [
        (RecordingsCheck(2), "passed", True),
        (RecordingsCheck(2, doubts=("it ended early",)), "unjudged", False),
        (RecordingsCheck(2, left_out=("case",)), "unjudged", True),
        (RecordingsCheck(2, unpaired=("rank 3",), doubts=("it ended early",)), "unjudged", True),
    ],
)
def test_what_ended_early_is_shown_and_what_is_missing_counts(
    check: RecordingsCheck, outcome: str, *, counts: bool
) -> None:
    assert (check.outcome, check.counts) == (outcome, counts)


def test_a_doubt_says_what_it_is_held_against() -> None:
    beyond_pct = Limit(5.0)
    assert doubt_of(diagnosis("no_change", lengths(0.5)), beyond_pct) is None
    wide = diagnosis("no_change", lengths(4.0))
    assert doubt_of(wide, beyond_pct) == Doubt(NOT_RULED_OUT, 5.0, 6.0)
    noisy = diagnosis("no_change", lengths(8.0, 9.0))
    assert doubt_of(noisy, beyond_pct) == Doubt(UNCERTAIN, 5.0)
    steady = SteadyTimes(100 * MS, 110 * MS, (8 * MS, 12 * MS))
    hidden = diagnosis("no_change", CycleTime(100 * MS, 100 * MS, 0.0, None, 0.5, steady=steady))
    assert doubt_of(hidden, beyond_pct) == Doubt(HIDDEN)


def test_runs_that_would_decide_grow_with_the_width_of_the_interval() -> None:
    assert runs_to_decide(lengths(2.0, 6.0)) == 9
    assert runs_to_decide(lengths(0.0, 6.0)) is not None
    assert runs_to_decide(lengths(0.01, 60.0)) is None


def test_without_pairs_nothing_is_judged() -> None:
    with pytest.raises(NotFoundError, match="no pair of processes"):
        judge(EMPTY)
