"""The answer of `timesink compare` for the terminal."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from compared import (
    BUSY_HOST,
    BUSY_LINK,
    HEALTHY,
    comparison,
    diagnosed,
    frame,
    pair_of,
    two_runs,
)
from comparison_text import to_text
from diagnosed import unchanged_diagnosis
from many_roles import one_role
from timesink.answers.comparison.causes import VERDICTS
from timesink.answers.comparison.changes import (
    PairView,
    counters_block,
    families_block,
    scores_block,
)
from timesink.answers.comparison.document import comparison_document
from timesink.answers.comparison.report import ComparisonAnswer
from timesink.answers.comparison.sentences import findings, pair_headline
from timesink.comparison.results import FAMILIES, ROWS, TIMES, CycleTimes, Pair, Workload
from timesink.comparison.steps.verdict import compare_roles
from timesink.output.blocks import Attribution, Text
from timesink.output.terminal import wrap_line
from told_documents import blocks, rows

UNEQUAL = Workload(comparable=False, reasons=("64 layers make a batch.", "More."), work_ratio=64.0)

SCORES = "Functions whose share and counter changed most (score: in spreads of the base)"


def pair_text(pair: Pair, **options: object) -> str:
    """What is said about a pair, beside a diagnosis that found nothing."""
    return to_text(without_cause(comparison(pair)), **options)


def without_cause(compared: ComparisonAnswer) -> ComparisonAnswer:
    """Pairs whose diagnosis is made by hand: that of each would have to be found."""
    quiet = unchanged_diagnosis(attribution=())
    return replace(compared, pairs=tuple(diagnosed(pair, quiet) for pair in compared.pairs))


def sentences(pair: Pair) -> list[str]:
    """The sentences of the answer, the first with the verdict."""
    head = comparison_document(comparison(pair), top=10).headline
    parts = re.split(r"(?<=[a-z)]\.) (?=[0-9A-Zc])", head)
    assert parts[0].startswith((*VERDICTS.values(), "Not decided"))
    return parts


def section(text: str, title: str) -> list[str]:
    """Lines under a heading, up to the next empty one."""
    return text.split(f"\n{title}")[1].partition("\n\n")[0].splitlines()[1:]


class TestAnswer:
    def test_cycle_time_comes_first_then_what_changed(self):
        first, second, *_ = sentences(two_runs())
        assert first.startswith("No change in step time (")
        assert "95 % interval" in first
        assert re.fullmatch(
            r"Largest difference: GPU clock \(GPU 7: 1 \d{3} → \d{3} MHz\), "
            r"\+\d+\.\d ms per step\.",
            second,
        )

    def test_without_a_diagnosis_functions_and_counters_are_named(self):
        headline = pair_headline(two_runs())
        assert "1 function and 2 counters changed beyond noise, most of all " in headline
        assert "sm80_gemm_bf16_64x5 on GPU 7" in headline
        assert re.search(r"gpu_sm_frequency of GPU 7 \(1 \d{3} → \d{3} MHz\)", headline)

    def test_longer_cycles_are_said_with_their_interval(self):
        first = sentences(two_runs(BUSY_HOST))[0]
        assert re.match(r"Regression: steps take 80\.\d % longer, \d+ ms → 1\.\d+ s \(95 %", first)

    def test_cycles_several_times_as_long_are_said_so(self):
        times = CycleTimes((10,) * 9, (39,) * 9, 1e7, 3.9e7, 290.0, (2.8e7, 3e7), 0.001)
        first = sentences(replace(two_runs(), cycle_times=times))[0]
        assert first.startswith("Regression: steps take 3.9 times as long, 10.0 → 39.0 ms")

    def test_the_same_within_noise_is_said_in_the_first_line(self):
        role = one_role(7)
        document = comparison_document(comparison(compare_roles(role, role, "strict")), top=10)
        assert document.headline.startswith("No change in step time: ")
        assert blocks(document, Attribution) == []

    def test_high_scores_within_noise_are_explained(self):
        pair = pair_of(rows=two_runs().rows, findings=two_runs().findings)
        still = pair.rows.with_columns(mu_welch_p=1.0, mu_rank_p=1.0)
        assert "with no change beyond noise" in pair_text(replace(pair, rows=still))

    def test_a_single_cycle_cannot_be_told_from_noise(self):
        times = CycleTimes((10,), (20,), 10.0, 20.0, 100.0, None, None)
        assert "too few to tell a change" in pair_text(replace(two_runs(), cycle_times=times))

    def test_tests_that_disagree_are_doubtful(self):
        times = CycleTimes((10,) * 6, (9,) * 7, 1e9, 9.5e8, -5.0, (-1.2e8, 2e7), 0.022)
        first = sentences(replace(two_runs(), cycle_times=times))[0]
        assert first.startswith("Not decided: step time drifts within the runs, so ")
        assert "0.022" not in first

    def test_no_counter_to_blame_is_said(self):
        row = {"function": "oncpu", "device": "Host", "base_ns": 500.0, "new_ns": 900.0}
        times = frame(TIMES, {**row, "delta_ns": 400.0})
        calm = two_runs(HEALTHY).rows.with_columns(mu_welch_p=1.0, mu_rank_p=1.0)
        assert "per step); no counter did." in " ".join(
            pair_text(pair_of(times=times, rows=calm)).splitlines()
        )


class TestUnequalWork:
    def test_it_is_said_first_and_times_are_not_believed(self):
        first, reason, second, *_ = sentences(replace(two_runs(), workload=UNEQUAL))
        assert first == "Not comparable: the steps of the two runs do not do the same work."
        assert reason == "64 layers make a batch."
        assert second.endswith("which says nothing about speed.")
        assert not list(findings(PairView(replace(two_runs(), workload=UNEQUAL))))


class TestFindings:
    def test_a_function_has_its_time_and_the_counters_that_changed(self):
        ((line, meanwhile),) = findings(PairView(two_runs()))
        name = "sm80_gemm_bf16_64x5 on GPU 7"
        assert re.fullmatch(rf"{name}: \d+\.\d → \d+ ms per step \(3\.\d x\)", line)
        assert meanwhile.startswith("meanwhile gpu_")
        assert "gpu_mem_used" not in meanwhile

    def test_counters_that_the_diagnosis_names_have_no_other_figures(self):
        text = to_text(comparison(two_runs()))
        assert "gpu_sm_frequency of GPU 7 (" not in text
        ((_, meanwhile),) = findings(PairView(two_runs()), {("gpu_sm_frequency", "GPU 7")})
        assert "gpu_sm_frequency" not in meanwhile

    def test_counters_that_read_the_same_are_told_together(self):
        pair = two_runs()
        twin = pair.rows.filter(pl.col("metric") == "gpu_sm_frequency").with_columns(
            metric=pl.lit("gpu_frequency")
        )
        both = replace(pair, rows=pl.concat([pair.rows, twin]))
        ((_, meanwhile),) = findings(PairView(both))
        assert "gpu_frequency/gpu_sm_frequency 1" in meanwhile

    def test_a_function_of_one_side_is_told_with_that_side(self):
        row = {"function": "f", "device": "Host", "new_ns": 5e6, "delta_ns": 5e6, "runs_on": "new"}
        assert "only in new, 5.00 ms per step" in pair_text(pair_of(times=frame(TIMES, row)))

    def test_the_largest_changes_of_time_come_first(self):
        rows = [
            {"function": f"f{n}", "device": "Host", "new_ns": 500.0 + n, "delta_ns": 500.0 + n}
            for n in range(7)
        ]
        largest = findings(PairView(pair_of(times=frame(TIMES, *rows))))
        assert [line.split()[0] for line, _ in largest] == ["f6", "f5", "f4", "f3", "f2"]

    def test_how_many_more_there_are_is_told(self):
        rows = [
            {"function": f"f{n}", "device": "Host", "new_ns": 500.0 + n, "delta_ns": 500.0 + n}
            for n in range(7)
        ]
        assert "\n  and 2 more: --table times\n" in pair_text(pair_of(times=frame(TIMES, *rows)))

    def test_only_what_changed_beyond_noise_is_listed_whatever_its_score(self):
        pair = two_runs()
        names = {row["function"] for row in pair.rows.head(20).iter_rows(named=True)}
        assert len(names) > 1
        assert len(list(findings(PairView(pair)))) == 1

    def test_a_long_name_is_cut(self):
        row = {"function": "x" * 3000, "device": "Host", "new_ns": 5e6, "delta_ns": 5e6}
        text = pair_text(pair_of(times=frame(TIMES, {**row, "runs_on": "new"})))
        assert "x" * 20 in text
        assert "x" * 101 not in text.replace("\n", "")


class TestUnrecorded:
    """Functions of a sort that one side did not record have neither gone nor are they new."""

    @pytest.fixture
    def text(self) -> str:
        calls = {"calls_base": 1.0, "base_ns": 500.0, "device": "Host"}
        both = {"calls_new": 1.0, "new_ns": 500.0}
        rows = (
            {**calls, **both, "function": "launch", "function_class": "cpu_launch"},
            {**calls, "function": "aten::mm", "function_class": "cpu_operator", "runs_on": "base"},
        )
        family = {"family": "gemm", "name": None, "device": "Host", "names_base": ["aten::mm"]}
        return pair_text(pair_of(times=frame(TIMES, *rows), families=frame(FAMILIES, family)))

    def test_they_are_in_no_table(self, text: str):
        assert "aten::mm" not in text
        assert "gone" not in text
        assert "Names only in one run" not in text

    def test_callers_of_these_have_not_gone_either(self):
        lines = {"calls_base": 1.0, "base_ns": 500.0, "device": "Host"}
        both = {"calls_new": 1.0, "new_ns": 500.0}
        rows = (
            {**lines, **both, "function": "mm", "function_class": "cpu_operator"},
            {**lines, **both, "function": "f", "function_class": "cpu_python"},
            {**lines, "function": "(outside)", "function_class": "cpu_untraced", "runs_on": "base"},
            {**lines, **both, "calls_base": 0.0, "base_ns": 0.0, "runs_on": "new"}
            | {"function": "mark", "function_class": "cpu_annotation"},
        )
        assert "outside" not in pair_text(pair_of(times=frame(TIMES, *rows)))

    def test_that_is_said_once(self, text: str):
        sentence = "left out here: 1 function, as new did not record operators"
        assert text.count("left out here") == 1
        assert section(text, "Functions (1)")[-1] == sentence


class TestNotes:
    def test_notes_of_both_sides_are_said_once(self):
        pair = two_runs()
        base, new = (
            replace(pair.base, notes=("a", "b")),
            replace(pair.new, notes=("b", "c")),
        )
        lines = section(pair_text(replace(pair, base=base, new=new)), "Notes")
        assert [line.strip() for line in lines] == ["both: b", "base: a", "new: c"]

    def test_long_names_in_them_are_cut(self):
        name = "y" * 3000
        text = to_text(comparison(two_runs(), notes=[f"cycles are marked by `{name}`"]))
        assert "y" * 81 not in text.replace("\n  ", "")


class TestTables:
    def test_a_counter_that_changed_is_told_once_and_in_its_unit(self):
        table = counters_block(PairView(two_runs(BUSY_LINK)), 10)
        ((counter, device, value),) = rows(table, "counter", "device", "value")
        assert (counter, device) == ("gpu_link_receive", "GPU 7")
        assert re.match(r"[\d.]+ MB/s → [\d.]+ GB/s", value)

    def test_the_ten_highest_rows_are_shown(self):
        lines = section(pair_text(two_runs()), f"{SCORES} (the first 10 of 16)")
        assert len(lines) == 11
        assert lines[0].split()[:2] == ["function", "metric"]

    def test_times_have_chances_and_calls(self):
        row = {"function": "f", "device": "Host", "base_ns": 5e6, "new_ns": 9e6, "delta_ns": 4e6}
        calls = {"calls_base": 2.0, "calls_new": 3.5, "welch_p": 0.02, "rank_p": 0.03}
        text = pair_text(pair_of(times=frame(TIMES, {**row, **calls})))
        head, line = section(text, "Time per step, largest changes (1)")
        assert head.split()[-2:] == ["p", "calls"]
        assert line.endswith("2 → 3.5")

    def test_functions_without_metrics_have_a_table(self):
        pair = two_runs()
        first = pl.Series(range(pair.times.height)) > 0
        some = replace(pair, times=pair.times.with_columns(measured=first))
        assert len(section(pair_text(some), "Functions without metrics, largest changes (1)")) == 2
        assert "Functions without metrics" not in pair_text(
            replace(pair, times=pair.times.with_columns(measured=True))
        )

    def test_counters_of_anomalies_are_not_told_again(self):
        assert len(counters_block(PairView(two_runs(BUSY_LINK)), 10).columns) > 1
        before = [("gpu_link_receive", "GPU 7")]
        left = counters_block(PairView(two_runs(BUSY_LINK)), 10, before=before)
        assert (left.title, left.rows) == ("Other counters that changed beyond noise", 0)

    def test_one_table_can_be_asked_for(self):
        text = pair_text(two_runs(), top=3, table="times")
        assert "Time per step, largest changes (the first 3 of 7)" in text
        assert SCORES not in text

    def test_names_that_do_not_meet_are_shown_by_family(self):
        families = frame(
            FAMILIES,
            {"family": "gemm", "name": None, "names_base": ["a"], "names_new": ["b", "c"]},
        )
        table = families_block(PairView(replace(two_runs(), families=families)), 10)
        assert rows(table, "function", "names_base", "names_new") == [("gemm (family)", 1, 2)]

    def test_a_counter_that_fell_to_nothing_has_not_gone(self):
        row = {"function": "f", "metric": "gpu_mem_util", "device": "GPU 0", "unit": "%"}
        some = {"mu_base": 4.45, "mu_delta": -4.45, "cycles_base": 5, "cycles_new": 5}
        text = pair_text(pair_of(rows=frame(ROWS, {**row, **some})))
        line = section(text, "Counters that changed beyond noise (1)")[1]
        assert "4.45 → 0 %" in line
        assert "-100 %" in line

    def test_no_chance_is_told_of_what_ran_on_one_side_only(self):
        row = {"function": "gemm", "metric": "gpu_usage", "device": "GPU 0", "runs_on": "new"}
        p = {"beta_rank_p": 1.0, "mu_rank_p": 1.0}
        table = scores_block(PairView(pair_of(rows=frame(ROWS, {**row, **p}))), 10)
        assert rows(table, "counter") == [("only in new",)]
        assert "p_share" not in {column.key for column in table.columns}

    def test_namesakes_are_told_apart(self):
        names = [f"void at::native::f<4, {op}<float>>(int)" for op in ("Add", "Mul")]
        rows = [
            {"function": name, "device": "GPU 0", "new_ns": 500.0, "delta_ns": 500.0}
            for name in names
        ]
        text = pair_text(pair_of(times=frame(TIMES, *rows)))
        assert "f (Add)" in text
        assert "f (Mul)" in text

    def test_without_counters_there_are_times_alone(self):
        text = pair_text(replace(two_runs(), rows=pair_of().rows, findings=()))
        assert SCORES not in text
        assert "Time per step" in text

    @pytest.mark.parametrize("width", [60, 80, 100, 140])
    def test_nothing_is_wider_than_the_terminal(self, width: int):
        text = to_text(comparison(two_runs()), width=width)
        assert max(map(len, text.splitlines()[1:])) <= width


class TestSeveral:
    def test_the_answer_over_all_comes_first_and_notes_last(self):
        compared = comparison(two_runs(), two_runs(BUSY_HOST), notes=["pid 5 is alone"])
        document = comparison_document(compared, top=10)
        lead = "Regression (1 of 2 processes: no change, 1: regression). "
        assert document.headline == f"{lead}{compared.headline}"
        assert document.sections[-1].blocks[-1] == Text("pid 5 is alone")

    def test_json_and_text_give_one_answer(self):
        compared = comparison(two_runs())
        headline = comparison_document(compared, top=10).headline
        assert headline == compared.headline
        assert headline.startswith(VERDICTS[compared.to_dict()["verdict"]])

    def test_a_verdict_that_all_pairs_share_comes_first(self):
        document = comparison_document(comparison(two_runs(BUSY_HOST), two_runs(BUSY_HOST)), top=10)
        assert document.headline.startswith("Regression. Both pairs have longer steps")

    def test_every_pair_has_a_row(self):
        text = to_text(comparison(two_runs(), two_runs(BUSY_HOST)))
        same, longer = section(text, "All pairs (2)")[1:]
        assert re.search(r"pid 1007 .* within noise +sm80_gemm", same)
        assert re.search(r"\+80\.\d % +longer +runq", longer)

    def test_what_chooses_one_is_said_where_something_does(self):
        compared = comparison(*[two_runs()] * 4)
        apart = [
            replace(pair, **_with_rank(pair, rank)) for rank, pair in enumerate(compared.pairs)
        ]
        text = to_text(without_cause(replace(compared, pairs=tuple(apart))))
        assert "1 more pair in full: --rank 0 chooses one, -o DIR writes all" in text


def _with_rank(pair: Pair, rank: int) -> dict[str, Any]:
    return {"base": replace(pair.base, rank=rank), "new": replace(pair.new, rank=rank)}


class TestWhatIsNotKnown:
    def test_a_counter_one_side_does_not_know_is_no_zero(self):
        text = to_text(comparison(_without_clock()))
        line = next(row for row in text.splitlines() if "gpu_sm_frequency" in row)
        assert re.search(r"MHz → - ", line)

    def test_one_cycle_on_a_side_has_no_chance(self):
        text = to_text(comparison(two_runs(cycles=1)))
        assert "1.000" not in text

    def test_no_families_are_said_to_be_none(self):
        text = to_text(comparison(two_runs()), table="families")
        assert "All function names match: none is in one run only." in text.splitlines()

    def test_functions_are_counted_as_they_are_listed(self):
        compared = comparison(two_runs())
        view = PairView(compared.pairs[0].pair)
        assert f"{len(view.changes)} function" in pair_headline(view.full_pair)


def _without_clock() -> Pair:
    pair = two_runs()
    missing = pl.when(pl.col("metric") != "gpu_sm_frequency").then(pl.col("mu")).alias("mu")
    new = replace(pair.new, behaviour=pair.new.behaviour.with_columns(missing))
    return compare_roles(pair.base, new, "strict")


def test_no_amount_is_torn_from_its_unit():
    lines = [line.plain for line in wrap_line("they take 1.28 → 1.22 s, 5 % less", 20)]
    assert lines == ["they take", "1.28 → 1.22 s, 5 %", "less"]
