"""Why something differs, for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Group

from diagnosed import MS, clock_anomaly, clock_cause, component, slow_clock, symptom, unchanged
from timesink.analyses.anatomy.anatomy import PARTS
from timesink.model.diagnosis import CycleTime, Diagnosis
from timesink.render.diagnosis import words
from timesink.render.diagnosis.blocks import why_lines
from timesink.render.diagnosis.sections import verdict_block, why_blocks
from timesink.render.terminal import to_plain

WHY = "Causes: what explains the change"
DID_CHANGE = "Causes: what did change"
UNEVEN = CycleTime(16.8 * MS, 33.0 * MS, 96.4, (-30.0, 213.0), 0.2)


def text(found: Diagnosis, width: int = 100) -> str:
    return to_plain(Group(*why_lines(found, width)), width)


def markdown(found: Diagnosis) -> str:
    return "\n\n".join(filter(None, why_blocks(found)))


def section(told: str, title: str) -> list[str]:
    """Lines under a heading, up to the next empty one."""
    return told.split(f"\n{title}")[1].partition("\n\n")[0].splitlines()[1:]


class TestBar:
    def test_parts_come_with_their_change_interval_and_bar(self):
        first, *_ = section(text(slow_clock()), "Where the change is")
        assert first.startswith("  host code ")
        assert first.endswith(" +8.00 ms  +7.50 to +8.50 ms      " + "█" * 40)

    def test_the_title_says_what_parts_add_up_to(self):
        assert "(+13.4 ms per cycle, 58.7 → 72.1 ms)" in text(slow_clock())

    def test_less_looks_otherwise_without_colour(self):
        copies = next(line for line in text(slow_clock()).splitlines() if "copies" in line)
        assert "-100.0 us" in copies
        assert copies.endswith("░")

    def test_longer_kernels_are_told_from_others(self):
        told = text(slow_clock(), 140)
        gemm, attention = (line for line in told.splitlines() if "kernels   " in line)
        assert gemm.endswith("as many launches")
        assert attention.endswith("more or other kernels")

    def test_kernels_of_one_side_are_not_called_more(self):
        alone = component("device_compute/gemm", 0, 2, same_launches_ns=0.0)
        (line,) = section(text(slow_clock(attribution=(alone,)), 140), "Where the change is")
        assert line.endswith("only in new")

    def test_small_parts_are_told_together(self):
        many = [component(f"device_compute/f{number}", 1, 2) for number in range(12)]
        told = section(text(slow_clock(attribution=tuple(many))), "Where the change is")
        assert len(told) == 9
        assert told[-1].startswith("  4 other parts")
        assert "+4.00 ms" in told[-1]

    @pytest.mark.parametrize("width", [60, 80, 100, 140])
    def test_no_line_is_wider_than_the_screen(self, width: int):
        assert max(map(len, text(slow_clock(), width).splitlines())) <= width

    def test_intervals_go_first_where_there_is_no_room(self):
        assert "+7.50 to" in text(slow_clock(), 80)
        told = section(text(slow_clock(), 60), "Where the change is")
        assert not any(" to " in line for line in told)

    def test_every_part_has_words(self):
        assert all(words.part_name(part) != part or part == "copies" for part in PARTS)


@given(st.lists(st.floats(-1e9, 1e9), max_size=15))
def test_shown_parts_add_up_to_the_change(deltas: list[float]):
    parts = [
        component(f"device_compute/f{place}", 0, delta / MS) for place, delta in enumerate(deltas)
    ]
    shown = words.part_changes(slow_clock(attribution=tuple(parts)))
    assert sum(row.delta_ns for row in shown) == pytest.approx(sum(deltas), abs=1.0)


class TestCauses:
    def test_a_cause_has_its_time_its_interval_and_a_sentence(self):
        told = section(text(slow_clock()), WHY)
        assert told[0] == (
            "  1. gpu_clock, +5.30 ms per cycle (+5.10 to +5.50 ms): kernels take 4 times as long "
            "with as many"
        )
        assert told[1] == "     launches."

    def test_evidence_stands_under_it(self):
        assert "     cycle 3, 12.1 to 27.9 ms" in section(text(slow_clock()), WHY)

    def test_a_counter_that_the_sentence_names_is_not_said_again(self):
        cause = clock_cause(sentence="gpu_sm_frequency fell to 345 MHz.")
        assert words.evidence_lines(clock_cause())[0].startswith("gpu_sm_frequency of GPU 0")
        assert words.evidence_lines(cause) == ["cycle 3, 12.1 to 27.9 ms"]

    def test_what_is_unexplained_is_said_with_its_place(self):
        told = " ".join(section(text(slow_clock()), WHY))
        assert "Unexplained: +8.10 ms per cycle, in host code (+8.00 ms)" in told

    def test_without_evidence_there_is_no_cause(self):
        told = text(slow_clock(causes=(), anomalies=()))
        assert section(told, WHY)[0] == "  No cause has evidence."
        assert section(told, words.AROUND)[0].startswith("  None. Symptoms, not causes: gpu_usage")

    def test_without_a_change_causes_tell_what_did_change(self):
        found = unchanged(
            causes=(clock_cause(),),
            unexplained_ns=-5.2 * MS,
            unexplained=(("host_cpu", -5.1 * MS), ("idle", -0.4 * MS), ("copies", 0.3 * MS)),
        )
        told = " ".join(section(text(found), DID_CHANGE))
        assert told.startswith("  1. gpu_clock")
        assert (
            "Unexplained: -5.20 ms per cycle, as other parts got shorter: host code (-5.10 ms), "
            "no activity recorded (-400.0 us)."
        ) in " ".join(told.split())
        assert "host code:" not in text(found)

    def test_what_may_be_noise_is_neither_a_change_nor_none(self):
        found = unchanged(cycle_time=UNEVEN, unexplained_ns=16.2 * MS)
        assert words.verdict(found) == "No certain change"
        assert words.verdict(unchanged()) == "No change"
        assert "16.8 → 33.0 ms, which may be noise)" in text(found)
        assert "nothing to explain" not in text(found)
        assert "not certain" in section(text(found), DID_CHANGE)[0]

    def test_nothing_is_to_be_explained_within_a_narrow_interval(self):
        told = section(text(unchanged(anomalies=(clock_anomaly(),))), DID_CHANGE)
        assert told == ["  Cycle time is the same within noise: there is nothing to explain."]

    def test_of_several_processes_each_cause_names_its_own(self):
        told = text(slow_clock(causes=(clock_cause(process="rank 3"),)))
        assert "1. gpu_clock in rank 3, +5.30 ms" in told


class TestAnomalies:
    def test_each_has_a_sentence(self):
        (line, symptoms) = section(text(slow_clock()), words.AROUND)
        assert line.startswith("  1. gpu_clock: its clock fell: gpu_sm_frequency 1 980 → 345 MHz")
        assert symptoms == "  Symptoms, not causes: gpu_usage of GPU 0 5 → 15 %."

    def test_a_symptom_says_why_it_is_not_believed(self):
        clock = symptom("GPU 0", "gpu_clock", 1980.0, 900.0, unit="MHz", why="kernels are as long")
        told = text(slow_clock(symptoms=(clock,)))
        assert "gpu_clock of GPU 0 1 980 → 900 MHz (kernels are as long)." in told

    def test_many_symptoms_are_counted(self):
        many = [symptom("Host", f"c{place}", 1.0, 5.0) for place in range(9)]
        assert "and 5 more." in text(slow_clock(symptoms=tuple(many)))

    def test_counters_they_name_are_not_told_twice(self):
        assert words.told_counters(slow_clock()) == {
            ("gpu_frequency", "GPU 0"),
            ("gpu_sm_frequency", "GPU 0"),
            ("gpu_usage", "GPU 0"),
        }


class TestNext:
    def test_advice_is_given_once(self):
        told = section(text(slow_clock()), words.NEXT)
        assert [line.split()[0] for line in told] == ["See", "host"]

    def test_a_host_that_nothing_explains_is_to_be_recorded_again(self):
        told = " ".join(section(text(slow_clock(causes=(), anomalies=())), words.NEXT))
        assert "machines differ from run to run: a second recording" in " ".join(told.split())
        assert "machines differ" not in text(slow_clock())

    def test_what_causes_advise_anomalies_do_not_advise_again(self):
        anomaly = clock_anomaly(advice="See `nvidia-smi`.")
        told = section(text(slow_clock(anomalies=(anomaly,))), words.NEXT)
        assert [line.split()[0] for line in told] == ["See", "host"]
        code = clock_cause(cause="host_code", advice="Record Python stacks.")
        told = section(text(slow_clock(causes=(code,), anomalies=())), words.NEXT)
        assert told == ["  Record Python stacks."]

    def test_nothing_is_to_be_checked_where_nothing_changed(self):
        assert text(unchanged()) == ""


class TestMarkdown:
    def test_the_verdict_comes_first(self):
        assert verdict_block(slow_clock()).startswith("**Verdict: regression.** Cycles take 23.0 %")

    def test_it_has_neither_headings_nor_tables(self):
        lines = markdown(slow_clock()).splitlines()
        assert not [line for line in lines if line.startswith(("#", "|"))]

    def test_names_of_recordings_are_escaped(self):
        found = slow_clock(anomalies=(clock_anomaly(sentence="in <img src=x>"),))
        assert "in &lt;img src=x>" in markdown(found)

    def test_nothing_else_is_said_where_nothing_changed(self):
        assert (
            verdict_block(unchanged()) == "**Verdict: no change.** Cycles take as long as before."
        )
        assert markdown(unchanged()) == ""
