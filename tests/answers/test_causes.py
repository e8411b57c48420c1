"""Why something differs, for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosed import (
    MS,
    clock_anomaly,
    clock_cause,
    component,
    slow_clock,
    symptom,
    unchanged_diagnosis,
)
from timesink.analyses.behaviour.anatomy import PARTS
from timesink.answers.comparison import causes as words
from timesink.answers.comparison.causes import (
    attribution_block,
    causes_block,
    next_sections,
    why_blocks,
)
from timesink.answers.comparison.published_report import why_md
from timesink.model.diagnosis import CycleTime, Diagnosis
from timesink.model.findings import Evidence
from timesink.output.blocks import Section, Text
from timesink.output.numbers import cost_of
from timesink.output.terminal import attribution_lines, to_plain

UNEVEN = CycleTime(16.8 * MS, 33.0 * MS, 96.4, (-30.0, 213.0), 0.2)


def bars(diagnosis: Diagnosis, width: int = 100) -> list[str]:
    return to_plain(attribution_lines(attribution_block(diagnosis), width), width).splitlines()


def markdown(diagnosis: Diagnosis) -> str:
    return "\n\n".join(filter(None, why_md(diagnosis)))


def why_sentences(diagnosis: Diagnosis) -> list[str]:
    """Sentences below causes and anomalies."""
    blocks = why_blocks(diagnosis, ("base", "new"), brief=True)
    return [block.text for block in blocks if isinstance(block, Text)]


def checks(diagnosis: Diagnosis) -> list[str]:
    return words.checks(diagnosis)


class TestBar:
    def test_parts_come_with_their_change_interval_and_bar(self):
        first, *_ = bars(slow_clock())
        assert first.startswith("  host code ")
        assert first.endswith(" +8.00 ms  +7.50 to +8.50 ms    " + "█" * 40)

    def test_the_title_says_what_parts_add_up_to(self):
        title = attribution_block(slow_clock()).title
        assert title == "Where the change is (+13.4 ms per step, 58.7 → 72.1 ms)"

    def test_less_looks_otherwise_without_colour(self):
        copies = next(line for line in bars(slow_clock()) if "copies" in line)
        assert "-100 us" in copies
        assert copies.endswith("░")

    def test_longer_kernels_are_told_from_others(self):
        gemm, attention = (line for line in bars(slow_clock(), 140) if "kernels  " in line)
        assert gemm.endswith("as many launches")
        assert attention.endswith("more or different kernels")

    def test_kernels_of_one_side_are_not_called_more(self):
        part = component("device_compute/gemm", 0, 2, same_launches_ns=0.0)
        line, *_ = bars(slow_clock(attribution=(part,)), 140)
        assert line.endswith("only in new")

    def test_small_parts_are_told_together(self):
        many = [component(f"device_compute/f{number}", 1, 2) for number in range(12)]
        rows = attribution_block(slow_clock(attribution=tuple(many)), attributed=True).rows
        assert len(rows) == 9
        assert (rows[-1].name, rows[-1].change) == ("4 other parts", 4 * MS)

    @pytest.mark.parametrize("width", [60, 80, 100, 140])
    def test_no_line_is_wider_than_the_screen(self, width: int):
        assert max(map(len, bars(slow_clock(), width))) <= width

    def test_intervals_go_first_where_there_is_no_room(self):
        assert any("+7.50 to" in line for line in bars(slow_clock(), 80))
        assert not any(" to " in line for line in bars(slow_clock(), 50))

    def test_every_part_has_words(self):
        assert all(words.part_name(part) != part or part == "copies" for part in PARTS)


@given(st.lists(st.floats(-1e9, 1e9), max_size=15))
def test_shown_parts_add_up_to_the_change(deltas: list[float]):
    parts = [
        component(f"device_compute/f{place}", 0, delta / MS) for place, delta in enumerate(deltas)
    ]
    rows = attribution_block(slow_clock(attribution=tuple(parts)), attributed=True).rows
    assert sum(row.change for row in rows) == pytest.approx(sum(deltas), abs=1.0)


class TestCauses:
    def test_a_cause_has_its_time_its_interval_and_a_sentence(self):
        card, *_ = causes_block(slow_clock()).items
        assert (card.cause, card.title, card.role) == ("gpu_clock", "GPU clock", "cause")
        assert cost_of(card) == "+5.30 ms (+5.10 to +5.50 ms), 39.6 % of the change"
        assert card.sentence == "kernels take 4 times as long with as many launches."
        assert "cycle 3, 12.1 to 27.9 ms" in card.evidence

    def test_a_counter_that_the_sentence_names_is_not_said_again(self):
        cause = clock_cause(sentence="gpu_sm_frequency fell to 345 MHz.")
        assert words.evidence_lines(clock_cause())[0].startswith("gpu_sm_frequency of GPU 0")
        assert words.evidence_lines(cause) == ["cycle 3, 12.1 to 27.9 ms"]

    def test_what_is_unexplained_is_said_with_its_place(self):
        sentence = why_sentences(slow_clock())[0]
        assert "Unexplained: +8.10 ms per step, in host code (+8.00 ms)" in sentence

    def test_without_evidence_there_is_no_cause(self):
        diagnosis = slow_clock(causes=(), anomalies=())
        assert causes_block(diagnosis).empty == "No cause found."
        assert why_sentences(diagnosis)[-1].startswith("Symptoms (not causes): gpu_usage")
        assert words.below_anomalies(diagnosis).startswith("None. Symptoms (not causes): gpu_usage")

    def test_without_a_change_causes_tell_what_did_change(self):
        diagnosis = unchanged_diagnosis(
            causes=(clock_cause(),),
            unexplained_ns=-5.2 * MS,
            unexplained=(("host_cpu", -5.1 * MS), ("idle", -0.4 * MS), ("copies", 0.3 * MS)),
        )
        assert words.why_title(diagnosis) == "Differences"
        assert words.why_title(slow_clock()) == "Causes of the change"
        assert why_sentences(diagnosis)[0] == (
            "Unexplained: -5.20 ms per step, as other parts got shorter: host code (-5.10 ms), "
            "no activity recorded (-400 us), other parts (+300 us)."
        )
        assert not any("host code:" in line for line in checks(diagnosis))

    def test_what_may_be_noise_is_neither_a_change_nor_none(self):
        diagnosis = unchanged_diagnosis(cycle_time=UNEVEN, unexplained_ns=16.2 * MS)
        assert words.verdict_sentence(diagnosis) == "Not decided"
        assert words.verdict_sentence(unchanged_diagnosis()) == "No change"
        assert attribution_block(diagnosis).title.endswith("16.8 → 33.0 ms, which may be noise)")
        assert "not decided" in causes_block(diagnosis).empty

    def test_nothing_is_to_be_explained_within_a_narrow_interval(self):
        message = causes_block(unchanged_diagnosis(anomalies=(clock_anomaly(),))).empty
        assert message == "No change in step time: there is nothing to explain."

    def test_of_several_processes_each_cause_names_its_own(self):
        card, *_ = causes_block(slow_clock(causes=(clock_cause(process="rank 3"),))).items
        assert card.title == "GPU clock in rank 3"
        assert "1. gpu_clock in rank 3, +5.30 ms" in markdown(
            slow_clock(causes=(clock_cause(process="rank 3"),))
        )


class TestAnomalies:
    def test_each_has_a_sentence(self):
        _, card = causes_block(slow_clock()).items
        assert (card.role, card.title) == ("anomaly", "GPU clock")
        assert card.sentence.startswith("its clock fell: gpu_sm_frequency 1 980 → 345 MHz")
        assert (
            why_sentences(slow_clock())[-1] == "Symptoms (not causes): gpu_usage of GPU 0 5 → 15 %."
        )

    def test_a_symptom_says_why_it_is_not_believed(self):
        clock = symptom("GPU 0", "gpu_clock", 1980.0, 900.0, unit="MHz", why="kernels are as long")
        sentence = why_sentences(slow_clock(symptoms=(clock,)))[-1]
        assert "gpu_clock of GPU 0 1 980 → 900 MHz (kernels are as long)." in sentence

    def test_one_that_a_cause_tells_leaves_it_what_it_rests_on(self):
        seen = Evidence("counter", "gpu_frequency of GPU 0: 1 980 → 345 MHz")
        anomaly = clock_anomaly(evidence=(seen,))
        cause = clock_cause(sentence=f"{anomaly.sentence} Kernels are longer.")
        diagnosis = slow_clock(causes=(cause,), anomalies=(anomaly,))
        (card,) = causes_block(diagnosis, brief=True).items
        assert card.evidence[-1] == seen.text
        (card,) = causes_block(diagnosis).items
        assert seen.text not in card.evidence

    def test_many_symptoms_are_counted(self):
        many = [symptom("Host", f"c{place}", 1.0, 5.0) for place in range(9)]
        assert "and 5 more." in why_sentences(slow_clock(symptoms=tuple(many)))[-1]

    def test_counters_they_name_are_not_told_twice(self):
        assert words.told_counters(slow_clock()) == {
            ("gpu_frequency", "GPU 0"),
            ("gpu_sm_frequency", "GPU 0"),
            ("gpu_usage", "GPU 0"),
        }


class TestNext:
    def test_advice_is_given_once(self):
        assert [line.split()[0] for line in checks(slow_clock())] == ["See", "host"]
        (section,) = next_sections(slow_clock())
        assert section == Section("next", words.NEXT, (Text(checks(slow_clock())[1]),))

    def test_a_host_that_nothing_explains_is_to_be_recorded_again(self):
        advice = " ".join(checks(slow_clock(causes=(), anomalies=())))
        assert "machines differ from run to run: record both runs" in advice
        assert "machines differ" not in " ".join(checks(slow_clock()))

    def test_what_causes_advise_anomalies_do_not_advise_again(self):
        anomaly = clock_anomaly(advice="See `nvidia-smi`.")
        advice = checks(slow_clock(anomalies=(anomaly,)))
        assert [line.split()[0] for line in advice] == ["See", "host"]
        code = clock_cause(cause="host_code", advice="Record Python stacks.")
        advice = checks(slow_clock(causes=(code,), anomalies=()))
        assert advice == ["Record Python stacks."]

    def test_nothing_is_to_be_checked_where_nothing_changed(self):
        assert not list(why_blocks(unchanged_diagnosis(), ("base", "new"), brief=True))
        assert not list(next_sections(unchanged_diagnosis()))


class TestMarkdown:
    def test_the_verdict_comes_first(self):
        assert markdown(slow_clock()).startswith("**Verdict: regression.** Cycles take 23.0 %")

    def test_it_has_neither_headings_nor_tables(self):
        lines = markdown(slow_clock()).splitlines()
        assert not [line for line in lines if line.startswith(("#", "|"))]

    def test_names_of_recordings_are_escaped(self):
        diagnosis = slow_clock(anomalies=(clock_anomaly(sentence="in <img src=x>"),))
        assert "in &lt;img src=x>" in markdown(diagnosis)

    def test_nothing_else_is_said_where_nothing_changed(self):
        assert (
            markdown(unchanged_diagnosis())
            == "**Verdict: no change.** Cycles take as long as before."
        )
