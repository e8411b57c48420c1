"""From a comparison to pass or fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

import timesink
from compared import HEALTHY, comparison, diagnosed, named, two_runs
from compared_runs import SLOW_CLOCK, rank_fields, write_case, write_timeline
from diagnosed import slow_clock, unchanged_diagnosis
from gated import comparison_of, gate_check, lengths
from length_runs import compared_lengths
from timesink.answers.comparison.gate_result import GateAnswer, gate_of, gate_of_error
from timesink.answers.comparison.report import compare
from timesink.comparison.gate.verdict import Limit
from timesink.comparison.results import Workload
from timesink.errors import TimesinkError, UsageError
from timesink.model.diagnosis import SteadyTimes


def outcome(limit: Limit | None, change_pct: float, verdict: str = "regression") -> str:
    why = slow_clock(verdict=verdict, cycle_time=lengths(change_pct))
    return gate_of(comparison_of({"case": why}), limit).outcome


def even_cycles(
    by: float, *, first: float | None = None, every_fifth: float | None = None
) -> list[float]:
    """40 even cycles of about 1 ms, of which the first or every fifth may be long, in ns."""
    lengths_ns = [by * (1e6 + 2000 * (number % 3 - 1)) for number in range(40)]
    if first is not None:
        lengths_ns[0] = first
    if every_fifth is not None:
        lengths_ns[4::5] = [every_fifth] * 8
    return lengths_ns


class TestLimit:
    @pytest.mark.parametrize("text", ["5", "0.05", "-5%", "nan%", "inf%", "%", "", "improvement"])
    def test_what_is_no_limit_is_refused(self, text: str):
        with pytest.raises(UsageError) as refused:
            Limit.of(text)
        assert "--fail-on 5%" in refused.value.hint

    def test_any_certain_slow_down_is_a_regression(self):
        assert outcome(Limit(), 0.5) == "failed"

    def test_a_slow_down_up_to_the_limit_passes(self):
        assert outcome(Limit(5.0), 5.0) == "passed"
        assert outcome(Limit(5.0), 5.01) == "failed"

    @pytest.mark.parametrize("limit", [Limit(5.0), Limit(0.0), Limit()])
    def test_what_is_beyond_it_and_not_certain_is_not_passed(self, limit: Limit):
        assert outcome(limit, 40.0, "no_change") == "unjudged"
        assert outcome(limit, 2.0, "no_change") == "passed"

    def test_a_limit_that_cannot_be_ruled_out_is_not_decided(self):
        why = unchanged_diagnosis(cycle_time=lengths(2.0, half_pct=7.0))
        gate = gate_of(comparison_of({"case": why}), Limit(8.0))
        assert gate.exit_code == 1
        statement = "Not decided: the limit is 8 %, and a slowdown of up to 9.0 % is not ruled out."
        assert statement in gate.checks[0].sentence
        assert "timesink ab" in gate.checks[0].sentence

    def test_a_gain_passes(self):
        assert outcome(Limit(), -40.0, "improvement") == "passed"

    def test_what_cannot_be_compared_does_not_pass(self):
        assert outcome(Limit(), 0.0, "incomparable") == "unjudged"

    def test_without_a_limit_cycle_time_is_shown_and_fails_nothing(self):
        assert outcome(None, 40.0) == "passed"


class TestSentences:
    def test_what_is_allowed_is_said_beside_what_was_found(self):
        why = slow_clock(cycle_time=lengths(23.0), reason="Cycles take longer: 1 → 2 ms (+23.0 %).")
        reason = gate_of(comparison_of({"case": why}), Limit(5.0)).reasons[0]
        assert reason == (
            "Cycles take longer: 1 → 2 ms (+23.0 %, 95 % confidence interval +21.0 to +25.0 %)."
            " Limit: 5 %."
        )

    def test_a_pass_says_what_it_cannot_see(self):
        noisy = unchanged_diagnosis(cycle_time=lengths(1.0, half_pct=12.0))
        gate = gate_of(comparison_of({"case": noisy}), Limit(5.0))
        assert gate.unseen.startswith("Changes below about 12 % cannot be detected in 4 steps")
        assert "5 % may pass" in gate.unseen

    def test_a_pass_whose_interval_reaches_beyond_the_limit_says_so(self):
        why = slow_clock(cycle_time=lengths(30.0, half_pct=20.0))
        near, far = (gate_of(comparison_of({"case": why}), Limit(pct)) for pct in (40.0, 60.0))
        assert (near.outcome, far.outcome) == ("passed", "passed")
        assert near.checks[0].sentence.endswith("more is not ruled out.")
        assert far.checks[0].sentence.endswith("Within the limit of 60 %.")

    def test_a_limit_of_nothing_is_that_of_any_regression(self):
        noisy = comparison_of({"case": unchanged_diagnosis(cycle_time=lengths(1.0, half_pct=12.0))})
        assert gate_of(noisy, Limit(0.0)).unseen == gate_of(noisy, Limit()).unseen

    def test_what_was_seen_needs_no_such_sentence(self):
        assert gate_of(comparison_of({"case": slow_clock()}), Limit(5.0)).unseen == ""


class TestSteadyCycles:
    """What is held against a limit is what was tested."""

    def gate(
        self, new_by: float, *, base_first: float | None = None, new_first: float | None = None
    ) -> GateAnswer:
        sides = even_cycles(1.0, first=base_first), even_cycles(new_by, first=new_first)
        return gate_of(compared_lengths(*sides), Limit(5.0))

    def test_a_slow_first_cycle_of_the_base_hides_nothing(self):
        gate = self.gate(1.1, base_first=4e6)
        assert gate.outcome == "failed"
        assert (
            "Without warm-up and outliers: 1.00 → 1.10 ms (+10.0 %). Limit: 5 %."
            in (gate.reasons[0])
        )

    def test_one_so_slow_that_means_say_the_opposite_cannot_be_judged(self):
        gate = self.gate(1.1, base_first=20e6)
        assert gate.outcome == "unjudged"
        assert "the mean contradicts most steps" in gate.reasons[0]


class TestUnevenCycles:
    """What is beyond the limit and not certain."""

    def test_a_mean_beyond_the_limit_does_not_pass_where_tested_cycles_may_be_beyond_it(self):
        cycle_time = structs.replace(lengths(16.7), steady=SteadyTimes(100.0, 109.5, (-10.7, 29.7)))
        unclear = comparison_of({"case": unchanged_diagnosis(cycle_time=cycle_time)})
        gate = gate_of(unclear, Limit(10.0))
        assert gate.exit_code == 1
        assert "(+9.5 %). Not decided: the mean of all steps exceeds 10 %" in gate.reasons[0]
        longer = comparison_of({"case": slow_clock(cycle_time=cycle_time)})
        assert gate_of(longer, Limit(10.0)).exit_code == 1
        # Any regression has to be certain, and what was tested is within.
        assert gate_of(unclear, Limit(30.0)).exit_code == 0

    def test_a_pass_names_the_mean_of_all_cycles_and_of_those_tested(self):
        cycle_time = structs.replace(lengths(16.7), steady=SteadyTimes(100.0, 101.0, (-1.0, 3.0)))
        gate = gate_of(
            comparison_of({"case": unchanged_diagnosis(cycle_time=cycle_time)}), Limit(10.0)
        )
        assert gate.exit_code == 0
        statement = "Without warm-up and outliers: 100 → 101 ns (+1.0 %)."
        assert gate.checks[0].sentence == f"{unchanged_diagnosis().reason} {statement}"

    def test_cycles_that_hold_other_work_are_not_judged(self):
        other = comparison_of({"case": unchanged_diagnosis()})
        pair = replace(other.pairs[0].pair, workload=Workload(False, ("Different kernels.",), None))
        only_pair = diagnosed(named(pair, "case"), unchanged_diagnosis())
        gate = gate_of(replace(other, pairs=(only_pair,)), Limit(10.0))
        assert gate.exit_code == 1
        assert gate.reasons[0].startswith(
            "The steps of the two runs do not do the same work. Different kernels."
        )
        assert gate_of(replace(other, pairs=(only_pair,))).exit_code == 0

    def test_the_less_is_known_the_more_runs_it_takes(self):
        why = unchanged_diagnosis(cycle_time=lengths(12.0, half_pct=60.0))
        reason = gate_of(comparison_of({"case": why}), Limit(10.0)).reasons[0]
        assert "25 alternating runs each" in reason

    def test_without_a_limit_nothing_is_asked(self):
        why = unchanged_diagnosis(cycle_time=lengths(40.0, half_pct=60.0))
        gate = gate_of(comparison_of({"case": why}))
        assert gate.outcome == "passed"
        assert "Not decided" not in gate.checks[0].sentence


class TestRerunsOfOneProgram:
    """Only the pace of the host differs: `normal_b` runs the program of `normal` again."""

    @pytest.fixture
    def faults(self, shared_root: Path) -> Path:
        return shared_root / "data/h200/faults"

    @pytest.mark.parametrize("limit", [Limit(10.0), Limit()])
    def test_a_rerun_that_is_37_percent_slower_is_no_regression_of_the_code(
        self, faults: Path, limit: Limit
    ):
        gate = gate_of(timesink.compare(faults / "normal", faults / "normal_b"), limit)
        assert gate.exit_code == 1
        assert "device time (" in gate.reasons[0]
        assert "and call counts are unchanged" in gate.reasons[0]
        assert "no regression of the code" in gate.reasons[0]

    @pytest.mark.parametrize("fault", ["python_stall"])
    def test_what_has_a_cause_beyond_the_limit_fails(self, faults: Path, fault: str):
        gate = gate_of(timesink.compare(faults / "normal", faults / fault), Limit(10.0))
        assert gate.exit_code == 3


class TestManyPairs:
    def test_each_case_is_judged_for_itself(self):
        cases = {"a": unchanged_diagnosis(), "b": slow_clock(), "c": unchanged_diagnosis()}
        gate = gate_of(comparison_of(cases), Limit())
        assert [check.outcome for check in gate.checks[:3]] == ["passed", "failed", "passed"]
        assert [check.name for check in gate.checks[:2]] == ["cycle time of a", "cycle time of b"]
        assert gate.outcome == "failed"
        assert gate.why is cases["b"]

    def test_ranks_are_judged_as_the_run_they_are(self):
        slow = gate_of(comparison(two_runs(SLOW_CLOCK), two_runs(SLOW_CLOCK)), Limit())
        assert [check.name for check in slow.checks] == ["cycle time", "recordings"]
        assert slow.outcome == "failed"
        same = gate_of(comparison(two_runs(HEALTHY), two_runs(HEALTHY)), Limit())
        assert same.outcome == "passed"

    def test_a_case_that_could_not_be_read_does_not_pass(self, tmp_path: Path):
        write_case(tmp_path / "a", [7], [7])
        write_case(tmp_path / "b", [7], [7])
        (tmp_path / "b" / "abnormal_perf_data" / "result_perf_data.csv").write_text("nothing\n")
        gate = gate_of(compare(tmp_path), Limit(1000.0))
        assert gate.outcome == "unjudged"
        assert gate.reasons[0].startswith("Not compared: ")

    def ranks(self, folder: Path, *ranks: int) -> Path:
        for rank in ranks:
            path = folder / f"rank{rank}.json"
            write_timeline(path, cycles=4, pid=100 + rank, **rank_fields(rank))
        return folder

    def test_a_rank_that_cannot_be_read_does_not_pass(self, tmp_path: Path):
        sides = [self.ranks(tmp_path / name, 0, 1) for name in ("base", "new")]
        (sides[1] / "rank1.json").write_text("[{")
        gate = gate_of(compare(*sides, cache=False), Limit(1000.0))
        assert gate.exit_code == 1
        assert gate.checks[-1].outcome == "unjudged"
        assert "rank1.json" in gate.reasons[0]
        assert "rank1 pid 101 (it has no partner)" in gate.reasons[0]

    def test_a_pass_tells_the_case_that_shows_least(self):
        halves = {"a": 2.0, "b": 9.0, "c": 4.0}
        cases = {
            name: unchanged_diagnosis(cycle_time=lengths(0.5, half_pct=half))
            for name, half in halves.items()
        }
        gate = gate_of(comparison_of(cases), Limit(5.0))
        assert gate.unseen.startswith("b: Changes below about 9.0 % cannot be detected")

    def test_a_failure_is_said_whatever_else_cannot_be_judged(self):
        cases = {"a": slow_clock(verdict="incomparable"), "b": slow_clock()}
        assert gate_of(comparison_of(cases), Limit()).exit_code == 3


class TestBudgets:
    @pytest.mark.parametrize(("state", "code"), [("passed", 0), ("failed", 3), ("unjudged", 1)])
    def test_budgets_fail_without_a_limit(self, state: str, code: int):
        result = gate_check("budget", 'operators "aten::mm" max', state, "too long")
        gate = gate_of(comparison_of({"case": unchanged_diagnosis()}), None, [result])
        assert gate.exit_code == code
        assert gate.of_kind("budget")[0].name == 'operators "aten::mm" max'

    def test_what_failed_is_told_before_what_cannot_be_judged(self):
        states = {"unjudged": "no such operator", "failed": "too long"}
        results = [gate_check("budget", s, s, reason) for s, reason in states.items()]
        gate = gate_of(comparison_of({"case": unchanged_diagnosis()}), Limit(), results)
        assert gate.reasons == ["too long", "no such operator"]


def test_what_cannot_be_read_cannot_be_judged():
    gate = gate_of_error(TimesinkError("no baseline @main", "save it first"), "@main vs new")
    assert gate.exit_code == 1
    assert gate.reasons == ["no baseline @main (hint: save it first)"]
