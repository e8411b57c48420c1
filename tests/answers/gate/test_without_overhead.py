"""A gate on recordings whose verdict rests on steps without profiler overhead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compared import two_runs
from diagnosed import unchanged_diagnosis
from gated import MS, comparison_of
from timesink.analyses.replay.own_clock import StepTime
from timesink.answers.comparison.budgets import evaluate
from timesink.answers.comparison.causes import why_blocks
from timesink.answers.comparison.comparison_json import GateJson
from timesink.answers.comparison.diagnosis_json import CycleTimeJson
from timesink.answers.comparison.gate_result import GateAnswer, gate_of
from timesink.comparison.causes.corrected_steps import judged_without_overhead
from timesink.comparison.gate.budget_file import load_budgets
from timesink.comparison.gate.verdict import Limit
from timesink.model.diagnosis import (
    Diagnosis,
    StepTimeTest,
)
from timesink.output.blocks import Verdict
from without_overhead import Bounds, corrected_pair, program, recorded_judgement


def diagnosis_of(judged: StepTimeTest) -> Diagnosis:
    return unchanged_diagnosis(
        verdict=judged.verdict,
        reason=judged.reason,
        cycle_time=judged.cycle_time,
        corrected=judged.corrected,
        is_without_overhead=judged.is_without_overhead,
    )


def hidden_regression() -> Diagnosis:
    """15 ms more of device work, which recorded steps are too uneven to show."""
    judged = recorded_judgement("no_change", 102.0, (-20.0, 24.0))
    pair = corrected_pair((58, 60, 62), (70, 75, 80))
    return diagnosis_of(judged_without_overhead(judged, pair, program(15.0)))


def overhead_alone(base: Bounds = (59.0, 61.0), new: Bounds = (59.5, 61.5)) -> Diagnosis:
    """The same program, whose host was slowed more by the second profiler."""
    judged = recorded_judgement("regression", 130.0, (20.0, 40.0))
    pair = corrected_pair((base[0], sum(base) / 2, base[1]), (new[0], sum(new) / 2, new[1]))
    return diagnosis_of(judged_without_overhead(judged, pair, program(0.0)))


def diagnosis_gate(why: Diagnosis, pct: float | None) -> GateAnswer:
    return gate_of(comparison_of({"case": why}), Limit(pct))


@pytest.mark.parametrize(
    ("pct", "outcome"), [(None, "failed"), (5.0, "failed"), (24.0, "failed"), (30.0, "passed")]
)
def test_a_slow_down_without_overhead_is_held_against_the_limit(pct: float | None, outcome: str):
    why = hidden_regression()
    assert why.verdict == "regression"
    gate = diagnosis_gate(why, pct)
    assert gate.outcome == outcome
    sentence = gate.checks[0].sentence
    assert "60.0 → 75.0 ms (estimated, 95 % interval +13.3 to +36.7 %)" in sentence
    assert sentence == GateJson.of(gate).checks[0].sentence
    if pct == 5.0:
        assert sentence.endswith("As recorded: 100 → 102 ms. Limit: 5 %.")
    if pct == 30.0:
        assert sentence.endswith(
            "Within the limit of 30 %. The confidence interval reaches beyond 30 %: more is not "
            "ruled out."
        )


def test_steps_that_only_the_profiler_made_shorter_are_a_regression():
    """15 ms more of device work, under a profiler that cost the base far more."""
    pair = corrected_pair((58, 60, 62), (70, 75, 80))
    faster = recorded_judgement("improvement", 80.0, (-30.0, -10.0))
    judgement = judged_without_overhead(faster, pair, program(15.0))
    assert judgement.verdict == "regression"
    assert judgement.reason.startswith(
        "Steps take 25.0 % longer without profiler overhead, 60.0 → 75.0 ms"
    )
    assert judgement.reason.endswith("As recorded: 100 → 80.0 ms.")


def test_clocks_that_disagree_on_the_direction_decide_nothing():
    pair = corrected_pair((55, 60, 65), (57, 62, 67))
    faster = recorded_judgement("improvement", 60.0, (-50.0, -30.0))
    judgement = judged_without_overhead(faster, pair, program(2.0))
    assert judgement.verdict == "no_change"
    assert judgement.reason.startswith("Both clocks disagree on step time")


def test_times_as_recorded_say_why_no_overhead_was_taken_off():
    pair = two_runs(cycles=4)
    why = "the overhead of this profiler is unknown"
    refused = StepTime(pair.base.mean_cycle_ns, None, None, why)
    pair = replace(pair, base=replace(pair.base, step_time=lambda: refused))
    judgement = judged_without_overhead(
        recorded_judgement("regression", 130.0, (20, 40)), pair, program(0.0)
    )
    assert judgement.verdict == "regression"
    (note,) = judgement.notes
    assert note.startswith("Step times are as recorded, with profiler overhead.")
    assert note.endswith(f"{pair.base.label}: {why}.")


@pytest.mark.parametrize("pct", [None, 5.0])
def test_what_only_the_profiler_cost_passes(pct: float | None):
    why = overhead_alone()
    assert why.verdict == "no_change"
    gate = diagnosis_gate(why, pct)
    assert gate.exit_code == 0
    assert "95 % interval -2.5 to +4.2 %" in gate.checks[0].sentence
    assert "estimates without profiler overhead" in gate.unseen


def test_an_estimate_that_is_not_sure_enough_is_not_decided():
    gate = diagnosis_gate(overhead_alone(new=(57.0, 65.0)), 5.0)
    assert gate.exit_code == 1
    reason = gate.reasons[0]
    assert "Not decided: the limit is 5 %, and a slowdown of up to 10 % is not ruled out." in reason
    assert reason.endswith(
        "Steps timed without a profiler would decide: timesink ab --base '...' --new '...'."
    )


@pytest.mark.parametrize(("why", "outcome"), [("hidden", "failed"), ("overhead", "passed")])
def test_budgets_of_cycles_go_by_the_same_steps(tmp_path: Path, why: str, outcome: str):
    diagnosis = hidden_regression() if why == "hidden" else overhead_alone()
    file = tmp_path / "budgets.toml"
    file.write_text('[cycle]\nmax_increase = "5%"')
    (check,) = evaluate(load_budgets(file), comparison_of({"case": diagnosis}))
    assert check.outcome == outcome


def test_the_report_and_its_json_show_what_decided():
    why = overhead_alone()
    verdict_block = next(
        block for block in why_blocks(why, ("base", "new")) if isinstance(block, Verdict)
    )
    assert (verdict_block.base.value, verdict_block.new.value) == (60 * MS, 60.5 * MS)
    cycle_time = CycleTimeJson.of_diagnosis(why)
    assert cycle_time.corrected is not None
    assert cycle_time.corrected.decides is True
    assert cycle_time.new_us == 130_000


def test_a_verdict_as_recorded_is_held_against_recorded_steps():
    pair = corrected_pair((58, 60, 62), (61, 62, 63))
    turned = judged_without_overhead(
        recorded_judgement("regression", 130.0, (20, 40)), pair, program(20.0)
    )
    why = diagnosis_of(turned)
    assert why.corrected is not None
    assert not why.is_without_overhead
    assert why.judged_time == why.cycle_time
    assert diagnosis_gate(why, 5.0).outcome == "failed"
