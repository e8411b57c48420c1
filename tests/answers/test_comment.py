"""A comparison as a comment on a pull request."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compared import comparison, diagnosed, named, pair_of, two_runs
from diagnosed import clock_anomaly, clock_cause, component, slow_clock, unchanged_diagnosis
from explorations import sample_exploration
from gated import comparison_of, gate_check
from timesink.answers.comparison.gate import comment_md
from timesink.answers.comparison.gate_result import GateAnswer, gate_of
from timesink.answers.comparison.report import ComparisonAnswer
from timesink.comparison.gate.verdict import Limit
from timesink.model.diagnosis import Diagnosis, ProgramChange, ProgramEdit, SteadyTimes
from timesink.model.findings import Finding

MOST_CHARACTERS = 65_536
"""What forges take for a comment."""


def comment(run_comparison: ComparisonAnswer, gate: GateAnswer | None = None, *command: str) -> str:
    text = comment_md(run_comparison, gate, command)
    assert len(text.splitlines()) < 60
    assert len(text) < MOST_CHARACTERS
    assert text.count("<details>") == text.count("</details>")
    assert text.count("```") % 2 == 0
    return text


def crowded_diagnosis(words: str) -> Diagnosis:
    """More of everything than there is room for."""
    parts = [component(f"device_compute/f{n}", 1.0, 2.0 + n) for n in range(20)]
    causes = [
        clock_cause(cause=f"cause{n}", sentence=words, advice=f"{n} {words}") for n in range(9)
    ]
    return slow_clock(
        reason=words,
        attribution=tuple(parts),
        causes=tuple(causes),
        anomalies=tuple(clock_anomaly(cause=f"anomaly{n}", sentence=words) for n in range(9)),
        notes=tuple(f"{n} {words}" for n in range(9)),
    )


def budgets(count: int, words: str) -> list[Finding]:
    return [
        gate_check("budget", f'operators "op{n}" max', "failed", f"{n} {words}")
        for n in range(count)
    ]


class TestWhatItSays:
    def test_the_gate_is_its_heading(self):
        run_comparison = comparison_of({"case": slow_clock()})
        text = comment(run_comparison, gate_of(run_comparison, Limit(5.0), options="--fail-on 5%"))
        assert text.startswith("## timesink: failed (limit 5 %)\n")
        assert "**Cycles take 23.0 % longer.** Limit: 5 %." in text
        assert "1. **GPU clock** (+5.30 ms" in text

    def test_the_program_comes_first_and_no_edit_is_told_twice(self):
        edit = ProgramEdit(
            "synchronisation", "aten::item added", "in the loss", "aten::item", 0, 100, 5e3, 1e6,
            100, 100, 400,
        )  # fmt: skip
        times = SteadyTimes(1e6, 1.1e6, (9e4, 1.1e5))
        program = ProgramChange((edit,), (), times, 1e5, 1e6, 0.0, 0.0, certain=True, varying=0)
        cause = clock_cause(cause=edit.cause, sentence="aten::item added (in the loss).")
        text = comment(comparison_of({"case": slow_clock(program=program, causes=(cause,))}))
        first, second, *_ = text.split("\n\n")[1].split(" Device time per step: ")
        assert first.startswith("**The program changed: aten::item added, in the loss, ")
        assert second.startswith("1.00 → 1.10 ms (+10.0 %, 95 % interval +9.0 to +11.0 %). Cycles")
        assert text.count("aten::item added") == 1

    def test_where_only_the_program_changed_that_is_the_heading(self):
        edit = ProgramEdit("casts", "aten::to added", "", "aten::to", 0, 1, 5e3, 0, 1, 0, 0)
        times = SteadyTimes(1e6, 1e6)
        program = ProgramChange((edit,), (), times, 0.0, 0.0, 0.0, 0.0, certain=True, varying=0)
        text = comment(comparison_of({"case": unchanged_diagnosis(program=program)}))
        assert text.startswith("## timesink: the program changed\n")
        assert "No change" not in text

    def test_without_a_gate_the_verdict_is(self):
        assert comment(comparison_of({"case": unchanged_diagnosis()})).startswith(
            "## timesink: no change\n"
        )

    def test_a_pass_says_what_it_cannot_see(self):
        run_comparison = comparison_of({"case": unchanged_diagnosis()})
        text = comment(
            run_comparison, gate_of(run_comparison, Limit(), options="--fail-on regression")
        )
        assert "Changes below about 1.2 % cannot be detected in 4 steps." in text

    def test_budgets_are_told_those_beyond_first(self):
        run_comparison = comparison_of({"case": unchanged_diagnosis()})
        passed_check = gate_check("budget", 'kernels "gemm" max', "passed", "")
        gate = gate_of(
            run_comparison,
            None,
            [passed_check, *budgets(2, "is too long.")],
            options="--budget b.toml",
        )
        text = comment(run_comparison, gate)
        assert "- 0 is too long.\n- 1 is too long.\n- 1 budget kept.\n" in text

    def test_the_largest_changes_are_folded(self):
        assert "<details><summary>Time per step, largest" in comment(comparison(two_runs()))

    def test_symptoms_stand_below_their_heading(self):
        text = comment(comparison_of({"case": slow_clock(anomalies=())}))
        assert "**Anomalies: other differences between the runs**\n\nSymptoms (" in text

    def test_what_was_left_out_is_told_before_other_notes(self):
        unpaired = "without a partner on the other side, and not compared: rank3"
        notes = [*(f"note {n}" for n in range(5)), "left out: rank3.json: cut", unpaired]
        text = comment(comparison_of({"case": unchanged_diagnosis(notes=())}, notes=tuple(notes)))
        assert "- left out: rank3.json: cut\n- without a partner" in text
        assert "- note 0\n- and 4 more notes" in text
        assert "note 1" not in text

    def test_groups_of_many_processes(self):
        text = comment(comparison(exploration=sample_exploration()))
        assert text.startswith("## timesink: many processes\n")
        assert "| group | processes |" in text

    def test_the_whole_report_is_a_command_away(self):
        text = comment(comparison(two_runs()), None, "timesink", "compare", "a b", "c")
        assert text.endswith("Everything: `timesink compare 'a b' c`")


class TestForges:
    """Names must neither call people nor link issues nor become markup."""

    def text(self, name: str) -> str:
        why = slow_clock(reason=f"Slower by {name}.", notes=(name,))
        return comment(comparison_of({name: why}), None, "timesink", "compare", name)

    def outside_code(self, name: str) -> str:
        return re.sub(r"(?s)```.*```|`[^`]+`", "", self.text(name))

    def test_nobody_is_called(self):
        assert "@main" not in self.outside_code("@main")

    def test_a_backtick_in_a_name_begins_no_code(self):
        lines = self.text("a`b vs c`d").splitlines()
        assert any(line.startswith("a'b vs c'd, pid ") for line in lines)

    def test_no_issue_is_linked(self):
        assert "#1}" not in self.outside_code("{lambda(int)#1}")

    def test_no_word_is_bold_or_slanted(self):
        assert r"\*attn\*" in self.outside_code("*attn*")
        assert r"aten::\_\_and\_\_" in self.outside_code("aten::__and__")

    def test_no_tag_opens(self):
        assert "<script" not in self.outside_code("<script>")


class TestRoom:
    def test_everything_at_once(self):
        words = "nvjet_sm90_" * 90 + " `" + "x" * 900 + "` takes longer"
        run_comparison = comparison_of({"case": crowded_diagnosis(words)}, notes=(words,) * 40)
        gate = gate_of(run_comparison, Limit(), budgets(60, words), options="--fail-on regression")
        text = comment(run_comparison, gate, "timesink", "x" * 5000)
        assert "and 54 more" in text
        assert "1. **cause0** (" in text

    def test_many_cases(self):
        run_comparison = comparison_of(
            {f"case {n}": crowded_diagnosis("longer") for n in range(30)}
        )
        comment(run_comparison, gate_of(run_comparison, Limit(), options="--fail-on regression"))

    def test_many_groups(self):
        exploration = sample_exploration()
        many = dataclasses.replace(exploration, clusters=exploration.clusters * 40)
        comment(comparison(exploration=many, notes=["note"] * 90))

    def test_nothing_at_all(self):
        bare: dict[str, Any] = {"attribution": (), "anomalies": (), "causes": (), "symptoms": ()}
        why = slow_clock(**bare, unexplained_ns=0.0, unexplained=(), notes=())
        pair = comparison_of({"case": why}).pairs[0]
        empty = diagnosed(named(pair_of(), pair.identifier), why)
        comment(ComparisonAnswer(("a", "b"), (empty,), ()))

    @given(st.text(max_size=3000))
    def test_any_words(self, words: str):
        run_comparison = comparison_of({"case": crowded_diagnosis(words)}, notes=(words,))
        comment(
            run_comparison,
            gate_of(run_comparison, Limit(), budgets(20, words), options="--fail-on regression"),
        )
